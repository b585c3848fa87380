//! Tests of atomic operations on memory.

use crate::support::*;
use warploom_exec::*;
use warploom_ir::*;

/// New value in memory and returned value of an atomic operation, for each type, in shared and in
/// global memory.
#[test]
fn atomics_of_every_kind() {
    let f = |x: f32| u64::from(x.to_bits());
    let m1 = u64::from(u32::MAX);
    let cases: [(AtomOp, AtomTy, u64, u64, u64, u64); 26] = [
        // Columns: operation, type, old value, a, b, new value.
        (AtomOp::And, AtomTy::B32, 0xf0, 0x3c, 0, 0x30),
        (AtomOp::Or, AtomTy::B64, 0xf0, 1 << 40, 0, 0xf0 | 1 << 40),
        (AtomOp::Xor, AtomTy::B32, 0xff, 0x0f, 0, 0xf0),
        (AtomOp::Exch, AtomTy::B64, 1, u64::MAX, 0, u64::MAX),
        (AtomOp::Cas, AtomTy::B32, 5, 5, 9, 9),
        (AtomOp::Cas, AtomTy::B32, 5, 6, 9, 5),
        (AtomOp::Cas, AtomTy::B16, 0xfffe, 0xfffe, 3, 3),
        (AtomOp::Cas, AtomTy::B64, u64::MAX, u64::MAX, 3, 3),
        (AtomOp::Add, AtomTy::U32, m1, 2, 0, 1),
        (AtomOp::Add, AtomTy::U64, m1, 2, 0, m1 + 2),
        (AtomOp::Inc, AtomTy::U32, 4, 5, 0, 5),
        (AtomOp::Inc, AtomTy::U32, 5, 5, 0, 0),
        (AtomOp::Dec, AtomTy::U32, 0, 5, 0, 5),
        (AtomOp::Dec, AtomTy::U32, 6, 5, 0, 5),
        (AtomOp::Dec, AtomTy::U32, 5, 5, 0, 4),
        (AtomOp::Min, AtomTy::S32, 1, m1, 0, m1),
        (AtomOp::Min, AtomTy::U32, 1, m1, 0, 1),
        (AtomOp::Max, AtomTy::S32, 1, m1, 0, 1),
        (AtomOp::Max, AtomTy::U32, 1, m1, 0, m1),
        (AtomOp::Min, AtomTy::S64, 1, u64::MAX, 0, u64::MAX),
        (AtomOp::Max, AtomTy::U64, 1, u64::MAX, 0, u64::MAX),
        (AtomOp::Add, AtomTy::F32, f(1.5), f(2.25), 0, f(3.75)),
        (
            AtomOp::Add,
            AtomTy::F64,
            1.5f64.to_bits(),
            0.25f64.to_bits(),
            0,
            1.75f64.to_bits(),
        ),
        (
            AtomOp::Add,
            AtomTy::F16x2,
            0x3c00_3c00,
            0x4000_3c00,
            0,
            0x4200_4000,
        ),
        (AtomOp::Add, AtomTy::Bf16, 0x3f80, 0x3f80, 0, 0x4000),
        (AtomOp::Max, AtomTy::F16, 0x3c00, 0x4000, 0, 0x4000),
    ];
    for (op, ty, old, a, b, new) in cases {
        for space in [MemSpace::Shared, MemSpace::Global, MemSpace::Generic] {
            let got = atomic(space, op, ty, old, a, b, AtomicMode::Immediate);
            assert_eq!(got, (new, old), "{op:?} {ty:?} {space:?}");
        }
        let deferred = atomic(MemSpace::Global, op, ty, old, a, b, AtomicMode::Deferred);
        assert_eq!(deferred, (new, old), "{op:?} {ty:?} deferred");
    }
    // Additions on global memory flush subnormal numbers. Additions on shared memory do not.
    let sub = |space| {
        atomic(
            space,
            AtomOp::Add,
            AtomTy::F32,
            1,
            1,
            0,
            AtomicMode::Immediate,
        )
        .0
    };
    assert_eq!((sub(MemSpace::Global), sub(MemSpace::Shared)), (0, 2));
}

