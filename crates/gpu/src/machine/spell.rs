//! Spells: some cycles that the parts of the machine run one after the other, each at a stretch, so
//! that the host's caches serve all of them from one loading of a part.
//!
//! First the back of the memory system runs, which acts on a request long after it was sent
//! (`memory/apart.rs`); then each SM, with all replies at hand; then its front. What SMs need of
//! each other or of the front within the cycles makes them wait for it while the others are ahead:
//! credits where the link is short of them, and a block where one has ended. The front is ahead of
//! SMs where what they have sent comes first for some cycles, so that these know which credits come
//! in them (`memory/lag.rs`).
//!
//! Where there are several threads, SMs run in rounds, each thread's own. A worker runs the back
//! for the next spell when no round calls it, and the stepping thread does while it waits for
//! workers. How far, SMs tell as they run: what they have taken of this spell's replies makes room
//! for the next one's. The worker gets the back again as soon as it has brought it home, so that it
//! may be away between two spells.
//!
//! What one stores and another loads is loaded again once it is visible, before anything can have
//! read it: an SM for which a load of the spell arrives stands in front of issue until all have run
//! the cycles before the load. Mostly none does: a miss takes longer than a spell. Atomics act
//! among the stores when these become visible; an SM for which what one brings back arrives before
//! stands there, too.
//!
//! Invariants: results are those of steps; a spell ends at the next multiple of [`MOST`] cycles if
//! not before, and the next spell at the one behind that, so that the machine can stop for a fault
//! in the same cycle however it is run; no look at the machine falls into one, and no end of a
//! kernel; nobody looks at the memory system while another thread runs its back, or before the back
//! has what came for it meanwhile.

use super::{AtOnce, Gpu, Stop};
use crate::crew::Turn;
use crate::dispatch::InFlight;
use crate::memory::{AtomicEvent, Later, MemorySystem};
use crate::probe::Part;
use std::collections::VecDeque;
use warploom_base::{BitSet, Cycle, each_member};
use warploom_config::GpuSpec;
use warploom_exec::{DeviceMemory, StoredLines};
use warploom_policy::DeviceView;
use warploom_sm::{Flags, News, Others};

/// Most cycles of a spell.
const MOST: Cycle = 32;

/// Fewest cycles for which it is worth it, but for those up to a multiple of [`MOST`]: who has run
/// up to there is in time for the next one.
const FEWEST: Cycle = 4;

/// Most cycles of a spell of several threads where SMs often stand for what they have loaded: each
/// time all others have to come to where one stands.
const SHORT: Cycle = 8;

/// So often in [`MOST`] cycles.
const OFTEN: u32 = 3;

/// Cycles until it is asked again whether a kernel might end: that takes a look at all warps.
const PATIENCE: Cycle = 16;

/// The first multiple of `cycles` behind cycle `now`.
const fn next_multiple(now: Cycle, cycles: Cycle) -> Cycle {
    (now / cycles + 1) * cycles
}

/// The cycle in which the machine stops for a fault in cycle `now`. However it is run, nothing of
/// it has run further: the back of the memory system may have run the next spell. The cycle behind
/// that stays, so that runs with faults end where they always have.
pub(super) const fn stop_behind(now: Cycle) -> Cycle {
    next_multiple(now, MOST) + MOST + 1
}

