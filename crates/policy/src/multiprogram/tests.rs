//! Scenarios with results derived by hand, on the machine of Warped-Slicer: 16 SMs with 1,536
//! threads, 32,768 registers, 48 KiB of shared memory and 8 blocks each.

use super::quotas::{blocks_of_share, share_of_sms};
use super::*;
use warploom_config::{LossBase, PhiBase, SampleWeight, WarpedSlicerSettings, preset};

fn machine() -> GpuSpec {
    preset("fermi-slicer").unwrap_or_else(|errors| panic!("{errors}"))
}

/// Kernel of a process's first launch, with the threads of a block and the registers of a thread.
fn kernel(process: u8, threads: u32, registers: u32) -> KernelView {
    let spec = machine();
    let needs = BlockNeeds::new(threads, registers, 0, &spec.sm);
    KernelView {
        slot: KernelSlot(process),
        process,
        code: u32::from(process),
        needs,
        blocks_per_sm: needs.blocks_per_sm(1 << 20, &spec.sm, &spec.gpu).0,
        launched_at: 0,
        waits: true,
    }
}

/// SMs whose counts follow a simple model of the kernels.
struct Bench {
    spec: GpuSpec,
    now: Cycle,
    kernels: Vec<KernelView>,
    sms: Vec<SmSample>,
    /// SMs and the kernels of which they hold a block that does not end.
    stuck: Vec<(usize, KernelSlot)>,
}

impl Bench {
    fn new(kernels: &[KernelView]) -> Self {
        let spec = machine();
        let slots = spec.gpu.max_concurrent_kernels as usize;
        let sample = SmSample {
            instructions: vec![0; slots],
            blocks: vec![0; slots],
            ..SmSample::default()
        };
        Self {
            now: 0,
            kernels: kernels.to_vec(),
            sms: vec![sample; spec.gpu.sms as usize],
            stuck: Vec::new(),
            spec,
        }
    }

    fn update(&self, policy: &mut impl Multiprogram) {
        policy.update(&MultiprogramView {
            now: self.now,
            spec: &self.spec,
            kernels: &self.kernels,
            sms: &self.sms,
        });
    }

    /// Runs to cycle `to`. Every SM holds all blocks that its quotas allow at once. `ipc` is the
    /// IPC times 1,000 of a kernel, by its process and its number of blocks. SMs wait for memory in
    /// a fifth of their cycles.
    fn run(&mut self, policy: &mut impl Multiprogram, to: Cycle, ipc: &dyn Fn(u8, u32) -> u64) {
        while self.now < to {
            let next = policy.next_check().min(to);
            let cycles = next - self.now;
            for (sm, sample) in self.sms.iter_mut().enumerate() {
                sample.blocks.fill(0);
                for kernel in &self.kernels {
                    let quota = policy.quota(SmId::new(sm), kernel.slot);
                    let blocks = quota.min(kernel.blocks_per_sm);
                    let done = cycles * ipc(kernel.process, blocks) / 1000;
                    sample.blocks[kernel.slot.index()] = blocks;
                    sample.instructions[kernel.slot.index()] += done;
                }
                for (_, slot) in self.stuck.iter().filter(|(at, _)| *at == sm) {
                    sample.blocks[slot.index()] += 1;
                }
                sample.slots += 2 * cycles;
                sample.memory_slots += 2 * cycles / 5;
            }
            self.now = next;
            if policy.next_check() <= self.now {
                self.update(policy);
            }
        }
    }
}

fn quotas(policy: &impl Multiprogram, kernel: &KernelView) -> Vec<u32> {
    (0..16)
        .map(|sm| policy.quota(SmId(sm), kernel.slot))
        .collect()
}

