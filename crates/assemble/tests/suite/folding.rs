//! Instructions that disappear when a kernel is folded.

use crate::support::{MACHINE, PREAMBLE, check_folded};
use warploom_assemble::{Passes, assemble};
use warploom_diag::Source;

/// Checks the listing of a kernel's folded form.
fn check(body: &str, expected: &str) {
    check_folded(&format!("{PREAMBLE}\n{body}"), expected);
}

#[test]
fn parameters_literals_and_conversions_become_operands() {
    check(
        "ld.param.u64 %rd1, [out];
         cvta.to.global.u64 %rd2, %rd1;
         ld.param.u32 %r1, [n];
         mov.u32 %r2, 7;
         mov.u32 %r3, %tid.x;
         add.s32 %r4, %r3, %r1;
         add.s32 %r5, %r4, %r2;
         st.global.u32 [%rd2+4], %r5;",
        "Mov(B32) r0 <- %TidX
         Int(Add, S32) r0 <- r0, param[8]
         Int(Add, S32) r0 <- r0, #0x7
         St(Global, u32, Default) <- param[0], r0 [+4]
         Exit",
    );
}

#[test]
fn a_product_and_its_sum_are_one_instruction() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r3, %tid.x;
         mul.wide.u32 %rd3, %r3, 4;
         add.s64 %rd4, %rd1, %rd3;
         st.global.u32 [%rd4], %r3;",
        "Mov(B32) r2 <- %TidX
         Mad(Wide, U32, false) r0 <- r2, #0x4, param[0]
         St(Global, u32, Default) <- r0, r2 [+0]
         Exit",
    );
}

#[test]
fn sums_that_share_a_product_take_it_over() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r3, %tid.x;
         mul.wide.u32 %rd3, %r3, 4;
         add.s64 %rd4, %rd1, %rd3;
         add.s64 %rd5, %rd3, %rd4;
         shl.b32 %r4, %r3, 3;
         add.s32 %r5, %r4, 1;
         add.s32 %r6, %r3, %r4;
         st.global.u32 [%rd4], %r5;
         st.global.u32 [%rd5], %r6;",
        "Mov(B32) r4 <- %TidX
         Mad(Wide, U32, false) r0 <- r4, #0x4, param[0]
         Mad(Wide, U32, false) r2 <- r4, #0x4, r0
         Mad(Lo, U32, false) r5 <- r4, #0x8, #0x1
         Mad(Lo, U32, false) r4 <- r4, #0x8, r4
         St(Global, u32, Default) <- r0, r5 [+0]
         St(Global, u32, Default) <- r2, r4 [+0]
         Exit",
    );
}

#[test]
fn a_product_that_is_used_again_stays() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r3, %tid.x;
         mul.wide.u32 %rd3, %r3, 4;
         add.s64 %rd4, %rd1, %rd3;
         st.global.u64 [%rd4], %rd3;",
        "Mov(B32) r4 <- %TidX
         Mul(Wide, U32) r0 <- r4, #0x4
         Int(Add, S64) r2 <- param[0], r0
         St(Global, u64, Default) <- r2, r0 [+0]
         Exit",
    );
}

#[test]
fn copies_at_the_end_of_a_loop_disappear() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         mov.u32 %r2, %tid.y;
         loop:
         add.s32 %r3, %r1, %r2;
         sub.s32 %r4, %r2, 1;
         mov.u32 %r1, %r3;
         mov.u32 %r2, %r4;
         setp.eq.s32 %p1, %r4, 0;
         @%p1 bra loop;
         st.global.u32 [%rd1], %r1;",
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- %TidY
         Int(Add, S32) r0 <- r0, r1
         Int(Add, S32) r1 <- r1, #0xffffffff
         Setp(Eq, None, Int(S32), false) p0 <- r1, #0x0
         @p0 Bra(false) -> 2 meet 6
         St(Global, u32, Default) <- param[0], r0 [+0]
         Exit",
    );
}

#[test]
fn a_copy_of_a_value_that_changes_stays() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         loop:
         mov.u32 %r2, %r1;
         add.s32 %r1, %r1, 1;
         setp.eq.s32 %p1, %r1, 9;
         @%p1 bra loop;
         st.global.u32 [%rd1], %r2;",
        "Mov(B32) r0 <- %TidX
         Mov(B32) r1 <- r0
         Int(Add, S32) r0 <- r0, #0x1
         Setp(Eq, None, Int(S32), false) p0 <- r0, #0x9
         @p0 Bra(false) -> 1 meet 5
         St(Global, u32, Default) <- param[0], r1 [+0]
         Exit",
    );
}

#[test]
fn results_that_nothing_reads_disappear_and_loads_stay() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         add.s32 %r2, %r1, 1;
         mul.lo.s32 %r3, %r2, %r2;
         ld.global.u32 %r4, [%rd1];",
        "Ld(Global, u32, Default) r0 <- param[0] [+0]
         Exit",
    );
}

#[test]
fn a_parameter_under_a_guard_stays_a_load() {
    check(
        "ld.param.u64 %rd1, [out];
         mov.u32 %r1, %tid.x;
         setp.eq.s32 %p1, %r1, 0;
         @%p1 ld.param.u32 %r1, [n];
         st.global.u32 [%rd1], %r1;",
        "Mov(B32) r0 <- %TidX
         Setp(Eq, None, Int(S32), false) p0 <- r0, #0x0
         @p0 Ld(Param, u32, Default) r0 [+8]
         St(Global, u32, Default) <- param[0], r0 [+0]
         Exit",
    );
}

#[test]
fn a_kernel_that_calls_a_function_stays_as_it_is() {
    let source = Source::new(
        "k.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .func f() { ret; }\n\
         .visible .entry k() { call f, (); ret; }\n",
    );
    let (ir, _) = warploom_lower::compile(&source).expect("the file is PTX");
    let passes = Passes {
        fold: true,
        order: true,
    };
    assert!(assemble(&ir.kernels[0], passes, 32, &MACHINE).is_none());
}
