//! Flits after the switch. Each output sends one flit a cycle, first come, first served, over a
//! channel to its node. Nothing delays a flit there: the cycle of its arrival is known when it
//! crosses the switch, and a table by cycle holds the arrivals.

use super::ports::{PortSet, PortTable, Ports};
use crate::NocCounters;
use warploom_base::Cycle;
use warploom_state::{State, Value};

/// Cycles of a flit or credit over a channel.
pub(super) const CHANNEL: usize = 2;

/// Initial length of the table in cycles, a power of two: few outputs are busy for longer.
const CYCLES: usize = 64;

/// Arrivals at the nodes in one cycle: at most one flit of an output.
#[derive(Clone, Debug, Value)]
pub(super) struct Coming<P: Ports> {
    /// Virtual channels of outputs over which a flit comes.
    pub flits: P::Set,
    /// Number of flits, kept because not every host counts bits with an instruction.
    count: u64,
    /// Bytes of the packets whose last flit comes.
    bytes: u64,
}

impl<P: Ports> Coming<P> {
    /// Notes that a flit is the last of a packet of `bytes` bytes.
    #[inline]
    pub(super) fn end(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// Clears the arrivals, once they have been taken.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.flits.clear();
        (self.count, self.bytes) = (0, 0);
    }
}

/// Table of arrivals, and the cycles until which outputs are busy.
#[derive(Clone, Debug, State)]
pub(super) struct Departures<P: Ports> {
    /// Arrivals by cycle modulo the length, which is a power of two. The table grows to the longest
    /// time for which an output was ever busy.
    coming: Box<[Coming<P>]>,
    /// First cycle after those of the table. Arrivals before the present cycle have been taken.
    end: Cycle,
    /// First cycle in which an output may send, by output.
    free_at: P::Table<Cycle>,
}

impl<P: Ports> Departures<P> {
    /// An empty table for `outputs` outputs of `channels` virtual channels each.
    pub(super) fn new(outputs: usize, channels: usize) -> Self {
        let nothing = Coming {
            flits: P::Set::new(outputs * channels),
            count: 0,
            bytes: 0,
        };
        Self {
            coming: vec![nothing; CYCLES].into(),
            end: CYCLES as Cycle,
            free_at: P::Table::new(outputs, 0),
        }
    }

    /// Begins cycle `now`. Returns its arrivals, which must be taken.
    #[inline]
    pub(super) fn begin(&mut self, now: Cycle) -> &mut Coming<P> {
        self.end = now + self.coming.len() as Cycle;
        self.at(now)
    }

    /// Arrivals at the nodes in a cycle.
    #[inline]
    fn at(&mut self, cycle: Cycle) -> &mut Coming<P> {
        let place = cycle as usize & (self.coming.len() - 1);
        &mut self.coming[place]
    }

    /// Adds a flit of virtual channel `index` of an output that has crossed the switch in cycle
    /// `over`. Returns the arrivals of its cycle, for [`Coming::end`] if it is the last of a
    /// packet.
    #[inline]
    pub(super) fn push(&mut self, output: usize, index: usize, over: Cycle) -> &mut Coming<P> {
        let leaves = over.max(self.free_at[output]);
        self.free_at[output] = leaves + 1;
        let comes = leaves + CHANNEL as Cycle;
        if comes >= self.end {
            self.grow(comes);
        }
        let coming = self.at(comes);
        debug_assert!(!coming.flits.contains(index), "two flits in a cycle");
        coming.flits.insert(index);
        coming.count += 1;
        coming
    }

    /// Makes the table long enough for cycle `last`.
    #[cold]
    fn grow(&mut self, last: Cycle) {
        let old = self.coming.len();
        let now = self.end as usize - old;
        let cycles = (last as usize + 1 - now).next_power_of_two();
        let mut nothing = self.coming[0].clone();
        nothing.clear();
        let mut coming = vec![nothing; cycles];
        for cycle in now..now + old {
            let place = &mut self.coming[cycle & (old - 1)];
            std::mem::swap(&mut coming[cycle & (cycles - 1)], place);
        }
        self.coming = coming.into();
        self.end = (now + cycles) as Cycle;
    }

    /// Counts the flits that leave the outputs in cycle `now`.
    #[inline]
    pub(super) fn count(&mut self, now: Cycle, counters: &mut NocCounters) {
        let coming = self.at(now + CHANNEL as Cycle);
        counters.flits += coming.count;
        counters.bytes += coming.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::super::ports::Few;
    use super::{CHANNEL, CYCLES, Cycle, Departures, PortSet};
    use crate::NocCounters;

    /// Flits of an output leave in order, one a cycle, and not before they have crossed the switch;
    /// flits of other outputs do so at the same time. They are counted when they leave, and arrive
    /// a channel later.
    #[test]
    fn an_output_sends_one_flit_a_cycle() {
        let mut departures = Departures::<Few>::new(3, 1);
        departures.push(1, 1, 10);
        departures.push(1, 1, 10).end(40);
        departures.push(1, 1, 14).end(8);
        departures.push(2, 2, 11);
        let mut seen = Vec::new();
        for now in 10..15 {
            let mut counters = NocCounters::default();
            departures.count(now, &mut counters);
            let coming = departures.at(now + CHANNEL as Cycle);
            seen.push((coming.flits.word(0), counters.flits, counters.bytes));
            coming.clear();
        }
        let expected = [
            (0b010, 1, 0),
            (0b110, 2, 40),
            (0, 0, 0),
            (0, 0, 0),
            (0b010, 1, 8),
        ];
        assert_eq!(seen, expected);
    }

    /// Flits leave one a cycle also where they are more than the table has cycles, and some are in
    /// it already.
    #[test]
    fn an_output_may_be_busy_for_long() {
        let mut departures = Departures::<Few>::new(2, 1);
        let first = 3 * CYCLES as Cycle - 5;
        departures.begin(first);
        let flits = 5 * CYCLES as Cycle;
        departures.push(1, 1, first + 1).end(7);
        for nth in 0..flits {
            let coming = departures.push(0, 0, first);
            if nth % 3 == 2 {
                coming.end(40);
            }
        }
        for now in first..first + flits + 9 {
            let coming = departures.begin(now);
            let nth = now.checked_sub(first + CHANNEL as Cycle);
            let here = u64::from(nth.is_some_and(|nth| nth < flits));
            let ends = u64::from(here == 1 && nth.is_some_and(|nth| nth % 3 == 2));
            let other = u64::from(nth == Some(1));
            assert_eq!(coming.flits.word(0), here | other << 1, "{now}");
            assert_eq!(coming.bytes, 40 * ends + 7 * other, "{now}");
            coming.clear();
        }
    }
}
