//! The throughput monitor of GPUDuet (Lin et al., TACO 2018, section 6.4): it observes the load of
//! the machine in windows of a kernel's cycles and decides how many extra blocks an SM takes.

use crate::load_class::LoadClass;
use crate::utilisation::{Machine, Utilisation, is_needed};
use warploom_base::Cycle;
use warploom_config::{ContextChoice, ContextPlan, DuetSettings, GpuSpec};
use warploom_state::{State, Value};
use warploom_stats::result::Counts;

/// Decision of the monitor after a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextDecision {
    /// Extra blocks of an SM.
    pub extra_blocks: u32,
    /// True if L1D is to hold contexts.
    pub l1d_holds_contexts: bool,
}

/// Monitor of a machine whose number of extra blocks is not fixed.
///
/// The machine calls `begin` when a kernel with room for extra blocks starts, and `check` in the
/// first step from `next_check` on, with all that the machine has counted so far.
#[derive(Clone, State)]
pub struct ThroughputMonitor {
    #[state(fixed)]
    spec: GpuSpec,
    #[state(fixed)]
    settings: DuetSettings,
    /// Share of its peak that the interconnect sustains.
    #[state(fixed)]
    sustainable: f64,
    chooser: ExtraBlocks,
    plan: Option<ContextPlan>,
    next_check: Cycle,
    window: Option<WindowStart>,
    /// Measurements of the kernel's last window.
    last: Option<LastWindow>,
}

/// Reason why a monitor has allowed a kernel no extra blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorRefusal {
    /// Too few windows have ended.
    TooShort,
    /// A part of the machine is saturated.
    Saturated,
    /// Contexts need L1D, which loads use.
    L1dBusy,
}

/// Load in a window.
#[derive(Clone, Copy, Debug, Value)]
struct LastWindow {
    load: LoadClass,
    /// True if contexts need L1D, and loads used it.
    l1d_busy: bool,
}

/// Beginning of a window, with the counters at that time.
#[derive(Clone, Value)]
struct WindowStart {
    at: Cycle,
    counts: Counts,
}

impl ThroughputMonitor {
    /// The monitor that `spec` asks for, if it asks for one. `sustainable` computes the share of
    /// its peak that the interconnect sustains (`warploom_noc::sustainable`), above 0 and at most
    /// 1.
    pub fn new(spec: &GpuSpec, sustainable: fn(&GpuSpec) -> f64) -> Option<Self> {
        let (ContextChoice::Duet(settings) | ContextChoice::DuetTb(settings)) = spec.sm.context
        else {
            return None;
        };
        settings.extra_blocks.is_none().then(|| Self {
            sustainable: sustainable(spec),
            spec: spec.clone(),
            settings,
            chooser: ExtraBlocks::new(),
            plan: None,
            next_check: Cycle::MAX,
            window: None,
            last: None,
        })
    }

    /// First cycle in which the monitor wants to see the counters.
    pub fn next_check(&self) -> Cycle {
        self.next_check
    }

    /// Notes that a kernel with room for extra blocks was launched. It starts without any.
    pub fn begin(&mut self, now: Cycle, plan: ContextPlan) {
        self.chooser = ExtraBlocks::new();
        self.plan = Some(plan);
        self.window = None;
        self.last = None;
        self.next_check = now + Cycle::from(self.settings.warm_up_cycles);
    }

    /// Observes the counters of the whole machine, by name and summed since the run began. Returns
    /// a decision if a window has ended.
    pub fn check(&mut self, now: Cycle, counts: Counts) -> Option<ContextDecision> {
        let plan = self.plan?;
        self.next_check = now + Cycle::from(self.settings.window_cycles);
        let window = counts_between(self.window.as_ref(), &counts);
        let start = self.window.replace(WindowStart { at: now, counts })?;
        let machine = Machine::new(&self.spec, self.sustainable);
        let used = machine.utilisation(now - start.at, &window);
        let decision = self.decide(plan, &used);
        if self.chooser.is_done() {
            self.next_check = Cycle::MAX;
        }
        Some(decision)
    }

    /// Reason why the current kernel has no extra blocks, if it has none.
    pub fn refusal(&self) -> Option<MonitorRefusal> {
        if self.chooser.number > 0 {
            return None;
        }
        Some(match self.last {
            Some(last) if last.load == LoadClass::Saturated => MonitorRefusal::Saturated,
            Some(last) if last.l1d_busy => MonitorRefusal::L1dBusy,
            _ => MonitorRefusal::TooShort,
        })
    }