/// Where SMs are.
pub(super) struct Spell {
    /// It ends at the next multiple of so many.
    whole: Cycle,
    /// How often SMs have stood for what they had loaded since the last multiple of [`MOST`].
    stands: u32,
    /// Most cycles that the back of the memory system may be ahead of the front.
    most_apart: Cycle,
    /// Before this cycle there is none: the kernel may be near its end.
    not_before: Cycle,
    /// Most instructions that an SM issues in a cycle.
    issues: u64,
    /// The machine when the spell began.
    view: DeviceView,
    /// By SM: the next cycle that it has not run.
    at: Vec<Cycle>,
    /// By SM: the cycle up to which loads have to be settled before it goes on, 0 if none.
    waits_for: Vec<Cycle>,
    /// What SMs have loaded is as it should be up to this cycle, and what they stored before is
    /// visible.
    settled: Cycle,
    /// The first of them.
    next: Cycle,
    /// SMs have been offered blocks in the cycles before.
    offers_from: Cycle,
    /// The next cycle that the front has not run.
    front: Cycle,
    /// The next cycle that the back has not run, and how far it will then: while other threads run
    /// SMs, it is ahead by a spell.
    back: Cycle,
    back_end: Cycle,
    /// Another thread runs it.
    is_away: bool,
    /// SMs that have not run all of the spell.
    behind: BitSet,
    /// Those that came to where they are by the end of a block, which nobody has noted yet.
    called: BitSet,
    /// What SMs run in a round.
    turns: Vec<Turn>,
    /// What any of them has had for the others.
    flags: Flags,
    /// Any has stored, or an atomic acts, and to which lines.
    has_stored: bool,
    stored: StoredLines,
    /// Atomics that have come to where they act, which they have not, in their order.
    atomics: VecDeque<AtomicEvent>,
    /// Cycles of all spells so far.
    cycles: Cycle,
}

impl Spell {
    /// For a machine whose memory system may run in parts that are so many cycles apart.
    pub fn new(spec: &GpuSpec, most_apart: Cycle) -> Self {
        let sms = spec.gpu.sms as usize;
        Self {
            whole: MOST,
            stands: 0,
            most_apart: match spec.gpu.link_cycles {
                1 => most_apart,
                _ => 0,
            },
            not_before: 0,
            issues: u64::from(spec.sm.schedulers.max(1) * spec.sm.max_issue_per_warp.max(1)),
            view: DeviceView::default(),
            at: vec![0; sms],
            waits_for: vec![0; sms],
            settled: 0,
            has_stored: false,
            next: 0,
            offers_from: 0,
            front: 0,
            back: 0,
            back_end: 0,
            is_away: false,
            behind: BitSet::new(sms),
            called: BitSet::new(sms),
            turns: Vec::with_capacity(sms),
            flags: Flags::default(),
            stored: StoredLines::default(),
            atomics: VecDeque::new(),
            cycles: 0,
        }
    }

    fn begin(&mut self, now: Cycle) {
        self.at.fill(now);
        self.waits_for.fill(0);
        (self.next, self.front, self.settled) = (now, now, now);
        self.has_stored = false;
        (0..self.at.len()).for_each(|sm| self.behind.insert(sm));
        self.flags = Flags::default();
    }

    /// It has come to cycle `to`, by one thread or several.
    fn end(&mut self, (from, to): (Cycle, Cycle), is_alone: bool) {
        self.cycles += to - from;
        if to >= next_multiple(from, MOST) {
            // Short ones have fewer in which any stands.
            let often = if self.whole == MOST { OFTEN } else { 1 };
            let is_often = !is_alone && self.stands >= often;
            self.whole = if is_often { SHORT } else { MOST };
            self.stands = 0;
        }
    }

    /// Where there is something in its lines that was stored in it.
    fn stored_lines(&mut self) -> &mut StoredLines {
        if !self.has_stored {
            self.stored.clear();
            self.has_stored = true;
        }
        &mut self.stored
    }

    /// Where SMs are in the next round of a spell that began in cycle `began`.
    fn others(&self, began: Cycle) -> Others {
        Others {
            began,
            settled: self.settled,
        }
    }

    /// What comes to the front in its next cycle is known, as far as it makes a difference: of an
    /// SM that has not run the cycle before, because what it has sent before comes first.
    fn is_known(&self, memory: &MemorySystem) -> bool {
        if self.next >= self.front {
            return true;
        }
        let mut known = true;
        each_member!(self.behind, sm => {
            known &= self.at[sm] >= self.front || memory.is_backed_up(sm);
        });
        known
    }

