//! The SMs that one thread runs, neighbours by number, and what passes between them and the
//! stepping thread. What one side writes shares no cache line with what the other writes, so that
//! a line crosses once a step.

use crate::backlog::Backlogs;
use crate::memory::Seen;
use crate::workers::OwnLine;
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{Cycle, each_bit};
use warploom_exec::{DeviceMemory, Pages};
use warploom_sm::{Arrival, FarEnd, Flags, News, Others, Outgoing, Sm};

/// Packets of a step for which there is room at first: more are few, and the room stays.
const ROOM: usize = 256;

/// A step: its cycles, and device memory as it is in them.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub from: Cycle,
    pub to: Cycle,
    /// It is a round of a spell: each SM has cycles of its own, and runs as far as it can. Where
    /// others are.
    pub round: Option<Others>,
    pub memory: &'a DeviceMemory,
}

/// What an SM is to run in a round.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// Its number.
    pub sm: usize,
    pub from: Cycle,
    pub to: Cycle,
    /// What it is to know of the far end of its link.
    pub far: FarEnd,
}

/// What the stepping thread writes between steps.
#[derive(Default)]
struct Orders {
    /// Number of the first SM.
    first: usize,
    /// SMs of the step, in order, by number.
    awake: Vec<u32>,
    /// What each runs, in a round.
    turns: Vec<Turn>,
    /// What came for SMs; they have it before they run.
    arrived: Arrived,
}

/// What came for SMs, in order. Credits are many and small.
#[derive(Default)]
struct Arrived {
    credits: Vec<Credits>,
    replies: Vec<Seen>,
}

/// Credits for an SM, by place.
struct Credits {
    place: u32,
    flits: u32,
    /// The cycle from which they are there; 0 for at once.
    from: Cycle,
}

impl Arrived {
    fn is_empty(&self) -> bool {
        self.credits.is_empty() && self.replies.is_empty()
    }

    fn clear(&mut self) {
        self.credits.clear();
        self.replies.clear();
    }

    fn push(&mut self, place: u32, arrival: Arrival) {
        let (from, flits) = match arrival {
            Arrival::Reply(at, reply) => return self.replies.push((at, reply)),
            Arrival::Credits(flits) => (0, flits),
            Arrival::CreditsFrom(at, flits) => (at, flits),
        };
        self.credits.push(Credits { place, flits, from });
    }

    /// Gives it to those for whom it came, the first of whom has this number.
    fn give(&self, first: usize, sms: &mut [Sm]) {
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

/// What SMs sent.
#[derive(Default)]
struct Posted {
    /// SM by SM, the oldest first.
    packets: Vec<Outgoing>,
    /// The numbers of those that sent any, in order, with how many.
    by: Vec<(u32, u32)>,
}

impl Posted {
    /// Makes room for so many packets.
    fn reserve(&mut self, packets: usize) {
        self.packets.reserve(packets);
        self.by.reserve(packets);
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.by.clear();
    }

    /// Takes what an SM sent, by number.
    #[inline]
    fn take_from(&mut self, number: u32, sm: &mut Sm) {
        let before = self.packets.len();
        sm.take_sent(|packet| self.packets.push(*packet));
        let count = self.packets.len() - before;
        if count > 0 {
            self.by.push((number, count as u32));
        }
    }

    /// Calls `f` with each packet and the number of its SM.
    #[inline]
    fn for_each(&self, mut f: impl FnMut(usize, &Outgoing)) {
        let mut packets = self.packets.iter();
        for &(number, count) in &self.by {
            let its = packets.by_ref().take(count as usize);
            its.for_each(|packet| f(number as usize, packet));
        }
    }
}

/// Where an SM is at the end of a round.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    /// The next cycle that it has not run.
    pub at: Cycle,
    /// See [`Sm::waits_for`].
    pub waits_for: Option<Cycle>,
}

/// What whoever runs the SMs writes in a step.
#[derive(Default)]
struct Results {
    /// Of each SM of the step, in order.
    news: Vec<News>,
    /// Of each in a round.
    reached: Vec<Reached>,
    /// What SMs sent, where [`Crew::post`] put it there.
    posted: Posted,
}

/// SMs of a thread.
#[derive(Default)]
pub(crate) struct Crew {
    orders: OwnLine<Orders>,
    results: OwnLine<Results>,
    sms: Vec<Sm>,
    /// By place: where each has loaded from, as far as that is not settled, where [`Crew::post`]
    /// put it there. It is seldom asked for.
    loaded: Vec<Pages>,
    /// Where it says what its SMs have not taken, in rounds.
    backlogs: Arc<Backlogs>,
}

impl Crew {
    /// `sms`, of which the first has the number `first`; it may come to hold as many as `backlogs`
    /// has.
    pub fn new(first: usize, mut sms: Vec<Sm>, backlogs: Arc<Backlogs>) -> Self {
        let most = backlogs.len();
        sms.reserve_exact(most - sms.len());
        let mut crew = Self {
            sms,
            backlogs,
            ..Self::default()
        };
        crew.loaded.reserve_exact(most);
        crew.forget_loads();
        crew.orders.awake.reserve_exact(most);
        crew.orders.turns.reserve_exact(most);
        crew.results.news.reserve_exact(most);
        crew.results.reached.reserve_exact(most);
        crew.orders.arrived.credits.reserve(ROOM);
        crew.orders.arrived.replies.reserve(ROOM);
        crew.results.posted.reserve(ROOM);
        crew.orders.first = first;
        crew
    }

