//! Warped-Slicer (Xu et al., ISCA 2016). Short profiles measure the performance of each kernel with
//! 1, 2, 3, ... blocks on an SM. From these curves, Algorithm 1 chooses how many blocks each kernel
//! has on every SM. If a kernel would lose too much, the SMs are divided among the kernels instead.
//!
//! The paper leaves open, and decided here:
//! - During the warm-up of 20,000 cycles before the first profile, SMs are already divided as for
//!   the profile, so that they hold the blocks to be sampled when it begins.
//! - A kernel that arrives later is profiled on its part of the SMs only. The other kernels
//!   continue as before on theirs, and keep their curves.
//! - A sample begins when all SMs hold the blocks to be sampled, or after four times its length.
//!   SMs that do not hold them then are left out. A kernel without any sample keeps its curve, or
//!   is sampled again if it has none.
//! - An SM that samples several numbers of blocks, one after the other, begins with the smallest,
//!   so that no block has to end in between.
//! - After a partition, time is divided into intervals of a profile's length. The IPC in the second
//!   interval is the reference, because the first one still contains blocks of the profile. A
//!   kernel has changed its phase if its IPC differs from the reference in two intervals in
//!   succession. Intervals without waiting blocks do not count, because the end of a grid is no new
//!   phase.

use super::profile::Profile;
use super::quotas::{Quotas, UNLIMITED, share_of_sms};
use super::spatial::divided;
use super::water_fill::{Demand, water_fill};
use super::{Decision, KernelView, Multiprogram, MultiprogramView, Verdict};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::{GpuSpec, LossBase, WarpedSlicerSettings};
use warploom_state::{State, Value};

/// Cycles between two checks whether a sample can begin.
const POLL_CYCLES: Cycle = 100;
/// The longest wait for SMs before a sample begins, as a multiple of its length.
const PATIENCE: Cycle = 4;
/// Successive intervals with a changed IPC that show a new phase.
const PHASE_INTERVALS: u32 = 2;

/// Curve of a kernel: its IPC with 1, 2, 3, ... blocks on an SM.
#[derive(Clone, Debug, Value)]
struct Known {
    process: u8,
    code: u32,
    curve: Vec<f64>,
}

/// Division of the SMs among the members.
#[derive(Clone, Debug, PartialEq, Value)]
enum Plan {
    /// No limits, as for a single kernel.
    Whole,
    /// Quotas of the current profile.
    Profile,
    /// Blocks of each member on every SM.
    Shared(Vec<u32>),
    /// A part of the SMs for each member.
    Spatial,
}

/// State of the policy, which acts at its `next` cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
enum Stage {
    /// Waits for the end of the warm-up.
    Warm,
    /// Waits until SMs hold the blocks to be sampled, up to this cycle at the latest.
    Fill(Cycle),
    /// Waits for the end of the sample.
    Sample,
    /// Waits for the time that the algorithm takes.
    Delay,
    /// Watches the kernels for changes of phase.
    Watch,
}

/// Progress of a kernel since the partition.
#[derive(Clone, Copy, Debug, Default, Value)]
struct Watched {
    slot: KernelSlot,
    /// Instructions up to the end of the last interval.
    instructions: u64,
    /// Number of intervals since the partition.
    intervals: u32,
    /// Instructions in the interval of reference.
    reference: Option<u64>,
    /// Number of successive intervals that differ from it.
    changed: u32,
}

/// Policy `warped-slicer` with its state.
#[derive(Clone, Debug, State)]
pub struct WarpedSlicer {
    #[state(fixed)]
    settings: WarpedSlicerSettings,
    quotas: Quotas,
    /// Kernels in flight, in order of processes.
    members: Vec<KernelView>,
    known: Vec<Known>,
    plan: Plan,
    /// Blocks of each member on an SM before the profile; `None` for a member without shared SMs.
    before: Vec<Option<u32>>,
    profile: Profile,
    stage: Stage,
    next: Cycle,
    /// End of the warm-up, which precedes the first profile only.
    warm_until: Option<Cycle>,
    watched: Vec<Watched>,
    decisions: Vec<Decision>,
}

