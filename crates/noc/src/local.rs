//! The built-in crossbar of GPGPU-Sim 4.x: a packet is one flit, inputs and outputs have queues,
//! and each output takes one packet a cycle, inputs in turn (one iteration of iSLIP: N. McKeown,
//! IEEE/ACM Transactions on Networking 7(2), 1999).
//!
//! Outputs choose in order of their number, so an input whose head was taken may send its next
//! packet to a later output in the same cycle.

use crate::ports::PortSet;
use crate::{NocCounters, Packet};
use warploom_base::FixedQueue;
use warploom_config::NocSpec;
use warploom_mem::Request;

/// The crossbar.
#[derive(Clone, Debug)]
pub(crate) struct LocalCrossbar {
    inputs: Box<[FixedQueue<Packet>]>,
    outputs: Box<[FixedQueue<Request>]>,
    /// Inputs whose head wants each output.
    wanted_by: Box<[PortSet]>,
    /// Outputs that some head wants.
    wanted: PortSet,
    /// Input at which each output's turn starts.
    next: Box<[usize]>,
}

impl LocalCrossbar {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let input = FixedQueue::new(spec.input_buffer as usize);
        let output = FixedQueue::new(spec.output_buffer as usize);
        Self {
            inputs: vec![input; inputs].into(),
            outputs: vec![output; outputs].into(),
            wanted_by: vec![PortSet::new(inputs); outputs].into(),
            wanted: PortSet::new(outputs),
            next: vec![0; outputs].into(),
        }
    }

    #[inline]
    pub(crate) fn can_inject(&self, input: usize, _bytes: u32) -> bool {
        !self.inputs[input].is_full()
    }

    pub(crate) fn inject(&mut self, input: usize, packet: Packet) {
        if self.inputs[input].is_empty() {
            self.want(input, packet.output as usize);
        }
        self.inputs[input].push(packet);
    }

    #[inline]
    fn want(&mut self, input: usize, output: usize) {
        self.wanted_by[output].insert(input);
        self.wanted.insert(output);
    }

    pub(crate) fn cycle(&mut self, counters: &mut NocCounters) {
        let mut from = 0;
        while let Some(output) = self.wanted.at_or_after(from) {
            from = output + 1;
            counters.conflicts += u64::from(self.wanted_by[output].len() - 1);
            if !self.outputs[output].is_full() {
                self.grant(output, counters);
            }
        }
    }

    fn grant(&mut self, output: usize, counters: &mut NocCounters) {
        let Some(input) = self.wanted_by[output].in_turn(self.next[output]) else {
            return;
        };
        let Some(packet) = self.inputs[input].pop() else {
            return;
        };
        self.wanted_by[output].remove(input);
        if self.wanted_by[output].is_empty() {
            self.wanted.remove(output);
        }
        if let Some(&Packet { output, .. }) = self.inputs[input].front() {
            self.want(input, output as usize);
        }
        self.next[output] = (input + 1) % self.inputs.len();
        self.outputs[output].push(packet.request);
        counters.flits += 1;
        counters.bytes += u64::from(packet.bytes);
    }

    pub(crate) fn skip(&mut self, _cycles: u64) {}

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<&Request> {
        self.outputs[output].front()
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize) -> Option<Request> {
        self.outputs[output].pop()
    }
}
