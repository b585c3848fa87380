//! What an SM has for the others at the end of a step: whoever goes on between steps looks at an SM
//! itself only where its news say that there is something.

use crate::sm::Sm;
use warploom_base::Cycle;

/// Flags above the number of waiting replies.
const SENT: u64 = 1 << 32;
const FINISHED: u64 = 1 << 33;
const GAINED_ROOM: u64 = 1 << 34;
const STORED: u64 = 1 << 35;
const FAULT: u64 = 1 << 36;
const WAITS_FOR_CREDITS: u64 = 1 << 37;

/// News of an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// The SM has nothing to do before this cycle.
    pub wake_at: Cycle,
    /// Flags, and in the lower half the replies that it has not taken.
    bits: u64,
}

impl News {
    /// Replies that the SM has not taken.
    pub const fn waiting(self) -> u32 {
        self.bits as u32
    }

    /// Packets have left for the network.
    pub const fn sent(self) -> bool {
        self.bits & SENT != 0
    }

    /// Blocks have ended.
    pub const fn finished(self) -> bool {
        self.bits & FINISHED != 0
    }

    /// A block may have room that had none before, although none has ended.
    pub const fn gained_room(self) -> bool {
        self.bits & GAINED_ROOM != 0
    }

    /// Stores are to become visible to others.
    pub const fn stored(self) -> bool {
        self.bits & STORED != 0
    }

    /// Something waits for credits of the link.
    pub const fn waits_for_credits(self) -> bool {
        self.bits & WAITS_FOR_CREDITS != 0
    }

    /// The simulated program did what no GPU allows.
    pub const fn fault(self) -> bool {
        self.bits & FAULT != 0
    }
}

impl Sm {
    /// What the SM has for the others now.
    pub fn news(&self) -> News {
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        News {
            wake_at: self.wake_at(),
            bits: self.link.waiting() as u64
                | flag(!self.link.outgoing.is_empty(), SENT)
                | flag(!self.finished.is_empty(), FINISHED)
                | flag(self.gained_room, GAINED_ROOM)
                | flag(!self.log.is_empty(), STORED)
                | flag(self.fault.is_some(), FAULT)
                | flag(self.waits_for_credits(), WAITS_FOR_CREDITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::FinishedBlock;
    use warploom_base::{BlockId, KernelSlot, SmId};
    use warploom_config::preset;
    use warploom_mem::{AccessKind, Request};
    use warploom_policy::OwnPolicies;

    fn sm() -> Sm {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        Sm::new(&spec, SmId::new(3), &OwnPolicies::default())
    }

    fn request() -> Request {
        Request {
            addr: 0,
            byte_mask: 1,
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

    /// The flags of an SM's news.
    fn flags(sm: &Sm) -> [bool; 6] {
        let news = sm.news();
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
        assert_eq!(quiet.news(), News::default(), "nothing to tell");
        quiet.link.deliver(7, request());
        quiet.link.deliver(8, request());
        assert_eq!((quiet.news().waiting(), flags(&quiet)), (2, [false; 6]));
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
            assert_eq!(flags(&sm), expected);
        }
    }
}