    /// The front has run cycle `now`, maybe ahead of SMs.
    #[inline]
    fn note_lags(&self, now: Cycle, memory: &mut MemorySystem) {
        if self.next < now {
            each_member!(self.behind, sm => {
                if self.at[sm] < now {
                    memory.note_lag(sm, now);
                }
            });
        }
    }

    /// The cycles that an SM is to run now, up to cycle `to` at most, if it does not have to wait:
    /// for the front, or for others before it is offered a block. It comes to where it wakes up,
    /// by its `news`.
    #[inline]
    fn turn(
        &mut self,
        sm: usize,
        news: News,
        offered: Option<&BitSet>,
        (to, memory): (Cycle, &MemorySystem),
    ) -> Option<Turn> {
        let at = self.at[sm];
        let is_offered = offered.is_some_and(|open| open.contains(sm));
        let in_order = is_offered || self.called.contains(sm);
        if at > self.front || at > self.next && in_order || self.waits_for[sm] > self.settled {
            return None;
        }
        // One that may have room for a block is offered one in the next cycle.
        let to = if is_offered { at + 1 } else { to };
        let from = news.sleeps_until((at, to), self.front);
        let far = memory.far_end(sm, at, self.front);
        // One that wakes up before the front is there may yet have credits enough, or foresee some.
        let waits = from > self.front && news.flags.waits_for_credits() && far.entrance.is_none();
        if from < to && !waits {
            return Some(Turn { sm, from, to, far });
        }
        self.at[sm] = from;
        None
    }

    /// An SM has come to cycle `at`, where it may wait until loads up to some cycle are settled.
    #[inline]
    fn move_to(&mut self, sm: usize, at: Cycle, waits_for: Option<Cycle>, flags: Flags) {
        (self.at[sm], self.waits_for[sm]) = (at, waits_for.unwrap_or(0));
        self.flags |= flags;
        if flags.finished() || flags.gained_room() {
            self.called.insert(sm);
        }
    }

    /// SMs have run as far as they could, those of a spell up to cycle `to`.
    fn look_who_is_behind(&mut self, to: Cycle) {
        let mut next = to;
        each_member!(self.behind, sm => {
            let at = self.at[sm];
            next = next.min(at);
            if at >= to {
                self.behind.remove(sm);
            }
        });
        self.next = next;
    }

    /// Some SM waits until more is settled, and it can be.
    fn can_settle(&self) -> bool {
        let mut can = false;
        each_member!(self.behind, sm => {
            let cycle = self.waits_for[sm];
            can |= (self.settled < cycle) & (cycle <= self.next);
        });
        can
    }
}

impl Gpu {
    /// The cycle in which a spell from now on ends at the latest, if there can be one. There is one
    /// where the back of the memory system is ahead.
    pub(super) fn spell_end(&mut self, limit: Cycle) -> Option<Cycle> {
        let now = self.now;
        if self.is_back_ahead() {
            return Some(self.spell.back_end);
        }
        if now < self.spell.not_before {
            return None;
        }
        let end = self.end_behind(now, limit)?;
        if self.memory.is_idle() && self.sms.next_wake() > now {
            return None;
        }
        if !self.dispatcher.may_begin_spell() {
            return None;
        }
        let (lasting, fewest) = (self.lasting(end - now), FEWEST.min(end - now));
        if lasting < fewest {
            self.spell.not_before = now + PATIENCE;
        }
        (lasting >= fewest).then_some(now + lasting)
    }

    /// The back of the memory system has run cycles that SMs have not.
    #[inline]
    pub(super) fn is_back_ahead(&self) -> bool {
        self.spell.back > self.now
    }

    /// The end of a spell that begins in cycle `from`, now or later, as far as that does not depend
    /// on what runs.
    fn end_behind(&self, from: Cycle, limit: Cycle) -> Option<Cycle> {
        let looks = self.next_look().min(self.dispatcher.next_policy_check());
        let apart = self.now + self.spell.most_apart;
        let last = next_multiple(from, self.spell.whole);
        let end = last.min(apart).min(limit).min(looks);
        (end >= last.min(from + FEWEST) && self.stops_at.is_none()).then_some(end)
    }

