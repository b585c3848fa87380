//! Tests of whole grids: results, deadlocks, livelocks and rejected launches.

use crate::support::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use warploom_base::Dim3;
use warploom_exec::*;
use warploom_ir::*;

const WORD: MemTy = MemTy {
    bytes: 4,
    count: 1,
    signed: false,
    wide_reg: false,
};

fn setp(cmp: Cmp, dst: u16, a: Src, b: Src) -> Inst {
    inst(
        Op::Setp(cmp, Combine::None, Ty::Int(IntTy::U32), false),
        &[dp(dst)],
        &[a, b],
    )
}

fn tid() -> Src {
    Src::Special(SpecialReg::TidX)
}

/// Kernel that executes `buffer[global thread id] = 3 * id`.
fn scale() -> Builder {
    let mut b = Builder::new();
    let (base, four, three) = (b.c(GLOBAL_BASE), b.c(4), b.c(3));
    let place = [
        Src::Special(SpecialReg::CtaidX),
        Src::Special(SpecialReg::NtidX),
        tid(),
    ];
    b.push(inst(Op::Mad(Half::Lo, IntTy::U32, false), &[d(0)], &place));
    b.push(inst(
        Op::Mad(Half::Wide, IntTy::U32, false),
        &[d(2)],
        &[r(0), four, base],
    ));
    b.push(inst(Op::Mul(Half::Lo, IntTy::U32), &[d(4)], &[r(0), three]));
    b.push(inst(
        Op::St(MemSpace::Global, WORD, CacheOp::Default),
        &[],
        &[r(2), r(4)],
    ));
    b.push(inst(Op::Exit, &[], &[]));
    b
}

#[test]
fn grids_of_odd_sizes_fill_a_buffer() {
    for resident_blocks in [1, 3] {
        let ctx = scale().launch(5, 50);
        let mut memory = DeviceMemory::new(1 << 20);
        let base = memory.alloc(0, 1000).unwrap();
        let options = FunctionalOptions {
            resident_blocks,
            quantum: 2,
            ..Default::default()
        };
        let stats = run_grid(&ctx, &mut memory, options).unwrap();
        assert_eq!((stats.blocks, stats.warp_instructions), (5, 5 * 2 * 5));
        assert_eq!(stats.thread_instructions, 250 * 5);
        let mut bytes = vec![0; 1000];
        memory.read(0, base, &mut bytes).unwrap();
        let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
        assert!((0..250).all(|i| word(i) == 3 * i as u32));
    }
}

#[test]
fn a_fault_ends_the_grid() {
    let ctx = scale().launch(5, 50);
    let mut memory = DeviceMemory::new(1 << 20);
    memory.alloc(0, 900).unwrap();
    let error = run_grid(&ctx, &mut memory, FunctionalOptions::default()).unwrap_err();
    let RunError::Fault(fault) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (fault.kind, fault.place.block.x, fault.place.thread.x),
        (FaultKind::OutOfBounds, 4, 25)
    );
}

#[test]
fn a_barrier_that_one_warp_skips_by_waiting_elsewhere_is_a_deadlock() {
    // Warp 0 waits at barrier 0, warp 1 at barrier 1.
    let mut b = Builder::new();
    let (limit, zero, one) = (b.c(32), b.c(0), b.c(1));
    b.push(setp(Cmp::Lt, 0, tid(), limit));
    b.push(inst(Op::Selp(Width::B32), &[d(0)], &[zero, one, p(0)]));
    b.push(inst(Op::Barrier(BarrierKind::Sync), &[], &[r(0)]));
    b.push(inst(Op::Exit, &[], &[]));
    let ctx = b.launch(1, 64);
    let mut memory = DeviceMemory::new(0);
    let error = run_grid(&ctx, &mut memory, FunctionalOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "deadlock: kernel `k`\nblock (0, 0, 0):\n  \
         warp 0: lanes 0-31 wait at the barrier in line 3; barrier 0 waits for warps 1\n  \
         warp 1: lanes 0-31 wait at the barrier in line 3; barrier 1 waits for warps 0"
    );
}

