//! The contract of warp schedulers, for every policy of the table: each one is run through drawn
//! cycles with its default settings.

use super::{
    Choice, L1dEvent, L1dOutcome, MemoryAccess, MemoryOp, MemorySpace, MemoryUse, NextInst,
    Progress, TABLE, WarpMask, WarpPolicy, WarpScheduler, WarpTable, WarpView, warps_of,
};
use crate::PolicyInfo;
use warploom_base::{FULL_MASK, KernelSlot, Pc, Rng, WarpSlot};
use warploom_config::{Base, resolve};

/// Warp slots of the scheduler.
const SLOTS: usize = 12;
/// Drawn cycles of one run.
const CYCLES: u32 = 2000;

/// Progress of a warp that has issued one instruction.
const ISSUED: Progress = Progress {
    kernel: KernelSlot(0),
    issued: 1,
    next: Some(Pc(1)),
    left: 1,
    lanes: FULL_MASK,
};

/// The choice that the key of a row makes of the row's name.
fn choice(row: &PolicyInfo) -> Choice {
    let base = Base::Preset("gtx480".to_owned());
    let set = format!("{}={}", row.key, row.name);
    let spec = resolve(&base, &[set]).unwrap_or_else(|errors| panic!("{errors}"));
    spec.sm.warp_scheduler
}

/// Warps of a scheduler that start, wait and exit as drawn.
struct Scene {
    rng: Rng,
    table: WarpTable,
    live: WarpMask,
    started: u64,
}

/// A drawn cycle: the masks of a view, the warps that could issue, and those that stall.
struct Cycle {
    waiting: WarpMask,
    long_wait: WarpMask,
    ready: WarpMask,
    stalled: WarpMask,
    cycles: u64,
}

impl Scene {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            table: WarpTable::new(SLOTS, SLOTS, 8),
            live: 0,
            started: 0,
        }
    }

    /// Some of the warps of a mask.
    fn some(&mut self, of: WarpMask) -> WarpMask {
        of & WarpMask::from(self.rng.next_u32() & self.rng.next_u32())
    }

    /// Lets a warp exit or start, now and then, and tells the policies.
    fn change(&mut self, policies: &mut [WarpPolicy]) {
        let slot = self.rng.below(SLOTS as u32) as usize;
        let bit: WarpMask = 1 << slot;
        if self.live & bit == 0 {
            self.table.start(slot, self.started, 0);
            self.started += 1;
            policies
                .iter_mut()
                .for_each(|p| p.on_start(WarpSlot::new(slot)));
        } else if self.rng.below(4) == 0 {
            policies
                .iter_mut()
                .for_each(|p| p.on_exit(WarpSlot::new(slot)));
        } else {
            return;
        }
        self.live ^= bit;
    }

    /// Tells the policies of a drawn event of the data cache, one of few lines, and of a drawn use
    /// of memory.
    fn event(&mut self, policies: &mut [WarpPolicy]) {
        let warp = WarpSlot::new(self.rng.below(SLOTS as u32) as usize);
        let line = 128 * u64::from(self.rng.below(4));
        let outcomes = [
            L1dOutcome::Hit,
            L1dOutcome::Merged,
            L1dOutcome::SectorMiss,
            L1dOutcome::Miss,
        ];
        let event = match self.rng.below(16) {
            0 => L1dEvent::Write { warp, line },
            1..6 => L1dEvent::Evict { owner: warp, line },
            _ => L1dEvent::Read {
                warp,
                pc: Pc(self.rng.below(3)),
                line,
                outcome: outcomes[self.rng.below(4) as usize],
            },
        };
        policies.iter_mut().for_each(|p| p.on_l1d(&event));
        let used = MemoryUse {
            free_misses: Some(self.rng.below(16)),
            refuses: self.rng.below(8) == 0,
            parked: 0,
            can_park: self.rng.below(2) == 0,
        };
        policies.iter_mut().for_each(|p| p.on_memory_use(&used));
    }

    fn cycle(&mut self) -> Cycle {
        let waiting = self.some(self.live);
        let long_wait = self.some(self.live);
        let can = self.live & !waiting & !long_wait;
        let ready = if self.rng.below(4) == 0 {
            0
        } else {
            self.some(can)
        };
        let stalled = self.some(self.live & !waiting & !ready);
        let cycles = if ready == 0 {
            1 + u64::from(self.rng.below(5))
        } else {
            1
        };
        Cycle {
            waiting,
            long_wait,
            ready,
            stalled,
            cycles,
        }
    }

    fn view(&self, cycle: &Cycle) -> WarpView<'_> {
        WarpView {
            own: (1 << SLOTS) - 1,
            live: self.live,
            waiting: cycle.waiting,
            long_wait: cycle.long_wait,
            held: 0,
            table: &self.table,
        }
    }
}

