//! Tests of device memory, write logs, loads, stores and checks.

use crate::support::*;
use warploom_base::Digest;
use warploom_exec::*;
use warploom_ir::*;

const WORD: MemTy = MemTy {
    bytes: 4,
    count: 1,
    signed: false,
    wide_reg: false,
};

fn ld(space: MemSpace, ty: MemTy) -> Op {
    Op::Ld(space, ty, CacheOp::Default)
}

fn st(space: MemSpace, ty: MemTy) -> Op {
    Op::St(space, ty, CacheOp::Default)
}

#[test]
fn four_gibibytes_cost_what_is_touched() {
    let mut memory = DeviceMemory::new(8 << 30);
    let base = memory.alloc(0, 4 << 30).unwrap();
    assert_eq!((base, memory.resident_bytes()), (GLOBAL_BASE, 0));
    memory.write(0, base + (3 << 30) + 5, &[1, 2, 3]).unwrap();
    assert_eq!(memory.resident_bytes(), PAGE_BYTES as u64);
    let mut bytes = [9; 5];
    memory.read(0, base + (3 << 30) + 4, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 1, 2, 3, 0]);
    let second = memory.alloc(0, 1).unwrap();
    assert_eq!(second, base + (4 << 30), "in order, aligned to 256");
    assert_eq!(memory.alloc(0, 1).unwrap(), second + ALLOC_ALIGN);
}

#[test]
fn allocations_are_checked() {
    let mut memory = DeviceMemory::new(1024);
    let a = memory.alloc(0, 100).unwrap();
    assert_eq!(memory.check(0, a + 96, 4), AccessCheck::Ok);
    assert_eq!(memory.check(0, a + 97, 4), AccessCheck::Outside);
    assert_eq!(memory.check(0, u64::MAX - 1, 4), AccessCheck::Outside);
    assert_eq!(
        memory.check(1, a, 4),
        AccessCheck::Outside,
        "another process"
    );
    assert!(matches!(
        memory.alloc(0, 1000),
        Err(MemoryError::OutOfMemory { free: 768, .. })
    ));
    memory.free(0, a).unwrap();
    assert_eq!(memory.check(0, a, 4), AccessCheck::Freed);
    assert_eq!(
        memory.free(0, a),
        Err(MemoryError::NotAllocated { address: a })
    );
    assert!(memory.write(0, a, &[0]).is_err());
    let b = memory.alloc(1, 16).unwrap();
    assert_eq!(b, GLOBAL_BASE, "address spaces are apart");
}

#[test]
fn pages_with_something_allocated_may_be_accessed_where_they_are_protected_as_one() {
    let mut memory = DeviceMemory::new(16 << 20);
    let small = memory.alloc(0, 1000).unwrap();
    let gone = memory.alloc(0, 256).unwrap();
    let large = memory.alloc(0, 2 * PROTECTED_BYTES).unwrap();
    let last = memory.alloc(0, 4 * PROTECTED_BYTES).unwrap();
    memory.free(0, gone).unwrap();
    memory.free(0, last).unwrap();
    let outside = [small + 1000, gone, large + 2 * PROTECTED_BYTES];
    let beyond = [
        small - 4,
        last + PROTECTED_BYTES,
        last + 8 * PROTECTED_BYTES,
    ];
    let found = |memory: &DeviceMemory, at: u64| memory.check(0, at, 4);
    for at in outside.into_iter().chain(beyond) {
        assert_ne!(found(&memory, at), AccessCheck::Ok, "{at:#x}");
    }
    memory.protect_pages();
    for at in outside {
        assert_eq!(found(&memory, at), AccessCheck::Ok, "{at:#x}");
        assert!(
            memory.write(0, at, &[0]).is_err(),
            "the host knows what it has"
        );
    }
    for at in beyond {
        assert_ne!(found(&memory, at), AccessCheck::Ok, "{at:#x}");
    }
}

/// Warp that loads a word from an address, or stores one there, in memory with coarse protection.
fn access_by_pages(address: u64, store: bool) -> Result<(), FaultKind> {
    let mut b = Builder::new();
    let at = b.c(address);
    b.push(match store {
        true => inst(st(MemSpace::Global, WORD), &[], &[at, at]),
        false => inst(ld(MemSpace::Global, WORD), &[d(0)], &[at]),
    });
    b.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(b.launch(1, 32));
    bench.memory.alloc(0, 4096).unwrap();
    bench.memory.protect_pages();
    bench.step().map_err(|fault| fault.kind)
}

