//! Tests of the schema.

use super::*;

fn report() -> RunReport {
    let figures = Figures {
        cycles: 100,
        warp_instructions: 50,
        thread_instructions: 1600,
        ipc: 16.0,
        l1d: CacheFigures::new(3, 4),
        l2: CacheFigures::new(0, 0),
        dram: DramFigures::new(1, 2),
        contention: ContentionFigures::new(30, 150, 100),
        hot_banks: Some(HotBanks {
            of_banks: 64,
            banks: 4,
            ..HotBanks::default()
        }),
        block_times: Some(BlockTimes::default()),
        stalls: shares([("issued", 1), ("scoreboard", 3)]),
        statistics: [("sm.cycles".to_owned(), 100)].into(),
        energy: None,
        parts: None,
    };
    RunReport {
        program: Program {
            name: "warploom".into(),
            version: "0.1.0".into(),
        },
        command: "warploom run vectoradd".into(),
        gpu: Gpu {
            name: "gtx480".into(),
            config: [("gpu.sms".to_owned(), ConfigValue::Integer(15))].into(),
        },
        config_digest: "00".into(),
        input_digest: "01".into(),
        outcome: Outcome::Finished,
        kernels: vec![KernelReport {
            name: "vectorAdd".into(),
            grid: Dim3::new(4, 2, 1).into(),
            block: Dim3::linear(256).into(),
            registers_per_thread: 8,
            shared_bytes: 0,
            blocks_per_sm: 6,
            occupancy_limit: "threads".into(),
            context_registers: None,
            context: None,
            figures: figures.clone(),
            concurrent: None,
            sample: None,
        }],
        totals: Totals {
            launches: 1,
            figures,
            estimate: None,
        },
        wall_seconds: 0.5,
        cycles_per_second: 200.0,
        warp_instructions_per_second: 100.0,
        series: None,
        processes: Vec::new(),
        decisions: Vec::new(),
        sampling: None,
        fork: None,
        mix: None,
        sm_filter_checks: vec![SmFilterCheck {
            cycle: 1000,
            contention: 1.8,
            sms: 14,
        }],
        sharing: None,
        checks: vec![CheckReport {
            name: "c".into(),
            passed: true,
            detail: String::new(),
        }],
        findings: Vec::new(),
        digest_set: 2,
        digest: "02".into(),
    }
}

#[test]
fn keys_that_stay_are_where_they_are_documented() {
    let json = serde_json::to_value(report()).unwrap();
    for path in [
        "/program/version",
        "/command",
        "/gpu/name",
        "/config_digest",
        "/input_digest",
        "/kernels/0/name",
        "/kernels/0/grid/2",
        "/kernels/0/block/0",
        "/kernels/0/registers_per_thread",
        "/kernels/0/shared_bytes",
        "/kernels/0/blocks_per_sm",
        "/kernels/0/occupancy_limit",
        "/kernels/0/cycles",
        "/kernels/0/warp_instructions",
        "/kernels/0/thread_instructions",
        "/kernels/0/ipc",
        "/kernels/0/l1d/hit_rate",
        "/kernels/0/l2/hit_rate",
        "/kernels/0/dram/utilisation",
        "/kernels/0/contention/dram_full",
        "/kernels/0/contention/noc_to_sm",
        "/kernels/0/hot_banks/of_banks",
        "/kernels/0/block_times/longest",
        "/kernels/0/hot_banks/wait_cycles",
        "/sm_filter_checks/0/sms",
        "/kernels/0/stalls/scoreboard",
        "/totals/ipc",
        "/totals/stalls/issued",
        "/wall_seconds",
        "/cycles_per_second",
        "/warp_instructions_per_second",
        "/checks/0/name",
        "/checks/0/passed",
        "/digest_set",
        "/digest",
    ] {
        assert!(json.pointer(path).is_some(), "{path} is missing");
    }
    assert!(json.pointer("/kernels/0/l2/hit_rate").unwrap().is_null());
}

#[test]
fn a_report_reads_back_as_written() {
    let text = serde_json::to_string(&report()).unwrap();
    assert_eq!(serde_json::from_str::<RunReport>(&text).unwrap(), report());
}