    /// The numbers of its SMs.
    pub fn range(&self) -> Range<usize> {
        self.orders.first..self.orders.first + self.sms.len()
    }

    /// Which SMs run in the next step, by number.
    pub fn order(&mut self, awake: &[u32]) {
        // Most steps are of the SMs of the last one: a line that is not written stays where it is.
        if self.orders.awake != awake {
            self.orders.awake.clear();
            self.orders.awake.extend_from_slice(awake);
        }
    }

    /// What its SMs run in the next round.
    pub fn order_round(&mut self, turns: &[Turn]) {
        let orders = &mut *self.orders;
        orders.awake.clear();
        orders.awake.extend(turns.iter().map(|turn| turn.sm as u32));
        orders.turns.clear();
        orders.turns.extend_from_slice(turns);
    }

    /// Where an SM has loaded from, by number, as far as that is not settled: see
    /// [`post`](Self::post).
    #[inline]
    pub fn loaded(&self, number: usize) -> &Pages {
        &self.loaded[number - self.orders.first]
    }

    /// All loads of its SMs are settled.
    fn forget_loads(&mut self) {
        self.loaded.clear();
        self.loaded.resize(self.sms.len(), Pages::default());
    }

    /// None of its SMs runs in the step.
    #[inline]
    pub fn rests(&self) -> bool {
        self.orders.awake.is_empty()
    }

    /// Something for an SM, by number.
    pub fn send(&mut self, number: usize, arrival: Arrival) {
        let place = (number - self.orders.first) as u32;
        self.orders.arrived.push(place, arrival);
    }

    /// Replies for its SMs, which their thread has written: whoever calls this does not look at
    /// them, if there are no others.
    pub fn send_all(&mut self, replies: &mut Vec<Seen>) {
        let arrived = &mut self.orders.arrived.replies;
        if arrived.is_empty() {
            std::mem::swap(arrived, replies);
        } else {
            arrived.append(replies);
        }
    }

    /// Hands out what came, so that SMs are as if they had got it themselves.
    #[inline]
    pub fn deliver(&mut self) {
        // Mostly nothing has come, or the SMs have it already.
        if !self.orders.arrived.is_empty() {
            self.hand_out();
        }
    }

    #[inline(never)]
    fn hand_out(&mut self) {
        let Orders { arrived, first, .. } = &*self.orders;
        arrived.give(*first, &mut self.sms);
        self.orders.arrived.clear();
    }

    /// One SM of the stepping thread's, by number: it has what came for it already.
    #[inline]
    pub fn own(&mut self, number: usize) -> &mut Sm {
        debug_assert!(self.orders.first == 0 && self.orders.arrived.is_empty());
        &mut self.sms[number]
    }

    /// One SM, by number, to look at, without what came for it since it ran.
    #[inline]
    pub fn see(&self, number: usize) -> &Sm {
        &self.sms[number - self.orders.first]
    }

    /// The same, for what what came makes no difference to.
    #[inline]
    pub fn touch(&mut self, number: usize) -> &mut Sm {
        &mut self.sms[number - self.orders.0.first]
    }

