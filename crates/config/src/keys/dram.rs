//! Keys of a DRAM channel.

use crate::section::section;
use crate::spec::{BankIndex, DramScheduler};
use crate::value::{Rule, int, names, pow2};

names! {
    DramScheduler: SCHEDULERS {
        Fcfs = "fcfs": "in order",
        FrFcfs = "fr-fcfs": "row hits first, then in order",
    }
    BankIndex: BANK_INDEX {
        Linear = "linear": "the address's own bits",
        Xor = "xor": "XORed with the row",
        Ipoly = "ipoly": "irreducible polynomial",
    }
}

section! {
    DramSpec {
        scheduler: "scheduler", SCHEDULERS, "",
            "Order of requests.", "GPGPU-Sim -gpgpu_dram_scheduler";
        queue: "queue", int(0, 65_536), "requests",
            "Requests that the scheduler holds; 0: no limit.",
            "GPGPU-Sim -gpgpu_frfcfs_dram_sched_queue_size";
        return_queue: "return_queue", int(0, 65_536), "requests",
            "Finished requests that can wait; 0: no limit.", "GPGPU-Sim -gpgpu_dram_return_queue_size";
        chips: "chips", int(1, 64), "chips",
            "Chips that share a channel.", "GPGPU-Sim -gpgpu_n_mem_per_ctrlr";
        bus_bytes: "bus_bytes", pow2(1, 256), "bytes per beat",
            "Width of a chip's bus.", "GPGPU-Sim -gpgpu_dram_buswidth";
        burst_length: "burst_length", pow2(1, 64), "beats",
            "Beats of a burst.", "GPGPU-Sim -gpgpu_dram_burst_length";
        data_ratio: "data_ratio", pow2(1, 16), "beats per command clock",
            "Data beats in a command clock.", "GPGPU-Sim -dram_data_command_freq_ratio";
        dual_bus: "dual_bus", Rule::Switch, "",
            "Row and column commands have buses of their own (HBM).",
            "GPGPU-Sim -dram_dual_bus_interface";
        banks: "banks", pow2(1, 256), "banks",
            "Banks.", "GPGPU-Sim -gpgpu_dram_timing_opt, nbk";
        bank_groups: "bank_groups", pow2(1, 64), "groups",
            "Bank groups; 1: none.", "GPGPU-Sim -gpgpu_dram_timing_opt, nbkgrp";
        group_by_low_bits: "group_by_low_bits", Rule::Switch, "",
            "Low bits of the bank choose its group, else the high ones.",
            "GPGPU-Sim -dram_bnkgrp_indexing_policy";
        bank_index: "bank_index", BANK_INDEX, "",
            "How the bank's number is hashed.", "GPGPU-Sim -dram_bnk_indexing_policy";
    }
    defaulted {
        free_turnaround: "free_turnaround", Rule::Switch, "",
            "Turning the bus between reads and writes takes no time.",
            "GPGPU-Sim -dram_elimnate_rw_turnaround", false, "false";
    }
    within { write_queue: "write_queue"; timing: "timing"; }
}

section! {
    WriteQueueSpec {
    }
    defaulted {
        size: "size", int(0, 65_536), "requests",
            "Writes that can wait in a queue of their own under FR-FCFS; 0: they wait with reads.",
            "GPGPU-Sim -dram_seperate_write_queue_enable, -dram_write_queue_size, 1st", 0, "0";
        high: "high", int(0, 65_536), "requests",
            "Waiting writes from which on only writes are served.",
            "GPGPU-Sim -dram_write_queue_size, 2nd", 28, "28";
        low: "low", int(0, 65_536), "requests",
            "Waiting writes below which only reads are served again.",
            "GPGPU-Sim -dram_write_queue_size, 3rd", 16, "16";
    }
}

const CYCLES: Rule = int(0, 10_000);

section! {
    DramTiming {
        ccd: "ccd", CYCLES, "command cycles",
            "Column command to column command.", "GPGPU-Sim -gpgpu_dram_timing_opt, CCD";
        rrd: "rrd", CYCLES, "command cycles",
            "Activate to activate of another bank.", "GPGPU-Sim -gpgpu_dram_timing_opt, RRD";
        rcd: "rcd", CYCLES, "command cycles",
            "Activate to column command.", "GPGPU-Sim -gpgpu_dram_timing_opt, RCD";
        ras: "ras", CYCLES, "command cycles",
            "Activate to precharge.", "GPGPU-Sim -gpgpu_dram_timing_opt, RAS";
        rp: "rp", CYCLES, "command cycles",
            "Precharge to activate.", "GPGPU-Sim -gpgpu_dram_timing_opt, RP";
        rc: "rc", CYCLES, "command cycles",
            "Activate to activate of one bank.", "GPGPU-Sim -gpgpu_dram_timing_opt, RC";
        cl: "cl", CYCLES, "command cycles",
            "Read command to data.", "GPGPU-Sim -gpgpu_dram_timing_opt, CL";
        wl: "wl", CYCLES, "command cycles",
            "Write command to data.", "GPGPU-Sim -gpgpu_dram_timing_opt, WL";
        cdlr: "cdlr", CYCLES, "command cycles",
            "End of written data to read command.", "GPGPU-Sim -gpgpu_dram_timing_opt, CDLR";
        wr: "wr", CYCLES, "command cycles",
            "End of written data to precharge.", "GPGPU-Sim -gpgpu_dram_timing_opt, WR";
        ccdl: "ccdl", CYCLES, "command cycles",
            "Column command to column command of one bank group.",
            "GPGPU-Sim -gpgpu_dram_timing_opt, CCDL";
        rtpl: "rtpl", CYCLES, "command cycles",
            "Read to precharge within one bank group.",
            "GPGPU-Sim -gpgpu_dram_timing_opt, RTPL";
    }
}
