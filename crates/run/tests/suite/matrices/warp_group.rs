//! Tests of `wgmma`: layouts in shared memory and fragments as the PTX ISA's figures show them,
//! against plain products.

use super::*;

/// Where a multiplicand comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Registers,
    /// Shared memory: bytes of a row of the swizzle's pattern, and whether rows follow the other
    /// dimension than the depth.
    Shared(usize, bool),
}

/// A product of a warp group.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    from: [Ty; 2],
    acc: Ty,
    a: From,
    b: From,
    /// True for a and b that the instruction negates.
    negated: [bool; 2],
    /// False if the accumulator is not added.
    adds: bool,
    /// Modifier before the types.
    rule: &'static str,
}

/// A multiplicand in shared memory, with its descriptor.
struct Tile {
    bytes: Vec<u8>,
    descriptor: u64,
}

/// Size in bytes of the part of shared memory that each multiplicand has.
const PART: usize = 32 << 10;

/// Place of the chunk in its row after the permutation: rows of 128 bytes move by their number,
/// narrower ones in pairs or in fours.
fn permuted(span: usize, row: usize, chunk: usize) -> usize {
    match span {
        128 => chunk ^ (row % 8),
        64 => chunk ^ (row / 2 % 4),
        32 => chunk ^ (row / 4 % 2),
        _ => chunk,
    }
}

/// Encodes the fields of a descriptor.
fn descriptor(start: usize, leading: usize, stride: usize, span: usize) -> u64 {
    let mode = match span {
        128 => 1,
        64 => 2,
        32 => 3,
        _ => 0,
    };
    let field = |bytes: usize| bytes as u64 >> 4;
    field(start) | field(leading) << 16 | field(stride) << 32 | mode << 62
}

impl Tile {
    /// Lays out `count` rows of a, or columns of b, along the depth. `start` is where the part
    /// begins; `step` counts the steps of 32 bytes along the depth that lie before.
    fn along(span: usize, start: usize, step: usize, rows: &[Vec<u8>]) -> Self {
        let mut bytes = vec![0xa5; PART];
        let atom = 8 * span.max(32) + 64 * usize::from(span < 32);
        for (row, data) in rows.iter().enumerate() {
            for (part, chunk) in data.chunks(16).enumerate() {
                let at = match span {
                    // Two matrices of 8 rows of 16 bytes, side by side.
                    16 => row / 8 * atom + part * 160 + row % 8 * 16,
                    _ => {
                        let place = permuted(span, row, step * 2 + part);
                        row / 8 * atom + row % 8 * span + place * 16
                    }
                };
                bytes[at..at + 16].copy_from_slice(chunk);
            }
        }
        let descriptor = match span {
            16 => descriptor(start, 160, atom, 16),
            _ => descriptor(start + step * 32, 16, atom, span),
        };
        Self { bytes, descriptor }
    }

    /// Lays out rows that follow the other dimension: `rows[k]` holds the elements at position `k`
    /// of the depth.
    fn across(span: usize, start: usize, rows: &[Vec<u8>]) -> Self {
        let mut bytes = vec![0xa5; PART];
        let atoms = rows[0].len().div_ceil(span);
        let atom = 8 * span;
        for (k, data) in rows.iter().enumerate() {
            for (chunk, data) in data.chunks(16).enumerate() {
                let (which, inside) = (chunk * 16 / span, chunk % (span / 16));
                let place = permuted(span, k % 8, inside);
                let at = (k / 8 * atoms + which) * atom + k % 8 * span + place * 16;
                bytes[at..at + 16].copy_from_slice(data);
            }
        }
        let descriptor = match span {
            16 => descriptor(start, atoms * atom, atom, 16),
            _ => descriptor(start, atom, atoms * atom, span),
        };
        Self { bytes, descriptor }
    }

    fn of(from: From, start: usize, rng: &mut Rng, matrix: &Matrix, ty: Ty) -> Self {
        let From::Shared(span, across) = from else {
            return Self {
                bytes: Vec::new(),
                descriptor: 0,
            };
        };
        let (outer, inner) = if across {
            (matrix.cols, matrix.rows)
        } else {
            (matrix.rows, matrix.cols)
        };
        let row = |of: usize| {
            let mut words = vec![0; inner * ty.bits / 32];
            for at in 0..inner {
                let place = if across { (at, of) } else { (of, at) };
                put(&mut words, ty.bits, at, ty.bits_of(matrix.at(place)));
            }
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let rows: Vec<Vec<u8>> = (0..outer).map(row).collect();
        if across {
            return Self::across(span, start, &rows);
        }
        let step = rng.below((span / 32).max(1) as u32) as usize;
        Self::along(span, start, step, &rows)
    }
}

impl Case {
    fn depth(&self) -> usize {
        256 / self.from[0].bits
    }

