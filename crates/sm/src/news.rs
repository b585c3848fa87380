//! What an SM has for the others at the end of a step: whoever goes on between steps looks at an SM
//! itself only where its news say that there is something.

use crate::sm::Sm;
use std::ops::BitOrAssign;
use warploom_base::Cycle;

const SENT: u32 = 1;
const FINISHED: u32 = 1 << 1;
const GAINED_ROOM: u32 = 1 << 2;
const STORED: u32 = 1 << 3;
const FAULT: u32 = 1 << 4;
const WAITS_FOR_CREDITS: u32 = 1 << 5;

/// What an SM has, or any of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u32);

impl Flags {
    /// Packets have left for the network.
    #[inline]
    pub const fn sent(self) -> bool {
        self.0 & SENT != 0
    }

    /// Blocks have ended.
    #[inline]
    pub const fn finished(self) -> bool {
        self.0 & FINISHED != 0
    }

    /// A block may have room that had none before, although none has ended.
    #[inline]
    pub const fn gained_room(self) -> bool {
        self.0 & GAINED_ROOM != 0
    }

    /// Stores are to become visible to others.
    #[inline]
    pub const fn stored(self) -> bool {
        self.0 & STORED != 0
    }

    /// An SM that sleeps waits for credits of the link.
    #[inline]
    pub const fn waits_for_credits(self) -> bool {
        self.0 & WAITS_FOR_CREDITS != 0
    }

    /// The simulated program did what no GPU allows.
    #[inline]
    pub const fn fault(self) -> bool {
        self.0 & FAULT != 0
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// News of an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// The SM has nothing to do before this cycle.
    pub wake_at: Cycle,
    /// Replies that the SM has not taken.
    pub waiting: u32,
    /// What else there is.
    pub flags: Flags,
}

impl News {
    /// The SM has something to do in cycle `at`, if not before.
    #[inline]
    pub fn wake(&mut self, at: Cycle) {
        self.wake_at = self.wake_at.min(at);
    }

    /// A reply has come, which the SM sees in cycle `at`.
    #[inline]
    pub fn reply(&mut self, at: Cycle) {
        self.replies(1, at);
    }

    /// So many have come, of which the SM sees the first in cycle `at`.
    #[inline]
    pub fn replies(&mut self, count: u32, at: Cycle) {
        self.waiting += count;
        self.wake(at);
    }

    /// How far the SM sleeps from cycle `now` on, up to `to`. One that waits for credits may get
    /// some in any cycle behind `known`.
    #[inline]
    pub fn sleeps_until(&self, (now, to): (Cycle, Cycle), known: Cycle) -> Cycle {
        let end = match self.flags.waits_for_credits() {
            true => self.wake_at.min(known + 1),
            false => self.wake_at,
        };
        end.clamp(now, to)
    }

    /// The SM has got credits before cycle `now`: wakes it if it waits for them.
    #[inline]
    pub fn wake_for_credits(&mut self, now: Cycle) {
        if self.flags.waits_for_credits() {
            self.wake(now);
        }
    }
}

/// A flag, if it is set.
#[inline]
fn flag(set: bool, bit: u32) -> u32 {
    if set { bit } else { 0 }
}

impl Sm {
    /// What the SM has for the others at the end of a step, cycle `end`. An SM that waits for
    /// credits says so only where it would sleep through the next.
    #[inline]
    pub fn news(&self, end: Cycle) -> News {
        let mut flags = flag(!self.link.outgoing.is_empty(), SENT)
            | flag(!self.log.is_empty(), STORED)
            | flag(
                self.wake_at() > end && self.waits_for_credits(),
                WAITS_FOR_CREDITS,
            );
        // Seldom is there any of the rest, for which one look is enough then.
        let none = self.finished.is_empty() & !self.gained_room;
        if !(none & self.fault.is_none()) {
            flags |= self.rare_news();
        }
        News {
            wake_at: self.wake_at(),
            waiting: self.link.waiting() as u32,
            flags: Flags(flags),
        }
    }

