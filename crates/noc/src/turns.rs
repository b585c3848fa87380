//! Crossbar of GPGPU-Sim 4.x with its simplest arbitration (`-icnt_arbiter_algo 0`): in each cycle
//! the inputs, in round-robin order, send their first packet if its output has room and has not
//! taken one yet. The order begins one port later in every cycle, whatever was sent. The ports of
//! both sides are counted, SMs first, so that input 0 is the first more often than others
//! (`xbar_router::RR_Advance`).

use crate::counters::Counted;
use crate::store::{PacketId, Store};
use warploom_base::{BitSet, FixedQueue};
use warploom_config::NocSpec;
use warploom_state::State;

/// Crossbar with queues at inputs and outputs.
#[derive(Clone, Debug, State)]
pub(crate) struct TurnCrossbar {
    #[state(each)]
    inputs: Box<[FixedQueue<PacketId>]>,
    #[state(each)]
    outputs: Box<[FixedQueue<PacketId>]>,
    /// Inputs that have packets.
    waiting: BitSet,
    /// Outputs that took a packet in the running cycle.
    taken: BitSet,
    /// First port of the round-robin order, inputs counted before outputs.
    first: usize,
    /// Number of packets at inputs.
    at_inputs: u64,
    /// Number of packets at outputs.
    at_outputs: u64,
}

impl TurnCrossbar {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let input = FixedQueue::new(spec.input_buffer as usize);
        let output = FixedQueue::new(spec.output_buffer as usize);
        Self {
            inputs: vec![input; inputs].into(),
            outputs: vec![output; outputs].into(),
            waiting: BitSet::new(inputs),
            taken: BitSet::new(outputs),
            first: 0,
            at_inputs: 0,
            at_outputs: 0,
        }
    }

    /// Counts outputs before inputs. Requires that no cycle has been run.
    pub(crate) fn count_outputs_first(&mut self) {
        self.first = self.inputs.len();
    }

    #[inline]
    pub(crate) fn has_room(&self, input: usize, _flits: u32) -> bool {
        !self.inputs[input].is_full()
    }

    pub(crate) fn inject(&mut self, input: usize, id: PacketId, _store: &mut Store) {
        self.inputs[input].push(id);
        self.waiting.insert(input);
        self.at_inputs += 1;
    }

    pub(crate) fn cycle(&mut self, store: &mut Store, counted: &mut Counted) {
        counted.detail.active_cycles += u64::from(self.at_inputs > 0);
        self.taken.clear();
        let first = self.first;
        let mut next = self.waiting.at_or_after(first);
        while let Some(input) = next {
            self.try_input(input, store, counted);
            next = self.waiting.at_or_after(input + 1);
        }
        let mut next = self.waiting.at_or_after(0);
        while let Some(input) = next.filter(|input| *input < first) {
            self.try_input(input, store, counted);
            next = self.waiting.at_or_after(input + 1);
        }
        counted.detail.input_packet_cycles += self.at_inputs;
        counted.detail.output_packet_cycles += self.at_outputs;
        self.skip(1);
    }

    fn try_input(&mut self, input: usize, store: &Store, counted: &mut Counted) {
        let Some(&id) = self.inputs[input].front() else {
            return;
        };
        let packet = store.header(id);
        let output = packet.output as usize;
        let (is_full, is_taken) = (self.outputs[output].is_full(), self.taken.contains(output));
        counted.detail.full_output_cycles += u64::from(is_full);
        counted.counters.conflicts += u64::from(is_taken);
        if is_full || is_taken {
            return;
        }
        self.inputs[input].pop();
        if self.inputs[input].is_empty() {
            self.waiting.remove(input);
        }
        self.taken.insert(output);
        self.outputs[output].push(id);
        self.at_inputs -= 1;
        self.at_outputs += 1;
        counted.counters.flits += 1;
        counted.counters.bytes += u64::from(packet.bytes);
    }

    pub(crate) fn skip(&mut self, cycles: u64) {
        let ports = self.inputs.len() + self.outputs.len();
        self.first = (self.first + (cycles % ports as u64) as usize) % ports;
    }

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<PacketId> {
        self.outputs[output].front().copied()
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize, _store: &mut Store) -> Option<PacketId> {
        let id = self.outputs[output].pop()?;
        self.at_outputs -= 1;
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::TurnCrossbar;
    use crate::counters::Counted;
    use crate::store::Store;
    use crate::testing::packet;

    /// A crossbar of Volta's buffers.
    fn crossbar(inputs: usize, outputs: usize) -> TurnCrossbar {
        let volta = warploom_config::preset("qv100-volta");
        let spec = volta.unwrap_or_else(|errors| panic!("{errors}")).noc;
        TurnCrossbar::new(&spec, inputs, outputs)
    }

    /// Order in which packets came to output 0, and the statistics.
    fn order(mut net: TurnCrossbar, packets: &[(usize, u32)]) -> (Vec<u32>, Counted) {
        let (mut store, mut counted) = (Store::new(8), Counted::default());
        for &(input, token) in packets {
            let (id, _) = store.lodge(&packet(token), 0, 1, 40);
            net.inject(input, id, &mut store);
        }
        let mut came = Vec::new();
        for _ in packets {
            net.cycle(&mut store, &mut counted);
            let id = net.pop(0, &mut store);
            came.extend(id.map(|id| store.content(id).token));
        }
        (came, counted)
    }

    /// Two inputs and an output: the order begins at port 0, 1, 2 (input 0 comes next), 0, ...
    #[test]
    fn the_order_begins_a_port_later_in_every_cycle() {
        let packets = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 10), (1, 11)];
        let (came, counted) = order(crossbar(2, 1), &packets);
        assert_eq!(came, [0, 10, 1, 2, 11, 3]);
        // While both inputs have packets, one of them is refused: up to the fifth cycle.
        assert_eq!((counted.counters.conflicts, counted.counters.flits), (5, 6));
        assert_eq!(counted.detail.active_cycles, 6);
        // After each cycle one fewer is left: 5 + 4 + 3 + 2 + 1 + 0.
        assert_eq!(counted.detail.input_packet_cycles, 15);
        assert_eq!(counted.detail.output_packet_cycles, 6);
    }

    /// Replies: SMs are ports 0 and 1, the inputs of the partitions 2 and 3. The order begins at
    /// input 0 in cycles 0, 1 and 2, at input 1 in cycle 3, and so on.
    #[test]
    fn in_the_network_of_replies_sms_are_counted_first() {
        let packets = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 10), (1, 11)];
        let mut net = crossbar(2, 2);
        net.count_outputs_first();
        let (came, _) = order(net, &packets);
        assert_eq!(came, [0, 1, 2, 10, 3, 11]);
        let (as_requests, _) = order(crossbar(2, 2), &packets);
        assert_eq!(as_requests, [0, 10, 1, 2, 3, 11]);
    }

    /// The first port of the order also moves on while there is nothing to send.
    #[test]
    fn idle_cycles_move_the_order() {
        let mut net = crossbar(2, 1);
        net.skip(4);
        assert_eq!(net.first, 1);
        net.skip(3 * 1_000_000_007);
        assert_eq!(net.first, 1);
    }
}
