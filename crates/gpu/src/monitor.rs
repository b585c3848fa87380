//! The throughput monitor of context switching (GPUDuet, section 6.4): the machine's load in
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

#[cfg(test)]
mod tests {
    use super::{Choice, Monitor};
    use crate::counters::MachineCounters;
    use warploom_base::Cycle;
    use warploom_config::{Base, ContextPlan, GpuSpec, resolve};

    const WARM_UP: Cycle = 1000;
    const WINDOW: Cycle = 500;

    fn spec(sets: &[&str]) -> GpuSpec {
        let windows = ["duet.warm_up_cycles=1000", "duet.window_cycles=500"];
        let sets = ["sm.context=duet"].iter().chain(&windows).chain(sets);
        let sets: Vec<_> = sets.map(|set| (*set).to_owned()).collect();
        let base = Base::Preset("maxwell-duet".to_owned());
        resolve(&base, &sets).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// A kernel of which three extra blocks have room, in L1D or not.
    fn plan(l1d: bool) -> ContextPlan {
        ContextPlan {
            native: 4,
            bound: 3,
            by_warp: true,
            l1d,
            refusal: None,
        }
    }

    /// A monitor, and a machine of which the test says how much it works.
    struct Bench {
        monitor: Monitor,
        spec: GpuSpec,
        counters: MachineCounters,
        now: Cycle,
    }

    impl Bench {
        fn new(l1d: bool) -> Self {
            let spec = spec(&["duet.l1d_percent=20"]);
            let mut monitor = Monitor::of(&spec).expect("it is monitored");
            assert_eq!(monitor.due(), Cycle::MAX, "nothing to look at");
            monitor.begin(7, plan(l1d));
            Self {
                monitor,
                spec,
                counters: MachineCounters::default(),
                now: 7,
            }
        }

        /// So many cycles, with percentages of the schedulers' slots and of L1D's ports in use.
        fn work(&mut self, cycles: Cycle, scheduler: u64, l1d: u64) {
            let sms = u64::from(self.spec.gpu.sms);
            let slots = cycles * sms * u64::from(self.spec.sm.schedulers);
            self.counters.sm.warp_instructions += slots * scheduler / 100;
            self.counters.l1d.data_port_hits += cycles * sms * l1d / 100;
            self.now += cycles;
        }

        fn look(&mut self) -> Option<Choice> {
            assert_eq!(self.monitor.due(), self.now, "it is to look now");
            self.monitor.look(self.now, self.counters.clone())
        }

        fn warm_up(&mut self) {
            self.work(WARM_UP, 99, 99);
            assert_eq!(self.look(), None, "the first window begins");
        }

        /// The choices after windows of these percentages.
        fn windows(&mut self, used: &[(u64, u64)]) -> Vec<(u32, bool)> {
            let choices = used.iter().map(|&(scheduler, l1d)| {
                self.work(WINDOW, scheduler, l1d);
                let choice = self.look().expect("a window has ended");
                (choice.extra, choice.l1d)
            });
            choices.collect()
        }
    }

    fn check(l1d: bool, used: &[(u64, u64)], expected: &[(u32, bool)], done: bool) {
        let mut bench = Bench::new(l1d);
        bench.warm_up();
        assert_eq!(bench.windows(used), expected);
        assert_eq!(bench.monitor.due() == Cycle::MAX, done, "it looks no more");
    }

    #[test]
    fn it_is_there_where_the_number_is_not_fixed() {
        assert!(Monitor::of(&spec(&[])).is_some());
        assert!(Monitor::of(&spec(&["sm.context=duet-tb"])).is_some());
        assert!(Monitor::of(&spec(&["duet.extra_blocks=2"])).is_none());
        assert!(Monitor::of(&spec(&["sm.context=virtual-thread"])).is_none());
        assert!(Monitor::of(&spec(&["sm.context=none"])).is_none());
    }

    /// Table 3's thresholds of the schedulers: below 60 % and above 80 %. What was counted before
    /// the window is not in it: warming up, the schedulers were busy in 99 % of the cycles.
    #[test]
    fn a_window_counts_what_happens_in_it() {
        check(false, &[(59, 0)], &[(3, false)], true);
        check(false, &[(81, 0)], &[(0, false)], true);
        check(false, &[(61, 0)], &[(0, false)], false);
        let rising = [(79, 0), (61, 0), (59, 0), (70, 0)];
        let steps = [(0, false), (1, false), (2, false), (3, false)];
        check(false, &rising, &steps, true);
        check(false, &rising[..3], &steps[..3], false);
        check(
            false,
            &[(70, 0), (70, 0), (90, 0)],
            &[(0, false), (1, false), (1, false)],
            true,
        );
    }

    /// L1D is given up for contexts where its ports are in use in less than the percentage that the
    /// settings say, and only for blocks that are there.
    #[test]
    fn l1d_is_given_up_where_it_is_idle() {
        check(true, &[(10, 19)], &[(3, true)], true);
        check(true, &[(10, 21)], &[(0, false)], true);
        check(true, &[(70, 19), (70, 19)], &[(0, false), (1, true)], false);
        check(false, &[(10, 21)], &[(3, false)], true);
    }

    /// Every kernel begins with a warm-up and without extra blocks, also in the middle of another's
    /// windows.
    #[test]
    fn a_kernel_begins_anew() {
        let mut bench = Bench::new(false);
        bench.warm_up();
        assert_eq!(bench.windows(&[(70, 0), (70, 0)]), [(0, false), (1, false)]);
        bench.work(10, 0, 0);
        bench.monitor.begin(bench.now, plan(true));
        bench.warm_up();
        let first_and_one_with_l1d_busy = [(70, 0), (70, 50)];
        let none = [(0, false), (0, false)];
        assert_eq!(bench.windows(&first_and_one_with_l1d_busy), none);
    }
}
