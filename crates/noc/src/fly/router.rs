//! The router: input-queued, virtual channels, one iteration of iSLIP for virtual channels and one
//! for the switch (BookSim's `iq` router).
//!
//! A step evaluates every stage on what the step before left, then brings it up to date: a head
//! gets its output's virtual channel in one step, asks for the switch from the next, and crosses
//! in the one after that.

use super::{Delayed, PacketId};
use crate::NocCounters;
use crate::ports::{PortSet, each_port};
use std::collections::VecDeque;
use warploom_config::NocSpec;

const NONE: u32 = u32::MAX;

/// A packet in an input buffer.
#[derive(Clone, Copy, Debug)]
struct Queued {
    id: PacketId,
    output: u32,
    flits: u32,
    /// Flits that have come.
    arrived: u32,
    /// Flits that have gone.
    sent: u32,
}

/// A virtual channel of an input.
#[derive(Clone, Debug)]
struct InputChannel {
    packets: VecDeque<Queued>,
    /// Virtual channel of the output that the first packet holds, by output and channel.
    holds: u32,
}

/// A virtual channel of an output.
#[derive(Clone, Copy, Debug)]
struct OutputChannel {
    credits: u32,
    is_held: bool,
}

/// A flit that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlitOut {
    /// Output and virtual channel.
    pub(super) index: u32,
    pub(super) id: PacketId,
    pub(super) is_tail: bool,
}

/// What an arbiter has chosen so far: the request that comes first in turn.
#[derive(Clone, Copy, Debug)]
struct Choice {
    distance: u32,
    who: u32,
    channel: u32,
}

const NOBODY: Choice = Choice {
    distance: NONE,
    who: NONE,
    channel: NONE,
};

/// Round-robin pointers and choices of one allocator's two sides.
#[derive(Clone, Debug)]
struct Islip {
    grant_turn: Box<[u32]>,
    accept_turn: Box<[u32]>,
    grants: Box<[Choice]>,
    accepts: Box<[Choice]>,
    granting: Vec<u32>,
    accepting: Vec<u32>,
    /// Each input asks for at most one output in an iteration.
    one_request: bool,
}

impl Islip {
    fn new(inputs: usize, outputs: usize, one_request: bool) -> Self {
        Self {
            one_request,
            grant_turn: vec![0; outputs].into(),
            accept_turn: vec![0; inputs].into(),
            grants: vec![NOBODY; outputs].into(),
            accepts: vec![NOBODY; inputs].into(),
            granting: Vec::with_capacity(outputs),
            accepting: Vec::with_capacity(inputs),
        }
    }

    /// `input` asks for `output` on behalf of `channel`; `before` says whether that channel goes
    /// before another of the same input.
    #[inline]
    fn request(&mut self, input: u32, output: u32, channel: u32, before: impl Fn(u32) -> bool) {
        let inputs = self.accept_turn.len() as u32;
        let distance = turns(input, self.grant_turn[output as usize], inputs);
        let grant = &mut self.grants[output as usize];
        if grant.who == NONE {
            self.granting.push(output);
        }
        if distance < grant.distance || distance == grant.distance && before(grant.channel) {
            *grant = Choice {
                distance,
                who: input,
                channel,
            };
        }
    }

    /// Inputs accept one of their grants each; calls `matched` with (channel, output).
    fn allocate(&mut self, matched: impl FnMut(u32, u32)) -> u32 {
        if self.one_request {
            self.allocate_granted(matched)
        } else {
            self.allocate_accepted(matched)
        }
    }

    /// Where each input asks once it has one grant at most, and accepts it.
    fn allocate_granted(&mut self, mut matched: impl FnMut(u32, u32)) -> u32 {
        let outputs = self.grant_turn.len() as u32;
        let inputs = self.accept_turn.len() as u32;
        let count = self.granting.len() as u32;
        for output in self.granting.drain(..) {
            let Choice { who, channel, .. } =
                std::mem::replace(&mut self.grants[output as usize], NOBODY);
            self.grant_turn[output as usize] = after(who, inputs);
            self.accept_turn[who as usize] = after(output, outputs);
            matched(channel, output);
        }
        count
    }

