//! Scenarios of the paper, worked out by hand (GPUDuet, section 6).

use super::{Kernel, count, cycles, finished, run, spec};
use warploom_config::GpuSpec;
use warploom_stats::result::Outcome;

/// Fig. 8: two warps per block, each with two long waits and some work after each.
const TWO_STALLS: &str = "
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r2, 13; shl.b32 %r4, %r1, 7; add.u32 %r3, %r3, %r4;
    cvt.u64.u32 %rd2, %r3; add.u64 %rd3, %rd1, %rd2;
    ld.global.cg.u32 %r5, [%rd3];
    add.u32 %r6, %r5, 1;
    mul.lo.u32 %r6, %r6, %r5; mul.lo.u32 %r6, %r6, %r5; mul.lo.u32 %r6, %r6, %r5;
    ld.global.cg.u32 %r7, [%rd3+64];
    add.u32 %r6, %r7, %r6;
    mul.lo.u32 %r6, %r6, %r5; mul.lo.u32 %r6, %r6, %r5; mul.lo.u32 %r6, %r6, %r5;
    st.global.u32 [%rd3+131072], %r6;
";

const FIG_8: Kernel = Kernel {
    body: TWO_STALLS,
    grid: 2,
    block: 64,
    registers: 20,
    shared: 0,
};

/// An SM that holds one block: 2 warps of 20 registers, or 2 slots, or 1 KB of shared memory.
fn one_block(sets: &[&str]) -> GpuSpec {
    let mut all = vec!["gpu.sms=1", "sm.schedulers=1"];
    all.extend(sets);
    spec(&all)
}

/// Registers suffice for one block. (a) One block runs after the other. (b) Each warp that stalls
/// yields to a warp of the other block, so that the waits of the four warps overlap. (c) Blocks
/// leave when both warps stall.
#[test]
fn two_blocks_overlap_their_waits() {
    // 1280 registers hold two warps of 20. 16 more units of shared memory suffice for contexts.
    let registers = "sm.registers=1280";
    let fixed = "duet.extra_blocks=1";
    let (a, _) = finished(&one_block(&[registers]), FIG_8);
    let (b, _) = finished(&one_block(&[registers, "sm.context=duet", fixed]), FIG_8);
    let tb = ["sm.context=duet-tb", "duet-tb.extra_blocks=1", registers];
    let (c, _) = finished(&one_block(&tb), FIG_8);
    assert!(cycles(&b) < cycles(&c), "{} {}", cycles(&b), cycles(&c));
    assert!(cycles(&c) < cycles(&a), "{} {}", cycles(&c), cycles(&a));
    // (b) Block 1 starts outside. Both warps of block 0 leave at their first wait, and all four
    // warps come in later.
    assert_eq!(count(&b, "context.blocks_started_out"), 1);
    assert!(count(&b, "context.warps_out") >= 2);
    assert!(count(&b, "context.warps_in") >= 4);
    assert!(count(&c, "context.blocks_out") >= 1);
    assert!(count(&c, "context.blocks_in") >= 2);
}

/// The scenario where shared memory limits the number of blocks, as in Fig. 8(c).
#[test]
fn a_block_lends_its_shared_memory() {
    let kernel = Kernel {
        shared: 1024,
        ..FIG_8
    };
    let shared = ["sm.shared_bytes=1024", "sm.max_shared_bytes_per_block=1024"];
    let (a, _) = finished(&one_block(&shared), kernel);
    let duet = ["sm.context=duet", "duet.extra_blocks=1"];
    let (c, _) = finished(&one_block(&[&shared[..], &duet].concat()), kernel);
    assert!(cycles(&c) < cycles(&a), "{} {}", cycles(&c), cycles(&a));
    assert_eq!(count(&c, "context.warps_out"), 0);
    let (out, back) = (
        count(&c, "context.blocks_out"),
        count(&c, "context.blocks_in"),
    );
    assert!(out >= 1 && back >= 2, "{out} {back}");
    // The state of a block is two slots of 256 bytes and 1 KB. That of a block which starts outside
    // is two slots.
    let bytes = (out + back) * (512 + 1024) - 1024;
    assert_eq!(count(&c, "context.bytes"), bytes);
}

/// Section 6.3. There are two slots and two blocks of two warps. Warp 0 waits for a load and then
/// at the barrier, and warp 1 waits at the barrier at once. Block 0's warp 0 leaves for block 1's
/// warp 0, which leaves for block 1's warp 1. Then both slots hold a warp 1 at its barrier, and
/// both warps 0 are outside and ready.
const BARRIER_BEHIND_A_LOAD: &str = "
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r2, 13; shl.b32 %r4, %r1, 7; add.u32 %r3, %r3, %r4;
    cvt.u64.u32 %rd2, %r3; add.u64 %rd3, %rd1, %rd2;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra WAIT;
    ld.global.cg.u32 %r5, [%rd3];
    add.u32 %r6, %r5, 1;
    st.global.u32 [%rd3+131072], %r6;