    /// How far another thread may run the back of the memory system while SMs run up to cycle `to`,
    /// if it may.
    fn next_end(&self, to: Cycle, limit: Cycle) -> Option<Cycle> {
        if !self.sms.can_send_back() {
            return None;
        }
        let most = self.end_behind(to, limit)?;
        let end = self.now + self.lasting(most - self.now);
        (end >= most.min(to + FEWEST)).then_some(end)
    }

    /// In how many of so many cycles no kernel can end, nor the blocks of one for which others wait
    /// all be given out.
    fn lasting(&self, cycles: Cycle) -> Cycle {
        if !self.dispatcher.has_more_than(cycles) {
            return 0;
        }
        let kernels = self.dispatcher.in_flight();
        kernels.fold(cycles, |most, kernel| self.lasting_of(kernel, most))
    }

    /// In how many of so many cycles a kernel cannot end, for there is more left of it than SMs can
    /// issue.
    fn lasting_of(&self, kernel: &InFlight, cycles: Cycle) -> Cycle {
        let of_sm = |left: u64| left.saturating_sub(1) / self.spell.issues;
        let block = kernel.image.fewest_of_block();
        let waiting = kernel.waiting();
        let of_all = waiting
            .saturating_mul(block)
            .div_ceil(self.sms.len() as u64);
        let one = if waiting > 0 { block } else { 0 };
        let mut most = of_sm(one.max(of_all));
        for sm in 0..self.sms.len() {
            if most >= cycles {
                return cycles;
            }
            let sm = self.sms.look(sm);
            most = most.max(of_sm(sm.fewest_to_end(kernel.image.slot)));
        }
        most.min(cycles)
    }

    /// Core cycles so far that were run in spells, not in steps: the host's time for a cycle
    /// depends on it, and nothing else.
    pub fn cycles_in_spells(&self) -> Cycle {
        self.spell.cycles
    }

    /// Runs a spell, up to cycle `end` or as far as replies have room. Neither it nor what runs
    /// ahead of it goes past `limit`.
    pub(super) fn spell(
        &mut self,
        (end, limit): (Cycle, Cycle),
        device: &mut DeviceMemory,
    ) -> Result<(), Stop> {
        let from = self.now;
        self.probe.enter(Part::Memory);
        if !self.spell.is_away {
            self.run_back(end);
            if !self.send_back(limit) {
                self.memory.give_post();
            }
        }
        // SMs and the front are to run as far.
        let to = self.spell.back;
        self.spell.begin(from);
        if self.memory.all_are_backed_up() {
            self.run_front(to);
        }
        while self.spell.next.min(self.spell.front) < to {
            if self.spell.next < to {
                self.probe.enter(Part::Sms);
                self.give_blocks(self.spell.next);
                self.run_waiting((from, to), device);
                if self.spell.can_settle() {
                    self.spell.stands += 1;
                    self.commit_spell(from, device);
                }
                self.probe.enter(Part::Memory);
            }
            self.run_front(to);
        }
        self.now = to;
        self.spell.end((from, to), self.sms.are_alone());
        self.note_ended_blocks(to);
        self.commit_spell(from, device);
        let was_away = self.spell.is_away;
        if was_away {
            self.get_back();
        }
        self.sms.end_spell(to - from);
        if was_away {
            self.send_again(limit);
        }
        self.hand_over_replies();
        if !self.is_back_ahead() {
            self.memory.give_post();
        }
        let result = self.end_step(self.spell.flags.fault());
        self.probe.enter(Part::Outside);
        result
    }

