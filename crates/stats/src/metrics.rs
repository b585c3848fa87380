//! Metrics that a result computes from counters. They are declared like counters, so that
//! `list stats` shows them; their names are the paths of the keys of a result.

use crate::{StatMeta, StatTable, Unit};

const fn metric(
    name: &'static str,
    unit: Unit,
    sentence: &'static str,
    gpgpusim: &'static [&'static str],
) -> StatMeta {
    StatMeta {
        name,
        unit,
        raw_sentence: sentence,
        gpgpusim,
        labels: &[],
        is_peak: false,
    }
}

/// Metrics of each kernel and of the whole run.
pub const METRICS: StatTable = StatTable {
    group: "",
    nth: 0,
    stats: &[
        metric(
            "cycles",
            Unit::Cycles,
            "Core cycles from launch to end.",
            &["gpu_sim_cycle"],
        ),
        metric(
            "warp_instructions",
            Unit::WarpInstructions,
            "Instructions issued, one for up to 32 lanes.",
            &["gpgpu_n_tot_w_icount"],
        ),
        metric(
            "thread_instructions",
            Unit::ThreadInstructions,
            "Instructions issued, one for each active lane.",
            &["gpu_sim_insn"],
        ),
        metric(
            "ipc",
            Unit::InstructionsPerCycle,
            "Thread instructions per core cycle of the whole GPU.",
            &["gpu_ipc"],
        ),
        metric(
            "l1d.hit_rate",
            Unit::Fraction,
            "Hits over accesses of the L1 data caches; null without accesses. An access to a line \
             that is on its way is neither a hit nor a miss.",
            &[],
        ),
        metric(
            "l2.hit_rate",
            Unit::Fraction,
            "Hits over accesses of L2; null without accesses. An access to a line that is on its \
             way is neither a hit nor a miss.",
            &[],
        ),
        metric(
            "dram.utilisation",
            Unit::Fraction,
            "Command cycles in which data moves, over all channels.",
            &["bw_util"],
        ),
        metric(
            "contention.dram_full",
            Unit::StallsPerCycle,
            "L2 cycles in which a partition could not take a request, summed over partitions, over \
             core cycles; null for a kernel that shared the machine.",
            &["gpu_stall_dramfull / gpu_sim_cycle"],
        ),
        metric(
            "contention.noc_to_sm",
            Unit::StallsPerCycle,
            "Network cycles in which a reply could not enter the network, summed over partitions, \
             over core cycles; null for a kernel that shared the machine.",
            &["gpu_stall_icnt2sh / gpu_sim_cycle"],
        ),
        metric(
            "hot_banks.wait_cycles",
            Unit::Cycles,
            "Core cycles that requests wait for the L2 banks with the longest waits, on their way \
             and in the scheduler of DRAM. `hot_banks` also has the number of these banks and of \
             their channels, and their packets and look-ups by kind. Missing for a kernel that \
             shared the machine.",
            &[],
        ),
        metric(
            "block_times.longest",
            Unit::Cycles,
            "Core cycles of the longest block. `block_times` also has the number of blocks that \
             ended and the sum of their cycles, the cycles of SMs that held no block or ran out of \
             them, and those at the end of launches in which at most half of the SMs that held \
             blocks still held one. Missing for a kernel that shared the machine.",
            &[],
        ),
        metric(
            "stalls",
            Unit::Fraction,
            "Scheduler cycles by what kept them from issuing, issue included; they sum to 1. Empty \
             for a kernel that shared the machine.",
            &["shader_cycle_distro"],
        ),
        metric(
            "wall_seconds",
            Unit::Seconds,
            "Time that the simulation took.",
            &["gpgpu_simulation_time"],
        ),
        metric(
            "cycles_per_second",
            Unit::CyclesPerSecond,
            "Simulated core cycles over the time taken.",
            &["gpgpu_simulation_rate"],
        ),
        metric(
            "warp_instructions_per_second",
            Unit::WarpInstructionsPerSecond,
            "Simulated warp instructions over the time taken.",
            &[],
        ),
    ],
};