/// Column Even of Table III follows from Table II's block sizes and the registers that it implies.
#[test]
fn halves_of_an_sm_are_table_3s() {
    let spec = machine();
    let even = |threads, registers| {
        let needs = BlockNeeds::new(threads, registers, 0, &spec.sm);
        blocks_of_share(&needs, &spec, 2)
    };
    assert_eq!(even(128, 32), 4, "BLK");
    assert_eq!(even(512, 16), 1, "BFS");
    assert_eq!(even(256, 36), 1, "HOT");
    assert_eq!(even(64, 28), 4, "IMG");
    assert_eq!(even(256, 8), 3, "KNN");
    assert_eq!(even(120, 36), 3, "LBM");
    assert_eq!(even(128, 44), 2, "MM");
    assert_eq!(even(192, 16), 4, "MVP");
    assert_eq!(even(169, 20), 4, "NN");
}

#[test]
fn parts_of_the_sms_are_as_equal_as_can_be() {
    let parts = |kernels| (0..kernels).map(move |n| share_of_sms(16, n, kernels).len());
    assert_eq!(parts(2).collect::<Vec<_>>(), [8, 8]);
    assert_eq!(parts(3).collect::<Vec<_>>(), [5, 5, 6]);
    assert_eq!(parts(3).sum::<usize>(), 16);
}

#[test]
fn spatial_gives_each_its_own_sms() {
    let (one, two) = (kernel(0, 128, 32), kernel(1, 64, 28));
    let mut policy = Spatial::default();
    // The order of processes decides, not that of launches.
    Bench::new(&[two, one]).update(&mut policy);
    let all = u32::MAX;
    let halves = [[all; 8], [0; 8]].concat();
    assert_eq!(quotas(&policy, &one), halves);
    assert_eq!(quotas(&policy, &two), [[0; 8], [all; 8]].concat());
    Bench::new(&[two]).update(&mut policy);
    assert_eq!(quotas(&policy, &two), [all; 16], "alone it has the machine");
}

#[test]
fn sequential_keeps_to_a_process_until_it_has_no_kernel() {
    let (one, two) = (kernel(0, 128, 32), kernel(1, 64, 28));
    let mut policy = Sequential::default();
    Bench::new(&[one, two]).update(&mut policy);
    assert_eq!(policy.quota(SmId(3), one.slot), u32::MAX);
    assert_eq!(policy.quota(SmId(3), two.slot), 0);
    // The next kernel of the first process continues although it was launched after the second's.
    let next = KernelView {
        slot: KernelSlot(5),
        ..one
    };
    Bench::new(&[two, next]).update(&mut policy);
    assert_eq!(policy.quota(SmId(3), next.slot), u32::MAX);
    Bench::new(&[two]).update(&mut policy);
    assert_eq!(policy.quota(SmId(3), two.slot), u32::MAX);
}

#[test]
fn fcfs_takes_turns_on_each_sm() {
    let mut policy = Fcfs::default();
    Bench::new(&[kernel(0, 128, 32), kernel(1, 64, 28)]).update(&mut policy);
    let mut turns = Vec::new();
    for _ in 0..4 {
        let turn = policy.first(SmId(2));
        turns.push(turn);
        policy.placed(SmId(2), turn);
    }
    assert_eq!(turns, [0, 1, 0, 1]);
    assert_eq!(policy.first(SmId(3)), 0, "another SM has turns of its own");
}

#[test]
fn fixed_quotas_are_by_process_and_end_with_the_company() {
    let settings = warploom_config::FixedSettings {
        first: Some(3),
        second: None,
        third: Some(0),
        fourth: None,
    };
    let mut policy = Fixed::new(settings);
    let kernels = [kernel(0, 128, 32), kernel(1, 64, 28), kernel(2, 64, 28)];
    Bench::new(&kernels).update(&mut policy);
    let on_first = kernels.map(|k| policy.quota(SmId(0), k.slot));
    assert_eq!(on_first, [3, u32::MAX, 0]);
    Bench::new(&kernels[2..]).update(&mut policy);
    assert_eq!(policy.quota(SmId(0), kernels[2].slot), u32::MAX);
}

