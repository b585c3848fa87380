//! Fetches of 32 lanes at different positions, compared with an implementation of the CUDA
//! programming guide for single texels. Covered are all address modes, formats and geometries, with
//! and without filtering, borders, and coordinates that are NaN or infinite.

use crate::support::*;
use std::sync::Arc;
use warploom_base::Rng;
use warploom_exec::*;
use warploom_ir::*;

const MODES: [AddressMode; 4] = [
    AddressMode::Wrap,
    AddressMode::Mirror,
    AddressMode::Clamp,
    AddressMode::Border,
];
const FORMATS: [(ChannelKind, u8); 9] = [
    (ChannelKind::Float, 32),
    (ChannelKind::UnsignedNormalized, 8),
    (ChannelKind::UnsignedNormalized, 16),
    (ChannelKind::SignedNormalized, 8),
    (ChannelKind::SignedNormalized, 16),
    (ChannelKind::Signed, 32),
    (ChannelKind::Signed, 8),
    (ChannelKind::Unsigned, 16),
    (ChannelKind::Unsigned, 32),
];
const BYTES: usize = 64 << 10;

fn any_texture(rng: &mut Rng) -> (TexGeom, Texture) {
    let geom = [
        TexGeom::D1,
        TexGeom::D2,
        TexGeom::D3,
        TexGeom::A1,
        TexGeom::A2,
    ];
    let geom = geom[rng.below(5) as usize];
    let (kind, channel_bits) = FORMATS[rng.below(9) as usize];
    let channels = [1, 2, 4][rng.below(3) as usize];
    let size = |rng: &mut Rng, used: bool| if used { 1 + rng.below(9) } else { 1 };
    let width = size(rng, true);
    let texel = u32::from(channels) * u32::from(channel_bits) / 8;
    let texture = Texture {
        base: GLOBAL_BASE,
        width,
        height: size(rng, !matches!(geom, TexGeom::D1 | TexGeom::A1)),
        depth: size(rng, geom == TexGeom::D3),
        layers: size(rng, matches!(geom, TexGeom::A1 | TexGeom::A2)),
        // The lengths of rows are no multiples of 16 bytes, so that texels cross the ends of such
        // blocks.
        pitch: width * texel + 4 * rng.below(3),
        channels,
        channel_bits,
        kind,
        normalized: rng.below(2) == 0,
        address: std::array::from_fn(|_| MODES[rng.below(4) as usize]),
        linear: rng.below(3) > 0
            && matches!(
                kind,
                ChannelKind::Float
                    | ChannelKind::UnsignedNormalized
                    | ChannelKind::SignedNormalized
            ),
    };
    (geom, texture)
}

fn any_coordinate(rng: &mut Rng, normalized: bool) -> f32 {
    match rng.below(40) {
        0 => [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            1e30,
            -1e30,
            -0.0,
        ][rng.below(6) as usize],
        1 => rng.below(12) as f32,
        2 => 16_777_216.0 + rng.below(100) as f32,
        _ if normalized => rng.unit_f32() * 5.0 - 2.0,
        _ => rng.unit_f32() * 16.0 - 3.0,
    }
}

/// Layer, if `geom` has layers, and number of dimensions.
fn shape(geom: TexGeom) -> (usize, usize) {
    match geom {
        TexGeom::D1 => (0, 1),
        TexGeom::D2 => (0, 2),
        TexGeom::A1 => (1, 1),
        TexGeom::A2 => (1, 2),
        _ => (0, 3),
    }
}

/// The four channels of all lanes. Lanes outside of `mask` are undefined.
fn fetch(
    (geom, texture): (TexGeom, Texture),
    data: &[u8],
    coord: TexTy,
    coords: &[[u32; 3]; 32],
    mask: u32,
) -> [[u32; 4]; 32] {
    let texel = match texture.kind {
        ChannelKind::Signed => TexTy::S32,
        ChannelKind::Unsigned => TexTy::U32,
        _ => TexTy::F32,
    };
    let tex = Op::Tex {
        geom,
        lod: TexLod::Base,
        texel,
        coord,
    };
    let mut table = TextureTable::default();
    let handle = table.bind(texture);
    let column = |k: usize| coords.iter().flat_map(move |c| c[k].to_le_bytes());
    let launch = LaunchSpec {
        texture_refs: vec![handle],
        textures: Arc::new(table),
        params: (0..3).flat_map(column).chain([0; 4]).collect(),
        ..spec()
    };
    let ctx = fetching(tex, mask).launch_with(launch);
    let lanes = run_fetch(ctx.clone(), texture.base, data);
    assert_eq!(
        lanes,
        run_fetch(ctx.with_baseline_isa(), texture.base, data)
    );
    lanes
}

