//! Tests of row pitches and rectangles, with kernels in the style of compiler output. The expected
//! values follow from the index expression that each kernel computes.

use super::kernels::ptx;
use super::truth::{Bench, kernel};
use crate::{Array, Base, Footprints, Slices};
use std::fmt::Write as _;
use std::sync::Arc;
use warploom_base::{Dim3, Rect};

/// Returns the row pitch of each array and the rectangles of some blocks, one line for each.
fn rects(body: &str, [grid, block]: [[u32; 2]; 2], numbers: [u32; 3], at: &[[u32; 2]]) -> String {
    let plane = |[x, y]: [u32; 2]| Dim3::new(x, y, 1);
    let program = kernel(&ptx(body));
    let bench = Bench::new(&program, plane(grid), plane(block), &numbers, 1);
    let slices = Arc::new(Slices::new(&program));
    let mut footprints = Footprints::new(slices, &bench.launch, 5).expect("no fault");
    let mut text = String::new();
    let mut names = Vec::new();
    for array in footprints.arrays() {
        let name = array.base.name(&program);
        let pitch = array
            .pitch
            .map_or("linear".to_owned(), |pitch| pitch.to_string());
        let _ = writeln!(text, "{name}: {pitch}");
        names.push(name);
    }
    for &[x, y] in at {
        let _ = write!(text, "{x},{y}:");
        for touched in footprints.rects(Dim3::new(x, y, 0)).expect("no fault") {
            let (name, rect) = (&names[touched.array], touched.rect);
            let _ = write!(
                text,
                " {name} {},{} {}x{}",
                rect.x, rect.y, rect.width, rect.height
            );
        }
        text.push('\n');
    }
    text
}

/// Computes in r10 and r11 the column and the row of a thread in blocks of 32 x 4 threads, and in
/// rd11 and rd12 the addresses of `in[row * a + column]` and `out[row * a + column]`.
const PLACE: &str = "
    mad.lo.s32 %r10, %r5, 32, %r4;
    mad.lo.s32 %r11, %r7, 4, %r6;
    mad.lo.s32 %r12, %r11, %r1, %r10;
    mul.wide.s32 %rd10, %r12, 4;
    add.s64 %rd11, %rd1, %rd10;
    add.s64 %rd12, %rd2, %rd10;";

fn at_place(rest: &str) -> String {
    format!("{PLACE}{rest}")
}

/// Rows have 128 words. The pitch follows from tid.y, and a block touches one line in each of four
/// rows. An address that is the same for all threads is a linear array.
#[test]
fn rectangles_follow_from_the_first_and_the_last_thread() {
    let body = at_place("st.global.u32 [%rd12], %r12; ld.global.u32 %r13, [%rd1];");
    let text = rects(
        &body,
        [[4, 2], [32, 4]],
        [128, 0, 0],
        &[[0, 0], [1, 0], [3, 1]],
    );
    let expected = "out: 512\nin: linear\n\
                    0,0: out 0,0 1x4 in 0,0 1x1\n\
                    1,0: out 1,0 1x4 in 0,0 1x1\n\
                    3,1: out 3,4 1x4 in 0,0 1x1\n";
    assert_eq!(text, expected);
}

/// The row above is clamped at the upper boundary, where the access stands still. The pitch follows
/// from the middle of the grid. The rows above touch those of the block.
#[test]
fn the_pitch_does_not_follow_from_clamped_accesses() {
    let body = at_place(
        "sub.s32 %r14, %r11, 1;
        max.s32 %r14, %r14, 0;
        mad.lo.s32 %r15, %r14, %r1, %r10;
        mul.wide.s32 %rd13, %r15, 4;
        add.s64 %rd14, %rd1, %rd13;
        ld.global.u32 %r16, [%rd14];
        ld.global.u32 %r17, [%rd11];",
    );
    let text = rects(&body, [[4, 4], [32, 4]], [128, 0, 0], &[[0, 0], [1, 2]]);
    assert_eq!(text, "in: 512\n0,0: in 0,0 1x4\n1,2: in 1,7 1x5\n");
}

/// An access that steps over two rows, and another one over one row. The smaller change is the
/// pitch.
#[test]
fn the_smallest_change_of_all_accesses_is_the_pitch() {
    let body = at_place(
        "add.s32 %r14, %r11, %r11;
        mad.lo.s32 %r15, %r14, %r1, %r10;
        mul.wide.s32 %rd13, %r15, 4;
        add.s64 %rd14, %rd1, %rd13;
        ld.global.u32 %r16, [%rd14];
        ld.global.u32 %r17, [%rd11];",
    );
    let text = rects(&body, [[2, 2], [32, 4]], [64, 0, 0], &[[0, 0]]);
    assert_eq!(text, "in: 256\n0,0: in 0,0 1x7\n");
}

/// Blocks of 16 x 4 threads with rows of 17 words, as in Back Propagation. Rows are shorter than a
/// line, and a block touches 272 bytes one after the other, from the 72nd byte. The 272 bytes from
/// block to block are no row pitch, because every block would touch parts of two such rows.
#[test]
fn a_contiguous_block_that_crosses_a_row_makes_the_array_linear() {
    let body = at_place("st.global.u32 [%rd12+72], %r12;");
    let text = rects(&body, [[1, 8], [16, 4]], [17, 0, 0], &[[0, 0], [0, 4]]);
    assert_eq!(text, "out: linear\n0,0: out 0,0 3x1\n0,4: out 9,0 3x1\n");
}