/// Settings of the scenarios: equation 4 and the greatest loss as printed, phi_mem relative to all
/// cycles.
fn as_printed() -> WarpedSlicerSettings {
    WarpedSlicerSettings {
        weight: SampleWeight::Blocks,
        phi: PhiBase::Cycles,
        loss_base: LossBase::ShareKept,
        ..Default::default()
    }
}

fn slicer() -> WarpedSlicer {
    WarpedSlicer::new(as_printed())
}

fn verdicts(policy: &impl Multiprogram) -> Vec<(Cycle, Verdict, Vec<u32>)> {
    let all = policy.decisions().iter();
    all.map(|d| (d.at, d.verdict, d.blocks.clone())).collect()
}

/// IPC times 1,000 that grows with every block for process 0, and up to three blocks for others.
fn grows_or_peaks(process: u8, blocks: u32) -> u64 {
    match process {
        0 => 100 * u64::from(blocks),
        _ => 200 * u64::from(blocks.min(3)),
    }
}

/// Two kernels of at most eight blocks are sampled with 1 to 8 blocks on eight SMs each, after a
/// warm-up of 20,000 cycles, for 5,000 cycles. Then a kernel whose curve grows with each block and
/// one whose curve is flat from three blocks on share 8 block slots.
#[test]
fn two_kernels_are_profiled_and_share() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    let mut policy = slicer();
    bench.update(&mut policy);
    let ladder: Vec<u32> = (1..=8).collect();
    assert_eq!(
        quotas(&policy, &kernels[0]),
        [&ladder[..], &[0; 8]].concat()
    );
    assert_eq!(
        quotas(&policy, &kernels[1]),
        [&[0; 8], &ladder[..]].concat()
    );
    bench.run(&mut policy, 26_000, &grows_or_peaks);
    // Equation 4 scales an IPC of 100 j to 100 j (1 + 0.2 (j / 4.5 - 1)). The flat curve is scaled
    // likewise, and so grows slowly after three. Curves relative to their best, by blocks:
    //   P0: .09 .19 .30 .42 .55 .69 .84 1
    //   P1: .24 .51 .81 .85 .88 .92 .96 1
    let curves = &policy.decisions()[1].curves;
    let factor = |j: f64| 1.0 + 0.2 * (j / 4.5 - 1.0);
    for j in 1..=8 {
        let exact = [
            f64::from(j) * factor(f64::from(j)) / (8.0 * factor(8.0)),
            f64::from(j.min(3)) * factor(f64::from(j)) / (3.0 * factor(8.0)),
        ];
        for (curve, exact) in curves.iter().zip(exact) {
            assert!((curve[j as usize - 1] - exact).abs() < 1e-3, "{curve:?}");
        }
    }
    // The kernels begin with one block, with .09 and .24. The first grows to three blocks (.30),
    // the second to two (.51), the first to five (.55), the second to three (.81). No slot is left
    // then.
    let shared = (25_000, Verdict::Shared, vec![5, 3]);
    assert_eq!(verdicts(&policy), [(0, Verdict::Profile, vec![]), shared]);
    assert_eq!(quotas(&policy, &kernels[0]), [5; 16]);
    assert_eq!(quotas(&policy, &kernels[1]), [3; 16]);
}

/// An SM has room for one block of each of two kernels with large blocks. Each would lose more than
/// 60% of its performance.
#[test]
fn a_kernel_that_would_lose_too_much_gets_sms_of_its_own() {
    let kernels = [kernel(0, 512, 16), kernel(1, 1024, 16)];
    let mut bench = Bench::new(&kernels);
    let mut policy = slicer();
    bench.update(&mut policy);
    // With one block each, the first kernel has a fifth of its performance with three.
    bench.run(
        &mut policy,
        26_000,
        &|process, blocks| match (process, blocks) {
            (0, 1) => 200,
            (0, 2) => 600,
            _ => 1000,
        },
    );
    let last = policy.decisions().last().expect("it decided");
    assert_eq!((last.at, last.verdict), (25_000, Verdict::Spatial));
    let all = u32::MAX;
    assert_eq!(quotas(&policy, &kernels[0]), [[all; 8], [0; 8]].concat());
}

