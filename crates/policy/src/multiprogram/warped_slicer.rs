//! Warped-Slicer (Xu et al., ISCA 2016): short profiles say what each kernel does with 1,
//! 2, 3 blocks on an SM; from that Algorithm 1 chooses how many blocks each has on every SM, or
//! the SMs are divided where some kernel would lose too much.
//!
//! What the paper leaves open:
//! - In the 20,000 cycles before the first profile SMs are already divided as for the profile, so
//!   that samples are of SMs that hold the blocks that they are taken for.
//! - A kernel that arrives later is profiled on its part of the SMs alone; the others go on as
//!   before on theirs and keep their profiles. A sample begins when the SMs hold what they are to
//!   hold, or after four times its length; then SMs that do not are left out, and a kernel of which
//!   nothing could be sampled keeps its profile, or is sampled again if it has none.
//! - Where an SM runs several counts in turn it begins with the smallest, so that none must drain.
//! - A phase change shows against the second stretch of a profile's length after a partition (the
//!   first has blocks of the profile in it), in two stretches in a row, while it has blocks that
//!   wait: the end of a grid, when SMs run empty, is none.

use super::profile::Profile;
use super::quotas::{Quotas, UNLIMITED, share_of_sms};
use super::spatial::divided;
use super::water_fill::{Demand, water_fill};
use super::{Decision, KernelView, Multiprogram, MultiprogramView, Verdict};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::{GpuSpec, LossBase, WarpedSlicerSettings};

/// Cycles between two looks at whether a sample can begin.
const POLL_CYCLES: Cycle = 100;
/// A sample begins after at most so many times its length.
const PATIENCE: Cycle = 4;
/// Stretches of changed IPC in a row that are a new phase.
const PHASE_STRETCHES: u32 = 2;

/// What a kernel does with 1, 2, 3 blocks on an SM.
#[derive(Clone, Debug)]
struct Known {
    process: u8,
    code: u32,
    curve: Vec<f64>,
}

/// How SMs are divided, by member.
#[derive(Clone, Debug, PartialEq)]
enum Plan {
    /// As for one kernel: no limit.
    Whole,
    /// By the profile that runs.
    Profile,
    Shared(Vec<u32>),
    Spatial,
}

/// What the policy does next, at `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits for the warm-up's end.
    Warm,
    /// Waits until SMs hold what is to be sampled, at the latest until then.
    Fill(Cycle),
    Sample,
    /// Waits for the algorithm.
    Delay,
    /// Watches for changes.
    Watch,
}

/// A kernel's IPC since the partition.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    slot: KernelSlot,
    instructions: u64,
    stretches: u32,
    reference: Option<u64>,
    changed: u32,
}

/// Warped-Slicer.
#[derive(Clone, Debug)]
pub struct WarpedSlicer {
    settings: WarpedSlicerSettings,
    quotas: Quotas,
    /// Kernels in order of processes.
    members: Vec<KernelView>,
    known: Vec<Known>,
    plan: Plan,
    /// The plan before the profile, as blocks by member; `None`: none.
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
    /// With `settings`.
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

    /// Other kernels than before.
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
        // A curve of a small grid says nothing of what a larger one does with more blocks.
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

    /// The time of the next step has come.
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
            // A kernel came again in between, elsewhere: what was sampled is of no use.
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

    /// Takes over the curves of a profile that has ended.
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

    /// What each member does, in parts of its best.
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

    /// Shares SMs by members' curves, or divides them, also where a curve could not be had.
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

    /// The end of a stretch of a profile's length.
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
            changed[at] = watched.changed >= PHASE_STRETCHES;
        }
        if changed.contains(&true) {
            self.before = match &self.plan {
                Plan::Shared(blocks) => blocks.iter().copied().map(Some).collect(),
                _ => vec![None; self.members.len()],
            };
            self.begin_profile(changed, view);
        }
    }

    /// Quotas of the plan, for the slots that kernels have now.
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

    /// Where a kernel is profiled, it alone has blocks; elsewhere the others go on as before.
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
    /// Notes the instructions so far, at the end of a stretch.
    fn look(&mut self, kernel: &KernelView, instructions: u64, limit_percent: u64) {
        let before = std::mem::replace(&mut self.instructions, instructions);
        if self.stretches == 0 || self.slot != kernel.slot {
            // The first look, or another launch of the kernel: nothing to compare with.
            (self.slot, self.stretches) = (kernel.slot, 1);
            return;
        }
        if !kernel.waits {
            self.changed = 0;
            return;
        }
        self.stretches += 1;
        let done = instructions - before;
        match self.reference {
            // The first stretch has blocks of the profile in it.
            None if self.stretches <= 2 => {}
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

/// The greatest part of its best performance that one of several kernels may lose.
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