    /// Runs the back from where it is.
    fn run_back(&mut self, end: Cycle) {
        let Self {
            sms,
            memory,
            ledger,
            spell,
            now,
            ..
        } = self;
        let span = (spell.back.max(*now), end);
        spell.back = match sms.alone() {
            Some(alone) => memory.run_back(span, *now, &mut AtOnce { alone, ledger }),
            None => memory.run_back(span, *now, &mut Later),
        };
        memory.begin_front();
        spell.atomics.extend(memory.atomics().drain(..));
        if span.0 < span.1 {
            self.hand_over_replies();
        }
        self.spell.view = self.device_view();
    }

    /// SMs get the replies that wait for it, where other threads run SMs.
    fn hand_over_replies(&mut self) {
        if self.sms.are_alone() {
            return;
        }
        self.hand_over_parcel();
        let (sms, mut far) = self.far_end();
        far.take_replies(|sm, at, reply| sms.reply(sm, at, reply));
        if let Some(waiting) = sms.waiting() {
            far.memory.end_exchange_of_all(waiting);
        }
    }

    /// The same for the SMs of the worker that had the back, of what that has brought.
    fn hand_over_parcel(&mut self) {
        let Self {
            sms,
            memory,
            ledger,
            ..
        } = self;
        let parcel = memory.parcel();
        if cfg!(debug_assertions) {
            let replies = parcel.replies();
            replies.for_each(|(sm, _, reply)| ledger.answered(sm, reply));
        }
        sms.take_parcel(parcel);
    }

    /// Another thread runs the back on from where it is, if it may. Returns whether it does.
    fn send_back(&mut self, limit: Cycle) -> bool {
        let end = self.next_end(self.spell.back, limit);
        end.is_some_and(|end| self.send_back_to(end))
    }

    fn send_back_to(&mut self, end: Cycle) -> bool {
        let errand = self.memory.send_back(self.spell.back, end);
        self.spell.is_away = errand.is_some();
        if let Some(errand) = errand {
            self.spell.back_end = end;
            self.sms.send_back(errand, self.now);
        }
        self.spell.is_away
    }

    /// The back is here again.
    fn get_back(&mut self) {
        let errand = self.sms.get_back();
        self.spell.back = self.memory.get_back(errand);
        self.spell.is_away = false;
        self.spell.atomics.extend(self.memory.atomics().drain(..));
    }

    /// The same thread runs the back on, if it may and has come as far as it should, before
    /// anything is done with what it has brought along: meanwhile it would have nothing to do.
    fn send_again(&mut self, limit: Cycle) {
        let Spell {
            back,
            back_end,
            flags,
            ..
        } = self.spell;
        let is_there = back == back_end && !flags.fault();
        let Some(end) = self.next_end(back, limit).filter(|_| is_there) else {
            return;
        };
        self.memory.begin_front();
        self.spell.view = self.device_view();
        if let Some(waiting) = self.sms.waiting() {
            self.memory.foretell_exchange(waiting);
        }
        self.send_back_to(end);
    }

    /// Blocks ended where SMs wait in cycle `now`: others may begin. An SM that takes one in it may
    /// have to wait for others before it runs it, but does not take another.
    fn give_blocks(&mut self, now: Cycle) {
        self.note_ended_blocks(now);
        let is_first = self.spell.offers_from <= now;
        self.spell.offers_from = now + 1;
        if is_first && self.dispatcher.offered().is_some() {
            let view = DeviceView {
                now,
                ..self.spell.view
            };
            self.dispatcher.dispatch(now, now + 1, &mut self.sms, &view);
        }
    }

    fn note_ended_blocks(&mut self, now: Cycle) {
        each_member!(self.spell.called, sm => {
            if self.spell.at[sm] == now {
                self.spell.called.remove(sm);
                self.note_blocks_of(sm);
            }
        });
    }

    /// Runs the SMs that wait for nothing as far as they can be run.
    fn run_waiting(&mut self, (from, to): (Cycle, Cycle), device: &DeviceMemory) {
        if self.sms.are_alone() {
            self.run_alone((from, to), device);
        } else {
            self.run_round((from, to), device);
        }
        let Self { sms, memory, .. } = self;
        memory.take_late_credits(|sm, at, flits| sms.credit_from(sm, at, flits));
        self.spell.look_who_is_behind(to);
    }

