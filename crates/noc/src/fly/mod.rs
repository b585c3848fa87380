//! A one-stage butterfly: one router with a port for each node, as BookSim's `fly` with n = 1
//! behaves under GPGPU-Sim.
//!
//! The way of a flit: injection buffer, channel, input buffer of a virtual channel, switch, output
//! queue, channel, ejection buffer, boundary buffer. A channel takes two cycles from end to end,
//! credits take as long. Packets hold an output's virtual channel from head to tail. Per cycle a
//! node injects and ejects one flit.

mod islip;
mod router;
mod sinks;

use crate::ring::Ring;
use crate::{NocCounters, Packet};
use router::Router;
use sinks::Sinks;
use warploom_base::{BitSet, each_member};
use warploom_config::NocSpec;
use warploom_mem::Request;

/// A packet's number in the arena.
type PacketId = u32;

/// Cycles that a flit or credit takes over a channel.
const CHANNEL: usize = 2;

/// A packet without its content.
#[derive(Clone, Copy, Debug, Default)]
struct Parcel {
    id: PacketId,
    output: u32,
    flits: u32,
    bytes: u32,
}

/// A flit on its way from the router to a node.
#[derive(Clone, Copy, Debug, Default)]
struct Flit {
    /// Output and virtual channel.
    index: u32,
    /// One more than the number of the packet that it ends; 0 where others follow.
    ended: u32,
}

impl Flit {
    /// The packet that it ends.
    #[inline]
    const fn ends(self) -> Option<PacketId> {
        self.ended.checked_sub(1)
    }
}

/// Flits or credits that travel.
#[derive(Clone, Debug)]
struct Delayed<T> {
    slots: [Vec<T>; CHANNEL + 1],
    /// Slot of what arrives in this cycle.
    at: usize,
}

impl<T> Delayed<T> {
    fn new(most: usize) -> Self {
        Self {
            slots: std::array::from_fn(|_| Vec::with_capacity(most)),
            at: 0,
        }
    }

    /// Sends something that arrives `CHANNEL` cycles from now: in the slot before this cycle's.
    #[inline]
    fn send(&mut self, item: T) {
        let slot = self.at.checked_sub(1).unwrap_or(CHANNEL);
        self.slots[slot].push(item);
    }

    /// Takes what arrives in this cycle.
    #[inline]
    fn arrive(&mut self, f: impl FnMut(T)) {
        self.slots[self.at].drain(..).for_each(f);
    }

    #[inline]
    fn tick(&mut self) {
        self.at = if self.at == CHANNEL { 0 } else { self.at + 1 };
    }
}

/// A node's side of an input port.
#[derive(Clone, Debug)]
struct Source {
    /// Packets of which no flit has been sent.
    packets: Ring<Parcel>,
    /// Flits in the injection buffer.
    flits: u32,
    /// Flits left of the packet that is being sent.
    left: u32,
    /// Its virtual channel, or that of the last packet.
    channel: u32,
}

/// The network.
#[derive(Clone, Debug)]
pub(crate) struct Fly {
    channels: u32,
    flit_bytes: u32,
    injection_buffer: u32,
    speedup_percent: u32,
    speedup_credit: u32,
    /// What packets carry, by their number.
    arena: Vec<Request>,
    free: Vec<PacketId>,
    sources: Box<[Source]>,
    /// Inputs with flits to send.
    sending: BitSet,
    /// Flits that a source may still send, by input and virtual channel.
    credits: Box<[u32]>,
    /// Flits and credits, as the virtual channels of inputs that they belong to.
    to_router: Delayed<u32>,
    to_source: Delayed<u32>,
    router: Router,
    to_sink: Delayed<Flit>,
    /// Credits, as the virtual channels of outputs that they belong to.
    to_output: Delayed<u32>,
    sinks: Sinks,
}

