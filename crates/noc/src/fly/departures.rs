//! Flits behind the switch. Each output sends one a cycle, first come first, and a channel brings
//! it to the node. Nothing holds a flit up there: when it comes is known as soon as it crosses the
//! switch, and a table by the cycle says what comes.

use super::CHANNEL;
use super::ports::{PortSet, PortTable, Ports};
use crate::NocCounters;
use warploom_base::Cycle;
use warploom_config::NocSpec;

/// What comes to the nodes in a cycle: at most one flit of an output.
#[derive(Clone, Debug)]
pub(super) struct Coming<P: Ports> {
    /// Virtual channels of outputs over which one comes.
    pub flits: P::Set,
    /// Those of them whose flit ends a packet.
    pub ends: P::Set,
    /// Bytes of the packets that end.
    bytes: u64,
}

impl<P: Ports> Coming<P> {
    /// It has come.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.flits.clear();
        self.ends.clear();
        self.bytes = 0;
    }
}

/// The table, and how long each output is busy.
#[derive(Clone, Debug)]
pub(super) struct Departures<P: Ports> {
    /// By cycle, modulo their number, which is a power of two.
    coming: Box<[Coming<P>]>,
    /// By output: the first cycle in which it may send.
    free_at: P::Table<Cycle>,
}

impl<P: Ports> Departures<P> {
    /// For outputs whose flits take at most `crossing` cycles over the switch.
    pub(super) fn new(spec: &NocSpec, outputs: usize, crossing: u32) -> Self {
        let channels = spec.virtual_channels as usize;
        // Credits bound what waits for an output.
        let waiting = channels * spec.output_buffer as usize;
        let cycles = (crossing as usize + waiting + CHANNEL + 1).next_power_of_two();
        let nothing = Coming {
            flits: P::Set::new(outputs * channels),
            ends: P::Set::new(outputs * channels),
            bytes: 0,
        };
        Self {
            coming: vec![nothing; cycles].into(),
            free_at: P::Table::new(outputs, 0),
        }
    }

    /// What comes to the nodes in a cycle.
    #[inline]
    pub(super) fn at(&mut self, cycle: Cycle) -> &mut Coming<P> {
        let place = cycle as usize & (self.coming.len() - 1);
        &mut self.coming[place]
    }

    /// A flit of an output's virtual channel `index` will be over the switch in cycle `over`;
    /// `ended` has the bytes of the packet that it ends.
    #[inline]
    pub(super) fn push(&mut self, output: usize, index: usize, over: Cycle, ended: Option<u32>) {
        let leaves = over.max(self.free_at[output]);
        self.free_at[output] = leaves + 1;
        let coming = self.at(leaves + CHANNEL as Cycle);
        debug_assert!(!coming.flits.contains(index), "two flits in a cycle");
        coming.flits.insert(index);
        if let Some(bytes) = ended {
            coming.ends.insert(index);
            coming.bytes += u64::from(bytes);
        }
    }

    /// Counts what leaves in cycle `now`.
    #[inline]
    pub(super) fn count(&mut self, now: Cycle, counters: &mut NocCounters) {
        let coming = self.at(now + CHANNEL as Cycle);
        counters.flits += coming.flits.count();
        counters.bytes += coming.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::super::ports::Few;
    use super::{CHANNEL, Cycle, Departures, PortSet};
    use crate::NocCounters;

    /// Flits of an output leave one a cycle, not before they are over the switch, in their order;
    /// other outputs' go beside them. They are counted when they leave and come a channel later.
    #[test]
    fn an_output_sends_one_flit_a_cycle() {
        let spec = warploom_config::preset("gtx480");
        let spec = spec.unwrap_or_else(|errors| panic!("{errors}")).noc;
        let mut departures = Departures::<Few>::new(&spec, 3, 1);
        departures.push(1, 1, 10, None);
        departures.push(1, 1, 10, Some(40));
        departures.push(1, 1, 14, Some(8));
        departures.push(2, 2, 11, None);
        let mut seen = Vec::new();
        for now in 10..15 {
            let mut counters = NocCounters::default();
            departures.count(now, &mut counters);
            let coming = departures.at(now + CHANNEL as Cycle);
            let [flits, ends] = [&coming.flits, &coming.ends].map(|set| set.word(0));
            seen.push((flits, ends, counters.flits, counters.bytes));
            coming.clear();
        }
        let expected = [
            (0b010, 0, 1, 0),
            (0b110, 0b010, 2, 40),
            (0, 0, 0, 0),
            (0, 0, 0, 0),
            (0b010, 0b010, 1, 8),
        ];
        assert_eq!(seen, expected);
    }
}
