//! Scenarios with limits worked out by hand, and the contract of all block limits, on the preset
//! `gtx480`: 15 SMs with two warp schedulers and 8 blocks each.

use super::*;
use crate::PolicyInfo;
use crate::multiprogram::{KernelView, SmSample, WarpCounts};
use std::fmt::Write as _;
use warploom_base::Rng;
use warploom_config::{Base, BlockNeeds, GpuSpec, resolve};

fn machine(sets: &[&str]) -> GpuSpec {
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    let base = Base::Preset("gtx480".to_owned());
    resolve(&base, &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A kernel with blocks of 128 threads, of which an SM holds some number.
fn kernel(spec: &GpuSpec, slot: u8, launched_at: Cycle, blocks_per_sm: u32) -> KernelView {
    KernelView {
        slot: KernelSlot(slot),
        process: 0,
        code: 0,
        needs: BlockNeeds::new(128, 16, 0, &spec.sm),
        blocks_per_sm,
        launched_at,
        waits: true,
    }
}

/// A machine whose kernels and counts the test sets.
struct Bench {
    spec: GpuSpec,
    now: Cycle,
    kernels: Vec<KernelView>,
    sms: Vec<SmSample>,
}

impl Bench {
    fn new(sets: &[&str]) -> Self {
        let spec = machine(sets);
        let slots = spec.gpu.max_concurrent_kernels as usize;
        let sample = SmSample {
            instructions: vec![0; slots],
            blocks: vec![0; slots],
            ..SmSample::default()
        };
        Self {
            now: 0,
            kernels: Vec::new(),
            sms: vec![sample; spec.gpu.sms as usize],
            spec,
        }
    }

    fn policy(&self) -> BlockLimitPolicy {
        BlockLimitPolicy::new(self.spec.sm.block_limit)
    }

    /// Launches a kernel alone, in slot 0.
    fn launch(&mut self, blocks_per_sm: u32) {
        self.kernels = vec![kernel(&self.spec, 0, self.now, blocks_per_sm)];
    }

    fn update(&self, policy: &mut BlockLimitPolicy) {
        policy.update(&MultiprogramView {
            now: self.now,
            spec: &self.spec,
            kernels: &self.kernels,
            sms: &self.sms,
        });
    }
}

/// Limits of SM 0 after windows of DYNCTA, of which each line gives the idle cycles and those that
/// wait for memory, summed over both schedulers. The kernel has room for `most` blocks.
fn dyncta(most: u32, windows: &str) -> String {
    let mut bench = Bench::new(&["sm.block_limit=dyncta"]);
    let mut policy = bench.policy();
    bench.now = 100;
    bench.launch(most);
    bench.update(&mut policy);
    let mut limits = policy.limit(SmId(0)).to_string();
    for line in windows.lines() {
        let numbers = line.split_whitespace().map(|n| n.parse::<u64>());
        let numbers: Vec<_> = numbers.map(|n| n.expect("a number")).collect();
        assert_eq!(policy.next_check(), bench.now + 2048);
        bench.now += 2048;
        bench.sms[0].idle_slots += numbers[0];
        bench.sms[0].memory_slots += numbers[1];
        bench.update(&mut policy);
        let _ = write!(limits, " {}", policy.limit(SmId(0)));
    }
    limits
}

/// The paper's thresholds are 16 idle cycles, 128 and 384 cycles that wait for memory: twice as
/// many on two schedulers. Idleness decides first.
#[test]
fn dyncta_follows_its_thresholds() {
    let windows = "\
        32 4096\n\
        31 255\n\
        31 256\n\
        31 767\n\
        31 768\n\
        0 4096";
    assert_eq!(dyncta(8, windows), "4 5 6 6 6 5 4");
}

/// Half of the blocks is rounded down, to one at least. The limit stays between one and all.
#[test]
fn dyncta_keeps_to_its_bounds() {
    let waits = "0 4096\n0 4096\n0 4096";
    let computes = "0 0\n0 0\n0 0";
    assert_eq!(dyncta(5, waits), "2 1 1 1");
    assert_eq!(dyncta(5, computes), "2 3 4 5");
    assert_eq!(dyncta(4, computes), "2 3 4 4");
    assert_eq!(dyncta(1, waits), "1 1 1 1");
    assert_eq!(dyncta(1, computes), "1 1 1 1");
}

/// Each SM has a limit of its own. A kernel that joins another one does not begin anew; one that is
/// launched when the last has ended does, even in the same slot. Without kernels nothing is
/// checked.
#[test]
fn dyncta_begins_anew_with_a_kernel() {
    let mut bench = Bench::new(&["sm.block_limit=dyncta"]);
    let mut policy = bench.policy();
    assert_eq!(policy.next_check(), Cycle::MAX);
    bench.launch(8);
    bench.update(&mut policy);
    bench.now = 2048;
    bench.sms[3].memory_slots = 4000;
    bench.update(&mut policy);
    let limits = |policy: &BlockLimitPolicy| [2, 3, 4].map(|sm| policy.limit(SmId(sm)));
    assert_eq!(limits(&policy), [5, 3, 5]);
    bench.now = 3000;
    bench.kernels.push(kernel(&bench.spec, 1, 3000, 6));
    bench.update(&mut policy);
    assert_eq!((limits(&policy), policy.next_check()), ([5, 3, 5], 4096));
    bench.launch(6);
    bench.update(&mut policy);
    assert_eq!((limits(&policy), policy.next_check()), ([3, 3, 3], 5048));
    bench.kernels.clear();
    bench.update(&mut policy);
    assert_eq!(policy.next_check(), Cycle::MAX);
    let counters = policy.counters();
    assert_eq!((counters.decisions, counters.steps_up), (15, 14));
    assert_eq!(
        (counters.steps_down, counters.blocks_allowed),
        (1, 14 * 5 + 3)
    );
}

/// The block that ends first on SM 0 has issued 100 instructions. The SM has issued 301 from the
/// kernel meanwhile, after 500 from an earlier kernel of the slot: four blocks are enough. Later
/// ends, other SMs and more blocks than have room change nothing.
#[test]
fn lcs_counts_blocks_in_instructions_of_the_first() {
    let mut bench = Bench::new(&["sm.block_limit=lcs"]);
    let mut policy = bench.policy();
    bench.sms[0].instructions[0] = 500;
    bench.now = 100;
    bench.launch(6);
    bench.update(&mut policy);
    let end = |policy: &mut BlockLimitPolicy, sm: usize, instructions, all| {
        policy.block_ended(&EndedBlock {
            sm: SmId::new(sm),
            kernel: KernelSlot(0),
            instructions,
            instructions_of_kernel: all,
        });
        policy.limit_of(SmId::new(sm), KernelSlot(0))
    };
    assert_eq!(policy.limit_of(SmId(0), KernelSlot(0)), NO_LIMIT);
    assert_eq!(end(&mut policy, 0, 100, 801), 4);
    assert_eq!(
        end(&mut policy, 0, 100, 700),
        4,
        "the first one has decided"
    );
    assert_eq!(policy.limit_of(SmId(1), KernelSlot(0)), NO_LIMIT);
    assert_eq!(policy.limit_of(SmId(0), KernelSlot(1)), NO_LIMIT);
    assert_eq!(end(&mut policy, 1, 100, 300), 3, "a whole number of blocks");
    assert_eq!(end(&mut policy, 2, 100, 100), 1);
    assert_eq!(end(&mut policy, 3, 100, 2000), 6, "more have no room");
    bench.now = 900;
    bench.launch(6);
    bench.update(&mut policy);
    assert_eq!(policy.limit_of(SmId(0), KernelSlot(0)), NO_LIMIT);
    let counters = policy.counters();
    assert_eq!((counters.decisions, counters.blocks_allowed), (4, 14));
    assert_eq!((counters.steps_up, counters.steps_down), (0, 3));
}

/// Limits of SM 0 after epochs of Equalizer, of which each line gives the mean numbers of active
/// and waiting warps, and of excess warps for memory and for arithmetic. Samples are by turns twice
/// the mean and 0. The kernel has room for six blocks of four warps.
fn equalizer(epochs: &str) -> String {
    let mut bench = Bench::new(&["sm.block_limit=equalizer"]);
    let mut policy = bench.policy();
    bench.launch(6);
    bench.update(&mut policy);
    let mut limits = policy.limit(SmId(0)).to_string();
    for line in epochs.lines() {
        let numbers = line.split_whitespace().map(|n| n.parse::<u64>());
        let numbers: Vec<_> = numbers.map(|n| 2 * n.expect("a number")).collect();
        for sample in 0..32 {
            assert_eq!(policy.next_check(), bench.now + 128);
            bench.now += 128;
            bench.sms[0].warps = match sample % 2 {
                0 => WarpCounts::default(),
                _ => WarpCounts {
                    active: numbers[0],
                    waiting: numbers[1],
                    excess_memory: numbers[2],
                    excess_arithmetic: numbers[3],
                },
            };
            bench.update(&mut policy);
        }
        let _ = write!(limits, " {}", policy.limit(SmId(0)));
    }
    limits
}

/// More than four warps, those of a block, queue for memory: one block fewer after three epochs.
/// More than half of the warps wait: one more, up to all.
#[test]
fn equalizer_needs_three_epochs() {
    let epochs = "\
        24 20 5 9\n24 20 5 9\n24 20 5 9\n\
        24 20 5 9\n24 20 5 9\n\
        24 13 0 0\n24 13 0 0\n24 13 0 0\n\
        24 13 0 0\n24 13 0 0\n24 13 0 0";
    assert_eq!(equalizer(epochs), "6 6 6 5 5 5 5 5 6 6 6 6");
}

/// Limits after three epochs that take a block away, and three more of one kind.
#[test]
fn equalizer_follows_its_rules_in_order() {
    let after = |epoch: &str| {
        let fewer = "24 20 5 0\n".repeat(3);
        let limits = equalizer(&format!("{fewer}{epoch}\n{epoch}\n{epoch}"));
        limits.rsplit(' ').next().map(str::to_owned)
    };
    assert_eq!(after("24 13 2 4").as_deref(), Some("6"), "warps wait");
    assert_eq!(after("24 13 2 5").as_deref(), Some("5"), "arithmetic");
    assert_eq!(
        after("24 13 3 0").as_deref(),
        Some("5"),
        "memory is saturated"
    );
    assert_eq!(
        after("24 12 0 0").as_deref(),
        Some("5"),
        "half of the warps wait"
    );
    assert_eq!(
        after("24 13 5 5").as_deref(),
        Some("4"),
        "they queue for memory"
    );
}

/// Draws what kernels do and what SMs count in the next cycles.
fn change(bench: &mut Bench, rng: &mut Rng) {
    match rng.below(200) {
        0 => bench.kernels.clear(),
        1..20 if bench.kernels.len() < 3 => {
            let slot = bench
                .kernels
                .iter()
                .map(|k| k.slot.0 + 1)
                .max()
                .unwrap_or(0);
            let most = 1 + rng.below(8);
            let new = kernel(&bench.spec, slot % 16, bench.now, most);
            bench.kernels.push(new);
        }
        _ => {}
    }
    for sample in &mut bench.sms {
        let slots = u64::from(rng.below(9000));
        let parts = [slots / 2, slots / 3, slots / 7];
        sample.slots += slots;
        sample.stalled_slots += parts[0];
        sample.memory_slots += parts[rng.below(3) as usize];
        sample.idle_slots += u64::from(rng.below(40));
        sample.warps = WarpCounts {
            active: 48,
            waiting: u64::from(rng.below(48)),
            excess_memory: u64::from(rng.below(12)),
            excess_arithmetic: u64::from(rng.below(6)),
        };
        sample.instructions.iter_mut().for_each(|n| *n += 100);
    }
}

/// Draws a block that ends.
fn ended_block(bench: &Bench, rng: &mut Rng) -> Option<EndedBlock> {
    let kernel = bench.kernels.first()?.slot;
    let sm = SmId::new(rng.below(bench.spec.gpu.sms) as usize);
    Some(EndedBlock {
        sm,
        kernel,
        instructions: 1 + u64::from(rng.below(100)),
        instructions_of_kernel: bench.sms[sm.index()].instructions[kernel.index()] + 100,
    })
}

/// Every limit lets an SM run at least one block, decides the same when it sees the same, wants its
/// next update later than now, and none while no kernel is in flight.
#[test]
fn every_limit_keeps_the_contract() {
    let rows: &[PolicyInfo] = TABLE;
    assert!(rows.len() >= 2, "the table must not pass by being empty");
    for row in rows {
        let mut bench = Bench::new(&[&format!("{}={}", row.key, row.name)]);
        let mut rng = Rng::new(5);
        let mut policies = [bench.policy(), bench.policy()];
        for _ in 0..2000 {
            change(&mut bench, &mut rng);
            let end = ended_block(&bench, &mut rng);
            for policy in &mut policies {
                bench.update(policy);
                end.iter().for_each(|end| policy.block_ended(end));
                assert!(policy.next_check() > bench.now, "{}", row.name);
                if bench.kernels.is_empty() {
                    assert_eq!(policy.next_check(), Cycle::MAX, "{}", row.name);
                }
            }
            for sm in (0..bench.sms.len()).map(SmId::new) {
                let of = |policy: &BlockLimitPolicy| {
                    [policy.limit(sm), policy.limit_of(sm, KernelSlot(0))]
                };
                let limits = of(&policies[0]);
                assert!(limits[0] > 0 && limits[1] > 0, "{}", row.name);
                assert_eq!(limits, of(&policies[1]), "{}", row.name);
            }
            let step = 1 + Cycle::from(rng.below(3000));
            bench.now = (bench.now + step).min(policies[0].next_check());
        }
        let counters = policies.map(|policy| policy.counters());
        assert_eq!(counters[0], counters[1], "{}", row.name);
        let moved = counters[0].steps_up + counters[0].steps_down;
        assert_eq!(moved > 0, row.facts.state != "none", "{}", row.name);
    }
}