    /// Flags of what most cycles have none of.
    #[inline(never)]
    fn rare_news(&self) -> u32 {
        flag(!self.finished.is_empty(), FINISHED)
            | flag(self.gained_room, GAINED_ROOM)
            | flag(self.fault.is_some(), FAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::FinishedBlock;
    use warploom_base::{BlockId, KernelSlot, SmId};
    use warploom_config::preset;
    use warploom_exec::DeviceMemory;
    use warploom_mem::{AccessKind, Request};
    use warploom_policy::OwnPolicies;

    /// An SM that has been run to cycle 1, the end of its step, and sleeps.
    fn sm() -> Sm {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut sm = Sm::new(&spec, SmId::new(3), &OwnPolicies::default());
        sm.run(0, 1, &DeviceMemory::new(1 << 16));
        sm
    }

    fn request() -> Request {
        Request {
            addr: 0,
            byte_mask: 1,
            entry: Request::NO_ENTRY,
            issued_at: 0,
            returned_at: 0,
            token: 0,
            bytes: 32,
            sm: SmId(3),
            kind: AccessKind::GlobalRead,
            sectors: 1,
            kernel: KernelSlot(0),
            asid: 0,
        }
    }

    /// One that waits for credits may get some as soon as they are not known.
    #[test]
    fn an_sm_sleeps_no_further_than_credits_are_known() {
        let asleep = |flags| News {
            wake_at: 20,
            waiting: 0,
            flags: Flags(flags),
        };
        let (sleeps, waits) = (asleep(0), asleep(WAITS_FOR_CREDITS));
        assert_eq!(sleeps.sleeps_until((10, 32), 12), 20);
        assert_eq!(sleeps.sleeps_until((10, 16), 12), 16);
        assert_eq!(waits.sleeps_until((10, 32), 12), 13);
        assert_eq!(waits.sleeps_until((10, 32), 30), 20);
        assert_eq!(sleeps.sleeps_until((25, 32), 30), 25, "it is awake");
    }

    /// The flags of news.
    fn flags(news: &News) -> [bool; 6] {
        let news = news.flags;
        [
            news.sent(),
            news.finished(),
            news.gained_room(),
            news.stored(),
            news.fault(),
            news.waits_for_credits(),
        ]
    }

    /// Which flag shows what is done to an SM.
    type Thing = (usize, fn(&mut Sm));

    /// Each thing that an SM may have shows, and nothing else.
    #[test]
    fn each_thing_shows() {
        let mut quiet = sm();
        assert_eq!(quiet.news(1).flags, Flags::default(), "nothing to tell");
        quiet.link.deliver(7, &(&request()).into());
        quiet.link.deliver(8, &(&request()).into());
        assert_eq!(
            (quiet.news(1).waiting, flags(&quiet.news(1))),
            (2, [false; 6])
        );
        let things: [Thing; 4] = [
            (0, |sm| sm.link.send(0, request())),
            (1, |sm| {
                sm.finished.push(FinishedBlock {
                    at: 1,
                    kernel: KernelSlot(0),
                    rank: 2,
                    slot: BlockId(0),
                });
            }),
            (2, |sm| sm.gained_room = true),
            (5, |sm| {
                let kind = AccessKind::InstRead;
                sm.front.l1i.access(0, &Request { kind, ..request() });
            }),
        ];
        for (nth, thing) in things {
            let mut sm = sm();
            thing(&mut sm);
            let mut expected = [false; 6];
            expected[nth] = true;
            assert_eq!(flags(&sm.news(1)), expected);
            let mut both = quiet.news(1).flags;
            both |= sm.news(1).flags;
            assert_eq!(both, sm.news(1).flags);
            let awake = sm.news(Cycle::MAX).flags;
            assert!(!awake.waits_for_credits(), "it is not asked");
        }
    }
}
