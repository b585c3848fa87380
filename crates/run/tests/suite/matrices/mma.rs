//! Tests of `mma`: fragments as the PTX ISA defines them, shape by shape.

use super::*;
use half::f16;

/// A product: shape, types of a, b and of d and c.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) shape: (usize, usize, usize),
    pub(super) from: [Ty; 2],
    pub(super) acc: [Ty; 2],
    /// Modifier after the types.
    pub(super) rule: &'static str,
}

impl Case {
    fn name(&self) -> String {
        let (m, n, k) = self.shape;
        let ([a, b], [d, c]) = (self.from, self.acc);
        let types = format!("{}.{}.{}.{}", d.name, a.name, b.name, c.name);
        format!("mma.sync.aligned.m{m}n{n}k{k}.row.col.{types}{}", self.rule)
    }

    /// Position of `a_i` according to the PTX ISA, "Matrix Fragments for mma".
    pub(super) fn a(&self, lane: usize, i: usize) -> (usize, usize) {
        let (g, t) = (lane >> 2, lane % 4);
        let lower = |low: bool| if low { g } else { g + 8 };
        match (self.shape.0, self.shape.2, self.from[0].bits) {
            (16, 8, 16) => (lower(i < 2), t * 2 + (i & 1)),
            (16, 16, 16) => {
                let col = t * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
                (lower(i < 2 || (4..6).contains(&i)), col)
            }
            (16, 4, 32 | 64) => (lower(i == 0), t),
            (16, 8, 32 | 64) => (lower(i == 0 || i == 2), if i < 2 { t } else { t + 4 }),
            (8, 4, 64) => (g, t),
            (16, 16, 64) if i & 1 == 0 => (g, i * 2 + t),
            (16, 16, 64) => (g + 8, i * 2 - 2 + t),
            (8, 16, 8) => (g, t * 4 + i),
            (16, 16, 8) => (lower(i < 4), t * 4 + (i & 3)),
            (16, 32, 8) => {
                let col = t * 4 + (i & 3) + if i >= 8 { 16 } else { 0 };
                (lower(i < 4 || (8..12).contains(&i)), col)
            }
            (8, 32, 4) => (g, t * 8 + i),
            (16, 32, 4) => (lower(i < 8), t * 8 + (i & 7)),
            (16, 64, 4) => {
                let col = t * 8 + (i & 7) + if i >= 16 { 32 } else { 0 };
                (lower(i < 8 || (16..24).contains(&i)), col)
            }
            (8, 128, 1) => (g, t * 32 + i),
            (16, 128, 1) => (lower(i < 32), t * 32 + (i & 31)),
            (16, 256, 1) => {
                let col = t * 32 + (i & 31) + if i >= 64 { 128 } else { 0 };
                (lower(i < 32 || (64..96).contains(&i)), col)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Position of the element `b_i`.
    pub(super) fn b(&self, lane: usize, i: usize) -> (usize, usize) {
        let (g, t) = (lane >> 2, lane % 4);
        let upper = |high: bool, by: usize| if high { by } else { 0 };
        let row = match (self.shape.2, self.from[0].bits) {
            (8 | 16, 16) => t * 2 + (i & 1) + upper(i >= 2, 8),
            (4, 32 | 64) => t,
            (8, 32 | 64) => t + upper(i == 1, 4),
            (16, 64) => t + i * 4,
            (16 | 32, 8) => t * 4 + (i & 3) + upper(i >= 4, 16),
            (32 | 64, 4) => t * 8 + (i & 7) + upper(i >= 8, 32),
            (128 | 256, 1) => t * 32 + (i & 31) + upper(i >= 32, 128),
            other => panic!("{other:?}"),
        };
        (row, g)
    }

    /// Position of the elements `c_i` and `d_i`.
    pub(super) fn c(lane: usize, i: usize) -> (usize, usize) {
        let (g, t) = (lane >> 2, lane % 4);
        (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
    }
}

/// Number of a lane's registers, of 32 or 64 bits.
fn registers(elements: usize, ty: Ty) -> usize {
    elements * ty.bits / ty.bits.max(32)
}

fn move_registers(op: &str, ty: Ty, first: usize, count: usize, address: &str) -> String {
    let (suffix, name, bytes) = if ty.bits == 64 {
        ("f64", "%d", 8)
    } else {
        ("b32", "%r", 4)
    };
    let line = |nth: usize| {
        let (register, place) = (format!("{name}{}", first + nth), nth * bytes);
        match op {
            "ld" => format!("ld.global.{suffix} {register}, [{address}+{place}];\n"),
            _ => format!("st.global.{suffix} [{address}+{place}], {register};\n"),
        }
    };
    (0..count).map(line).collect()
}

/// Text of a kernel in which every lane loads its fragments, multiplies them and stores its result.
fn body(name: &str, from: Ty, acc: [Ty; 2], elements: [usize; 3]) -> String {
    sparse_body(name, from, acc, elements, None)
}

/// The same with a sparse a, whose metadata follow c in memory and come from selected lanes.
pub(super) fn sparse_body(
    name: &str,
    from: Ty,
    acc: [Ty; 2],
    [a, b, c]: [usize; 3],
    selector: Option<usize>,
) -> String {
    let metadata = selector.map_or(0, |_| 4);
    let counts = [registers(a, from), registers(b, from), registers(c, acc[1])];
    let bytes = |ty: Ty| ty.bits.max(32) / 8;
    let sizes = [
        counts[0] * bytes(from),
        counts[1] * bytes(from),
        counts[2] * bytes(acc[1]),
    ];
    let results = registers(c, acc[0]);
    let mut text = format!(
        "mov.u32 %r63, %tid.x;\n\
         mul.wide.u32 %rd3, %r63, {};\nadd.s64 %rd1, %rd1, %rd3;\n\
         mul.wide.u32 %rd3, %r63, {};\nadd.s64 %rd2, %rd2, %rd3;\n",
        sizes.iter().sum::<usize>() + metadata,
        results * bytes(acc[0]),
    );
    let mut lists = Vec::new();
    let (mut first, mut at) = (0, 0);
    for ((count, size), ty) in counts.into_iter().zip(sizes).zip([from, from, acc[1]]) {
        text += &move_registers("ld", ty, first, count, "%rd1");
        text += &format!("add.s64 %rd1, %rd1, {size};\n");
        lists.push(list(if ty.bits == 64 { "%d" } else { "%r" }, first, count));
        first += count;
        at += size;
    }
    assert!(at > 0 && first < 40);
    if let Some(selector) = selector {
        text += "ld.global.b32 %r62, [%rd1];\n";
        lists.push(format!("%r62, {selector}"));
    }
    let d = list(if acc[0].bits == 64 { "%d" } else { "%r" }, 40, results);
    text += &format!("{name} {d}, {};\n", lists.join(", "));
    text + &move_registers("st", acc[0], 40, results, "%rd2")
}

/// Packs the elements of all lanes, `bits(part, lane, i)` of each part, one lane after the other.
pub(super) fn pack(
    parts: &[(usize, usize)],
    bits: impl Fn(usize, usize, usize) -> u64,
) -> Vec<u32> {
    let mut words = Vec::new();
    for lane in 0..32 {
        for (part, &(elements, size)) in parts.iter().enumerate() {
            let mut own = vec![0; elements * size / 32];
            for i in 0..elements {
                put(&mut own, size, i, bits(part, lane, i));
            }
            words.extend(own);
        }
    }
    words
}

fn check(case: Case) {
    let (m, n, k) = case.shape;
    let mut rng = Rng::new(1);
    let a = Matrix::draw(m, k, case.from[0], &mut rng);
    let b = Matrix::draw(k, n, case.from[1], &mut rng);
    let c = Matrix::draw(m, n, case.acc[1], &mut rng);
    let elements = [m * k / 32, k * n / 32, m * n / 32];
    let sizes = [case.from[0].bits, case.from[1].bits, case.acc[1].bits];
    let parts = [0, 1, 2].map(|p| (elements[p], sizes[p]));
    let input = pack(&parts, |part, lane, i| match part {
        0 => case.from[0].bits_of(a.at(case.a(lane, i))),
        1 => case.from[1].bits_of(b.at(case.b(lane, i))),
        _ => case.acc[1].bits_of(c.at(Case::c(lane, i))),
    });
    let product: fn(i32, i32) -> i32 = match case.rule {
        ".xor.popc" => |a, b| a ^ b,
        ".and.popc" => |a, b| a & b,
        _ => |a, b| a * b,
    };
    let wanted = expected(&a, &b, &c, product);
    let name = case.name();
    let text = body(&name, case.from[0], case.acc, elements);
    let per_lane = elements[2] * case.acc[0].bits / 32;
    let output = run(&text, &input, 32 * per_lane);
    for lane in 0..32 {
        for i in 0..elements[2] {
            let found = get(&output[lane * per_lane..], case.acc[0].bits, i);
            let wanted = wanted.at(Case::c(lane, i));
            assert_eq!(
                found,
                case.acc[0].bits_of(wanted),
                "{name}: lane {lane}, d{i}: {wanted}"
            );
        }
    }
}

fn all(shapes: &[(usize, usize, usize)], from: [Ty; 2], acc: [Ty; 2], rule: &'static str) {
    for &shape in shapes {
        check(Case {
            shape,
            from,
            acc,
            rule,
        });
    }
}

#[test]
fn halves() {
    for acc in [[F32, F32], [F16, F16], [F32, F16], [F16, F32]] {
        all(&[(16, 8, 8), (16, 8, 16)], [F16; 2], acc, "");
    }
    all(&[(16, 8, 8), (16, 8, 16)], [BF16; 2], [F32; 2], "");
}

#[test]
fn singles_and_doubles() {
    all(&[(16, 8, 4), (16, 8, 8)], [TF32; 2], [F32; 2], "");
    let shapes = [(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)];
    all(&shapes, [F64; 2], [F64; 2], "");
}

#[test]
fn integers() {
    for from in [[S8, S8], [U8, U8], [S8, U8], [U8, S8]] {
        let shapes = [(8, 8, 16), (16, 8, 16), (16, 8, 32)];
        all(&shapes, from, [S32; 2], "");
    }
    for from in [[S4, S4], [U4, U4], [S4, U4], [U4, S4]] {
        let shapes = [(8, 8, 32), (16, 8, 32), (16, 8, 64)];
        all(&shapes, from, [S32; 2], "");
    }
    let shapes = [(8, 8, 128), (16, 8, 128), (16, 8, 256)];
    all(&shapes, [B1; 2], [S32; 2], ".xor.popc");
    all(&shapes, [B1; 2], [S32; 2], ".and.popc");
}

#[test]
fn floats_of_8_bits() {
    for from in [[E4M3, E4M3], [E5M2, E5M2], [E4M3, E5M2], [E5M2, E4M3]] {
        for acc in [F32, F16] {
            all(&[(16, 8, 16), (16, 8, 32)], from, [acc; 2], "");
        }
    }
}

/// Four independent products, with either order of either multiplicand.
#[test]
fn four_small_products() {
    for (columns_a, columns_b, acc) in [
        (false, true, F32),
        (false, false, F32),
        (true, true, F16),
        (true, false, F16),
    ] {
        four(columns_a, columns_b, acc);
    }
}

fn four(columns_a: bool, columns_b: bool, acc: Ty) {
    let mut rng = Rng::new(2);
    let mut draw = |rows, cols, ty| [(); 4].map(|()| Matrix::draw(rows, cols, ty, &mut rng));
    let (a, b, c) = (draw(8, 4, F16), draw(4, 8, F16), draw(8, 8, acc));
    let part = |lane: usize| lane % 16 / 4;
    let low = |lane: usize| lane % 4 + if lane < 16 { 0 } else { 4 };
    let high = |lane: usize| if lane < 16 { 0 } else { 4 };
    let place_c = |lane: usize, i: usize| match acc {
        F16 => (low(lane), i),
        _ => {
            let row = (lane & 1) + (i & 2) + high(lane);
            (row, (i & 4) + (lane & 2) + (i & 1))
        }
    };
    let bits = |of: usize, lane: usize, i: usize| match of {
        0 if columns_a => F16.bits_of(a[part(lane)].at((i + high(lane), lane % 4))),
        0 => F16.bits_of(a[part(lane)].at((low(lane), i))),
        1 if columns_b => F16.bits_of(b[part(lane)].at((i, low(lane)))),
        1 => F16.bits_of(b[part(lane)].at((lane % 4, i + high(lane)))),
        _ => acc.bits_of(c[part(lane)].at(place_c(lane, i))),
    };
    let input = pack(&[(4, 16), (4, 16), (8, acc.bits)], bits);
    let order = |columns: bool| if columns { "col" } else { "row" };
    let name = format!(
        "mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{}",
        order(columns_a),
        order(columns_b),
        acc.name,
        acc.name
    );
    let per_lane = 8 * acc.bits / 32;
    let output = run(
        &body(&name, F16, [acc; 2], [4, 4, 8]),
        &input,
        32 * per_lane,
    );
    let multiply = |p: usize| expected(&a[p], &b[p], &c[p], |a, b| a * b);
    let wanted = [0, 1, 2, 3].map(multiply);
    for lane in 0..32 {
        for i in 0..8 {
            let found = get(&output[lane * per_lane..], acc.bits, i);
            let value = wanted[part(lane)].at(place_c(lane, i));
            assert_eq!(
                found,
                acc.bits_of(value),
                "{name}: lane {lane}, d{i}: {value}"
            );
        }
    }
}

/// Products are added in the order of k, each rounded to f32; halves are rounded at the end.
#[test]
fn sums_are_rounded_in_order() {
    let case = |acc: Ty| Case {
        shape: (16, 8, 16),
        from: [F16; 2],
        acc: [acc; 2],
        rule: "",
    };
    for acc in [F32, F16] {
        let case = case(acc);
        let mut rng = Rng::new(3);
        let mut draw = |count: usize| -> Vec<f16> {
            let mut one = || f16::from_f32((rng.unit_f32() - 0.5) * 8.0);
            (0..count).map(|_| one()).collect()
        };
        let (a, b, c) = (draw(256), draw(128), draw(128));
        let start = |at: usize| c[at].to_f32() * if acc == F32 { 1000.1 } else { 1.0 };
        let input = pack(&[(8, 16), (4, 16), (4, acc.bits)], |part, lane, i| {
            let (row, col) = match part {
                0 => case.a(lane, i),
                1 => case.b(lane, i),
                _ => Case::c(lane, i),
            };
            match part {
                0 => a[row * 16 + col].to_bits().into(),
                1 => b[row * 8 + col].to_bits().into(),
                _ if acc == F32 => start(row * 8 + col).to_bits().into(),
                _ => c[row * 8 + col].to_bits().into(),
            }
        });
        let text = body(&case.name(), F16, [acc; 2], [8, 4, 4]);
        let per_lane = 4 * acc.bits / 32;
        let output = run(&text, &input, 32 * per_lane);
        let mut inexact = 0;
        for lane in 0..32 {
            for i in 0..4 {
                let (row, col) = Case::c(lane, i);
                let mut sum = start(row * 8 + col);
                let mut exact = f64::from(sum);
                for k in 0..16 {
                    let (x, y) = (a[row * 16 + k].to_f32(), b[k * 8 + col].to_f32());
                    sum = x.mul_add(y, sum);
                    exact += f64::from(x) * f64::from(y);
                }
                inexact += usize::from(f64::from(sum) != exact);
                let wanted = match acc {
                    F16 => f16::from_f32(sum).to_bits().into(),
                    _ => u64::from(sum.to_bits()),
                };
                assert_eq!(get(&output[lane * per_lane..], acc.bits, i), wanted);
            }
        }
        assert!(inexact > 32 || acc == F16, "the values must need rounding");
    }
}

/// The low bits of tf32 operands have no effect, and neither do adjacent bits.
#[test]
fn low_bits_of_tf32_do_not_count() {
    let text = body(
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
        TF32,
        [F32; 2],
        [2, 1, 4],
    );
    let input = pack(&[(2, 32), (1, 32), (4, 32)], |part, _, _| match part {
        0 => 0x3f80_1fff,
        1 => 0x4000_1000,
        _ => 0x3f80_0000,
    });
    let output = run(&text, &input, 128);
    assert!(output.iter().all(|d| f32::from_bits(*d) == 4.0 * 2.0 + 1.0));
}

/// Sums beyond 32 bits wrap, or saturate if the instruction says so.
#[test]
fn integers_wrap_or_stop() {
    for (sat, wanted) in [("", i32::MIN + 16 * 4 - 2), (".satfinite", i32::MAX)] {
        let name = format!("mma.sync.aligned.m8n8k16.row.col{sat}.s32.s8.s8.s32");
        let input = pack(&[(4, 8), (4, 8), (2, 32)], |part, _, _| match part {
            2 => i32::MAX as u64 - 1,
            _ => 2,
        });
        let output = run(&body(&name, S8, [S32; 2], [4, 4, 2]), &input, 64);
        assert!(output.iter().all(|d| *d as i32 == wanted), "{name}");
    }
}
