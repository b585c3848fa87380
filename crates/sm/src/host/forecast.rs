//! Credits that an SM will get for packets that it has sent, as far as they depend on nothing but
//! these packets, so that an SM in a window need not wait for the request network.
//!
//! A packet that has crossed the link enters a buffer of the network as soon as that has room, and
//! the SM then gets credits for it. The buffer passes on a flit a cycle while the network has room.
//! How many flits surely pass is known where the SM begins to run, and up to that number everything
//! is. Where the network is ahead of the SM, the cycles in which it was to pass on a flit are known.
//!
//! Links take one cycle. Invariant: the packets held here are those for which the network has given
//! no credits; those of the first of them may have been predicted.

use warploom_base::{Cycle, TimedQueue};

/// Packets for which there is room at first.
const ROOM: usize = 64;

/// The network's buffer that an SM's packets enter, and no others, before some cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InjectionPort {
    /// Flits in it.
    pub flits: u32,
    /// Number of cycles for which `passed` is known.
    pub cycles: u32,
    /// The cycles in which a flit passes from it into the network, as bits, the first one lowest.
    pub passed: u32,
    /// Flits that surely pass after these, one a cycle.
    pub passes: u32,
}

/// What an SM knows of the far end of its link as it begins to run.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Credits of before this cycle are known: the network has run those cycles, and nothing that
    /// the SM has not sent enters the port before.
    pub at: Cycle,
    /// The port before that cycle, if the SM has one of its own.
    pub injection: Option<InjectionPort>,
}

/// The way of an SM's packets into the network.
#[derive(Clone, Debug)]
pub(crate) struct CreditForecast {
    /// Flits for which the buffer has room.
    room: u32,
    /// The first cycle that has not been computed; 0 if none can be.
    at: Cycle,
    /// True if that cycle can be computed, from this state of the buffer.
    goes_on: bool,
    port: InjectionPort,
    /// By packet: the first cycle in which it may enter the buffer, and its flits.
    packets: TimedQueue<u32>,
    /// How many of them enter before cycle `at`, and their flits.
    entered: usize,
    entered_flits: u32,
    /// Flits for which credits were predicted and have not come.
    predicted: u32,
}

impl CreditForecast {
    /// An empty way into a buffer with `room` for some flits.
    pub fn new(room: u32) -> Self {
        Self {
            room,
            at: 0,
            goes_on: false,
            port: InjectionPort::default(),
            packets: TimedQueue::new(ROOM),
            entered: 0,
            entered_flits: 0,
            predicted: 0,
        }
    }

    /// A packet is sent in cycle `now`.
    #[inline]
    pub fn send(&mut self, now: Cycle, flits: u32) {
        self.packets.push(now + 1, flits);
    }

    /// Takes credits for the first packets. Returns those that were not predicted.
    #[inline]
    pub fn take(&mut self, flits: u32) -> u32 {
        let mut left = flits;
        while let Some((_, first)) = self.packets.nth(0)
            && *first <= left
        {
            left -= first;
            self.packets.drop_oldest();
        }
        (self.at, self.goes_on) = (0, false);
        let predicted = flits.min(self.predicted);
        self.predicted -= predicted;
        flits - predicted
    }

    /// The SM begins to run ahead of the network.
    #[inline]
    pub fn begin(&mut self, state: &PortState) {
        self.goes_on = state.injection.is_some();
        self.at = if self.goes_on { state.at } else { 0 };
        self.port = state.injection.unwrap_or_default();
        (self.entered, self.entered_flits) = (0, 0);
    }

    /// True if all credits of before cycle `now` are known.
    #[inline]
    pub fn is_known(&self, now: Cycle) -> bool {
        self.at >= now
    }

    /// Predicts credits for packets that enter before cycle `now`, as far as that can be computed.
    /// Returns those that were not predicted before.
    #[inline]
    pub fn predict(&mut self, now: Cycle) -> u32 {
        let before = self.predicted;
        while self.goes_on & (self.at < now) {
            self.cycle();
        }
        self.predicted - before
    }

    /// The first cycle up to `end` from which there are credits that were not predicted before,
    /// and these credits; else the last cycle for which it is known that there are none. Requires
    /// that nothing is sent before that cycle.
    pub fn next_credits(&mut self, end: Cycle) -> (Cycle, u32) {
        let before = self.predicted;
        while self.goes_on & (self.at < end) & (self.predicted == before) {
            self.cycle();
        }
        (self.at, self.predicted - before)
    }

    #[inline]
    fn cycle(&mut self) {
        self.enter();
        self.at += 1;
        self.pass();
    }