#[test]
fn what_lies_in_front_of_the_first_allocation_may_be_read_where_pages_are_protected() {
    assert_eq!(access_by_pages(GLOBAL_BASE, false), Ok(()));
    for below in [4, 128, PROTECTED_BYTES] {
        let address = GLOBAL_BASE - below;
        assert_eq!(access_by_pages(address, false), Ok(()), "{below}");
        let stored = access_by_pages(address, true);
        assert_eq!(stored, Err(FaultKind::OutOfBounds), "{below}");
    }
    let beyond = access_by_pages(GLOBAL_BASE - PROTECTED_BYTES - 4, false);
    assert_eq!(beyond, Err(FaultKind::OutOfBounds));
}

#[test]
fn digests_see_contents_not_history() {
    let digest = |writes: &[(u64, u8)]| {
        let mut memory = DeviceMemory::new(1 << 20);
        let base = memory.alloc(0, 1 << 18).unwrap();
        for &(at, byte) in writes {
            memory.write(0, base + at, &[byte]).unwrap();
        }
        let mut digest = Digest::new();
        memory.digest(&mut digest);
        digest.finish()
    };
    assert_eq!(
        digest(&[]),
        digest(&[(70_000, 0)]),
        "a touched zero is a zero"
    );
    assert_eq!(digest(&[(3, 1), (3, 2)]), digest(&[(3, 2)]));
    assert_ne!(digest(&[(3, 1)]), digest(&[(4, 1)]));
}

/// Warp that stores its lane number plus `value` to a buffer of 32 words and loads the words back.
fn store_and_load(value: u64) -> Builder {
    let mut b = Builder::new();
    let (base, four, value) = (b.c(GLOBAL_BASE), b.c(4), b.c(value));
    let lane = Src::Special(SpecialReg::LaneId);
    b.push(inst(
        Op::Mad(Half::Wide, IntTy::U32, false),
        &[d(0)],
        &[lane, four, base],
    ));
    b.push(inst(
        Op::Int(IntBin::Add, IntTy::U32),
        &[d(2)],
        &[lane, value],
    ));
    b.push(inst(st(MemSpace::Global, WORD), &[], &[r(0), r(2)]));
    b.push(inst(ld(MemSpace::Global, WORD), &[d(3)], &[r(0)]));
    b
}

#[test]
fn own_stores_are_seen_at_once_and_by_others_after_the_commit() {
    let mut b = store_and_load(100);
    let five = b.c(105);
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(ne, &[dp(0)], &[r(3), five]));
    b.push(inst(Op::Vote(VoteMode::Ballot), &[d(4)], &[p(0)]));
    b.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(b.launch(1, 32));
    let base = bench.memory.alloc(0, 128).unwrap();
    while !bench.warp.is_done() {
        bench.step().unwrap();
    }
    assert_eq!(word(&bench.memory, base + 20), 0, "not committed yet");
    assert_eq!(bench.log.len_bytes(), 128);
    bench.log.commit(&mut bench.memory);
    assert!(bench.log.is_empty());
    assert_eq!(word(&bench.memory, base + 20), 105);
}

#[test]
fn logs_commit_by_cycle_then_sm() {
    let mut memory = DeviceMemory::new(1 << 20);
    let base = memory.alloc(0, 256).unwrap();
    let image = memory.clone();
    let mut logs = [WriteLog::new(), WriteLog::new()];
    let ctx = |value| {
        let mut b = store_and_load(value);
        b.push(inst(Op::Exit, &[], &[]));
        b.launch(1, 32)
    };
    // SM 0 stores in cycle 7 and SM 1 in cycle 5, so that the value of SM 0 remains.
    for (sm, value, now) in [(0, 10, 7), (1, 20, 5)] {
        let ctx = ctx(value);
        let mut bench = Bench::new(ctx);
        let mut port = MemPort {
            image: &image,
            log: &mut logs[sm],
            now,
        };
        while !bench.warp.is_done() {
            step(
                &bench.ctx,
                &mut bench.block,
                &mut bench.warp,
                &mut port,
                &bench.env,
                &mut bench.out,
            )
            .unwrap();
        }
    }
    for cycle in 5..=7 {
        logs.iter_mut()
            .for_each(|log| log.commit_until(cycle, &mut memory));
    }
    assert_eq!(word(&memory, base), 10);
    assert!(logs.iter().all(WriteLog::is_empty));
}