/// Blocks of one row of threads. The change from block to block is the row pitch.
#[test]
fn the_pitch_follows_from_the_block_index_if_blocks_lie_within_rows() {
    let body = "
        mad.lo.s32 %r10, %r5, 32, %r4;
        mad.lo.s32 %r12, %r7, %r1, %r10;
        mul.wide.s32 %rd10, %r12, 4;
        add.s64 %rd12, %rd2, %rd10;
        st.global.u32 [%rd12], %r12;";
    let text = rects(body, [[4, 4], [32, 1]], [128, 0, 0], &[[1, 2]]);
    assert_eq!(text, "out: 512\n1,2: out 1,2 1x1\n");
}

/// Each block of Gaussian elimination stores its tile and reads the pivot row, here row 0. The
/// pivot row is a rectangle of its own unless it is in the tile.
#[test]
fn accesses_far_apart_have_their_own_rectangles() {
    let body = at_place(
        "mul.wide.s32 %rd13, %r10, 4;
        add.s64 %rd14, %rd2, %rd13;
        ld.global.u32 %r16, [%rd14];
        st.global.u32 [%rd12], %r16;",
    );
    let text = rects(
        &body,
        [[4, 4], [32, 4]],
        [128, 0, 0],
        &[[2, 0], [2, 1], [2, 2]],
    );
    let expected = "out: 512\n\
                    2,0: out 2,0 1x4\n\
                    2,1: out 2,0 1x1 out 2,4 1x4\n\
                    2,2: out 2,0 1x1 out 2,8 1x4\n";
    assert_eq!(text, expected);
}

/// A loop of four iterations that moves by STEP bytes.
const LOOP: &str = "
    mov.u32 %r20, 0;
    L: ld.global.u32 %r21, [%rd11];
    add.s64 %rd11, %rd11, STEP;
    add.s32 %r20, %r20, 1;
    setp.lt.s32 %p1, %r20, 4;
    @%p1 bra L;";

/// A step of one line stays beside the lines before it, and so does a step of two of the block's
/// four rows. A step of eight rows leaves the rectangle, and the first iteration counts.
#[test]
fn a_loop_extends_its_rectangle_as_long_as_it_stays_beside_it() {
    for (step, expected) in [
        ("128", "1,0 4x4"),
        ("2048", "1,0 1x10"),
        ("8192", "1,0 1x4"),
    ] {
        let body = at_place(&LOOP.replace("STEP", step));
        let text = rects(&body, [[8, 4], [32, 4]], [256, 0, 0], &[[1, 0]]);
        assert_eq!(text, format!("in: 1024\n1,0: in {expected}\n"), "{step}");
    }
}

/// The first and the last row of a block's threads do not make the access, as in the halo of a
/// stencil: the rectangle follows from the threads that do.
#[test]
fn threads_without_the_access_do_not_count() {
    let body = at_place(
        "setp.eq.s32 %p1, %r6, 0;
        @%p1 bra END;
        setp.eq.s32 %p2, %r6, 3;
        @%p2 bra END;
        st.global.u32 [%rd12], %r12;
        END:",
    );
    let text = rects(&body, [[2, 2], [32, 4]], [64, 0, 0], &[[1, 1]]);
    assert_eq!(text, "out: 256\n1,1: out 1,5 1x2\n");
}

/// Blocks with a row index of 1 or more do not access the array at all.
#[test]
fn a_block_that_makes_no_access_has_no_rectangle() {
    let body = at_place(
        "setp.ne.s32 %p1, %r7, 0;
        @%p1 bra END;
        st.global.u32 [%rd12], %r12;
        END:",
    );
    let text = rects(&body, [[2, 2], [32, 4]], [64, 0, 0], &[[0, 0], [0, 1]]);
    assert_eq!(text, "out: 256\n0,0: out 0,0 1x4\n0,1:\n");
}

/// Lines are those of memory, also of an array that begins within a line.
#[test]
fn columns_count_the_lines_of_memory() {
    let array = Array {
        base: Base::Param(0),
        address: 1024 + 64,
        pitch: Some(512),
    };
    let lines = [1088, 1151, 1152, 1599, 1600].map(|address| array.line(address));
    let expected = [(0, 0), (0, 0), (1, 0), (0, 1), (0, 1)];
    assert_eq!(lines, expected.map(|(x, y)| Rect::line(x, y)));
}

/// Rectangles and lines follow from the same executions of a block's warps, whatever was asked for
/// before.
#[test]
fn results_do_not_depend_on_what_was_asked_for_before() {
    let body = at_place("st.global.u32 [%rd12], %r12; ld.global.u32 %r13, [%rd11];");
    let program = kernel(&ptx(&body));
    let (grid, block) = (Dim3::new(4, 2, 1), Dim3::new(32, 4, 1));
    let bench = Bench::new(&program, grid, block, &[128, 0, 0], 1);
    let fresh = || {
        let slices = Arc::new(Slices::new(&program));
        Footprints::new(slices, &bench.launch, 5).expect("no fault")
    };
    let lines = |footprints: &mut Footprints, at: Dim3, warp| {
        let mut found = Vec::new();
        let report = |array, line: Rect| found.push((array, line.x, line.y));
        let outcome = footprints.warp_lines(at, warp, report);
        (outcome.expect("no fault"), found)
    };
    let mut used = fresh();
    for x in [0, 1, 0, 3] {
        let at = Dim3::new(x, 1, 0);
        for warp in [3, 0, 2, 3] {
            let expected = lines(&mut fresh(), at, warp);
            assert!(!expected.1.is_empty());
            assert_eq!(lines(&mut used, at, warp), expected);
        }
        assert_eq!(used.rects(at), fresh().rects(at));
        assert_eq!(lines(&mut used, at, 1), lines(&mut fresh(), at, 1));
    }
}