/// A program in which the lanes of `mask` fetch at the coordinates that the parameters hold, column
/// by column, and store four words each to shared memory.
fn fetching(tex: Op, mask: u32) -> Builder {
    let mut b = Builder::new();
    b.program.consts.push(ConstValue::Texture(0));
    b.program.shared_bytes = 512;
    b.program.param_bytes = 3 * 128 + 4;
    let word = MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    };
    let op = |b: &mut Builder, op: Op, dst: &[Dst], src: &[Src], imm: i32| {
        let mut one = inst(op, dst, src);
        one.wide_addr = false;
        one.imm = imm;
        b.push(one);
    };
    let (four, sixteen) = (b.c(4), b.c(16));
    let lane = Src::Special(SpecialReg::LaneId);
    let mul = Op::Mul(Half::Lo, IntTy::U32);
    op(&mut b, mul, &[d(20)], &[lane, four], 0);
    op(&mut b, mul, &[d(21)], &[lane, sixteen], 0);
    for k in 0..3 {
        let load = Op::Ld(MemSpace::Param, word, CacheOp::Default);
        op(&mut b, load, &[d(k)], &[r(20)], 128 * i32::from(k));
    }
    let (bits, one, zero) = (b.c(mask.into()), b.c(1), b.c(0));
    op(&mut b, Op::Shr(IntTy::U32), &[d(22)], &[bits, lane], 0);
    let and = Op::Logic(Logic::And, Width::B32);
    op(&mut b, and, &[d(22)], &[r(22), one], 0);
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    op(&mut b, ne, &[dp(0)], &[r(22), zero], 0);
    let srcs: Vec<Src> = (0..3).map(r).collect();
    let mut tex = inst(tex, &[d(8)], &[Src::Const(0)]);
    tex.extra = b.extra(&[d(8), d(9), d(10), d(11)], &srcs);
    b.push(guarded(tex, 0, false));
    for k in 0..4 {
        let store = Op::St(MemSpace::Shared, word, CacheOp::Default);
        op(&mut b, store, &[], &[r(21), r(8 + k)], 4 * i32::from(k));
    }
    b.push(inst(Op::Exit, &[], &[]));
    b
}

fn run_fetch(ctx: LaunchContext, at: u64, data: &[u8]) -> [[u32; 4]; 32] {
    let mut bench = Bench::new(ctx);
    let base = bench.memory.alloc(0, BYTES as u64).expect("room");
    assert_eq!(base, at);
    bench.memory.write(0, base, data).expect("it is there");
    while !bench.warp.is_done() {
        bench.step().expect("no fault");
    }
    let shared = bench.block.shared();
    let word = |at: usize| u32::from_le_bytes(shared[at..at + 4].try_into().expect("four"));
    let lanes = |lane| std::array::from_fn(|k| word(16 * lane + 4 * k));
    std::array::from_fn(lanes)
}

/// Coordinate of a texture in texels.
fn scaled(t: &Texture, axis: usize, x: f32) -> f32 {
    let part = x - x.floor();
    let folded = match t.address[axis] {
        _ if !t.normalized => return x,
        AddressMode::Wrap => part,
        AddressMode::Mirror if x.floor().rem_euclid(2.0) == 0.0 => part,
        AddressMode::Mirror => 1.0 - part,
        _ => x,
    };
    folded * [t.width, t.height, t.depth][axis] as f32
}

/// Index of a texel on an axis after the addressing mode is applied.
fn place(t: &Texture, axis: usize, i: i64, whole: bool) -> Option<i64> {
    let n = i64::from([t.width, t.height, t.depth][axis]);
    match t.address[axis] {
        _ if (0..n).contains(&i) => Some(i),
        AddressMode::Border => None,
        _ if whole && axis == 0 && t.height == 1 => None,
        AddressMode::Wrap if t.normalized => Some(i.rem_euclid(n)),
        _ => Some(i.clamp(0, n - 1)),
    }
}

