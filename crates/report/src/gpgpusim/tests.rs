//! A small run whose counters are all different.

use super::gpgpusim_report;
use warploom_base::Dim3;
use warploom_stats::result::*;

fn counts(list: &[(&str, u64)]) -> Counts {
    list.iter()
        .map(|(name, n)| ((*name).to_owned(), *n))
        .collect()
}

fn figures(times: u64) -> Figures {
    let sm = counts(&[
        ("l1d.accesses.hit.global_read", 30 * times),
        ("l1d.accesses.miss.global_read", 9 * times),
        ("l1d.accesses.reservation_fail.global_read", 4 * times),
        ("l1d.fails.global_read.miss_queue_full", 4 * times),
        ("sm.issued_by_lanes.w32", 64 * times),
        ("sm.active_cycles", 100 * times),
        ("sm.resident_warp_cycles", 1200 * times),
        ("sm.ldst_stalls.global_load.reservation", 5 * times),
        ("sm.ldst_stalls.local_store.bank_conflict", 6 * times),
        ("sm.fetches", 8 * times),
        ("sm.fetch_cycles", 1604 * times),
        ("sm.fetch_cycles_max", 300),
        ("sm.fetches_by_cycles.from_128", 8 * times),
        ("sm.flits_sent", 12 * times),
    ]);
    let bank = counts(&[
        ("l2.accesses.hit.global_read", 3 * times),
        ("l2.accesses.sector_miss.global_atomic", 2 * times),
        ("l2.data_port_busy", 25 * times),
        ("partition.cycles", 100 * times),
        ("partition.replies", 5 * times),
    ]);
    let channel = counts(&[
        ("dram.cycles", 132 * times),
        ("dram.idle_commands", 120 * times),
        ("dram.activates", 4 * times),
        ("dram.precharges", 3 * times),
        ("dram.reads", 6 * times),
        ("dram.data_cycles", 12 * times),
        ("dram.active_cycles", 40 * times),
        ("dram.row_hits", 2 * times),
        ("dram.row_misses", 4 * times),
        ("dram.row_hits_read", 2 * times),
        ("dram.row_misses_read", 4 * times),
        ("dram.queue_max", 7),
        ("dram.queue_occupancy", 33 * times),
    ]);
    let mut statistics = Counts::new();
    for part in [&sm, &bank, &channel] {
        accumulate(&mut statistics, part);
    }
    Figures {
        cycles: 100 * times,
        thread_instructions: 2048 * times,
        statistics,
        parts: Some(Parts {
            sms: vec![sm],
            banks: vec![bank],
            channels: vec![channel],
        }),
        ..Figures::default()
    }
}

fn kernel(name: &str, times: u64) -> KernelReport {
    KernelReport {
        name: name.into(),
        grid: Dim3::linear(1).into(),
        block: Dim3::linear(64).into(),
        registers_per_thread: 8,
        shared_bytes: 0,
        blocks_per_sm: 1,
        occupancy_limit: "grid".into(),
        context_registers: None,
        context: None,
        figures: figures(times),
    }
}

fn run() -> RunReport {
    let number = ConfigValue::Integer;
    let config = [
        ("clocks.core_mhz", number(700)),
        ("clocks.noc_mhz", number(700)),
        ("sm.max_threads", number(1536)),
        ("l1d.enabled", ConfigValue::Bool(true)),
        ("l2.enabled", ConfigValue::Bool(true)),
        ("dram.banks", number(16)),
        ("dram.bus_bytes", number(4)),
        ("dram.burst_length", number(8)),
        ("dram.timing.cl", number(12)),
        ("dram.timing.rrd", number(6)),
        ("dram.timing.ccd", number(2)),
        ("dram.timing.rcd", number(12)),
        ("dram.timing.ras", number(28)),
        ("dram.timing.rp", number(12)),
        ("dram.timing.rc", number(40)),
        ("dram.scheduler", ConfigValue::Text("fr-fcfs".into())),
        ("noc.kind", ConfigValue::Text("local-crossbar".into())),
    ];
    RunReport {
        program: Program {
            name: "warploom".into(),
            version: "0.1.0".into(),
        },
        command: "warploom run two".into(),
        gpu: Gpu {
            name: "small".into(),
            config: config.map(|(key, value)| (key.to_owned(), value)).into(),
        },
        config_digest: String::new(),
        input_digest: String::new(),
        outcome: Outcome::Finished,
        kernels: vec![kernel("first", 1), kernel("second", 2)],
        totals: Totals::default(),
        wall_seconds: 3725.5,
        cycles_per_second: 0.0,
        warp_instructions_per_second: 0.0,
        series: None,
        sm_filter_checks: Vec::new(),
        checks: Vec::new(),
        findings: Vec::new(),
        digest: String::new(),
    }
}

#[test]
fn two_kernels() {
    insta::assert_snapshot!(gpgpusim_report(&run()));
}

/// The value of the `n`th line that begins with `name`.
fn value<'a>(text: &'a str, name: &str, n: usize) -> &'a str {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines
        .nth(n)
        .unwrap_or_else(|| panic!("{name} is not printed {n} times"))
}

#[test]
fn counters_of_the_run_add_up_and_those_of_a_kernel_do_not() {
    let text = gpgpusim_report(&run());
    assert_eq!(value(&text, "gpu_sim_cycle = ", 1), "200");
    assert_eq!(value(&text, "gpu_tot_sim_cycle = ", 1), "300");
    assert_eq!(value(&text, "maxmflatency = ", 1), "300 ");
    assert_eq!(value(&text, "averagemflatency = ", 1), "200 ");
    // 12 of 48 warp slots.
    assert_eq!(value(&text, "gpu_occupancy = ", 1), "25.0000% ");
    // 15 replies of 32 bytes in 300 cycles of 1/700 us.
    let bandwidth = format!("{:12.4} GB/Sec", 15.0 * 32.0 / (300.0 / 0.7));
    assert_eq!(value(&text, "L2_BW_total  = ", 1), bandwidth);
    let reads = "\tL2_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS] = ";
    assert_eq!(value(&text, reads, 1), "15");
    assert_eq!(
        value(&text, "gpgpu_stall_shd_mem[gl_mem][resource_stall] = ", 1),
        "33"
    );
}

#[test]
fn a_run_that_failed_has_no_end() {
    let mut failed = run();
    failed.outcome = Outcome::Fault {
        message: String::new(),
    };
    assert!(!gpgpusim_report(&failed).contains("exit detected"));
}
