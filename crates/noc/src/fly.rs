//! One-stage butterfly: one router with a port for each node, as BookSim's `fly` with n = 1 behaves
//! under GPGPU-Sim (docs/model/network.md, Butterfly).
//!
//! Path of a flit: injection buffer, channel, input buffer of a virtual channel, switch, output
//! queue, channel, ejection buffer, boundary buffer. A channel takes two cycles from end to end,
//! for flits and for credits. A packet holds a virtual channel of its output from head to tail. A
//! node injects and ejects one flit a cycle.

mod credits;
mod departures;
mod islip;
mod lanes;
mod ports;
mod router;
mod sinks;

use crate::NocCounters;
use crate::store::{PacketId, PacketQueue, Store};
use credits::Credits;
use departures::CHANNEL;
use lanes::{Counts, LANES, both, count, subtract};
pub(crate) use ports::{Few, Many};
use ports::{PortSet, PortTable, Ports};
use router::{Around, Router};
use sinks::Sinks;
use warploom_base::{Cycle, each_member};
use warploom_config::NocSpec;
use warploom_state::{State, Value};

/// Steps of the router's pipeline before the switch: allocation of virtual channel and of switch.
const ALLOCATION_STEPS: u32 = 2;

/// Node at an input port.
#[derive(Clone, Debug, Value)]
struct Source {
    /// Packets of which no flit has been sent, in networks with several virtual channels. With one
    /// virtual channel, packets go to the router's input queue at once, and the fields of this
    /// struct are unused.
    packets: PacketQueue,
    /// Number of flits left of the packet that is being sent.
    left: u32,
    /// Virtual channel of that packet, or of the last one.
    channel: u32,
}

/// The network. In each cycle, arrivals over the channels are taken before anything is sent, so
/// that a channel needs as many slots as it takes cycles.
#[derive(Clone, Debug, State)]
pub(crate) struct Fly<P: Ports> {
    #[state(fixed)]
    channels: u32,
    #[state(fixed)]
    injection_buffer: u32,
    #[state(fixed)]
    speedup_percent: u32,
    speedup_credit: u32,
    sources: P::Table<Source>,
    /// Number of flits in the injection buffer, by input.
    flits: Counts<P>,
    /// Number of groups of sixteen inputs.
    #[state(fixed)]
    lanes: usize,
    /// Inputs with flits to send, in networks with several virtual channels.
    sending: P::Set,
    /// Number of flits that a source may still send, by input and virtual channel.
    credits: Credits<P>,
    /// Flits on the channels to the router, by cycle, and by input and virtual channel.
    to_router: [Counts<P>; CHANNEL],
    router: Router<P>,
    sinks: Sinks<P>,
    /// Steps of the router for a flit over the switch.
    #[state(fixed)]
    switch_steps: u32,
    now: Cycle,
}

/// Cycles until `steps` steps of the router are done. A cycle does `percent` hundredths of a step,
/// and `credit` hundredths are left of the present one.
#[inline]
const fn crossing(steps: u32, credit: u32, percent: u32) -> u32 {
    let left = (100 * steps).saturating_sub(credit);
    // The usual case of one cycle needs no division.
    if left <= percent {
        (left > 0) as u32
    } else {
        left.div_ceil(percent)
    }
}

/// True if a network of this size fits [`Few`] ports.
pub(crate) fn is_small(spec: &NocSpec, inputs: usize, outputs: usize) -> bool {
    let speedup = spec.input_speedup.max(spec.output_speedup);
    let each = spec.virtual_channels.max(speedup) as usize;
    inputs.max(outputs) * each <= Few::MOST
}

impl<P: Ports> Fly<P> {
    pub(crate) fn new(spec: &NocSpec, inputs: usize, outputs: usize) -> Self {
        let channels = spec.virtual_channels as usize;
        let switch_steps = spec.hop_cycles.saturating_sub(ALLOCATION_STEPS).max(1);
        let source = Source {
            packets: PacketQueue::EMPTY,
            left: 0,
            channel: spec.virtual_channels - 1,
        };
        Self {
            channels: spec.virtual_channels,
            injection_buffer: count(spec.injection_buffer).into(),
            speedup_percent: spec.internal_speedup_percent,
            speedup_credit: 0,
            sources: P::Table::new(inputs, source),
            flits: Counts::<P>::new(inputs.next_multiple_of(LANES), 0),
            lanes: inputs.div_ceil(LANES),
            sending: P::Set::new(inputs),
            credits: Credits::new(inputs * channels, spec.input_buffer),
            to_router: std::array::from_fn(|_| {
                Counts::<P>::new((inputs * channels).next_multiple_of(LANES), 0)
            }),
            router: Router::new(spec, inputs, outputs),
            sinks: Sinks::new(spec, outputs),
            switch_steps,
            now: 0,
        }
    }

