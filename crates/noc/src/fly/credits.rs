//! Credits: how many flits a port's virtual channel may still send, and those on their way back,
//! which take as long over a channel as flits do.

use super::CHANNEL;

/// Counts that are added at once.
const LANES: usize = 8;

/// By virtual channel.
type Counts = Box<[[u32; LANES]]>;

/// The credits of one side's ports.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    /// Flits that may be sent.
    left: Counts,
    /// Credits that are given in the cycles to come, those of this cycle at `at`.
    coming: [Counts; CHANNEL],
    at: usize,
}

impl Credits {
    /// So many for each of `channels` virtual channels.
    pub(super) fn new(channels: usize, each: u32) -> Self {
        let counts = |count| vec![[count; LANES]; channels.div_ceil(LANES)].into();
        Self {
            left: counts(each),
            coming: std::array::from_fn(|_| counts(0)),
            at: 0,
        }
    }

    /// A cycle begins: credits that were given `CHANNEL` cycles ago are there.
    #[inline]
    pub(super) fn arrive(&mut self) {
        self.at = (self.at + 1) % CHANNEL;
        // All at once: most of a port's flits are followed by its credits.
        for (left, coming) in self.left.iter_mut().zip(&mut self.coming[self.at]) {
            for (left, coming) in left.iter_mut().zip(coming) {
                *left += std::mem::take(coming);
            }
        }
    }

    /// One flit may be sent.
    #[inline]
    pub(super) fn any(&self, channel: usize) -> bool {
        self.left.as_flattened()[channel] > 0
    }

    /// One is.
    #[inline]
    pub(super) fn take(&mut self, channel: usize) {
        self.left.as_flattened_mut()[channel] -= 1;
    }

    /// A credit is given back.
    #[inline]
    pub(super) fn give(&mut self, channel: usize) {
        self.coming[self.at].as_flattened_mut()[channel] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{CHANNEL, Credits, LANES};

    /// A credit is there as many cycles after it was given as a channel takes.
    #[test]
    fn credits_come_back_after_the_channel() {
        let channels = 2 * LANES + 1;
        let mut credits = Credits::new(channels, 2);
        for channel in [0, channels - 1] {
            credits.arrive();
            credits.take(channel);
            credits.take(channel);
            assert!(!credits.any(channel) && credits.any(1));
            credits.give(channel);
            credits.give(channel);
            for _ in 1..CHANNEL {
                credits.arrive();
                assert!(!credits.any(channel));
            }
            credits.arrive();
            credits.take(channel);
            assert!(credits.any(channel));
            credits.take(channel);
            assert!(!credits.any(channel));
            credits.give(channel);
        }
    }
}