    fn name(&self) -> String {
        let (n, k, [a, b]) = (self.n, self.depth(), self.from);
        let types = format!("{}.{}.{}", self.acc.name, a.name, b.name);
        match self.rule {
            ".and.popc" => format!("wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types}.and.popc"),
            rule => format!("wgmma.mma_async.sync.aligned.m64n{n}k{k}{rule}.{types}"),
        }
    }

    /// Operands after the predicate.
    fn choices(&self) -> String {
        if self.acc == S32 {
            return String::new();
        }
        let sign = |negated: bool| if negated { ", -1" } else { ", 1" };
        let mut text = sign(self.negated[0]).to_owned() + sign(self.negated[1]);
        if self.from[0].bits == 16 {
            for from in [self.a, self.b] {
                match from {
                    From::Registers => {}
                    From::Shared(_, across) => text += if across { ", 1" } else { ", 0" },
                }
            }
        }
        text
    }

    /// Position of a thread's element of a in registers (PTX ISA, "Register Fragments").
    fn a_place(&self, thread: usize, i: usize) -> (usize, usize) {
        let (group, lane) = (thread / 32 * 16 + thread % 32 / 4, thread % 4);
        let per = 32 / self.from[0].bits;
        let (register, nth) = (i / per, i % per);
        let col = register / 2 * 4 * per + lane * per + nth;
        (group + register % 2 * 8, col)
    }

    /// Position of a thread's element of d.
    fn d_place(thread: usize, i: usize) -> (usize, usize) {
        let row = thread / 32 * 16 + thread % 32 / 4 + if i % 4 < 2 { 0 } else { 8 };
        (row, i / 4 * 8 + thread % 4 * 2 + i % 2)
    }

    fn kernel(&self, descriptors: [u64; 2]) -> String {
        let d = self.n * self.acc.bits / 64;
        let a = match self.a {
            From::Registers => list("%a", 0, 4),
            From::Shared(..) => format!("{:#x}", descriptors[0]),
        };
        let moves = |what: &str, at: usize, first: &str, count: usize| {
            let one = |nth: usize| match what {
                "ld" => format!("ld.global.b32 {first}{nth}, [%rd3+{}];\n", at + nth * 4),
                _ => format!("st.global.b32 [%rd3+{}], {first}{nth};\n", at + nth * 4),
            };
            (0..count).map(one).collect::<String>()
        };
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b32 %a<4>, %d<{d}>, %t<4>; .reg .b64 %rd<6>; .reg .pred %p<3>;\n\
             .shared .align 1024 .b8 s[{bytes}];\n\
             ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
             mov.u32 %t0, %tid.x;\nshl.b32 %t0, %t0, 2;\nmov.u32 %t1, s;\n\
             add.u32 %t1, %t1, %t0;\ncvt.u64.u32 %rd3, %t0;\nadd.u64 %rd3, %rd1, %rd3;\n\
             mov.u32 %t2, 0;\n\
             LOOP:\nld.global.b32 %t3, [%rd3];\nst.shared.b32 [%t1], %t3;\n\
             add.u64 %rd3, %rd3, 512;\nadd.u32 %t1, %t1, 512;\nadd.u32 %t2, %t2, 1;\n\
             setp.lt.u32 %p0, %t2, {turns};\n@%p0 bra LOOP;\n\
             fence.proxy.async.shared::cta;\nbar.sync 0;\n\
             mov.u32 %t0, %tid.x;\nmul.wide.u32 %rd3, %t0, {own};\nadd.u64 %rd3, %rd1, %rd3;\n\
             add.u64 %rd3, %rd3, {bytes};\n{load_a}{load_d}\
             setp.eq.u32 %p1, {adds}, 1;\nmov.b64 %rd5, {b:#x};\n\
             wgmma.fence.sync.aligned;\n\
             {name} {list_d}, {a}, %rd5, %p1{choices};\n\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             mul.wide.u32 %rd3, %t0, {size_d};\nadd.u64 %rd3, %rd2, %rd3;\n{store}ret;\n}}\n",
            bytes = 2 * PART,
            turns = 2 * PART / 512,
            own = 16 + d * 4,
            load_a = moves("ld", 0, "%a", 4),
            load_d = moves("ld", 16, "%d", d),
            adds = u32::from(self.adds),
            b = descriptors[1],
            name = self.name(),
            list_d = list("%d", 0, d),
            choices = self.choices(),
            size_d = d * 4,
            store = moves("st", 0, "%d", d),
        )
    }
}

