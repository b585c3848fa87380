//! Filters of the lines and pages of global memory that were accessed.

/// Logarithm of the bytes of a line.
pub(crate) const LINE_SHIFT: u32 = 7;

/// A word among `WORDS`, and a bit of it, for a number. Lines at the usual distances between arrays
/// get different ones (Fibonacci hashing: D. Knuth, The Art of Computer Programming 3, 6.4).
#[inline]
fn place<const WORDS: usize>(number: u64) -> (usize, u64) {
    let bits = u64::BITS - (WORDS * 64).ilog2();
    let bit = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> bits) as usize;
    (bit / 64 % WORDS, 1 << (bit % 64))
}

/// A filter of accessed pages, of all address spaces together. It holds every page that was
/// inserted, and maybe others. Its size is a line of the host's cache.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pages([u64; Self::WORDS]);

impl Pages {
    const WORDS: usize = 8;
    /// A filter that holds nothing.
    pub(crate) const NONE: Self = Self([0; Self::WORDS]);
    /// Logarithm of the bytes of a page.
    const SHIFT: u32 = 12;

    /// Adds the page of an address.
    #[inline]
    pub(crate) fn insert(&mut self, address: u64) {
        let (word, bit) = place::<{ Self::WORDS }>(address >> Self::SHIFT);
        self.0[word] |= bit;
    }

    /// Adds all pages of another filter.
    pub(crate) fn add(&mut self, other: &Self) {
        let pairs = self.0.iter_mut().zip(&other.0);
        pairs.for_each(|(word, other)| *word |= other);
    }

    /// True if some page may be in both filters.
    pub fn meet(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |common, (one, other)| common | one & other) != 0
    }
}

/// A filter of stored lines, of all address spaces together. It holds every line that was inserted,
/// and maybe others.
#[derive(Clone, Debug)]
pub struct StoredLines {
    /// Bit of each line that was inserted. Several lines share a bit.
    words: Box<[u64; Self::WORDS]>,
    pages: Pages,
}

impl Default for StoredLines {
    fn default() -> Self {
        Self {
            words: Box::new([0; Self::WORDS]),
            pages: Pages::default(),
        }
    }
}

impl StoredLines {
    const WORDS: usize = 256;

    /// Removes all lines from the filter.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.pages = Pages::default();
    }

    /// Adds a line, by its number.
    #[inline]
    pub(crate) fn insert(&mut self, line: u64) {
        let (word, bit) = place::<{ Self::WORDS }>(line);
        self.words[word] |= bit;
        self.pages.insert(line << LINE_SHIFT);
    }

    /// False if the line of an address was surely not inserted.
    #[inline]
    pub(crate) fn may_hold(&self, address: u64) -> bool {
        let (word, bit) = place::<{ Self::WORDS }>(address >> LINE_SHIFT);
        self.words[word] & bit != 0
    }

    /// Pages of the lines that were inserted.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}