impl WarpedSlicer {
    /// A policy with `settings`, before any kernel.
    pub fn new(settings: WarpedSlicerSettings) -> Self {
        Self {
            settings,
            quotas: Quotas::default(),
            members: Vec::new(),
            known: Vec::new(),
            plan: Plan::Whole,
            before: Vec::new(),
            profile: Profile::default(),
            stage: Stage::Watch,
            next: Cycle::MAX,
            warm_until: None,
            watched: Vec::new(),
            decisions: Vec::new(),
        }
    }

    fn curve(&self, kernel: &KernelView) -> Option<&Known> {
        let same = |known: &&Known| (known.process, known.code) == (kernel.process, kernel.code);
        self.known.iter().find(same)
    }

    fn profile_cycles(&self) -> Cycle {
        self.settings.profile_cycles.into()
    }

    /// Reacts to a change of the kernels in flight, which were `old` before.
    fn regroup(&mut self, old: &[KernelView], view: &MultiprogramView<'_>) {
        let blocks_before = |kernel: &KernelView| {
            let at = old.iter().position(|other| is_same(other, kernel))?;
            match &self.plan {
                Plan::Shared(blocks) => Some(blocks[at]),
                Plan::Profile => self.before[at],
                Plan::Whole | Plan::Spatial => None,
            }
        };
        self.before = self.members.iter().map(blocks_before).collect();
        if self.members.len() <= 1 {
            self.plan = Plan::Whole;
            self.stage = Stage::Watch;
            self.next = Cycle::MAX;
            return;
        }
        // A curve of a small grid does not contain the numbers of blocks of a larger one.
        let unknown = |kernel: &KernelView| {
            let known = self.curve(kernel).map_or(0, |known| known.curve.len());
            known < kernel.blocks_per_sm.max(1) as usize
        };
        let sampled: Vec<bool> = self.members.iter().map(unknown).collect();
        if sampled.contains(&true) {
            self.begin_profile(sampled, view);
        } else {
            self.decide(view);
        }
    }

    fn begin_profile(&mut self, sampled: Vec<bool>, view: &MultiprogramView<'_>) {
        self.profile = Profile::new(sampled, &self.members, view.spec);
        self.plan = Plan::Profile;
        self.decided(Verdict::Profile, Vec::new(), view.now);
        let warm = view.now + Cycle::from(self.settings.warmup_cycles);
        let until = *self.warm_until.get_or_insert(warm);
        if view.now >= until {
            self.fill(view);
        } else {
            self.stage = Stage::Warm;
            self.next = until;
        }
    }

    fn fill(&mut self, view: &MultiprogramView<'_>) {
        self.stage = Stage::Fill(view.now + PATIENCE * self.profile_cycles());
        self.next = view.now + POLL_CYCLES;
    }

    /// Acts in the `next` cycle.
    fn advance(&mut self, view: &MultiprogramView<'_>) {
        match self.stage {
            Stage::Warm | Stage::Fill(_) => self.try_sample(view),
            Stage::Sample => self.end_sample(view),
            Stage::Delay => self.decide(view),
            Stage::Watch => self.watch(view),
        }
    }

    fn try_sample(&mut self, view: &MultiprogramView<'_>) {
        if self.stage == Stage::Warm {
            self.fill(view);
        }
        let late = matches!(self.stage, Stage::Fill(latest) if view.now >= latest);
        if late || self.profile.is_ready(&self.members, view) {
            self.profile.begin(&self.members, view);
            self.stage = Stage::Sample;
            self.next = view.now + self.profile_cycles();
        } else {
            self.next = view.now + POLL_CYCLES;
        }
    }

    fn end_sample(&mut self, view: &MultiprogramView<'_>) {
        if !self.profile.end(&self.members, view) {
            // A kernel was launched again in another slot meanwhile, so the sample is of no use.
            return self.fill(view);
        }
        if self.profile.next_round() {
            return self.fill(view);
        }
        self.learn();
        let missing = |(at, kernel): (usize, &KernelView)| {
            self.profile.has_sms(at) && self.curve(kernel).is_none()
        };
        if self.members.iter().enumerate().any(missing) {
            return self.fill(view);
        }
        self.stage = Stage::Delay;
        self.next = view.now + Cycle::from(self.settings.delay_cycles);
        if self.settings.delay_cycles == 0 {
            self.decide(view);
        }
    }

