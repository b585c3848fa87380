//! Tests of `mma.sp`: every shape and type with random positions of the stored elements.

use super::mma::{Case, pack, sparse_body};
use super::*;

/// A sparse product: shape, types of a, b and of d and c.
#[derive(Clone, Copy, Debug)]
struct Sparse {
    shape: (usize, usize, usize),
    from: [Ty; 2],
    acc: [Ty; 2],
}

/// Positions of the stored elements of every row: for each part of a row, its four bits of
/// metadata.
struct Metadata {
    of_row: usize,
    bits: Vec<u32>,
}

impl Sparse {
    fn bits(&self) -> usize {
        self.from[0].bits
    }

    /// Elements of a row that four bits of metadata describe.
    fn described(&self) -> usize {
        match self.bits() {
            4 => 8,
            32 => 2,
            _ => 4,
        }
    }

    /// Number of lanes of every four that give metadata.
    fn lanes(&self) -> usize {
        match (self.bits(), self.shape.2) {
            (16, 16) | (32, 8) => 1,
            (8, 64) | (4, 128) => 4,
            _ => 2,
        }
    }

    /// The dense product whose fragment of a is that of the stored elements.
    fn stored(&self) -> Case {
        let (m, n, k) = self.shape;
        Case {
            shape: (m, n, k / 2),
            from: self.from,
            acc: self.acc,
            rule: "",
        }
    }

    fn name(&self, ordered: bool) -> String {
        let (m, n, k) = self.shape;
        let ([a, b], [d, c]) = (self.from, self.acc);
        let types = format!("{}.{}.{}.{}", d.name, a.name, b.name, c.name);
        let sp = if ordered {
            "sp::ordered_metadata"
        } else {
            "sp"
        };
        format!("mma.{sp}.sync.aligned.m{m}n{n}k{k}.row.col.{types}")
    }

    /// Position of the element `b_i` (PTX ISA, "Matrix fragments for sparse mma").
    fn b(&self, lane: usize, i: usize) -> (usize, usize) {
        let per = 32 / self.bits();
        let row = lane % 4 * per + i % per + i / per * 4 * per;
        (row, lane / 4)
    }

    /// Row and part of a row that a lane's metadata describe with four bits from `4 * nth` on, for
    /// a lane that gives metadata.
    fn described_by(&self, lane: usize, nth: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        match (self.bits(), self.lanes()) {
            (16 | 32, 1) => (group + nth / 4 * 8, nth % 4),
            (16 | 32, _) => (group + nth / 4 * 8, thread % 2 * 4 + nth % 4),
            (_, 2) => (group + thread % 2 * 8, nth),
            _ => (group + thread % 2 * 8, thread / 2 * 8 + nth),
        }
    }

    fn draw_metadata(&self, rng: &mut Rng) -> Metadata {
        let of_row = self.shape.2 / self.described();
        let valid: &[u32] = match self.bits() {
            32 => &[0b0100, 0b1110],
            _ => &[0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110],
        };
        let mut one = || valid[rng.below(valid.len() as u32) as usize];
        Metadata {
            of_row,
            bits: (0..16 * of_row).map(|_| one()).collect(),
        }
    }

    /// The matrix with zeros where nothing is stored.
    fn spread(&self, stored: &Matrix, metadata: &Metadata) -> Matrix {
        let described = self.described();
        let mut dense = Matrix {
            rows: 16,
            cols: self.shape.2,
            values: vec![0; 16 * self.shape.2],
        };
        for row in 0..16 {
            for part in 0..metadata.of_row {
                let bits = metadata.bits[row * metadata.of_row + part];
                let (low, high) = (bits as usize & 3, bits as usize >> 2);
                let columns = match self.bits() {
                    4 => vec![low * 2, low * 2 + 1, high * 2, high * 2 + 1],
                    32 => vec![low / 2],
                    _ => vec![low, high],
                };
                let count = columns.len();
                for (nth, column) in columns.into_iter().enumerate() {
                    let at = row * self.shape.2 + part * described + column;
                    dense.values[at] = stored.at((row, part * count + nth));
                }
            }
        }
        dense
    }
}

