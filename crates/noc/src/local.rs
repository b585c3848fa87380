//! Built-in crossbar of GPGPU-Sim 4.x: a packet is one flit, inputs and outputs have queues, and
//! each output takes one packet a cycle from the inputs in round-robin order (one iteration of
//! iSLIP: N. McKeown, IEEE/ACM Transactions on Networking 7(2), 1999; docs/model/network.md, Local
//! crossbar).
//!
//! Outputs choose in order of their numbers, so that an input whose head was taken may send its
//! next packet to a later output in the same cycle.

use crate::counters::Counted;
use crate::store::{Lodged, PacketId, Store};
use warploom_base::{BitSet, FixedQueue};
use warploom_config::NocSpec;
use warploom_state::{State, Value};

/// A set of inputs for each output, all next to each other in memory.
#[derive(Clone, Debug, Value)]
struct InputSets {
    /// Number of words of a set.
    words: usize,
    bits: Box<[u64]>,
}

impl InputSets {
    fn new(inputs: usize, outputs: usize) -> Self {
        let words = inputs.div_ceil(64);
        Self {
            words,
            bits: vec![0; words * outputs].into(),
        }
    }

    /// Set of an output.
    #[inline]
    fn of(&mut self, output: usize) -> &mut [u64] {
        &mut self.bits[self.words * output..][..self.words]
    }

    #[inline]
    fn insert(&mut self, output: usize, input: usize) {
        self.of(output)[input / 64] |= 1 << (input % 64);
    }

    /// Removes an input from the set of an output. Returns whether the set is empty then.
    #[inline]
    fn remove(&mut self, output: usize, input: usize) -> bool {
        let set = self.of(output);
        set[input / 64] &= !(1 << (input % 64));
        set.iter().all(|word| *word == 0)
    }

    /// Round-robin search in the set of an output: the first input from `from` on, else the first.
    #[inline]
    fn in_turn(&mut self, output: usize, from: usize) -> Option<usize> {
        let (first, set) = (from / 64, self.of(output));
        let input = |index: usize, word: u64| 64 * index + word.trailing_zeros() as usize;
        let after = set[first] & !0 << (from % 64);
        if after != 0 {
            return Some(input(first, after));
        }
        let mut others = (first + 1..set.len()).chain(0..=first);
        let index = others.find(|index| set[*index] != 0)?;
        Some(input(index, set[index]))
    }
}

/// Crossbar with queues at inputs and outputs.
#[derive(Clone, Debug, State)]
pub(crate) struct LocalCrossbar {
    #[state(each)]
    inputs: Box<[FixedQueue<Lodged>]>,
    #[state(each)]
    outputs: Box<[FixedQueue<PacketId>]>,
    /// Outputs with a packet.
    arrived: BitSet,
    /// Inputs whose head wants an output, by output.
    wanted_by: InputSets,
    /// Outputs that a head wants.
    wanted: BitSet,
    /// Number of inputs with a packet, each of which has a head.
    heads: u64,
    /// First input of each output's round-robin order.
    next: Box<[usize]>,
    /// Number of packets at inputs.
    at_inputs: u64,
    /// Number of packets at outputs.
    at_outputs: u64,
    /// Outputs without room for a packet.
    full: BitSet,
}

