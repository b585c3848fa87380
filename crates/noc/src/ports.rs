//! A set of small numbers with search in turn.

/// Runs a block for every member of a set, upwards. The block may remove the member at hand.
macro_rules! each_port {
    ($set:expr, $port:ident => $body:block) => {
        for index in 0..$set.words() {
            let mut left = $set.word(index);
            while left != 0 {
                let $port = index * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                $body
            }
        }
    };
}
pub(crate) use each_port;

/// Numbers below a bound fixed at construction.
#[derive(Clone, Debug)]
pub(crate) struct PortSet {
    words: Box<[u64]>,
}

impl PortSet {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            words: vec![0; bound.div_ceil(64).max(1)].into(),
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, port: usize) {
        self.words[port / 64] |= 1 << (port % 64);
    }

    #[inline]
    pub(crate) fn remove(&mut self, port: usize) {
        self.words[port / 64] &= !(1 << (port % 64));
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Words of the set, for `each_port`.
    #[inline]
    pub(crate) fn words(&self) -> usize {
        self.words.len()
    }

    /// Members from 64 `index` on, as bits.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.words[index]
    }

    #[inline]
    pub(crate) fn contains(&self, port: usize) -> bool {
        self.words[port / 64] >> (port % 64) & 1 != 0
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// First member from `from` upwards.
    #[inline]
    pub(crate) fn at_or_after(&self, from: usize) -> Option<usize> {
        let mut index = from / 64;
        let mut word = *self.words.get(index)? & (u64::MAX << (from % 64));
        loop {
            if word != 0 {
                return Some(index * 64 + word.trailing_zeros() as usize);
            }
            index += 1;
            word = *self.words.get(index)?;
        }
    }

    /// First member from `from` upwards, then from zero.
    #[inline]
    pub(crate) fn in_turn(&self, from: usize) -> Option<usize> {
        self.at_or_after(from).or_else(|| self.at_or_after(0))
    }
}

#[cfg(test)]
mod tests {
    use super::PortSet;

    #[test]
    fn turns_wrap_around() {
        let mut set = PortSet::new(130);
        assert!(set.is_empty() && set.in_turn(5).is_none());
        for port in [3, 64, 129] {
            set.insert(port);
        }
        assert_eq!(set.len(), 3);
        assert_eq!(
            [0, 4, 65, 129].map(|from| set.in_turn(from)),
            [3, 64, 129, 129].map(Some)
        );
        set.remove(129);
        assert_eq!(set.in_turn(65), Some(3));
    }
}
