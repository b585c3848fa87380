//! Input-queued crossbar with random arbitration. Each input offers its head packet. Of the inputs
//! that want a free output, a random one is connected and keeps the output until the last flit of
//! its packet; the others wait. Under uniform load the throughput falls to 0.586 of the peak as the
//! number of ports grows (M. Karol, M. Hluchyj, S. Morgan, IEEE Transactions on Communications
//! 35(12), 1987).

use crate::NocCounters;
use crate::store::{PacketId, Store};
use std::collections::VecDeque;
use warploom_base::{BitSet, FixedQueue, Rng};
use warploom_config::NocSpec;
use warploom_state::{State, Value};

/// An output of the crossbar.
#[derive(Clone, Debug, Value)]
struct Output {
    /// Cycle from which the output can be connected again.
    free_at: u64,
    /// Packets on the way or waiting, each with the cycle of its arrival.
    packets: VecDeque<(u64, PacketId)>,
    /// Number of heads seen in this cycle that want the output.
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
    inputs: Box<[FixedQueue<PacketId>]>,
    /// Cycle from which an input can be connected again, by input.
    input_free_at: Box<[u64]>,
    /// Inputs that have packets.
    waiting: BitSet,
    outputs: Box<[Output]>,
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
            rng: Rng::new(seed),
            now: 0,
        }
    }

    #[inline]
    pub(crate) fn has_room(&self, input: usize, _flits: u32) -> bool {
        !self.inputs[input].is_full()
    }

    pub(crate) fn inject(&mut self, input: usize, id: PacketId, _store: &mut Store) {
        self.inputs[input].push(id);
        self.waiting.insert(input);
    }

    pub(crate) fn cycle(&mut self, store: &mut Store, counters: &mut NocCounters) {
        self.request(store, counters);
        let mut from = 0;
        while let Some(input) = self.waiting.at_or_after(from) {
            from = input + 1;
            if self.is_chosen(input, store) {
                self.connect(input, store, counters);
            }
        }
        self.now += 1;
    }

    /// Collects the requests of heads. Each output chooses one of its requesters by reservoir
    /// sampling.
    fn request(&mut self, store: &Store, counters: &mut NocCounters) {
        for output in &mut self.outputs {
            output.wanting = 0;
        }
        let mut from = 0;
        while let Some(input) = self.waiting.at_or_after(from) {
            from = input + 1;
            if self.input_free_at[input] > self.now {
                continue;
            }
            let Some(&id) = self.inputs[input].front() else {
                continue;
            };
            let output = &mut self.outputs[store.header(id).output as usize];
            if output.free_at > self.now || output.packets.len() == self.output_room {
                counters.conflicts += u64::from(output.free_at > self.now);
                continue;
            }
            output.wanting += 1;
            counters.conflicts += u64::from(output.wanting > 1);
            if output.wanting == 1 || self.rng.below(output.wanting) == 0 {
                output.chosen = input as u32;
            }
        }
    }

    /// True if the head of an input was chosen by its output.
    fn is_chosen(&self, input: usize, store: &Store) -> bool {
        self.inputs[input].front().is_some_and(|id| {
            let output = &self.outputs[store.header(*id).output as usize];
            output.wanting > 0 && output.chosen as usize == input
        })
    }

    /// Sends the head of an input to its output.
    fn connect(&mut self, input: usize, store: &Store, counters: &mut NocCounters) {
        let Some(id) = self.inputs[input].pop() else {
            return;
        };
        if self.inputs[input].is_empty() {
            self.waiting.remove(input);
        }
        let packet = store.header(id);
        let flits = u64::from(packet.flits);
        let output = &mut self.outputs[packet.output as usize];
        output.wanting = 0;
        output.free_at = self.now + flits;
        self.input_free_at[input] = self.now + flits;
        let arrives = self.now + flits + self.extra_cycles;
        output.packets.push_back((arrives, id));
        counters.flits += flits;
        counters.bytes += u64::from(packet.bytes);
    }

    pub(crate) fn skip(&mut self, cycles: u64) {
        self.now += cycles;
    }

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<PacketId> {
        let (arrives, id) = *self.outputs[output].packets.front()?;
        (arrives <= self.now).then_some(id)
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize, _store: &mut Store) -> Option<PacketId> {
        self.front(output)?;
        self.outputs[output].packets.pop_front().map(|(_, id)| id)
    }
}