fn check(case: Case, seed: u64) {
    let mut rng = Rng::new(seed);
    let (n, k) = (case.n, case.depth());
    let a = Matrix::draw(64, k, case.from[0], &mut rng);
    // Columns of b as rows.
    let b = Matrix::draw(n, k, case.from[1], &mut rng);
    let d = Matrix::draw(64, n, case.acc, &mut rng);
    let tiles = [
        Tile::of(case.a, 0, &mut rng, &a, case.from[0]),
        Tile::of(case.b, PART, &mut rng, &b, case.from[1]),
    ];
    let mut input = Vec::new();
    for tile in &tiles {
        let mut bytes = tile.bytes.clone();
        bytes.resize(PART, 0);
        let words = bytes.as_chunks().0.iter();
        input.extend(words.map(|word: &[u8; 4]| u32::from_le_bytes(*word)));
    }
    let slots = n / 2;
    for thread in 0..128 {
        let mut own = vec![0; 4 + slots * case.acc.bits / 32];
        for i in 0..128 / case.from[0].bits {
            let value = a.at(case.a_place(thread, i));
            put(&mut own, case.from[0].bits, i, case.from[0].bits_of(value));
        }
        for i in 0..slots {
            let value = case.acc.bits_of(d.at(Case::d_place(thread, i)));
            put(&mut own[4..], case.acc.bits, i, value);
        }
        input.extend(own);
    }
    let kernel = case.kernel([tiles[0].descriptor, tiles[1].descriptor]);
    let words = slots * case.acc.bits / 32;
    let output = run_block(&kernel, 128, &input, 128 * words);
    let sign = if case.negated[0] == case.negated[1] {
        1
    } else {
        -1
    };
    for thread in 0..128 {
        for i in 0..slots {
            let (row, col) = Case::d_place(thread, i);
            let term = |at: usize| match case.rule {
                ".and.popc" => a.at((row, at)) & b.at((col, at)),
                _ => a.at((row, at)) * b.at((col, at)),
            };
            let start = if case.adds { d.at((row, col)) } else { 0 };
            let wanted = start + sign * (0..k).map(term).sum::<i32>();
            let found = get(&output[thread * words..], case.acc.bits, i);
            assert_eq!(
                found,
                case.acc.bits_of(wanted),
                "{case:?}: thread {thread}, d{i}: {wanted}"
            );
        }
    }
}

/// A plain case of the types.
fn case(n: usize, from: [Ty; 2], acc: Ty) -> Case {
    Case {
        n,
        from,
        acc,
        a: From::Shared(128, false),
        b: From::Shared(128, false),
        negated: [false; 2],
        adds: true,
        rule: "",
    }
}

/// Each type with a in registers and in shared memory, widths, signs, and with or without the
/// accumulator.
fn types(from: [Ty; 2], acc: Ty, rule: &'static str, widths: &[usize]) {
    for (nth, &n) in widths.iter().enumerate() {
        let signs = acc != S32 && from[0] != B1;
        let plain = Case {
            rule,
            negated: [signs && nth % 2 == 1, signs && nth % 3 == 1],
            adds: nth != 1,
            ..case(n, from, acc)
        };
        check(plain, nth as u64);
        let a = From::Registers;
        check(Case { a, ..plain }, nth as u64 + 100);
    }
}

#[test]
fn halves() {
    for (from, acc) in [(F16, F32), (F16, F16), (BF16, F32)] {
        types([from; 2], acc, "", &[8, 40, 256]);
    }
}

#[test]
fn singles() {
    types([TF32; 2], F32, "", &[16, 72, 256]);
}

#[test]
fn floats_of_8_bits() {
    for from in [[E4M3, E4M3], [E5M2, E5M2], [E4M3, E5M2], [E5M2, E4M3]] {
        types(from, F32, "", &[128]);
        types(from, F16, "", &[8, 88]);
    }
}

#[test]
fn integers() {
    for from in [[S8, S8], [U8, U8], [S8, U8], [U8, S8]] {
        types(from, S32, "", &[8, 24, 208]);
    }
    types([S8, U8], S32, ".satfinite", &[48]);
    types([B1, B1], S32, ".and.popc", &[8, 32, 256]);
}

/// Every layout of both multiplicands.
#[test]
fn layouts() {
    for span in [16, 32, 64, 128] {
        for turned in 0..4 {
            let case = Case {
                a: From::Shared(span, turned % 2 == 1),
                b: From::Shared(span, turned / 2 == 1),
                ..case(128, [F16; 2], F32)
            };
            check(case, span as u64 + turned);
        }
        let along = From::Shared(span, false);
        let layout = |from: Ty, acc: Ty| Case {
            a: along,
            b: along,
            ..case(64, [from; 2], acc)
        };
        check(layout(TF32, F32), span as u64);
        check(layout(S8, S32), span as u64);
    }
}
