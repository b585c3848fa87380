//! Tests of operations across lanes, divergence and calls.

use crate::support::*;
use warploom_base::Pc;
use warploom_exec::*;
use warploom_ir::*;

fn one(op: Op, dst: &[Dst], src: &[Src], lanes: &[[u64; 4]], preds: u32, mask: u32) -> One {
    run_inst(inst(op, dst, src), lanes, Wide::default(), preds, mask)
}

fn lanes(f: impl Fn(u64) -> [u64; 4]) -> Vec<[u64; 4]> {
    (0..32).map(f).collect()
}

#[test]
fn votes() {
    let full = lanes(|_| [u32::MAX.into(), 0, 0, 0]);
    let go =
        |mode, preds, mask| one(Op::Vote(mode), &[dp(2)], &[p(0), r(0)], &full, preds, mask).p2;
    assert_eq!(go(VoteMode::All, u32::MAX, u32::MAX), u32::MAX);
    assert_eq!(go(VoteMode::All, 0xffff, u32::MAX), 0);
    assert_eq!(
        go(VoteMode::All, 0xffff, 0xff),
        0xff,
        "only lanes that take part count"
    );
    assert_eq!(go(VoteMode::Any, 0x10, u32::MAX), u32::MAX);
    assert_eq!(go(VoteMode::Any, 0, u32::MAX), 0);
    assert_eq!(go(VoteMode::Uni, 0, u32::MAX), u32::MAX);
    assert_eq!(go(VoteMode::Uni, 1, u32::MAX), 0);
    let ballot = one(
        Op::Vote(VoteMode::Ballot),
        &[d(8)],
        &[p(0), r(0)],
        &full,
        0xf0f0,
        0x0fff,
    );
    assert_eq!(ballot.r32[0], 0x00f0);
    assert_eq!(ballot.r32[31], 0xdead_beef);
    let some = lanes(|_| [0x3, 0, 0, 0]);
    let ballot = one(
        Op::Vote(VoteMode::Ballot),
        &[d(8)],
        &[p(0), r(0)],
        &some,
        0xff,
        u32::MAX,
    );
    assert_eq!(ballot.r32[0], 0x3, "the member mask");
}

/// Each mode gives the values of a table that was derived from the pseudo code of the ISA.
#[test]
fn shuffles() {
    let go = |mode, b: u64, c: u64| {
        let input = lanes(|lane| [100 + lane, b, c, u32::MAX.into()]);
        let src = [r(0), r(2), r(4), r(6)];
        let got = one(Op::Shfl(mode), &[d(8), dp(2)], &src, &input, 0, u32::MAX);
        (got.r32, got.p2)
    };
    let (v, p) = go(ShflMode::Up, 1, 0);
    assert_eq!((v[0], v[1], v[31], p), (100, 100, 130, !1));
    let (v, p) = go(ShflMode::Down, 4, 31);
    assert_eq!((v[0], v[27], v[28], p), (104, 131, 128, 0x0fff_ffff));
    let (v, p) = go(ShflMode::Bfly, 1, 31);
    assert_eq!((v[0], v[1], v[30], p), (101, 100, 131, u32::MAX));
    let (v, p) = go(ShflMode::Idx, 5, 31);
    assert_eq!((v[0], v[31], p), (105, 105, u32::MAX));
    // Segments of eight lanes use the mask 0x18 in bits 8 to 12.
    let (v, p) = go(ShflMode::Idx, 3, 0x181f);
    assert_eq!((v[0], v[8], v[31], p), (103, 111, 127, u32::MAX));
    let (v, p) = go(ShflMode::Down, 2, 0x1807);
    assert_eq!((v[5], v[6], v[13], p), (107, 106, 115, 0x3f3f_3f3f));
    let (v, p) = go(ShflMode::Up, 2, 0x1800);
    assert_eq!(
        (v[1], v[2], v[9], v[10], p),
        (101, 100, 109, 108, 0xfcfc_fcfc)
    );
    // The clamp limits the width to 4: `idx` beyond the clamp returns the lane's own value.
    let (v, p) = go(ShflMode::Idx, 9, 0x0007);
    assert_eq!((v[0], v[20], p), (100, 120, 0));
}