#[test]
fn a_failed_check_or_a_deadlock_is_no_success() {
    assert!(report().succeeded());
    let mut failed = report();
    failed.checks[0].passed = false;
    assert!(!failed.succeeded());
    let mut stuck = report();
    stuck.outcome = Outcome::Deadlock {
        message: String::new(),
    };
    assert!(!stuck.succeeded());
    let mut cut = report();
    cut.outcome = Outcome::CycleLimit { cycles: 100 };
    assert!(cut.succeeded(), "the user asked for the limit");
    cut.outcome = Outcome::LaunchLimit { launches: 1 };
    assert!(cut.succeeded() && cut.outcome.is_limit());
    let mut stopped = report();
    stopped.outcome = Outcome::Interrupted {
        kernel: "vectorAdd".to_owned(),
        blocks_ended: 3,
        blocks: 8,
        waits: Vec::new(),
    };
    assert!(!stopped.succeeded(), "nobody asked for this part alone");
    let json = serde_json::to_value(&stopped).unwrap();
    assert_eq!(json.pointer("/outcome/kind").unwrap(), "interrupted");
    assert_eq!(json.pointer("/outcome/blocks_ended").unwrap(), 3);
    assert_eq!(json.pointer("/outcome/waits"), None);
}

#[test]
fn counts_add_up_and_peaks_do_not() {
    let mut sum: Counts = [("a.b".to_owned(), 1), ("a.c_max".to_owned(), 7)].into();
    let more = [("a.b".to_owned(), 2), ("a.c_max".to_owned(), 5)].into();
    accumulate(&mut sum, &more);
    assert_eq!(
        sum,
        [("a.b".to_owned(), 3), ("a.c_max".to_owned(), 7)].into()
    );
}

/// The banks of the launch with longer waits, of two, are told.
#[test]
fn hot_banks_of_launches_add_up() {
    let launch = |banks, wait_cycles| HotBanks {
        of_banks: 64,
        banks,
        wait_cycles,
        longest_wait_cycles: wait_cycles,
        packets: 10,
        ..HotBanks::default()
    };
    let all = launch(4, 90).and(launch(7, 20)).and(launch(9, 50));
    assert_eq!((all.of_banks, all.banks), (64, 4));
    assert_eq!((all.wait_cycles, all.packets), (160, 30));
}

#[test]
fn shares_sum_to_one() {
    let sum: f64 = shares([("a", 1), ("b", 1), ("c", 1)]).values().sum();
    assert!((sum - 1.0).abs() < 1e-12);
    assert!(shares([("a", 0)]).is_empty());
}

/// A run that was cut before its first instruction has started blocks or not.
#[test]
fn a_run_tells_what_had_begun() {
    let mut run = report();
    assert_eq!(run.begun(), Begun::Instructions);
    run.outcome = Outcome::CycleLimit { cycles: 20 };
    assert!(!run.is_cut_at_start());
    run.totals.figures.thread_instructions = 0;
    let counts = &mut run.totals.figures.statistics;
    counts.insert("sm.blocks_started".to_owned(), 8);
    assert_eq!((run.begun(), run.is_cut_at_start()), (Begun::Blocks, true));
    run.totals.figures.statistics.remove("sm.blocks_started");
    assert_eq!((run.begun(), run.is_cut_at_start()), (Begun::Nothing, true));
}

/// 90 blocks of six on each of 15 SMs are a wave.
#[test]
fn a_run_tells_how_many_blocks_and_waves_have_ended() {
    let launch = |grid: u32, ended: u64| {
        let mut kernel = report().kernels.remove(0);
        kernel.grid = Dim3::linear(grid).into();
        let counts = &mut kernel.figures.statistics;
        counts.insert("sm.blocks_finished".to_owned(), ended);
        counts.insert("sm.blocks_started".to_owned(), grid.min(360).into());
        kernel
    };
    let mut run = report();
    run.kernels = vec![launch(45, 45), launch(900, 270)];
    let expected = Reached {
        launches: 2,
        blocks_ended: 270,
        blocks: 900,
        wave: 90,
        waves: 3.5,
        running: 90,
        sms: 15,
    };
    assert_eq!(run.reached(), Some(expected));
    assert!(!expected.is_tail());
    run.kernels[1] = launch(300, 293);
    let tail = run.reached().unwrap();
    assert!(tail.running == 7 && tail.is_tail(), "{tail:?}");
    run.kernels[1] = launch(300, 292);
    assert!(
        !run.reached().unwrap().is_tail(),
        "eight of 15 SMs have a block"
    );
    run.kernels[1] = launch(7, 0);
    assert!(!run.reached().unwrap().is_tail(), "the grid is small");
    run.kernels[0].concurrent = Some(Concurrent {
        process: 0,
        stream: 1,
        launched_at: 0,
        started_at: 0,
        halted: false,
    });
    assert_eq!(run.reached(), None);
    run.kernels.clear();
    assert_eq!(run.reached(), None);
}