    /// Packets that have arrived and find room enter the buffer.
    #[inline]
    fn enter(&mut self) {
        while let Some((from, flits)) = self.packets.nth(self.entered)
            && *from <= self.at
            && self.port.flits + flits <= self.room
        {
            self.port.flits += flits;
            self.entered += 1;
            self.entered_flits += flits;
            self.predicted = self.predicted.max(self.entered_flits);
        }
    }

    /// A flit passes on, if there is one and the network takes it.
    #[inline]
    fn pass(&mut self) {
        let InjectionPort {
            flits,
            cycles,
            passed,
            passes,
        } = &mut self.port;
        if *cycles > 0 {
            *flits -= *passed & 1;
            *passed >>= 1;
            *cycles -= 1;
            return;
        }
        let any = u32::from(*flits > 0);
        self.goes_on = *passes >= any;
        *flits -= any;
        *passes = passes.saturating_sub(any);
    }
}

#[cfg(test)]
mod tests {
    use super::{CreditForecast, InjectionPort, PortState};
    use warploom_base::Cycle;

    fn port(at: Cycle, flits: u32, passes: u32) -> PortState {
        let injection = Some(InjectionPort {
            flits,
            passes,
            ..InjectionPort::default()
        });
        PortState { at, injection }
    }

    /// Credits predicted in cycles 10 to 17, a number each, for packets of five flits sent in cycles
    /// 9 and 10.
    fn predicted(forecast: &mut CreditForecast, port: PortState) -> [Option<u32>; 8] {
        forecast.begin(&port);
        std::array::from_fn(|i| {
            let now = 10 + i as Cycle;
            let credits = forecast.predict(now);
            forecast.is_known(now).then_some(credits)
        })
    }

    fn forecast() -> CreditForecast {
        let mut forecast = CreditForecast::new(8);
        forecast.send(9, 5);
        forecast.send(10, 5);
        forecast
    }

    #[test]
    fn a_packet_enters_when_it_has_come_and_finds_room() {
        // The first in cycle 10. Then four flits are in the buffer, and three in cycle 12.
        let credits = predicted(&mut forecast(), port(10, 0, 99));
        assert_eq!(credits, [0, 5, 0, 5, 0, 0, 0, 0].map(Some));
        // Four earlier flits are in its way for a cycle.
        let credits = predicted(&mut forecast(), port(10, 4, 99));
        assert_eq!(credits, [0, 0, 5, 0, 0, 0, 0, 5].map(Some));
    }

    #[test]
    fn nothing_is_known_after_the_last_flit_that_surely_passes() {
        let credits = predicted(&mut forecast(), port(10, 4, 2));
        assert_eq!(credits[..4], [0, 0, 5, 0].map(Some));
        assert_eq!(credits[4..], [None; 4]);
        let unknown = PortState {
            at: 10,
            injection: None,
        };
        assert_eq!(predicted(&mut forecast(), unknown), [None; 8]);
    }

    /// The network has run five cycles already, and passed a flit in the second and third of them:
    /// more than are sure to pass.
    #[test]
    fn what_the_network_has_passed_is_known() {
        let port = |passes| PortState {
            at: 10,
            injection: Some(InjectionPort {
                flits: 4,
                cycles: 5,
                passed: 0b00110,
                passes,
            }),
        };
        // The first enters in cycle 12, when three are left. Then there are seven.
        let expected = [0, 0, 0, 5, 0, 0, 0, 0].map(Some);
        assert_eq!(predicted(&mut forecast(), port(99)), expected);
        let credits = predicted(&mut forecast(), port(0));
        assert_eq!(credits[..7], expected[..7]);
        assert_eq!(credits[7], None, "it may pass one in cycle 15");
    }

    #[test]
    fn the_next_credits_are_found() {
        let mut forecast = forecast();
        forecast.begin(&port(10, 0, 99));
        assert_eq!(forecast.next_credits(20), (11, 5));
        assert_eq!(forecast.next_credits(12), (12, 0));
        assert_eq!(forecast.next_credits(20), (13, 5));
        assert_eq!(forecast.next_credits(20), (20, 0));
        forecast.begin(&port(10, 4, 0));
        assert_eq!(forecast.next_credits(20), (11, 0));
    }

    #[test]
    fn predicted_credits_are_not_given_again() {
        let mut forecast = forecast();
        predicted(&mut forecast, port(10, 0, 1));
        // The network is still in cycle 10, or comes to it later: the same packet.
        let credits = predicted(&mut forecast, port(10, 0, 99));
        assert_eq!(credits, [0, 0, 0, 5, 0, 0, 0, 0].map(Some));
        let taken = [5, 5, 0].map(|flits| forecast.take(flits));
        assert_eq!(taken, [0; 3]);
        forecast.send(20, 1);
        assert_eq!(forecast.take(1), 1, "it was not predicted");
    }
}