    /// Number of flits in an input's injection buffer.
    #[inline]
    fn waiting(&self, input: usize) -> u32 {
        self.flits[input].into()
    }

    #[inline]
    pub(crate) fn has_room(&self, input: usize, flits: u32) -> bool {
        self.waiting(input) + flits <= self.injection_buffer
    }

    /// Answers [`crate::Network::stays_full`]: one flit a cycle leaves the buffer.
    #[inline]
    pub(crate) fn stays_full(&self, input: usize, flits: u32, cycles: u32) -> bool {
        let left = cycles.saturating_sub(1);
        self.waiting(input) + flits > self.injection_buffer + left
    }

    #[inline]
    pub(crate) fn inject(&mut self, input: usize, (id, flits): (PacketId, u32), store: &mut Store) {
        self.flits[input] += flits as u16;
        if self.channels == 1 {
            self.router.announce(input, id, store);
        } else {
            self.sources[input].packets.push(store, id);
            self.sending.insert(input);
        }
    }

    #[inline(never)]
    pub(crate) fn cycle(&mut self, store: &mut Store, counters: &mut NocCounters) {
        self.begin();
        let Router {
            departures,
            credits,
            ..
        } = &mut self.router;
        self.sinks
            .eject(departures.begin(self.now), credits.giving());
        let at = self.now as usize % CHANNEL;
        self.router.arrive(&mut self.to_router[at], store);
        self.send(store);
        self.speedup_credit += self.speedup_percent;
        while self.speedup_credit >= 100 {
            self.speedup_credit -= 100;
            if !self.router.is_at_rest() {
                self.step(store, counters);
            }
        }
        self.router.departures.count(self.now, counters);
    }

    /// Runs one step of the router.
    #[inline]
    fn step(&mut self, store: &mut Store, counters: &mut NocCounters) {
        let cycles = crossing(self.switch_steps, self.speedup_credit, self.speedup_percent);
        let around = Around {
            over: self.now + Cycle::from(cycles),
            to_source: self.credits.giving(),
            sinks: &mut self.sinks,
            store,
        };
        self.router.step(around, counters);
    }

    /// Begins a cycle: takes the credits that have crossed their channels.
    #[inline(always)]
    fn begin(&mut self) {
        self.now += 1;
        self.credits.arrive();
        self.router.credits.arrive();
    }

    /// Sends one flit of each node, if its virtual channel has room.
    #[inline]
    fn send(&mut self, store: &mut Store) {
        if self.channels == 1 {
            return self.send_alone();
        }
        self.send_in_turn(store);
    }

    #[inline(never)]
    fn send_in_turn(&mut self, store: &mut Store) {
        each_member!(self.sending, input => {
            if let Some(channel) = self.channel_to_send(input) {
                self.send_flit(input, channel, store);
            }
        });
    }

    /// `send` in networks with one virtual channel.
    #[inline]
    fn send_alone(&mut self) {
        let to_router = &mut self.to_router[self.now as usize % CHANNEL];
        for index in 0..self.lanes {
            let (flits, credits) = (self.flits.lanes(index), self.credits.lanes(index));
            let sends = both(flits, credits, |flits, credits| (flits > 0) & (credits > 0));
            subtract(flits, &sends);
            subtract(credits, &sends);
            *to_router.lanes(index) = sends;
        }
    }

