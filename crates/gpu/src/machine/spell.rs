//! Spells: some cycles that the parts of the machine run one after the other, each at a stretch, so
//! that the host's caches serve all of them from one loading of a part.
//!
//! First the back of the memory system runs, which acts on a request long after it was sent
//! (`memory/apart.rs`); then each SM, with all replies at hand; then its front. What SMs need of
//! each other or of the front within the cycles makes them wait for it while the others are ahead:
//! credits where the link is short of them, and a block where one has ended. The front is ahead of
//! SMs where what they have sent backs up, so that these know for some cycles which credits come.
//! What one stores and another loads is loaded again once it is visible, before anything can have
//! read it: a spell is no longer than a load takes that finds its data in the SM.
//!
//! Invariants: results are those of steps; a spell ends at the next multiple of [`MOST`] cycles if
//! not before, a cycle behind which the machine stops if there was a fault, so that it does so in
//! the same cycle however it is run; no look at the machine falls into one, and no end of a kernel.

use super::{AtOnce, Gpu, Stop};
use crate::dispatch::InFlight;
use crate::memory::MemorySystem;
use crate::probe::Part;
use warploom_base::{BitSet, Cycle, each_member};
use warploom_config::GpuSpec;
use warploom_exec::{DeviceMemory, StoredLines};
use warploom_sm::Flags;

/// Most cycles of a spell.
const MOST: Cycle = 32;

/// Fewest cycles for which it is worth it.
const FEWEST: Cycle = 4;

/// Cycles until it is asked again whether a kernel might end: that takes a look at all warps.
const PATIENCE: Cycle = 16;

/// The cycle in which a spell ends at the latest that has cycle `now` in it.
pub(super) const fn end_of(now: Cycle) -> Cycle {
    (now / MOST + 1) * MOST
}

/// Where SMs are.
pub(super) struct Spell {
    /// Most cycles of a spell: so many from which what is loaded cannot have been read, and that
    /// the back of the memory system may be ahead.
    most: Cycle,
    /// Before this cycle there is none: the kernel may be near its end.
    not_before: Cycle,
    /// Most instructions that an SM issues in a cycle.
    issues: u64,
    /// By SM: the next cycle that it has not run.
    at: Vec<Cycle>,
    /// The first of them.
    next: Cycle,
    /// The next cycle that the front has not run.
    front: Cycle,
    /// SMs that get credits in cycles to which they have not come.
    owed: BitSet,
    /// SMs that have not run all of the spell.
    behind: BitSet,
    /// Those that came to where they are by the end of a block, which nobody has noted yet.
    called: BitSet,
    /// What any of them has had for the others.
    flags: Flags,
    /// Lines that any has stored to.
    stored: StoredLines,
    /// Cycles of all spells so far.
    cycles: Cycle,
}

impl Spell {
    /// For a machine whose memory system may run in parts that are so many cycles apart.
    pub fn new(spec: &GpuSpec, most_apart: Cycle) -> Self {
        let sms = spec.gpu.sms as usize;
        let unread = match spec.l1d.enabled {
            true => spec.sm.l1d_latency_cycles,
            false => spec.partition.rop_cycles,
        };
        let steps = spec.gpu.link_cycles > 1;
        Self {
            most: match steps {
                true => 0,
                false => most_apart.min(unread.into()),
            },
            not_before: 0,
            issues: u64::from(spec.sm.schedulers.max(1) * spec.sm.max_issue_per_warp.max(1)),
            at: vec![0; sms],
            next: 0,
            front: 0,
            owed: BitSet::new(sms),
            behind: BitSet::new(sms),
            called: BitSet::new(sms),
            flags: Flags::default(),
            stored: StoredLines::default(),
            cycles: 0,
        }
    }

    /// What comes to the front in its next cycle is known: of an SM that has not run the cycle
    /// before, because what it has sent before is more than goes on.
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

    fn begin(&mut self, now: Cycle) {
        self.at.fill(now);
        (self.next, self.front) = (now, now);
        (0..self.at.len()).for_each(|sm| self.behind.insert(sm));
        self.flags = Flags::default();
    }
}

impl Gpu {
    /// The cycle in which a spell from now on ends at the latest, if there can be one.
    pub(super) fn spell_end(&mut self, limit: Cycle) -> Option<Cycle> {
        let now = self.now;
        let Spell {
            most, not_before, ..
        } = self.spell;
        if most < FEWEST || now < not_before || !self.sms.are_alone() || self.stops_at.is_some() {
            return None;
        }
        let looks = self.next_look().min(self.dispatcher.next_policy_check());
        let end = end_of(now).min(now + most).min(limit).min(looks);
        if end < now + FEWEST || self.memory.is_idle() && self.sms.next_wake() > now {
            return None;
        }
        let kernel = self.dispatcher.resting()?;
        let lasts = self.lasts(kernel, end - now);
        if !lasts {
            self.spell.not_before = now + PATIENCE;
        }
        lasts.then_some(end)
    }

