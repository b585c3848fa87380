//! Credits: how many flits a port's virtual channel may still send, and those on their way back,
//! which take as long over a channel as flits do.

use super::CHANNEL;
use super::lanes::{Counts, LANES, Lanes, add, count};
use super::ports::{PortTable, Ports};

/// The credits of one side's ports.
#[derive(Clone, Debug)]
pub(super) struct Credits<P: Ports> {
    /// Lanes in use, by sixteen.
    lanes: usize,
    /// Flits that may be sent.
    left: Counts<P>,
    /// Credits that are given in the cycles to come, those of this cycle at `at`.
    coming: [Counts<P>; CHANNEL],
    at: usize,
}

impl<P: Ports> Credits<P> {
    /// So many for each of `channels` virtual channels.
    pub(super) fn new(channels: usize, each: u32) -> Self {
        let lanes = channels.div_ceil(LANES);
        Self {
            lanes,
            left: Counts::<P>::new(lanes * LANES, count(each)),
            coming: std::array::from_fn(|_| Counts::<P>::new(lanes * LANES, 0)),
            at: 0,
        }
    }

    /// A cycle begins: credits that were given `CHANNEL` cycles ago are there.
    #[inline(always)]
    pub(super) fn arrive(&mut self) {
        self.at = (self.at + 1) % CHANNEL;
        for index in 0..self.lanes {
            let coming = std::mem::take(self.coming[self.at].lanes(index));
            add(self.left.lanes(index), &coming);
        }
    }

    /// Flits that may be sent.
    #[inline]
    pub(super) fn left(&self, channel: usize) -> u32 {
        self.left[channel].into()
    }

    /// One flit may be sent.
    #[inline]
    pub(super) fn any(&self, channel: usize) -> bool {
        self.left[channel] > 0
    }

    /// One is.
    #[inline]
    pub(super) fn take(&mut self, channel: usize) {
        self.left[channel] -= 1;
    }

    /// By channel, from 16 `index` on: flits that may be sent.
    #[inline(always)]
    pub(super) fn lanes(&mut self, index: usize) -> &mut Lanes {
        self.left.lanes(index)
    }

    /// Where credits are given back in this cycle.
    #[inline]
    pub(super) fn giving(&mut self) -> &mut Counts<P> {
        &mut self.coming[self.at % CHANNEL]
    }
}

#[cfg(test)]
mod tests {
    use super::{CHANNEL, Credits, LANES};
    use crate::fly::ports::Few;

    /// A credit is there as many cycles after it was given as a channel takes.
    #[test]
    fn credits_come_back_after_the_channel() {
        let channels = 2 * LANES + 1;
        let mut credits = Credits::<Few>::new(channels, 2);
        for channel in [0, channels - 1] {
            credits.arrive();
            credits.take(channel);
            credits.take(channel);
            assert!(!credits.any(channel) && credits.any(1));
            credits.giving()[channel] += 2;
            for _ in 1..CHANNEL {
                credits.arrive();
                assert!(!credits.any(channel));
            }
            credits.arrive();
            credits.take(channel);
            assert!(credits.any(channel));
            credits.take(channel);
            assert!(!credits.any(channel));
            credits.giving()[channel] += 1;
        }
    }
}