/// Three kernels share eight slots, and each block adds an eighth of a kernel's best performance,
/// so (3, 3, 2) loses three quarters. Divided SMs leave a kernel a third of the SMs. The greatest
/// loss is 1.2 / 3 as printed, and 1.2 times two thirds if the percentage is relative to the loss
/// by division.
#[test]
fn the_greatest_loss_is_of_what_is_kept_or_of_what_is_lost() {
    let verdict = |loss_base| {
        let kernels = [kernel(0, 64, 28), kernel(1, 64, 28), kernel(2, 64, 28)];
        let mut bench = Bench::new(&kernels);
        let mut policy = WarpedSlicer::new(WarpedSlicerSettings {
            loss_base,
            ..Default::default()
        });
        bench.update(&mut policy);
        bench.run(&mut policy, 60_000, &|_, blocks| 100 * u64::from(blocks));
        let (_, verdict, blocks) = verdicts(&policy)[1].clone();
        (verdict, blocks)
    };
    assert_eq!(verdict(LossBase::ShareKept), (Verdict::Spatial, vec![]));
    let shared = (Verdict::Shared, vec![3, 3, 2]);
    assert_eq!(verdict(LossBase::ShareLost), shared);
}

/// A third kernel is profiled on its part of the SMs, without another warm-up. The others keep
/// their curves and continue. When one of them ends, the rest is partitioned anew at once.
#[test]
fn kernels_come_and_go() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28), kernel(2, 64, 28)];
    let mut bench = Bench::new(&kernels[..2]);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 30_000, &grows_or_peaks);
    bench.kernels = kernels.to_vec();
    bench.update(&mut policy);
    // The third kernel has 1 to 6 blocks on SMs 10 to 15, and none on the others.
    let third = quotas(&policy, &kernels[2]);
    assert_eq!(third, [&[0; 10][..], &[1, 2, 3, 4, 5, 6]].concat());
    assert_eq!(
        quotas(&policy, &kernels[0]),
        [[5; 10].as_slice(), &[0; 6]].concat()
    );
    bench.run(&mut policy, 41_000, &grows_or_peaks);
    let third = policy.decisions().last().expect("it decided").clone();
    // Six SMs sample up to eight blocks in two rounds. SMs are ready at the first check, 100 cycles
    // after the beginning of each round. Eight slots do not suffice for 60% of the best performance
    // of all three kernels.
    assert_eq!((third.at, third.verdict), (40_200, Verdict::Spatial));
    bench.kernels.remove(0);
    bench.update(&mut policy);
    let last = policy.decisions().last().expect("it decided");
    assert_eq!((last.at, last.verdict), (41_000, Verdict::Shared));
    assert_eq!(last.processes, [1, 2]);
    bench.kernels.remove(0);
    bench.update(&mut policy);
    assert_eq!(quotas(&policy, &kernels[2]), [u32::MAX; 16], "it is alone");
}

/// A kernel that is launched again is not sampled again.
#[test]
fn a_relaunch_is_no_news() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 30_000, &grows_or_peaks);
    let before = policy.decisions().len();
    bench.kernels[0].slot = KernelSlot(7);
    bench.update(&mut policy);
    assert_eq!(policy.decisions().len(), before);
    assert_eq!(quotas(&policy, &bench.kernels[0]), [5; 16]);
}

