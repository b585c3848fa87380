//! Credits: the number of flits that a virtual channel of a port may still send, and the credits on
//! their way back, which take as long over a channel as flits do.

use super::departures::CHANNEL;
use super::lanes::{Counts, LANES, Lanes, add, count};
use super::ports::{PortTable, Ports};
use warploom_state::State;

/// Credits of the ports of one side.
#[derive(Clone, Debug, State)]
pub(super) struct Credits<P: Ports> {
    /// Number of groups of sixteen virtual channels.
    #[state(fixed)]
    lanes: usize,
    /// Number of flits that may be sent, by virtual channel.
    left: Counts<P>,
    /// Credits on their way, by the cycle of their arrival modulo `CHANNEL`.
    coming: [Counts<P>; CHANNEL],
    /// Position of the present cycle in `coming`.
    at: usize,
}

impl<P: Ports> Credits<P> {
    /// `each` credits for each of `channels` virtual channels.
    pub(super) fn new(channels: usize, each: u32) -> Self {
        let lanes = channels.div_ceil(LANES);
        Self {
            lanes,
            left: Counts::<P>::new(lanes * LANES, count(each)),
            coming: std::array::from_fn(|_| Counts::<P>::new(lanes * LANES, 0)),
            at: 0,
        }
    }

    /// Begins a cycle: credits that were returned `CHANNEL` cycles ago arrive.
    #[inline(always)]
    pub(super) fn arrive(&mut self) {
        self.at = (self.at + 1) % CHANNEL;
        for index in 0..self.lanes {
            let coming = std::mem::take(self.coming[self.at].lanes(index));
            add(self.left.lanes(index), &coming);
        }
    }

    /// True if a virtual channel may send a flit.
    #[inline]
    pub(super) fn any(&self, channel: usize) -> bool {
        self.left[channel] > 0
    }

    /// Takes the credit for a flit that is sent.
    #[inline]
    pub(super) fn take(&mut self, channel: usize) {
        self.left[channel] -= 1;
    }

    /// Numbers of flits that may be sent, of the virtual channels from 16 x `index` on.
    #[inline(always)]
    pub(super) fn lanes(&mut self, index: usize) -> &mut Lanes {
        self.left.lanes(index)
    }

    /// Counters of the credits that are returned in this cycle.
    #[inline]
    pub(super) fn giving(&mut self) -> &mut Counts<P> {
        &mut self.coming[self.at % CHANNEL]
    }
}

#[cfg(test)]
mod tests {
    use super::{CHANNEL, Credits, LANES};
    use crate::fly::ports::Few;

    /// A credit arrives as many cycles after its return as a channel takes.
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
