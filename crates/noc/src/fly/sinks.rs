//! Nodes at output ports: flits enter an ejection buffer and move on, one a cycle, into the
//! boundary buffer while that has room; a packet can be taken when its last flit is in the boundary
//! buffer.

use super::departures::Coming;
use super::lanes::{Bits, Counts, LANES, NEVER, add, both, count, subtract};
use super::ports::{PortSet, PortTable, Ports};
use crate::store::{PacketId, PacketQueue, Store};
use warploom_base::each_member;
use warploom_config::NocSpec;
use warploom_state::State;

/// Nodes at all output ports.
#[derive(Clone, Debug, State)]
pub(super) struct Sinks<P: Ports> {
    #[state(fixed)]
    channels: u32,
    #[state(fixed)]
    boundary_buffer: u16,
    /// Packets that have crossed the switch, in the order of their last flits, by output and
    /// virtual channel.
    packets: P::Table<PacketQueue>,
    /// Number of flits in the ejection buffer, usually none.
    ejection: Counts<P>,
    /// Number of flits in the boundary buffer.
    boundary: Counts<P>,
    /// Number of flits in the boundary buffer with which the first packet is complete.
    needed: Counts<P>,
    /// Number of groups of sixteen sinks.
    #[state(fixed)]
    lanes: usize,
    #[state(fixed)]
    bits: Bits,
    /// First virtual channel of the node's round-robin order, by output.
    turn: P::Table<u32>,
    /// Sinks with a complete packet in the boundary buffer.
    waiting: P::Set,
}

impl<P: Ports> Sinks<P> {
    pub(super) fn new(spec: &NocSpec, outputs: usize) -> Self {
        let channels = outputs * spec.virtual_channels as usize;
        let lanes = channels.div_ceil(LANES);
        Self {
            channels: spec.virtual_channels,
            boundary_buffer: count(spec.boundary_buffer),
            packets: P::Table::new(channels, PacketQueue::EMPTY),
            ejection: Counts::<P>::new(lanes * LANES, 0),
            boundary: Counts::<P>::new(lanes * LANES, 0),
            needed: Counts::<P>::new(lanes * LANES, NEVER),
            lanes,
            bits: Bits::new(),
            turn: P::Table::new(outputs, 0),
            waiting: P::Set::new(channels),
        }
    }

    /// Adds a packet that has crossed the switch to the queue of a sink.
    #[inline]
    pub(super) fn expect(&mut self, index: usize, id: PacketId, store: &mut Store) {
        let packets = &mut self.packets[index];
        if packets.is_empty() {
            self.needed[index] = store.header(id).flits as u16;
        }
        packets.push(store, id);
    }

    /// Moves the flits that come over the channels in this cycle, at most one for each sink, into
    /// the ejection buffers, and one flit of each ejection buffer into the boundary buffer, if
    /// there is room. Returns credits for the latter.
    #[inline]
    pub(super) fn eject(&mut self, coming: &mut Coming<P>, credits: &mut Counts<P>) {
        for index in 0..self.lanes {
            let comes = self.bits.spread(coming.flits.lanes(index));
            let (ejecting, bounded) = (self.ejection.lanes(index), self.boundary.lanes(index));
            let (mut ejection, mut boundary) = (*ejecting, *bounded);
            add(&mut ejection, &comes);
            let most = self.boundary_buffer as i16;
            let moves = both(&ejection, &boundary, |here, there| {
                (here > 0) & (there < most)
            });
            subtract(&mut ejection, &moves);
            add(&mut boundary, &moves);
            (*ejecting, *bounded) = (ejection, boundary);
            add(credits.lanes(index), &moves);
            let whole = both(&boundary, self.needed.lanes(index), |here, needed| {
                here >= needed
            });
            self.waiting.set_lanes(index, self.bits.gather(whole));
        }
        coming.clear();
    }

    /// Outputs from 64 x `index` on at which a packet waits, one bit each.
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

    /// Sink with the next packet of an output.
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

    /// Next packet of an output.
    #[inline]
    pub(super) fn front(&self, output: usize) -> Option<PacketId> {
        self.packets[self.ready(output)?].front()
    }

    /// Takes the next packet of an output.
    #[inline]
    pub(super) fn pop(&mut self, output: usize, store: &mut Store) -> Option<PacketId> {
        let index = self.ready(output)?;
        let (id, header) = self.packets[index].pop(store)?;
        self.boundary[index] -= header.flits as u16;
        let next = self.packets[index].front();
        let needed = next.map_or(NEVER, |id| store.header(id).flits as u16);
        self.needed[index] = needed;
        self.waiting.remove_if(index, self.boundary[index] < needed);
        if self.channels > 1 {
            self.turn[output] = (index as u32 + 1) % self.channels;
        }
        Some(id)
    }
}
