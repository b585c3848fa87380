//! Reports of surface instructions to the timing: active lanes, addresses, sizes and the time of
//! atomic operations. Values are tested by the forms in the crate `run`.

use crate::support::*;
use std::sync::Arc;
use warploom_exec::*;
use warploom_ir::*;

/// Each lane n accesses sample n - 1 of a row of four.
const INSIDE: u32 = 0b1_1110;

fn row(channels: u8, channel_bits: u8, kind: ChannelKind) -> Texture {
    Texture {
        base: GLOBAL_BASE,
        width: 4,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 0,
        channels,
        channel_bits,
        kind,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

/// Warp before an access to the row, with the value 1.
fn before(surface: Texture, act: SurfAct, edge: SurfEdge, atomics: AtomicMode) -> Bench {
    let mut table = TextureTable::default();
    let handle = table.bind(surface);
    let mut b = Builder::new();
    b.program.consts.push(ConstValue::Texture(0));
    let (minus, one) = (b.c(u64::MAX), b.c(1));
    let place = inst(
        Op::Int(IntBin::Add, IntTy::U32),
        &[d(0)],
        &[Src::Special(SpecialReg::LaneId), minus],
    );
    b.push(place);
    let mut srcs = vec![r(0)];
    srcs.extend(vec![one; act.values().into()]);
    let extra = b.extra(&[], &srcs);
    let geom = TexGeom::D1;
    let mut access = inst(Op::Surf { act, geom, edge }, &[], &[Src::Const(0)]);
    access.extra = extra;
    b.push(access);
    b.push(inst(Op::Exit, &[], &[]));
    let launch = LaunchSpec {
        texture_refs: vec![handle],
        textures: Arc::new(table),
        ..spec()
    };
    let mut bench = Bench::new(b.launch_with(launch));
    bench.env.atomics = atomics;
    bench.memory.alloc(0, 64).expect("room");
    bench.step().expect("an addition");
    bench
}

/// State of the warp after the access.
fn accessed(surface: Texture, act: SurfAct, atomics: AtomicMode) -> Bench {
    let mut bench = before(surface, act, SurfEdge::Zero, atomics);
    bench.step().expect("an access");
    bench
}

#[test]
fn what_is_longer_than_a_row_lies_outside() {
    // Eight bytes in rows of four.
    let surface = row(1, 8, ChannelKind::Unsigned);
    let pair = MemTy {
        bytes: 4,
        count: 2,
        signed: false,
        wide_reg: false,
    };
    let store = SurfAct::Store(pair);
    let mut bench = accessed(surface, store, AtomicMode::Immediate);
    assert_eq!(bench.out.active, 0);
    bench.log.commit(&mut bench.memory);
    assert_eq!(words(&bench.memory), [0; 4]);
    for edge in [SurfEdge::Clamp, SurfEdge::Trap] {
        let mut bench = before(surface, store, edge, AtomicMode::Immediate);
        let fault = bench.step().expect_err("no place");
        assert_eq!(fault.kind, FaultKind::OutsideSurface, "{edge:?}");
    }
}

fn words(memory: &DeviceMemory) -> [u32; 4] {
    let mut raw = [0; 16];
    memory.read(0, GLOBAL_BASE, &mut raw).expect("allocated");
    std::array::from_fn(|i| u32::from_le_bytes(raw[4 * i..4 * i + 4].try_into().expect("four")))
}

fn effect(out: &StepOut) -> (MemKind, u8, bool) {
    match out.effect {
        Effect::Memory(effect) => (effect.kind, effect.bytes, effect.returns),
        other => panic!("{other:?}"),
    }
}

#[test]
fn reductions_are_atomics_of_the_lanes_inside() {
    let act = SurfAct::ReduceSample(AtomOp::Add, AtomTy::B32);
    let surface = row(1, 32, ChannelKind::Unsigned);
    let mut now = accessed(surface, act, AtomicMode::Immediate);
    assert_eq!(effect(&now.out), (MemKind::Atomic, 4, false));
    assert_eq!((now.out.active, now.out.atomic.mask), (INSIDE, 0));
    now.log.commit(&mut now.memory);
    assert_eq!(words(&now.memory), [1; 4]);

    let mut later = accessed(surface, act, AtomicMode::Deferred);
    assert_eq!(effect(&later.out), effect(&now.out));
    let batch = later.out.atomic.clone();
    assert_eq!((batch.mask, batch.dst), (INSIDE, None));
    assert_eq!(batch.addrs[1..5], [0, 4, 8, 12].map(|at| GLOBAL_BASE + at));
    later.log.commit(&mut later.memory);
    assert_eq!(
        words(&later.memory),
        [0; 4],
        "nothing before its owner acts"
    );
    // The memory system may apply the lanes in several groups.
    apply_atomic(&mut later.memory, &batch, 0b0110);
    assert_eq!(words(&later.memory), [1, 1, 0, 0]);
    apply_atomic(&mut later.memory, &batch, !0b0110);
    assert_eq!(words(&later.memory), [1; 4]);
}

#[test]
fn formatted_stores_write_what_the_sample_has() {
    let store = |channels, bits, values| {
        let surface = row(channels, bits, ChannelKind::Unsigned);
        accessed(surface, SurfAct::StoreSample(values), AtomicMode::Immediate)
    };
    for (channels, bits, values, bytes) in [
        (1, 8, 1, 1),
        (4, 8, 2, 2),
        (2, 16, 4, 4),
        (4, 32, 4, 16),
        (1, 32, 4, 4),
    ] {
        let bench = store(channels, bits, values);
        assert_eq!(effect(&bench.out), (MemKind::Store, bytes, false));
        assert_eq!(bench.out.active, INSIDE, "lanes outside do nothing");
        let sample = u64::from(channels) * u64::from(bits) / 8;
        assert_eq!(bench.out.addrs[4], GLOBAL_BASE + 3 * sample);
    }
    let mut bench = store(2, 16, 4);
    bench.log.commit(&mut bench.memory);
    assert_eq!(words(&bench.memory), [0x1_0001; 4]);
}