    fn decide(&mut self, plan: ContextPlan, used: &Utilisation) -> ContextDecision {
        // L1D may hold contexts only while loads rarely use it. A window in which loads use it more
        // leaves the number of extra blocks as it is, and L1D may still be idle in the next window.
        let idle = used.l1d * 100.0 < f64::from(self.settings.l1d_percent);
        let load = LoadClass::of(used);
        let l1d_busy = plan.l1d && !idle;
        self.last = Some(LastWindow { load, l1d_busy });
        let extra_blocks = match l1d_busy && load != LoadClass::Saturated {
            true => self.chooser.number,
            false => self.chooser.after_window(load, plan.bound),
        };
        ContextDecision {
            extra_blocks,
            l1d_holds_contexts: plan.l1d && extra_blocks > 0,
        }
    }
}

/// Counts since the start of a window, as far as utilisations need them.
fn counts_between(start: Option<&WindowStart>, now: &Counts) -> Counts {
    let before = |name: &String| start.and_then(|start| start.counts.get(name));
    now.iter()
        .filter(|(name, _)| is_needed(name))
        .map(|(name, count)| (name.clone(), count - before(name).copied().unwrap_or(0)))
        .collect()
}

/// Number of extra blocks (ME) of a kernel, as its windows change it (section 6.4).
///
/// On an underutilised machine, the first window raises the number to all blocks that have room,
/// and on a saturated machine it keeps the number at 0. Otherwise the number starts at 0 and grows
/// by one after each further window, until there is no more room or a part saturates. The number
/// never falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
struct ExtraBlocks {
    number: u32,
    first: bool,
    done: bool,
}

impl ExtraBlocks {
    /// No extra blocks, before the first window.
    fn new() -> Self {
        Self {
            number: 0,
            first: true,
            done: false,
        }
    }

    /// True once the number no longer changes.
    fn is_done(&self) -> bool {
        self.done
    }

