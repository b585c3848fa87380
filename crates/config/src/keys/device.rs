//! Keys of the clocks, of the GPU as a whole, and of how it is simulated.

use crate::section::section;
use crate::spec::ModelStyle;
use crate::value::{Rule, int, names, pow2};

names! {
    ModelStyle: STYLES {
        V3 = "gpgpu-sim-3": "GPGPU-Sim 3.2.x, on which the five papers ran",
        V4 = "gpgpu-sim-4": "GPGPU-Sim 4.2",
    }
}

section! {
    ClockSpec {
        core_khz: "core_mhz", Rule::Megahertz, "MHz",
            "SM clock; a Fermi warp instruction issues in one such cycle for all 32 lanes.",
            "GPGPU-Sim -gpgpu_clock_domains, 1st";
        noc_khz: "noc_mhz", Rule::Megahertz, "MHz",
            "Interconnect clock.", "GPGPU-Sim -gpgpu_clock_domains, 2nd";
        l2_khz: "l2_mhz", Rule::Megahertz, "MHz",
            "L2 clock.", "GPGPU-Sim -gpgpu_clock_domains, 3rd";
        dram_khz: "dram_mhz", Rule::Megahertz, "MHz",
            "DRAM command clock.", "GPGPU-Sim -gpgpu_clock_domains, 4th";
    }
}

section! {
    SimSpec {
        skip_idle: "skip_idle", Rule::Switch, "",
            "Skip parts that have nothing to do; off only to test that results do not change.",
            "this program";
    }
}

section! {
    DeviceSpec {
        sms: "sms", int(1, 1024), "SMs",
            "Streaming multiprocessors.",
            "GPGPU-Sim -gpgpu_n_clusters x -gpgpu_n_cores_per_cluster";
        channels: "channels", int(1, 256), "channels",
            "Memory channels, each with its DRAM.", "GPGPU-Sim -gpgpu_n_mem";
        sub_partitions_per_channel: "sub_partitions_per_channel", pow2(1, 16), "L2 banks",
            "L2 banks of a channel, each with a port of its own to the network.",
            "GPGPU-Sim -gpgpu_n_sub_partition_per_mchannel";
        style: "style", STYLES, "",
            "Version of GPGPU-Sim that the model follows where versions differ.",
            "differences between GPGPU-Sim 3.2.2 and 4.2";
        max_blocks_per_sm: "max_blocks_per_sm", Rule::IntegerOrNone { min: 1, max: 1024 }, "blocks",
            "Most blocks on an SM, below what its resources allow.", "this program";
        kernel_launch_cycles: "kernel_launch_cycles", int(0, 10_000_000), "core cycles",
            "Time from a launch to its first block.", "GPGPU-Sim -gpgpu_kernel_launch_latency";
        block_launch_cycles: "block_launch_cycles", int(0, 1_000_000), "core cycles",
            "Time added to the launch latency for each block of the grid.", "GPGPU-Sim -gpgpu_TB_launch_latency";
        max_concurrent_kernels: "max_concurrent_kernels", int(1, 128), "kernels",
            "Kernels in flight at once.", "GPGPU-Sim -gpgpu_max_concurrent_kernel";
        flush_l1_at_kernel_end: "flush_l1_at_kernel_end", Rule::Switch, "",
            "Invalidate the L1 data caches when a kernel ends; in style gpgpu-sim-4 after fences too.", "GPGPU-Sim -gpgpu_flush_l1_cache";
        copies_warm_l2: "copies_warm_l2", Rule::Switch, "",
            "Copies between host and device leave their lines in L2.", "GPGPU-Sim -gpgpu_perf_sim_memcpy";
        link_cycles: "link_cycles", int(1, 10_000), "core cycles",
            "Time of a message between an SM and the network, each way; taken out of \
             `partition.rop_cycles`, so that the round trip keeps its length.",
            "this program";
        seed: "seed", int(0, i64::MAX as u64), "",
            "Seed of every random choice of the machine.", "this program";
    } defaulted {
        sms_per_cluster: "sms_per_cluster", int(1, 64), "SMs",
            "SMs that share a port to the network, one reply a cycle, and take one new block a cycle.",
            "GPGPU-Sim -gpgpu_n_cores_per_cluster", 1, "1";
        gpcs: "gpcs", int(1, 1024), "GPCs",
            "Groups of SMs, as equal as possible; the blocks of a cluster run on the SMs of one.",
            "this program", 1, "1";
        flush_l2_at_kernel_end: "flush_l2_at_kernel_end", Rule::Switch, "",
            "Drop the dirty lines of L2 when a kernel ends; as in GPGPU-Sim, nothing is written for it.",
            "GPGPU-Sim -gpgpu_flush_l2_cache", false, "false";
        perfect_memory: "perfect_memory", Rule::Switch, "",
            "Requests of SMs are answered at once, without network, L2 and DRAM.",
            "GPGPU-Sim -gpgpu_perfect_mem", false, "false";
        compute_capability: "compute_capability", int(0, 200), "",
            "Compute capability that programs are told, 90 for 9.0; 0: the one that follows from the \
             resources of an SM.",
            "CUDA C++ Programming Guide, table of compute capabilities", 0, "0";
    } within {
        block_scheduler: "block_scheduler";
        sm_filter: "sm_filter";
        multiprogram: "multiprogram";
    }
}