/// A kernel with half its IPC in two successive intervals is sampled again, alone on its SMs.
#[test]
fn a_new_phase_is_profiled() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 60_000, &grows_or_peaks);
    assert_eq!(policy.decisions().len(), 2, "nothing changes");
    let slower = |process, blocks| match process {
        0 => grows_or_peaks(0, blocks) / 3,
        _ => grows_or_peaks(1, blocks),
    };
    bench.run(&mut policy, 70_001, &slower);
    let (at, verdict, _) = verdicts(&policy)[2].clone();
    assert_eq!((at, verdict), (70_000, Verdict::Profile));
    let ladder: Vec<u32> = (1..=8).collect();
    assert_eq!(
        quotas(&policy, &kernels[0]),
        [&ladder[..], &[5; 8]].concat()
    );
    assert_eq!(quotas(&policy, &kernels[1]), [[0; 8], [3; 8]].concat());
    bench.run(&mut policy, 80_000, &slower);
    assert_eq!(verdicts(&policy)[3].1, Verdict::Shared);
}

/// Idle SMs at the end of a grid are no new phase.
#[test]
fn the_end_of_a_grid_is_no_new_phase() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 60_000, &grows_or_peaks);
    bench.kernels[0].waits = false;
    bench.run(&mut policy, 90_000, &|process, blocks| match process {
        0 => 0,
        _ => grows_or_peaks(1, blocks),
    });
    assert_eq!(policy.decisions().len(), 2);
}

/// A sample begins after 20,000 cycles although an SM still holds a block of another kernel. It
/// does not count that SM, whose number of blocks is interpolated.
#[test]
fn an_sm_that_holds_another_kernel_is_left_out() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    bench.stuck = vec![(3, kernels[1].slot)];
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 46_000, &grows_or_peaks);
    let last = policy.decisions().last().expect("it decided");
    assert_eq!((last.at, last.verdict), (45_000, Verdict::Shared));
    let curve = &last.curves[0];
    let line = (curve[2] + curve[4]) / 2.0;
    assert!((curve[3] - line).abs() < 1e-12, "{curve:?}");
}

/// A kernel is sampled once its SMs have no blocks of other kernels, however long that takes.
#[test]
fn a_kernel_that_could_not_be_sampled_is_sampled_later() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    bench.stuck = (8..16).map(|sm| (sm, kernels[0].slot)).collect();
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 100_000, &grows_or_peaks);
    assert_eq!(policy.decisions().len(), 1, "only that a profile began");
    bench.stuck.clear();
    bench.run(&mut policy, 130_000, &grows_or_peaks);
    let (_, verdict, blocks) = verdicts(&policy)[1].clone();
    assert_eq!((verdict, blocks), (Verdict::Shared, vec![5, 3]));
}

/// With fewer SMs than kernels one kernel has no SM to be sampled on, so the SMs are divided. The
/// kernel is sampled when there are fewer kernels.
#[test]
fn a_kernel_without_sms_is_not_taken_for_known() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28), kernel(2, 64, 28)];
    let mut bench = Bench::new(&kernels);
    bench.spec.gpu.sms = 2;
    bench.sms.truncate(2);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 200_000, &grows_or_peaks);
    assert_eq!(verdicts(&policy)[1].1, Verdict::Spatial);
    bench.kernels.remove(2);
    bench.update(&mut policy);
    assert_eq!(verdicts(&policy)[2].1, Verdict::Profile);
}

/// The warm-up precedes the first profile only, also if a kernel arrives during it.
#[test]
fn an_arrival_does_not_begin_the_warm_up_anew() {
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28), kernel(2, 64, 28)];
    let mut bench = Bench::new(&kernels[..2]);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 15_000, &grows_or_peaks);
    bench.kernels = kernels.to_vec();
    bench.update(&mut policy);
    bench.run(&mut policy, 40_000, &grows_or_peaks);
    // There are two rounds of 5,000 cycles, and a check after 100 cycles before the second.
    assert_eq!(verdicts(&policy)[2].0, 30_100);
}

