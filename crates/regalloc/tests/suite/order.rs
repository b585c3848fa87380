//! The checker accepts a changed order of instructions only where the program computes the same.

use warploom_diag::Source;
use warploom_ptx::ast::Module;
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{Step, Typing};

/// A program whose address is in `%rd8`, which shares no part with a register of 32 bits.
fn module(lines: &[&str]) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<9>;\n.shared .align 8 .b8 tile[64];\n\
         ld.param.u64 %rd8, [p];\n{}\nret; }}\n",
        lines.join("\n")
    );
    let source = Source::new("k.ptx", text);
    warploom_ptx::load(&source).expect("a right program").0
}

/// Checks the lines after those in `order` against the same lines in their own order.
fn reordered(lines: &[&str], order: &[usize]) -> Result<(), String> {
    let (original, moved) = (module(lines), order.iter().map(|at| lines[*at]));
    let allocated = module(&moved.collect::<Vec<_>>());
    let instructions = order.iter().map(|at| *at as u32 + 1);
    let all = [0]
        .into_iter()
        .chain(instructions)
        .chain([lines.len() as u32 + 1]);
    let steps: Vec<Step> = all.map(Step::Kept).collect();
    let claim = Claim {
        original: &original,
        allocated: &allocated,
        function: "k",
        steps: &steps,
        block: [32, 1, 1],
        limit: None,
        typing: Typing::Bits,
    };
    check(&claim).map_err(|refusal| refusal.to_string())
}

/// Checks two lines in swapped order.
fn swapped(first: &str, second: &str) -> Result<(), String> {
    reordered(&[first, second], &[1, 0])
}

#[test]
fn independent_instructions_may_change_places() {
    for (first, second) in [
        ("ld.global.u32 %r0, [%rd8];", "ld.global.u32 %r1, [%rd8+4];"),
        ("st.global.u32 [%rd8], %r0;", "ld.shared.u32 %r1, [tile];"),
        ("mov.u32 %r0, %tid.x;", "add.u32 %r1, %r2, %r3;"),
        ("ld.global.u32 %r0, [%rd8];", "@%p0 sub.u32 %r1, %r1, 1;"),
    ] {
        assert_eq!(swapped(first, second), Ok(()), "{first} {second}");
    }
}

#[test]
fn dependent_instructions_may_not() {
    for (first, second) in [
        // A result and its use, an operand and its next value, and two values of one register.
        ("add.u32 %r0, %r1, 1;", "add.u32 %r2, %r0, 1;"),
        ("add.u32 %r2, %r0, 1;", "add.u32 %r0, %r1, 1;"),
        ("mov.u32 %r0, 1;", "mov.u32 %r0, 2;"),
        ("setp.eq.u32 %p0, %r0, 1;", "@%p0 mov.u32 %r1, 2;"),
        // Accesses of one memory, of which one is a store; generic addresses may be anywhere.
        ("st.global.u32 [%rd8], %r0;", "ld.global.u32 %r1, [%rd8+8];"),
        ("ld.shared.u32 %r0, [tile];", "st.shared.u32 [tile], %r1;"),
        ("st.global.u32 [%rd8], %r0;", "st.global.u32 [%rd8+4], %r1;"),
        ("st.shared.u32 [tile], %r0;", "ld.u32 %r1, [%rd8];"),
    ] {
        let why = swapped(first, second).unwrap_err();
        assert!(
            why.contains("has moved before it"),
            "{first} {second}: {why}"
        );
    }
}

#[test]
fn nothing_passes_barriers_atomics_volatile_accesses_or_clocks() {
    for fixed in [
        "bar.sync 0;",
        "membar.gl;",
        "atom.global.add.u32 %r3, [%rd8], 1;",
        "ld.volatile.global.u32 %r3, [%rd8];",
        "st.volatile.shared.u32 [tile], %r4;",
        "mov.u32 %r3, %clock;",
        "vote.ballot.b32 %r3, %p0;",
        "@%p0 ret;",
    ] {
        let why = swapped("add.u32 %r0, %r1, 1;", fixed).unwrap_err();
        assert!(why.contains("out of order"), "{fixed}: {why}");
        let why = swapped(fixed, "ld.shared.u32 %r0, [tile];").unwrap_err();
        assert!(why.contains("out of order"), "{fixed}: {why}");
    }
}

#[test]
fn nothing_passes_a_label() {
    let lines = ["mov.u32 %r0, 1;", "L: mov.u32 %r1, 2;", "@%p0 bra L;"];
    assert_eq!(reordered(&lines, &[0, 1, 2]), Ok(()));
    let moved = ["mov.u32 %r1, 2;", "L: mov.u32 %r0, 1;", "@%p0 bra L;"];
    let (original, allocated) = (module(&lines), module(&moved));
    let steps = [0, 2, 1, 3, 4].map(Step::Kept);
    let claim = Claim {
        original: &original,
        allocated: &allocated,
        function: "k",
        steps: &steps,
        block: [32, 1, 1],
        limit: None,
        typing: Typing::Bits,
    };
    assert!(check(&claim).is_err());
}

#[test]
fn every_instruction_occurs_once() {
    let lines = ["mov.u32 %r0, 1;", "mov.u32 %r1, 2;"];
    assert!(reordered(&lines, &[0, 0]).is_err());
}
