//! Operands of cases: values that often cause errors, all pairs of them where that is possible, and
//! random ones. The form's name determines them, so that every run on every machine uses the same.

use warploom_base::{Digest, Rng};
use warploom_ptx::tokens::ScalarType;

use super::case::{Case, Given, TUPLES};
use super::format::Format;

/// Largest number of tuples that are pairs of special values; the others are random.
const PAIRS: usize = TUPLES * 3 / 4;
/// Number of lanes in a warp.
const WARP: usize = 32;

/// Bytes of all operands of a case, one operand after the other, with 64 bits for each thread.
pub fn bytes(case: &Case) -> Vec<u8> {
    let columns = columns(case);
    let mut bytes = Vec::with_capacity(8 * TUPLES * columns.len());
    for value in columns.iter().flatten() {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

fn columns(case: &Case) -> Vec<Vec<u64>> {
    let mut rng = Rng::new(Digest::new().str(&case.name).finish());
    let special: Vec<Vec<u64>> = case.inputs.iter().map(|&given| special(given)).collect();
    let mut columns = vec![Vec::with_capacity(TUPLES); case.inputs.len()];
    for thread in 0..TUPLES {
        let tuple = tuple(&case.inputs, &special, thread, &mut rng);
        for (column, value) in columns.iter_mut().zip(tuple) {
            column.push(value);
        }
    }
    for (column, &given) in columns.iter_mut().zip(&case.inputs) {
        by_warp(column, given, &mut rng);
    }
    columns
}

/// Operands of one thread.
fn tuple(inputs: &[Given], special: &[Vec<u64>], thread: usize, rng: &mut Rng) -> Vec<u64> {
    let product: usize = special.iter().map(Vec::len).product();
    if thread < product && product <= PAIRS {
        return digits(special, thread);
    }
    let one_in = if thread < TUPLES / 2 && product > PAIRS {
        1
    } else {
        4
    };
    let mut values: Vec<u64> = Vec::with_capacity(inputs.len());
    for (&given, special) in inputs.iter().zip(special) {
        let value = match rng.below(one_in) {
            0 => special[rng.below(special.len() as u32) as usize],
            1 if inputs[0] == given && !values.is_empty() && !is_small(given) => {
                near(given, values[0], rng)
            }
            _ => random(given, rng),
        };
        values.push(value);
    }
    values
}

/// Chooses one value of each list by the digits of the thread's number.
fn digits(special: &[Vec<u64>], mut thread: usize) -> Vec<u64> {
    let mut digit = |list: &Vec<u64>| {
        let value = list[thread % list.len()];
        thread /= list.len();
        value
    };
    special.iter().map(&mut digit).collect()
}

/// True for kinds that contain only small integers, which have no neighbours.
fn is_small(given: Given) -> bool {
    matches!(given, Given::Small(_))
}

/// A value that differs little or not at all from another value of its type.
fn near(given: Given, other: u64, rng: &mut Rng) -> u64 {
    let bits = given.ty().bits().clamp(1, 64);
    let step = rng.below(3) as u64;
    let moved = match rng.below(3) {
        0 => other.wrapping_add(step),
        1 => other.wrapping_sub(step),
        _ => other ^ 1 << (bits - 1),
    };
    moved & (u64::MAX >> (64 - bits))
}

/// Changes a column so that the values of a warp's lanes depend on each other.
fn by_warp(column: &mut [u64], given: Given, rng: &mut Rng) {
    for (number, warp) in column.chunks_mut(WARP).enumerate() {
        match (given, number % 4) {
            (Given::Vote, 0) => warp.fill(0),
            (Given::Vote, 1) => warp.fill(1),
            (Given::Vote, 2) => {
                let common = u64::from(rng.below(2));
                warp.fill(common);
                warp[rng.below(WARP as u32) as usize] ^= 1;
            }
            (Given::Few(_), kinds) => {
                let few: Vec<u64> = warp[..=kinds].to_vec();
                for value in warp {
                    *value = few[rng.below(few.len() as u32) as usize];
                }
            }
            _ => {}
        }
    }
}

impl Format {
    /// Bits of 2^power, if the format has it as a normal number.
    fn power(self, power: i64) -> Option<u64> {
        let exponent = self.bias() as i64 + power;
        (exponent > 0 && exponent < (1 << self.exponent) - 1)
            .then_some((exponent as u64) << self.mantissa)
    }

    /// Values for which rounding, comparison and conversion often fail.
    fn special(self) -> Vec<u64> {
        let (infinity, sign) = (self.infinity(), self.sign());
        let one = self.bias() << self.mantissa;
        let quarter = 1 << (self.mantissa - 2);
        let quiet = infinity | 1 << (self.mantissa - 1);
        let mut list = vec![0, sign, one, one | sign];
        list.extend([
            one - 1,
            one + 1,
            one + 2 * quarter,
            one - (1 << self.mantissa),
        ]);
        list.extend([1, sign | 1, (1 << self.mantissa) - 1, 1 << self.mantissa]);
        list.extend([
            infinity - 1,
            sign | (infinity - 1),
            infinity,
            sign | infinity,
        ]);
        list.extend([
            quiet,
            sign | quiet | 5,
            infinity | 1,
            sign | infinity | quarter,
        ]);
        // The value 2.5, and integers close to the limits of the integer types.
        list.extend(self.power(1).map(|two| two + quarter));
        let powers = [
            7,
            8,
            15,
            16,
            31,
            32,
            63,
            64,
            i64::from(self.mantissa),
            -14,
            -24,
            -25,
        ];
        for bits in powers.into_iter().filter_map(|power| self.power(power)) {
            list.extend([bits, sign | (bits + 1)]);
        }
        list
    }

    /// A random number: any bits, any exponent, an exponent near zero, or few significant bits so
    /// that results are ties.
    fn random(self, rng: &mut Rng) -> u64 {
        let mask = (1 << self.mantissa) - 1;
        let bits = rng.next_u64() & self.mask();
        let sign = bits & self.sign();
        let near = u64::from(rng.below(80).min((2 * self.bias() - 2) as u32 - 1));
        let around = (self.bias() + near).saturating_sub(40).max(1);
        let around = around.min(2 * self.bias()) << self.mantissa;
        let keep = rng.below(self.mantissa + 1);
        let short = bits & mask & !(mask >> keep);
        match rng.below(8) {
            0 => bits,
            1 => sign | (bits & mask) >> rng.below(self.mantissa),
            2 | 3 => sign | around | (bits & mask),
            4 => sign | around | short.wrapping_sub(1) & mask,
            5 => sign | around | short | 1,
            _ => sign | around | short,
        }
    }
}

/// Special values of a kind of operand.
fn special(given: Given) -> Vec<u64> {
    match given {
        Given::Value(ty) | Given::Few(ty) => special_of_type(ty),
        Given::Small(ty) => [0, 1, -1, 2, 8].map(|value| whole(ty, value, 1)).to_vec(),
        Given::Count => vec![
            0,
            1,
            2,
            4,
            5,
            7,
            8,
            15,
            16,
            23,
            24,
            30,
            31,
            32,
            33,
            48,
            63,
            64,
            65,
            128,
            255,
            256,
            257,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffe0,
            0xffff_ffff,
        ],
        Given::Lane => vec![0, 1, 15, 16, 31],
        Given::HalfLane => vec![0, 1, 8, 15],
        Given::Offset => [0, 1, -1, 2, -2, 31, -31, 32, -32].map(word).to_vec(),
        Given::Predicate | Given::Bit | Given::Vote => vec![0, 1],
        Given::Clamp => vec![0, 0x1f, 0x1c00, 0x1c1f, 0x101f, 0x1e01, 0x1f1f],
        Given::HalfClamp => vec![0x1000, 0x101f, 0x1c00, 0x1c1f, 0x1e01, 0x1f1f],
    }
}

/// Integers in a floating-point type. The second one is for the upper half of a pair.
fn whole(ty: ScalarType, value: i64, upper: i64) -> u64 {
    match Format::of(ty) {
        Some((format, 1)) => format.integer(value),
        Some((format, _)) => format.integer(upper) << 16 | format.integer(value),
        None => 0,
    }
}

/// Bits of a 32-bit integer.
fn word(value: i32) -> u64 {
    u64::from(value as u32)
}

fn special_of_type(ty: ScalarType) -> Vec<u64> {
    let bits = ty.bits();
    match (Format::of(ty), bits) {
        (Some((format, _)), 32) if ty != ScalarType::F32 => pairs(&format.special()),
        (Some((format, _)), _) => format.special(),
        _ if matches!(ty, ScalarType::U16x2 | ScalarType::S16x2) => pairs(&special_integers(16)),
        _ => special_integers(bits),
    }
}

/// Pairs of each value with another value in the upper half.
fn pairs(halves: &[u64]) -> Vec<u64> {
    let upper = |k: usize| halves[(7 * k + 3) % halves.len()];
    let pair = |(k, &lower): (usize, &u64)| upper(k) << 16 | lower;
    halves.iter().enumerate().map(pair).collect()
}

fn special_integers(bits: u32) -> Vec<u64> {
    let top = 1_u64 << (bits - 1);
    let all = u64::MAX >> (64 - bits);
    let mut list = vec![
        0,
        1,
        2,
        3,
        7,
        10,
        all,
        all - 1,
        all - 6,
        top,
        top - 1,
        top + 1,
    ];
    list.extend([top / 2, all / 3, all / 3 * 2, 0x80, 0x7f, 0xff]);
    if bits > 16 {
        list.extend([
            0x7fff,
            0x8000,
            0xffff,
            0x0001_0000,
            0x00ff_ffff,
            0x0100_0000,
        ]);
        list.extend([
            0x1234_5678,
            0x00ff_00ff,
            0x8080_8080,
            all - 0x7fff,
            all - 0x7f,
        ]);
    }
    if bits > 32 {
        list.extend([
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            1 << 53,
            (1 << 53) + 1,
        ]);
        list.extend([all << 31, 0x7fff_ffff_ffff_fc00, 0xffff_ffff_ffff_fbff]);
    }
    list
}

fn random(given: Given, rng: &mut Rng) -> u64 {
    match given {
        Given::Value(ty) | Given::Few(ty) => random_of_type(ty, rng),
        Given::Small(ty) => {
            let mut any = || i64::from(rng.below(17)) - 8;
            whole(ty, any(), any())
        }
        Given::Count if rng.below(8) == 0 => u64::from(rng.next_u32()),
        Given::Count => u64::from(rng.below(70)),
        Given::Lane => u64::from(rng.below(32)),
        Given::HalfLane => u64::from(rng.below(16)),
        Given::Offset => word(rng.below(81) as i32 - 40),
        Given::Predicate | Given::Bit | Given::Vote => u64::from(rng.below(2)),
        Given::Clamp => u64::from(rng.below(32) << 8 | rng.below(32)),
        Given::HalfClamp => u64::from((rng.below(16) | 16) << 8 | rng.below(32)),
    }
}

fn random_of_type(ty: ScalarType, rng: &mut Rng) -> u64 {
    let bits = ty.bits();
    match (Format::of(ty), bits) {
        (Some((format, _)), 32) if ty != ScalarType::F32 => {
            format.random(rng) << 16 | format.random(rng)
        }
        (Some((format, _)), _) => format.random(rng),
        _ => random_integer(bits, rng),
    }
}

/// A random integer with a random number of significant bits and either sign. A type that is
/// narrower than its register has random bits above it.
fn random_integer(bits: u32, rng: &mut Rng) -> u64 {
    let value = rng.next_u64() >> rng.below(bits);
    let value = if rng.below(2) == 0 { value } else { !value };
    value & (u64::MAX >> (64 - bits.max(32)))
}