    /// Number of extra blocks after a window with a load of this class, where `bound` blocks have
    /// room.
    fn after_window(&mut self, load: LoadClass, bound: u32) -> u32 {
        if !self.done {
            match load {
                LoadClass::Saturated => self.done = true,
                LoadClass::Underutilised if self.first => (self.number, self.done) = (bound, true),
                LoadClass::Underutilised | LoadClass::Moderate => {
                    // The number grows after the second window for the first time.
                    self.number = (self.number + u32::from(!self.first)).min(bound);
                    self.done = self.number == bound;
                }
            }
            self.first = false;
        }
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::{ContextDecision, ExtraBlocks, LoadClass, MonitorRefusal, ThroughputMonitor};
    use warploom_base::Cycle;
    use warploom_config::{Base, ContextPlan, GpuSpec, resolve};
    use warploom_stats::result::Counts;

    const WARM_UP: Cycle = 1000;
    const WINDOW: Cycle = 500;

    fn check_choices(loads: &[LoadClass], expected: &[u32]) {
        let mut chooser = ExtraBlocks::new();
        let extra: Vec<_> = loads
            .iter()
            .map(|load| chooser.after_window(*load, 3))
            .collect();
        assert_eq!(extra, expected);
    }

    #[test]
    fn the_first_window_decides_at_both_ends() {
        use LoadClass::{Moderate, Saturated, Underutilised};
        check_choices(&[Underutilised, Saturated], &[3, 3]);
        check_choices(&[Saturated, Underutilised], &[0, 0]);
        check_choices(
            &[Moderate, Moderate, Underutilised, Moderate, Moderate],
            &[0, 1, 2, 3, 3],
        );
        check_choices(&[Moderate, Moderate, Saturated, Moderate], &[0, 1, 1, 1]);
    }

    fn spec(sets: &[&str]) -> GpuSpec {
        let windows = ["duet.warm_up_cycles=1000", "duet.window_cycles=500"];
        let sets = ["sm.context=duet"].iter().chain(&windows).chain(sets);
        let sets: Vec<_> = sets.map(|set| (*set).to_owned()).collect();
        let base = Base::Preset("maxwell-duet".to_owned());
        resolve(&base, &sets).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn monitor(spec: &GpuSpec) -> Option<ThroughputMonitor> {
        ThroughputMonitor::new(spec, |_| 0.6)
    }

    /// Plan of a kernel with room for three extra blocks, in L1D or elsewhere.
    fn plan(l1d: bool) -> ContextPlan {
        ContextPlan {
            native: 4,
            bound: 3,
            by_warp: true,
            l1d,
            refusal: None,
        }
    }

    /// A monitor of a machine whose load the test sets.
    struct Bench {
        monitor: ThroughputMonitor,
        spec: GpuSpec,
        counts: Counts,
        now: Cycle,
    }

    impl Bench {
        fn new(l1d: bool) -> Self {
            let spec = spec(&["duet.l1d_percent=20"]);
            let mut monitor = monitor(&spec).expect("the number of extra blocks is not fixed");
            assert_eq!(monitor.next_check(), Cycle::MAX, "no kernel runs");
            monitor.begin(7, plan(l1d));
            Self {
                monitor,
                spec,
                counts: Counts::default(),
                now: 7,
            }
        }

        /// Advances the time by some cycles, in which percentages of the schedulers' slots and of
        /// L1D's port cycles are in use.
        fn work(&mut self, cycles: Cycle, scheduler: u64, l1d: u64) {
            let sms = u64::from(self.spec.gpu.sms);
            let slots = cycles * sms * u64::from(self.spec.sm.schedulers);
            let mut count = |name: &str, more: u64| {
                *self.counts.entry(name.to_owned()).or_default() += more;
            };
            count("sm.warp_instructions", slots * scheduler / 100);
            count("l1d.data_port_hits", cycles * sms * l1d / 100);
            self.now += cycles;
        }

        fn check(&mut self) -> Option<ContextDecision> {
            assert_eq!(self.monitor.next_check(), self.now, "a check is due");
            self.monitor.check(self.now, self.counts.clone())
        }

        fn warm_up(&mut self) {
            self.work(WARM_UP, 99, 99);
            assert_eq!(self.check(), None, "the first window begins");
        }

        /// The decisions after windows with these percentages.
        fn windows(&mut self, used: &[(u64, u64)]) -> Vec<(u32, bool)> {
            let decisions = used.iter().map(|&(scheduler, l1d)| {
                self.work(WINDOW, scheduler, l1d);
                let decision = self.check().expect("a window has ended");
                (decision.extra_blocks, decision.l1d_holds_contexts)
            });
            decisions.collect()
        }
    }

    fn check(l1d: bool, used: &[(u64, u64)], expected: &[(u32, bool)], done: bool) {
        let mut bench = Bench::new(l1d);
        bench.warm_up();
        assert_eq!(bench.windows(used), expected);
        let no_more = bench.monitor.next_check() == Cycle::MAX;
        assert_eq!(no_more, done, "the last check is over");
    }

    #[test]
    fn a_machine_has_a_monitor_where_the_number_is_not_fixed() {
        assert!(monitor(&spec(&[])).is_some());
        assert!(monitor(&spec(&["sm.context=duet-tb"])).is_some());
        assert!(monitor(&spec(&["duet.extra_blocks=2"])).is_none());
        assert!(monitor(&spec(&["sm.context=virtual-thread"])).is_none());
        assert!(monitor(&spec(&["sm.context=none"])).is_none());
    }

    /// The schedulers' thresholds in Table 3 are 60 % and 80 %. Counts from before a window do not
    /// matter: during the warm-up the schedulers were busy in 99 % of the cycles.
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

    /// L1D holds contexts if its ports are in use for less than the percentage in the settings, and
    /// if there are extra blocks.
    #[test]
    fn l1d_is_given_up_where_it_is_idle() {
        check(true, &[(10, 19)], &[(3, true)], true);
        check(true, &[(10, 21)], &[(0, false)], false);
        // The first window in which L1D is idle decides as the kernel's first window would.
        check(true, &[(10, 21), (10, 19)], &[(0, false), (3, true)], true);
        check(
            true,
            &[(70, 21), (70, 19), (70, 21), (70, 19)],
            &[(0, false), (0, false), (0, false), (1, true)],
            false,
        );
        check(true, &[(10, 21), (81, 21)], &[(0, false); 2], true);
        check(true, &[(70, 19), (70, 19)], &[(0, false), (1, true)], false);
        check(false, &[(10, 21)], &[(3, false)], true);
    }

    /// A monitor that has allowed no extra blocks has a reason: the class of the last window, the
    /// use of L1D, or too few windows.
    #[test]
    fn what_is_refused_has_a_reason() {
        let after = |l1d: bool, used: &[(u64, u64)]| {
            let mut bench = Bench::new(l1d);
            bench.warm_up();
            bench.windows(used);
            bench.monitor.refusal()
        };
        assert_eq!(after(false, &[]), Some(MonitorRefusal::TooShort));
        assert_eq!(after(false, &[(70, 0)]), Some(MonitorRefusal::TooShort));
        assert_eq!(after(false, &[(81, 0)]), Some(MonitorRefusal::Saturated));
        assert_eq!(after(true, &[(10, 21)]), Some(MonitorRefusal::L1dBusy));
        assert_eq!(after(true, &[(81, 21)]), Some(MonitorRefusal::Saturated));
        assert_eq!(after(true, &[(10, 21), (10, 19)]), None);
        assert_eq!(after(false, &[(70, 0), (70, 0)]), None);
    }

    /// Every kernel begins with a warm-up and without extra blocks, also if it begins during the
    /// windows of another kernel.
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