#[test]
fn early_exits_do_not_block_a_barrier() {
    let mut b = Builder::new();
    let (limit, zero) = (b.c(32), b.c(0));
    b.push(setp(Cmp::Lt, 0, tid(), limit));
    b.push(guarded(inst(Op::Exit, &[], &[]), 0, false));
    b.push(inst(Op::Barrier(BarrierKind::Sync), &[], &[zero]));
    b.push(inst(Op::Exit, &[], &[]));
    let ctx = b.launch(2, 96);
    let stats = run_grid(
        &ctx,
        &mut DeviceMemory::new(0),
        FunctionalOptions::default(),
    )
    .unwrap();
    assert_eq!(stats.blocks, 2);
}

/// Kernel that executes `while (atomicCAS(lock, 0, 1) != 0) {} ...`. The lock is not released
/// before the lanes reconverge.
fn spin_lock() -> Builder {
    let mut b = Builder::new();
    let (lock, zero, one) = (b.c(GLOBAL_BASE), b.c(0), b.c(1));
    b.push(inst(
        Op::Atom(MemSpace::Global, AtomOp::Cas, AtomTy::B32),
        &[d(0)],
        &[lock, zero, one],
    ));
    b.push(setp(Cmp::Ne, 0, r(0), zero));
    b.push_to(guarded(bra(0), 0, false), Some(3));
    b.push(inst(
        Op::St(MemSpace::Global, WORD, CacheOp::Default),
        &[],
        &[lock, zero],
    ));
    b.push(inst(Op::Exit, &[], &[]));
    b
}

/// The lane that holds the lock leaves the reconvergence point at which it would wait for the
/// spinning lanes.
#[test]
fn a_spin_lock_within_a_warp_is_passed_on() {
    let ctx = spin_lock().launch(1, 32);
    let mut memory = DeviceMemory::new(1 << 20);
    memory.alloc(0, 4).unwrap();
    let options = FunctionalOptions {
        watch_after: 16,
        ..Default::default()
    };
    let stats = run_grid(&ctx, &mut memory, options).expect("every lane takes the lock");
    assert_eq!(stats.blocks, 1);
}

#[test]
fn a_lock_between_single_lanes_of_warps_is_passed_on() {
    let mut b = spin_lock();
    // Only lane 0 of each warp takes the lock.
    let zero = b.c(0);
    let facts = b.program.facts[0].clone();
    let first = setp(Cmp::Ne, 1, Src::Special(SpecialReg::LaneId), zero);
    b.program
        .insts
        .splice(0..0, [first, guarded(inst(Op::Exit, &[], &[]), 1, false)]);
    b.program.facts.splice(0..0, [facts.clone(), facts]);
    b.program.insts[4].imm = 2;
    b.program.facts[4].reconverge = Some(warploom_base::Pc(5));
    let ctx = b.launch(2, 256);
    let mut memory = DeviceMemory::new(1 << 20);
    memory.alloc(0, 4).unwrap();
    let options = FunctionalOptions {
        watch_after: 16,
        quantum: 1,
        ..Default::default()
    };
    assert_eq!(run_grid(&ctx, &mut memory, options).unwrap().blocks, 2);
}

/// Kernel in which block 0 waits for a flag that block 1 sets.
fn handshake() -> LaunchContext {
    let mut b = Builder::new();
    let (flag, zero, one) = (b.c(GLOBAL_BASE), b.c(0), b.c(1));
    b.push(setp(Cmp::Ne, 0, Src::Special(SpecialReg::CtaidX), zero));
    b.push(guarded(
        inst(
            Op::St(MemSpace::Global, WORD, CacheOp::Default),
            &[],
            &[flag, one],
        ),
        0,
        false,
    ));
    b.push(inst(
        Op::Ld(MemSpace::Global, WORD, CacheOp::Volatile),
        &[d(0)],
        &[flag],
    ));
    b.push(setp(Cmp::Eq, 1, r(0), zero));
    b.push_to(guarded(bra(2), 1, false), Some(5));
    b.push(inst(Op::Exit, &[], &[]));
    b.launch(2, 32)
}

#[test]
fn blocks_that_wait_for_later_ones_need_them_in_flight() {
    let run = |resident_blocks| {
        let mut memory = DeviceMemory::new(1 << 20);
        memory.alloc(0, 4).unwrap();
        let options = FunctionalOptions {
            resident_blocks,
            watch_after: 16,
            ..Default::default()
        };
        run_grid(&handshake(), &mut memory, options)
    };
    assert!(matches!(run(1), Err(RunError::Livelock(_))));
    assert_eq!(run(2).unwrap().blocks, 2);
}

