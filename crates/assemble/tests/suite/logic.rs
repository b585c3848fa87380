//! Bitwise operations of three inputs, and those that set a predicate.

use crate::support::{PREAMBLE, check_folded};

/// Checks the listing of a kernel's folded form.
fn check(body: &str, expected: &str) {
    let start = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;";
    check_folded(&format!("{PREAMBLE}\n{start}\n{body}"), expected);
}

#[test]
fn two_operations_become_one() {
    check(
        "and.b32 %r3, %r1, %r2;
         xor.b32 %r4, %r3, 12;
         not.b32 %r5, %r1;
         or.b32 %r6, %r2, %r5;
         st.global.u32 [%rd1], %r4;
         st.global.u32 [%rd1+4], %r6;",
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- %TidY
         Lop3(106, None) r2 <- r0, r1, #0xc
         Lop3(207, None) r0 <- r0, r1, #0x0
         St(Global, u32, Default) <- param[0], r2 [+0]
         St(Global, u32, Default) <- param[0], r0 [+4]
         Exit",
    );
}

#[test]
fn an_operation_that_is_used_twice_or_has_another_literal_stays() {
    check(
        "and.b32 %r3, %r1, 3;
         or.b32 %r4, %r3, 4;
         xor.b32 %r5, %r2, %r1;
         and.b32 %r6, %r5, %r2;
         st.global.u32 [%rd1], %r4;
         st.global.u32 [%rd1+4], %r5;
         st.global.u32 [%rd1+8], %r6;",
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- %TidY
         Logic(And, B32) r2 <- r0, #0x3
         Logic(Or, B32) r2 <- r2, #0x4
         Logic(Xor, B32) r0 <- r1, r0
         Logic(And, B32) r1 <- r0, r1
         St(Global, u32, Default) <- param[0], r2 [+0]
         St(Global, u32, Default) <- param[0], r0 [+4]
         St(Global, u32, Default) <- param[0], r1 [+8]
         Exit",
    );
}

#[test]
fn a_comparison_with_zero_becomes_part_of_the_operation() {
    check(
        "and.b32 %r3, %r1, 4;
         setp.eq.s32 %p1, %r3, 0;
         and.b32 %r4, %r1, 8;
         setp.ne.u32 %p2, %r4, 0;
         selp.b32 %r5, %r1, %r2, %p1;
         @%p1 st.global.u32 [%rd1], %r1;
         @%p2 st.global.u32 [%rd1+4], %r5;",
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- %TidY
         Lop3(192, None) p0 <- r0, #0x4, #0x0
         Lop3(192, None) p1 <- r0, #0x8, #0x0
         Selp(B32) r1 <- r0, r1, !p0
         @!p0 St(Global, u32, Default) <- param[0], r0 [+0]
         @p1 St(Global, u32, Default) <- param[0], r1 [+4]
         Exit",
    );
}
