//! Tests with a small run whose counters are all different.

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
        ("sm.blocks_finished", times),
        ("sm_detail.issues.single.ws0", 40 * times),
        ("sm_detail.issues.dual.ws1", 12 * times),
        ("sm_detail.issued_by_slot.slot_0", 31 * times),
        ("sm_detail.issued_by_slot.slot_3", 33 * times),
        ("sm_detail.requests.global_read.bytes_8", 9 * times),
        ("sm_detail.requests.global_write.bytes_40", 2 * times),
        ("sm_detail.requests.global_write.bytes_136", times),
        ("sm_detail.replies.global_read.bytes_40", 9 * times),
        ("sm_detail.return_cycles", 88 * times),
        ("sm_detail.return_cycles_max", 21),
        ("sm_detail.returns_by_cycles.from_8", 8 * times),
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
        ("dram_detail.busy_banks", 60 * times),
        ("dram_detail.busy_cycles", 40 * times),
        ("dram_detail.open_banks", 30 * times),
        ("dram_detail.open_groups", 27 * times),
        ("dram_detail.open_cycles", 24 * times),
        ("dram_detail.write_shares", (6 << 20) * times),
        ("dram_detail.ready_banks", 13 * times),
        ("dram_detail.ready_cycles", 12 * times),
        ("dram_detail.bus.used", 24 * times),
        ("dram_detail.bus.column_wait", 14 * times),
        ("dram_detail.bus.row_wait", 4 * times),
        ("dram_detail.bus.idle", 90 * times),
        ("dram_detail.column_waits.rcd", 11 * times),
        ("dram_detail.column_waits.rtw_alone", 2 * times),
        ("dram_detail.reads.bank_0", 4 * times),
        ("dram_detail.reads.bank_1", 2 * times),
        ("dram_detail.request_cycles.bank_0", 40 * times),
        ("dram_detail.requests.bank_0", 4 * times),
        ("dram_detail.row_changes.bank_0", 3 * times),
        ("dram_detail.row_requests_max.bank_0", 2),
        ("dram_detail.row_cycles_max.bank_0", 70),
    ]);
    let network = |times| {
        counts(&[
            ("noc_detail.active_cycles", 20 * times),
            ("noc_detail.input_packet_cycles", 50 * times),
            ("noc_detail.output_packet_cycles", 25 * times),
            ("noc_detail.full_output_cycles", 10 * times),
        ])
    };
    let mut statistics = Counts::new();
    for part in [&sm, &bank, &channel] {
        accumulate(&mut statistics, part);
    }
    // These counters are in results by part only.
    statistics.retain(|name, _| !name.contains("_detail."));
    for network in ["noc_to_l2", "noc_to_sm"] {
        for (what, count) in [("cycles", 100), ("packets", 30), ("flits", 30)] {
            statistics.insert(format!("{network}.{what}"), count * times);
        }
    }
    Figures {
        cycles: 100 * times,
        thread_instructions: 2048 * times,
        statistics,
        parts: Some(Parts {
            sms: vec![sm],
            banks: vec![bank],
            channels: vec![channel],
            networks: vec![network(times), network(2 * times)],
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
        concurrent: None,
        sample: None,
    }
}

fn run() -> RunReport {
    let number = ConfigValue::Integer;
    let config = [
        ("clocks.core_mhz", number(700)),
        ("clocks.noc_mhz", number(700)),
        ("sm.max_threads", number(1536)),
        ("sm.schedulers", number(2)),
        ("gpu.sms", number(1)),
        ("gpu.sms_per_cluster", number(1)),
        ("gpu.channels", number(1)),
        ("gpu.sub_partitions_per_channel", number(2)),
        ("l1d.enabled", ConfigValue::Bool(true)),
        ("l2.enabled", ConfigValue::Bool(true)),
        ("dram.banks", number(2)),
        ("dram.queue", number(4)),
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
        processes: Vec::new(),
        decisions: Vec::new(),
        sampling: None,
        fork: None,
        mix: None,
        sm_filter_checks: Vec::new(),
        sharing: None,
        checks: Vec::new(),
        findings: Vec::new(),
        digest_set: 2,
        digest: String::new(),
    }
}

#[test]
fn two_kernels() {
    insta::assert_snapshot!(gpgpusim_report(&run()));
}

/// Value in the `n`th line that begins with `name`.
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
    // The kernel occupies 12 of 48 warp slots.
    assert_eq!(value(&text, "gpu_occupancy = ", 1), "25.0000% ");
    // There are 15 replies of 32 bytes in 300 cycles of 1/700 us.
    let bandwidth = format!("{:12.4} GB/Sec", 15.0 * 32.0 / (300.0 / 0.7));
    assert_eq!(value(&text, "L2_BW_total  = ", 1), bandwidth);
    let reads = "\tL2_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS] = ";
    assert_eq!(value(&text, reads, 1), "15");
    assert_eq!(
        value(&text, "gpgpu_stall_shd_mem[gl_mem][resource_stall] = ", 1),
        "33"
    );
}

/// Counters that results contain by part only are summed.
#[test]
fn details_are_summed_over_parts_and_kernels() {
    let text = gpgpusim_report(&run());
    let last = |name: &str| value(&text, name, 1).to_owned();
    assert_eq!(last("single_issue_nums: "), "WS0:120\tWS1:0\t");
    assert_eq!(last("dual_issue_nums: "), "WS0:0\tWS1:36\t");
    let writes = "traffic_breakdown_coretomem[GLOBAL_ACC_W] = ";
    assert_eq!(
        last(writes),
        format!("{} {{40:6,136:3,}}", 6 * 40 + 3 * 136)
    );
    assert_eq!(last("max_icnt2sh_latency = "), "21 ");
    assert_eq!(last("avg_icnt2sh_latency = "), "11 ");
    // There are 60 bank cycles in 40 cycles with a request; a quarter of the open banks' cycles are
    // writes.
    assert_eq!(last("Bank_Level_Parallism = "), "1.500000");
    assert_eq!(last("write_to_read_ratio_blp_rw_average = "), "0.250000");
    assert_eq!(last("bk0: "), "12a 276i bk1: 6a 396i ");
    assert_eq!(last("bank skew: "), "12/6 = 2.00");
    assert_eq!(last("total dram reads = "), "18");
    assert_eq!(last("Wasted_Row = "), "12 ");
    // There are 50 packets at one input in 100 cycles, and 25 at two outputs.
    let number = |value: f64| format!("{value:12.4}");
    assert_eq!(last("Req_Network_in_buffer_avg_util = "), number(0.5));
    assert_eq!(last("Req_Network_out_buffer_avg_util = "), number(0.125));
    assert_eq!(last("Reply_Network_in_buffer_avg_util = "), number(0.5));
}

#[test]
fn a_run_that_failed_has_no_end() {
    let mut failed = run();
    failed.outcome = Outcome::Fault {
        message: String::new(),
    };
    assert!(!gpgpusim_report(&failed).contains("exit detected"));
}