#[test]
fn matches_reductions_and_elections() {
    let input = lanes(|lane| [lane % 3, u32::MAX.into(), 0, 0]);
    let any = one(
        Op::Match(true, Width::B32),
        &[d(8)],
        &[r(0), r(2)],
        &input,
        0,
        u32::MAX,
    );
    let thirds = (0..32)
        .filter(|lane| lane % 3 == 1)
        .fold(0, |m, lane| m | 1 << lane);
    assert_eq!((any.r32[1], any.r32[4]), (thirds, thirds));
    let all = |input: &[[u64; 4]]| {
        one(
            Op::Match(false, Width::B32),
            &[d(8), dp(2)],
            &[r(0), r(2)],
            input,
            0,
            u32::MAX,
        )
    };
    assert_eq!((all(&input).r32[0], all(&input).p2), (0, 0));
    let equal = lanes(|_| [7, 0xff, 0, 0]);
    assert_eq!((all(&equal).r32[0], all(&equal).p2), (0xff, u32::MAX));
    let values = lanes(|lane| [if lane == 3 { u32::MAX.into() } else { lane }, 0xffff, 0, 0]);
    let redux = |op, ty| {
        one(
            Op::Redux(op, ty),
            &[d(8)],
            &[r(0), r(2)],
            &values,
            0,
            u32::MAX,
        )
        .r32[0]
    };
    assert_eq!(
        redux(ReduxOp::Add, IntTy::U32),
        (120 - 3u32).wrapping_sub(1)
    );
    assert_eq!(redux(ReduxOp::Min, IntTy::S32), u32::MAX);
    assert_eq!(redux(ReduxOp::Max, IntTy::S32), 15);
    assert_eq!(redux(ReduxOp::Max, IntTy::U32), u32::MAX);
    assert_eq!(
        (
            redux(ReduxOp::And, IntTy::U32),
            redux(ReduxOp::Or, IntTy::U32)
        ),
        (0, u32::MAX)
    );
    let elect = one(
        Op::Elect,
        &[d(8), dp(2)],
        &[r(0)],
        &lanes(|_| [0xffff_ff00, 0, 0, 0]),
        0,
        0xffff_ff00,
    );
    assert_eq!((elect.r32[9], elect.p2), (8, 0x100));
    let active = one(Op::Activemask, &[d(8)], &[], &input, 0, 0x1234);
    assert_eq!(active.r32[2], 0x1234);
}

fn mov(builder: &mut Builder, slot: u16, value: u64) {
    let value = builder.c(value);
    builder.push(inst(Op::Mov(Width::B32), &[d(slot)], &[value]));
}

/// Program counters and lanes that a program executes.
fn trace(bench: &mut Bench) -> Vec<(u32, u32)> {
    let mut steps = Vec::new();
    while !bench.warp.is_done() && steps.len() < 1000 {
        bench.step().expect("no fault");
        steps.push((bench.out.pc.0, bench.out.stack_active));
    }
    steps
}

/// Kernel that executes `if (lane < 8) A else B; C`.
fn if_else(order: BranchOrder) -> Vec<(u32, u32)> {
    let mut b = Builder::new();
    lane_below(&mut b, 0, 8);
    b.push_to(guarded(bra(4), 0, false), Some(5));
    mov(&mut b, 0, 1); // 2: else
    b.push(bra(5));
    mov(&mut b, 0, 2); // 4: then
    b.push(inst(Op::Exit, &[], &[])); // 5
    let spec = LaunchSpec {
        branch_order: order,
        ..spec()
    };
    trace(&mut Bench::new(b.launch_with(spec)))
}

