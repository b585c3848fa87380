//! The router: input-queued, virtual channels, one iteration of iSLIP for virtual channels and one
//! for the switch (BookSim's `iq` router).
//!
//! A step evaluates every stage on what the step before left, then brings it up to date: a head
//! gets its output's virtual channel in one step, asks for the switch from the next, and crosses
//! in the one after that.
//!
//! At inputs flits have no place of their own: those of a virtual channel follow each other, so
//! that a queue of packets and a number of flits say which they are.

use super::credits::Credits;
use super::departures::Departures;
use super::islip::{Islip, turns};
use super::lanes::{Bits, Counts, LANES, add, both};
use super::ports::{PortSet, PortTable, Ports, Without};
use super::sinks::Sinks;
use crate::NocCounters;
use crate::store::{Line, PacketId, Store};
use warploom_base::{Cycle, each_bit, each_member};
use warploom_config::NocSpec;

const NONE: u32 = u32::MAX;

/// A virtual channel of an input.
#[derive(Clone, Debug)]
struct InputChannel {
    /// Packets of which flits will come, are on the way or here.
    packets: Line,
    /// Virtual channel of its output that the first packet holds, by output and channel.
    holds: u32,
    /// Flits of the first packet which have not gone, once it has asked.
    left: u32,
}

/// Quotient and remainder; most networks divide by one.
#[inline]
const fn split(value: u32, by: u32) -> (u32, u32) {
    if by == 1 {
        (value, 0)
    } else {
        (value / by, value % by)
    }
}

/// The router.
#[derive(Clone, Debug)]
pub(super) struct Router<P: Ports> {
    channels: u32,
    input_speedup: u32,
    output_speedup: u32,
    inputs: P::Table<InputChannel>,
    /// By input channel: flits here.
    here: Counts<P>,
    /// Lanes of these in use, by sixteen.
    lanes: usize,
    bits: Bits,
    /// Flits that may go to each output's virtual channel.
    pub(super) credits: Credits<P>,
    /// Outputs' virtual channels that a packet holds.
    held: P::Set,
    /// By output: input channels whose first packet needs one of its virtual channels.
    wanted_by: P::Table<P::Set>,
    /// Outputs that any needs.
    wanted: P::Set,
    /// Input channels that need one.
    asking: u32,
    /// Input channels whose first packet has one, and a flit here.
    active: P::Set,
    /// Those that have one since the running step.
    matched: P::Set,
    channel_islip: Islip<P>,
    switch_islip: Islip<P>,
    /// Virtual channel that goes first at each input of the switch.
    channel_turn: P::Table<u32>,
    /// Matches of the running step, (input channel, output's virtual channel).
    channel_matches: Vec<(u32, u32)>,
    switch_matches: Vec<u32>,
    /// Flits over the switch and on their way to the nodes.
    pub(super) departures: Departures<P>,
}

/// What a step moves beside the router's own state.
pub(super) struct Around<'a, P: Ports> {
    /// Cycle in which a flit that begins to cross the switch in the step will be over.
    pub over: Cycle,
    /// Credits for the inputs.
    pub to_source: &'a mut Counts<P>,
    pub sinks: &'a mut Sinks<P>,
    pub store: &'a mut Store,
}