    /// A kernel cannot end within so many cycles, for there is more left of it than SMs can issue.
    fn lasts(&self, kernel: &InFlight, cycles: Cycle) -> bool {
        let of_sm = cycles * self.spell.issues;
        let block = kernel.image.fewest_of_block();
        let waiting = kernel.waiting();
        waiting > 0 && block > of_sm
            || waiting.saturating_mul(block) > of_sm * self.sms.len() as u64
            || (0..self.sms.len()).any(|sm| self.sms.look(sm).fewest_to_end() > of_sm)
    }

    /// Core cycles so far that were run in spells, not in steps: the host's time for a cycle
    /// depends on it, and nothing else.
    pub fn cycles_in_spells(&self) -> Cycle {
        self.spell.cycles
    }

    /// Runs a spell, up to cycle `end` or as far as replies have room.
    pub(super) fn spell(&mut self, end: Cycle, device: &mut DeviceMemory) -> Result<(), Stop> {
        let from = self.now;
        self.probe.enter(Part::Memory);
        let to = self.run_back(end);
        self.spell.begin(from);
        while self.spell.next.min(self.spell.front) < to {
            if self.spell.next < to {
                self.probe.enter(Part::Sms);
                self.give_blocks(self.spell.next);
                self.run_waiting((from, to), device);
                self.probe.enter(Part::Memory);
            }
            self.run_front(to);
        }
        each_member!(self.spell.owed, sm => { self.sms.get(sm).link.take_credits(to) });
        self.spell.owed.clear();
        self.probe.enter(Part::Commit);
        self.now = to;
        self.spell.cycles += to - from;
        self.note_ended_blocks(to);
        debug_assert!(self.memory.atomics.is_empty(), "atomics need steps");
        self.commit_spell(from, device);
        let result = self.end_step(self.spell.flags.fault());
        self.probe.enter(Part::Outside);
        result
    }

    fn run_back(&mut self, end: Cycle) -> Cycle {
        let Self {
            sms,
            memory,
            ledger,
            now,
            ..
        } = self;
        let Some(alone) = sms.alone() else {
            unreachable!("other threads run SMs");
        };
        memory.run_back(*now, end, &mut AtOnce { alone, ledger })
    }

    /// Blocks ended where SMs wait in cycle `now`: others may begin.
    fn give_blocks(&mut self, now: Cycle) {
        self.note_ended_blocks(now);
        if self.dispatcher.offered().is_some() {
            let mut view = self.device_view();
            view.now = now;
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
        let (offered, spell) = (self.dispatcher.offered(), &mut self.spell);
        let (memory, ledger) = (&mut self.memory, &mut self.ledger);
        let Some(mut alone) = self.sms.alone() else {
            unreachable!("other threads run SMs");
        };
        let (known, first) = (spell.front, spell.next);
        let mut next = to;
        each_member!(spell.behind, sm => {
            let at = spell.at[sm];
            // One that may have room for a block is offered one in the next cycle.
            let is_offered = offered.is_some_and(|open| open.contains(sm));
            let waits = at > known || at > first && (is_offered || spell.called.contains(sm));
            if !waits {
                let end = if is_offered { at + 1 } else { to };
                let mut at = alone.sleeps_until(sm, (at, end), known);
                if at < end && at <= known {
                    let span = (from, at, end);
                    let (end, flags) = alone.run_on(sm, span, known, device, |sent| {
                        ledger.sent(sm, &sent.request);
                        memory.take(sm, sent);
                    });
                    spell.flags |= flags;
                    if flags.finished() || flags.gained_room() {
                        spell.called.insert(sm);
                    }
                    at = end;
                }
                spell.at[sm] = at;
                if at >= to {
                    spell.behind.remove(sm);
                }
            }
            next = next.min(spell.at[sm]);
        });
        spell.next = next;
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
            memory.take_credits(|sm, flits| {
                if spell.at[sm] > now {
                    sms.credit(sm, now + 1, flits);
                } else {
                    sms.credit_from(sm, now + 1, flits);
                    spell.owed.insert(sm);
                }
            });
        }
    }

    /// Makes the stores of the spell that began in cycle `from` visible. What was loaded where any
    /// SM has stored in it is loaded again when the stores before its cycle are.
    fn commit_spell(&mut self, from: Cycle, device: &mut DeviceMemory) {
        if self.find_stores() {
            if self.find_loads(from) {
                for cycle in from..self.now {
                    if let Some(before) = cycle.checked_sub(1) {
                        self.commit_logs(before, device);
                    }
                    self.sms.for_each(|_, sm| sm.load_again(cycle, device));
                }
            }
            self.commit_logs(self.now - 1, device);
        }
    }

    /// Finds the SMs that have stored. Returns whether there are any.
    fn find_stores(&mut self) -> bool {
        let Self { storing, sms, .. } = self;
        storing.clear();
        sms.for_each(|index, sm| {
            if !sm.log.is_empty() {
                storing.push((0, index));
            }
        });
        !storing.is_empty()
    }

    /// Finds the loads that have to be repeated. Returns whether there are any.
    fn find_loads(&mut self, from: Cycle) -> bool {
        let Self {
            storing,
            sms,
            spell,
            ..
        } = self;
        spell.stored.clear();
        for (_, index) in storing {
            sms.look(*index).log.mark_lines(&mut spell.stored);
        }
        let mut any = false;
        sms.for_each(|_, sm| any |= sm.find_loads(from, &spell.stored));
        any
    }
}