    /// One SM, by number, with what came for it.
    #[inline]
    pub fn sm(&mut self, number: usize) -> &mut Sm {
        self.deliver();
        let place = number - self.orders.first;
        &mut self.sms[place]
    }

    /// Runs the SMs of the step.
    pub fn run(&mut self, step: Step<'_>) {
        let Self {
            orders,
            results,
            sms,
            ..
        } = self;
        // They stay in the list until `end_step`: the list is not this thread's to write.
        orders.arrived.give(orders.first, sms);
        let Step {
            from,
            to,
            round,
            memory,
        } = step;
        results.news.resize(orders.awake.len(), News::default());
        if let Some(others) = round {
            return self.run_round(&others, memory);
        }
        for (number, news) in orders.awake.iter().zip(&mut results.news) {
            let sm = &mut sms[*number as usize - orders.first];
            sm.run(from, to, memory);
            *news = sm.news(to);
        }
    }

    /// Runs the SMs of a round: see [`Sm::run_on`].
    fn run_round(&mut self, others: &Others, memory: &DeviceMemory) {
        let Orders { first, turns, .. } = &*self.orders;
        let Results { news, reached, .. } = &mut *self.results;
        reached.clear();
        for (turn, news) in turns.iter().zip(news) {
            let sm = &mut self.sms[turn.sm - first];
            let at = sm.run_on((turn.from, turn.to), &turn.far, others, memory);
            *news = sm.news(at);
            self.backlogs.note(turn.sm, others.began, news.waiting);
            reached.push(Reached {
                at,
                waits_for: sm.waits_for(),
            });
        }
    }

    /// Runs those of its SMs from number `first` on that are `awake`, as bits, where there is no
    /// other crew: their news, from that of the first on, needs no place of its own. Returns what
    /// any of them has, and which of them have sent packets.
    pub fn run_alone(
        &mut self,
        step: Step<'_>,
        (first, awake): (usize, u64),
        news: &mut [News],
    ) -> (Flags, u64) {
        let Step {
            from, to, memory, ..
        } = step;
        let (mut flags, mut senders) = (Flags::default(), 0);
        let sms = &mut self.sms[first..][..news.len()];
        each_bit!(awake, nth => {
            let (sm, news) = (&mut sms[nth], &mut news[nth]);
            sm.run(from, to, memory);
            *news = sm.news(to);
            flags |= news.flags;
            senders |= u64::from(news.flags.sent()) << nth;
        });
        (flags, senders)
    }

    /// Takes the packets that an SM sent, by number, where there is no other crew.
    #[inline]
    pub fn take_sent(&mut self, number: usize, f: &mut impl FnMut(usize, &Outgoing)) {
        self.sms[number].take_sent(|packet| f(number, packet));
    }

    /// Puts what SMs sent, and in a round where they have loaded from, where the stepping thread
    /// finds it without a look at them.
    pub fn post(&mut self, is_round: bool) {
        let Self {
            orders,
            results,
            sms,
            loaded,
            ..
        } = self;
        results.posted.clear();
        for &number in &orders.awake {
            let place = number as usize - orders.first;
            results.posted.take_from(number, &mut sms[place]);
            if is_round {
                loaded[place] = sms[place].loaded_pages();
            }
        }
    }

    /// The step is over. Returns the SMs that ran, by number, with their news.
    pub fn end_step(&mut self) -> impl Iterator<Item = (usize, News)> {
        if !self.rests() {
            self.orders.arrived.clear();
        }
        let ran = self.orders.awake.iter().map(|number| *number as usize);
        ran.zip(self.results.news.iter().copied())
    }

    /// A round is over. Returns the SMs that ran, by number, with where they are and their news.
    pub fn end_round(&mut self) -> impl Iterator<Item = (usize, Reached, News)> {
        if !self.rests() {
            self.orders.arrived.clear();
        }
        let ran = self.orders.awake.iter().map(|number| *number as usize);
        let results = self.results.reached.iter().zip(&self.results.news);
        ran.zip(results)
            .map(|(number, (reached, news))| (number, *reached, *news))
    }