#[test]
fn branches_meet_again_in_either_order() {
    let all = u32::MAX;
    let taken_first = if_else(BranchOrder::TakenFirst);
    assert_eq!(
        taken_first,
        [
            (0, all),
            (1, all),
            (4, 0xff),
            (2, !0xff),
            (3, !0xff),
            (5, all)
        ]
    );
    let highest_last = if_else(BranchOrder::HighestLaneLast);
    assert_eq!(
        highest_last,
        [
            (0, all),
            (1, all),
            (4, 0xff),
            (2, !0xff),
            (3, !0xff),
            (5, all)
        ]
    );
    // With the inverted condition, the orders differ.
    let turned = |order| {
        let mut b = Builder::new();
        lane_below(&mut b, 0, 8);
        b.push_to(guarded(bra(3), 0, true), Some(3));
        mov(&mut b, 0, 1);
        b.push(inst(Op::Exit, &[], &[]));
        trace(&mut Bench::new(b.launch_with(LaunchSpec {
            branch_order: order,
            ..spec()
        })))
    };
    assert_eq!(
        turned(BranchOrder::TakenFirst),
        [(0, all), (1, all), (2, 0xff), (3, all)]
    );
}

#[test]
fn the_group_of_the_highest_lane_runs_last_on_request() {
    let run = |order| {
        let mut b = Builder::new();
        lane_below(&mut b, 0, 8);
        b.push_to(guarded(bra(4), 0, true), Some(5));
        mov(&mut b, 0, 1);
        b.push(bra(5));
        mov(&mut b, 0, 2);
        b.push(inst(Op::Exit, &[], &[]));
        let steps = trace(&mut Bench::new(b.launch_with(LaunchSpec {
            branch_order: order,
            ..spec()
        })));
        steps.iter().map(|s| s.0).collect::<Vec<_>>()
    };
    assert_eq!(run(BranchOrder::TakenFirst), [0, 1, 4, 2, 3, 5]);
    assert_eq!(run(BranchOrder::HighestLaneLast), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn loops_shrink_until_all_lanes_left() {
    // Loop `do { i += 1 } while (i < lane)`, which the lanes leave one after the other.
    let mut b = Builder::new();
    mov(&mut b, 0, 0);
    let one = b.c(1);
    b.push(inst(
        Op::Int(IntBin::Add, IntTy::U32),
        &[d(0)],
        &[r(0), one],
    ));
    let lt = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(
        lt,
        &[dp(0)],
        &[r(0), Src::Special(SpecialReg::LaneId)],
    ));
    b.push_to(guarded(bra(1), 0, false), Some(4));
    b.push(inst(Op::Exit, &[], &[]));
    let steps = trace(&mut Bench::new(b.launch(1, 32)));
    let bodies: Vec<u32> = steps.iter().filter(|s| s.0 == 1).map(|s| s.1).collect();
    assert_eq!(bodies.len(), 31);
    assert_eq!((bodies[0], bodies[1], bodies[30]), (u32::MAX, !3, 1 << 31));
    assert_eq!(steps.last(), Some(&(4, u32::MAX)), "all meet at the end");
}

#[test]
fn exits_within_a_branch_leave_the_others() {
    let mut b = Builder::new();
    lane_below(&mut b, 0, 16);
    lane_below(&mut b, 1, 4);
    b.push_to(guarded(bra(5), 0, true), Some(5));
    b.push(guarded(inst(Op::Exit, &[], &[]), 1, false)); // 3: lanes 0..4 end
    mov(&mut b, 0, 1); // 4
    b.push(inst(Op::Exit, &[], &[])); // 5
    let mut bench = Bench::new(b.launch(1, 32));
    let steps = trace(&mut bench);
    assert_eq!(steps[3..], [(3, 0xffff), (4, 0xfff0), (5, 0xffff_fff0)]);
    assert!(bench.warp.is_done() && bench.warp.unexited() == 0);
}

#[test]
fn calls_return_from_divergent_places() {
    // 0: p = lane < 8; 1: call f; 2: mov; 3: exit; f: 4: @p ret; 5: mov; 6: ret
    let mut b = Builder::new();
    lane_below(&mut b, 0, 8);
    let mut call = inst(Op::Call, &[], &[]);
    call.imm = 4;
    b.program.local_bytes = 16;
    b.program.extras.push(ExtraOperands {
        callees: vec![Callee {
            copies_in: vec![(0, 8, 4)],
            copies_out: vec![(8, 4, 4)],
            ..Callee::default()
        }],
        ..ExtraOperands::default()
    });
    call.extra = Extra(0);
    b.push(call);
    mov(&mut b, 0, 1);
    b.push(inst(Op::Exit, &[], &[]));
    b.push(guarded(inst(Op::Ret, &[], &[]), 0, false));
    mov(&mut b, 0, 2);
    b.push(inst(Op::Ret, &[], &[]));
    let steps = trace(&mut Bench::new(b.launch(1, 32)));
    let all = u32::MAX;
    assert_eq!(
        steps,
        [
            (0, all),
            (1, all),
            (4, all),
            (5, !0xff),
            (6, !0xff),
            (2, all),
            (3, all)
        ]
    );
}

#[test]
fn guarded_and_nested_calls_come_back() {
    // 0: p; 1: @p call f; 2: exit; f: 3: call g; 4: ret; g: 5: ret
    let mut b = Builder::new();
    lane_below(&mut b, 0, 8);
    let call = |target| {
        let mut call = inst(Op::Call, &[], &[]);
        call.imm = target;
        call
    };
    b.push(guarded(call(3), 0, false));
    b.push(inst(Op::Exit, &[], &[]));
    b.push(call(5));
    b.push(inst(Op::Ret, &[], &[]));
    b.push(inst(Op::Ret, &[], &[]));
    let steps = trace(&mut Bench::new(b.launch(1, 32)));
    let all = u32::MAX;
    assert_eq!(
        steps,
        [
            (0, all),
            (1, all),
            (3, 0xff),
            (5, 0xff),
            (4, 0xff),
            (2, all)
        ]
    );
}

#[test]
fn parameters_travel_through_frames() {
    let mut b = Builder::new();
    b.program.local_bytes = 16;
    let word = MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    };
    let access = |store, at, slot: u16| {
        let mut i = if store {
            inst(
                Op::St(MemSpace::FrameParam, word, CacheOp::Default),
                &[],
                &[Src::None, r(slot)],
            )
        } else {
            inst(
                Op::Ld(MemSpace::FrameParam, word, CacheOp::Default),
                &[d(slot)],
                &[Src::None],
            )
        };
        i.imm = at;
        i
    };
    b.push(inst(
        Op::Mov(Width::B32),
        &[d(0)],
        &[Src::Special(SpecialReg::LaneId)],
    ));
    b.push(access(true, 0, 0));
    let mut call = inst(Op::Call, &[], &[]);
    call.imm = 6;
    b.program.extras.push(ExtraOperands {
        callees: vec![Callee {
            copies_in: vec![(0, 8, 4)],
            copies_out: vec![(12, 4, 4)],
            ..Callee::default()
        }],
        ..ExtraOperands::default()
    });
    call.extra = Extra(0);
    b.push(call);
    b.push(access(false, 4, 1));
    b.push(inst(Op::Vote(VoteMode::Ballot), &[d(2)], &[p(0)]));
    b.push(inst(Op::Exit, &[], &[]));
    // f: result = 2 * argument
    b.push(access(false, 8, 3));
    b.push(inst(
        Op::Int(IntBin::Add, IntTy::U32),
        &[d(3)],
        &[r(3), r(3)],
    ));
    b.push(access(true, 12, 3));
    b.push(inst(Op::Ret, &[], &[]));
    b.program.shared_bytes = 128;
    let four = b.c(4);
    b.program.insts[4] = inst(Op::Mul(Half::Lo, IntTy::U32), &[d(2)], &[r(0), four]);
    let mut store = inst(
        Op::St(MemSpace::Shared, word, CacheOp::Default),
        &[],
        &[r(2), r(1)],
    );
    store.wide_addr = false;
    b.program.insts.insert(5, store);
    b.program.facts.push(b.program.facts[0].clone());
    b.program.insts[2].imm = 7;
    let mut bench = Bench::new(b.launch(1, 32));
    trace(&mut bench);
    let at = |lane: usize| bench.block.shared()[4 * lane];
    assert_eq!((at(0), at(1), at(31)), (0, 2, 62));
}

