//! Tests of `ldmatrix`, `stmatrix`, `movmatrix`: matrices of eight rows of 16 bytes. The element in
//! row r, column c of matrix q is 64 * q + 8 * r + c.

use super::*;

fn element(matrix: usize, row: usize, col: usize) -> u32 {
    (64 * matrix + 8 * row + col) as u32
}

/// Register of a lane for a matrix, according to the PTX ISA, "ldmatrix", fragment layout.
fn fragment(matrix: usize, lane: usize, turned: bool) -> u32 {
    let half = |k: usize| {
        if turned {
            element(matrix, lane % 4 * 2 + k, lane / 4)
        } else {
            element(matrix, lane / 4, lane % 4 * 2 + k)
        }
    };
    half(1) << 16 | half(0)
}

/// Position of lane l's row in memory: 5 * l + 3 modulo 32, so that rows are not in order.
fn place(lane: usize) -> usize {
    (5 * lane + 3) % 32
}

const ADDRESS: &str = "mov.u32 %r63, %tid.x;\nmad.lo.u32 %r62, %r63, 5, 3;\n\
     and.b32 %r62, %r62, 31;\nmov.u32 %r61, s;\nmad.lo.u32 %r62, %r62, 16, %r61;\n";

/// Code in which every lane moves 16 bytes between a position in shared memory and its own in
/// global memory.
fn moved(load: bool) -> &'static str {
    if load {
        "mul.wide.u32 %rd3, %r63, 16;\nadd.s64 %rd3, %rd1, %rd3;\n\
             ld.global.v4.b32 {%r50, %r51, %r52, %r53}, [%rd3];\n\
             mad.lo.u32 %r54, %r63, 16, %r61;\n\
             st.shared.v4.b32 [%r54], {%r50, %r51, %r52, %r53};\nbar.warp.sync 0xffffffff;\n"
    } else {
        "bar.warp.sync 0xffffffff;\nmad.lo.u32 %r54, %r63, 16, %r61;\n\
             ld.shared.v4.b32 {%r50, %r51, %r52, %r53}, [%r54];\n\
             mul.wide.u32 %rd3, %r63, 16;\nadd.s64 %rd3, %rd2, %rd3;\n\
             st.global.v4.b32 [%rd3], {%r50, %r51, %r52, %r53};\n"
    }
}

/// The rows of four matrices in the order of memory.
fn rows() -> Vec<u32> {
    let mut words = vec![0; 128];
    for lane in 0..32 {
        for col in 0..8 {
            let value = element(lane / 8, lane % 8, col);
            put(&mut words, 16, place(lane) * 8 + col, value.into());
        }
    }
    words
}

fn each(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

#[test]
fn loads_give_each_lane_two_elements_of_each_matrix() {
    for (count, turned, generic) in [
        (1, false, false),
        (1, true, false),
        (2, false, true),
        (2, true, false),
        (4, false, false),
        (4, true, true),
    ] {
        let trans = if turned { ".trans" } else { "" };
        let registers = list("%r", 0, count);
        let load = if generic {
            format!(
                "cvt.u64.u32 %rd4, %r62;\ncvta.shared.u64 %rd4, %rd4;\n\
                 ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16 {registers}, [%rd4];\n"
            )
        } else {
            format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%r62];\n")
        };
        let store = each(count, |nth| {
            format!("st.global.b32 [%rd5+{}], %r{nth};\n", 4 * nth)
        });
        let own = format!(
            "mul.wide.u32 %rd5, %r63, {};\nadd.s64 %rd5, %rd2, %rd5;\n",
            4 * count
        );
        let body = format!("{ADDRESS}{}{load}{own}{store}", moved(true));
        let output = run(&body, &rows(), 32 * count);
        for (at, found) in output.iter().enumerate() {
            let (lane, matrix) = (at / count, at % count);
            assert_eq!(*found, fragment(matrix, lane, turned), "{load} lane {lane}");
        }
    }
}

#[test]
fn stores_are_the_other_way() {
    for turned in [false, true] {
        let input: Vec<u32> = (0..32)
            .flat_map(|lane| (0..4).map(move |matrix| fragment(matrix, lane, turned)))
            .collect();
        let trans = if turned { ".trans" } else { "" };
        let own = "mul.wide.u32 %rd5, %r63, 16;\nadd.s64 %rd5, %rd1, %rd5;\n\
             ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd5];\n";
        let store = format!(
            "stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r62], {{%r0, %r1, %r2, %r3}};\n"
        );
        let body = format!("{ADDRESS}{own}{store}{}", moved(false));
        assert_eq!(run(&body, &input, 128), rows(), "{store}");
    }
}

#[test]
fn a_matrix_in_registers_is_turned() {
    let input: Vec<u32> = (0..32).map(|lane| fragment(0, lane, false)).collect();
    let body = "mov.u32 %r63, %tid.x;\nmul.wide.u32 %rd3, %r63, 4;\n\
         add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.b32 %r0, [%rd4];\n\
         movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\nst.global.b32 [%rd5], %r1;\n";
    let wanted: Vec<u32> = (0..32).map(|lane| fragment(0, lane, true)).collect();
    assert_eq!(run(body, &input, 32), wanted);
}