/// Loads from every state space in every width, with and without sign extension.
#[test]
fn loads_extend_and_vectors_spread() {
    let mut b = Builder::new();
    b.program.param_bytes = 16;
    let dsts = [d(4), d(5), d(6), d(7)];
    let extra = b.extra(&dsts, &[]);
    let byte = MemTy {
        bytes: 1,
        count: 1,
        signed: true,
        wide_reg: false,
    };
    b.push(inst(ld(MemSpace::Param, byte), &[d(0)], &[Src::None]));
    let long = MemTy {
        bytes: 2,
        count: 1,
        signed: true,
        wide_reg: true,
    };
    b.push(inst(ld(MemSpace::Param, long), &[d(2)], &[Src::None]));
    let mut vector = inst(
        ld(
            MemSpace::Param,
            MemTy {
                bytes: 4,
                count: 4,
                ..WORD
            },
        ),
        &[],
        &[Src::None],
    );
    vector.extra = extra;
    b.push(vector);
    // The results are stored to shared memory for inspection.
    b.program.shared_bytes = 32;
    let wide = MemTy {
        bytes: 8,
        count: 1,
        signed: false,
        wide_reg: true,
    };
    for (at, op, slot) in [(0, WORD, 0), (8, wide, 2), (16, WORD, 4), (20, WORD, 7)] {
        let mut store = inst(st(MemSpace::Shared, op), &[], &[Src::None, r(slot)]);
        store.imm = at;
        b.push(store);
    }
    b.push(inst(Op::Exit, &[], &[]));
    let params: Vec<u8> = (0x80..0x90).collect();
    let mut bench = Bench::new(b.launch_with(LaunchSpec { params, ..spec() }));
    while !bench.warp.is_done() {
        bench.step().unwrap();
    }
    let shared = bench.block.shared();
    assert_eq!(shared[..4], 0xffff_ff80u32.to_le_bytes());
    assert_eq!(shared[8..16], (-0x7e80i64).to_le_bytes());
    assert_eq!(
        shared[16..24],
        [0x80, 0x81, 0x82, 0x83, 0x8c, 0x8d, 0x8e, 0x8f]
    );
}

#[test]
fn generic_addresses_reach_every_space() {
    // Even lanes point to shared memory, and odd lanes to local memory.
    let mut b = Builder::new();
    b.program.shared_bytes = 256;
    b.program.local_bytes = 256;
    let lane = Src::Special(SpecialReg::LaneId);
    let (one, four, zero) = (b.c(1), b.c(4), b.c(0));
    b.push(inst(
        Op::Mul(Half::Wide, IntTy::U32),
        &[d(0)],
        &[lane, four],
    ));
    b.push(inst(
        Op::Cvta(MemSpace::Shared, false, Width::B64),
        &[d(2)],
        &[r(0)],
    ));
    b.push(inst(
        Op::Cvta(MemSpace::Local, false, Width::B64),
        &[d(4)],
        &[r(0)],
    ));
    b.push(inst(
        Op::Logic(Logic::And, Width::B32),
        &[d(6)],
        &[lane, one],
    ));
    let eq = Op::Setp(Cmp::Eq, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(eq, &[dp(0)], &[r(6), zero]));
    b.push(inst(Op::Selp(Width::B64), &[d(8)], &[r(2), r(4), p(0)]));
    b.push(inst(Op::Isspacep(MemSpace::Shared), &[dp(1)], &[r(8)]));
    b.push(inst(Op::Vote(VoteMode::Ballot), &[d(10)], &[p(1)]));
    b.push(inst(Op::Mov(Width::B32), &[d(11)], &[lane]));
    b.push(inst(st(MemSpace::Generic, WORD), &[], &[r(8), r(11)]));
    b.push(inst(ld(MemSpace::Generic, WORD), &[d(12)], &[r(8)]));
    // All lanes are in one state space again.
    b.push(inst(ld(MemSpace::Generic, WORD), &[d(13)], &[r(2)]));
    b.push(inst(
        Op::Cvta(MemSpace::Shared, true, Width::B64),
        &[d(14)],
        &[r(2)],
    ));
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(ne, &[dp(2)], &[r(12), lane]));
    b.push(guarded(inst(Op::Trap, &[], &[]), 2, false));
    let mut store = inst(st(MemSpace::Shared, WORD), &[], &[r(14), r(10)]);
    store.imm = 128;
    b.push(store);
    b.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(b.launch(1, 32));
    let mut spaces = Vec::new();
    while !bench.warp.is_done() {
        bench.step().unwrap();
        if let Effect::Memory(effect) = bench.out.effect {
            spaces.push((effect.space, bench.out.addrs[2]));
        }
    }
    assert_eq!(
        spaces[0],
        (MemSpace::Shared, 8),
        "a mixed access counts as its lowest lane's"
    );
    assert_eq!(spaces[2], (MemSpace::Shared, 8));
    let shared = bench.block.shared();
    assert_eq!(
        (shared[8], shared[4], shared[12]),
        (2, 0, 0),
        "odd lanes went elsewhere"
    );
    assert_eq!(shared[128..132], 0x5555_5555u32.to_le_bytes());
}

