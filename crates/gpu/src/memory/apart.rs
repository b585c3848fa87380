//! The memory system in two parts that run some cycles one after the other: the back with DRAM, L2
//! and the network of replies, then the front with the network of requests.
//!
//! The back acts on a request no sooner than the fixed delay before L2 after the front brought it,
//! so that it may run so many cycles before the front runs the first of them. The front needs to
//! know of the back only which inputs of L2 were full, which it is told cycle by cycle. Within the
//! back, what is behind the fixed delay of DRAM runs first, channel by channel.
//!
//! Invariants: between two runs of both, both have run the same cycles; no texture is in flight,
//! for these go past the delay. Atomics that the back has answered do not act in it: whoever runs
//! it lets them, in the cycle in which they were answered.

use super::back::{Back, Ticks};
use super::parcel::{Parcel, Seen};
use super::{Later, MemorySystem, Receive};
use crate::backlog::Backlogs;
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{Cycle, each_member};
use warploom_mem::{Reply, Request};

/// What the back leaves for the front.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// By core cycle.
    ticks: Vec<Ticks>,
    /// By cycle of L2 and word of a set of partitions: those with full inputs.
    full: Vec<u64>,
}

impl Left {
    fn clear(&mut self) {
        self.ticks.clear();
        self.full.clear();
    }
}

/// What has come for the back since another thread got it. It has this before it runs again, from
/// the thread that runs it then, whose caches have what it goes into.
///
/// A line of the host's that another core has read takes a while to be written again, and writes
/// behind that wait. So what comes now and then is kept where no other core looks, and is copied at
/// once when it goes away.
#[derive(Debug, Default)]
struct Post {
    /// Packets for L2 banks, with their cycle, oldest first.
    packets: Vec<(usize, Cycle, Request)>,
    /// By SM: replies that it has not taken, if there has been an exchange.
    waiting: Vec<u32>,
}

impl Post {
    /// Takes what there is in another.
    fn append(&mut self, other: &mut Self) {
        self.packets.append(&mut other.packets);
        self.waiting.append(&mut other.waiting);
    }

    fn give(&mut self, back: &mut Back) {
        if !self.waiting.is_empty() {
            back.end_exchange_of_all(self.waiting.drain(..));
        }
        for (bank, now, request) in self.packets.drain(..) {
            back.push(bank, now, &request);
        }
    }
}

/// What the front knows of the back, and has for it.
#[derive(Debug, Default)]
pub(super) struct Apart {
    left: Left,
    /// Of both: what the front has done.
    cycles_done: usize,
    full_done: usize,
    /// The back has been away, and has not run since.
    back_rests: bool,
    /// What there is for it then, and what it takes that along in.
    post: Post,
    room: Post,
    /// Replies that it brought along, room for more, and how many they are, by SM.
    replies: Vec<Seen>,
    replies_room: Vec<Seen>,
    came: Vec<u32>,
    /// Others that it brought along, for the SMs of the worker that had it, and room for more.
    parcel: Parcel,
    parcel_room: Parcel,
}

impl Apart {
    /// The back has all that has come for it, or is away.
    pub fn is_settled(&self) -> bool {
        !self.back_rests
    }

    /// A packet for an L2 bank comes while the back is away.
    #[inline(never)]
    pub fn keep(&mut self, bank: usize, now: Cycle, request: &Request) {
        self.post.packets.push((bank, now, *request));
    }
}

/// The back, while another thread runs it. SMs get no replies meanwhile, so it runs as far as these
/// are known to have room: by what they had not taken when it was sent, then by what they say that
/// they have not taken in the spell before that which it runs.
pub(crate) struct Errand {
    back: Box<Back>,
    at: Cycle,
    end: Cycle,
    /// So many channels whose DRAM has run up to there.
    dram_is_ahead: usize,
    /// Where SMs say what they have not taken in the spell that began in a cycle.
    backlogs: Option<(Arc<Backlogs>, Cycle)>,
    /// What there was for it.
    post: Post,
    /// What came out of the network, once it is done, and how much, by SM.
    replies: Vec<Seen>,
    came: Vec<u32>,
    /// Others, for the SMs of the worker that has it.
    parcel: Parcel,
}

