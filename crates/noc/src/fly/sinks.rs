//! The nodes' side of output ports: flits come into an ejection buffer, go one a cycle into the
//! boundary buffer while that has room, and a packet waits when its last flit is there.

use super::{Delayed, Parcel};
use crate::ports::{PortSet, each_port};
use crate::ring::Ring;
use warploom_config::NocSpec;

/// A virtual channel of an output, at its node.
#[derive(Clone, Debug)]
struct Sink {
    /// Packets in the order in which their flits come, whole ones first.
    packets: Ring<Parcel>,
    /// Packets of which all flits are in the boundary buffer.
    whole: u32,
    /// Flits of the first packet behind these that are still to come, once one has.
    left: u32,
    /// Flits in the ejection buffer.
    ejection: u32,
    /// Flits in the boundary buffer.
    boundary: u32,
}

impl Sink {
    /// A flit goes from the ejection to the boundary buffer. Whether a packet is whole by it.
    #[inline]
    fn eject(&mut self) -> bool {
        self.ejection -= 1;
        self.boundary += 1;
        if self.left == 0 {
            let next = self.packets.get(self.whole as usize);
            self.left = next.map_or(0, |packet| packet.flits);
        }
        self.left -= 1;
        self.whole += u32::from(self.left == 0);
        self.left == 0
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
    ejecting: PortSet,
    /// Sinks with whole packets in their boundary buffers.
    waiting: PortSet,
}

impl Sinks {
    pub(super) fn new(spec: &NocSpec, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let sink = Sink {
            packets: Ring::new(),
            whole: 0,
            left: 0,
            ejection: 0,
            boundary: 0,
        };
        Self {
            channels: spec.virtual_channels,
            boundary_buffer: spec.boundary_buffer,
            sinks: vec![sink; outputs * channels].into(),
            turn: vec![0; outputs].into(),
            ejecting: PortSet::new(outputs * channels),
            waiting: PortSet::new(outputs * channels),
        }
    }

    /// A packet's flits will come, behind those of packets announced before.
    #[inline]
    pub(super) fn announce(&mut self, index: usize, packet: Parcel) {
        self.sinks[index].packets.push(packet);
    }

    /// The flits that come over the channel in this cycle, at most one for each sink, go into the
    /// ejection buffers, each of which then gives one to its boundary buffer, if there is room.
    /// Credits go into `to_output`.
    pub(super) fn eject(&mut self, arrived: &mut Delayed, to_output: &mut Delayed) {
        arrived.arrive(|index| {
            let sink = &mut self.sinks[index as usize];
            sink.ejection += 1;
            // Mostly it is alone and goes on.
            if sink.ejection == 1 && sink.boundary < self.boundary_buffer {
                self.eject_one(index, to_output);
            } else {
                self.ejecting.insert(index as usize);
            }
        });
        each_port!(self.ejecting, index => {
            if self.sinks[index].boundary < self.boundary_buffer {
                self.eject_one(index as u32, to_output);
                if self.sinks[index].ejection == 0 {
                    self.ejecting.remove(index);
                }
            }
        });
    }

    #[inline]
    fn eject_one(&mut self, index: u32, to_output: &mut Delayed) {
        if self.sinks[index as usize].eject() {
            self.waiting.insert(index as usize);
        }
        to_output.send(index);
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
    pub(super) fn front(&self, output: usize) -> Option<&Parcel> {
        self.sinks[self.ready(output)?].packets.front()
    }

    /// Takes it.
    #[inline]
    pub(super) fn pop(&mut self, output: usize) -> Option<Parcel> {
        let index = self.ready(output)?;
        let sink = &mut self.sinks[index];
        let packet = sink.packets.pop()?;
        sink.boundary -= packet.flits;
        sink.whole -= 1;
        if sink.whole == 0 {
            self.waiting.remove(index);
        }
        if self.channels > 1 {
            self.turn[output] = (index as u32 + 1) % self.channels;
        }
        Some(packet)
    }
}
