//! Input-queued crossbar with random arbitration. Each input offers its head packet. Of the inputs
//! that want a free output, a random one is connected and keeps the output until the last flit of
//! its packet; the others wait. Under uniform load the throughput falls to 0.586 of the peak as the
//! number of ports grows (M. Karol, M. Hluchyj, S. Morgan, IEEE Transactions on Communications
//! 35(12), 1987).

use crate::NocCounters;
use crate::store::{Lodged, PacketId, Store};
use std::collections::VecDeque;
use warploom_base::{BitSet, FixedQueue, Rng, bits, each_member};
use warploom_config::NocSpec;
use warploom_state::{State, Value};

/// Cycle of an event that has no time yet.
const NEVER: u64 = u64::MAX;

/// An output of the crossbar.
#[derive(Clone, Debug, Value)]
struct Output {
    /// Cycle from which the output can be connected again.
    free_at: u64,
    /// Packets on the way or waiting, each with the cycle of its arrival.
    packets: VecDeque<(u64, PacketId)>,
    /// Number of heads seen in this cycle that want the output; 0 between cycles.
    wanting: u32,
    /// Input of one of those heads, each with the same probability.
    chosen: u32,
}

/// Crossbar with queues at inputs and outputs.
#[derive(Clone, Debug, State)]
pub(crate) struct RandomCrossbar {
    output_room: usize,
    /// Cycles from the last flit to the arrival of the packet, less one.
    extra_cycles: u64,
    #[state(each)]
    inputs: Box<[FixedQueue<Lodged>]>,
    /// Cycle from which an input can be connected again, by input.
    input_free_at: Box<[u64]>,
    /// Inputs that have packets.
    waiting: BitSet,
    outputs: Box<[Output]>,
    /// Cycle in which the first packet of an output arrives, by output; [`NEVER`] if it has none.
    arrives_at: Box<[u64]>,
    /// Outputs that a head wants in this cycle; none between cycles.
    wanted: BitSet,
    rng: Rng,
    now: u64,
}

impl RandomCrossbar {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize, seed: u64) -> Self {
        let output = Output {
            free_at: 0,
            packets: VecDeque::with_capacity(spec.output_buffer as usize),
            wanting: 0,
            chosen: 0,
        };
        Self {
            output_room: spec.output_buffer as usize,
            extra_cycles: u64::from(spec.hop_cycles.saturating_sub(1)),
            inputs: vec![FixedQueue::new(spec.input_buffer as usize); inputs].into(),
            input_free_at: vec![0; inputs].into(),
            waiting: BitSet::new(inputs),
            outputs: vec![output; outputs].into(),
            arrives_at: vec![NEVER; outputs].into(),
            wanted: BitSet::new(outputs),
            rng: Rng::new(seed),
            now: 0,
        }
    }

    #[inline]
    pub(crate) fn has_room(&self, input: usize, _flits: u32) -> bool {
        !self.inputs[input].is_full()
    }

    pub(crate) fn inject(&mut self, input: usize, packet: Lodged) {
        self.inputs[input].push(packet);
        self.waiting.insert(input);
    }

    pub(crate) fn cycle(&mut self, counters: &mut NocCounters) {
        self.request(counters);
        each_member!(self.wanted, output => {
            self.connect(output, counters);
        });
        self.now += 1;
    }

    /// Collects the requests of heads. Each output chooses one of its requesters by reservoir
    /// sampling.
    fn request(&mut self, counters: &mut NocCounters) {
        each_member!(self.waiting, input => {
            if self.input_free_at[input] <= self.now
                && let Some(head) = self.inputs[input].front()
            {
                let number = usize::from(head.output);
                let output = &mut self.outputs[number];
                if output.free_at > self.now || output.packets.len() == self.output_room {
                    counters.conflicts += u64::from(output.free_at > self.now);
                } else {
                    output.wanting += 1;
                    counters.conflicts += u64::from(output.wanting > 1);
                    if output.wanting == 1 || self.rng.below(output.wanting) == 0 {
                        output.chosen = input as u32;
                    }
                    self.wanted.insert(number);
                }
            }
        });
    }

    /// Sends the head of the input that an output has chosen.
    fn connect(&mut self, number: usize, counters: &mut NocCounters) {
        self.wanted.remove(number);
        let output = &mut self.outputs[number];
        output.wanting = 0;
        let input = output.chosen as usize;
        let Some(packet) = self.inputs[input].pop() else {
            return;
        };
        if self.inputs[input].is_empty() {
            self.waiting.remove(input);
        }
        let free_at = self.now + u64::from(packet.flits);
        output.free_at = free_at;
        self.input_free_at[input] = free_at;
        let arrives = free_at + self.extra_cycles;
        output.packets.push_back((arrives, packet.id));
        let first = &mut self.arrives_at[number];
        *first = arrives.min(*first);
        counters.flits += u64::from(packet.flits);
        counters.bytes += u64::from(packet.bytes);
    }

    pub(crate) fn skip(&mut self, cycles: u64) {
        self.now += cycles;
    }

    /// Outputs from 64 x `index` on at which a packet waits, one bit each.
    #[inline]
    pub(crate) fn arrived(&self, index: usize) -> u64 {
        let outputs = self.arrives_at[64 * index..].iter().take(64);
        bits(outputs.map(|arrives| *arrives <= self.now))
    }

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<PacketId> {
        let (arrives, id) = *self.outputs[output].packets.front()?;
        (arrives <= self.now).then_some(id)
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize, _store: &mut Store) -> Option<PacketId> {
        self.front(output)?;
        let packets = &mut self.outputs[output].packets;
        let id = packets.pop_front().map(|(_, id)| id);
        self.arrives_at[output] = packets.front().map_or(NEVER, |(arrives, _)| *arrives);
        id
    }
}
