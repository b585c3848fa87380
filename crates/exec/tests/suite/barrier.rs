//! Tests of barriers of a block.

use crate::support::*;
use warploom_exec::*;
use warploom_ir::*;

fn arrival(kind: BarrierKind, id: u8, threads: Option<u32>) -> BarrierArrival {
    BarrierArrival {
        kind,
        id,
        threads,
        lanes: u32::MAX,
        votes: 0xff,
    }
}

#[test]
fn barriers_release_when_all_arrived_or_exited() {
    let mut table = BarrierTable::default();
    table.reset(3, ClusterPlace::ALONE);
    let sync = arrival(BarrierKind::Sync, 0, None);
    assert_eq!(table.arrive(0, &sync), BarrierOutcome::Wait);
    assert_eq!(table.arrive(2, &sync), BarrierOutcome::Wait);
    assert_eq!(table.missing(0), 0b010);
    assert_eq!(table.describe(0), "barrier 0 waits for warps 1");
    let mut released = Vec::new();
    table.warp_exited(1, |release| released.push(release.warps));
    assert_eq!(released, [0b101]);
    assert_eq!(table.waiting(0), 0, "the barrier can be used again");
}

#[test]
fn counted_barriers_pair_producers_and_consumers() {
    let mut table = BarrierTable::default();
    table.reset(4, ClusterPlace::ALONE);
    let arrive = arrival(BarrierKind::Arrive, 5, Some(64));
    assert_eq!(table.arrive(3, &arrive), BarrierOutcome::Continue);
    match table.arrive(1, &arrival(BarrierKind::Sync, 5, Some(64))) {
        BarrierOutcome::Release(release) => assert_eq!((release.id, release.warps), (5, 0b10)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_warp_that_does_not_wait_may_arrive_again() {
    // A warp gives itself the first turn at a barrier that it shares with another warp.
    let mut table = BarrierTable::default();
    table.reset(2, ClusterPlace::ALONE);
    let sync = arrival(BarrierKind::Sync, 5, Some(64));
    let arrive = arrival(BarrierKind::Arrive, 5, Some(64));
    assert_eq!(table.arrive(1, &arrive), BarrierOutcome::Continue);
    match table.arrive(1, &sync) {
        BarrierOutcome::Release(release) => assert_eq!(release.warps, 0b10),
        other => panic!("{other:?}"),
    }
    assert_eq!(table.arrive(1, &sync), BarrierOutcome::Wait);
    assert_eq!(
        table.describe(5),
        "barrier 5 waits for 1 more warps; warps 0 have not arrived"
    );
}

#[test]
fn reductions_count_and_combine_predicates() {
    let mut table = BarrierTable::default();
    table.reset(2, ClusterPlace::ALONE);
    let red = |votes| BarrierArrival {
        votes,
        ..arrival(BarrierKind::RedPopc, 1, None)
    };
    assert_eq!(table.arrive(0, &red(0x0f)), BarrierOutcome::Wait);
    match table.arrive(1, &red(u32::MAX)) {
        BarrierOutcome::Release(release) => {
            assert_eq!((release.count, release.all, release.any), (36, false, true));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reduction_reaches_every_warp() {
    // Each thread: n = bar.red.popc(lane < 8); shared[tid] = n.
    let mut b = Builder::new();
    b.program.shared_bytes = 256;
    let zero = b.c(0);
    lane_below(&mut b, 0, 8);
    b.push(inst(
        Op::Barrier(BarrierKind::RedPopc),
        &[d(0)],
        &[zero, Src::None, p(0)],
    ));
    let four = b.c(4);
    b.push(inst(
        Op::Mul(Half::Lo, IntTy::U32),
        &[d(1)],
        &[Src::Special(SpecialReg::TidX), four],
    ));
    let word = MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    };
    let mut ld = inst(
        Op::Ld(MemSpace::Shared, word, CacheOp::Default),
        &[d(3)],
        &[r(1)],
    );
    ld.wide_addr = false;
    b.push(ld);
    // Fault unless n == 16.
    let sixteen = b.c(16);
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(ne, &[dp(1)], &[r(0), sixteen]));
    b.push(guarded(inst(Op::Trap, &[], &[]), 1, false));
    b.push(inst(Op::Exit, &[], &[]));
    let ctx = b.launch(3, 64);
    let mut memory = DeviceMemory::new(1 << 20);
    let stats = run_grid(&ctx, &mut memory, FunctionalOptions::default()).expect("no trap");
    assert_eq!((stats.blocks, stats.warp_instructions), (3, 3 * 2 * 7));
}

#[test]
fn bad_barriers_are_faults_and_partial_ones_findings() {
    let run_on = |barriers: u32, id: u64, threads: Option<u64>, guard: bool| {
        let mut b = Builder::new();
        let id = b.c(id);
        let threads = threads.map_or(Src::None, |n| b.c(n));
        lane_below(&mut b, 0, 8);
        let bar = inst(Op::Barrier(BarrierKind::Sync), &[], &[id, threads]);
        b.push(if guard { guarded(bar, 0, false) } else { bar });
        b.push(inst(Op::Exit, &[], &[]));
        let checks = Checks {
            barrier_divergence: true,
            ..Checks::default()
        };
        let mut bench = Bench::new(b.launch_with(LaunchSpec {
            checks,
            barriers,
            ..spec()
        }));
        bench.step().unwrap();
        bench
            .step()
            .map(|()| bench.out.finding.map(|f| f.kind))
            .map_err(|f| f.kind)
    };
    let run = |id, threads, guard| run_on(16, id, threads, guard);
    assert_eq!(run(15, None, false), Ok(None));
    assert_eq!(run(16, None, false), Err(FaultKind::BadBarrier));
    assert_eq!(run_on(2, 1, None, false), Ok(None), "the GPU has two");
    assert_eq!(run_on(2, 2, None, false), Err(FaultKind::BadBarrier));
    assert_eq!(run(0, Some(33), false), Err(FaultKind::BadBarrier));
    assert_eq!(run(0, Some(32), false), Ok(None));
    assert_eq!(
        run(15, None, true),
        Ok(Some(FindingKind::BarrierDivergence))
    );
}
