//! Loops that are unrolled.

use crate::support::{PREAMBLE, check_folded, folded_body};

/// A loop that adds words from `[rd1]` on, with this start, end of an iteration and bound.
fn body(first: &str, end: &str) -> String {
    format!(
        "{PREAMBLE}
         ld.param.u64 %rd1, [out];
         ld.param.u32 %r5, [n];
         mov.u32 %r2, %tid.x;
         mov.u32 %r1, {first};
         loop:
         ld.global.u32 %r3, [%rd1];
         add.s32 %r2, %r2, %r3;
         add.s64 %rd1, %rd1, 4;
         {end}
         @%p1 bra loop;
         st.global.u32 [%rd1], %r2;"
    )
}

#[test]
fn a_short_loop_disappears() {
    let body = body("0", "add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 3;");
    check_folded(
        &body,
        "Mov(B32) r0 <- %TidX
         Ld(Global, u32, Default) r1 <- param[0] [+0]
         Int(Add, S32) r0 <- r0, r1
         Ld(Global, u32, Default) r1 <- param[0] [+4]
         Int(Add, S32) r0 <- r0, r1
         Ld(Global, u32, Default) r1 <- param[0] [+8]
         Int(Add, S32) r0 <- r0, r1
         St(Global, u32, Default) <- param[0], r0 [+12]
         Exit",
    );
}

#[test]
fn a_loop_of_unknown_length_runs_in_groups_of_four() {
    let body = body("0", "add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r5;");
    check_folded(
        &body,
        "Ld(Param, u64, Default) r0 [+0]
         Mov(B32) r2 <- %TidX
         Mov(B32) r3 <- #0x0
         Setp(Lt, None, Int(S32), false) p0 <- #0x0, param[8]
         Setp(Gt, And, Int(U32), false) p1 <- param[8], #0x3, p0
         @!p1 Bra(false) -> 21 meet 27
         Ld(Global, u32, Default) r4 <- r0 [+0]
         Int(Add, S32) r2 <- r2, r4
         Ld(Global, u32, Default) r4 <- r0 [+4]
         Int(Add, S32) r2 <- r2, r4
         Ld(Global, u32, Default) r4 <- r0 [+8]
         Int(Add, S32) r2 <- r2, r4
         Ld(Global, u32, Default) r4 <- r0 [+12]
         Int(Add, S32) r2 <- r2, r4
         Int(Add, S64) r0 <- r0, #0x10
         Int(Add, S32) r3 <- r3, #0x4
         Int(Sub, U32) r4 <- param[8], r3
         Setp(Lt, None, Int(S32), false) p0 <- r3, param[8]
         Setp(Gt, And, Int(U32), false) p1 <- r4, #0x3, p0
         @p1 Bra(false) -> 6 meet 20
         @!p0 Bra(false) -> 27 meet 27
         Ld(Global, u32, Default) r4 <- r0 [+0]
         Int(Add, S32) r2 <- r2, r4
         Int(Add, S64) r0 <- r0, #0x4
         Int(Add, S32) r3 <- r3, #0x1
         Setp(Lt, None, Int(S32), false) p0 <- r3, param[8]
         @p0 Bra(false) -> 21 meet 27
         St(Global, u32, Default) <- r0, r2 [+0]
         Exit",
    );
}

#[test]
fn a_loop_with_its_test_in_the_middle_disappears() {
    check_folded(
        &format!(
            "{PREAMBLE}
             ld.param.u64 %rd1, [out];
             mov.u32 %r2, %tid.x;
             mov.u32 %r1, 5;
             bra.uni test;
             work:
             add.s64 %rd1, %rd1, 4;
             add.s32 %r1, %r1, 2;
             test:
             ld.global.u32 %r3, [%rd1];
             mad.lo.s32 %r2, %r2, %r3, %r1;
             setp.gt.s32 %p1, %r1, 8;
             @%p1 bra exit;
             bra.uni work;
             exit:
             st.global.u32 [%rd1], %r2;"
        ),
        "Mov(B32) r0 <- %TidX
         Ld(Global, u32, Default) r1 <- param[0] [+0]
         Mad(Lo, S32, false) r0 <- r0, r1, #0x5
         Ld(Global, u32, Default) r1 <- param[0] [+4]
         Mad(Lo, S32, false) r0 <- r0, r1, #0x7
         Ld(Global, u32, Default) r1 <- param[0] [+8]
         Mad(Lo, S32, false) r0 <- r0, r1, #0x9
         St(Global, u32, Default) <- param[0], r0 [+8]
         Exit",
    );
}

/// Numbers of loads and of branches of the unrolled form.
fn loads_and_branches(first: &str, end: &str) -> [usize; 2] {
    let listing = folded_body(&body(first, end));
    ["Ld(Global", "Bra("].map(|what| listing.matches(what).count())
}

#[test]
fn a_long_loop_runs_in_large_groups() {
    // Six instructions, of which three count: groups of 108, 925 times, and 100 more.
    let found = loads_and_branches("0", "add.s32 %r1, %r1, 1; setp.ne.s32 %p1, %r1, 100000;");
    assert_eq!(found, [108 + 100, 1]);
    // 2,048 instructions are the most of a loop that disappears.
    let whole = |bound: u32| {
        let end = format!("add.s32 %r1, %r1, 1; setp.ne.s32 %p1, %r1, {bound};");
        loads_and_branches("0", &end)
    };
    assert_eq!(whole(1024), [1024, 0]);
    assert_eq!(whole(1025), [108 + 1025 % 108, 1]);
}

#[test]
fn what_does_not_count_stays() {
    let stays =
        |first: &str, end: &str| assert_eq!(loads_and_branches(first, end), [1, 1], "{end}");
    // The bound changes, the step is no constant, the counter ends at the other end of its type.
    stays("0", "add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r2;");
    stays("0", "add.s32 %r1, %r1, %r5; setp.lt.s32 %p1, %r1, %r5;");
    stays("0", "add.s32 %r1, %r1, 1; setp.gt.s32 %p1, %r1, %r5;");
    stays("0", "add.s32 %r1, %r1, 1; setp.eq.s32 %p1, %r1, %r5;");
    // Lanes that leave it in different iterations would not meet at the vote.
    let vote = "vote.sync.any.pred %p2, %p1, -1; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r5;";
    stays("0", vote);
}
