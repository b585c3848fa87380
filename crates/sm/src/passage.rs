//! The way of packets from an SM into the network, as far as it hangs on nothing but these packets,
//! so that an SM that runs ahead knows of the credits that it will get for them.
//!
//! Packets that have crossed the link go into a buffer of the network's as soon as that has room,
//! which is when the SM gets credits for them. The buffer passes on a flit a cycle while the
//! network has room: how many it surely has is known where the SM begins to run, so that up to so
//! many everything is. Where the network is ahead of the SM, it is known in which cycles it was to
//! pass on a flit.
//!
//! Links take one cycle. Invariant: the packets kept are those for which the far end has given no
//! credits; the first of them may have been foreseen.

use warploom_base::{Cycle, TimedQueue};

/// Packets for which there is room at first.
const ROOM: usize = 64;

/// The buffer that an SM's packets go into, and no others, before some cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entrance {
    /// Flits in it.
    pub flits: u32,
    /// So many cycles are known, and in which of them a flit passes from it into the network, as
    /// bits, that of the first the lowest.
    pub cycles: u32,
    /// See `cycles`.
    pub passed: u32,
    /// Flits that surely pass behind these, one a cycle.
    pub passes: u32,
}

/// What an SM knows of the far end of its link as it begins to run.
#[derive(Clone, Copy, Debug)]
pub struct FarEnd {
    /// Credits up to that cycle are known: the far end has run those before, and nothing that the
    /// SM has not sent goes into the entrance before.
    pub at: Cycle,
    /// What it is like before that cycle, if the SM has an entrance of its own.
    pub entrance: Option<Entrance>,
}

/// The way of an SM's packets.
#[derive(Clone, Debug)]
pub(crate) struct Passage {
    /// Flits for which the buffer has room.
    room: u32,
    /// The first cycle of which it is not known what enters; 0 where of none.
    at: Cycle,
    /// More is, and what the buffer is like before that cycle.
    goes_on: bool,
    entrance: Entrance,
    /// By packet: the first cycle in which it may enter the buffer, and its flits.
    packets: TimedQueue<u32>,
    /// How many of them are known to have entered before that cycle, and their flits.
    entered: usize,
    entered_flits: u32,
    /// Flits of packets for which credits were foreseen.
    foreseen: u32,
}

impl Passage {
    /// An empty way into a buffer with room for so many flits.
    pub(crate) fn new(room: u32) -> Self {
        Self {
            room,
            at: 0,
            goes_on: false,
            entrance: Entrance::default(),
            packets: TimedQueue::new(ROOM),
            entered: 0,
            entered_flits: 0,
            foreseen: 0,
        }
    }

    /// A packet is sent in cycle `now`.
    #[inline]
    pub(crate) fn send(&mut self, now: Cycle, flits: u32) {
        self.packets.push(now + 1, flits);
    }

    /// The far end gives credits for the first packets. Returns those that were not foreseen.
    #[inline]
    pub(crate) fn take(&mut self, flits: u32) -> u32 {
        let mut left = flits;
        while let Some((_, first)) = self.packets.nth(0)
            && *first <= left
        {
            left -= first;
            self.packets.drop_oldest();
        }
        (self.at, self.goes_on) = (0, false);
        let foreseen = flits.min(self.foreseen);
        self.foreseen -= foreseen;
        flits - foreseen
    }

    /// The SM begins to run ahead of the far end.
    #[inline]
    pub(crate) fn begin(&mut self, far: &FarEnd) {
        self.goes_on = far.entrance.is_some();
        self.at = if self.goes_on { far.at } else { 0 };
        self.entrance = far.entrance.unwrap_or_default();
        (self.entered, self.entered_flits) = (0, 0);
    }

    /// All credits of before cycle `now` are known.
    #[inline]
    pub(crate) fn is_known(&self, now: Cycle) -> bool {
        self.at >= now
    }

    /// Credits for packets that have entered before cycle `now`, as far as that is known, and were
    /// not foreseen before.
    #[inline]
    pub(crate) fn foresee(&mut self, now: Cycle) -> u32 {
        let before = self.foreseen;
        while self.goes_on & (self.at < now) {
            self.cycle();
        }
        self.foreseen - before
    }

    /// The first cycle up to `end` from which there are credits that were not foreseen before, else
    /// the last for which it is known that there are none; and these credits. Nothing is sent
    /// before it.
    pub(crate) fn next_credits(&mut self, end: Cycle) -> (Cycle, u32) {
        let before = self.foreseen;
        while self.goes_on & (self.at < end) & (self.foreseen == before) {
            self.cycle();
        }
        (self.at, self.foreseen - before)
    }

