//! Executes PTX of all versions and styles: with 32-bit addresses, for `sm_1x`, and with forms that
//! few compilers generate. Values are those of the PTX ISA, computed by hand. Every kernel runs
//! without timing and on three GPUs.

mod machines;

use machines::check;

/// Text of a file with 64-bit addresses.
fn modern(body: &str) -> String {
    format!(".version 8.8\n.target sm_100a\n.address_size 64\n{body}")
}

/// Text of a kernel `k(p)` in such a file, whose `%d` points to the words.
fn kernel(body: &str) -> String {
    modern(&format!(
        ".entry k(.param .u64 p) {{ .reg .b64 %d, %e; .reg .b32 %r<12>; \
         ld.param.u64 %d, [p]; {body} ret; }}"
    ))
}

#[test]
fn addresses_have_32_bits_where_the_file_says_so_or_nothing() {
    let body = ".entry k(.param .u32 p) { .reg .u32 %r<4>; ld.param.u32 %r1, [p]; \
        ld.global.u32 %r2, [%r1+4]; add.u32 %r2, %r2, 5; st.global.u32 [%r1], %r2; \
        atom.global.add.u32 %r3, [%r1+8], 2; st.u32 [%r1+12], %r3; exit; }";
    for header in [
        ".version 1.4\n.target sm_13\n",
        ".version 2.3\n.target sm_20\n",
        ".version 2.3\n.target sm_20\n.address_size 32\n",
        ".version 7.0\n.target sm_50\n.address_size 32\n",
    ] {
        check(
            &format!("{header}{body}"),
            &[0, 10, 20, 0],
            &[15, 10, 22, 20],
        );
    }
}

#[test]
fn symbols_and_generic_addresses_have_32_bits_too() {
    let text = ".version 3.0\n.target sm_20\n.address_size 32\n\
        .global .u32 g = 7; .global .u32 at = g; .const .u32 c = 9; .shared .u32 s[2];\n\
        .entry k(.param .u32 p) { .reg .u32 %r<6>; .local .u32 l; ld.param.u32 %r0, [p]; \
        ld.global.u32 %r1, [at]; ld.global.u32 %r1, [%r1]; st.global.u32 [%r0], %r1; \
        mov.u32 %r1, c; cvta.const.u32 %r1, %r1; ld.u32 %r1, [%r1]; st.global.u32 [%r0+4], %r1; \
        mov.u32 %r1, s; cvta.shared.u32 %r2, %r1; mov.u32 %r3, 11; st.u32 [%r2+4], %r3; \
        ld.shared.u32 %r3, [s+4]; st.global.u32 [%r0+8], %r3; \
        mov.u32 %r1, l; cvta.local.u32 %r2, %r1; mov.u32 %r3, 13; st.u32 [%r2], %r3; \
        ld.local.u32 %r3, [l]; st.global.u32 [%r0+12], %r3; exit; }";
    check(text, &[0; 4], &[7, 9, 11, 13]);
}

/// PTX ISA, "mad" (floating point): for a device of sm_20 or later `mad.f32` of sm_1x is
/// `fma.rn.ftz.f32`. (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24 if the product is not rounded, and a
/// product of 2^-126 and 1/2 is flushed to 0.
#[test]
fn mad_of_sm_1x_is_fused_and_flushes() {
    for (version, target) in [("1.4", "sm_13"), ("2.3", "sm_10")] {
        let text = format!(
            ".version {version}\n.target {target}\n.entry k(.param .u64 p) {{ .reg .u64 %d; \
             .reg .f32 %f<4>; ld.param.u64 %d, [p]; ld.global.f32 %f1, [%d]; \
             ld.global.f32 %f2, [%d+4]; mad.f32 %f3, %f1, %f1, %f2; st.global.f32 [%d], %f3; \
             ld.global.f32 %f1, [%d+8]; ld.global.f32 %f2, [%d+12]; \
             mad.f32 %f3, %f1, %f2, 0f00000000; st.global.f32 [%d+8], %f3; exit; }}"
        );
        let one_and = (1.0_f32 + 1.0 / 4096.0).to_bits();
        let fused = (1.0_f32 / 2048.0 + 1.0 / 16_777_216.0).to_bits();
        let smallest = f32::MIN_POSITIVE.to_bits();
        let minus_one = (-1.0_f32).to_bits();
        let half = 0.5_f32.to_bits();
        check(
            &text,
            &[one_and, minus_one, smallest, half],
            &[fused, minus_one, 0, half],
        );
    }
}

