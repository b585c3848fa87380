//! Short branches that become guards.

use crate::support::{PREAMBLE, check_folded, folded_body};

/// Checks the folded form of a kernel whose branch skips `arm`, and goes on with `rest`.
fn check(arm: &str, rest: &str, expected: &str) {
    let body = format!(
        "{PREAMBLE}
         ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.u32 %r2, 5;
         setp.gt.s32 %p1, %r1, 7;
         @%p1 bra skip;
         {arm}
         skip:
         {rest}"
    );
    check_folded(&body, expected);
}

#[test]
fn a_short_branch_becomes_guards() {
    // The sum is needed only under the guard, so that its old value is not; that of `r2` is.
    check(
        "ld.global.u32 %r3, [%rd1+64];
         add.s32 %r4, %r3, %r1;
         add.s32 %r2, %r4, 1;",
        "st.global.u32 [%rd1], %r2;",
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- #0x5
         Setp(Gt, None, Int(S32), false) p0 <- r0, #0x7
         @!p0 Ld(Global, u32, Default) r2 <- param[0] [+64]
         @!p0 Int(Add, S32) r0 <- r2, r0
         @!p0 Int(Add, S32) r1 <- r0, #0x1
         St(Global, u32, Default) <- param[0], r1 [+0]
         Exit",
    );
}

#[test]
fn both_paths_of_a_branch_become_guards() {
    check(
        "add.s32 %r2, %r1, 1;
         bra.uni join;",
        "mul.lo.s32 %r2, %r1, 3;
         join:
         st.global.u32 [%rd1], %r2;",
        "Mov(B32) r0 <- %TidX
         Setp(Gt, None, Int(S32), false) p0 <- r0, #0x7
         @p0 Mul(Lo, S32) r1 <- r0, #0x3
         @!p0 Int(Add, S32) r1 <- r0, #0x1
         St(Global, u32, Default) <- param[0], r1 [+0]
         Exit",
    );
}

#[test]
fn a_path_elsewhere_is_moved_behind_its_branch() {
    check_folded(
        &format!(
            "{PREAMBLE}
             ld.param.u64 %rd1, [out];
             mov.u32 %r1, %tid.x;
             mov.u32 %r2, 5;
             setp.gt.s32 %p1, %r1, 7;
             @%p1 bra far;
             join:
             st.global.u32 [%rd1], %r2;
             ret;
             far:
             add.s32 %r2, %r1, 1;
             bra.uni join;"
        ),
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- #0x5
         Setp(Gt, None, Int(S32), false) p0 <- r0, #0x7
         @p0 Int(Add, S32) r1 <- r0, #0x1
         St(Global, u32, Default) <- param[0], r1 [+0]
         Exit
         Exit",
    );
}

/// Number of branches that are left around `count` instructions after `first`.
fn branches(first: &str, count: usize) -> usize {
    let arm = "add.s32 %r2, %r2, %r1;\n".repeat(count);
    let body = format!(
        "{PREAMBLE}
         ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.u32 %r2, %tid.y;
         setp.gt.s32 %p1, %r1, 7;
         @%p1 bra skip;
         {first}
         {arm}
         skip:
         st.global.u32 [%rd1], %r2;"
    );
    let listing = folded_body(&body);
    listing.lines().filter(|line| line.contains("Bra(")).count()
}

#[test]
fn long_paths_and_those_with_side_effects_keep_their_branch() {
    assert_eq!([8, 9].map(|count| branches("", count)), [0, 1]);
    // Loads from global memory are worth more.
    let load = "ld.global.u32 %r2, [%rd1];";
    assert_eq!([19, 20].map(|count| branches(load, count)), [0, 1]);
    let shared = "ld.shared.u32 %r2, [%r1];";
    assert_eq!([7, 8].map(|count| branches(shared, count)), [0, 1]);
    assert_eq!(branches("atom.global.add.u32 %r2, [%rd1], 1;", 0), 1);
    assert_eq!(branches("bar.sync 0;", 0), 1);
    assert_eq!(branches("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;", 0), 1);
}

#[test]
fn a_branch_whose_predicate_a_path_writes_stays() {
    let body = |set: &str| {
        format!(
            "{PREAMBLE}
             ld.param.u64 %rd1, [out];
             mov.u32 %r1, %tid.x;
             setp.gt.s32 %p1, %r1, 7;
             @%p1 bra skip;
             setp.lt.s32 {set}, %r1, 3;
             skip:
             selp.b32 %r2, 1, 2, %p1;
             selp.b32 %r2, %r2, 3, %p2;
             st.global.u32 [%rd1], %r2;"
        )
    };
    let branches = |set: &str| folded_body(&body(set)).matches("Bra(").count();
    assert_eq!(["%p1", "%p2"].map(branches), [1, 0]);
}