impl Fly {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let source = Source {
            packets: Ring::new(),
            flits: 0,
            left: 0,
            channel: spec.virtual_channels - 1,
        };
        Self {
            channels: spec.virtual_channels,
            flit_bytes: spec.flit_bytes,
            injection_buffer: spec.injection_buffer,
            speedup_percent: spec.internal_speedup_percent,
            speedup_credit: 0,
            arena: Vec::with_capacity(inputs * 16),
            free: Vec::with_capacity(inputs * 16),
            sources: vec![source; inputs].into(),
            sending: BitSet::new(inputs),
            credits: vec![spec.input_buffer; inputs * channels].into(),
            to_router: Delayed::new(inputs),
            to_source: Delayed::new(inputs),
            router: Router::new(spec, inputs, outputs),
            to_sink: Delayed::new(outputs),
            to_output: Delayed::new(outputs),
            sinks: Sinks::new(spec, outputs),
        }
    }

    #[inline]
    pub(crate) fn can_inject(&self, input: usize, bytes: u32) -> bool {
        self.sources[input].flits + self.flits(bytes) <= self.injection_buffer
    }

    #[inline]
    fn flits(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.flit_bytes).max(1)
    }

    pub(crate) fn inject(&mut self, input: usize, packet: Packet) {
        let Packet {
            request,
            bytes,
            output,
        } = packet;
        let id = match self.free.pop() {
            Some(id) => {
                self.arena[id as usize] = request;
                id
            }
            None => {
                self.arena.push(request);
                self.arena.len() as PacketId - 1
            }
        };
        let flits = self.flits(bytes);
        let source = &mut self.sources[input];
        source.flits += flits;
        source.packets.push(Parcel {
            id,
            output,
            flits,
            bytes,
        });
        self.sending.insert(input);
    }

    pub(crate) fn cycle(&mut self, counters: &mut NocCounters) {
        self.sinks.eject(&mut self.to_sink, &mut self.to_output);
        self.take_credits();
        self.to_router.arrive(|index| self.router.arrive(index));
        self.send();
        self.speedup_credit += self.speedup_percent;
        while self.speedup_credit >= 100 {
            self.speedup_credit -= 100;
            self.router.step(&mut self.to_source, counters);
        }
        self.router.leave(&mut self.to_sink, counters);
        self.tick();
    }

    fn tick(&mut self) {
        self.to_router.tick();
        self.to_source.tick();
        self.to_sink.tick();
        self.to_output.tick();
    }

    /// Credits that crossed their channels are taken.
    fn take_credits(&mut self) {
        let credits = &mut self.credits;
        self.to_source.arrive(|index| credits[index as usize] += 1);
        self.to_output.arrive(|index| self.router.credit(index));
    }

    /// Each node sends one flit, if its virtual channel has room.
    fn send(&mut self) {
        each_member!(self.sending, input => {
            if let Some(channel) = self.channel_to_send(input) {
                self.send_flit(input, channel);
            }
        });
    }

    /// Virtual channel of the packet being sent, or one for the next packet.
    #[inline]
    fn channel_to_send(&self, input: usize) -> Option<u32> {
        let Source { left, channel, .. } = self.sources[input];
        let has_room = |channel: &u32| self.credits[self.index(input, *channel)] > 0;
        if left > 0 || self.channels == 1 {
            return Some(channel).filter(has_room);
        }
        (1..=self.channels)
            .map(|step| (channel + step) % self.channels)
            .find(has_room)
    }

    #[inline]
    fn index(&self, port: usize, channel: u32) -> usize {
        port * self.channels as usize + channel as usize
    }

    fn send_flit(&mut self, input: usize, channel: u32) {
        let index = self.index(input, channel);
        self.credits[index] -= 1;
        self.to_router.send(index as u32);
        let source = &mut self.sources[input];
        if source.left == 0
            && let Some(packet) = source.packets.pop()
        {
            (source.left, source.channel) = (packet.flits, channel);
            self.router.announce(index, packet);
        }
        source.left -= 1;
        source.flits -= 1;
        if source.flits == 0 {
            self.sending.remove(input);
        }
    }

    /// Cycles without a packet inside: credits come home.
    pub(crate) fn skip(&mut self, cycles: u64) {
        for _ in 0..cycles.min(CHANNEL as u64 + 1) {
            self.take_credits();
            self.tick();
        }
        let credit =
            u64::from(self.speedup_credit) + cycles % 100 * u64::from(self.speedup_percent);
        self.speedup_credit = (credit % 100) as u32;
    }

    /// A packet waits at an output.
    #[inline]
    pub(crate) fn has_arrivals(&self) -> bool {
        self.sinks.any_waits()
    }

    /// The first output from `from` on at which a packet waits.
    #[inline]
    pub(crate) fn next_arrived(&self, from: usize) -> Option<usize> {
        self.sinks.next_ready(from)
    }

    /// A packet waits at this output.
    #[inline]
    pub(crate) fn has_arrived(&self, output: usize) -> bool {
        self.sinks.ready(output).is_some()
    }

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<&Request> {
        let id = self.sinks.front(output)?;
        Some(&self.arena[id as usize])
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize) -> Option<Request> {
        let id = self.sinks.pop(output)?;
        self.free.push(id);
        Some(self.arena[id as usize])
    }
}
