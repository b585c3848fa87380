//! Statistics in the format of GPGPU-Sim 4.2, for scripts that read its output.
//!
//! After every kernel come the lines that GPGPU-Sim prints, in its order, spacing and spelling,
//! computed from the result's counters. As in GPGPU-Sim, most counters are those of the run so far;
//! `gpu_sim_*`, `gpu_ipc`, `gpu_occupancy`, `partiton_level_parallism` and `L2_BW` are those of the
//! kernel. Lines with figures that are not counted here are omitted; `docs/gpgpusim-stats.md` lists
//! them. Sources of the formats: GPGPU-Sim 4.2, `gpu-sim.cc`, `shader.cc`, `gpu-cache.cc`,
//! `mem_latency_stat.cc`, `dram.cc`, `local_interconnect.cc`, `gpgpusim_entrypoint.cc`.

mod caches;
mod details;
mod memory;
mod tally;

use std::fmt::Write;
use tally::{Config, Tally, f, single};
use warploom_stats::result::{KernelReport, RunReport};

/// Size of a reply in bytes, as `L2_BW` counts it.
const REPLY_BYTES: u64 = 32;

/// A block of lines after every kernel, then the lines at the end of the run. `run` must contain
/// its counters by part.
pub fn gpgpusim_report(run: &RunReport) -> String {
    let mut text = String::new();
    let config = Config(&run.gpu.config);
    let mut so_far = Tally::default();
    for (i, kernel) in run.kernels.iter().enumerate() {
        so_far.add(&kernel.figures);
        let block = Block {
            kernel,
            uid: i + 1,
            so_far: &so_far,
            config,
        };
        block.print(&mut text);
    }
    end(&mut text, run, &so_far, config);
    text
}

/// Data for the lines after one kernel.
struct Block<'a> {
    kernel: &'a KernelReport,
    uid: usize,
    /// Counters of all kernels up to this one.
    so_far: &'a Tally,
    config: Config<'a>,
}

impl Block<'_> {
    fn print(&self, text: &mut String) {
        self.device(text);
        caches::core(text, self.so_far, self.config);
        details::slots(text, self.so_far);
        self.shader(text);
        self.issue(text);
        details::issues(text, self.so_far, self.config);
        details::traffic(text, self.so_far);
        memory::latencies(text, self.so_far, self.config);
        memory::channels(text, self.so_far, self.config);
        caches::l2(text, self.so_far, self.config);
        memory::network(text, self.so_far, self.config);
    }

    fn device(&self, text: &mut String) {
        let mut own = Tally::default();
        own.add(&self.kernel.figures);
        let all = self.so_far;
        line(text, "kernel_name", format!("{} ", self.kernel.name));
        line(text, "kernel_launch_uid", format!("{} ", self.uid));
        line(text, "kernel_stream_id", "0");
        line(text, "gpu_sim_cycle", own.cycles);
        line(text, "gpu_sim_insn", own.instructions);
        line(
            text,
            "gpu_ipc",
            f(single(own.instructions, own.cycles), 12, 4),
        );
        line(text, "gpu_tot_sim_cycle", all.cycles);
        line(text, "gpu_tot_sim_insn", all.instructions);
        line(
            text,
            "gpu_tot_ipc",
            f(single(all.instructions, all.cycles), 12, 4),
        );
        line(text, "gpu_tot_issued_cta", all.get("sm.blocks_started"));
        line(text, "gpu_occupancy", self.occupancy(&own));
        line(text, "gpu_tot_occupancy", self.occupancy(all));
        // Parameters of kernels that kernels launch, which are not supported.
        line(text, "max_total_param_size", 0);
        line(text, "gpu_stall_dramfull", all.get("gpu.dram_full_stalls"));
        line(text, "gpu_stall_icnt2sh   ", all.get("gpu.reply_stalls"));
        for (suffix, of) in [("", &own), ("_total ", all)] {
            let parallel = single(of.get("partition.packets"), of.cycles);
            let name = format!("partiton_level_parallism{suffix}");
            line(text, &name, f(parallel, 12, 4));
        }
        for (suffix, of) in [("", &own), ("_total ", all)] {
            let parallel = single(of.get("partition.packets"), of.get("gpu.arrival_cycles"));
            let name = format!("partiton_level_parallism_util{suffix}");
            line(text, &name, f(parallel, 12, 4));
        }
        line(text, "L2_BW ", self.l2_bandwidth(&own));
        line(text, "L2_BW_total ", self.l2_bandwidth(all));
    }

    /// Share of resident warps in warp slots, over cycles in which an SM has any.
    fn occupancy(&self, of: &Tally) -> String {
        let slots = (self.config.number("sm.max_threads") / 32.0) as u64;
        let filled = of.get("sm.resident_warp_cycles");
        let share = double_percent(filled, slots * of.get("sm.active_cycles"));
        format!("{}% ", f(share, 0, 4))
    }

    fn l2_bandwidth(&self, of: &Tally) -> String {
        let seconds = of.cycles as f64 / (self.config.number("clocks.core_mhz") * 1e6);
        let bytes = of.get("partition.replies") * REPLY_BYTES;
        format!("{} GB/Sec", f(bytes as f64 / seconds / 1e9, 12, 4))
    }

    fn shader(&self, text: &mut String) {
        let get = |name: &str| self.so_far.get(name);
        let sent = |kinds: &[&str]| -> u64 {
            let of = |kind: &&str| get(&format!("sm.packets_sent.{kind}"));
            kinds.iter().map(of).sum()
        };
        let lanes = |space: &str| get(&format!("sm.memory_lanes.{space}"));
        let shared = get("sm.shared_instructions") + get("sm.shared_conflict_cycles");
        let constant = ["reservation", "bank_conflict", "coalesce"];
        let rows = [
            ("gpgpu_n_tot_thrd_icount", get("sm.thread_instructions")),
            ("gpgpu_n_tot_w_icount", get("sm.warp_instructions")),
            ("gpgpu_n_stall_shd_mem", self.stalls(&STAGES, &STALLS)),
            ("gpgpu_n_mem_read_local", sent(&["local_read"])),
            ("gpgpu_n_mem_write_local", sent(&["local_write"])),
            (
                "gpgpu_n_mem_read_global",
                sent(&["global_read", "global_atomic"]),
            ),
            (
                "gpgpu_n_mem_write_global",
                sent(&["global_write", "l1_write_back"]),
            ),
            ("gpgpu_n_mem_texture", sent(&["texture_read"])),
            ("gpgpu_n_mem_const", sent(&["const_read"])),
            ("gpgpu_n_load_insn ", lanes("load")),
            ("gpgpu_n_store_insn", lanes("store")),
            ("gpgpu_n_shmem_insn", lanes("shared")),
            // PTX does not have this space, and GPGPU-Sim never counts such a merge.
            ("gpgpu_n_sstarr_insn", 0),
            ("gpgpu_n_tex_insn", lanes("texture")),
            ("gpgpu_n_const_mem_insn", lanes("constant")),
            ("gpgpu_n_param_mem_insn", lanes("param")),
            ("gpgpu_n_shmem_bkconflict", shared),
            (
                "gpgpu_n_l1cache_bkconflict",
                self.stalls(&DATA, &["bank_conflict"]),
            ),
            ("gpgpu_n_intrawarp_mshr_merge", 0),
            (
                "gpgpu_n_cmem_portconflict",
                self.stalls(&["constant"], &constant),
            ),
        ];
        rows.iter()
            .for_each(|(name, value)| line(text, name, value));
        let stall = |stage: &str, reason: &str| format!("gpgpu_stall_shd_mem[{stage}][{reason}]");
        let resource = ["reservation", "bank_conflict"];
        let rows: [(&str, &str, &[&str], &[&str]); 5] = [
            ("c_mem", "resource_stall", &["constant"], &resource),
            ("s_mem", "bk_conf", &["shared"], &["bank_conflict"]),
            ("gl_mem", "resource_stall", &DATA, &resource),
            ("gl_mem", "coal_stall", &DATA, &["coalesce"]),
            ("gl_mem", "data_port_stall", &DATA, &["data_port"]),
        ];
        for (stage, reason, stages, stalls) in rows {
            line(text, &stall(stage, reason), self.stalls(stages, stalls));
        }
        line(
            text,
            "gpu_reg_bank_conflict_stalls",
            get("sm.register_bank_conflicts"),
        );
    }

    fn stalls(&self, stages: &[&str], stalls: &[&str]) -> u64 {
        let at = |stage: &&str| -> u64 {
            let of = |stall: &&str| self.so_far.get(&format!("sm.ldst_stalls.{stage}.{stall}"));
            stalls.iter().map(of).sum()
        };
        stages.iter().map(at).sum()
    }

    fn issue(&self, text: &mut String) {
        let get = |name: &str| self.so_far.get(name);
        text.push_str("Warp Occupancy Distribution:\n");
        let _ = write!(
            text,
            "Stall:{}\tW0_Idle:{}\tW0_Scoreboard:{}",
            get("issue.stall"),
            get("issue.idle"),
            get("issue.scoreboard")
        );
        for lanes in 1..=32 {
            let issued = get(&format!("sm.issued_by_lanes.w{lanes}"));
            let _ = write!(text, "\tW{lanes}:{issued}");
        }
        text.push('\n');
    }
}

