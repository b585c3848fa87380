//! Tests with hand-written kernels in the style of compiler output, and their expected slices.

use super::truth::{Bench, compare, kernel};
use crate::{Slices, arrays};
use std::fmt::Write as _;
use warploom_base::Dim3;

/// Returns the text of a kernel with two pointers and three numbers as parameters, and the given
/// body.
pub fn ptx(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 a, .param .u32 b, \
         .param .u32 c)\n{{\n\
         .reg .pred %p<40>; .reg .b32 %r<200>; .reg .b64 %rd<200>;\n\
         ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n\
         cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;\n\
         ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; ld.param.u32 %r3, [c];\n\
         mov.u32 %r4, %tid.x; mov.u32 %r5, %ctaid.x; mov.u32 %r6, %tid.y; mov.u32 %r7, %ctaid.y;\n\
         {body}\nret;\n}}\n"
    )
}

/// Returns a listing of the accesses with their coverage and arrays, followed by the address
/// binary.
fn listing(body: &str) -> String {
    let program = kernel(&ptx(body));
    let slices = Slices::new(&program);
    let mut text = String::new();
    for access in &slices.accesses {
        let kind = if access.store { "store" } else { "load" };
        let base = access.base.map_or("-".into(), |b| b.name(&program));
        let _ = writeln!(text, "{kind} {} {base}: {}", access.pc.0, access.coverage);
    }
    let _ = write!(text, "{}", slices.program);
    text
}

fn holds(body: &str, grid: Dim3, block: Dim3, numbers: [u32; 3]) -> (usize, usize) {
    let program = kernel(&ptx(body));
    let mut bench = Bench::new(&program, grid, block, &numbers, 1);
    compare(&program, &mut bench)
}

const COPY: &str = "
    mad.lo.s32 %r10, %r5, %r1, %r4;
    mul.wide.s32 %rd10, %r10, 4;
    add.s64 %rd11, %rd1, %rd10;
    ld.global.u32 %r11, [%rd11];
    add.s32 %r12, %r11, 1;
    add.s64 %rd12, %rd2, %rd10;
    st.global.u32 [%rd12+8], %r12;";

#[test]
fn a_copy_keeps_its_address_computation_only() {
    insta::assert_snapshot!(listing(COPY));
    let both = holds(COPY, Dim3::new(3, 1, 1), Dim3::new(32, 1, 1), [32, 0, 0]);
    assert_eq!(both, (2 * 96, 2 * 96));
}

/// A loaded address must be left out, while the load that fetched it remains regular.
#[test]
fn gathered_addresses_are_irregular() {
    let body = "
        mul.wide.u32 %rd10, %r4, 4;
        add.s64 %rd11, %rd1, %rd10;
        ld.global.u32 %r11, [%rd11];
        mul.wide.u32 %rd12, %r11, 4;
        add.s64 %rd13, %rd2, %rd12;
        st.global.u32 [%rd13], %r11;";
    insta::assert_snapshot!(listing(body));
    let both = holds(body, Dim3::new(1, 1, 1), Dim3::new(32, 1, 1), [0, 0, 0]);
    assert_eq!(both, (32, 64));
}

/// For `for (i = 0; i < a; i++) out[i * b + tid] = in[tid]`, the loop must remain and the loaded
/// value must be removed.
#[test]
fn a_counted_loop_is_run_whole() {
    let body = "
        mov.u32 %r10, 0;
        mul.wide.u32 %rd10, %r4, 4;
        add.s64 %rd11, %rd1, %rd10;
        add.s64 %rd12, %rd2, %rd10;
    L: ld.global.u32 %r11, [%rd11];
        mul.lo.s32 %r12, %r10, %r2;
        mul.wide.s32 %rd13, %r12, 4;
        add.s64 %rd14, %rd12, %rd13;
        st.global.u32 [%rd14], %r11;
        add.s32 %r10, %r10, 1;
        setp.lt.s32 %p1, %r10, %r1;
        @%p1 bra L;";
    insta::assert_snapshot!(listing(body));
    let both = holds(body, Dim3::new(2, 1, 1), Dim3::new(32, 1, 1), [5, 64, 0]);
    assert_eq!(both, (640, 640));
}

