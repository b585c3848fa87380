//! Credits: how many flits a port's virtual channel may still send, and those on their way back,
//! which take as long over a channel as flits do.

use super::CHANNEL;
use super::ports::{PortSet, PortTable, Ports};

/// Counts that are added at once.
const LANES: usize = 16;

/// Counts by virtual channel.
type Counts<P> = <P as Ports>::Table<u32>;

/// The credits of one side's ports.
#[derive(Clone, Debug)]
pub(super) struct Credits<P: Ports> {
    /// Counts in use, up to a multiple of `LANES`.
    counts: usize,
    /// Flits that may be sent.
    left: Counts<P>,
    /// Credits that are given in the cycles to come, those of this cycle at `at`.
    coming: [Counts<P>; CHANNEL],
    at: usize,
}

impl<P: Ports> Credits<P> {
    /// So many for each of `channels` virtual channels.
    pub(super) fn new(channels: usize, each: u32) -> Self {
        let counts = channels.next_multiple_of(LANES);
        Self {
            counts,
            left: Counts::<P>::new(counts, each),
            coming: std::array::from_fn(|_| Counts::<P>::new(counts, 0)),
            at: 0,
        }
    }

    /// A cycle begins: credits that were given `CHANNEL` cycles ago are there.
    #[inline(always)]
    pub(super) fn arrive(&mut self) {
        self.at = (self.at + 1) % CHANNEL;
        // All at once: most of a port's flits are followed by its credits.
        let left = self.left.first(self.counts).as_chunks_mut::<LANES>().0;
        let coming = self.coming[self.at].first(self.counts);
        for (left, coming) in left.iter_mut().zip(coming.as_chunks_mut::<LANES>().0) {
            for (left, coming) in left.iter_mut().zip(coming) {
                *left += std::mem::take(coming);
            }
        }
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

    /// A credit is given back.
    #[inline]
    pub(super) fn give(&mut self, channel: usize) {
        self.coming[self.at % CHANNEL][channel] += 1;
    }
}

/// Credits of ports that are asked together which of them may send.
#[derive(Clone, Debug)]
pub(super) struct OpenCredits<P: Ports> {
    credits: Credits<P>,
    /// Virtual channels over which any flit may be sent.
    open: P::Set,
    /// Those to which credits are given in the cycles to come, as in `credits`.
    opening: [P::Set; CHANNEL],
}

impl<P: Ports> OpenCredits<P> {
    /// So many, of which there is at least one, for each of `channels` virtual channels.
    pub(super) fn new(channels: usize, each: u32) -> Self {
        let mut open = P::Set::new(channels);
        (0..channels).for_each(|channel| open.insert(channel));
        Self {
            credits: Credits::new(channels, each),
            open,
            opening: std::array::from_fn(|_| P::Set::new(channels)),
        }
    }

    /// Flits that may be sent.
    #[inline]
    pub(super) fn left(&self, channel: usize) -> u32 {
        self.credits.left[channel]
    }

    /// A cycle begins: see [`Credits::arrive`].
    #[inline]
    pub(super) fn arrive(&mut self) {
        self.credits.arrive();
        self.open.take(&mut self.opening[self.credits.at]);
    }

    /// Virtual channels over which any flit may be sent.
    #[inline]
    pub(super) fn open(&self) -> &P::Set {
        &self.open
    }

    /// One is.
    #[inline]
    pub(super) fn take(&mut self, channel: usize) {
        self.credits.take(channel);
        self.open.remove_if(channel, !self.credits.any(channel));
    }

    /// Where credits are given back in this cycle.
    #[inline]
    pub(super) fn giving(&mut self) -> Giving<'_, P> {
        let at = self.credits.at % CHANNEL;
        Giving {
            coming: &mut self.credits.coming[at],
            opening: &mut self.opening[at],
        }
    }
}

/// Where credits are given back in a cycle.
pub(super) struct Giving<'a, P: Ports> {
    coming: &'a mut Counts<P>,
    opening: &'a mut P::Set,
}

impl<P: Ports> Giving<'_, P> {
    /// A credit is given back.
    #[inline]
    pub(super) fn give(&mut self, channel: usize) {
        self.coming[channel] += 1;
        self.opening.insert(channel);
    }
}

#[cfg(test)]
mod tests {
    use super::{CHANNEL, Credits, LANES, OpenCredits};
    use crate::fly::ports::{Few, PortSet};

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

    /// A virtual channel is open while it has credits.
    #[test]
    fn channels_with_credits_are_open() {
        let mut credits = OpenCredits::<Few>::new(3, 2);
        assert_eq!(credits.open().word(0), 0b111);
        credits.take(1);
        assert_eq!(credits.open().word(0), 0b111);
        credits.take(1);
        credits.take(2);
        assert_eq!(credits.open().word(0), 0b101);
        credits.giving().give(1);
        for _ in 1..CHANNEL {
            credits.arrive();
            assert_eq!(credits.open().word(0), 0b101);
        }
        credits.arrive();
        assert_eq!(credits.open().word(0), 0b111);
    }
}
