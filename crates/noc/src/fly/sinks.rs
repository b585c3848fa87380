//! The nodes' side of output ports: flits come into an ejection buffer, go one a cycle into the
//! boundary buffer while that has room, and a packet waits when its last flit is there.

use super::{Delayed, Flit, PacketId};
use crate::ring::Ring;
use warploom_base::{BitSet, each_member};
use warploom_config::NocSpec;

/// A virtual channel of an output, at its node.
#[derive(Clone, Debug)]
struct Sink {
    /// The ejection buffer.
    ejection: Ring<Flit>,
    /// Packets of which all flits are in the boundary buffer, with the number of these.
    packets: Ring<(PacketId, u32)>,
    /// Flits in the boundary buffer.
    boundary: u32,
    /// Those of them whose packet's last flit has not come.
    begun: u32,
}

impl Sink {
    /// A flit goes into the boundary buffer. Whether a packet is whole by it.
    #[inline]
    fn take(&mut self, flit: Flit) -> bool {
        self.boundary += 1;
        self.begun += 1;
        if let Some(id) = flit.ends() {
            self.packets.push((id, self.begun));
            self.begun = 0;
        }
        self.begun == 0
    }
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Sinks {
    channels: u32,
    boundary_buffer: u32,
    /// By output and virtual channel.
    sinks: Box<[Sink]>,
    /// Virtual channel that each output's node looks at first.
    turn: Box<[u32]>,
    /// Sinks whose ejection buffers keep flits from cycle to cycle.
    ejecting: BitSet,
    /// Sinks with whole packets in their boundary buffers.
    waiting: BitSet,
}

impl Sinks {
    pub(super) fn new(spec: &NocSpec, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let sink = Sink {
            ejection: Ring::new(),
            packets: Ring::new(),
            boundary: 0,
            begun: 0,
        };
        Self {
            channels: spec.virtual_channels,
            boundary_buffer: spec.boundary_buffer,
            sinks: vec![sink; outputs * channels].into(),
            turn: vec![0; outputs].into(),
            ejecting: BitSet::new(outputs * channels),
            waiting: BitSet::new(outputs * channels),
        }
    }

    /// The flits that come over the channel in this cycle, at most one for each sink, go into the
    /// ejection buffers, each of which then gives one to its boundary buffer, if there is room.
    /// Credits go into `to_output`.
    pub(super) fn eject(&mut self, arrived: &mut Delayed<Flit>, to_output: &mut Delayed<u32>) {
        arrived.arrive(|flit| {
            let sink = &mut self.sinks[flit.index as usize];
            // Mostly it is alone and goes on.
            if sink.ejection.is_empty() && sink.boundary < self.boundary_buffer {
                self.take(flit, to_output);
            } else {
                sink.ejection.push(flit);
                self.ejecting.insert(flit.index as usize);
            }
        });
        each_member!(self.ejecting, index => {
            let sink = &mut self.sinks[index];
            if sink.boundary < self.boundary_buffer
                && let Some(flit) = sink.ejection.pop()
            {
                if sink.ejection.is_empty() {
                    self.ejecting.remove(index);
                }
                self.take(flit, to_output);
            }
        });
    }

    #[inline]
    fn take(&mut self, flit: Flit, to_output: &mut Delayed<u32>) {
        if self.sinks[flit.index as usize].take(flit) {
            self.waiting.insert(flit.index as usize);
        }
        to_output.send(flit.index);
    }

    /// A packet waits at an output.
    #[inline]
    pub(super) fn any_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The first output from `from` on at which a packet waits.
    #[inline]
    pub(super) fn next_ready(&self, from: usize) -> Option<usize> {
        let channels = self.channels as usize;
        if channels == 1 {
            return self.waiting.at_or_after(from);
        }
        Some(self.waiting.at_or_after(from * channels)? / channels)
    }

    /// Sink whose packet is next at an output.
    #[inline]
    pub(super) fn ready(&self, output: usize) -> Option<usize> {
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
        let (id, _) = *self.sinks[self.ready(output)?].packets.front()?;
        Some(id)
    }

    /// Takes it.
    #[inline]
    pub(super) fn pop(&mut self, output: usize) -> Option<PacketId> {
        let index = self.ready(output)?;
        let sink = &mut self.sinks[index];
        let (id, flits) = sink.packets.pop()?;
        sink.boundary -= flits;
        if sink.packets.is_empty() {
            self.waiting.remove(index);
        }
        if self.channels > 1 {
            self.turn[output] = (index as u32 + 1) % self.channels;
        }
        Some(id)
    }
}