#[test]
fn branch_tables_split_into_many_groups() {
    // switch (lane % 3) with a common end.
    let mut b = Builder::new();
    let three = b.c(3);
    b.push(inst(
        Op::Int(IntBin::Rem, IntTy::U32),
        &[d(0)],
        &[Src::Special(SpecialReg::LaneId), three],
    ));
    let mut brx = inst(Op::BrxIdx, &[], &[r(0)]);
    b.program.extras.push(ExtraOperands {
        targets: vec![Pc(2), Pc(4), Pc(6)],
        ..ExtraOperands::default()
    });
    brx.extra = Extra(0);
    b.push_to(brx, Some(6));
    for value in [1, 2] {
        mov(&mut b, 1, value);
        b.push(bra(6));
    }
    b.push(inst(Op::Exit, &[], &[]));
    let steps = trace(&mut Bench::new(b.launch(1, 32)));
    let third = |k: u32| (0..32).filter(|l| l % 3 == k).fold(0u32, |m, l| m | 1 << l);
    let mut groups: Vec<_> = steps[2..6]
        .iter()
        .copied()
        .filter(|s| s.0 % 2 == 0)
        .collect();
    groups.sort_unstable();
    assert_eq!(groups, [(2, third(0)), (4, third(1))]);
    assert_eq!(steps.last(), Some(&(6, u32::MAX)));
}

