//! The XORWOW generator (Marsaglia, "Xorshift RNGs", 2003) with cuRAND's seeding: a linear map of
//! 160 bits and a counter.

const WORDS: usize = 5;
const BITS: usize = 32 * WORDS;
/// Distance between the generators of neighbouring threads, as a power of two. It is a multiple of
/// the counter's period.
const LOG_APART: u32 = 67;
/// Number of matrices, one for every two bits of a thread's number.
const POWERS: usize = 32;

type Vector = [u32; WORDS];

/// A linear map, as the image of each bit.
#[derive(Clone, PartialEq, Debug)]
struct Matrix(Vec<Vector>);

impl Matrix {
    /// Map of a single step.
    fn step() -> Self {
        let unit = |bit: usize| {
            let mut vector = [0; WORDS];
            vector[bit / 32] = 1 << (bit % 32);
            stepped(vector)
        };
        Self((0..BITS).map(unit).collect())
    }

    fn times(&self, vector: Vector) -> Vector {
        let mut result = [0; WORDS];
        for (bit, row) in self.0.iter().enumerate() {
            if vector[bit / 32] >> (bit % 32) & 1 == 1 {
                (0..WORDS).for_each(|i| result[i] ^= row[i]);
            }
        }
        result
    }

    fn squared(&self) -> Self {
        Self(self.0.iter().map(|&row| self.times(row)).collect())
    }
}

fn stepped([a, b, c, d, e]: Vector) -> Vector {
    let t = a ^ (a >> 2);
    [b, c, d, e, (e ^ (e << 4)) ^ (t ^ (t << 1))]
}

/// Maps of 4^i times 2^67 steps.
pub(super) struct Jumps(Vec<Matrix>);

impl Jumps {
    pub(super) fn new() -> Self {
        let mut matrix = Matrix::step();
        for _ in 0..LOG_APART {
            matrix = matrix.squared();
        }
        let mut jumps = vec![matrix];
        while jumps.len() < POWERS {
            let last = &jumps[jumps.len() - 1];
            jumps.push(last.squared().squared());
        }
        Self(jumps)
    }

    /// All matrices, row by row, as the kernel reads them.
    pub(super) fn words(&self) -> Vec<u32> {
        let rows = self.0.iter().flat_map(|matrix| &matrix.0);
        rows.flatten().copied().collect()
    }
}

/// Generator of a thread.
pub(super) struct Generator {
    weyl: u32,
    v: Vector,
}

impl Generator {
    /// Number of words in memory: the counter, the vector, and space for normal variates.
    pub(super) const WORDS: usize = 12;

    pub(super) fn new(seed: u32, thread: u32, jumps: &Jumps) -> Self {
        let t0 = (seed ^ 0x2c7f_967f).wrapping_mul(1_228_688_033);
        let t1 = 0xa036_97cb_u32.wrapping_mul(2_073_658_381);
        let mut v = [
            t0.wrapping_add(123_456_789),
            t0 ^ 362_436_069,
            t1.wrapping_add(521_288_629),
            t1 ^ 88_675_123,
            t0.wrapping_add(5_783_321),
        ];
        for (power, jump) in jumps.0.iter().take(16).enumerate() {
            for _ in 0..thread >> (2 * power) & 3 {
                v = jump.times(v);
            }
        }
        let weyl = t0.wrapping_add(t1).wrapping_add(6_615_241);
        Self { weyl, v }
    }

    pub(super) fn words(&self) -> [u32; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = self.weyl;
        words[1..=WORDS].copy_from_slice(&self.v);
        words
    }

    /// A uniform number in (0, 1].
    fn uniform(&mut self) -> f32 {
        const STEP: f32 = 1.0 / (1u64 << 32) as f32;
        self.v = stepped(self.v);
        self.weyl = self.weyl.wrapping_add(362_437);
        (self.v[4].wrapping_add(self.weyl) as f32).mul_add(STEP, STEP / 2.0)
    }

    /// Throws a dart at a square. Returns whether it hits the quarter of a circle.
    pub(super) fn hits(&mut self) -> bool {
        let (x, y) = (self.uniform(), self.uniform());
        x.mul_add(x, y * y) < 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_the_matrix_are_steps() {
        let step = Matrix::step();
        let start = [1, 2, 3, 4, 5];
        let four = (0..4).fold(start, |vector, _| stepped(vector));
        assert_eq!(step.squared().squared().times(start), four);
    }

    #[test]
    fn jumps_add_up() {
        let jumps = Jumps::new();
        let v = Generator::new(1, 0, &jumps).v;
        let four = (0..4).fold(v, |v, _| jumps.0[0].times(v));
        assert_eq!(jumps.0[1].times(v), four);
        assert_eq!(Generator::new(1, 4, &jumps).v, four);
    }

    #[test]
    fn numbers_are_those_of_marsaglias_recurrence() {
        // The published seeds: x, y, z, w, v and the counter d.
        let mut generator = Generator {
            weyl: 6_615_241,
            v: [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321],
        };
        let t = 123_456_789u32 ^ (123_456_789 >> 2);
        let v = (5_783_321u32 ^ (5_783_321 << 4)) ^ (t ^ (t << 1));
        let sum = v.wrapping_add(6_615_241 + 362_437);
        assert_eq!(
            generator.uniform(),
            (f64::from(sum) / 4_294_967_296.0) as f32
        );
    }
}