WAIT:
    bar.sync 0;
    st.global.u32 [%rd3+131076], %r1;
";

#[test]
fn switching_at_barriers_avoids_the_deadlock() {
    let kernel = Kernel {
        body: BARRIER_BEHIND_A_LOAD,
        ..FIG_8
    };
    let base = [
        "sm.max_threads=64",
        "sm.context=duet",
        "duet.extra_blocks=1",
    ];
    let stuck = one_block(&[&base[..], &["duet.barriers=false"]].concat());
    let (report, _) = run(&stuck, kernel, 1);
    let Outcome::Deadlock { message } = &report.outcome else {
        panic!("{:?}", report.outcome);
    };
    let told = |what: &str| message.matches(what).count();
    assert_eq!(told("barrier 0 waits for warps 0"), 2, "{message}");
    assert_eq!(
        told("out, ready, waits for another to leave"),
        2,
        "{message}"
    );
    let (report, output) = finished(&one_block(&base), kernel);
    assert!(count(&report, "context.out_at_barriers") > 0);
    let (_, expected) = finished(&one_block(&["sm.max_threads=64"]), kernel);
    assert!(output == expected, "other outputs");
}

/// A narrow port takes longer in proportion to its width, and other transfers wait for it.
#[test]
fn the_port_is_shared() {
    let ports = [16, 32, 64, 128, 256].map(|bytes| {
        let port = format!("duet.port_bytes={bytes}");
        let sets = [
            "sm.registers=1280",
            "sm.context=duet",
            "duet.extra_blocks=1",
            &port,
        ];
        let (report, _) = finished(&one_block(&sets), FIG_8);
        let moved = count(&report, "context.bytes");
        let busy = count(&report, "context.port_cycles");
        let least = moved.div_ceil(bytes);
        let transfers = count(&report, "context.warps_out") + count(&report, "context.warps_in");
        assert!(
            (least..least + transfers).contains(&busy),
            "{busy} for {moved} bytes"
        );
        assert!(busy <= cycles(&report), "one at a time");
        cycles(&report)
    });
    assert!(ports[0] > ports[4], "{ports:?}");
}

/// FineReg: half of the register file holds one block of two warps with 20 registers. With this
/// half alone, one block runs after the other. The other half has room for the live registers of
/// three blocks, so that the waits of all four blocks of the grid overlap.
///
/// At the first wait three registers are live: the address, which has 64 bits, and what is loaded.
/// At the second one the sum, too, and the next value: five.
#[test]
fn blocks_that_wait_leave_their_registers_to_others() {
    let kernel = Kernel { grid: 4, ..FIG_8 };
    let (half, expected) = finished(&one_block(&["sm.registers=1280"]), kernel);
    let sets = ["sm.registers=2560", "sm.context=finereg"];
    let (whole, output) = finished(&one_block(&sets), kernel);
    assert!(output == expected, "other outputs");
    let of = |name: &str| count(&whole, &format!("context.{name}"));
    assert!(
        cycles(&whole) < cycles(&half),
        "{} {}",
        cycles(&whole),
        cycles(&half)
    );
    // One of the four begins present, and the others come in later, one by one. A block leaves for
    // another one, and comes back.
    assert_eq!((of("blocks_max"), of("blocks_started_out")), (4, 3));
    let (out, back) = (of("blocks_out"), of("blocks_in"));
    assert_eq!((of("swaps"), back), (out, out + 3));
    // A block's two slots of two units move each time, and its live registers out and in.
    let registers = of("bytes") / 128 - 4 * (out + back);
    let at_second = (registers / 4 - 3 * out) / 2;
    assert_eq!(registers, 4 * (3 * (out - at_second) + 5 * at_second));
    assert_eq!(out - at_second, 4, "each block leaves at its first wait");
    assert!(at_second <= 4);
}

/// The number of blocks that contexts have space for is started, and not one more, however many are
/// requested. The 16 units of shared memory hold one warp's context of up to 6 + 2 units and a
/// second warp's.
#[test]
fn storage_runs_out() {
    let kernel = Kernel { grid: 8, ..FIG_8 };
    let most = |bytes: u32| {
        let shared = format!("sm.shared_bytes={bytes}");
        let sets = [
            "sm.registers=1280",
            "sm.context=duet",
            "duet.extra_blocks=64",
            "duet.l1d=never",
            "sm.max_shared_bytes_per_block=0",
            &shared,
        ];
        let (report, _) = finished(&one_block(&sets), kernel);
        count(&report, "context.blocks_max")
    };
    let held: Vec<_> = [0, 1024, 2048, 4096, 8192].map(most).into();
    assert_eq!(held[0], 0, "nothing is spare: not switched at all");
    assert!(held.windows(2).all(|pair| pair[0] <= pair[1]), "{held:?}");
    assert!(held[4] > held[2] && held[4] <= 8, "{held:?}");
}