/// Replies that the back brings along, where no other core looks, to be copied at once: see
/// [`Post`].
#[derive(Debug, Default)]
pub(super) struct Taken {
    expected: Vec<Seen>,
    others: Vec<Seen>,
}

impl Errand {
    /// SMs say there what they have not taken in the spell that began in cycle `began`, the one
    /// before that which it runs.
    pub fn look_at(&mut self, backlogs: Arc<Backlogs>, began: Cycle) {
        self.backlogs = Some((backlogs, began));
    }

    /// The worker that gets it has these SMs.
    pub fn bring_to(&mut self, sms: Range<usize>) {
        self.parcel.address(sms);
    }

    /// All is done.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.at == self.end
    }

    /// Runs the DRAM of a channel ahead or, where all have, a cycle, if replies are known to have
    /// room. Returns whether it has.
    pub fn go_on(&mut self) -> bool {
        self.post.give(&mut self.back);
        if self.is_done() {
            return false;
        }
        if self.dram_is_ahead < self.back.channels.len() {
            self.run_dram();
            return true;
        }
        if !self.has_room() {
            return false;
        }
        self.back.cycle(self.at, &mut Later);
        self.at += 1;
        true
    }

    fn run_dram(&mut self) {
        if self.dram_is_ahead == 0 {
            self.back.begin_dram(self.at, self.end);
        }
        self.back.run_dram(self.dram_is_ahead, self.at);
        self.dram_is_ahead += 1;
    }

    #[inline]
    fn has_room(&mut self) -> bool {
        self.back.replies_have_room(&Later) || self.sees_room()
    }

    /// The same after a look at what SMs have taken since.
    #[cold]
    fn sees_room(&mut self) -> bool {
        let Some((backlogs, began)) = &self.backlogs else {
            return false;
        };
        self.back.note_untaken(|sm| backlogs.of(sm, *began));
        self.back.replies_have_room(&Later)
    }

    /// It goes back, with the replies that came out of the network.
    pub fn end(&mut self) {
        let Self {
            back,
            post,
            replies,
            came,
            parcel,
            ..
        } = self;
        post.give(back);
        came.clear();
        came.extend(back.fresh());
        let mut taken = std::mem::take(&mut back.taken);
        back.take_replies(|sm, at, reply| match parcel.expect(sm, at) {
            true => taken.expected.push((at, *reply)),
            false => taken.others.push((at, *reply)),
        });
        parcel.contents().append(&mut taken.expected);
        replies.append(&mut taken.others);
        back.taken = taken;
        back.end_exchange();
    }
}

impl Back {
    /// All replies that have come out of the network find room.
    #[inline]
    fn replies_have_room(&self, receive: &impl Receive) -> bool {
        let mut room = true;
        each_member!(self.replies.arrived(), cluster => {
            room &= self.has_reply_room(cluster * self.cluster, receive);
        });
        room
    }

    fn cycle(&mut self, now: Cycle, receive: &mut impl Receive) {
        let ticks = self.cycle_before_l2(now, receive);
        let Ticks { noc, l2 } = ticks;
        self.left.ticks.push(ticks);
        for _ in 0..l2 {
            for index in 0..self.partition_words() {
                let full = self.run_partitions(index, now);
                self.count_full(index, full);
                self.left.full.push(full);
            }
        }
        for _ in 0..noc {
            self.replies.cycle();
        }
    }
}

impl MemorySystem {
    /// Most cycles that the back may run before the front does.
    pub fn most_apart(&self) -> Cycle {
        let delays = self.back().partitions.iter().map(|p| p.delay());
        match self.perfect {
            true => 0,
            false => delays.min().unwrap_or(0),
        }
    }

