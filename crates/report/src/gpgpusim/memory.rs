//! Lines of GPGPU-Sim's report on latencies, DRAM channels and networks.

use super::details::{Banks, Detail};
use super::line;
use super::tally::{Config, Tally, f, g, get as counter, single};
use std::fmt::Write;
use warploom_stats::LOG2_BINS;
use warploom_stats::result::{Counts, accumulate};

/// Writes latencies and their tables. Averages are in whole cycles. Three of the four are over the
/// replies that SMs received.
pub(super) fn latencies(text: &mut String, all: &Tally, config: Config<'_>) {
    let get = |name: &str| all.get(name);
    let mut put = |name: &str, value: u64| line(text, name, format!("{value} "));
    put("maxmflatency", get("sm.fetch_cycles_max"));
    put("max_icnt2mem_latency", get("partition.arrival_cycles_max"));
    put("maxmrqlatency", get("dram.wait_cycles_max"));
    let sms = &all.parts.sms;
    let back = |name: &'static str| {
        sms.iter()
            .map(move |c| counter(c, &format!("sm_detail.{name}")))
    };
    let longest = back("return_cycles_max").max().unwrap_or(0);
    put("max_icnt2sh_latency", longest);
    let fetches = get("sm.fetches");
    let since_split = get("sm.fetch_cycles").saturating_sub(get("partition.split_cycles"));
    if let Some(average) = since_split.checked_div(fetches) {
        put("averagemflatency", average);
        put(
            "avg_icnt2mem_latency",
            get("partition.arrival_cycles") / fetches,
        );
        let requests = get("dram.row_hits") + get("dram.row_misses");
        if let Some(average) = get("dram.wait_cycles").checked_div(requests) {
            put("avg_mrq_latency", average);
        }
        let all_back: u64 = back("return_cycles").sum();
        put("avg_icnt2sh_latency", all_back / fetches);
    }
    table(text, "mrq_lat_table", &all.whole, "dram.waits", 32);
    // GPGPU-Sim never increments this counter.
    table(text, "dq_lat_table", &Counts::new(), "", 32);
    table(text, "mf_lat_table", &all.whole, "sm.fetches_by_cycles", 32);
    let arrivals = "partition.packets_by_cycles";
    table(text, "icnt2mem_lat_table", &all.whole, arrivals, 24);
    let mut returns = Counts::new();
    sms.iter()
        .for_each(|counts| accumulate(&mut returns, counts));
    let name = "sm_detail.returns_by_cycles";
    table(text, "icnt2sh_lat_table", &returns, name, 24);
    let banks = Banks::new(all, config);
    banks.rows(text);
    let (hits, misses) = (get("dram.row_hits"), get("dram.row_misses"));
    let locality = f(single(hits + misses, misses), 0, 6);
    let _ = writeln!(
        text,
        "average row locality = {}/{misses} = {locality}",
        hits + misses
    );
    banks.accesses(text);
    banks.never_counted(text, config);
}

/// Writes a table of `columns` logarithmic bins. Our last bin contains all larger values.
fn table(text: &mut String, name: &str, counts: &Counts, ours: &str, columns: usize) {
    let _ = write!(text, "{name}:");
    for i in 0..columns {
        let count = LOG2_BINS
            .get(i)
            .map_or(0, |bin| counter(counts, &format!("{ours}.{bin}")));
        let _ = write!(text, "{count} \t");
    }
    text.push('\n');
}

/// Writes a block of lines for each channel.
pub(super) fn channels(text: &mut String, all: &Tally, config: Config<'_>) {
    for (i, counts) in all.parts.channels.iter().enumerate() {
        let _ = writeln!(text, "Memory Partition {i}: ");
        Channel { counts, config }.print(text, i);
    }
}

struct Channel<'a> {
    counts: &'a Counts,
    config: Config<'a>,
}