    fn allocate_accepted(&mut self, mut matched: impl FnMut(u32, u32)) -> u32 {
        let outputs = self.grant_turn.len() as u32;
        for output in self.granting.drain(..) {
            let Choice { who, channel, .. } =
                std::mem::replace(&mut self.grants[output as usize], NOBODY);
            let distance = turns(output, self.accept_turn[who as usize], outputs);
            let accept = &mut self.accepts[who as usize];
            if accept.who == NONE {
                self.accepting.push(who);
            }
            if distance < accept.distance {
                *accept = Choice {
                    distance,
                    who: output,
                    channel,
                };
            }
        }
        let inputs = self.accept_turn.len() as u32;
        let count = self.accepting.len() as u32;
        for input in self.accepting.drain(..) {
            let accept = std::mem::replace(&mut self.accepts[input as usize], NOBODY);
            self.grant_turn[accept.who as usize] = after(input, inputs);
            self.accept_turn[input as usize] = after(accept.who, outputs);
            matched(accept.channel, accept.who);
        }
        count
    }
}

/// The port after `port`.
#[inline]
const fn after(port: u32, ports: u32) -> u32 {
    if port + 1 == ports { 0 } else { port + 1 }
}

/// Steps from `first` on to `port`.
#[inline]
const fn turns(port: u32, first: u32, ports: u32) -> u32 {
    if port >= first {
        port - first
    } else {
        port + ports - first
    }
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
pub(super) struct Router {
    channels: u32,
    input_speedup: u32,
    output_speedup: u32,
    /// Steps that a flit takes over the switch.
    switch_steps: u64,
    inputs: Box<[InputChannel]>,
    outputs: Box<[OutputChannel]>,
    /// Input channels whose first packet needs an output's virtual channel.
    routing: PortSet,
    /// Input channels whose first packet has one, and a flit here.
    active: PortSet,
    channel_islip: Islip,
    switch_islip: Islip,
    /// Virtual channel that goes first at each input of the switch.
    channel_turn: Box<[u32]>,
    /// Matches of the running step, (input channel, output).
    channel_matches: Vec<(u32, u32)>,
    switch_matches: Vec<u32>,
    crossing: VecDeque<(u64, FlitOut)>,
    queues: Box<[VecDeque<FlitOut>]>,
    /// Outputs with flits queued.
    leaving: PortSet,
    steps: u64,
}

/// Steps of the pipeline before the switch: virtual channel, switch allocation.
const ALLOCATION_STEPS: u32 = 2;

impl Router {
    pub(super) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let (fan_in, fan_out) = (spec.input_speedup as usize, spec.output_speedup as usize);
        let input = InputChannel {
            packets: VecDeque::with_capacity(spec.input_buffer as usize),
            holds: NONE,
        };
        let output = OutputChannel {
            credits: spec.output_buffer,
            is_held: false,
        };
        let queue = VecDeque::with_capacity(2 * spec.output_buffer as usize);
        Self {
            channels: spec.virtual_channels,
            input_speedup: spec.input_speedup,
            output_speedup: spec.output_speedup,
            switch_steps: u64::from(spec.hop_cycles.saturating_sub(ALLOCATION_STEPS).max(1)),
            inputs: vec![input; inputs * channels].into(),
            outputs: vec![output; outputs * channels].into(),
            routing: PortSet::new(inputs * channels),
            active: PortSet::new(inputs * channels),
            channel_islip: Islip::new(inputs * channels, outputs * channels, channels == 1),
            switch_islip: Islip::new(inputs * fan_in, outputs * fan_out, channels == 1),
            channel_turn: (0..inputs * fan_in)
                .map(|input| (input % fan_in) as u32)
                .collect(),
            channel_matches: Vec::with_capacity(inputs * channels),
            switch_matches: Vec::with_capacity(inputs * fan_in),
            crossing: VecDeque::with_capacity(inputs * fan_in),
            queues: vec![queue; outputs].into(),
            leaving: PortSet::new(outputs),
            steps: 0,
        }
    }

    /// A flit came over the channel.
    pub(super) fn arrive(&mut self, index: u32, id: PacketId, output: u32, flits: u32) {
        let at = index as usize;
        let input = &mut self.inputs[at];
        match input.packets.back_mut() {
            Some(last) if last.id == id && last.arrived < last.flits => last.arrived += 1,
            _ => {
                input.packets.push_back(Queued {
                    id,
                    output,
                    flits,
                    arrived: 1,
                    sent: 0,
                });
                if input.packets.len() == 1 {
                    self.routing.insert(at);
                }
            }
        }
        if input.packets.len() == 1 && input.holds != NONE {
            self.active.insert(at);
        }
    }

    /// The node at an output has room for one more flit.
    #[inline]
    pub(super) fn credit(&mut self, index: u32) {
        self.outputs[index as usize].credits += 1;
    }

    /// One step of the pipeline. Credits for the inputs go into `to_source`.
    pub(super) fn step(&mut self, to_source: &mut Delayed<u32>, counters: &mut NocCounters) {
        self.steps += 1;
        self.match_channels(counters);
        self.match_switch(counters);
        self.cross();
        self.take_channels();
        self.send_over_switch(to_source);
    }

    /// Heads ask for the free virtual channels of their outputs.
    fn match_channels(&mut self, counters: &mut NocCounters) {
        let mut asking = 0;
        each_port!(self.routing, at => {
            asking += 1;
            let Some(head) = self.inputs[at].packets.front() else {
                continue;
            };
            for channel in 0..self.channels {
                let index = head.output * self.channels + channel;
                if !self.outputs[index as usize].is_held {
                    self.channel_islip
                        .request(at as u32, index, at as u32, |_| false);
                }
            }
        });
        if asking > 0 {
            let matches = &mut self.channel_matches;
            let matched = self
                .channel_islip
                .allocate(|channel, output| matches.push((channel, output)));
            counters.conflicts += u64::from(asking - matched);
        }
    }

    /// First packets with a virtual channel ask for the switch.
    fn match_switch(&mut self, counters: &mut NocCounters) {
        let mut asking = 0;
        each_port!(self.active, at => {
            let holds = self.inputs[at].holds;
            if self.outputs[holds as usize].credits == 0 {
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

    /// Flits that are over the switch join their outputs' queues.
    fn cross(&mut self) {
        while let Some(&(due, flit)) = self.crossing.front()
            && due <= self.steps
        {
            self.crossing.pop_front();
            let output = split(flit.index, self.channels).0 as usize;
            self.queues[output].push_back(flit);
            self.leaving.insert(output);
        }
    }

    fn take_channels(&mut self) {
        for (at, output) in self.channel_matches.drain(..) {
            self.outputs[output as usize].is_held = true;
            self.inputs[at as usize].holds = output;
            self.routing.remove(at as usize);
            self.active.insert(at as usize);
        }
    }

    fn send_over_switch(&mut self, to_source: &mut Delayed<u32>) {
        while let Some(at) = self.switch_matches.pop() {
            to_source.send(at);
            self.send_flit(at as usize);
        }
    }

    fn send_flit(&mut self, at: usize) {
        let (input, channel) = split(at as u32, self.channels);
        let row = input * self.input_speedup + split(channel, self.input_speedup).1;
        self.channel_turn[row as usize] = split(channel + self.input_speedup, self.channels).1;
        let source = &mut self.inputs[at];
        let holds = source.holds;
        let Some(head) = source.packets.front_mut() else {
            return;
        };
        head.sent += 1;
        let is_tail = head.sent == head.flits;
        let flit = FlitOut {
            index: holds,
            id: head.id,
            is_tail,
        };
        let has_more = head.arrived > head.sent;
        let output = &mut self.outputs[holds as usize];
        output.credits -= 1;
        if is_tail {
            output.is_held = false;
            source.holds = NONE;
            source.packets.pop_front();
            if !source.packets.is_empty() {
                self.routing.insert(at);
            }
        }
        if is_tail || !has_more {
            self.active.remove(at);
        }
        self.crossing
            .push_back((self.steps + self.switch_steps, flit));
    }

    /// Each output queue gives one flit to `leave`.
    #[inline]
    pub(super) fn drain(&mut self, mut leave: impl FnMut(FlitOut)) {
        each_port!(self.leaving, output => {
            if let Some(flit) = self.queues[output].pop_front() {
                leave(flit);
            }
            if self.queues[output].is_empty() {
                self.leaving.remove(output);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Islip, after, split, turns};

    /// Matches of one iteration, (input, output), where every pair in `wants` asks.
    fn matches(islip: &mut Islip, wants: &[(u32, u32)]) -> Vec<(u32, u32)> {
        for &(input, output) in wants {
            islip.request(input, output, input, |_| false);
        }
        let mut matched = Vec::new();
        islip.allocate(|input, output| matched.push((input, output)));
        matched.sort_unstable();
        matched
    }

    /// McKeown 1999, section III: at first all outputs grant the same input, which accepts one.
    /// Pointers move only where a grant is accepted, so they slip apart: from the second iteration
    /// on two of two are matched.
    #[test]
    fn pointers_slip_apart() {
        let mut islip = Islip::new(2, 2, false);
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)];
        assert_eq!(matches(&mut islip, &all), [(0, 0)]);
        for round in 0..4 {
            let expected = if round % 2 == 0 {
                [(0, 1), (1, 0)]
            } else {
                [(0, 0), (1, 1)]
            };
            assert_eq!(matches(&mut islip, &all), expected, "{round}");
        }
    }

    /// An output that was not accepted grants the same input again.
    #[test]
    fn a_refused_output_keeps_its_turn() {
        let mut islip = Islip::new(3, 2, false);
        // Input 0 accepts output 0; output 1 granted it too.
        assert_eq!(matches(&mut islip, &[(0, 0), (0, 1), (2, 1)]), [(0, 0)]);
        assert_eq!(matches(&mut islip, &[(0, 1), (2, 1)]), [(0, 1)]);
        // Now it was accepted: input 1 is first in turn, and 2 comes before 0.
        assert_eq!(matches(&mut islip, &[(0, 1), (2, 1)]), [(2, 1)]);
    }

    /// Where each input asks once, the shorter way comes to the same matches in every round.
    #[test]
    fn single_requests_need_no_accepting() {
        let (mut long, mut short) = (Islip::new(4, 3, false), Islip::new(4, 3, true));
        for round in 0..200_u32 {
            let wants: Vec<_> = (0..4)
                .filter(|input| round >> input & 1 == 0)
                .map(|input| (input, (round / 3 + input * round) % 3))
                .collect();
            assert_eq!(
                matches(&mut short, &wants),
                matches(&mut long, &wants),
                "{wants:?}"
            );
            assert_eq!(short.grant_turn, long.grant_turn);
            assert_eq!(short.accept_turn, long.accept_turn);
        }
    }

    /// Of two channels of one input the one that goes before is granted, whichever asks first.
    #[test]
    fn channels_of_an_input_take_turns() {
        for order in [[4, 5], [5, 4]] {
            let mut islip = Islip::new(2, 2, false);
            for channel in order {
                islip.request(1, 0, channel, |other| (channel, other) == (5, 4));
            }
            let mut granted = Vec::new();
            assert_eq!(islip.allocate(|channel, _| granted.push(channel)), 1);
            assert_eq!(granted, [5]);
        }
    }

    #[test]
    fn turns_go_round() {
        assert_eq!([0, 1, 2].map(|port| after(port, 3)), [1, 2, 0]);
        assert_eq!([0, 1, 2].map(|port| turns(port, 1, 3)), [2, 0, 1]);
        assert_eq!([split(7, 1), split(7, 2)], [(7, 0), (3, 1)]);
    }
}
