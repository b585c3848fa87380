//! A set of SMs, by number.

/// A set of SMs, in words of 64.
#[derive(Debug)]
pub(crate) struct SmSet(Box<[u64]>);

impl SmSet {
    /// An empty set for some SMs.
    pub fn new(sms: usize) -> Self {
        Self(vec![0; sms.div_ceil(64)].into())
    }

    /// Sets the members of a word.
    pub fn set_word(&mut self, index: usize, word: u64) {
        self.0[index] = word;
    }

    /// Number of words, for `each_member`.
    #[inline]
    pub fn words(&self) -> usize {
        self.0.len()
    }

    /// The members of a word, as bits.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.0[index]
    }
}
