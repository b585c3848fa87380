//! Switch points of small kernels, worked out by hand and written as `pc [reason]: registers,
//! uniform, narrow, bytes`.

use warploom_diag::Source;

fn check(body: &str, expected: &[&str]) {
    let text = format!(
        ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n{body}\n}}\n"
    );
    let source = Source::from_bytes("k.ptx", text.into_bytes()).expect("text");
    let (module, errors) = warploom_ptx::parse(&source);
    assert!(!errors.has_errors(), "{errors:?}");
    let lowered = warploom_lower::lower(&module, &source).expect("it lowers");
    assert!(lowered.refused.is_empty(), "{:?}", lowered.refused);
    let show = |p: &warploom_ir::SwitchPoint| {
        let why = [(p.load, "load"), (p.barrier, "barrier")];
        let why: Vec<_> = why
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, w)| w)
            .collect();
        format!(
            "{} {}: {} registers, {} uniform, {} narrow, {} bytes",
            p.pc.0,
            why.join("+"),
            p.registers,
            p.uniform,
            p.narrow,
            p.bytes
        )
    };
    let points: Vec<String> = lowered.kernels[0].switch_points.iter().map(show).collect();
    assert_eq!(points, expected);
}

/// Computes the address of `out` plus 4 times the thread's index in `%rd9`, in five instructions.
const ADDRESS: &str = "
    .reg .u64 %rd<10>; .reg .u32 %r<20>; .reg .pred %p<4>; .reg .f32 %f<9>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd9, %rd1, %rd2;";

/// The first use of each load waits. After the first wait the second load may still be in flight,
/// so its first use waits too. Live at 6: the address (2) and both results; at 7: the address, r4
/// and r3.
#[test]
fn the_first_use_of_a_load_is_a_switch_point() {
    let body = format!(
        "{ADDRESS}
        ld.global.u32 %r2, [%rd9];
        ld.global.u32 %r3, [%rd9+128];
        add.u32 %r4, %r2, 1;
        add.u32 %r5, %r4, %r3;
        st.global.u32 [%rd9], %r5;
        add.u32 %r6, %r5, %r3;
        st.global.u32 [%rd9+4], %r6;
        ret;"
    );
    check(
        &body,
        &[
            "6 load: 4 registers, 0 uniform, 0 narrow, 512 bytes",
            "7 load: 4 registers, 0 uniform, 0 narrow, 512 bytes",
        ],
    );
}

/// Shared memory answers at once, without a switch point. The warp continues after the barrier with
/// only the address.
#[test]
fn a_warp_at_a_barrier_goes_on_behind_it() {
    let body = format!(
        "{ADDRESS}
        .shared .b32 s[32];
        ld.shared.u32 %r2, [s];
        st.shared.u32 [s+4], %r2;
        bar.sync 0;
        ld.shared.u32 %r3, [s];
        st.global.u32 [%rd9], %r3;
        ret;"
    );
    check(
        &body,
        &["7 barrier: 2 registers, 0 uniform, 0 narrow, 256 bytes"],
    );
}

/// Sizes: ctaid is one word for the warp, a byte from memory takes 32 bytes, tid (10 bits) takes
/// 64; the parameter costs nothing; the loaded byte and the predicate are added.
#[test]
fn uniform_and_narrow_values_are_compressed() {
    let body = format!(
        "{ADDRESS}
        mov.u32 %r7, %ctaid.x;
        setp.lt.u32 %p1, %r1, 7;
        ld.global.u8 %r2, [%rd9];
        add.u32 %r4, %r2, %r7;
        add.u32 %r4, %r4, %r1;
        st.global.u32 [%rd9], %r4;
        @%p1 st.global.u32 [%rd9+4], %r2;
        ret;"
    );
    // The address 256, ctaid 4, tid 64, the byte 32, the predicate 4.
    check(
        &body,
        &["7 load: 5 registers, 1 uniform, 2 narrow, 360 bytes"],
    );
}

/// In the branch the other lanes still hold the old value of r7: it varies there and is kept,
/// although the path itself overwrites it. r8, which only those lanes will read, is kept too.
#[test]
fn lanes_that_wait_elsewhere_keep_their_values() {
    let body = format!(
        "{ADDRESS}
        mov.u32 %r7, %ctaid.x;
        mov.u32 %r8, %ctaid.y;
        setp.lt.u32 %p1, %r1, 7;
        @!%p1 bra MEET;
        ld.global.u32 %r2, [%rd9];
        add.u32 %r7, %r2, 1;
    MEET:
        add.u32 %r9, %r7, %r8;
        st.global.u32 [%rd9], %r9;
        ret;"
    );
    // The address 256, r7 128, r8 4, r2 128.
    check(
        &body,
        &["9 load: 5 registers, 1 uniform, 0 narrow, 516 bytes"],
    );
}

/// A value that is written inside the branch and not read after reconvergence is the same for all
/// lanes that wrote it.
#[test]
fn a_branch_alone_does_not_make_a_value_vary() {
    let body = format!(
        "{ADDRESS}
        setp.lt.u32 %p1, %r1, 7;
        @!%p1 bra MEET;
        mov.u32 %r7, %ctaid.x;
        ld.global.u32 %r2, [%rd9];
        add.u32 %r3, %r2, %r7;
        st.global.u32 [%rd9], %r3;
    MEET:
        ret;"
    );
    check(
        &body,
        &["8 load: 4 registers, 1 uniform, 0 narrow, 388 bytes"],
    );
}

/// A counter grows without bound, so that its width becomes all bits; a masked value keeps its
/// width.
#[test]
fn widths_of_loops_end() {
    let body = format!(
        "{ADDRESS}
        mov.u32 %r7, %tid.y;
    LOOP:
        ld.global.u32 %r2, [%rd9];
        and.b32 %r3, %r2, 255;
        add.u32 %r7, %r7, 1;
        setp.ne.u32 %p1, %r3, 0;
        @%p1 bra LOOP;
        st.global.u32 [%rd9], %r7;
        ret;"
    );
    // The address 256, the counter 128, the loaded word 128.
    check(
        &body,
        &["6 load: 4 registers, 0 uniform, 0 narrow, 512 bytes"],
    );
}
