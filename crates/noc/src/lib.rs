//! Timing of the interconnect between SMs and memory partitions.
//!
//! One `Network` is one direction: requests (inputs are SMs, outputs are sub-partitions) or
//! replies (the reverse). A GPU has two.

use warploom_base::Cycle;
use warploom_config::NocSpec;
use warploom_mem::Request;

/// Counters of one network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NocCounters {
    /// Network cycles.
    pub cycles: u64,
    /// Packets injected.
    pub packets: u64,
    /// Flits that crossed the switch.
    pub flits: u64,
    /// Bytes of delivered packets.
    pub bytes: u64,
    /// Heads that wanted an output another input got, summed over cycles.
    pub conflicts: u64,
}

/// One direction of the interconnect.
#[derive(Clone, Debug)]
pub struct Network {}

impl Network {
    /// An empty network.
    pub fn new(spec: &NocSpec, inputs: usize, outputs: usize, seed: u64) -> Self {
        let _ = (spec, inputs, outputs, seed);
        todo!()
    }
    /// A packet of `bytes` fits the input's buffer.
    pub fn can_inject(&self, input: usize, bytes: u32) -> bool {
        let _ = (input, bytes);
        todo!()
    }
    /// Puts a packet of `bytes` into an input's buffer. Requires `can_inject`.
    pub fn inject(&mut self, input: usize, output: usize, request: Request, bytes: u32) {
        let _ = (input, output, request, bytes);
        todo!()
    }
    /// One network cycle.
    pub fn cycle(&mut self) {
        todo!()
    }
    /// Accounts for cycles not run while idle.
    pub fn skip(&mut self, cycles: Cycle) {
        let _ = cycles;
        todo!()
    }
    /// Packet waiting at an output.
    pub fn front(&self, output: usize) -> Option<&Request> {
        let _ = output;
        todo!()
    }
    /// Takes the packet waiting at an output.
    pub fn pop(&mut self, output: usize) -> Option<Request> {
        let _ = output;
        todo!()
    }
    /// No packet inside, outputs included.
    pub fn is_idle(&self) -> bool {
        todo!()
    }
    /// Counters so far.
    pub fn counters(&self) -> &NocCounters {
        todo!()
    }
}