    /// The same on the only thread.
    fn run_alone(&mut self, (from, to): (Cycle, Cycle), device: &DeviceMemory) {
        let (offered, spell) = (self.dispatcher.offered(), &mut self.spell);
        let (memory, ledger) = (&mut self.memory, &mut self.ledger);
        let Some(mut alone) = self.sms.alone() else {
            unreachable!("other threads run SMs");
        };
        let others = spell.others(from);
        each_member!(spell.behind, sm => {
            if let Some(turn) = spell.turn(sm, alone.news(sm), offered, (to, memory)) {
                let (at, waits_for, flags) = alone.run_on(&turn, &others, device, |sent| {
                    ledger.sent(sm, &sent.request);
                    memory.take(sm, sent);
                });
                spell.move_to(sm, at, waits_for, flags);
            }
        });
    }

    /// The same by all threads, each its own.
    fn run_round(&mut self, (from, to): (Cycle, Cycle), device: &DeviceMemory) {
        let Self {
            sms,
            memory,
            spell,
            dispatcher,
            ledger,
            ..
        } = self;
        let offered = dispatcher.offered();
        let others = spell.others(from);
        let mut turns = std::mem::take(&mut spell.turns);
        each_member!(spell.behind, sm => {
            turns.extend(spell.turn(sm, sms.news(sm), offered, (to, memory)));
        });
        sms.run_round(
            others,
            &mut turns,
            device,
            |sm, reached, flags| spell.move_to(sm, reached.at, reached.waits_for, flags),
            |sm, sent| {
                ledger.sent(sm, &sent.request);
                memory.take(sm, sent);
            },
        );
        turns.clear();
        spell.turns = turns;
    }

    /// Runs the front as far as it is known what comes to it, by a cycle at least. What it took in
    /// a cycle gives credits for the next.
    fn run_front(&mut self, to: Cycle) {
        let Self {
            sms, memory, spell, ..
        } = self;
        while spell.front < to && spell.is_known(memory) {
            let now = spell.front;
            spell.front += 1;
            memory.front_cycle(now);
            spell.note_lags(now, memory);
            memory.take_credits(|sm, flits| sms.credit_from(sm, now + 1, flits));
        }
    }

    /// Makes the stores of the spell that began in cycle `from` visible, as far as all SMs have run
    /// it, and lets atomics act. What was loaded up to there, and where any SM has stored or any
    /// atomic acts in the spell, is loaded again when the stores and atomics before its cycle are
    /// to be seen.
    fn commit_spell(&mut self, from: Cycle, device: &mut DeviceMemory) {
        self.probe.enter(Part::Commit);
        let (settled, to) = (self.spell.settled, self.spell.next);
        self.spell.settled = to;
        let stored = self.find_stores();
        let acts = self.find_atomics(to);
        let Self { sms, spell, .. } = self;
        if spell.has_stored && sms.find_loads(from, (settled, to), &spell.stored) {
            for cycle in settled + 1..=to {
                self.commit_cycles(cycle - 1, device);
                self.sms.for_each(|_, sm| sm.load_again(cycle, device));
            }
        }
        if stored || acts {
            self.commit_cycles(to - 1, device);
        }
    }

    /// Stores of cycles up to `last` become visible, and atomics act: each behind the stores of its
    /// cycle.
    fn commit_cycles(&mut self, last: Cycle, device: &mut DeviceMemory) {
        let mut visible = None;
        while let Some(event) = self.spell.atomics.pop_front_if(|event| event.at <= last) {
            if visible != Some(event.at) {
                self.commit_logs(event.at, device);
                visible = Some(event.at);
            }
            self.act(&event, device);
        }
        if visible != Some(last) {
            self.commit_logs(last, device);
        }
    }