/// PTX ISA 1.3: parameters are declared in the body, and approximate functions need no `.approx`.
#[test]
fn parameters_may_stand_in_the_body_before_version_1_4() {
    let text = ".version 1.3\n.target sm_10\n.entry k { .param .u32 p; .reg .u32 %r; \
        .reg .f32 %f; ld.param.u32 %r, [p]; ld.global.f32 %f, [%r]; rcp.f32 %f, %f; \
        st.global.f32 [%r], %f; exit; }";
    check(text, &[4.0_f32.to_bits()], &[0.25_f32.to_bits()]);
}

/// Compilers up to CUDA 4 write prototypes without a semicolon.
#[test]
fn a_function_without_a_body_is_a_prototype() {
    let prototype = ".visible .func (.param .s32 q) twice (.param .s32 a)";
    for between in [
        "",
        ";",
        ".global .align 4 .b8 table[64];",
        ".file 1 \"a.cu\"",
    ] {
        let text = format!(
            ".version 2.3\n.target sm_20\n.address_size 64\n{prototype}\n{between}\n{prototype}\n\
             {{ .reg .s32 %r<3>; ld.param.s32 %r1, [a]; add.s32 %r2, %r1, %r1; \
             st.param.s32 [q], %r2; ret; }}\n\
             .entry k(.param .u64 p) {{ .reg .u64 %d; .reg .s32 %r<3>; ld.param.u64 %d, [p]; \
             ld.global.s32 %r1, [%d]; {{ .param .s32 a; .param .s32 q; st.param.s32 [a], %r1; \
             call.uni (q), twice, (a); ld.param.s32 %r1, [q]; }} st.global.s32 [%d], %r1; exit; }}"
        );
        check(&text, &[21], &[42]);
    }
}

#[test]
fn a_kernel_runs_beside_others_that_cannot() {
    let text = modern(
        ".shared .align 128 .b8 s[64]; .shared .align 8 .b64 b;\n\
         .entry tma(.param .u64 p) { .reg .b64 %d; .reg .b32 %x<5>; ld.param.u64 %d, [p]; \
         cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
         [s], [%d, {%x1, %x2, %x3, %x4}], [b]; ret; }\n\
         .entry wrong(.param .u64 p) { .reg .b32 %r; add.f32 %r, %r, %undeclared; ret; }\n\
         .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [p]; \
         mov.u32 %v, 5; st.global.u32 [%d], %v; ret; }",
    );
    check(&text, &[0], &[5]);
}

/// PTX ISA, "st": an element with `_` in the vector of a 256-bit store is not written.
#[test]
fn a_store_leaves_elements_out() {
    let loads: String = (0..8)
        .map(|i| format!("mov.u32 %r{i}, {}; ", i + 1))
        .collect();
    let before = [90, 91, 92, 93, 94, 95, 96, 97];
    for (vector, after) in [
        (
            "{%r0, _, %r2, %r3, %r4, %r5, %r6, %r7}",
            [1, 91, 3, 4, 5, 6, 7, 8],
        ),
        (
            "{_, _, _, _, %r4, _, %r6, _}",
            [90, 91, 92, 93, 5, 95, 7, 97],
        ),
        ("{_, _, _, _, _, _, _, _}", before),
    ] {
        let text = kernel(&format!("{loads} st.global.v8.b32 [%d], {vector};"));
        check(&text, &before, &after);
    }
}

