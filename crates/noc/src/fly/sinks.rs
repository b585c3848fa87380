//! The nodes' side of output ports: flits come into an ejection buffer, go one a cycle into the
//! boundary buffer while that has room, and a packet waits when its last flit is there.

use super::PacketId;
use super::credits::Credits;
use super::departures::Coming;
use super::ports::{PortSet, PortTable, Ports};
use crate::ring::Ring;
use crate::store::{Line, Store};
use warploom_base::each_member;
use warploom_config::NocSpec;

/// A virtual channel of an output, at its node.
#[derive(Clone, Debug)]
struct Sink {
    /// Packets that have crossed the switch, in the order in which they end.
    packets: Line,
    /// Those of which all flits are in the boundary buffer.
    whole: u32,
    /// Flits in the boundary buffer.
    boundary: u32,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Sinks<P: Ports> {
    channels: u32,
    boundary_buffer: u32,
    /// By output and virtual channel.
    sinks: P::Table<Sink>,
    /// Their ejection buffers, mostly empty: of each flit, whether it ends a packet.
    ejection: P::Table<Ring<bool>>,
    /// Virtual channel that each output's node looks at first.
    turn: P::Table<u32>,
    /// Sinks whose ejection buffers keep flits from cycle to cycle.
    ejecting: P::Set,
    /// Sinks with whole packets in their boundary buffers.
    waiting: P::Set,
}

impl<P: Ports> Sinks<P> {
    pub(super) fn new(spec: &NocSpec, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let sink = Sink {
            packets: Line::EMPTY,
            whole: 0,
            boundary: 0,
        };
        Self {
            channels: spec.virtual_channels,
            boundary_buffer: spec.boundary_buffer,
            sinks: P::Table::new(outputs * channels, sink),
            ejection: P::Table::new(outputs * channels, Ring::new()),
            turn: P::Table::new(outputs, 0),
            ejecting: P::Set::new(outputs * channels),
            waiting: P::Set::new(outputs * channels),
        }
    }

    /// A packet has crossed the switch and will come to a sink.
    #[inline]
    pub(super) fn expect(&mut self, index: usize, id: PacketId, store: &mut Store) {
        self.sinks[index].packets.push(store, id);
    }

    /// The flits that come over the channel in this cycle, at most one for each sink, go into the
    /// ejection buffers, each of which then gives one to its boundary buffer, if there is room.
    /// Credits go back.
    #[inline]
    pub(super) fn eject(&mut self, coming: &mut Coming<P>, credits: &mut Credits<P>) {
        each_member!(coming.flits, index => {
            let ends = coming.ends.contains(index);
            // Mostly it is alone and goes on.
            if !self.ejecting.contains(index) && self.has_room(index) {
                self.take(index, ends, credits);
            } else {
                self.ejection[index].push(ends);
                self.ejecting.insert(index);
            }
        });
        coming.clear();
        each_member!(self.ejecting, index => {
            if self.has_room(index)
                && let Some(ends) = self.ejection[index].pop()
            {
                if self.ejection[index].is_empty() {
                    self.ejecting.remove(index);
                }
                self.take(index, ends, credits);
            }
        });
    }

    /// A sink's boundary buffer takes a flit.
    #[inline]
    fn has_room(&self, index: usize) -> bool {
        self.sinks[index].boundary < self.boundary_buffer
    }

    /// A flit goes into the boundary buffer.
    #[inline]
    fn take(&mut self, index: usize, ends: bool, credits: &mut Credits<P>) {
        let sink = &mut self.sinks[index];
        sink.boundary += 1;
        if ends {
            sink.whole += 1;
            self.waiting.insert(index);
        }
        credits.give(index);
    }

    /// Outputs from 64 `index` on at which a packet waits, as bits.
    #[inline]
    pub(super) fn arrived(&self, index: usize) -> u64 {
        match self.channels {
            1 => self.waiting.word(index),
            _ => self.arrived_in_turn(index),
        }
    }

    #[inline(never)]
    fn arrived_in_turn(&self, index: usize) -> u64 {
        let mut arrived = 0;
        each_member!(self.waiting, sink => {
            let output = sink / self.channels as usize;
            arrived |= u64::from(output / 64 == index) << (output % 64);
        });
        arrived
    }

    /// Sink whose packet is next at an output.
    #[inline]
    fn ready(&self, output: usize) -> Option<usize> {
        match self.channels {
            1 => self.waiting.contains(output).then_some(output),
            _ => self.ready_in_turn(output),
        }
    }

    fn ready_in_turn(&self, output: usize) -> Option<usize> {
        (0..self.channels)
            .map(|step| self.index(output, (self.turn[output] + step) % self.channels))
            .find(|index| self.waiting.contains(*index))
    }

    #[inline]
    fn index(&self, output: usize, channel: u32) -> usize {
        output * self.channels as usize + channel as usize
    }

    /// The packet that is next at an output.
    #[inline]
    pub(super) fn front(&self, output: usize) -> Option<PacketId> {
        self.sinks[self.ready(output)?].packets.front()
    }

    /// Takes it.
    #[inline]
    pub(super) fn pop(&mut self, output: usize, store: &mut Store) -> Option<PacketId> {
        let index = self.ready(output)?;
        let sink = &mut self.sinks[index];
        let (id, parcel) = sink.packets.pop(store)?;
        sink.boundary -= parcel.flits;
        sink.whole -= 1;
        if sink.whole == 0 {
            self.waiting.remove(index);
        }
        if self.channels > 1 {
            self.turn[output] = (index as u32 + 1) % self.channels;
        }
        Some(id)
    }
}