    /// Virtual channel with room for the next flit of an input: that of the packet that is being
    /// sent, or one for the next packet.
    fn channel_to_send(&self, input: usize) -> Option<u32> {
        let Source { left, channel, .. } = self.sources[input];
        let has_room = |channel: &u32| self.credits.any(self.index(input, *channel));
        if left > 0 {
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

    fn send_flit(&mut self, input: usize, channel: u32, store: &mut Store) {
        let index = self.index(input, channel);
        let source = &mut self.sources[input];
        if source.left == 0
            && let Some((id, header)) = source.packets.pop(store)
        {
            (source.left, source.channel) = (header.flits, channel);
            self.router.announce(index, id, store);
        }
        source.left -= 1;
        self.pass_flit(input, index);
    }

    /// Puts a flit on the channel.
    #[inline]
    fn pass_flit(&mut self, input: usize, index: usize) {
        self.credits.take(index);
        self.to_router[self.now as usize % CHANNEL][index] = 1;
        self.flits[input] -= 1;
        self.sending.remove_if(input, self.flits[input] == 0);
    }

    /// Passes cycles without a packet in the network; credits on their way arrive.
    pub(crate) fn skip(&mut self, cycles: u64) {
        (0..cycles.min(CHANNEL as u64)).for_each(|_| self.begin());
        let credit =
            u64::from(self.speedup_credit) + cycles % 100 * u64::from(self.speedup_percent);
        self.speedup_credit = (credit % 100) as u32;
    }

    /// Outputs from 64 x `index` on at which a packet waits, one bit each.
    #[inline]
    pub(crate) fn arrived(&self, index: usize) -> u64 {
        self.sinks.arrived(index)
    }

    #[inline]
    pub(crate) fn front(&self, output: usize) -> Option<PacketId> {
        self.sinks.front(output)
    }

    #[inline]
    pub(crate) fn pop(&mut self, output: usize, store: &mut Store) -> Option<PacketId> {
        self.sinks.pop(output, store)
    }
}

#[cfg(test)]
mod tests {
    use super::{Few, Fly, Many, NocCounters, Ports};
    use crate::store::Store;
    use crate::testing::packet;
    use warploom_base::Rng;
    use warploom_config::NocSpec;

    /// Runs random traffic, part of which waits at the outputs. Returns (cycle, output, token) of
    /// each packet that leaves, and the statistics.
    fn run<P: Ports>(spec: &NocSpec, ports: u32) -> (Vec<(u32, usize, u32)>, NocCounters) {
        let mut net = Fly::<P>::new(spec, ports as usize, ports as usize);
        let (mut store, mut counters) = (Store::new(8), NocCounters::default());
        let mut rng = Rng::new(7);
        let mut came = Vec::new();
        for cycle in 0..3_000 {
            for _ in 0..ports / 6 {
                let (input, output) = (rng.below(ports) as usize, rng.below(ports).min(ports - 2));
                let flits = 1 + rng.below(4);
                if net.has_room(input, flits) && rng.below(3) > 0 {
                    let (id, _) = store.lodge(&packet(cycle), output, flits, 32 * flits);
                    net.inject(input, (id, flits), &mut store);
                }
            }
            net.cycle(&mut store, &mut counters);
            for _ in 0..ports / 6 {
                let output = rng.below(ports) as usize;
                assert_eq!(
                    net.arrived(0) >> output & 1 != 0,
                    net.front(output).is_some()
                );
                if let Some(id) = net.pop(output, &mut store) {
                    came.push((cycle, output, store.content(id).token));
                    store.release(id);
                }
            }
        }
        (came, counters)
    }

    /// A network with tables for few ports behaves like the same network with tables of any size.
    #[test]
    fn few_ports_behave_like_many() {
        let fermi = warploom_config::preset("gtx480");
        let fermi = fermi.unwrap_or_else(|errors| panic!("{errors}")).noc;
        // Also more ports than are counted at once.
        for (ports, virtual_channels, internal_speedup_percent) in [
            (6, 1, 200),
            (6, 1, 150),
            (6, 3, 200),
            (6, 2, 100),
            (30, 1, 200),
            (10, 3, 150),
        ] {
            let spec = NocSpec {
                virtual_channels,
                internal_speedup_percent,
                ..fermi
            };
            let few = run::<Few>(&spec, ports);
            assert!(few.0.len() > 500 && few.1.conflicts > 0);
            assert_eq!(few, run::<Many>(&spec, ports), "{ports} {virtual_channels}");
        }
    }
}
