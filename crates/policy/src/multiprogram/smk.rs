//! SMK, simultaneous multikernel (Wang et al., HPCA 2016): kernels share every SM in fair parts of
//! the resource that each needs most, and issue in proportion to what they issue alone.
//!
//! *Blocks.* The dominant share of a kernel is the largest share that its blocks have of any
//! resource of an SM: threads, registers, shared memory or block slots. The kernel with the
//! smallest dominant share gets the next block, until no kernel's block fits. If an SM cannot hold
//! a block of each kernel, the SMs are divided among the kernels instead.
//!
//! *Instructions.* Kernels are first measured alone, each on its part of the SMs. From then on an
//! SM gives each kernel a quota of instructions in proportion to its IPC alone. A kernel that has
//! used up its quota issues only where the others cannot. When all kernels of the SM have used up
//! theirs, the next epoch begins.
//!
//! The paper preempts blocks of an SM to make room for a new kernel. Here, the new kernel waits
//! until they have ended.

use super::quotas::{Quotas, UNLIMITED, share_of_sms};
use super::spatial::divided;
use super::water_fill::{Demand, water_fill};
use super::{Decision, KernelView, Multiprogram, MultiprogramView, SmSample, Verdict, quota_bits};
use crate::{Facts, Part, PolicyFacts, bits_for};
use std::ops::Range;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::{GpuSpec, SmkSettings};
use warploom_state::{State, Value};

/// Kernel whose IPC alone is known.
#[derive(Clone, Copy, Debug, Value)]
struct Known {
    process: u8,
    code: u32,
    /// Instructions per cycle of an SM with this kernel alone.
    ipc: f64,
}

/// Division of the SMs among the kernels.
#[derive(Clone, Debug, PartialEq, Eq, Value)]
enum Plan {
    /// No limits, as for a single kernel.
    Whole,
    /// A part of the SMs for each kernel.
    Divided,
    /// Blocks of each kernel on every SM.
    Shared(Vec<u32>),
}

/// Step of a measurement that follows at the policy's `next` cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
enum Stage {
    /// No step: the policy acts when kernels come or go.
    Rest,
    /// Start of the measurement.
    Warm,
    /// End of the measurement.
    Measure,
}

/// Policy `smk` with its state.
#[derive(Clone, Debug, State)]
pub struct Smk {
    #[state(fixed)]
    settings: SmkSettings,
    plan: Plan,
    quotas: Quotas,
    issue_quotas: Vec<u64>,
    /// Kernels in flight at the last update, in order of processes.
    members: Vec<KernelView>,
    known: Vec<Known>,
    stage: Stage,
    next: Cycle,
    /// Instructions of each SM at the beginning of the measurement.
    before: Vec<u64>,
    decisions: Vec<Decision>,
}

impl Known {
    fn is(&self, kernel: &KernelView) -> bool {
        (self.process, self.code) == (kernel.process, kernel.code)
    }
}

impl PolicyFacts for Smk {
    const FACTS: Facts = Facts {
        about: "Blocks by fair shares of the scarcest resource, issue by quotas from IPC alone.",
        source: "SMK: Wang et al., HPCA 2016",
        state: "blocks on an SM of each kernel in flight; an SM: quota and instructions of each \
                kernel in an epoch",
        bits: |spec: &GpuSpec| {
            let settings: SmkSettings = spec.gpu.multiprogram.settings();
            let count = bits_for(u64::from(settings.epoch_instructions) + 1);
            let kernels = u64::from(spec.gpu.max_concurrent_kernels);
            quota_bits(spec) + u64::from(spec.gpu.sms) * kernels * 2 * count
        },
        // 0 to 8 blocks of each of 16 kernels; two counts up to 2,000 (11 bits) a kernel and SM.
        bits_on_gtx480: 16 * 4 + 15 * 16 * 2 * 11,
        part: Part::Gpu,
        complexity: "linear in kernels times block slots, when kernels come or go",
    };
}