    /// Takes the packets of this step, if the crew has not rested. `posted`: [`post`](Self::post)
    /// was called.
    pub fn for_each_sent(&mut self, posted: bool, f: &mut impl FnMut(usize, &Outgoing)) {
        let Self {
            orders,
            results,
            sms,
            ..
        } = self;
        if posted && !orders.awake.is_empty() {
            results.posted.for_each(&mut *f);
        }
        if !posted {
            for (number, news) in orders.awake.iter().zip(&results.news) {
                if news.flags.sent() {
                    let number = *number as usize;
                    sms[number - orders.first].take_sent(|packet| f(number, packet));
                }
            }
        }
    }

    /// Gives its last SM to the next crew, or where `back`, that one's first to this. Between
    /// steps, when what they sent has been taken.
    pub fn shift(&mut self, next: &mut Self, back: bool) {
        self.deliver();
        next.deliver();
        if back {
            self.sms.push(next.sms.remove(0));
            next.orders.first += 1;
        } else if let Some(sm) = self.sms.pop() {
            next.sms.insert(0, sm);
            next.orders.first -= 1;
        }
        for crew in [self, next] {
            crew.orders.awake.clear();
            crew.forget_loads();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::reply_to;
    use warploom_base::SmId;
    use warploom_config::preset;
    use warploom_mem::{AccessKind, Request};
    use warploom_policy::OwnPolicies;

    /// SMs `first` up to, not including, `end`.
    fn crew(first: usize, end: usize) -> Crew {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let sm = |id| Sm::new(&spec, SmId::new(id), &OwnPolicies::default());
        Crew::new(
            first,
            (first..end).map(sm).collect(),
            Backlogs::new(5).into(),
        )
    }

    /// Sends an SM so many replies, which it sees in a later cycle.
    fn send(crew: &mut Crew, number: usize, replies: usize) {
        let arrival = Arrival::Reply(100, reply_to(number));
        (0..replies).for_each(|_| crew.send(number, arrival));
    }

    /// The replies that each SM has.
    fn waiting(crews: &mut [Crew]) -> Vec<usize> {
        let mut waiting = Vec::new();
        for crew in crews {
            let numbers = crew.range();
            waiting.extend(numbers.map(|number| crew.sm(number).link.waiting()));
        }
        waiting
    }

    /// What came for an SM is its own, whether it runs, is looked at or changes crews before.
    #[test]
    fn what_came_for_an_sm_goes_with_it() {
        let memory = DeviceMemory::new(1 << 16);
        let step = Step {
            from: 0,
            to: 1,
            round: None,
            memory: &memory,
        };
        let mut crews = [crew(0, 3), crew(3, 5)];
        let [left, right] = &mut crews;
        send(left, 2, 1);
        send(right, 3, 2);
        send(right, 4, 3);
        left.shift(right, false);
        assert_eq!((left.range(), right.range()), (0..2, 2..5));
        send(right, 2, 10);
        right.order(&[4]);
        right.run(step);
        let ran: Vec<_> = right
            .end_step()
            .map(|(n, news)| (n, news.waiting))
            .collect();
        assert_eq!(ran, [(4, 3)]);
        assert_eq!(waiting(&mut crews), [0, 0, 11, 2, 3]);
        let [left, right] = &mut crews;
        send(right, 2, 20);
        left.shift(right, true);
        assert_eq!((left.range(), right.range()), (0..3, 3..5));
        assert_eq!(waiting(&mut crews), [0, 0, 31, 2, 3]);
    }

    /// Packets are there once, from the SMs themselves or from where they were posted; a crew that
    /// rests has none.
    #[test]
    fn packets_are_taken_once() {
        let memory = DeviceMemory::new(1 << 16);
        let packet = Request::new(AccessKind::GlobalRead, 0, 32);
        for posted in [false, true] {
            let mut crew = crew(2, 6);
            let mut step = |awake: &[u32], sends: &[usize]| {
                crew.order(awake);
                sends
                    .iter()
                    .for_each(|sm| crew.sm(*sm).link.send(0, packet));
                crew.run(Step {
                    from: 0,
                    to: 1,
                    round: None,
                    memory: &memory,
                });
                if posted && !crew.rests() {
                    crew.post(false);
                }
                let mut taken = Vec::new();
                crew.for_each_sent(posted, &mut |number, _| taken.push(number));
                taken
            };
            assert_eq!(step(&[2, 4, 5], &[4, 5, 4]), [4, 4, 5]);
            assert_eq!(step(&[], &[]), [0; 0]);
            assert_eq!(step(&[4], &[4]), [4]);
        }
    }
}