    #[inline]
    fn cycle(&mut self) {
        self.enter();
        self.at += 1;
        self.pass();
    }

    /// The packets that may do so enter the buffer.
    #[inline]
    fn enter(&mut self) {
        while let Some((from, flits)) = self.packets.nth(self.entered)
            && *from <= self.at
            && self.entrance.flits + flits <= self.room
        {
            self.entrance.flits += flits;
            self.entered += 1;
            self.entered_flits += flits;
            self.foreseen = self.foreseen.max(self.entered_flits);
        }
    }

    /// A flit passes on, if there is one and the network takes it.
    #[inline]
    fn pass(&mut self) {
        let Entrance {
            flits,
            cycles,
            passed,
            passes,
        } = &mut self.entrance;
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
    use super::{Entrance, FarEnd, Passage};
    use warploom_base::Cycle;

    fn far(at: Cycle, flits: u32, passes: u32) -> FarEnd {
        let entrance = Some(Entrance {
            flits,
            passes,
            ..Entrance::default()
        });
        FarEnd { at, entrance }
    }

    /// Credits foreseen in cycles 10 to 17, one number each, for packets of five flits sent in
    /// cycles 9 and 10.
    fn foreseen(passage: &mut Passage, far: FarEnd) -> [Option<u32>; 8] {
        passage.begin(&far);
        std::array::from_fn(|i| {
            let now = 10 + i as Cycle;
            let credits = passage.foresee(now);
            passage.is_known(now).then_some(credits)
        })
    }

    fn passage() -> Passage {
        let mut passage = Passage::new(8);
        passage.send(9, 5);
        passage.send(10, 5);
        passage
    }

    #[test]
    fn a_packet_enters_when_it_has_come_and_finds_room() {
        // The first in cycle 10. Then four flits are in the buffer, and three in cycle 12.
        let credits = foreseen(&mut passage(), far(10, 0, 99));
        assert_eq!(credits, [0, 5, 0, 5, 0, 0, 0, 0].map(Some));
        // Four flits of before are in its way for a cycle.
        let credits = foreseen(&mut passage(), far(10, 4, 99));
        assert_eq!(credits, [0, 0, 5, 0, 0, 0, 0, 5].map(Some));
    }

    #[test]
    fn what_is_behind_the_last_flit_that_surely_passes_is_not_known() {
        let credits = foreseen(&mut passage(), far(10, 4, 2));
        assert_eq!(credits[..4], [0, 0, 5, 0].map(Some));
        assert_eq!(credits[4..], [None; 4]);
        let unknown = FarEnd {
            at: 10,
            entrance: None,
        };
        assert_eq!(foreseen(&mut passage(), unknown), [None; 8]);
    }

    /// The network has run five cycles already, and passed a flit in the second and third of them:
    /// more than are sure to pass.
    #[test]
    fn what_the_network_has_passed_is_known() {
        let far = |passes| FarEnd {
            at: 10,
            entrance: Some(Entrance {
                flits: 4,
                cycles: 5,
                passed: 0b00110,
                passes,
            }),
        };
        // The first enters in cycle 12, when three are left. Then there are seven.
        let expected = [0, 0, 0, 5, 0, 0, 0, 0].map(Some);
        assert_eq!(foreseen(&mut passage(), far(99)), expected);
        let credits = foreseen(&mut passage(), far(0));
        assert_eq!(credits[..7], expected[..7]);
        assert_eq!(credits[7], None, "it may pass one in cycle 15");
    }

    #[test]
    fn the_next_credits_are_found() {
        let mut passage = passage();
        passage.begin(&far(10, 0, 99));
        assert_eq!(passage.next_credits(20), (11, 5));
        assert_eq!(passage.next_credits(12), (12, 0));
        assert_eq!(passage.next_credits(20), (13, 5));
        assert_eq!(passage.next_credits(20), (20, 0));
        passage.begin(&far(10, 4, 0));
        assert_eq!(passage.next_credits(20), (11, 0));
    }

    #[test]
    fn what_was_foreseen_is_not_given_again() {
        let mut passage = passage();
        foreseen(&mut passage, far(10, 0, 1));
        // The far end is still in cycle 10, or comes to it later: the same packet.
        let credits = foreseen(&mut passage, far(10, 0, 99));
        assert_eq!(credits, [0, 0, 0, 5, 0, 0, 0, 0].map(Some));
        assert_eq!([passage.take(5), passage.take(5), passage.take(0)], [0; 3]);
        passage.send(20, 1);
        assert_eq!(passage.take(1), 1, "it was not foreseen");
    }
}