    /// Runs the back from cycle `from` to `end`, or as far as there is room for replies even if no
    /// SM takes any from cycle `known` on, where it is known who has. Returns how far. The front is
    /// to run as far.
    pub fn run_back(
        &mut self,
        (from, end): (Cycle, Cycle),
        known: Cycle,
        receive: &mut impl Receive,
    ) -> Cycle {
        if from < end {
            self.give_post();
            let back = self.back_mut();
            back.begin_dram(from, end);
            (0..back.channels.len()).for_each(|nth| back.run_dram(nth, from));
        }
        let back = self.back_mut();
        for now in from..end {
            if now > known && !back.replies_have_room(receive) {
                return now;
            }
            back.cycle(now, receive);
        }
        end
    }

    /// The front is to run all cycles that the back has run.
    pub fn begin_front(&mut self) {
        debug_assert_eq!(self.apart.left.ticks.len(), self.apart.cycles_done);
        (self.apart.cycles_done, self.apart.full_done) = (0, 0);
        self.apart.left.clear();
        let Self { apart, back, .. } = self;
        if let Some(back) = back {
            std::mem::swap(&mut back.left, &mut apart.left);
        }
    }

    /// Gives the back away, to be run from cycle `from` to `end`.
    pub fn send_back(&mut self, from: Cycle, end: Cycle) -> Option<Errand> {
        let Self { back, apart, .. } = self;
        apart.back_rests = false;
        let back = back.take()?;
        let mut post = std::mem::take(&mut apart.room);
        post.append(&mut apart.post);
        Some(Errand {
            back,
            at: from,
            end,
            dram_is_ahead: 0,
            backlogs: None,
            post,
            replies: std::mem::take(&mut apart.replies_room),
            came: std::mem::take(&mut apart.came),
            parcel: std::mem::take(&mut apart.parcel_room),
        })
    }

    /// The back is here again. Returns how far it has run. What has come for it since waits until
    /// it goes away again, or for [`give_post`](Self::give_post).
    pub fn get_back(&mut self, errand: Errand) -> Cycle {
        let Self { back, apart, .. } = self;
        *back = Some(errand.back);
        debug_assert!(apart.replies.is_empty(), "nobody has taken the last");
        apart.replies_room = std::mem::replace(&mut apart.replies, errand.replies);
        (apart.room, apart.came) = (errand.post, errand.came);
        apart.parcel_room = std::mem::replace(&mut apart.parcel, errand.parcel);
        apart.back_rests = true;
        errand.at
    }

    /// The back, if it has been away, gets what has come for it. It must before anybody but an
    /// errand looks at it.
    pub fn give_post(&mut self) {
        let Self { back, apart, .. } = self;
        if apart.back_rests
            && let Some(back) = back
        {
            apart.post.give(back);
            apart.back_rests = false;
        }
    }

    /// What the back has brought along for the SMs of the worker that had it.
    pub fn parcel(&mut self) -> &mut Parcel {
        &mut self.apart.parcel
    }

    /// Calls `f` on the other replies that wait for the exchange, with the number of their SM and
    /// the cycle from which it sees them: of each SM the oldest first.
    #[inline]
    pub fn take_replies(&mut self, mut f: impl FnMut(usize, Cycle, &Reply)) {
        for (at, reply) in self.apart.replies.drain(..) {
            f(reply.sm.index(), at, &reply);
        }
        if let Some(back) = &mut self.back {
            back.take_replies(f);
        }
    }

    /// See [`Back::end_exchange_of_all`]. If it is away, it knew that before.
    #[inline]
    pub fn end_exchange_of_all(&mut self, waiting: impl Iterator<Item = u32>) {
        match &mut self.back {
            Some(_) if self.apart.back_rests => {
                self.apart.post.waiting.clear();
                self.apart.post.waiting.extend(waiting);
            }
            Some(back) => back.end_exchange_of_all(waiting),
            None => {}
        }
    }

