//! The fewest instructions to a warp's end, counted by hand in small kernels.

use warploom_diag::Source;

/// Returns the fewest instructions to the end from each instruction of a kernel with this body.
fn fewest(body: &str) -> Vec<u32> {
    let text = format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n\
         .func f() {{ .reg .pred %p<2>; @%p1 exit; ret; }}\n\
         .visible .entry k() {{ .reg .b32 %r<4>; .reg .pred %p<2>;\n{body}\n}}\n"
    );
    let source = Source::new("ends.ptx", text);
    let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
    let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
    let kernel = ir.kernels.into_iter().next().expect("one kernel");
    kernel.fewest_to_end()
}

const ADD: &str = "add.u32 %r1, %r1, 1;";

#[test]
fn the_shortest_way_counts() {
    assert_eq!(fewest(&format!("{ADD} {ADD} ret;")), [3, 2, 1]);
    // A way out before the end, and a loop that need not be run again.
    let way = format!("{ADD} @%p1 bra E; {ADD} L: {ADD} @%p1 bra L; {ADD} E: ret;");
    assert_eq!(fewest(&way), [3, 2, 5, 4, 3, 2, 1]);
    let guarded = format!("{ADD} @%p1 exit; {ADD} ret;");
    assert_eq!(fewest(&guarded), [2, 1, 2, 1]);
}

/// A loop that cannot be left has no end.
#[test]
fn what_never_ends_takes_longest() {
    assert_eq!(fewest("L: bra L;"), [u32::MAX]);
}

#[test]
fn a_call_may_be_the_end() {
    let way = format!("call f; {ADD} {ADD} {ADD} ret;");
    assert_eq!(fewest(&way)[0], 2);
}