    /// Adopts the curves of a profile that has ended.
    fn learn(&mut self) {
        for (at, kernel) in self.members.iter().enumerate() {
            if !self.profile.is_sampled(at) {
                continue;
            }
            let curve = self.profile.curve(at, kernel.blocks_per_sm, &self.settings);
            if let Some(curve) = curve {
                let (process, code) = (kernel.process, kernel.code);
                self.known
                    .retain(|k| (k.process, k.code) != (process, code));
                self.known.push(Known {
                    process,
                    code,
                    curve,
                });
            }
        }
    }

    /// Curve of each member, relative to its best performance.
    fn performances(&self) -> Vec<Vec<f64>> {
        let of = |kernel: &KernelView| {
            let curve = self.curve(kernel).map_or(&[][..], |known| &known.curve);
            let best = curve.iter().copied().fold(0.0, f64::max);
            match best > 0.0 {
                true => curve.iter().map(|ipc| ipc / best).collect(),
                false => vec![1.0],
            }
        };
        self.members.iter().map(of).collect()
    }

    /// Chooses numbers of blocks by the members' curves. Divides the SMs instead if a member would
    /// lose too much, or if a curve is missing.
    fn decide(&mut self, view: &MultiprogramView<'_>) {
        let sm = &view.spec.sm;
        let total = [sm.max_threads, sm.registers, sm.shared_bytes, sm.max_blocks];
        let pairs = self.members.iter().zip(self.performances());
        let demands: Vec<Demand> = pairs.map(|(k, p)| demand(k, p)).collect();
        let most_lost = most_lost(&self.settings, self.members.len());
        let keeps = |(demand, blocks): (&Demand, &u32)| {
            1.0 - demand.performance[*blocks as usize - 1] <= most_lost
        };
        let known = self.members.iter().all(|k| self.curve(k).is_some());
        let blocks = water_fill(&demands, total);
        let blocks = blocks.filter(|b| known && demands.iter().zip(b).all(keeps));
        self.plan = blocks.clone().map_or(Plan::Spatial, Plan::Shared);
        let verdict = match &blocks {
            Some(_) => Verdict::Shared,
            None => Verdict::Spatial,
        };
        self.decided(verdict, blocks.unwrap_or_default(), view.now);
        self.stage = Stage::Watch;
        self.watched = vec![Watched::default(); self.members.len()];
        self.watch(view);
    }

    fn decided(&mut self, verdict: Verdict, blocks: Vec<u32>, at: Cycle) {
        self.decisions.push(Decision {
            at,
            verdict,
            processes: self.members.iter().map(|kernel| kernel.process).collect(),
            blocks,
            curves: match verdict {
                Verdict::Profile => Vec::new(),
                Verdict::Shared | Verdict::Spatial => self.performances(),
            },
        });
    }

    /// Ends an interval of a profile's length.
    fn watch(&mut self, view: &MultiprogramView<'_>) {
        if self.settings.phase_percent == 0 {
            self.next = Cycle::MAX;
            return;
        }
        self.next = view.now + self.profile_cycles();
        let limit = u64::from(self.settings.phase_percent);
        let mut changed = vec![false; self.members.len()];
        for (at, (kernel, watched)) in self.members.iter().zip(&mut self.watched).enumerate() {
            let slot = kernel.slot.index();
            let instructions = view.sms.iter().map(|sm| sm.instructions[slot]).sum();
            watched.look(kernel, instructions, limit);
            changed[at] = watched.changed >= PHASE_INTERVALS;
        }
        if changed.contains(&true) {
            self.before = match &self.plan {
                Plan::Shared(blocks) => blocks.iter().copied().map(Some).collect(),
                _ => vec![None; self.members.len()],
            };
            self.begin_profile(changed, view);
        }
    }

    /// Sets the quotas of the plan for the current slots of the kernels.
    fn assign(&mut self, view: &MultiprogramView<'_>) {
        self.quotas = match &self.plan {
            Plan::Whole => Quotas::new(view.spec, UNLIMITED),
            Plan::Spatial => divided(view),
            Plan::Shared(blocks) => {
                let mut quotas = Quotas::new(view.spec, 0);
                for (kernel, blocks) in self.members.iter().zip(blocks) {
                    quotas.set_all(kernel.slot, *blocks);
                }
                quotas
            }
            Plan::Profile => self.profile_quotas(view.spec),
        };
    }

