//! Tests of texture fetches against a direct implementation of the CUDA programming guide.

use crate::support::*;
use std::sync::Arc;
use warploom_exec::*;
use warploom_ir::*;

/// Texture of 4 x 2 texels in f32, where texel (x, y) holds 10 y + x.
fn base_texture() -> Texture {
    Texture {
        base: GLOBAL_BASE,
        width: 4,
        height: 2,
        depth: 1,
        layers: 1,
        pitch: 16,
        channels: 1,
        channel_bits: 32,
        kind: ChannelKind::Float,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

/// The four results of an operation at the given coordinates.
fn run(texture: Texture, op: Op, coords: &[u32]) -> ([u32; 4], StepOut) {
    let mut table = TextureTable::default();
    let handle = table.bind(texture);
    let mut b = Builder::new();
    b.program.consts.push(ConstValue::Texture(0));
    let srcs: Vec<Src> = coords.iter().map(|&c| b.c(c.into())).collect();
    let dsts = [d(0), d(1), d(2), d(3)];
    let extra = b.extra(&dsts, &srcs);
    let mut fetch = inst(op, &[d(0)], &[Src::Const(0)]);
    fetch.extra = extra;
    b.push(fetch);
    b.program.shared_bytes = 16;
    let word = MemTy {
        bytes: 4,
        count: 1,
        signed: false,
        wide_reg: false,
    };
    for slot in 0..4u16 {
        let op = Op::St(MemSpace::Shared, word, CacheOp::Default);
        let mut store = inst(op, &[], &[Src::None, r(slot)]);
        store.imm = 4 * i32::from(slot);
        b.push(store);
    }
    b.push(inst(Op::Exit, &[], &[]));
    let launch = LaunchSpec {
        texture_refs: vec![handle],
        textures: Arc::new(table),
        ..spec()
    };
    let mut bench = Bench::new(b.launch_with(launch));
    let base = bench.memory.alloc(0, 4096).unwrap();
    for layer in 0..2u8 {
        for y in 0..2u8 {
            for x in 0..4u8 {
                let value = f32::from(100 * layer + 10 * y + x);
                let at = base + u64::from(layer) * 32 + u64::from(y) * 16 + u64::from(x) * 4;
                bench.memory.write(0, at, &value.to_le_bytes()).unwrap();
            }
        }
    }
    bench
        .memory
        .write(0, base + 1024, &[0, 128, 255, 64])
        .unwrap();
    bench.step().unwrap();
    let out = bench.out.clone();
    while !bench.warp.is_done() {
        bench.step().unwrap();
    }
    let shared = bench.block.shared();
    (
        std::array::from_fn(|i| u32::from_le_bytes(shared[4 * i..4 * i + 4].try_into().unwrap())),
        out,
    )
}

fn tex(geom: TexGeom, coord: TexTy) -> Op {
    Op::Tex {
        geom,
        lod: TexLod::Base,
        texel: TexTy::F32,
        coord,
    }
}

fn at(texture: Texture, x: f32, y: f32) -> f32 {
    f32::from_bits(
        run(
            texture,
            tex(TexGeom::D2, TexTy::F32),
            &[x.to_bits(), y.to_bits()],
        )
        .0[0],
    )
}

#[test]
fn nearest_texels_and_missing_channels() {
    let (texel, out) = run(
        base_texture(),
        tex(TexGeom::D2, TexTy::F32),
        &[2.7f32.to_bits(), 1f32.to_bits()],
    );
    assert_eq!(texel.map(f32::from_bits), [12.0, 0.0, 0.0, 1.0]);
    // Eight texels of four bytes in four rows: row 1 of the first tile.
    assert_eq!(out.addrs[0], GLOBAL_BASE + 32 + 8);
    let Effect::Memory(effect) = out.effect else {
        panic!("{:?}", out.effect)
    };
    assert_eq!((effect.kind, effect.bytes), (MemKind::Texture, 4));
}

#[test]
fn address_modes() {
    let unnormalized = |mode| Texture {
        address: [mode; 3],
        ..base_texture()
    };
    assert_eq!(at(unnormalized(AddressMode::Clamp), -3.0, 5.0), 10.0);
    assert_eq!(at(unnormalized(AddressMode::Border), -3.0, 0.0), 0.0);
    assert_eq!(
        at(unnormalized(AddressMode::Wrap), 9.0, 0.0),
        3.0,
        "wraps normalized ones only"
    );
    let normalized = |mode| Texture {
        address: [mode; 3],
        normalized: true,
        ..base_texture()
    };
    assert_eq!(at(normalized(AddressMode::Clamp), 0.99, 0.0), 3.0);
    assert_eq!(at(normalized(AddressMode::Wrap), 1.3, 0.0), 1.0);
    assert_eq!(at(normalized(AddressMode::Wrap), -0.2, 0.6), 13.0);
    assert_eq!(at(normalized(AddressMode::Mirror), 1.3, 0.0), 2.0);
    assert_eq!(at(normalized(AddressMode::Mirror), -0.3, 0.0), 1.0);
}

#[test]
fn linear_filtering_has_eight_bit_weights() {
    let linear = Texture {
        linear: true,
        ..base_texture()
    };
    assert_eq!(at(linear, 1.0, 0.5), 0.5, "between texels 0 and 1");
    assert_eq!(at(linear, 1.5, 1.0), 6.0, "between rows");
    assert_eq!(at(linear, 1.75, 1.25), 1.25 + 7.5);
    // The weight 0.3 becomes 77/256.
    assert_eq!(at(linear, 0.8, 0.5), 77.0 / 256.0);
    assert_eq!(at(linear, 0.0, 0.0), 0.0, "clamped at the edge");
    assert_eq!(at(linear, 100.0, 0.5), 3.0);
    let border = Texture {
        address: [AddressMode::Border; 3],
        ..linear
    };
    assert_eq!(at(border, 4.0, 0.5), 1.5, "half of the border's zero");
    let wrap = Texture {
        address: [AddressMode::Wrap; 3],
        normalized: true,
        ..linear
    };
    assert_eq!(
        at(wrap, 0.0, 0.25),
        1.5,
        "half of texel 3 and half of texel 0"
    );
}

#[test]
fn integer_fetches_and_formats() {
    let fetch = |x: i32| {
        let line = Texture {
            height: 1,
            ..base_texture()
        };
        f32::from_bits(run(line, tex(TexGeom::D1, TexTy::S32), &[x as u32]).0[0])
    };
    assert_eq!((fetch(3), fetch(4), fetch(-1)), (3.0, 0.0, 0.0));
    let bytes = Texture {
        base: GLOBAL_BASE + 1024,
        width: 1,
        height: 1,
        channels: 4,
        channel_bits: 8,
        kind: ChannelKind::UnsignedNormalized,
        ..base_texture()
    };
    let got = run(bytes, tex(TexGeom::D1, TexTy::S32), &[0])
        .0
        .map(f32::from_bits);
    assert_eq!(got, [0.0, 128.0 / 255.0, 1.0, 64.0 / 255.0]);
    let signed = Texture {
        kind: ChannelKind::SignedNormalized,
        ..bytes
    };
    let got = run(signed, tex(TexGeom::D1, TexTy::S32), &[0])
        .0
        .map(f32::from_bits);
    assert_eq!(got, [0.0, -1.0, -1.0 / 127.0, 64.0 / 127.0]);
    let raw = Texture {
        kind: ChannelKind::Signed,
        ..bytes
    };
    let op = Op::Tex {
        geom: TexGeom::D1,
        lod: TexLod::Base,
        texel: TexTy::S32,
        coord: TexTy::S32,
    };
    assert_eq!(run(raw, op, &[0]).0, [0, -128i32 as u32, -1i32 as u32, 64]);
}

/// Linear textures of CUDA have up to 2^27 texels, whereas f32 is exact only up to 2^24.
#[test]
fn integer_fetches_are_exact_beyond_the_reach_of_f32() {
    const FAR: u32 = 1 << 24;
    let line = Texture {
        base: GLOBAL_BASE - u64::from(FAR),
        width: FAR + 4096,
        height: 1,
        channel_bits: 8,
        kind: ChannelKind::Unsigned,
        ..base_texture()
    };
    for coord in [TexTy::S32, TexTy::U32] {
        let op = Op::Tex {
            geom: TexGeom::D1,
            lod: TexLod::Base,
            texel: TexTy::U32,
            coord,
        };
        let (texel, out) = run(line, op, &[FAR + 1025]);
        assert_eq!((texel[0], out.addrs[0]), (128, GLOBAL_BASE + 1025));
    }
}

#[test]
fn layers_gathers_and_queries() {
    let layered = Texture {
        layers: 2,
        ..base_texture()
    };
    let x = |v: f32| v.to_bits();
    let got = run(
        layered,
        tex(TexGeom::A2, TexTy::F32),
        &[1, x(2.0), x(1.0), 0],
    )
    .0[0];
    assert_eq!(f32::from_bits(got), 112.0);
    let gather = Op::Tld4 {
        channel: 0,
        geom: TexGeom::D2,
        texel: TexTy::F32,
    };
    let got = run(base_texture(), gather, &[x(2.0), x(1.0)])
        .0
        .map(f32::from_bits);
    assert_eq!(got, [11.0, 12.0, 2.0, 1.0]);
    let query = |q| run(layered, Op::Txq(q), &[]).0[0];
    assert_eq!(
        (
            query(TexQuery::Width),
            query(TexQuery::Height),
            query(TexQuery::ArraySize)
        ),
        (4, 2, 2)
    );
    assert_eq!(
        (
            query(TexQuery::ChannelDataType),
            query(TexQuery::ChannelOrder)
        ),
        (0x10de, 0x10b0)
    );
    assert_eq!(
        (
            query(TexQuery::NormalizedCoords),
            query(TexQuery::FilterMode)
        ),
        (0, 0)
    );
}

#[test]
fn unknown_handles_and_freed_textures_are_faults() {
    let mut b = Builder::new();
    let handle = b.c(7);
    let extra = b.extra(&[d(0)], &[handle]);
    let mut fetch = inst(tex(TexGeom::D1, TexTy::S32), &[], &[handle]);
    fetch.extra = extra;
    b.push(fetch);
    b.push(inst(Op::Exit, &[], &[]));
    let fault = Bench::new(b.launch(1, 1)).step().unwrap_err();
    assert_eq!(fault.kind, FaultKind::BadTexture);
}

/// Addresses that GPGPU-Sim's `tex_impl` reports to the timing: the index of the tile in rows of
/// tiles, 64 bytes each, plus the position of the texel in its tile of 128 bytes.
#[test]
fn caches_see_tiles() {
    // Columns: channels, bits, width and height; a texel in the second row and column of tiles; its
    // address (2 + 1) x 64 + (row x tile width + column) x bytes.
    let cases = [
        ([1, 8], [32, 16], [17, 9], 192 + 17),
        ([1, 16], [32, 8], [17, 5], 192 + 17 * 2),
        ([1, 32], [16, 8], [9, 5], 192 + 9 * 4),
        ([2, 32], [16, 4], [9, 3], 192 + 9 * 8),
        ([4, 32], [8, 4], [5, 3], 192 + 5 * 16),
    ];
    for ([channels, channel_bits], [width, height], [x, y], offset) in cases {
        let texture = Texture {
            width,
            height,
            pitch: width * u32::from(channels * channel_bits / 8),
            channels,
            channel_bits,
            kind: ChannelKind::Unsigned,
            ..base_texture()
        };
        let op = Op::Tex {
            geom: TexGeom::D2,
            lod: TexLod::Base,
            texel: TexTy::U32,
            coord: TexTy::S32,
        };
        let (_, out) = run(texture, op, &[x, y]);
        assert_eq!(
            out.addrs[0],
            GLOBAL_BASE + offset,
            "{channels} x {channel_bits} bits"
        );
    }
}
