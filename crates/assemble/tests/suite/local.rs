//! Values that disappear within a basic block.

use crate::support::{PREAMBLE, check_folded};

/// Checks the listing of a kernel's folded form.
fn check(body: &str, expected: &str) {
    check_folded(&format!(".reg .b16 %rs<9>;\n{PREAMBLE}\n{body}"), expected);
}

#[test]
fn sums_become_offsets_of_addresses() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mul.wide.u32 %rd2, %r1, 4;
         add.s64 %rd3, %rd1, %rd2;
         add.s64 %rd4, %rd3, 4096;
         sub.s64 %rd5, %rd4, 8;
         ld.global.u32 %r2, [%rd5+4];
         st.global.u32 [%rd4], %r2;",
        "Mov(B32) r2 <- %TidX
         Mad(Wide, U32, false) r0 <- r2, #0x4, param[0]
         Ld(Global, u32, Default) r2 <- r0 [+4092]
         St(Global, u32, Default) <- r0, r2 [+4096]
         Exit",
    );
}

#[test]
fn a_sum_that_no_offset_can_hold_stays() {
    check(
        "ld.param.u64 %rd1, [out];
         add.s64 %rd2, %rd1, 8388608;
         add.s64 %rd3, %rd1, 8388604;
         mov.u32 %r1, %tid.x;
         st.global.u32 [%rd2], %r1;
         st.global.u32 [%rd3], %r1;",
        "Int(Add, S64) r0 <- param[0], #0x800000
         Mov(B32) r2 <- %TidX
         St(Global, u32, Default) <- r0, r2 [+0]
         St(Global, u32, Default) <- param[0], r2 [+8388604]
         Exit",
    );
}

#[test]
fn a_sum_of_a_register_that_changes_stays() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         add.s32 %r2, %r1, 4;
         setp.gt.s32 %p1, %r1, 7;
         @%p1 mov.u32 %r1, %tid.y;
         add.s32 %r3, %r2, 4;
         st.global.u32 [%rd1], %r3;
         st.global.u32 [%rd1+4], %r1;",
        "Mov(B32) r0 <- %TidX
         Int(Add, S32) r1 <- r0, #0x4
         Setp(Gt, None, Int(S32), false) p0 <- r0, #0x7
         @p0 Mov(B32) r0 <- %TidY
         Int(Add, S32) r1 <- r1, #0x4
         St(Global, u32, Default) <- param[0], r1 [+0]
         St(Global, u32, Default) <- param[0], r0 [+4]
         Exit",
    );
}

#[test]
fn arithmetic_of_16_bits_on_literals_disappears() {
    // 13 % 5, as a front end writes it.
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, 13;
         cvt.u16.u32 %rs1, %r1;
         and.b16 %rs2, %rs1, 255;
         mul.wide.u16 %r2, %rs2, -13107;
         shr.u32 %r3, %r2, 18;
         cvt.u16.u32 %rs3, %r3;
         mul.lo.s16 %rs4, %rs3, 5;
         sub.s16 %rs5, %rs1, %rs4;
         cvt.u32.u16 %r4, %rs5;
         mov.u32 %r5, %tid.x;
         add.s32 %r6, %r5, %r4;
         mad.lo.s32 %r7, %r3, 29, %r6;
         st.global.u32 [%rd1], %r7;",
        "Mov(B32) r0 <- %TidX
         Int(Add, S32) r0 <- r0, #0x3d
         St(Global, u32, Default) <- param[0], r0 [+0]
         Exit",
    );
}

#[test]
fn a_float_literal_becomes_an_integer() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.b32 %r1, 0f40200000;
         cvt.rni.s32.f32 %r2, %r1;
         cvt.rzi.s32.f32 %r3, 0fC0333333;
         mov.b32 %r4, 0f4F000000;
         cvt.rni.s32.f32 %r5, %r4;
         st.global.u32 [%rd1], %r2;
         st.global.u32 [%rd1+4], %r3;
         st.global.u32 [%rd1+8], %r5;",
        "Cvt(Int(S32), Float(F32), Integral(Near)) r0 \
         <- #0x4f000000
         St(Global, u32, Default) <- param[0], #0x2 [+0]
         St(Global, u32, Default) <- param[0], #0xfffffffe [+4]
         St(Global, u32, Default) <- param[0], r0 [+8]
         Exit",
    );
}

#[test]
fn a_branch_by_a_comparison_of_literals_disappears() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, -3;
         setp.lt.s32 %p1, %r1, 4;
         setp.lt.u32 %p2, %r1, 4;
         @!%p1 bra never;
         st.global.u32 [%rd1], %r1;
         never:
         @%p2 st.global.u32 [%rd1+4], %r1;
         @!%p2 st.global.u32 [%rd1+8], %r1;",
        "St(Global, u32, Default) <- param[0], #0xfffffffd [+0]
         St(Global, u32, Default) <- param[0], #0xfffffffd [+8]
         Exit",
    );
}
