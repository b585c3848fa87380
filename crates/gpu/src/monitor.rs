//! The throughput monitor of context switching (seed 000, section 6.4): the machine's load in
//! windows of a kernel's cycles, from which follows how many extra blocks its SMs take.

use crate::counters::MachineCounters;
use warploom_analyze::{Class, Machine, Utilisation};
use warploom_base::Cycle;
use warploom_config::{Context, ContextPlan, DuetSettings, GpuSpec};
use warploom_policy::{ExtraBlocksMonitor, Load};

/// What the monitor wants after a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// Extra blocks of an SM.
    pub extra: u32,
    /// L1D is to hold contexts.
    pub l1d: bool,
}

/// The monitor.
pub(crate) struct Monitor {
    spec: GpuSpec,
    settings: DuetSettings,
    /// Share of its peak that the interconnect sustains.
    sustainable: f64,
    chooser: ExtraBlocksMonitor,
    plan: Option<ContextPlan>,
    due: Cycle,
    /// Beginning of the window, and what was counted then.
    window: Option<(Cycle, MachineCounters)>,
}

impl Monitor {
    /// The monitor of a machine whose number of extra blocks is not fixed.
    pub fn of(spec: &GpuSpec) -> Option<Self> {
        let (Context::Duet(settings) | Context::DuetTb(settings)) = spec.sm.context else {
            return None;
        };
        settings.extra_blocks.is_none().then(|| Self {
            sustainable: warploom_noc::sustainable(spec),
            spec: spec.clone(),
            settings,
            chooser: ExtraBlocksMonitor::new(),
            plan: None,
            due: Cycle::MAX,
            window: None,
        })
    }

    /// The cycle in which it wants to look.
    pub fn due(&self) -> Cycle {
        self.due
    }

    /// A kernel with room for extra blocks was launched: it starts without any.
    pub fn begin(&mut self, now: Cycle, plan: ContextPlan) {
        self.chooser = ExtraBlocksMonitor::new();
        self.plan = Some(plan);
        self.window = None;
        self.due = now + Cycle::from(self.settings.warm_up_cycles);
    }

    /// A look at what is counted; what follows if a window has ended.
    pub fn look(&mut self, now: Cycle, counters: MachineCounters) -> Option<Choice> {
        let plan = self.plan?;
        self.due = now + Cycle::from(self.settings.window_cycles);
        let (start, before) = self.window.replace((now, counters))?;
        let (_, after) = self.window.as_ref()?;
        let named = after.since(&before).named().into_iter().collect();
        let machine = Machine::new(&self.spec, self.sustainable);
        let used = machine.utilisation(now - start, &named);
        let choice = self.choose(plan, &used);
        if self.chooser.is_done() {
            self.due = Cycle::MAX;
        }
        Some(choice)
    }

    fn choose(&mut self, plan: ContextPlan, used: &Utilisation) -> Choice {
        let load = match Class::of(used) {
            Class::Underutilised => Load::Underutilised,
            Class::Moderate => Load::Moderate,
            Class::Saturated => Load::Saturated,
        };
        // Where L1D would have to hold contexts, it must be of little use.
        let idle = used.l1d * 100.0 < f64::from(self.settings.l1d_percent);
        let bound = if plan.l1d && !idle { 0 } else { plan.bound };
        let extra = self.chooser.look(load, bound);
        Choice {
            extra,
            l1d: plan.l1d && extra > 0,
        }
    }
}