#[test]
fn a_branch_index_beyond_its_table_is_a_fault() {
    let mut b = Builder::new();
    let mut brx = inst(Op::BrxIdx, &[], &[Src::Special(SpecialReg::LaneId)]);
    b.program.extras.push(ExtraOperands {
        targets: vec![Pc(1); 30],
        ..ExtraOperands::default()
    });
    brx.extra = Extra(0);
    b.push(brx);
    b.push(inst(Op::Exit, &[], &[]));
    let fault = Bench::new(b.launch(1, 32)).step().unwrap_err();
    assert_eq!(
        (fault.kind, fault.place.thread.x),
        (FaultKind::BranchIndex, 30)
    );
}

#[test]
fn special_registers() {
    use SpecialReg as S;
    let read = |special, lane: usize| {
        one(
            Op::Mov(Width::B32),
            &[d(8)],
            &[Src::Special(special)],
            &[[0; 4]],
            0,
            u32::MAX,
        )
        .r32[lane]
    };
    assert_eq!(
        (read(S::LaneId, 7), read(S::TidX, 31), read(S::NtidX, 0)),
        (7, 31, 32)
    );
    assert_eq!(
        (
            read(S::LanemaskEq, 4),
            read(S::LanemaskLt, 4),
            read(S::LanemaskLe, 4)
        ),
        (16, 15, 31)
    );
    assert_eq!(
        (read(S::LanemaskGt, 30), read(S::LanemaskGe, 30)),
        (1 << 31, 3 << 30)
    );
    assert_eq!(
        (read(S::LanemaskGt, 31), read(S::LanemaskLe, 31)),
        (0, u32::MAX)
    );
    assert_eq!(
        (read(S::ClusterNctaidX, 0), read(S::TotalSmemSize, 0)),
        (1, 2048)
    );
}