fn check(case: Sparse, selector: usize) {
    let (m, n, k) = case.shape;
    let mut rng = Rng::new(selector as u64 + 1);
    let metadata = case.draw_metadata(&mut rng);
    let a = Matrix::draw(m, k / 2, case.from[0], &mut rng);
    let b = Matrix::draw(k, n, case.from[1], &mut rng);
    let c = Matrix::draw(m, n, case.acc[1], &mut rng);
    let elements = [m * k / 64, k * n / 32, m * n / 32];
    let sizes = [case.from[0].bits, case.from[1].bits, case.acc[1].bits];
    let [pa, pb, pc] = [0, 1, 2].map(|p| (elements[p], sizes[p]));
    let stored = case.stored();
    let gives = |lane: usize| lane % 4 / case.lanes() == selector;
    let input = pack(&[pa, pb, pc, (8, 4)], |part, lane, i| match part {
        0 => case.from[0].bits_of(a.at(stored.a(lane, i))),
        1 => case.from[1].bits_of(b.at(case.b(lane, i))),
        2 => case.acc[1].bits_of(c.at(Case::c(lane, i))),
        _ if gives(lane) => {
            let (row, part) = case.described_by(lane, i);
            metadata.bits[row * metadata.of_row + part].into()
        }
        // Other lanes' registers have no effect.
        _ => (lane + i) as u64 & 15,
    });
    let wanted = expected(&case.spread(&a, &metadata), &b, &c, |a, b| a * b);
    let name = case.name(selector == 0);
    let text = sparse_body(&name, case.from[0], case.acc, elements, Some(selector));
    let per_lane = elements[2] * case.acc[0].bits / 32;
    let output = run(&text, &input, 32 * per_lane);
    for lane in 0..32 {
        for i in 0..elements[2] {
            let found = get(&output[lane * per_lane..], case.acc[0].bits, i);
            let wanted = wanted.at(Case::c(lane, i));
            let bits = case.acc[0].bits_of(wanted);
            assert_eq!(
                found, bits,
                "{name}, {selector}: lane {lane}, d{i}: {wanted}"
            );
        }
    }
}

fn all(shapes: &[(usize, usize, usize)], from: [Ty; 2], acc: [Ty; 2]) {
    for &shape in shapes {
        let case = Sparse { shape, from, acc };
        (0..4 / case.lanes()).for_each(|selector| check(case, selector));
    }
}

#[test]
fn halves_and_singles() {
    for acc in [[F32, F32], [F16, F16]] {
        all(&[(16, 8, 16), (16, 8, 32)], [F16; 2], acc);
    }
    all(&[(16, 8, 16), (16, 8, 32)], [BF16; 2], [F32; 2]);
    all(&[(16, 8, 8), (16, 8, 16)], [TF32; 2], [F32; 2]);
}

#[test]
fn integers_and_floats_of_8_bits() {
    for from in [[S8, S8], [U8, U8], [S8, U8], [U8, S8]] {
        all(&[(16, 8, 32), (16, 8, 64)], from, [S32; 2]);
    }
    for from in [[S4, S4], [U4, U4], [S4, U4], [U4, S4]] {
        all(&[(16, 8, 64), (16, 8, 128)], from, [S32; 2]);
    }
    for from in [[E4M3, E4M3], [E5M2, E5M2], [E4M3, E5M2], [E5M2, E4M3]] {
        all(&[(16, 8, 64)], from, [F32; 2]);
    }
}

/// An element that is not stored is not multiplied: an infinity of b there makes no NaN.
#[test]
fn what_is_not_stored_meets_no_infinity() {
    const INFINITY: u64 = 0x7c00;
    let case = Sparse {
        shape: (16, 8, 16),
        from: [F16; 2],
        acc: [F32; 2],
    };
    // The first two of every four elements are stored; b is infinite in the rows of the others.
    let input = pack(
        &[(4, 16), (4, 16), (4, 32), (1, 32)],
        |part, lane, i| match part {
            0 => F16.bits_of(1),
            1 if case.b(lane, i).0 % 4 >= 2 => INFINITY,
            1 => F16.bits_of(2),
            2 => F32.bits_of(3),
            _ => 0x4444_4444,
        },
    );
    let text = sparse_body(&case.name(true), F16, [F32; 2], [4, 4, 4], Some(0));
    let output = run(&text, &input, 128);
    assert!(output.iter().all(|d| f32::from_bits(*d) == 8.0 * 2.0 + 3.0));
}