impl Channel<'_> {
    fn get(&self, name: &str) -> u64 {
        counter(self.counts, &format!("dram.{name}"))
    }

    fn print(&self, text: &mut String, index: usize) {
        self.header(text, index);
        self.commands(text);
        Detail(self.counts).banks(text, self.config);
        self.locality(text);
        Detail(self.counts).parallelism(text);
        self.details(text);
        self.buses(text);
        let average = single(self.get("queue_occupancy"), self.get("cycles"));
        let _ = writeln!(text, "queue_avg = {} \n\n", f(average, 0, 6));
        // GPGPU-Sim fills neither of them.
        let bins = " 0".repeat(10);
        let _ = writeln!(text, "dram_util_bins:{bins}\ndram_eff_bins:{bins}");
        if self.config.is("dram.scheduler", "fr-fcfs") {
            let most = self.get("queue_max");
            let _ = writeln!(text, "mrqq: max={most} avg={}", g(average, 6));
        }
    }

    fn header(&self, text: &mut String, index: usize) {
        let key = |name: &str| self.config.number(&format!("dram.{name}"));
        let _ = write!(
            text,
            "DRAM[{index}]: {} bks, busW={} BL={} CL={}, ",
            key("banks"),
            key("bus_bytes"),
            key("burst_length"),
            key("timing.cl")
        );
        let _ = writeln!(
            text,
            "tRRD={} tCCD={}, tRCD={} tRAS={} tRP={} tRC={}",
            key("timing.rrd"),
            key("timing.ccd"),
            key("timing.rcd"),
            key("timing.ras"),
            key("timing.rp"),
            key("timing.rc")
        );
    }

    fn commands(&self, text: &mut String) {
        // GPGPU-Sim does not model refresh: its count is always 0, too.
        let _ = writeln!(
            text,
            "n_cmd={} n_nop={} n_act={} n_pre={} n_ref_event=0 n_req={} n_rd={} n_rd_L2_A={} \
             n_write={} n_wr_bk={} bw_util={}",
            self.get("cycles"),
            self.get("idle_commands"),
            self.get("activates"),
            self.get("precharges"),
            self.get("requests"),
            self.get("reads"),
            self.get("allocate_reads"),
            self.get("writes"),
            self.get("write_backs"),
            g(single(self.get("data_cycles"), self.get("cycles")), 4),
        );
        let active = self.get("active_cycles");
        let efficiency = g(single(self.get("data_cycles"), active), 4);
        let _ = writeln!(text, "n_activity={active} dram_eff={efficiency}");
    }

    fn locality(&self, text: &mut String) {
        let (hits, misses) = (self.get("row_hits"), self.get("row_misses"));
        let (reads, read_misses) = (self.get("row_hits_read"), self.get("row_misses_read"));
        let share = |hits: u64, misses: u64| f(single(hits, hits + misses), 0, 6);
        let _ = writeln!(text, "\nRow_Buffer_Locality = {}", share(hits, misses));
        line(text, "Row_Buffer_Locality_read", share(reads, read_misses));
        let writes = share(hits - reads, misses - read_misses);
        line(text, "Row_Buffer_Locality_write", writes);
    }

    fn details(&self, text: &mut String) {
        let mut put = |name: &str, value: String| line(text, name, format!("{value} "));
        let cycles = self.get("cycles");
        let utilisation = single(self.get("data_cycles"), cycles);
        put("\nBW Util details:\nbwutil", f(utilisation, 0, 6));
        put("total_CMD", cycles.to_string());
        Detail(self.counts).bus(text);
        let mut put = |name: &str, value: String| line(text, name, format!("{value} "));
        put("\nCommands details: \ntotal_CMD", cycles.to_string());
        let columns = ["reads", "writes", "allocate_reads", "write_backs"];
        let total: u64 = columns.iter().map(|name| self.get(name)).sum();
        for (name, value) in [
            ("n_nop", self.get("idle_commands")),
            ("Read", self.get("reads")),
            ("Write", self.get("writes")),
            ("L2_Alloc", self.get("allocate_reads")),
            ("L2_WB", self.get("write_backs")),
            ("n_act", self.get("activates")),
            ("n_pre", self.get("precharges")),
            ("n_ref", 0),
            ("n_req", self.get("requests")),
            ("total_req", total),
        ] {
            put(name, value.to_string());
        }
    }

    fn buses(&self, text: &mut String) {
        let columns = ["reads", "writes", "allocate_reads", "write_backs"];
        let column: u64 = columns.iter().map(|name| self.get(name)).sum();
        let row = self.get("activates") + self.get("precharges");
        let cycles = self.get("cycles");
        let any = cycles - self.get("idle_commands");
        // A cycle has at most one command of each kind.
        let both = row + column - any;
        let _ = writeln!(text, "\nDual Bus Interface Util: ");
        line(text, "issued_total_row", format!("{row} "));
        line(text, "issued_total_col", format!("{column} "));
        for (name, part, whole) in [
            ("Row_Bus_Util = ", row, cycles),
            ("CoL_Bus_Util =", column, cycles),
            ("Either_Row_CoL_Bus_Util =", any, cycles),
            ("Issued_on_Two_Bus_Simul_Util =", both, cycles),
            ("issued_two_Eff =", both, any),
        ] {
            let _ = writeln!(text, "{name} {} ", f(single(part, whole), 0, 6));
        }
    }
}