/// Names of all stages of the load/store unit.
const STAGES: [&str; 7] = [
    "constant",
    "texture",
    "shared",
    "global_load",
    "local_load",
    "global_store",
    "local_store",
];
/// Stages that GPGPU-Sim sums as `gl_mem`.
const DATA: [&str; 4] = ["global_load", "local_load", "global_store", "local_store"];
/// Names of the stalls' reasons.
const STALLS: [&str; 5] = [
    "reservation",
    "bank_conflict",
    "network",
    "coalesce",
    "data_port",
];

fn double_percent(part: u64, whole: u64) -> f64 {
    single(part, whole) * 100.0
}

/// Writes the line `name = value`.
fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{name} = {value}");
}

/// Writes the time of the simulation, in whole seconds and at least one, as GPGPU-Sim does.
fn end(text: &mut String, run: &RunReport, so_far: &Tally, config: Config<'_>) {
    let seconds = (run.wall_seconds as u64).max(1);
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    let _ = writeln!(
        text,
        "\n\ngpgpu_simulation_time = {days} days, {hours} hrs, {minutes} min, {rest} sec \
         ({seconds} sec)"
    );
    let _ = writeln!(text, "gpu_total_sim_rate={}", so_far.instructions / seconds);
    let rate = |n: u64, unit: &str| format!("{} ({unit}/sec)", n / seconds);
    line(
        text,
        "gpgpu_simulation_rate",
        rate(so_far.instructions, "inst"),
    );
    line(text, "gpgpu_simulation_rate", rate(so_far.cycles, "cycle"));
    let hertz = (config.number("clocks.core_mhz") * 1e6) as u64;
    if let Some(slowdown) = hertz.checked_div(so_far.cycles / seconds) {
        line(text, "gpgpu_silicon_slowdown", format!("{slowdown}x"));
    }
    if run.succeeded() {
        text.push_str("GPGPU-Sim: *** exit detected ***\n");
    }
}

#[cfg(test)]
mod tests;
