//! A one-stage butterfly: one router with a port for each node, as BookSim's `fly` with n = 1
//! behaves under GPGPU-Sim.
//!
//! The way of a flit: injection buffer, channel, input buffer of a virtual channel, switch, output
//! queue, channel, ejection buffer, boundary buffer. A channel takes two cycles from end to end,
//! credits take as long. Packets hold an output's virtual channel from head to tail. Per cycle a
//! node injects and ejects one flit.

mod router;

use crate::ports::{PortSet, each_port};
use crate::{NocCounters, Packet};
use router::{FlitOut, Router};
use std::collections::VecDeque;
use warploom_config::NocSpec;
use warploom_mem::Request;

/// A packet's number in the arena.
type PacketId = u32;

/// Cycles that a flit or credit takes over a channel.
const CHANNEL: usize = 2;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Traveller {
    packet: Packet,
    flits: u32,
    /// Flits that left the source.
    sent: u32,
    /// Flits that reached the boundary buffer.
    received: u32,
}

/// What travels for a fixed number of cycles.
#[derive(Clone, Debug)]
struct Delayed<T> {
    slots: [Vec<T>; CHANNEL + 1],
    at: usize,
}

impl<T> Delayed<T> {
    fn new(most: usize) -> Self {
        Self {
            slots: std::array::from_fn(|_| Vec::with_capacity(most)),
            at: 0,
        }
    }

    /// Sends something that arrives `CHANNEL` cycles from now.
    #[inline]
    fn send(&mut self, item: T) {
        self.slots[(self.at + CHANNEL) % (CHANNEL + 1)].push(item);
    }

    #[inline]
    fn tick(&mut self) {
        self.at = (self.at + 1) % (CHANNEL + 1);
    }

    /// What arrives in this cycle; to be emptied by the caller.
    #[inline]
    fn arrived(&mut self) -> &mut Vec<T> {
        &mut self.slots[self.at]
    }
}

/// A node's side of an input port.
#[derive(Clone, Debug)]
struct Source {
    packets: VecDeque<PacketId>,
    flits: u32,
    /// Virtual channel of the packet being sent.
    channel: Option<u32>,
    last_channel: u32,
}

/// A node's side of an output port, per virtual channel.
#[derive(Clone, Debug, Default)]
struct Sink {
    ejection: VecDeque<PacketId>,
    /// Whole packets in the boundary buffer.
    packets: VecDeque<PacketId>,
    /// Flits in the boundary buffer.
    flits: u32,
}

/// The network.
#[derive(Clone, Debug)]
pub(crate) struct Fly {
    channels: u32,
    flit_bytes: u32,
    injection_buffer: u32,
    boundary_buffer: u32,
    speedup_percent: u32,
    speedup_credit: u32,
    arena: Vec<Traveller>,
    free: Vec<PacketId>,
    sources: Box<[Source]>,
    /// Flits that a source may still send, by input and virtual channel.
    credits: Box<[u32]>,
    to_router: Delayed<(u32, PacketId)>,
    to_source: Delayed<u32>,
    router: Router,
    to_sink: Delayed<(u32, PacketId)>,
    to_output: Delayed<u32>,
    /// By output and virtual channel.
    sinks: Box<[Sink]>,
    /// Virtual channel that each output's node looks at first.
    turn: Box<[u32]>,
    /// Inputs with packets to send.
    sending: PortSet,
    /// Sinks with flits in their ejection buffers.
    ejecting: PortSet,
    /// Sinks with whole packets in their boundary buffers.
    waiting: PortSet,
}

