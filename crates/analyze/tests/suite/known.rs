//! Results made by hand, whose utilisations follow from the paper's definitions by arithmetic.

use crate::support::{launch, run};
use std::collections::BTreeMap;
use warploom_analyze::{Analysis, Category, LoadClass, Machine, Part, analyze};
use warploom_config::{GpuSpec, preset};
use warploom_stats::result::*;

fn gpu() -> GpuSpec {
    preset("maxwell-duet").unwrap_or_else(|errors| panic!("{errors}"))
}

/// Counts of 10,000 core cycles on `maxwell-duet`: 16 SMs of 4 schedulers at 1000 MHz; network, L2
/// and DRAM at 1200 MHz, so 12,000 cycles of each; 16 ports, banks and channels.
fn counts() -> Counts {
    [
        ("gpu.cycles", 10_000),
        // 16 x 4 x 10,000 slots: 30%.
        ("sm.warp_instructions", 192_000),
        ("sm.thread_instructions", 192_000 * 32),
        // A cycle each, of 16 x 10,000: 4%.
        ("l1d.data_port_hits", 6_400),
        ("l1d.data_port_busy", 9_999),
        // Of 16 x 12,000: 25%.
        ("l2.data_port_hits", 48_000),
        // 16 wires x 12,000 cycles x 0.6 sustain 115,200 flits: 10% and 95%.
        ("noc_to_l2.cycles", 12_000),
        ("noc_to_l2.flits", 11_520),
        ("noc_to_sm.cycles", 12_000),
        ("noc_to_sm.flits", 109_440),
        // Cycles are summed over channels: 40%.
        ("dram.cycles", 192_000),
        ("dram.data_cycles", 76_800),
        // 16 SMs x 16 banks x 10,000: 12.5%.
        ("sm.register_reads", 320_000),
        // 8,000 accesses and 8,000 cycles of conflicts, of 16 x 10,000: 10%.
        ("sm.shared_instructions", 8_000),
        ("sm.shared_conflict_cycles", 8_000),
        ("sm.active_cycles", 160_000),
        ("sm.resident_warp_cycles", 160_000 * 30),
        ("sm.slots.issued", 3),
        ("sm.slots.memory_dependence", 7),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

fn figures(cycles: u64, statistics: Counts) -> Figures {
    Figures {
        cycles,
        thread_instructions: 1000,
        ipc: 1000.0 / cycles as f64,
        stalls: shares([("issued", 3), ("memory_dependence", 7)]),
        statistics,
        ..Figures::default()
    }
}

fn analysis_of(report: &RunReport) -> Analysis {
    analyze(&Machine::new(&gpu(), 0.6), report).expect("it was timed")
}

fn one() -> Analysis {
    let figures = figures(10_000, counts());
    analysis_of(&run(vec![launch("k", figures.clone())], figures, None))
}

fn near(ours: f64, expected: f64) {
    assert!((ours - expected).abs() < 1e-9, "{ours} is not {expected}");
}

#[test]
fn utilisations_follow_from_their_definitions() {
    let used = one().whole.utilisation;
    let expected = [0.30, 0.04, 0.25, 0.10, 0.95, 0.40];
    for (part, expected) in Part::ALL.into_iter().zip(expected) {
        near(used.of(part), expected);
    }
    near(used.registers, 0.125);
    near(used.shared, 0.10);
}

#[test]
fn throughputs_are_shares_of_the_tables_bandwidths() {
    let moved = one().whole.throughput;
    // Table 1: 614 GB/s a direction, of which 60% are sustained; 307 GB/s of DRAM.
    near(moved.noc_to_sm.peak_gb_per_s, 614.4);
    near(moved.noc_to_sm.sustainable_gb_per_s, 614.4 * 0.6);
    near(moved.noc_to_sm.used_gb_per_s, 614.4 * 0.6 * 0.95);
    near(moved.dram.used_gb_per_s, 307.2 * 0.4);
    // 128 bytes a cycle and SM; 32 a cycle and bank.
    near(moved.l1d.peak_gb_per_s, 16.0 * 128.0);
    near(moved.l2.peak_gb_per_s, 16.0 * 32.0 * 1.2);
}

#[test]
fn the_network_bounds_it_and_more_warps_would_queue_there() {
    let Analysis { whole, kernels, .. } = one();
    assert_eq!(
        (whole.category, whole.class),
        (Category::L2ToSm, LoadClass::Saturated)
    );
    assert!(kernels.is_empty(), "one kernel is the whole");
    assert_eq!(whole.occupancy_limit, "registers");
    let told = &whole.advice;
    let bound = "The network from L2 to the SMs bounds `k`: 350 of the 369 GB/s";
    assert!(told[0].starts_with(bound), "{told:?}");
    assert!(told[1].contains("(noc.flit_bytes is 32)"), "{told:?}");
    let more = "More warps would not help: they would queue at the network from L2";
    assert!(told[3].starts_with(more), "{told:?}");
    // 65,536 registers for 7 blocks of 256 threads: 36.6 a thread, granted in fours.
    assert!(told[4].contains("7 blocks fit with 36 registers a thread instead of 40"));
}

#[test]
fn occupancy_counts_the_room_of_each_resource() {
    let of = one().whole.occupancy;
    assert_eq!((of.warps_per_block, of.warp_slots), (8, 64));
    near(of.theoretical, 0.75);
    near(of.resident_warps, 30.0);
    let rooms: Vec<_> = of.rooms.iter().map(|r| (r.resource, r.blocks)).collect();
    let expected = [
        ("threads", Some(8)),
        ("shared-memory", None),
        ("registers", Some(6)),
        ("block-slots", Some(32)),
    ];
    assert_eq!(rooms, expected);
}

#[test]
fn no_count_makes_more_than_one() {
    let mut full = counts();
    for (name, count) in &mut full {
        if !name.ends_with(".cycles") {
            *count *= 1000;
        }
    }
    let figures = figures(10_000, full);
    let used = analysis_of(&run(vec![launch("k", figures.clone())], figures, None));
    for part in Part::ALL {
        assert_eq!(used.whole.utilisation.of(part), 1.0, "{part:?}");
    }
}

#[test]
fn kernels_are_told_apart_by_name() {
    let busy = figures(10_000, counts());
    let idle = figures(2_000, [("gpu.cycles".to_owned(), 2_000)].into());
    let kernels = vec![
        launch("busy", busy.clone()),
        launch("idle", idle.clone()),
        launch("busy", busy),
    ];
    let mut all = counts();
    for count in all.values_mut() {
        *count *= 2;
    }
    *all.get_mut("gpu.cycles").expect("it is there") += 2_000;
    let analysis = analysis_of(&run(kernels, figures(22_000, all), None));
    let names: Vec<_> = analysis
        .kernels
        .iter()
        .map(|k| (k.kernel.as_str(), k.launches))
        .collect();
    assert_eq!(names, [("busy", 2), ("idle", 1)]);
    near(analysis.kernels[0].utilisation.dram, 0.4);
    assert_eq!(analysis.kernels[1].category, Category::Underutilised);
    assert_eq!(analysis.whole.kernel, "busy");
    near(analysis.whole.utilisation.scheduler, 0.3 * 20.0 / 22.0);
}

#[test]
fn windows_weighted_by_their_length_make_the_whole() {
    // Three quarters of everything in the first window of 8,000 cycles, the rest in 2,000.
    let part = |of: fn(u64) -> u64| {
        let column = |(name, all): (String, u64)| {
            let first = match name.ends_with(".cycles") {
                true => all * 8 / 10,
                false => of(all),
            };
            (name, vec![first, all - first])
        };
        counts().into_iter().map(column).collect()
    };
    let series = Series {
        window_cycles: 8_000,
        start: vec![0, 8_000],
        end: vec![8_000, 10_000],
        columns: part(|all| all * 3 / 4),
        watts: BTreeMap::new(),
    };
    let whole = figures(10_000, counts());
    let analysis = analysis_of(&run(vec![launch("k", whole.clone())], whole, Some(series)));
    let windows = analysis.windows.expect("they were recorded");
    for part in Part::ALL {
        let [first, last] = [0, 1].map(|w: usize| windows.utilisation[w].of(part));
        if part == Part::NocToSm {
            // 0.95 x 0.75 / 0.8; and 0.95 x 0.25 / 0.2 is more than all.
            near(first, 0.890625);
            assert_eq!(last, 1.0);
        } else {
            near(
                first * 0.8 + last * 0.2,
                analysis.whole.utilisation.of(part),
            );
        }
    }
    assert_eq!(windows.class, [LoadClass::Moderate, LoadClass::Saturated]);
}

#[test]
fn nothing_timed_is_nothing_analysed() {
    let empty = run(Vec::new(), Figures::default(), None);
    assert!(analyze(&Machine::new(&gpu(), 0.6), &empty).is_none());
    let untimed = run(
        vec![launch("k", Figures::default())],
        Figures::default(),
        None,
    );
    assert!(analyze(&Machine::new(&gpu(), 0.6), &untimed).is_none());
}

#[test]
fn keys_that_stay_are_where_they_are_documented() {
    let json = serde_json::to_value(one()).expect("string keys only");
    for path in [
        "/utilisation/scheduler",
        "/utilisation/l1d",
        "/utilisation/l2",
        "/utilisation/noc_to_l2",
        "/utilisation/noc_to_sm",
        "/utilisation/dram",
        "/bound",
        "/category",
        "/class",
        "/occupancy_limit",
        "/advice/0",
    ] {
        assert!(json.pointer(path).is_some(), "{path} is missing");
    }
    assert_eq!(json["bound"], Category::L2ToSm.name());
    assert_eq!(json["category"], Category::L2ToSm.name());
    assert_eq!(json["class"], LoadClass::Saturated.name());
}