impl Smk {
    /// A policy with `settings`, before any kernel.
    pub fn new(settings: SmkSettings) -> Self {
        Self {
            settings,
            plan: Plan::Whole,
            quotas: Quotas::default(),
            issue_quotas: Vec::new(),
            members: Vec::new(),
            known: Vec::new(),
            stage: Stage::Rest,
            next: Cycle::MAX,
            before: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Begins with other kernels than before: shares if their IPC alone is known or not wanted, and
    /// measures them otherwise.
    fn regroup(&mut self, view: &MultiprogramView<'_>) {
        let is_known = |kernel: &KernelView| self.ipc_of(kernel).is_some();
        if self.members.len() < 2 {
            self.rest();
            self.plan = Plan::Whole;
        } else if !self.settings.issue_quotas || self.members.iter().all(is_known) {
            self.share(view);
        } else {
            self.plan = Plan::Divided;
            self.stage = Stage::Warm;
            self.next = view.now + Cycle::from(self.settings.warmup_cycles);
            self.decide(view, Verdict::Profile, Vec::new());
        }
    }

    fn rest(&mut self) {
        (self.stage, self.next) = (Stage::Rest, Cycle::MAX);
    }

    fn ipc_of(&self, kernel: &KernelView) -> Option<f64> {
        let known = self.known.iter().find(|known| known.is(kernel));
        known.map(|known| known.ipc)
    }

    /// Takes the next step of a measurement.
    fn advance(&mut self, view: &MultiprogramView<'_>) {
        match self.stage {
            Stage::Rest => self.rest(),
            Stage::Warm => {
                self.before = instructions(view);
                self.stage = Stage::Measure;
                self.next = view.now + Cycle::from(self.settings.profile_cycles);
            }
            Stage::Measure => {
                self.note_ipc(view);
                self.share(view);
            }
        }
    }

    /// Notes the IPC of each kernel on its part of the SMs.
    fn note_ipc(&mut self, view: &MultiprogramView<'_>) {
        let after = instructions(view);
        let (sms, kernels) = (view.spec.gpu.sms, self.members.len());
        for (nth, kernel) in self.members.iter().enumerate() {
            let share: Range<usize> = share_of_sms(sms, nth, kernels);
            let done: u64 = share.clone().map(|sm| after[sm] - self.before[sm]).sum();
            let cycles = u64::from(self.settings.profile_cycles) * share.len().max(1) as u64;
            self.known.retain(|known| !known.is(kernel));
            self.known.push(Known {
                process: kernel.process,
                code: kernel.code,
                ipc: done as f64 / cycles as f64,
            });
        }
    }

    /// Lets the kernels share every SM, if one block of each fits.
    fn share(&mut self, view: &MultiprogramView<'_>) {
        self.rest();
        match fair_blocks(&self.members, view.spec) {
            Some(blocks) => {
                self.plan = Plan::Shared(blocks.clone());
                self.decide(view, Verdict::Shared, blocks);
            }
            None => {
                self.plan = Plan::Divided;
                self.decide(view, Verdict::Spatial, Vec::new());
            }
        }
    }

    /// Sets the quotas of the plan for the current slots of the kernels.
    fn assign(&mut self, view: &MultiprogramView<'_>) {
        self.issue_quotas = Vec::new();
        self.quotas = match &self.plan {
            Plan::Whole => Quotas::new(view.spec, UNLIMITED),
            Plan::Divided => divided(view),
            Plan::Shared(blocks) => {
                let mut quotas = Quotas::new(view.spec, 0);
                for (kernel, blocks) in self.members.iter().zip(blocks) {
                    quotas.set_all(kernel.slot, *blocks);
                }
                self.issue_quotas = self.fair_issues(view.spec);
                quotas
            }
        };
    }

    /// Quotas of instructions by kernel slot, in proportion to the kernels' IPC alone; none without
    /// that.
    fn fair_issues(&self, spec: &GpuSpec) -> Vec<u64> {
        let ipc = self.members.iter().map(|kernel| self.ipc_of(kernel));
        let ipc: Option<Vec<f64>> = ipc.collect();
        let Some(ipc) = ipc.filter(|_| self.settings.issue_quotas) else {
            return Vec::new();
        };
        let all: f64 = ipc.iter().sum();
        let mut quotas = vec![0; spec.gpu.max_concurrent_kernels as usize];
        for (kernel, ipc) in self.members.iter().zip(ipc) {
            let part = if all > 0.0 { ipc / all } else { 0.0 };
            let quota = part * f64::from(self.settings.epoch_instructions);
            quotas[kernel.slot.index()] = (quota.round() as u64).max(1);
        }
        quotas
    }

    fn decide(&mut self, view: &MultiprogramView<'_>, verdict: Verdict, blocks: Vec<u32>) {
        self.decisions.push(Decision {
            at: view.now,
            verdict,
            processes: self.members.iter().map(|kernel| kernel.process).collect(),
            blocks,
            curves: Vec::new(),
        });
    }
}

/// Instructions of each SM.
fn instructions(view: &MultiprogramView<'_>) -> Vec<u64> {
    let of_sm = |sm: &SmSample| sm.instructions.iter().sum();
    view.sms.iter().map(of_sm).collect()
}

/// Blocks of each kernel on an SM by dominant-resource fairness; `None` if not one of each fits.
fn fair_blocks(kernels: &[KernelView], spec: &GpuSpec) -> Option<Vec<u32>> {
    let sm = &spec.sm;
    let total = [sm.max_threads, sm.registers, sm.shared_bytes, sm.max_blocks];
    let demand = |kernel: &KernelView| {
        let needs = &kernel.needs;
        let needs = [needs.threads, needs.registers, needs.shared_bytes, 1];
        let parts = needs.iter().zip(total);
        let parts = parts.filter(|(_, total)| *total > 0);
        let dominant = parts.map(|(need, total)| f64::from(*need) / f64::from(total));
        let dominant = dominant.fold(0.0, f64::max);
        let shares = (1..=kernel.blocks_per_sm.max(1)).map(|n| f64::from(n) * dominant);
        Demand {
            performance: shares.collect(),
            needs,
        }
    };
    let demands: Vec<Demand> = kernels.iter().map(demand).collect();
    water_fill(&demands, total)
}

impl Multiprogram for Smk {
    fn next_check(&self) -> Cycle {
        self.next
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        let old = std::mem::replace(&mut self.members, view.by_process());
        let codes = |kernels: &[KernelView]| -> Vec<(u8, u32)> {
            kernels.iter().map(|k| (k.process, k.code)).collect()
        };
        if codes(&old) != codes(&self.members) {
            self.regroup(view);
        } else if view.now >= self.next {
            self.advance(view);
        }
        self.assign(view);
    }

    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        self.quotas.get(sm, kernel)
    }

    fn issue_quotas(&self) -> &[u64] {
        &self.issue_quotas
    }

    fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::{BlockNeeds, preset};

    fn machine() -> GpuSpec {
        preset("fermi-slicer").unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// Kernel of a process with the threads, registers of a thread, and shared memory of a block.
    fn kernel(process: u8, threads: u32, registers: u32, shared: u32) -> KernelView {
        let spec = machine();
        let needs = BlockNeeds::new(threads, registers, shared, &spec.sm);
        KernelView {
            slot: KernelSlot(process),
            process,
            code: 0,
            needs,
            blocks_per_sm: needs.blocks_per_sm(1 << 20, &spec.sm, &spec.gpu).0,
            launched_at: 0,
            waits: true,
        }
    }

    /// An SM has 1,536 threads, 32,768 registers, 48 KiB of shared memory and 8 blocks. A block of
    /// A has 256 threads (a sixth) and 16 registers a thread (an eighth); one of B has a quarter of
    /// the shared memory. In steps A, B, A, B, A, B, A the shares grow to 4/6 and 3/4; then A,
    /// whose share is smaller, gets a fifth block, and B a fourth one does not fit into 8 slots.
    #[test]
    fn the_smallest_dominant_share_gets_the_next_block() {
        let (a, b) = (kernel(0, 256, 16, 0), kernel(1, 64, 16, 12 << 10));
        assert_eq!(fair_blocks(&[a, b], &machine()), Some(vec![5, 3]));
        let large = kernel(0, 1024, 16, 0);
        let other = kernel(1, 1024, 16, 0);
        assert_eq!(fair_blocks(&[large, other], &machine()), None);
    }

    /// Kernels are measured alone for 5,000 cycles after 5,000 cycles, on eight SMs each. The first
    /// one issues three times as many instructions and gets 1,500 of 2,000. Kernels that are known
    /// share at once, whatever their slots. A kernel that is alone has no quota.
    #[test]
    fn quotas_follow_the_ipc_alone() {
        let spec = machine();
        let slots = spec.gpu.max_concurrent_kernels as usize;
        let sample = SmSample {
            instructions: vec![0; slots],
            blocks: vec![0; slots],
            ..SmSample::default()
        };
        let mut sms = vec![sample; 16];
        let mut policy = Smk::new(SmkSettings::default());
        let mut update = |policy: &mut Smk, now, kernels: &[KernelView], issues: [u64; 2]| {
            for (at, sm) in sms.iter_mut().enumerate() {
                sm.instructions[at / 8] += issues[at / 8];
            }
            let view = MultiprogramView {
                now,
                spec: &spec,
                kernels,
                sms: &sms,
            };
            policy.update(&view);
            policy.next_check()
        };
        let (a, b) = (kernel(0, 256, 16, 0), kernel(1, 64, 16, 12 << 10));
        let launched = |kernel: KernelView, launched_at| KernelView {
            launched_at,
            ..kernel
        };
        assert_eq!(update(&mut policy, 0, &[a], [0, 0]), Cycle::MAX);
        let b = launched(b, 100);
        assert_eq!(update(&mut policy, 100, &[a, b], [9, 0]), 5100);
        assert_eq!(policy.quota(SmId(7), a.slot), UNLIMITED);
        assert_eq!(
            [SmId(8), SmId(15)].map(|sm| policy.quota(sm, a.slot)),
            [0, 0]
        );
        assert_eq!(update(&mut policy, 5100, &[a, b], [700, 4000]), 10_100);
        assert_eq!(
            update(&mut policy, 10_100, &[a, b], [6000, 2000]),
            Cycle::MAX
        );
        assert_eq!(policy.issue_quotas()[..3], [1500, 500, 0]);
        assert_eq!([a, b].map(|k| policy.quota(SmId(3), k.slot)), [5, 3]);
        update(&mut policy, 11_000, &[b], [0, 0]);
        assert_eq!(
            (policy.issue_quotas().len(), policy.quota(SmId(3), b.slot)),
            (0, UNLIMITED)
        );
        let again = KernelView {
            slot: KernelSlot(2),
            ..launched(a, 12_000)
        };
        update(&mut policy, 12_000, &[again, b], [0, 0]);
        assert_eq!(policy.issue_quotas()[..3], [0, 500, 1500]);
        update(&mut policy, 13_000, &[launched(a, 13_000), b], [0, 0]);
        assert_eq!(
            policy.issue_quotas()[..3],
            [1500, 500, 0],
            "its next launch"
        );
        let verdicts: Vec<_> = policy.decisions().iter().map(|d| d.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Profile, Verdict::Shared, Verdict::Shared]
        );
    }
}