impl Fly {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let source = Source {
            packets: VecDeque::with_capacity(spec.injection_buffer as usize),
            flits: 0,
            channel: None,
            last_channel: spec.virtual_channels - 1,
        };
        let sink = Sink {
            ejection: VecDeque::with_capacity(spec.output_buffer as usize),
            packets: VecDeque::with_capacity(spec.boundary_buffer as usize),
            flits: 0,
        };
        Self {
            channels: spec.virtual_channels,
            flit_bytes: spec.flit_bytes,
            injection_buffer: spec.injection_buffer,
            boundary_buffer: spec.boundary_buffer,
            speedup_percent: spec.internal_speedup_percent,
            speedup_credit: 0,
            arena: Vec::with_capacity(inputs * 16),
            free: Vec::with_capacity(inputs * 16),
            sources: vec![source; inputs].into(),
            credits: vec![spec.input_buffer; inputs * channels].into(),
            to_router: Delayed::new(inputs),
            to_source: Delayed::new(inputs),
            router: Router::new(spec, inputs, outputs),
            to_sink: Delayed::new(outputs),
            to_output: Delayed::new(outputs),
            sinks: vec![sink; outputs * channels].into(),
            turn: vec![0; outputs].into(),
            sending: PortSet::new(inputs),
            ejecting: PortSet::new(outputs * channels),
            waiting: PortSet::new(outputs * channels),
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
        let flits = self.flits(packet.bytes);
        let traveller = Traveller {
            packet,
            flits,
            sent: 0,
            received: 0,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.arena[id as usize] = traveller;
                id
            }
            None => {
                self.arena.push(traveller);
                self.arena.len() as PacketId - 1
            }
        };
        self.sources[input].packets.push_back(id);
        self.sending.insert(input);
        self.sources[input].flits += flits;
    }

    pub(crate) fn cycle(&mut self, counters: &mut NocCounters) {
        self.eject();
        self.take_credits();
        self.send();
        self.speedup_credit += self.speedup_percent;
        while self.speedup_credit >= 100 {
            self.speedup_credit -= 100;
            self.router.step(&mut self.to_source, counters);
        }
        self.leave_router(counters);
        self.tick();
    }

    fn tick(&mut self) {
        self.to_router.tick();
        self.to_source.tick();
        self.to_sink.tick();
        self.to_output.tick();
    }

    /// Flits that arrive at the nodes go through ejection to boundary buffers, one a cycle.
    fn eject(&mut self) {
        for (index, id) in self.to_sink.arrived().drain(..) {
            self.sinks[index as usize].ejection.push_back(id);
            self.ejecting.insert(index as usize);
        }
        each_port!(self.ejecting, index => {
            let sink = &mut self.sinks[index];
            if sink.flits >= self.boundary_buffer {
                continue;
            }
            let Some(id) = sink.ejection.pop_front() else {
                continue;
            };
            if sink.ejection.is_empty() {
                self.ejecting.remove(index);
            }
            sink.flits += 1;
            self.to_output.send(index as u32);
            let traveller = &mut self.arena[id as usize];
            traveller.received += 1;
            if traveller.received == traveller.flits {
                sink.packets.push_back(id);
                self.waiting.insert(index);
            }
        });
    }

    /// Credits and flits that crossed their channels are taken.
    fn take_credits(&mut self) {
        for index in self.to_source.arrived().drain(..) {
            self.credits[index as usize] += 1;
        }
        for index in self.to_output.arrived().drain(..) {
            self.router.credit(index);
        }
        for (index, id) in self.to_router.arrived().drain(..) {
            let Traveller { packet, flits, .. } = self.arena[id as usize];
            self.router.arrive(index, id, packet.output, flits);
        }
    }

    /// Each node sends one flit, if its virtual channel has room.
    fn send(&mut self) {
        each_port!(self.sending, input => {
            if let Some(&id) = self.sources[input].packets.front()
                && let Some(channel) = self.channel_to_send(input)
            {
                self.send_flit(input, id, channel);
            }
        });
    }

    /// Virtual channel of the packet being sent, or one for the next packet.
    fn channel_to_send(&self, input: usize) -> Option<u32> {
        let source = &self.sources[input];
        let has_room = |channel: &u32| self.credits[self.index(input, *channel)] > 0;
        match source.channel {
            Some(channel) => Some(channel).filter(has_room),
            None if self.channels == 1 => Some(0).filter(has_room),
            None => (1..=self.channels)
                .map(|step| (source.last_channel + step) % self.channels)
                .find(has_room),
        }
    }

    #[inline]
    fn index(&self, port: usize, channel: u32) -> usize {
        port * self.channels as usize + channel as usize
    }

    fn send_flit(&mut self, input: usize, id: PacketId, channel: u32) {
        let index = self.index(input, channel);
        self.credits[index] -= 1;
        self.to_router.send((index as u32, id));
        let source = &mut self.sources[input];
        source.flits -= 1;
        source.channel = Some(channel);
        source.last_channel = channel;
        let traveller = &mut self.arena[id as usize];
        traveller.sent += 1;
        if traveller.sent == traveller.flits {
            source.channel = None;
            source.packets.pop_front();
            if source.packets.is_empty() {
                self.sending.remove(input);
            }
        }
    }

    /// Each output queue sends one flit.
    fn leave_router(&mut self, counters: &mut NocCounters) {
        let (to_sink, arena) = (&mut self.to_sink, &self.arena);
        self.router.drain(|FlitOut { index, id, is_tail }| {
            to_sink.send((index, id));
            counters.flits += 1;
            if is_tail {
                counters.bytes += u64::from(arena[id as usize].packet.bytes);
            }
        });
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
        !self.waiting.is_empty()
    }

    /// A packet waits at this output.
    #[inline]
    pub(crate) fn has_arrived(&self, output: usize) -> bool {
        self.ready(output).is_some()
    }

    /// Virtual channel whose packet is next at an output.
    #[inline]
    fn ready(&self, output: usize) -> Option<u32> {
        let waits = |channel: &u32| self.waiting.contains(self.index(output, *channel));
        if self.channels == 1 {
            return Some(0).filter(waits);
        }
        (0..self.channels)
            .map(|step| (self.turn[output] + step) % self.channels)
            .find(waits)
    }

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<&Request> {
        let channel = self.ready(output)?;
        let id = *self.sinks[self.index(output, channel)].packets.front()?;
        Some(&self.arena[id as usize].packet.request)
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize) -> Option<Request> {
        let channel = self.ready(output)?;
        let index = self.index(output, channel);
        let sink = &mut self.sinks[index];
        let id = sink.packets.pop_front()?;
        if sink.packets.is_empty() {
            self.waiting.remove(index);
        }
        let Traveller { packet, flits, .. } = self.arena[id as usize];
        sink.flits -= flits;
        self.turn[output] = if channel + 1 == self.channels {
            0
        } else {
            channel + 1
        };
        self.free.push(id);
        Some(packet.request)
    }
}