impl LocalCrossbar {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let input = FixedQueue::new(spec.input_buffer as usize);
        let output = FixedQueue::new(spec.output_buffer as usize);
        Self {
            inputs: vec![input; inputs].into(),
            outputs: vec![output; outputs].into(),
            arrived: BitSet::new(outputs),
            wanted_by: InputSets::new(inputs, outputs),
            wanted: BitSet::new(outputs),
            heads: 0,
            next: vec![0; outputs].into(),
            at_inputs: 0,
            at_outputs: 0,
            full: BitSet::new(outputs),
        }
    }

    #[inline]
    pub(crate) fn has_room(&self, input: usize, _flits: u32) -> bool {
        !self.inputs[input].is_full()
    }

    pub(crate) fn inject(&mut self, input: usize, packet: Lodged) {
        if self.inputs[input].is_empty() {
            self.want(input, packet.output.into());
            self.heads += 1;
        }
        self.inputs[input].push(packet);
        self.at_inputs += 1;
    }

    #[inline]
    fn want(&mut self, input: usize, output: usize) {
        self.wanted_by.insert(output, input);
        self.wanted.insert(output);
    }

    pub(crate) fn cycle(&mut self, store: &mut Store, counted: &mut Counted) {
        counted.detail.active_cycles += u64::from(self.at_inputs > 0);
        counted.detail.full_output_cycles += u64::from(self.full.len());
        // Counted before any head moves, as GPGPU-Sim 4.2 does: a packet that becomes head in this
        // cycle causes no conflict in it.
        counted.counters.conflicts += self.heads - u64::from(self.wanted.len());
        for index in 0..self.wanted.words() {
            let mut left = !0;
            // A grant may make a later output wanted.
            while let word @ 1.. = self.wanted.word(index) & !self.full.word(index) & left {
                let bit = word.trailing_zeros();
                left = !1 << bit;
                self.grant(64 * index + bit as usize, store, counted);
            }
        }
        counted.detail.input_packet_cycles += self.at_inputs;
        counted.detail.output_packet_cycles += self.at_outputs;
    }

    /// An output with room takes the head of an input in turn.
    fn grant(&mut self, output: usize, store: &Store, counted: &mut Counted) {
        let Some(input) = self.wanted_by.in_turn(output, self.next[output]) else {
            return;
        };
        let Some(Lodged { id, bytes, .. }) = self.inputs[input].pop() else {
            return;
        };
        if self.wanted_by.remove(output, input) {
            self.wanted.remove(output);
        }
        match self.inputs[input].front() {
            Some(next) => self.want(input, next.output.into()),
            None => self.heads -= 1,
        }
        let is_last = input + 1 == self.inputs.len();
        self.next[output] = if is_last { 0 } else { input + 1 };
        if self.outputs[output].is_empty() {
            self.arrived.insert(output);
            store.fetch(id);
        }
        self.outputs[output].push(id);
        self.at_inputs -= 1;
        self.at_outputs += 1;
        if self.outputs[output].is_full() {
            self.full.insert(output);
        }
        counted.counters.flits += 1;
        counted.counters.bytes += u64::from(bytes);
    }

    pub(crate) fn skip(&mut self, _cycles: u64) {}

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<PacketId> {
        self.outputs[output].front().copied()
    }

    /// Outputs from 64 `index` to 64 `index` + 63 at which a packet waits, as bits.
    #[inline]
    pub(crate) fn arrived(&self, index: usize) -> u64 {
        self.arrived.word(index)
    }

    /// Takes the packet that waits at an output, and prefetches the next one.
    #[inline]
    pub(crate) fn pop(&mut self, output: usize, store: &mut Store) -> Option<PacketId> {
        let id = self.outputs[output].pop()?;
        match self.outputs[output].front() {
            Some(next) => store.fetch(*next),
            None => self.arrived.remove(output),
        }
        self.at_outputs -= 1;
        self.full.remove(output);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::LocalCrossbar;
    use crate::counters::Counted;
    use crate::store::{Lodged, Store};
    use crate::testing::packet;

    /// A crossbar of `ports` inputs and outputs with its packets and statistics.
    struct Bench {
        net: LocalCrossbar,
        store: Store,
        counted: Counted,
        ports: usize,
    }

    impl Bench {
        fn new(ports: usize) -> Self {
            let volta = warploom_config::preset("qv100-volta");
            let spec = volta.unwrap_or_else(|errors| panic!("{errors}")).noc;
            Self {
                net: LocalCrossbar::new(&spec, ports, ports),
                store: Store::new(8),
                counted: Counted::default(),
                ports,
            }
        }

        fn inject(&mut self, input: usize, token: u32, output: u32) {
            let (id, _) = self.store.lodge(&packet(token), output, 1, 40);
            self.net.inject(input, Lodged::new(id, output, 1, 40));
        }

        /// Runs one cycle. Returns the token of the packet that left at each output.
        fn cycle(&mut self) -> Vec<Option<u32>> {
            let Self { net, store, .. } = self;
            net.cycle(store, &mut self.counted);
            let came = |output| net.pop(output, store).map(|id| store.content(id).token);
            (0..self.ports).map(came).collect()
        }
    }

    /// The input after the one that was served last comes first.
    #[test]
    fn inputs_take_turns_at_an_output() {
        let mut bench = Bench::new(3);
        for round in 0..2 {
            (0..3).for_each(|input| bench.inject(input, 10 * round + input as u32, 1));
        }
        let came: Vec<_> = (0..6).map(|_| bench.cycle()[1]).collect();
        assert_eq!(came, [0, 1, 2, 10, 11, 12].map(Some));
        // Three heads want the output, then always three again, then two, then one.
        assert_eq!(bench.counted.counters.conflicts, 2 + 2 + 2 + 2 + 1);
        assert_eq!(
            (bench.counted.counters.flits, bench.counted.counters.bytes),
            (6, 6 * 40)
        );
    }

    /// Outputs choose in order, so that the packet after a head may leave in the head's cycle to a
    /// later output, and not to an earlier one.
    #[test]
    fn the_packet_after_a_head_may_go_to_a_later_output() {
        let mut bench = Bench::new(3);
        for (token, output) in [(0, 0), (1, 2), (2, 1)] {
            bench.inject(0, token, output);
        }
        assert_eq!(bench.cycle(), [Some(0), None, Some(1)]);
        assert_eq!(bench.cycle(), [None, Some(2), None]);
    }

    /// Heads want outputs 0, 1 and 1: one conflict. The packet that becomes head when the first one
    /// leaves goes to output 1 in the same cycle and does not count in it; then two heads are left,
    /// then one.
    #[test]
    fn conflicts_are_counted_before_heads_move() {
        let mut bench = Bench::new(3);
        for (token, input, output) in [(0, 0, 0), (1, 0, 1), (10, 1, 1), (20, 2, 1)] {
            bench.inject(input, token, output);
        }
        assert_eq!(bench.cycle(), [Some(0), Some(1), None]);
        assert_eq!(bench.counted.counters.conflicts, 1);
        assert_eq!(bench.cycle()[1], Some(10));
        assert_eq!(bench.counted.counters.conflicts, 2);
        assert_eq!(bench.cycle()[1], Some(20));
        assert_eq!(bench.counted.counters.conflicts, 2);
    }

    /// Output 0 of two is never emptied. A packet a cycle crosses until the output is full; the
    /// other packets stay at the input.
    #[test]
    fn buffers_are_counted_as_they_fill() {
        let mut bench = Bench::new(2);
        let room = bench.net.outputs[0].room() as u64;
        let (mut sent, mut inputs, mut outputs) = (0, 0, 0);
        for cycle in 1..=room + 10 {
            while bench.net.has_room(1, 1) && sent < room + 5 {
                bench.inject(1, 0, 0);
                sent += 1;
            }
            bench.net.cycle(&mut bench.store, &mut bench.counted);
            let over = cycle.min(room);
            inputs += sent - over;
            outputs += over;
        }
        assert_eq!(bench.counted.detail.active_cycles, room + 10);
        assert_eq!(bench.counted.detail.full_output_cycles, 10);
        assert_eq!(bench.counted.detail.input_packet_cycles, inputs);
        assert_eq!(bench.counted.detail.output_packet_cycles, outputs);
        assert!(bench.net.pop(0, &mut bench.store).is_some());
        bench.net.cycle(&mut bench.store, &mut bench.counted);
        assert_eq!(
            bench.counted.detail.full_output_cycles, 10,
            "there is room again"
        );
    }
}
