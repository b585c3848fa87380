//! Permutation of 16-byte chunks in shared memory by which rows of a tile avoid bank conflicts (PTX
//! ISA, "Swizzling Modes").

/// Size of a chunk in bytes. Chunks move as wholes.
pub(crate) const CHUNK: usize = 16;

/// Permutation within rows of 32, 64 or 128 bytes, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Swizzle {
    /// Bytes of a row of the pattern; [`CHUNK`] for no permutation.
    span: u64,
}

impl Swizzle {
    /// Permutation in rows of the given number of bytes: 16 (none), 32, 64 or 128.
    pub fn of_span(span: u64) -> Self {
        Self { span }
    }

    /// Bytes of a row of the pattern.
    pub fn span(self) -> u64 {
        self.span
    }

    /// Address in shared memory of the byte that lies at `address` in the tile without permutation.
    /// The pattern begins anew every eight rows of 128 bytes; `base` is the number of the row in
    /// which it begins.
    #[inline(always)]
    pub fn apply(self, address: u64, base: u64) -> u64 {
        let chunks = self.span / CHUNK as u64 - 1;
        let row = (address >> 7).wrapping_sub(base);
        address ^ (row & chunks) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::Swizzle;

    /// The first chunks of eight rows, as the ISA's figures show them.
    #[test]
    fn chunks_move_as_in_the_figures() {
        let row = |span: u64, row: u64, pitch: u64| {
            let swizzle = Swizzle::of_span(span);
            let of = |chunk: u64| swizzle.apply(row * pitch + chunk * 16, 0) % span / 16;
            (0..span / 16).map(of).collect::<Vec<u64>>()
        };
        assert_eq!(row(128, 0, 128), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(row(128, 1, 128), [1, 0, 3, 2, 5, 4, 7, 6]);
        assert_eq!(row(128, 6, 128), [6, 7, 4, 5, 2, 3, 0, 1]);
        // Two rows of 64 bytes, or four of 32, lie in 128 bytes and are permuted alike.
        assert_eq!(row(64, 1, 64), [0, 1, 2, 3]);
        assert_eq!(row(64, 2, 64), [1, 0, 3, 2]);
        assert_eq!(row(64, 7, 64), [3, 2, 1, 0]);
        assert_eq!(row(32, 3, 32), [0, 1]);
        assert_eq!(row(32, 4, 32), [1, 0]);
        assert_eq!(row(16, 5, 16), [0]);
    }

    #[test]
    fn a_pattern_begins_where_its_base_says() {
        let swizzle = Swizzle::of_span(128);
        assert_eq!(swizzle.apply(3 * 128, 3), 3 * 128);
        assert_eq!(swizzle.apply(4 * 128, 3), 4 * 128 + 16);
    }
}