/// For a loop whose iteration count is data, the first iteration must be known.
#[test]
fn a_loop_ended_by_data_is_known_once() {
    let body = "
        mul.wide.u32 %rd10, %r4, 4;
        add.s64 %rd11, %rd1, %rd10;
        add.s64 %rd12, %rd2, %rd10;
    L: ld.global.u32 %r11, [%rd11];
        st.global.u32 [%rd12], %r11;
        add.s64 %rd11, %rd11, 128;
        add.s64 %rd12, %rd12, 128;
        setp.gt.s32 %p1, %r11, 2;
        @%p1 bra L;";
    insta::assert_snapshot!(listing(body));
    holds(body, Dim3::new(2, 1, 1), Dim3::new(32, 1, 1), [0, 0, 0]);
}

/// A pointer that depends on the side taken at a data-dependent branch must be regular within each
/// side and irregular after the sides rejoin.
#[test]
fn sides_of_a_data_dependent_branch_do_not_mix() {
    let body = "
        mul.wide.u32 %rd10, %r4, 4;
        add.s64 %rd11, %rd1, %rd10;
        add.s64 %rd12, %rd2, %rd10;
        ld.global.u32 %r11, [%rd11];
        setp.gt.s32 %p1, %r11, 2;
        @%p1 bra E;
        add.s64 %rd12, %rd12, 256;
        st.global.u32 [%rd12], %r11;
        bra J;
    E: st.global.u32 [%rd12+4], %r11;
        add.s64 %rd12, %rd12, 512;
    J: st.global.u32 [%rd12], %r11;";
    insta::assert_snapshot!(listing(body));
    holds(body, Dim3::new(2, 1, 1), Dim3::new(32, 1, 1), [0, 0, 0]);
}

/// The guard that excludes threads beyond the end of the array must remain.
#[test]
fn guards_on_indices_are_kept() {
    let body = "
        mad.lo.s32 %r10, %r5, 32, %r4;
        setp.ge.s32 %p1, %r10, %r1;
        @%p1 bra END;
        mul.wide.s32 %rd10, %r10, 4;
        add.s64 %rd11, %rd1, %rd10;
        ld.global.u32 %r11, [%rd11];
    END:";
    let both = holds(body, Dim3::new(4, 1, 1), Dim3::new(32, 1, 1), [70, 0, 0]);
    assert_eq!(both, (70, 70));
}

/// The address of a gather depends on data, and its array is a parameter still. An address that is
/// loaded, or that one of two pointers gives, has none.
#[test]
fn arrays_of_accesses_are_the_pointers_that_addresses_come_from() {
    let gather = "
        mul.wide.u32 %rd10, %r4, 4;
        add.s64 %rd11, %rd1, %rd10;
        ld.global.u32 %r10, [%rd11];
        mul.wide.u32 %rd12, %r10, 4;
        add.s64 %rd13, %rd2, %rd12;
        ld.global.u32 %r11, [%rd13];
        atom.global.add.u32 %r12, [%rd11], 1;
        ld.global.u64 %rd14, [%rd11];
        ld.global.u32 %r13, [%rd14];
        setp.eq.u32 %p1, %r4, 0;
        selp.b64 %rd15, %rd1, %rd2, %p1;
        st.global.u32 [%rd15], %r4;";
    let program = kernel(&ptx(gather));
    let named = |base: Option<crate::Base>| base.map_or("-".to_owned(), |b| b.name(&program));
    let of_insts = program.insts.iter().zip(arrays(&program));
    let accesses = of_insts.filter(|(inst, _)| {
        use warploom_ir::{MemSpace, Op};
        matches!(
            inst.op,
            Op::Ld(MemSpace::Global, ..) | Op::St(MemSpace::Global, ..) | Op::Atom(..)
        )
    });
    let found: Vec<String> = accesses.map(|(_, base)| named(base)).collect();
    assert_eq!(found, ["in", "out", "in", "in", "-", "-"]);
}