    /// Finds the SMs that have stored what is not visible, and where. Returns whether there are
    /// any.
    fn find_stores(&mut self) -> bool {
        let Self {
            storing,
            sms,
            spell,
            ..
        } = self;
        storing.clear();
        let stored = |sm: &usize| sms.news(*sm).flags.stored();
        storing.extend((0..sms.len()).filter(stored).map(|sm| (0, sm)));
        if storing.is_empty() {
            return false;
        }
        let stored = spell.stored_lines();
        for (_, index) in storing {
            sms.look(*index).log.mark_lines(stored);
        }
        true
    }

    /// Finds where atomics act before cycle `to`. Returns whether there are any.
    fn find_atomics(&mut self, to: Cycle) -> bool {
        let events = std::mem::take(&mut self.spell.atomics);
        let act = events.partition_point(|event| event.at < to);
        for AtomicEvent { reply, .. } in events.range(..act) {
            let sm = self.sms.look(reply.sm.index());
            let (warp, lanes) = sm.atomic_lanes(reply);
            let lines = self.spell.stored_lines();
            sm.atomic_batch(warp).mark_lines(lanes, lines);
        }
        self.spell.atomics = events;
        act > 0
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Spell};
    use crate::{Gpu, KernelLaunch, Probe};
    use std::sync::Arc;
    use warploom_base::{Cycle, Dim3};
    use warploom_config::preset;
    use warploom_diag::Source;
    use warploom_exec::{DeviceMemory, LaunchContext, LaunchSpec};

    const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry k() { ret; }
";

    fn launch(blocks: u32) -> KernelLaunch {
        let source = Source::new("k.ptx", PTX);
        let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
        let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
        let program = Arc::new(ir.kernels.into_iter().next().expect("one kernel"));
        let spec = LaunchSpec {
            grid: Dim3::linear(blocks),
            block: Dim3::linear(32),
            ..LaunchSpec::default()
        };
        let context = LaunchContext::new(Arc::clone(&program), spec);
        KernelLaunch {
            context: context.unwrap_or_else(|error| panic!("{error}")),
            program,
            registers_per_thread: 16,
        }
    }

    /// How long spells are after so many cycles of 32 in which SMs have stood so often, as `stands`
    /// says, run by one thread or several.
    fn lengths(stands: &[u32], is_alone: bool) -> Vec<Cycle> {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut spell = Spell::new(&spec, 100);
        let mut now = 0;
        let after = stands.iter().map(|stands| {
            spell.stands = *stands;
            let whole = spell.whole;
            for _ in 0..MOST / whole {
                spell.end((now, now + whole), is_alone);
                now += whole;
            }
            spell.whole
        });
        after.collect()
    }

    #[test]
    fn spells_of_several_threads_are_short_where_sms_often_stand() {
        let stands = [0, 2, 3, 1, 0, 2, 9, 9];
        assert_eq!(lengths(&stands, false), [32, 32, 8, 8, 32, 32, 8, 8]);
        assert_eq!(lengths(&stands, true), [32; 8]);
    }

    /// Some SMs wait in front of a cycle, or in it, while others come to it: blocks of that cycle
    /// have been given out then.
    #[test]
    fn an_sm_takes_a_block_a_cycle_however_often_it_waits_in_it() {
        let mut spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        spec.gpu.kernel_launch_cycles = 0;
        let mut gpu = Gpu::new(spec, 1, Probe::default());
        gpu.launch(launch(100), &DeviceMemory::new(1 << 16));
        let now = gpu.now();
        gpu.spell.begin(now);
        let mut waiting = |cycle| {
            gpu.give_blocks(cycle);
            let kernel = gpu.dispatcher.in_flight().next();
            kernel.expect("it is in flight").waiting()
        };
        let left = [now, now, now + 1, now + 1, now + 3].map(&mut waiting);
        assert_eq!(left, [85, 85, 70, 70, 55]);
    }
}