/// Effect and addresses of an asynchronous copy of 4 bytes of every lane, of which the lanes from
/// `from` on copy nothing.
fn copies_of_lanes_below(from: u64) -> (Effect, [u64; 32]) {
    let mut b = Builder::new();
    b.program.shared_bytes = 256;
    let lane = Src::Special(SpecialReg::LaneId);
    let (four, zero, limit) = (b.c(4), b.c(0), b.c(from));
    let lt = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(lt, &[dp(0)], &[lane, limit]));
    b.push(inst(Op::Selp(Width::B32), &[d(4)], &[four, zero, p(0)]));
    let wide = Op::Mul(Half::Wide, IntTy::U32);
    b.push(inst(wide, &[d(0)], &[lane, four]));
    let base = b.c(GLOBAL_BASE);
    let mad = Op::Mad(Half::Wide, IntTy::U32, false);
    b.push(inst(mad, &[d(2)], &[lane, four, base]));
    let copy = Op::CopyAsync {
        bytes: 4,
        wide: true,
        cache: CacheOp::Ca,
    };
    let mut copy = inst(copy, &[], &[r(2), r(0), r(4)]);
    copy.wide_addr = true;
    b.push(copy);
    b.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(b.launch(1, 32));
    bench.memory.alloc(0, 256).unwrap();
    (0..5).for_each(|_| bench.step().unwrap());
    (bench.out.effect, bench.out.addrs)
}

#[test]
fn copies_of_no_bytes_access_nothing() {
    let (effect, addrs) = copies_of_lanes_below(32);
    assert!(matches!(effect, Effect::Memory(_)));
    assert_eq!(addrs[31], GLOBAL_BASE + 124);
    let (effect, addrs) = copies_of_lanes_below(3);
    assert!(matches!(effect, Effect::Memory(_)));
    assert_eq!(addrs[2..4], [GLOBAL_BASE + 8, GLOBAL_BASE]);
    let (effect, _) = copies_of_lanes_below(0);
    assert_eq!(effect, Effect::None);
}

/// Fault of a kernel with one instruction in which lane `lane` accesses `address`.
fn fault_of(space: MemSpace, address: u64, store: bool) -> Fault {
    let mut b = Builder::new();
    b.program.shared_bytes = 64;
    b.program.local_bytes = 16;
    let lane = Src::Special(SpecialReg::LaneId);
    let (five, good, bad) = (b.c(5), b.c(0), b.c(address));
    let ge = Op::Setp(Cmp::Ge, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(ge, &[dp(0)], &[lane, five]));
    let fine = match space {
        MemSpace::Global => b.c(GLOBAL_BASE),
        MemSpace::Generic => b.c(SHARED_WINDOW),
        MemSpace::Const => b.c(CONST_BASE),
        _ => good,
    };
    b.push(inst(Op::Selp(Width::B64), &[d(0)], &[bad, fine, p(0)]));
    b.push(if store {
        inst(st(space, WORD), &[], &[r(0), r(2)])
    } else {
        inst(ld(space, WORD), &[d(2)], &[r(0)])
    });
    b.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(b.launch(1, 32));
    bench.memory.alloc(0, 100).unwrap();
    let freed = bench.memory.alloc(0, 100).unwrap();
    bench.memory.free(0, freed).unwrap();
    bench.memory.alloc_const(0, 64, 4).unwrap();
    bench.step().unwrap();
    bench.step().unwrap();
    bench.step().unwrap_err()
}

