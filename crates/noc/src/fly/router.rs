//! Router: input-queued, with virtual channels, and one iteration of iSLIP each for virtual
//! channels and for the switch (BookSim's `iq` router).
//!
//! A step evaluates every stage on the state that the step before left, and then updates it: a head
//! gets a virtual channel of its output in one step, requests the switch from the next step on, and
//! crosses in the step after that.
//!
//! Flits at inputs are not stored one by one: the flits of a virtual channel are in order, so that
//! a queue of packets and a number of flits identify them.

use super::credits::Credits;
use super::departures::Departures;
use super::islip::{Islip, turns};
use super::lanes::{Bits, Counts, LANES, add, both};
use super::ports::{PortSet, PortTable, Ports, Without};
use super::sinks::Sinks;
use crate::NocCounters;
use crate::store::{PacketId, PacketQueue, Store};
use warploom_base::{Cycle, each_bit, each_member};
use warploom_config::NocSpec;
use warploom_state::{State, Value};

/// Number that stands for no virtual channel.
const NONE: u32 = u32::MAX;

/// A virtual channel of an input.
#[derive(Clone, Debug, Value)]
struct InputChannel {
    /// Packets with flits that are here, on their way, or still to come.
    packets: PacketQueue,
    /// Virtual channel of its output that the first packet holds; [`NONE`] if it holds none.
    holds: u32,
    /// Number of flits of the first packet that have not crossed the switch; set when the packet
    /// makes its request.
    left: u32,
}

/// Quotient and remainder. Most networks divide by one.
#[inline]
const fn split(value: u32, by: u32) -> (u32, u32) {
    if by == 1 {
        (value, 0)
    } else {
        (value / by, value % by)
    }
}

/// Router with its input queues.
#[derive(Clone, Debug, State)]
pub(super) struct Router<P: Ports> {
    #[state(fixed)]
    channels: u32,
    #[state(fixed)]
    input_speedup: u32,
    #[state(fixed)]
    output_speedup: u32,
    inputs: P::Table<InputChannel>,
    /// Number of flits here, by input channel.
    here: Counts<P>,
    /// Number of groups of sixteen input channels.
    #[state(fixed)]
    lanes: usize,
    #[state(fixed)]
    bits: Bits,
    /// Number of flits that may be sent, by virtual channel of an output.
    pub(super) credits: Credits<P>,
    /// Virtual channels of outputs that a packet holds.
    held: P::Set,
    /// Input channels whose first packet requests a virtual channel of an output, by output.
    wanted_by: P::Table<P::Set>,
    /// Outputs with such a request.
    wanted: P::Set,
    /// Number of input channels with such a request.
    asking: u32,
    /// Input channels whose first packet holds a virtual channel and has a flit here.
    active: P::Set,
    /// Input channels that got a virtual channel in the present step.
    matched: P::Set,
    channel_islip: Islip<P>,
    switch_islip: Islip<P>,
    /// First virtual channel of the round-robin order at each input of the switch.
    channel_turn: P::Table<u32>,
    /// Matches of the present step: (input channel, virtual channel of an output).
    channel_matches: Vec<(u32, u32)>,
    switch_matches: Vec<u32>,
    /// Flits that have crossed the switch and are on their way to the nodes.
    pub(super) departures: Departures<P>,
}

/// State around the router that a step changes.
pub(super) struct Around<'a, P: Ports> {
    /// Cycle in which a flit that enters the switch in the step has crossed it.
    pub over: Cycle,
    /// Credits for the nodes at inputs.
    pub to_source: &'a mut Counts<P>,
    pub sinks: &'a mut Sinks<P>,
    pub store: &'a mut Store,
}

impl<P: Ports> Router<P> {
    pub(super) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let (fan_in, fan_out) = (spec.input_speedup as usize, spec.output_speedup as usize);
        let input = InputChannel {
            packets: PacketQueue::EMPTY,
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

    /// Adds a packet whose flits will come over the channel.
    #[inline]
    pub(super) fn announce(&mut self, index: usize, id: PacketId, store: &mut Store) {
        self.inputs[index].packets.push(store, id);
    }

    /// Takes the flits that came over the channels of inputs, at most one for each.
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

    /// Makes an input channel active that has a flit again, or makes the request of its first
    /// packet.
    #[inline]
    fn begin(&mut self, at: usize, store: &Store) {
        if self.inputs[at].holds == NONE {
            self.ask(at, store);
        } else {
            self.active.insert(at);
        }
    }

    /// Makes the request of an input channel's first packet for a virtual channel of its output.
    #[inline]
    fn ask(&mut self, at: usize, store: &Store) {
        let input = &mut self.inputs[at];
        if let Some(id) = input.packets.front() {
            let header = store.header(id);
            input.left = header.flits;
            store.fetch_next(header);
            let output = header.output as usize;
            self.wanted_by[output].insert(at);
            self.wanted.insert(output);
            self.asking += 1;
        }
    }

    /// True if a step would do nothing.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.wanted.is_empty() && self.active.is_empty()
    }

    /// Runs one step of the pipeline.
    pub(super) fn step(&mut self, mut around: Around<'_, P>, counters: &mut NocCounters) {
        if self.channels == 1 {
            self.match_outputs(counters);
            self.send_all(&mut around);
        } else {
            self.step_channels(&mut around, counters);
        }
        self.active.take(&mut self.matched);
    }

    /// Stages of a step with several virtual channels.
    #[inline(never)]
    fn step_channels(&mut self, around: &mut Around<'_, P>, counters: &mut NocCounters) {
        self.match_channels(counters);
        self.match_switch(counters);
        self.send_matched(around);
    }

    /// Matches heads with outputs that have one virtual channel each.
    #[inline]
    fn match_outputs(&mut self, counters: &mut NocCounters) {
        // In local variables, because otherwise each write to a table would store them before it.
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

    /// Matches heads with the free virtual channels of their outputs.
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

    /// Gives virtual channel `index` of its output to the first packet of an input channel, which
    /// requests the switch from the next step on.
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

    /// Matches first packets that hold a virtual channel with outputs of the switch.
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

    /// Sends a flit of every active input channel that has a credit. With one virtual channel, a
    /// packet that holds it makes the only request for the switch at its output and at its input,
    /// so that all are matched.
    fn send_all(&mut self, around: &mut Around<'_, P>) {
        each_member!(self.active, at => {
            let output = self.inputs[at].holds as usize;
            if self.credits.any(output) {
                self.send_flit(at, output, output, around);
            }
        });
    }

    /// Sends the flits that are matched with the switch.
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

    /// Sends the first flit of an input channel over the switch, to virtual channel `index` of its
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
            && let Some((id, header)) = source.packets.pop(around.store)
        {
            coming.end(header.bytes);
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
