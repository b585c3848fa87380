//! Tests of the places in a compiler's source that instructions know.

use warploom_base::Pc;
use warploom_diag::Source;

/// Text as `nvcc -lineinfo` writes it: files after the functions, code of an inlined function.
const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry first(.param .u64 p) {
    .reg .b64 %d;
    .loc 1 3 5
    ld.param.u64 %d, [p];
    .loc 2 40 9, function_name $L__info_string0, inlined_at 1 4 3
    cvta.to.global.u64 %d, %d;
    .loc 1 0 0
    cvta.to.global.u64 %d, %d;
    .loc 1 5 1
    ret;
}
.visible .entry second() {
    ret;
}
    .file 1 \"../kernels/saxpy.cu\"
    .file 2 \"helpers.cuh\", 1700000000, 123
";

#[test]
fn instructions_know_the_line_that_they_were_made_of() {
    let (ir, _) = warploom_lower::compile(&Source::new("t.ptx", PTX)).unwrap();
    let written = |kernel: usize| {
        let program = &ir.kernels[kernel];
        let all = (0..program.insts.len()).map(|pc| program.written_at(Pc::new(pc)));
        all.collect::<Vec<_>>()
    };
    let expected = [
        Some("saxpy.cu:3"),
        Some("helpers.cuh:40"),
        None,
        Some("saxpy.cu:5"),
    ];
    assert_eq!(written(0), expected.map(|place| place.map(str::to_owned)));
    assert_eq!(written(1), [None]);
    let plain: String = PTX
        .lines()
        .filter(|line| !line.contains(".file"))
        .collect::<Vec<_>>()
        .join("\n");
    let (ir, _) = warploom_lower::compile(&Source::new("t.ptx", plain)).unwrap();
    assert_eq!(ir.kernels[0].written_at(Pc::new(0)), None);
}

#[test]
fn code_of_a_header_of_cuda_has_the_line_of_its_call() {
    let text = PTX
        .replace("helpers.cuh", "/opt/cuda-13/include/sm_20_intrinsics.hpp")
        .replace(
            "inlined_at 1 4 3",
            "inlined_at 2 90 7\n    .loc 2 90 7, function_name $L__info_string1, inlined_at 1 4 3\n    \
             .loc 2 40 9, function_name $L__info_string0, inlined_at 2 90 7",
        );
    let (ir, _) = warploom_lower::compile(&Source::new("t.ptx", text)).unwrap();
    let written = ir.kernels[0].written_at(Pc::new(1));
    assert_eq!(written.as_deref(), Some("saxpy.cu:4"));
}