/// The curve of a small grid does not serve for a larger one, which is sampled again.
#[test]
fn a_larger_grid_is_sampled_anew() {
    let mut kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    kernels[0].blocks_per_sm = 2;
    let mut bench = Bench::new(&kernels);
    let mut policy = slicer();
    bench.update(&mut policy);
    bench.run(&mut policy, 30_000, &grows_or_peaks);
    let other = bench.kernels.remove(0);
    bench.update(&mut policy);
    bench.kernels.insert(
        0,
        KernelView {
            blocks_per_sm: 8,
            ..other
        },
    );
    bench.update(&mut policy);
    bench.run(&mut policy, 40_000, &grows_or_peaks);
    let last = policy.decisions().last().expect("it decided");
    assert_eq!((last.verdict, last.curves[0].len()), (Verdict::Shared, 8));
}

/// Several rounds give one curve: half of the SMs, which sample two numbers of blocks each, give
/// the same curve as all.
#[test]
fn rounds_make_one_curve() {
    let curves = |sms: u32| {
        let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
        let mut bench = Bench::new(&kernels);
        bench.spec.gpu.sms = sms;
        bench.sms.truncate(sms as usize);
        let mut policy = slicer();
        bench.update(&mut policy);
        bench.run(&mut policy, 40_000, &grows_or_peaks);
        policy.decisions()[1].curves.clone()
    };
    for (one, two) in curves(16).iter().flatten().zip(curves(8).iter().flatten()) {
        assert!((one - two).abs() < 1e-12);
    }
}

/// The quotas of the profile stay until the time that the algorithm takes has passed.
#[test]
fn the_algorithm_may_take_time() {
    let settings = WarpedSlicerSettings {
        delay_cycles: 5000,
        ..as_printed()
    };
    let kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    let mut bench = Bench::new(&kernels);
    let mut policy = WarpedSlicer::new(settings);
    bench.update(&mut policy);
    bench.run(&mut policy, 29_999, &grows_or_peaks);
    assert_eq!(policy.decisions().len(), 1);
    assert_eq!(policy.quota(SmId(4), kernels[0].slot), 5);
    bench.run(&mut policy, 30_001, &grows_or_peaks);
    assert_eq!(verdicts(&policy)[1].0, 30_000);
}

/// A large SM holds 32 blocks of 64 threads. The eight SMs of a kernel sample four numbers of
/// blocks each, in ascending order, so that no block has to end in between.
#[test]
fn more_counts_than_sms_take_turns() {
    let large = preset("fermi-slicer-large").unwrap_or_else(|errors| panic!("{errors}"));
    let needs = BlockNeeds::new(64, 28, 0, &large.sm);
    let mut kernels = [kernel(0, 64, 28), kernel(1, 64, 28)];
    for kernel in &mut kernels {
        kernel.blocks_per_sm = needs.blocks_per_sm(1 << 20, &large.sm, &large.gpu).0;
    }
    assert_eq!(kernels[0].blocks_per_sm, 32);
    let mut bench = Bench::new(&kernels);
    bench.spec = large;
    let mut policy = slicer();
    bench.update(&mut policy);
    let mut seen = Vec::new();
    for to in [20_001, 25_101, 30_201, 35_301] {
        bench.run(&mut policy, to, &grows_or_peaks);
        seen.push(policy.quota(SmId(2), kernels[0].slot));
    }
    assert_eq!(seen, [3, 11, 19, 27]);
    bench.run(&mut policy, 41_000, &grows_or_peaks);
    let last = policy.decisions().last().expect("it decided");
    assert_eq!(last.verdict, Verdict::Shared);
    assert_eq!(last.curves[0].len(), 32);
}

/// `exclusive` has no quotas, but keeps blocks of different kernels on different SMs.
#[test]
fn kernels_join_others_but_under_exclusive() {
    let (kernel, held) = (KernelSlot(1), KernelSlot(0));
    assert!(!Exclusive.may_join(kernel, held) && !Exclusive.may_join(held, kernel));
    assert_eq!(Exclusive.quota(SmId(0), kernel), u32::MAX);
    assert!(LeftOver.may_join(kernel, held));
    assert!(Exclusive.overtakes() && !LeftOver.overtakes());
}
