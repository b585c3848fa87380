//! Timing of the interconnect between SMs and memory partitions (docs/model/network.md).
//!
//! A [`Network`] is one direction: requests (inputs are SMs, outputs are sub-partitions) or replies
//! (the reverse). A GPU has two.
//!
//! Invariants: every packet injected leaves once, at its output; packets from one input to one
//! output and virtual channel keep their order; nothing is allocated once queues have reached their
//! largest lengths and the packets in flight their largest number.

mod counters;
mod fly;
mod local;
mod random;
mod saturation;
mod store;
#[cfg(test)]
mod testing;
mod turns;

pub use counters::{Direction, NocCounters, NocDetail};
pub use saturation::{saturated_throughput, sustainable};
pub use store::{Lodged, PacketId};

use counters::Counted;
use fly::{Few, Fly, Many, is_small};
use local::LocalCrossbar;
use random::RandomCrossbar;
use store::Store;
use turns::TurnCrossbar;
use warploom_base::bits;
use warploom_config::{NocKind, NocSpec};
use warploom_mem::Request;
use warploom_state::State;

/// Outputs of a network at which a packet waits, as a set for `each_member`.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a>(&'a Network);

impl Arrived<'_> {
    /// Number of words of the set.
    #[inline]
    pub fn words(&self) -> usize {
        self.0.outputs.div_ceil(64)
    }

    /// Word `index` of the set: outputs from 64 x `index` on, one bit each.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        match &self.0.kind {
            Kind::Fly(fly) => fly.arrived(index),
            _ => self.0.arrived_elsewhere(index),
        }
    }
}

/// Network of one direction of the interconnect.
#[derive(Clone, Debug, State)]
pub struct Network {
    kind: Kind,
    outputs: usize,
    flit_bytes: u32,
    /// Packets in the network, and those stored before they enter or after they left.
    store: Store,
    /// Number of packets in the network, outputs included.
    inside: u64,
    counted: Counted,
}

#[derive(Clone, Debug, State)]
enum Kind {
    Random(Box<RandomCrossbar>),
    Local(Box<LocalCrossbar>),
    Turns(Box<TurnCrossbar>),
    Fly(Box<Fly<Few>>),
    LargeFly(Box<Fly<Many>>),
}

/// Calls a method of the kind of network that `$on` holds. Frequent callers handle the small
/// butterfly themselves, and use this macro in a function that is not inlined.
macro_rules! each_kind {
    ($on:expr, $net:ident => $call:expr) => {
        match $on {
            Kind::Random($net) => $call,
            Kind::Local($net) => $call,
            Kind::Turns($net) => $call,
            Kind::Fly($net) => $call,
            Kind::LargeFly($net) => $call,
        }
    };
}

impl Network {
    /// An empty network. `seed` starts random arbitration.
    pub fn new(spec: &NocSpec, inputs: usize, outputs: usize, seed: u64) -> Self {
        Self {
            kind: match spec.kind {
                NocKind::RandomCrossbar => {
                    Kind::Random(Box::new(RandomCrossbar::new(spec, inputs, outputs, seed)))
                }
                NocKind::LocalCrossbar => {
                    Kind::Local(Box::new(LocalCrossbar::new(spec, inputs, outputs)))
                }
                NocKind::TurnCrossbar => {
                    Kind::Turns(Box::new(TurnCrossbar::new(spec, inputs, outputs)))
                }
                NocKind::Fly if is_small(spec, inputs, outputs) => {
                    Kind::Fly(Box::new(Fly::new(spec, inputs, outputs)))
                }
                NocKind::Fly => Kind::LargeFly(Box::new(Fly::new(spec, inputs, outputs))),
            },
            outputs,
            flit_bytes: spec.flit_bytes,
            store: Store::new(16 * inputs),
            inside: 0,
            counted: Counted::default(),
        }
    }