fn texel(t: &Texture, data: &[u8], at: &[i64], layer: u32, whole: bool) -> [f64; 4] {
    let mut p = [0; 3];
    for (axis, i) in at.iter().enumerate() {
        match place(t, axis, *i, whole) {
            Some(i) => p[axis] = i as usize,
            None => return [0.0; 4],
        }
    }
    let layer = layer.min(t.layers - 1) as usize;
    let row = (layer * t.depth as usize + p[2]) * t.height as usize + p[1];
    let size = t.channel_bits as usize / 8;
    let start = row * t.pitch as usize + p[0] * size * t.channels as usize;
    std::array::from_fn(|k| {
        if k >= t.channels.into() {
            return if k == 3 { 1.0 } else { 0.0 };
        }
        let mut raw = [0; 4];
        raw[..size].copy_from_slice(&data[start + k * size..start + (k + 1) * size]);
        let raw = u32::from_le_bytes(raw);
        let signed = match size {
            1 => f64::from(raw as i8),
            2 => f64::from(raw as i16),
            _ => f64::from(raw as i32),
        };
        let most = (1_u64 << t.channel_bits) - 1;
        match t.kind {
            ChannelKind::Float => f64::from(f32::from_bits(raw)),
            ChannelKind::Signed => signed,
            ChannelKind::Unsigned => f64::from(raw),
            ChannelKind::UnsignedNormalized => f64::from(raw) / most as f64,
            ChannelKind::SignedNormalized => (signed / (most / 2) as f64).max(-1.0),
        }
    })
}

fn expected(geom: TexGeom, t: &Texture, data: &[u8], coord: TexTy, c: [u32; 3]) -> [u32; 4] {
    let (first, dims) = shape(geom);
    let layer = if first == 1 { c[0] } else { 0 };
    let bits = |axis: usize| c[first + axis];
    let whole = coord == TexTy::S32;
    let position = |axis: usize| scaled(t, axis, f32::from_bits(bits(axis)));
    let nearest = |axis: usize| match whole {
        true => i64::from(bits(axis) as i32),
        false => position(axis).floor() as i64,
    };
    let value = if t.linear && !whole {
        let mut sum = [0.0; 4];
        for corner in 0..1_usize << dims {
            let (mut at, mut weight) = (Vec::new(), 1.0);
            for axis in 0..dims {
                let x = position(axis) - 0.5;
                let upper = f64::from(((x - x.floor()) * 256.0 + 0.5).floor()) / 256.0;
                let up = corner >> axis & 1 == 1;
                at.push((x.floor() as i64).saturating_add(up.into()));
                weight *= if up { upper } else { 1.0 - upper };
            }
            let texel = texel(t, data, &at, layer, whole);
            (0..4).for_each(|k| sum[k] += weight * texel[k]);
        }
        sum
    } else {
        let at: Vec<i64> = (0..dims).map(nearest).collect();
        texel(t, data, &at, layer, whole)
    };
    value.map(|value| match t.kind {
        ChannelKind::Signed | ChannelKind::Unsigned => value as i64 as u32,
        _ => (value as f32).to_bits(),
    })
}

/// True if two results have the same bits or both are NaN.
fn agree(kind: ChannelKind, got: u32, want: u32) -> bool {
    let integer = matches!(kind, ChannelKind::Signed | ChannelKind::Unsigned);
    let no_number = |bits: u32| f32::from_bits(bits).is_nan();
    got == want || !integer && no_number(got) && no_number(want)
}

fn any_data(rng: &mut Rng, kind: ChannelKind) -> Vec<u8> {
    let word = |_| match kind {
        ChannelKind::Float => (rng.unit_f32() * 4.0 - 2.0).to_le_bytes(),
        _ => rng.next_u32().to_le_bytes(),
    };
    (0..BYTES / 4).flat_map(word).collect()
}

#[test]
fn lanes_fetch_what_one_reading_of_the_guide_gives() {
    let mut rng = Rng::new(1);
    for round in 0..2_000 {
        let (geom, texture) = any_texture(&mut rng);
        let data = any_data(&mut rng, texture.kind);
        let (first, _) = shape(geom);
        let coord = [TexTy::F32, TexTy::F32, TexTy::S32][rng.below(3) as usize];
        let coords: [[u32; 3]; 32] = std::array::from_fn(|_| {
            std::array::from_fn(|k| match coord {
                _ if k < first => rng.below(12),
                TexTy::S32 => (rng.below(16) as i32 - 4) as u32,
                _ => any_coordinate(&mut rng, texture.normalized).to_bits(),
            })
        });
        let mask = if round % 2 == 0 { !0 } else { rng.next_u32() };
        let got = fetch((geom, texture), &data, coord, &coords, mask);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let want = expected(geom, &texture, &data, coord, coords[lane]);
            let mut channels = got[lane].into_iter().zip(want);
            let place = coords[lane].map(f32::from_bits);
            assert!(
                channels.all(|(got, want)| agree(texture.kind, got, want)),
                "{:x?} for {want:x?}: {place:?} of {geom:?} {texture:?}",
                got[lane]
            );
        }
    }
}