    /// The back, which has come home, is to go away before the replies that it brought along are
    /// taken. `waiting`: by SM, those of before that it has not taken.
    pub fn foretell_exchange(&mut self, waiting: impl Iterator<Item = u32>) {
        let Apart {
            back_rests,
            post,
            came,
            ..
        } = &mut self.apart;
        debug_assert!(*back_rests, "it has been away");
        post.waiting.clear();
        let all = waiting.zip(came).map(|(waiting, came)| waiting + *came);
        post.waiting.extend(all);
    }

    /// What an SM may have sent that is not known makes no difference to the front's next cycle:
    /// there is something before it that is to pass, or not all that is known can enter.
    pub fn is_backed_up(&self, sm: usize) -> bool {
        let flits = self.inbound[sm].flits;
        if let Some((entered, _)) = self.entrance(sm) {
            return entered + flits > 0;
        }
        let Ticks { noc, .. } = self.apart.left.ticks[self.apart.cycles_done];
        self.requests
            .stays_full(self.cluster_of[sm] as usize, flits, noc)
    }

    /// The same of every SM.
    pub fn all_are_backed_up(&self) -> bool {
        (0..self.inbound.len()).all(|sm| self.is_backed_up(sm))
    }

    /// The front's next cycle.
    pub fn front_cycle(&mut self, now: Cycle) {
        let Ticks { noc, l2 } = self.apart.left.ticks[self.apart.cycles_done];
        self.apart.cycles_done += 1;
        for _ in 0..l2 {
            let mut any = false;
            for index in 0..self.partition_words() {
                let full = self.apart.left.full[self.apart.full_done];
                self.apart.full_done += 1;
                any |= self.take_requests(now, index, full);
            }
            self.arrival_cycles += u64::from(any);
        }
        for _ in 0..noc {
            self.inject_requests(now);
            self.requests.cycle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Later;
    use super::super::tests::{request, volta};
    use crate::backlog::Backlogs;
    use crate::memory::MemorySystem;
    use std::sync::Arc;
    use warploom_base::Cycle;
    use warploom_config::{GpuSpec, preset};
    use warploom_mem::AccessKind;
    use warploom_sm::Outgoing;

    /// Cycles of a test.
    const CYCLES: Cycle = 3_000;

    /// What SMs send in a cycle: bursts with pauses, so that inputs of L2 fill and become empty.
    fn send(memory: &mut MemorySystem, now: Cycle) {
        if now % 500 > 200 {
            return;
        }
        for sm in 0..4 {
            let kind = match (now + sm) % 3 {
                0 => AccessKind::GlobalWrite,
                _ => AccessKind::GlobalRead,
            };
            let mut request = request(kind);
            request.addr += (now * 7 + sm * 13) % 64 * 4096;
            request.sm = warploom_base::SmId::new(sm as usize);
            request.issued_at = now as u32;
            let sent_at = now;
            memory.take(sm as usize, &Outgoing { sent_at, request });
        }
    }

    /// Where the back is while SMs run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Ahead {
        No,
        /// A spell ahead. It goes away once all that it has brought has been taken, or before.
        Anew,
        Again,
    }

    /// Runs memory for spells of so many cycles at most, single cycles if there are none. Returns
    /// all that SMs see of it and what it has counted.
    fn run(spec: &GpuSpec, spell: Cycle, ahead: Ahead) -> (Vec<String>, Vec<String>) {
        let mut memory = MemorySystem::new(spec);
        let (mut seen, mut now, mut back_at) = (Vec::new(), 0, 0);
        let mut away = None;
        while now < CYCLES {
            let from = now;
            let mut to = back_at;
            if away.is_none() {
                let span = (from.max(back_at), CYCLES.min(from + spell));
                to = match spell {
                    0 => from + 1,
                    _ => memory.run_back(span, from, &mut Later),
                };
                memory.begin_front();
                let sends = ahead != Ahead::No;
                let errand = sends.then(|| memory.send_back(to, CYCLES.min(to + spell)));
                away = errand.flatten();
            }
            if let Some(errand) = &mut away {
                while errand.go_on() {}
                errand.end();
            }
            while now < to {
                match spell {
                    0 => memory.run(now, now + 1, &mut Later),
                    _ => memory.front_cycle(now),
                }
                memory.take_credits(|sm, flits| seen.push(format!("{now}: {sm} {flits}")));
                send(&mut memory, now);
                now += 1;
            }
            back_at = away.take().map_or(to, |errand| memory.get_back(errand));
            if ahead == Ahead::Again && back_at > to {
                memory.begin_front();
                memory.foretell_exchange(std::iter::repeat(0));
                away = memory.send_back(back_at, CYCLES.min(back_at + spell));
            } else if from % 3 == 0 {
                // It may have its post before it goes away again.
                memory.give_post();
            }
            memory.take_replies(|sm, at, reply| seen.push(format!("{at}: {sm} {reply:?}")));
            memory.end_exchange_of_all(std::iter::repeat_n(0, spec.gpu.sms as usize));
        }
        memory.give_post();
        seen.sort();
        let (requests, replies) = memory.networks();
        let parts = memory.partitions().iter();
        let mut counted: Vec<String> = parts
            .map(|p| format!("{:?} {:?}", p.counters(), p.l2_counters()))
            .collect();
        counted.push(format!(
            "{:?} {:?}",
            requests.counters(),
            replies.counters()
        ));
        counted.push(format!("{:?} {}", memory.stalls(), memory.arrival_cycles));
        (seen, counted)
    }

    /// The back stops where an SM may have no room for replies, and goes on when that says that it
    /// has taken some, in the spell before.
    #[test]
    fn an_errand_waits_for_what_sms_have_taken() {
        let spec = preset("gtx480-gpgpusim4").unwrap_or_else(|errors| panic!("{errors}"));
        let mut memory = MemorySystem::new(&spec);
        for sent_at in 0..100 {
            let request = request(AccessKind::GlobalRead);
            memory.take(0, &Outgoing { sent_at, request });
        }
        let (mut now, mut waiting) = (0, 0);
        while waiting < 20 {
            memory.run(now, now + 1, &mut Later);
            memory.take_replies(|_, _, _| waiting += 1);
            memory.end_exchange_of_all((0..spec.gpu.sms).map(|sm| waiting * u32::from(sm == 0)));
            now += 1;
        }
        let backlogs = Arc::new(Backlogs::new(spec.gpu.sms as usize));
        let mut errand = memory.send_back(now, now + 10_000).expect("it is here");
        errand.look_at(Arc::clone(&backlogs), 64);
        let mut goes_on = |said: Option<(Cycle, u32)>| {
            if let Some((began, waiting)) = said {
                backlogs.note(0, began, waiting);
            }
            std::iter::from_fn(|| errand.go_on().then_some(())).count() > 0
        };
        assert!(goes_on(None), "there is room for some");
        assert!(
            !goes_on(Some((32, 0))),
            "it has taken them in another spell"
        );
        assert!(!goes_on(Some((64, 20))), "it has taken none");
        assert!(goes_on(Some((64, 13))));
        assert!(goes_on(Some((64, 0))));
        assert!(!errand.is_done());
        errand.end();
        memory.get_back(errand);
        let mut came = 0;
        memory.take_replies(|_, _, _| came += 1);
        assert_eq!(came, spec.sm.ejection_fifo + 2 * spec.gpu.link_cycles);
    }

    /// However long spells are, SMs see what they would see of single cycles.
    #[test]
    fn parts_that_run_apart_are_as_one() {
        let fermi = preset("gtx480-gpgpusim4").unwrap_or_else(|errors| panic!("{errors}"));
        for spec in [volta(), fermi] {
            let (seen, counted) = run(&spec, 0, Ahead::No);
            assert!(seen.len() > 1000, "{} seen", seen.len());
            for spell in [1, 2, 7, 32] {
                for ahead in [Ahead::No, Ahead::Anew, Ahead::Again] {
                    let other = run(&spec, spell, ahead);
                    assert!(other.0 == seen, "{spell} {ahead:?}");
                    assert_eq!(other.1, counted, "{spell} {ahead:?}");
                }
            }
        }
    }
}