/// PTX ISA, "Vectors as Operands": a vector register denotes all of its elements.
#[test]
fn vector_registers_are_whole_operands() {
    let body = ".reg .v2 .u32 a, b; .reg .v4 .b16 h; ld.global.v2.u32 a, [%d]; mov.b64 %e, a; \
        mov.v2.u32 b, a; mov.v2.u32 a, {b.y, b.x}; st.global.v2.u32 [%d], a; \
        mov.b64 h, %e; mov.b64 %e, h; st.global.u64 [%d+8], %e;";
    check(&kernel(body), &[3, 4, 0, 0], &[4, 3, 3, 4]);
    let swap = ".reg .v2 .u32 a; ld.global.v2.u32 a, [%d]; mov.v2.u32 a, {a.y, a.x}; \
        st.global.v2.u32 [%d], a;";
    check(&kernel(swap), &[3, 4], &[4, 3]);
}

/// `ptxas` accepts such variables and abandons its calling convention: all functions share the
/// variable.
#[test]
fn local_variables_of_the_file_are_shared_by_functions() {
    let text = ".version 2.3\n.target sm_20\n.address_size 64\n.local .align 4 .b8 stack[64];\n\
        .func put(.reg .u32 v) { .reg .u64 %s; mov.u64 %s, stack; st.local.u32 [%s+4], v; ret; }\n\
        .entry k(.param .u64 p) { .local .u32 own; .reg .u64 %d; .reg .u32 %r<4>; \
        ld.param.u64 %d, [p]; mov.u32 %r1, 6; st.local.u32 [own], %r1; call put, (7); \
        ld.local.u32 %r1, [own]; ld.local.u32 %r2, [stack+4]; st.global.u32 [%d], %r1; \
        st.global.u32 [%d+4], %r2; exit; }";
    check(text, &[0, 0], &[6, 7]);
}

/// `ptxas` accepts such operands, and in older PTX versions also registers of the file and
/// predicates as parameters. Only the kernel that contains one is refused, for that reason.
#[test]
fn what_is_valid_and_not_supported_is_no_error() {
    let bodies = [
        (
            "st.global.u64 [%d], %e + 1;",
            "the sum of a register and a constant",
        ),
        ("call vector, (v);", "vector registers as parameters"),
        ("call (q), flag;", "predicates as parameters"),
        (
            "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%d, {%r1, %r2, %r3}], {%h, %h};",
            "im2col::w",
        ),
        ("tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::ld"),
        (
            "tcgen05.fence::before_thread_sync;",
            "tcgen05.fence::before_thread_sync",
        ),
        (
            "mov.u32 file, 1;",
            "registers that are declared outside of functions",
        ),
        ("fma.rn.oob.f16 %h, %h, %h, %h;", "fma.rn.oob.f16"),
    ];
    for (body, reason) in bodies {
        let text = modern(&format!(
            ".reg .u32 file;\n.func vector(.reg .v2 .u32 a) {{ ret; }}\n\
             .func (.reg .pred a) flag() {{ ret; }}\n\
             .entry bad(.param .u64 p) {{ .reg .b64 %d, %e; .reg .b32 %r<6>; .reg .b16 %h; \
             .reg .v2 .u32 v; .reg .pred q; {body} ret; }}\n\
             .entry k(.param .u64 p) {{ .reg .b64 %d; ld.param.u64 %d, [p]; \
             st.global.u32 [%d], 5; ret; }}"
        ));
        check(&text, &[0], &[5]);
        let source = warploom_diag::Source::new("k.ptx", text.as_str());
        let ir = warploom_run::compile(&source).unwrap_or_else(|error| panic!("{error}"));
        let [(kernel, why)] = &ir.refused[..] else {
            panic!("{body}: {:?}", ir.refused);
        };
        assert_eq!(kernel, "bad");
        assert!(
            why.iter().all(|problem| problem.code == "not-supported"),
            "{body}: {why:?}"
        );
        let said = why.iter().any(|problem| problem.message.contains(reason));
        assert!(said, "{body}: {why:?}");
    }
}