/// New value in memory and returned value of an atomic operation by one thread.
fn atomic(
    space: MemSpace,
    op: AtomOp,
    ty: AtomTy,
    old: u64,
    a: u64,
    b: u64,
    mode: AtomicMode,
) -> (u64, u64) {
    let mut p = Builder::new();
    p.program.shared_bytes = 8;
    let bytes = atom_bytes(ty) as usize;
    let wide = bytes == 8;
    let address = if space == MemSpace::Shared {
        0
    } else {
        GLOBAL_BASE
    };
    let (address, a, b) = (p.c(address), p.c(a), p.c(b));
    if space == MemSpace::Shared {
        let old = p.c(old);
        let full = MemTy {
            bytes: 8,
            count: 1,
            signed: false,
            wide_reg: true,
        };
        p.push(inst(
            Op::St(MemSpace::Shared, full, CacheOp::Default),
            &[],
            &[address, old],
        ));
    } else {
        p.push(inst(Op::Nop, &[], &[]));
    }
    p.push(inst(Op::Atom(space, op, ty), &[d(0)], &[address, a, b]));
    let result = MemTy {
        bytes: if wide { 8 } else { 4 },
        count: 1,
        signed: false,
        wide_reg: wide,
    };
    let mut save = inst(
        Op::St(MemSpace::Global, result, CacheOp::Default),
        &[],
        &[Src::None, r(0)],
    );
    save.src[0] = p.c(GLOBAL_BASE + 8);
    p.push(save);
    p.push(inst(Op::Exit, &[], &[]));
    let mut bench = Bench::new(p.launch(1, 1));
    bench.env.atomics = mode;
    let base = bench.memory.alloc(0, 16).unwrap();
    bench.memory.write(0, base, &old.to_le_bytes()).unwrap();
    while !bench.warp.is_done() {
        bench.step().unwrap();
        if bench.out.atomic.mask != 0 {
            let batch = bench.out.atomic.clone();
            let old = apply_atomic(&mut bench.memory, &batch, batch.mask);
            bench
                .warp
                .write_atomic_result(batch.dst.unwrap(), batch.mask, &old);
        }
    }
    bench.log.commit(&mut bench.memory);
    let mut raw = [0; 8];
    bench.memory.read(0, base + 8, &mut raw).unwrap();
    let returned = u64::from_le_bytes(raw);
    let mut raw = [0; 8];
    if space == MemSpace::Shared {
        raw[..bytes].copy_from_slice(&bench.block.shared()[..bytes]);
    } else {
        bench.memory.read(0, base, &mut raw[..bytes]).unwrap();
    }
    (u64::from_le_bytes(raw), returned)
}

#[test]
fn lanes_of_one_atomic_act_one_after_the_other() {
    for mode in [AtomicMode::Immediate, AtomicMode::Deferred] {
        let mut b = Builder::new();
        let (address, one) = (b.c(GLOBAL_BASE), b.c(1));
        b.push(inst(
            Op::Atom(MemSpace::Global, AtomOp::Add, AtomTy::U32),
            &[d(0)],
            &[address, one],
        ));
        b.push(inst(Op::Exit, &[], &[]));
        let mut bench = Bench::new(b.launch(1, 32));
        bench.env.atomics = mode;
        let base = bench.memory.alloc(0, 4).unwrap();
        bench.step().unwrap();
        let batch = bench.out.atomic.clone();
        if mode == AtomicMode::Deferred {
            // The memory system may apply the lanes in several groups.
            let high = apply_atomic(&mut bench.memory, &batch, 0xffff_0000);
            let low = apply_atomic(&mut bench.memory, &batch, 0x0000_ffff);
            assert_eq!((high[16], high[31], low[0], low[15]), (0, 15, 16, 31));
        } else {
            assert_eq!(batch.mask, 0);
            bench.log.commit(&mut bench.memory);
        }
        assert_eq!(word(&bench.memory, base), 32, "{mode:?}");
    }
}