/// Writes traffic, and the crossbar's own lines if the network is GPGPU-Sim's crossbar.
pub(super) fn network(text: &mut String, all: &Tally, config: Config<'_>) {
    let (down, up) = (all.get("sm.flits_sent"), all.get("sm.flits_received"));
    let _ = writeln!(text, "\nicnt_total_pkts_mem_to_simt={up}");
    let _ = writeln!(text, "icnt_total_pkts_simt_to_mem={down}");
    let kinds = ["local-crossbar", "turn-crossbar"];
    if !kinds.iter().any(|kind| config.is("noc.kind", kind)) {
        return;
    }
    let dashes = |before: usize, title: &str, after: usize| {
        format!("{}{title}{}\n", "-".repeat(before), "-".repeat(after))
    };
    text.push_str(&dashes(28, "Interconnect-DETAILS", 32));
    crossbar(text, "Req", all, config);
    text.push('\n');
    crossbar(text, "Reply", all, config);
    text.push_str(&dashes(28, "END-of-Interconnect-DETAILS", 25));
}

/// Writes one direction of the local crossbar. The number of requests that found no space is
/// unknown, because SMs use credits.
fn crossbar(text: &mut String, way: &str, all: &Tally, config: Config<'_>) {
    let is_reply = way == "Reply";
    let (ours, nth) = if is_reply {
        ("noc_to_sm", 1)
    } else {
        ("noc_to_l2", 0)
    };
    let get = |what: &str| all.get(&format!("{ours}.{what}"));
    let networks = &all.parts.networks;
    let detail = |what: &str| {
        let counts = networks.get(nth);
        counts.map_or(0, |c| counter(c, &format!("noc_detail.{what}")))
    };
    let mut put = |name: &str, value: String| line(text, &format!("{way}_{name}"), value);
    let cycles = get("cycles");
    put("Network_injected_packets_num", get("packets").to_string());
    put("Network_cycles", cycles.to_string());
    let number = |part: u64, whole: u64| f(single(part, whole), 12, 4);
    let (gap, end) = if is_reply { (" ", "") } else { ("", " ") };
    let packets = number(get("packets"), cycles);
    let name = "Network_injected_packets_per_cycle";
    put(name, format!("{gap}{packets}{end}"));
    let conflicts = number(get("conflicts"), cycles);
    put("Network_conflicts_per_cycle", format!("{gap}{conflicts}"));
    let active = detail("active_cycles");
    let name = "Network_conflicts_per_cycle_util";
    put(name, number(get("conflicts"), active));
    put("Bank_Level_Parallism", number(get("flits"), active));
    if is_reply {
        let refused = all.get("gpu.reply_stalls");
        put("Network_in_buffer_full_per_cycle", number(refused, cycles));
    }
    let key = |name: &str| config.number(&format!("gpu.{name}"));
    let clusters = key("sms") / key("sms_per_cluster");
    let banks = key("channels") * key("sub_partitions_per_channel");
    let (inputs, outputs) = if is_reply {
        (banks, clusters)
    } else {
        (clusters, banks)
    };
    let share = |packets: u64, ports: f64| f(single(packets, cycles) / ports, 12, 4);
    let at_inputs = share(detail("input_packet_cycles"), inputs);
    put("Network_in_buffer_avg_util", at_inputs);
    let full = number(detail("full_output_cycles"), cycles);
    put("Network_out_buffer_full_per_cycle", full);
    let at_outputs = share(detail("output_packet_cycles"), outputs);
    put("Network_out_buffer_avg_util", at_outputs);
}
