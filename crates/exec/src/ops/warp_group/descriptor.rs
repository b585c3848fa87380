//! Descriptors of matrices in shared memory (PTX ISA, "Matrix Descriptor Format" and "Strides").
//!
//! A matrix consists of chunks of 16 bytes. Along the depth, eight rows of one, two, four or eight
//! chunks form an atom, whose chunks the swizzle permutes.

use crate::ops::swizzle::{CHUNK, Swizzle};

/// Rows of an atom.
const ROWS: usize = 8;

/// Decoded descriptor. Addresses and offsets count in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Row of 128 bytes in which the pattern of the swizzle begins.
    base: u64,
    swizzle: Swizzle,
}

impl Descriptor {
    /// Decodes the bits of a descriptor.
    pub fn new(bits: u64) -> Self {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let span = match bits >> 62 {
            0 => CHUNK as u64,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: bits >> 49 & 7,
            swizzle: Swizzle::of_span(span),
        }
    }

    /// Address of a chunk of a matrix whose rows follow the depth: that of row `row`, and of part
    /// `part` of the depth.
    #[inline(always)]
    pub fn along(&self, row: usize, part: usize) -> u64 {
        let span = self.swizzle.span();
        let apart = match span == CHUNK as u64 {
            true => self.leading,
            false => CHUNK as u64,
        };
        let in_atom = (row % ROWS) as u64 * span + part as u64 * apart;
        self.at((row / ROWS) as u64 * self.stride + in_atom)
    }

    /// Address of a chunk of a matrix whose rows follow the other dimension: that of chunk `chunk`
    /// of the other dimension at position `k` of the depth.
    #[inline(always)]
    pub fn across(&self, chunk: usize, k: usize) -> u64 {
        let span = self.swizzle.span();
        let width = span as usize / CHUNK;
        let (far, deep) = match width {
            1 => (self.stride, self.leading),
            _ => (self.leading, self.stride),
        };
        let in_atom = (chunk % width * CHUNK) as u64 + (k % ROWS) as u64 * span;
        self.at((chunk / width) as u64 * far + (k / ROWS) as u64 * deep + in_atom)
    }

    #[inline(always)]
    fn at(&self, offset: u64) -> u64 {
        self.swizzle.apply(self.start + offset, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::Descriptor;

    fn bits(start: u64, leading: u64, stride: u64, mode: u64) -> u64 {
        start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62
    }

    #[test]
    fn rows_along_the_depth() {
        let plain = Descriptor::new(bits(0x400, 128, 256, 0));
        assert_eq!((plain.along(0, 0), plain.along(3, 0)), (0x400, 0x430));
        assert_eq!((plain.along(0, 1), plain.along(9, 1)), (0x480, 0x590));
        let swizzled = Descriptor::new(bits(0x400, 0, 1024, 1));
        assert_eq!((swizzled.along(0, 1), swizzled.along(8, 0)), (0x410, 0x800));
        assert_eq!((swizzled.along(1, 0), swizzled.along(1, 1)), (0x490, 0x480));
        // The second step of the depth begins 32 bytes further.
        let next = Descriptor::new(bits(0x420, 0, 1024, 1));
        assert_eq!((next.along(0, 0), next.along(3, 1)), (0x420, 0x580));
    }

    #[test]
    fn rows_across_the_depth() {
        let plain = Descriptor::new(bits(0, 128, 512, 0));
        assert_eq!((plain.across(1, 0), plain.across(0, 8)), (512, 128));
        assert_eq!(plain.across(0, 3), 48);
        let swizzled = Descriptor::new(bits(0, 4096, 1024, 1));
        assert_eq!((swizzled.across(7, 0), swizzled.across(8, 0)), (112, 4096));
        assert_eq!((swizzled.across(0, 1), swizzled.across(0, 9)), (144, 1168));
        let narrow = Descriptor::new(bits(0, 2048, 256, 3));
        assert_eq!((narrow.across(1, 0), narrow.across(2, 0)), (16, 2048));
        assert_eq!((narrow.across(0, 4), narrow.across(0, 8)), (144, 256));
    }
}