    /// Quotas of a profile. On the SMs of a sampled member only this member has blocks. On the
    /// other SMs the members continue as before.
    fn profile_quotas(&self, spec: &GpuSpec) -> Quotas {
        let mut quotas = Quotas::new(spec, 0);
        let count = self.members.len();
        for (owner, kernel) in self.members.iter().enumerate() {
            for (nth, sm) in share_of_sms(spec.gpu.sms, owner, count).enumerate() {
                if self.profile.is_sampled(owner) {
                    quotas.set(sm, kernel.slot, self.profile.blocks(owner, nth));
                    continue;
                }
                let shared = self.before[owner].is_some();
                for (at, other) in self.members.iter().enumerate() {
                    let quota = match self.before[at] {
                        Some(blocks) if shared => blocks,
                        _ if at == owner => UNLIMITED,
                        _ => 0,
                    };
                    quotas.set(sm, other.slot, quota);
                }
            }
        }
        quotas
    }
}

impl Watched {
    /// Notes the instructions so far at the end of an interval.
    fn look(&mut self, kernel: &KernelView, instructions: u64, limit_percent: u64) {
        let before = std::mem::replace(&mut self.instructions, instructions);
        if self.intervals == 0 || self.slot != kernel.slot {
            // At the first look, and after another launch of the kernel, there is no reference.
            (self.slot, self.intervals) = (kernel.slot, 1);
            return;
        }
        if !kernel.waits {
            self.changed = 0;
            return;
        }
        self.intervals += 1;
        let done = instructions - before;
        match self.reference {
            // The first interval contains blocks of the profile.
            None if self.intervals <= 2 => {}
            None => self.reference = Some(done),
            Some(reference) if done.abs_diff(reference) * 100 > reference * limit_percent => {
                self.changed += 1;
            }
            Some(_) => self.changed = 0,
        }
    }
}

fn is_same(one: &KernelView, other: &KernelView) -> bool {
    (one.process, one.code) == (other.process, other.code)
}

/// Largest share of its best performance that a kernel may lose among `kernels` kernels.
fn most_lost(settings: &WarpedSlicerSettings, kernels: usize) -> f64 {
    let kept = 1.0 / kernels as f64;
    let base = match settings.loss_base {
        LossBase::ShareKept => kept,
        LossBase::ShareLost => 1.0 - kept,
    };
    f64::from(settings.loss_percent) / 100.0 * base
}

fn demand(kernel: &KernelView, performance: Vec<f64>) -> Demand {
    let needs = &kernel.needs;
    Demand {
        performance,
        needs: [needs.threads, needs.registers, needs.shared_bytes, 1],
    }
}

impl PolicyFacts for WarpedSlicer {
    const FACTS: Facts = Facts {
        about: "Blocks of each kernel on an SM such that the one that loses most loses least.",
        source: "Xu et al., ISCA 2016, Algorithm 1 and section IV.A",
        state: "an SM: instructions, stalls, memory stalls and flits of a sample (32 bits each); \
                2 kernels: performance (32 bits) and blocks by block slot, 2 quotas",
        bits: |spec| {
            let slots = u64::from(spec.sm.max_blocks);
            let blocks = bits_for(slots + 1);
            u64::from(spec.gpu.sms) * 128 + 2 * slots * (32 + blocks) + 2 * blocks
        },
        // Four counters of 32 bits an SM; two kernels' eight points and their quotas.
        bits_on_gtx480: 15 * 128 + 2 * 8 * (32 + 4) + 2 * 4,
        part: Part::Gpu,
        complexity: "linear in kernels times block slots, once a profile",
    };
}

impl Multiprogram for WarpedSlicer {
    fn next_check(&self) -> Cycle {
        self.next
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        let old = std::mem::replace(&mut self.members, view.by_process());
        let pairs = old.iter().zip(&self.members);
        let same = old.len() == self.members.len() && pairs.into_iter().all(|(a, b)| is_same(a, b));
        if !same {
            self.regroup(&old, view);
        } else if view.now >= self.next {
            self.advance(view);
        }
        self.assign(view);
    }

    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        self.quotas.get(sm, kernel)
    }

    fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}
