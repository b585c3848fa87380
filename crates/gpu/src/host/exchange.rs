//! Everything that passes between the stepping thread and the SMs of a group. Each side writes a
//! cache line of its own, so that a line crosses from core to core once in a step or round.

use super::own_line::OwnLine;
use warploom_base::Cycle;
use warploom_mem::Reply;
use warploom_sm::{Outcome, Outgoing, Sm};

/// Number of packets of a step for which there is room at first. More are rare, and the room stays.
const ROOM: usize = 256;

/// A reply, with the cycle from which its SM sees it.
pub(crate) type TimedReply = (Cycle, Reply);

/// The cycles that an SM is to run.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// Number of the SM.
    pub sm: usize,
    pub from: Cycle,
    pub to: Cycle,
    /// The next cycle of the request network: credits of earlier cycles have come. For windows
    /// only.
    pub known: Cycle,
}

/// Credits that an SM gets.
struct Credits {
    /// Place of the SM in its group.
    place: u32,
    flits: u32,
    /// The cycle from which the SM has them; 0 for at once.
    from: Cycle,
}

/// Messages from the stepping thread.
#[derive(Default)]
pub(crate) struct ToSms {
    /// Turns of the step or round, in the order of SMs.
    pub turns: Vec<Turn>,
    credits: Vec<Credits>,
    /// Replies, those of an SM in order of arrival.
    pub replies: Vec<TimedReply>,
}

impl ToSms {
    /// True if there are neither credits nor replies.
    pub fn brings_nothing(&self) -> bool {
        self.credits.is_empty() && self.replies.is_empty()
    }

    /// Forgets credits and replies, which the SMs have.
    pub fn clear(&mut self) {
        self.credits.clear();
        self.replies.clear();
    }

    /// Adds credits for the SM in a place, from a cycle on, 0 for at once.
    pub fn add_credits(&mut self, place: usize, flits: u32, from: Cycle) {
        let place = place as u32;
        self.credits.push(Credits { place, flits, from });
    }

    /// Hands credits and replies to the SMs, of which the first has the number `first`.
    pub fn deliver(&self, first: usize, sms: &mut [Sm]) {
        for &Credits { place, flits, from } in &self.credits {
            let link = &mut sms[place as usize].link;
            match from {
                0 => link.add_credits(flits),
                at => link.add_credits_from(at, flits),
            }
        }
        for (at, reply) in &self.replies {
            sms[reply.sm.index() - first].receive_reply(*at, reply);
        }
    }
}

/// Messages from the SMs.
#[derive(Default)]
pub(crate) struct FromSms {
    /// Outcomes of the turns, in their order.
    pub runs: Vec<Outcome>,
    /// Requests, SM by SM, the oldest of each first.
    requests: Vec<Outgoing>,
    /// Number of each SM that sent requests, in order, with the number of these.
    senders: Vec<(u32, u32)>,
}

impl FromSms {
    /// Forgets all requests of SMs.
    pub fn clear_requests(&mut self) {
        self.requests.clear();
        self.senders.clear();
    }

    /// Takes the requests of an SM, by number.
    #[inline]
    pub fn take_requests(&mut self, number: usize, sm: &mut Sm) {
        let before = self.requests.len();
        sm.take_sent(|packet| self.requests.push(*packet));
        let count = self.requests.len() - before;
        if count > 0 {
            self.senders.push((number as u32, count as u32));
        }
    }

    /// Calls `f` with each request and the number of its SM.
    #[inline]
    pub fn for_each_request(&self, mut f: impl FnMut(usize, &Outgoing)) {
        let mut requests = self.requests.iter();
        for &(number, count) in &self.senders {
            let own = requests.by_ref().take(count as usize);
            own.for_each(|packet| f(number as usize, packet));
        }
    }
}

/// Messages in both directions.
#[derive(Default)]
pub(crate) struct Exchange {
    pub to_sms: OwnLine<ToSms>,
    pub from_sms: OwnLine<FromSms>,
}

impl Exchange {
    /// An empty exchange with room for some SMs.
    pub fn new(sms: usize) -> Self {
        let mut exchange = Self::default();
        exchange.to_sms.turns.reserve_exact(sms);
        exchange.to_sms.credits.reserve(ROOM);
        exchange.to_sms.replies.reserve(ROOM);
        exchange.from_sms.runs.reserve_exact(sms);
        exchange.from_sms.requests.reserve(ROOM);
        exchange.from_sms.senders.reserve(ROOM);
        exchange
    }
}