#[test]
fn faults_name_place_address_and_neighbour() {
    let fault = fault_of(MemSpace::Global, GLOBAL_BASE + 100, false);
    assert_eq!(
        fault.to_string(),
        "access out of bounds in kernel `k`, PTX line 3, block (0, 0, 0), thread (5, 0, 0): 4 bytes \
         at global address 0xc0000064; 0 bytes after the end of the live allocation of 100 bytes \
         at 0xc0000000"
    );
    let kind = |space, address, store| fault_of(space, address, store).kind;
    use FaultKind::*;
    assert_eq!(kind(MemSpace::Global, GLOBAL_BASE + 2, false), Misaligned);
    assert_eq!(kind(MemSpace::Global, GLOBAL_BASE + 256, true), Freed);
    assert_eq!(kind(MemSpace::Global, 0, true), OutOfBounds);
    assert_eq!(kind(MemSpace::Shared, 64, true), OutOfBounds);
    assert_eq!(kind(MemSpace::Shared, u64::MAX - 3, false), OutOfBounds);
    assert_eq!(kind(MemSpace::Local, 16, false), OutOfBounds);
    assert_eq!(kind(MemSpace::Generic, 16, false), NoStateSpace);
    assert_eq!(
        kind(MemSpace::Generic, SHARED_WINDOW + 64, false),
        OutOfBounds
    );
    assert_eq!(kind(MemSpace::Const, CONST_BASE + 64, false), OutOfBounds);
    assert_eq!(kind(MemSpace::Global, CONST_BASE, true), WriteToReadOnly);
    assert_eq!(kind(MemSpace::Param, 0, true), OutOfBounds);
}

#[test]
fn uninitialised_loads_are_found_on_request() {
    let checks = Checks {
        uninitialised: true,
        ..Checks::default()
    };
    let run = |write_first: bool, space: MemSpace| {
        let mut b = Builder::new();
        b.program.shared_bytes = 8;
        b.program.local_bytes = 8;
        let address = if space == MemSpace::Global {
            b.c(GLOBAL_BASE)
        } else {
            Src::None
        };
        b.push(if write_first {
            inst(st(space, WORD), &[], &[address, r(0)])
        } else {
            inst(Op::Nop, &[], &[])
        });
        b.push(inst(ld(space, WORD), &[d(1)], &[address]));
        b.push(inst(Op::Exit, &[], &[]));
        let mut bench = Bench::new(b.launch_with(LaunchSpec { checks, ..spec() }));
        bench.memory.track_initialised();
        bench.memory.alloc(0, 8).unwrap();
        bench.step().unwrap();
        bench.step().unwrap();
        report_finding(
            &bench.ctx,
            &bench.block,
            &bench.warp,
            &bench.memory,
            &bench.out,
        )
        .map(|report| report.to_string())
    };
    for space in [MemSpace::Shared, MemSpace::Local, MemSpace::Global] {
        assert_eq!(run(true, space), None, "{space:?}");
        let report = run(false, space).expect("a finding");
        assert!(
            report.starts_with("load of uninitialised memory in kernel `k`, PTX line 2"),
            "{report}"
        );
    }
}

/// Two warps: warp 0 stores to word 0 of shared memory, and warp 1 loads it, with an optional
/// barrier in between.
fn race(barrier: bool) -> Vec<FindingKind> {
    let mut b = Builder::new();
    b.program.shared_bytes = 8;
    let (zero, limit) = (b.c(0), b.c(32));
    let lt = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::U32), false);
    b.push(inst(lt, &[dp(0)], &[Src::Special(SpecialReg::TidX), limit]));
    b.push(guarded(
        inst(st(MemSpace::Shared, WORD), &[], &[Src::None, r(0)]),
        0,
        false,
    ));
    if barrier {
        b.push(inst(Op::Barrier(BarrierKind::Sync), &[], &[zero]));
    }
    b.push(guarded(
        inst(ld(MemSpace::Shared, WORD), &[d(1)], &[Src::None]),
        0,
        true,
    ));
    b.push(inst(Op::Exit, &[], &[]));
    let checks = Checks {
        shared_races: true,
        ..Checks::default()
    };
    let block = warploom_base::Dim3::linear(64);
    let ctx = b.launch_with(LaunchSpec {
        checks,
        block,
        ..spec()
    });
    let mut memory = DeviceMemory::new(1 << 20);
    let stats = run_grid(&ctx, &mut memory, FunctionalOptions::default()).unwrap();
    stats.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn races_on_shared_memory_are_found_on_request() {
    assert_eq!(race(true), []);
    let store = FindingKind::SharedRace {
        other_warp: 0,
        other_pc: warploom_base::Pc(1),
    };
    assert_eq!(race(false), [store]);
}