/// Runs one cycle. A policy that is told of `times` cycles one by one sees the same view each time.
fn run(
    policy: &mut WarpPolicy,
    view: &WarpView<'_>,
    cycle: &Cycle,
    times: u64,
) -> Option<WarpSlot> {
    let mut picked = None;
    for _ in 0..times {
        policy.begin_cycle(view);
        picked = policy.pick(view, cycle.ready);
        let cycles = cycle.cycles / times;
        policy.end_cycles(view, cycle.stalled, picked, cycles);
    }
    if let Some(slot) = picked {
        policy.on_issue(slot);
        policy.on_progress(slot, &ISSUED);
    }
    picked
}

/// After a cycle in which nothing issued: lets the cycles pass, at most five, for which a policy
/// says that it will let nothing issue, at once for the first policy. The second one is asked in
/// each of them and must agree.
fn hold(policies: &mut [WarpPolicy; 2], view: &WarpView<'_>, cycle: &Cycle) {
    let [at_once, one_by_one] = policies;
    let cycles = at_once.holds_for().min(5);
    if cycle.ready == 0 || cycles == 0 {
        return;
    }
    at_once.begin_cycle(view);
    at_once.end_cycles(view, cycle.stalled, None, cycles);
    for _ in 0..cycles {
        one_by_one.begin_cycle(view);
        assert_eq!(one_by_one.pick(view, cycle.ready), None);
        one_by_one.end_cycles(view, cycle.stalled, None, 1);
    }
}

/// The warps of a mask whose next instruction, a load, the policy admits.
fn admitted(policy: &mut WarpPolicy, view: &WarpView<'_>, mask: WarpMask) -> Vec<WarpSlot> {
    let load = |slot| NextInst {
        slot,
        kernel: KernelSlot(0),
        pc: Pc(1),
        access: Some(MemoryAccess {
            op: MemoryOp::Load,
            space: MemorySpace::Global,
        }),
    };
    let admits = |slot: &WarpSlot| policy.admits(view, &load(*slot));
    warps_of(mask).filter(admits).collect()
}

/// A policy picks ready warps only. A second beginning of a cycle changes nothing, and a run of
/// skipped cycles counts as its cycles one by one.
#[test]
fn every_scheduler_keeps_the_contract() {
    assert!(TABLE.len() >= 5, "the table must not pass by being empty");
    for row in TABLE {
        let mut scene = Scene::new(7);
        let mut policies = [(); 2].map(|()| WarpPolicy::new(choice(row)));
        let mut issues = 0;
        for n in 0..CYCLES {
            scene.change(&mut policies);
            scene.event(&mut policies);
            let cycle = scene.cycle();
            let view = scene.view(&cycle);
            let [at_once, one_by_one] = &mut policies;
            one_by_one.begin_cycle(&view);
            at_once.begin_cycle(&view);
            assert_eq!(
                admitted(at_once, &view, cycle.ready),
                admitted(one_by_one, &view, cycle.ready),
                "{}, cycle {n}",
                row.name
            );
            let picked = run(at_once, &view, &cycle, 1);
            let name = row.name;
            assert_eq!(
                picked,
                run(one_by_one, &view, &cycle, cycle.cycles),
                "{name}, cycle {n}"
            );
            let is_ready = |slot: WarpSlot| cycle.ready >> slot.index() & 1 != 0;
            assert!(
                picked.is_none_or(is_ready),
                "{name}, cycle {n}: {picked:?} is not ready"
            );
            issues += u32::from(picked.is_some());
            if picked.is_none() {
                hold(&mut policies, &view, &cycle);
            }
        }
        let counters = policies.map(|policy| policy.counters());
        assert_eq!(counters[0], counters[1], "{}", row.name);
        assert!(
            issues > CYCLES / 8,
            "{} issued in {issues} cycles",
            row.name
        );
    }
}

/// A warp that alone can issue does so, sooner or later: no policy waits for a warp that has
/// exited.
#[test]
fn no_scheduler_forgets_a_warp() {
    for row in TABLE {
        let mut scene = Scene::new(11);
        let mut policy = [WarpPolicy::new(choice(row))];
        (0..CYCLES).for_each(|_| scene.change(&mut policy));
        let [mut policy] = policy;
        for slot in warps_of(scene.live) {
            let only = 1 << slot.index();
            let others = scene.live & !only;
            let cycle = Cycle {
                waiting: others,
                long_wait: 0,
                ready: only,
                stalled: 0,
                cycles: 1,
            };
            let view = scene.view(&cycle);
            let picked = (0..SLOTS).find_map(|_| run(&mut policy, &view, &cycle, 1));
            assert_eq!(picked, Some(slot), "{}", row.name);
        }
    }
}