    /// An empty network from partitions to SMs. Where the ports of both sides are numbered
    /// together, SMs come first (`LocalInterconnect`), which are the outputs here.
    pub fn of_replies(spec: &NocSpec, inputs: usize, outputs: usize, seed: u64) -> Self {
        let mut network = Self::new(spec, inputs, outputs, seed);
        if let Kind::Turns(turns) = &mut network.kind {
            turns.count_outputs_first();
        }
        network
    }

    /// True if a packet of `bytes` bytes fits the input's buffer.
    #[inline]
    pub fn can_inject(&self, input: usize, bytes: u32) -> bool {
        self.has_room(input, self.flits_of(bytes))
    }

    /// Number of flits of a packet of `bytes` bytes.
    #[inline]
    pub fn flits_of(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.flit_bytes).max(1)
    }

    /// True if `flits` flits fit the input's buffer.
    #[inline]
    pub fn has_room(&self, input: usize, flits: u32) -> bool {
        match &self.kind {
            Kind::Fly(fly) => fly.has_room(input, flits),
            _ => self.has_room_elsewhere(input, flits),
        }
    }

    /// True if `flits` flits surely have not all entered the input's buffer after `cycles` cycles;
    /// a false answer says nothing. Requires that they enter as soon as there is room.
    #[inline]
    pub fn stays_full(&self, input: usize, flits: u32, cycles: u32) -> bool {
        match &self.kind {
            Kind::Fly(fly) => fly.stays_full(input, flits, cycles),
            Kind::LargeFly(fly) => fly.stays_full(input, flits, cycles),
            _ => false,
        }
    }

    #[inline(never)]
    fn has_room_elsewhere(&self, input: usize, flits: u32) -> bool {
        each_kind!(&self.kind, net => net.has_room(input, flits))
    }

    /// Puts a packet of `bytes` bytes into an input's buffer. Requires `can_inject`.
    pub fn inject(&mut self, input: usize, output: usize, request: Request, bytes: u32) {
        let entered = self.try_inject(input, output, &request, bytes, |_| {});
        debug_assert!(entered.is_some(), "no room at input {input}");
    }

    /// Puts a packet of `bytes` bytes into an input's buffer, if it fits. `change` may change the
    /// request that it carries.
    #[inline]
    pub fn try_inject(
        &mut self,
        input: usize,
        output: usize,
        request: &Request,
        bytes: u32,
        change: impl FnOnce(&mut Request),
    ) -> Option<PacketId> {
        let flits = self.flits_of(bytes);
        self.has_room(input, flits).then(|| {
            let output = output as u32;
            let (id, content) = self.store.lodge(request, output, flits, bytes);
            change(content);
            self.put_in(input, Lodged::new(id, output, flits, bytes));
            id
        })
    }

    /// Stores a packet of `bytes` bytes for an output until it enters, or is released without
    /// having entered.
    #[inline]
    pub fn lodge(&mut self, output: usize, request: &Request, bytes: u32) -> Lodged {
        let (output, flits) = (output as u32, self.flits_of(bytes));
        let (id, _) = self.store.lodge(request, output, flits, bytes);
        Lodged::new(id, output, flits, bytes)
    }

    /// Puts a stored packet into an input's buffer. Requires `has_room` for its flits.
    #[inline]
    pub fn enter(&mut self, input: usize, packet: Lodged) {
        debug_assert!(self.has_room(input, packet.flits), "no room at {input}");
        debug_assert_eq!(self.store.header(packet.id).flits, packet.flits);
        self.put_in(input, packet);
    }

    #[inline]
    fn put_in(&mut self, input: usize, packet: Lodged) {
        self.inside += 1;
        self.counted.counters.packets += 1;
        match &mut self.kind {
            Kind::Fly(fly) => fly.inject(input, (packet.id, packet.flits), &mut self.store),
            _ => self.put_in_elsewhere(input, packet),
        }
    }

    #[inline(never)]
    fn put_in_elsewhere(&mut self, input: usize, packet: Lodged) {
        let (Lodged { id, flits, .. }, store) = (packet, &mut self.store);
        match &mut self.kind {
            Kind::Random(net) => net.inject(input, packet),
            Kind::Local(net) => net.inject(input, packet),
            Kind::Turns(net) => net.inject(input, id, store),
            Kind::Fly(net) => net.inject(input, (id, flits), store),
            Kind::LargeFly(net) => net.inject(input, (id, flits), store),
        }
    }

    /// Request that a packet carries, until the packet is released.
    #[inline]
    pub fn content(&self, id: PacketId) -> &Request {
        self.store.content(id)
    }

    /// Releases a packet that is stored or was taken.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.store.release(id);
    }

    /// Runs one network cycle.
    #[inline]
    pub fn cycle(&mut self) {
        self.counted.counters.cycles += 1;
        self.counted.counters.packet_cycles += self.inside;
        match &mut self.kind {
            _ if self.inside == 0 => self.skip_kind(1),
            Kind::Fly(fly) => fly.cycle(&mut self.store, &mut self.counted.counters),
            _ => self.cycle_elsewhere(),
        }
    }

    #[inline(never)]
    fn cycle_elsewhere(&mut self) {
        let (store, counted) = (&mut self.store, &mut self.counted);
        match &mut self.kind {
            Kind::Random(net) => net.cycle(&mut counted.counters),
            Kind::Local(net) => net.cycle(store, counted),
            Kind::Turns(net) => net.cycle(store, counted),
            Kind::Fly(net) => net.cycle(store, &mut counted.counters),
            Kind::LargeFly(net) => net.cycle(store, &mut counted.counters),
        }
    }

    #[inline(never)]
    fn skip_kind(&mut self, cycles: u64) {
        each_kind!(&mut self.kind, net => net.skip(cycles));
    }

    /// Accounts for `cycles` cycles that were not run because the network was idle.
    pub fn skip(&mut self, cycles: u64) {
        debug_assert!(self.is_idle(), "cycles are skipped with packets inside");
        self.counted.counters.cycles += cycles;
        self.skip_kind(cycles);
    }

    /// Request of the packet that waits at an output.
    #[inline]
    pub fn front(&self, output: usize) -> Option<&Request> {
        let id = each_kind!(&self.kind, net => net.front(output))?;
        Some(self.store.content(id))
    }

    /// Outputs at which a packet waits.
    #[inline]
    pub fn arrived(&self) -> Arrived<'_> {
        Arrived(self)
    }

    #[inline(never)]
    fn arrived_elsewhere(&self, index: usize) -> u64 {
        match &self.kind {
            Kind::LargeFly(fly) => fly.arrived(index),
            Kind::Local(local) => local.arrived(index),
            Kind::Random(random) => random.arrived(index),
            _ if self.inside == 0 => 0,
            _ => {
                let outputs = 64 * index..self.outputs.min(64 * index + 64);
                bits(outputs.map(|output| self.front(output).is_some()))
            }
        }
    }

    /// Takes the packet that waits at an output, and releases it.
    #[inline]
    pub fn pop(&mut self, output: usize) -> Option<Request> {
        let id = self.take(output)?;
        self.release(id);
        Some(*self.content(id))
    }

    /// Takes the packet that waits at an output; it stays stored.
    #[inline]
    pub fn take(&mut self, output: usize) -> Option<PacketId> {
        let id = match &mut self.kind {
            Kind::Fly(fly) => fly.pop(output, &mut self.store)?,
            _ => self.take_elsewhere(output)?,
        };
        self.inside -= 1;
        Some(id)
    }

    #[inline(never)]
    fn take_elsewhere(&mut self, output: usize) -> Option<PacketId> {
        let store = &mut self.store;
        each_kind!(&mut self.kind, net => net.pop(output, store))
    }

    /// Number of packets in the network, outputs included.
    #[inline]
    pub fn packets_inside(&self) -> u64 {
        self.inside
    }

    /// True if no packet is in the network, outputs included.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.inside == 0
    }

    /// Statistics counted so far.
    pub fn counters(&self) -> &NocCounters {
        &self.counted.counters
    }

    /// Statistics so far that local crossbars alone count; 0 of other networks.
    pub fn detail(&self) -> &NocDetail {
        &self.counted.detail
    }
}