impl<P: Ports> Router<P> {
    pub(super) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let (fan_in, fan_out) = (spec.input_speedup as usize, spec.output_speedup as usize);
        let input = InputChannel {
            packets: Line::EMPTY,
            holds: NONE,
            left: 0,
        };
        let mut channel_turn = P::Table::new(inputs * fan_in, 0);
        (0..inputs * fan_in).for_each(|row| channel_turn[row] = (row % fan_in) as u32);
        Self {
            channels: spec.virtual_channels,
            input_speedup: spec.input_speedup,
            output_speedup: spec.output_speedup,
            inputs: P::Table::new(inputs * channels, input),
            here: Counts::<P>::new((inputs * channels).next_multiple_of(LANES), 0),
            lanes: (inputs * channels).div_ceil(LANES),
            bits: Bits::new(),
            credits: Credits::new(outputs * channels, spec.output_buffer),
            held: P::Set::new(outputs * channels),
            wanted_by: P::Table::new(outputs, P::Set::new(inputs * channels)),
            wanted: P::Set::new(outputs),
            asking: 0,
            active: P::Set::new(inputs * channels),
            matched: P::Set::new(inputs * channels),
            channel_islip: Islip::new(inputs * channels, outputs * channels),
            switch_islip: Islip::new(inputs * fan_in, outputs * fan_out),
            channel_turn,
            channel_matches: Vec::with_capacity(inputs * channels),
            switch_matches: Vec::with_capacity(inputs * fan_in),
            departures: Departures::new(outputs, channels),
        }
    }

    /// A packet's flits will come over the channel.
    #[inline]
    pub(super) fn announce(&mut self, index: usize, id: PacketId, store: &mut Store) {
        self.inputs[index].packets.push(store, id);
    }

    /// Flits came over the channels of inputs, at most one for each.
    #[inline]
    pub(super) fn arrive(&mut self, came: &mut Counts<P>, store: &Store) {
        for index in 0..self.lanes {
            let comes = std::mem::take(came.lanes(index));
            let here = self.here.lanes(index);
            let first = both(here, &comes, |here, comes| here < comes);
            add(here, &comes);
            each_bit!(self.bits.gather(first).into(), lane => {
                self.begin(index * LANES + lane, store);
            });
        }
    }

    /// An input channel has a flit again.
    #[inline]
    fn begin(&mut self, at: usize, store: &Store) {
        if self.inputs[at].holds == NONE {
            self.ask(at, store);
        } else {
            self.active.insert(at);
        }
    }

    /// The first packet of an input channel begins to ask for a virtual channel of its output.
    #[inline]
    fn ask(&mut self, at: usize, store: &Store) {
        let input = &mut self.inputs[at];
        if let Some(id) = input.packets.front() {
            let parcel = store.parcel(id);
            input.left = parcel.flits;
            store.fetch_next(parcel);
            let output = parcel.output as usize;
            self.wanted_by[output].insert(at);
            self.wanted.insert(output);
            self.asking += 1;
        }
    }

    /// A step would do nothing.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.wanted.is_empty() && self.active.is_empty()
    }

    /// One step of the pipeline.
    pub(super) fn step(&mut self, mut around: Around<'_, P>, counters: &mut NocCounters) {
        if self.channels == 1 {
            self.match_outputs(counters);
            self.send_all(&mut around);
        } else {
            self.step_channels(&mut around, counters);
        }
        self.active.take(&mut self.matched);
    }

    /// The same of several virtual channels.
    #[inline(never)]
    fn step_channels(&mut self, around: &mut Around<'_, P>, counters: &mut NocCounters) {
        self.match_channels(counters);
        self.match_switch(counters);
        self.send_matched(around);
    }

    /// Heads ask for their outputs, each of which has one virtual channel.
    #[inline]
    fn match_outputs(&mut self, counters: &mut NocCounters) {
        // Taken out of the router: else each write to a table would have them stored before it.
        let sets = [&mut self.wanted, &mut self.held, &mut self.matched];
        let ([mut wanted, mut held, mut matched], mut asking) =
            (sets.map(PortSet::take_out), self.asking);
        each_member!(Without(&wanted, &held), output => {
            let wanted_by = &mut self.wanted_by[output];
            if let Some(at) = self.channel_islip.match_one(wanted_by, output as u32) {
                self.inputs[at as usize].holds = output as u32;
                wanted_by.remove(at as usize);
                wanted.remove_if(output, wanted_by.is_empty());
                held.insert(output);
                matched.insert(at as usize);
                asking -= 1;
            }
        });
        (self.wanted, self.held, self.matched) = (wanted, held, matched);
        self.asking = asking;
        counters.conflicts += u64::from(asking);
    }

    /// Heads ask for the free virtual channels of their outputs.
    fn match_channels(&mut self, counters: &mut NocCounters) {
        each_member!(self.wanted, output => {
            let first = output as u32 * self.channels;
            for index in first..first + self.channels {
                if !self.held.contains(index as usize) {
                    self.channel_islip.request_all(&self.wanted_by[output], index);
                }
            }
        });
        let mut matches = std::mem::take(&mut self.channel_matches);
        self.channel_islip
            .allocate(|channel, output| matches.push((channel, output)));
        for (at, index) in matches.drain(..) {
            let output = split(index, self.channels).0;
            self.take_channel(at as usize, index as usize, output as usize);
        }
        self.channel_matches = matches;
        counters.conflicts += u64::from(self.asking);
    }

    /// The first packet of an input channel has virtual channel `index`, of its output, with which
    /// it asks for the switch from the next step on.
    #[inline]
    fn take_channel(&mut self, at: usize, index: usize, output: usize) {
        self.inputs[at].holds = index as u32;
        let wanted_by = &mut self.wanted_by[output];
        wanted_by.remove(at);
        self.wanted.remove_if(output, wanted_by.is_empty());
        self.asking -= 1;
        self.held.insert(index);
        self.matched.insert(at);
    }

    /// First packets with a virtual channel ask for the switch.
    fn match_switch(&mut self, counters: &mut NocCounters) {
        let mut asking = 0;
        each_member!(self.active, at => {
            let holds = self.inputs[at].holds;
            if !self.credits.any(holds as usize) {
                continue;
            }
            asking += 1;
            let (input, channel) = split(at as u32, self.channels);
            let row = input * self.input_speedup + split(channel, self.input_speedup).1;
            let output = split(holds, self.channels).0;
            let column = output * self.output_speedup + split(input, self.output_speedup).1;
            let (first, channels) = (self.channel_turn[row as usize], self.channels);
            self.switch_islip.request(row, column, at as u32, |other| {
                turns(channel, first, channels) < turns(split(other, channels).1, first, channels)
            });
        });
        if asking > 0 {
            let matches = &mut self.switch_matches;
            let matched = self.switch_islip.allocate(|at, _| matches.push(at));
            counters.conflicts += u64::from(asking - matched);
        }
    }

    /// Where an output has one virtual channel, the packet that holds it is alone in asking for the
    /// switch there, and so is its input: all are matched.
    fn send_all(&mut self, around: &mut Around<'_, P>) {
        each_member!(self.active, at => {
            let output = self.inputs[at].holds as usize;
            if self.credits.any(output) {
                self.send_flit(at, output, output, around);
            }
        });
    }

    fn send_matched(&mut self, around: &mut Around<'_, P>) {
        while let Some(at) = self.switch_matches.pop() {
            let (input, channel) = split(at, self.channels);
            let row = input * self.input_speedup + split(channel, self.input_speedup).1;
            self.channel_turn[row as usize] = split(channel + self.input_speedup, self.channels).1;
            let index = self.inputs[at as usize].holds;
            let output = split(index, self.channels).0;
            self.send_flit(at as usize, index as usize, output as usize, around);
        }
    }

    /// The first flit of an input channel goes over the switch, to virtual channel `index`, of its
    /// output.
    #[inline(always)]
    fn send_flit(&mut self, at: usize, index: usize, output: usize, around: &mut Around<'_, P>) {
        around.to_source[at] += 1;
        let source = &mut self.inputs[at];
        let here = &mut self.here[at];
        *here -= 1;
        source.left -= 1;
        let coming = self.departures.push(output, index, around.over);
        if source.left == 0
            && let Some((id, parcel)) = source.packets.pop(around.store)
        {
            coming.end(parcel.bytes);
            around.sinks.expect(index, id, around.store);
            source.holds = NONE;
            self.held.remove(index);
            self.active.remove(at);
            if *here > 0 {
                self.ask(at, around.store);
            }
        } else if *here == 0 {
            self.active.remove(at);
        }
        self.credits.take(index);
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn channels_are_split_from_ports() {
        assert_eq!([split(7, 1), split(7, 2)], [(7, 0), (3, 1)]);
    }
}