#[test]
fn long_loops_are_no_livelock_but_have_a_budget() {
    let mut b = Builder::new();
    let (one, many) = (b.c(1), b.c(100_000));
    b.push(inst(
        Op::Int(IntBin::Add, IntTy::U32),
        &[d(0)],
        &[r(0), one],
    ));
    b.push(setp(Cmp::Lt, 0, r(0), many));
    b.push_to(guarded(bra(0), 0, false), Some(3));
    b.push(inst(Op::Exit, &[], &[]));
    let ctx = b.launch(1, 32);
    let options = FunctionalOptions {
        watch_after: 16,
        ..Default::default()
    };
    let mut memory = DeviceMemory::new(0);
    assert_eq!(
        run_grid(&ctx, &mut memory, options)
            .unwrap()
            .warp_instructions,
        300_001
    );
    let options = FunctionalOptions {
        budget: 1000,
        ..options
    };
    let error = run_grid(&ctx, &mut memory, options).unwrap_err();
    assert!(
        matches!(error, RunError::OutOfBudget { budget: 1000, .. }),
        "{error}"
    );
}

#[test]
fn the_caller_ends_a_run() {
    let mut memory = DeviceMemory::new(1 << 20);
    memory.alloc(0, 1000).unwrap();
    let ctx = scale().launch(5, 50);
    let mut poll = |stats: &FunctionalStats| match stats.blocks {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let options = FunctionalOptions::default();
    let observer: Option<&mut dyn Observer> = None;
    let ended = run_grid_polled(&ctx, &mut memory, options, observer, &mut poll);
    assert_eq!(ended, Err(RunError::Interrupted { blocks: 2 }));
}

fn refuse(change: impl FnOnce(&mut Program, &mut LaunchSpec)) -> String {
    let mut b = Builder::new();
    b.push(inst(Op::Exit, &[], &[]));
    let mut launch = spec();
    change(&mut b.program, &mut launch);
    LaunchContext::new(Arc::new(b.program), launch)
        .unwrap_err()
        .to_string()
}

#[test]
fn bad_launches_say_what_is_wrong() {
    let says = |text: String, part: &str| assert!(text.contains(part), "{text}");
    says(
        refuse(|_, l| l.grid = Dim3::new(0, 1, 1)),
        "the grid (0, 1, 1) has an extent of zero",
    );
    says(
        refuse(|_, l| l.grid = Dim3::new(1, 70_000, 1)),
        "beyond the limit",
    );
    says(
        refuse(|_, l| l.block = Dim3::new(1024, 2, 1)),
        "2048 threads exceeds the limit of 1024",
    );
    says(
        refuse(|p, _| p.max_threads = Some([16, 1, 1])),
        "exceeds the limit of 16",
    );
    says(
        refuse(|p, _| p.required_threads = Some([64, 1, 1])),
        "requires blocks of (64, 1, 1)",
    );
    says(
        refuse(|_, l| l.dynamic_shared_bytes = 50_000),
        "needs 50000 bytes of shared memory",
    );
    says(
        refuse(|p, _| p.param_bytes = 8),
        "takes 8 bytes of parameters, but 0 were given",
    );
    says(
        refuse(|p, _| p.consts.push(ConstValue::Global(3, 0))),
        "variable number 3",
    );
    says(
        refuse(|p, _| p.consts.push(ConstValue::Texture(0))),
        "texture number 0",
    );
    says(
        refuse(|p, _| p.insts[0].dst[0] = d(99)),
        "an operand lies outside its table",
    );
    says(refuse(|p, _| p.insts.clear()), "no instructions");
}

#[test]
fn shared_memory_is_static_then_aligned_dynamic() {
    let mut b = Builder::new();
    b.push(inst(Op::Exit, &[], &[]));
    b.program.shared_bytes = 20;
    b.program.dynamic_shared_align = Some(16);
    let ctx = b.launch_with(LaunchSpec {
        dynamic_shared_bytes: 100,
        ..spec()
    });
    assert_eq!(ctx.shared_bytes(), 132);
}
