//! The one table of GPGPU-Sim's options: names, types, defaults and what becomes of them here.
//! Names and defaults are those of the registration calls in GPGPU-Sim 4.2 and 3.2.2.

use super::network::keys_markdown;
use std::fmt::Write;

/// Type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 0 or 1; the value may be left out, which means 1.
    Flag,
    /// A whole number: decimal, `0x` hexadecimal or `0` octal.
    Int,
    /// A word or a quoted text.
    Text,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// The value itself goes into this key.
    Key(&'static str),
    /// It is converted into these keys.
    Into(&'static str),
    /// It has no effect here by design; why.
    NoEffect(&'static str),
    /// Only this value is modelled; what another means for results.
    Only(&'static str, &'static str),
    /// It is not modelled, whatever its value; what that means for results.
    NotModelled(&'static str),
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub name: &'static str,
    /// Older names, and the right spelling of misspelt ones.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    /// GPGPU-Sim 3.2.2's default, or what its source does where it has no such option.
    pub v3: Option<&'static str>,
    /// GPGPU-Sim 4.2's default.
    pub v4: Option<&'static str>,
    /// Registered by GPGPU-Sim 3.2.2 (under this name or an alias).
    pub in_v3: bool,
    pub fate: Fate,
}

impl Row {
    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// An option of both versions with one default.
const fn both(name: &'static str, kind: Kind, default: &'static str, fate: Fate) -> Row {
    split(name, kind, default, default, fate)
}

/// An option of both versions with a default each, 3.2.2's first.
const fn split(
    name: &'static str,
    kind: Kind,
    v3: &'static str,
    v4: &'static str,
    fate: Fate,
) -> Row {
    Row {
        name,
        aliases: &[],
        kind,
        v3: Some(v3),
        v4: Some(v4),
        in_v3: true,
        fate,
    }
}

/// An option of 4.2, behind what 3.2.2 does without it.
const fn newer(
    name: &'static str,
    kind: Kind,
    v3: &'static str,
    v4: &'static str,
    fate: Fate,
) -> Row {
    let mut row = split(name, kind, v3, v4, fate);
    row.in_v3 = false;
    row
}

/// An option without a default.
const fn bare(name: &'static str, in_v3: bool, fate: Fate) -> Row {
    Row {
        name,
        aliases: &[],
        kind: Text,
        v3: None,
        v4: None,
        in_v3,
        fate,
    }
}

use Fate::{Into, Key, NoEffect, NotModelled, Only};
use Kind::{Flag, Int, Text};

const STATISTICS: &str = "statistics; `warploom list stats` has what is counted here";
const POWER: &str = "power model";
const TRACE: &str = "traces and logs of GPGPU-Sim";
const FRONT_END: &str = "how GPGPU-Sim gets at the PTX of a program";
const REPORTED: &str = "only reported to host programs";
const CDP: &str = "launches from the device do not exist here";
const PREFER: &str = "cudaFuncSetCacheConfig is not simulated: every kernel runs with the split \
                      of -gpgpu_cache:dl1 and -gpgpu_shmem_sizeDefault";
const EARLY: &str = "the run goes on to its end";
const RESUME: &str = "runs start at the beginning and end at the end";
const SPECIAL: &str = "there are no specialised units: their instructions take the usual ones";
const SASS: &str = "SASS traces are not simulated; latencies are those of -ptx_opcode_*";
const CARVE_OUT: &str = "the split between L1D and shared memory stays the one configured, for \
                         every kernel; kernels that would get more L1D miss more often";
const LOCAL_CROSSBAR: &str = "noc (-network_mode 2)";

/// Every option of GPGPU-Sim 4.2 and 3.2.2, and of Accel-Sim's trace mode.
pub(super) const OPTIONS: &[Row] = &[
    // Chip.
    both("-gpgpu_n_clusters", Int, "10", Into("gpu.sms")),
    both("-gpgpu_n_cores_per_cluster", Int, "3", Into("gpu.sms")),
    both("-gpgpu_n_mem", Int, "8", Key("gpu.channels")),
    both(
        "-gpgpu_n_sub_partition_per_mchannel",
        Int,
        "1",
        Key("gpu.sub_partitions_per_channel"),
    ),
    both(
        "-gpgpu_clock_domains",
        Text,
        "500.0:2000.0:2000.0:2000.0",
        Into("clocks"),
    ),
    newer(
        "-gpgpu_kernel_launch_latency",
        Int,
        "0",
        "0",
        Key("gpu.kernel_launch_cycles"),
    ),
    newer(
        "-gpgpu_TB_launch_latency",
        Int,
        "0",
        "0",
        Key("gpu.block_launch_cycles"),
    ),
    split(
        "-gpgpu_max_concurrent_kernel",
        Int,
        "8",
        "32",
        Key("gpu.max_concurrent_kernels"),
    ),
    both(
        "-gpgpu_flush_l1_cache",
        Flag,
        "0",
        Key("gpu.flush_l1_at_kernel_end"),
    ),
    both(
        "-gpgpu_flush_l2_cache",
        Flag,
        "0",
        Only(
            "0",
            "L2 keeps its lines from kernel to kernel: later kernels hit more often",
        ),
    ),
    newer(
        "-gpgpu_perf_sim_memcpy",
        Flag,
        "0",
        "1",
        Key("gpu.copies_warm_l2"),
    )
    .also(&["-perf_sim_memcpy"]),
    both(
        "-gpgpu_simt_core_sim_order",
        Int,
        "1",
        NoEffect("the order in which SMs run never shows here"),
    ),
    newer(
        "-gpgpu_concurrent_kernel_sm",
        Flag,
        "0",
        "0",
        Only(
            "0",
            "an SM runs blocks of one kernel at a time, and kernels overlap less",
        ),
    ),
    newer(
        "-gpgpu_ignore_resources_limitation",
        Flag,
        "0",
        "0",
        Only(
            "0",
            "a kernel whose blocks do not fit an SM is refused instead of running one block an SM",
        ),
    ),
    both(
        "-gpgpu_perfect_mem",
        Flag,
        "0",
        Only(
            "0",
            "every access goes through caches, network and DRAM, and kernels take longer",
        ),
    ),
    // SM.
    both(
        "-gpgpu_shader_core_pipeline",
        Text,
        "1024:32",
        Into("sm.max_threads"),
    ),
    split("-gpgpu_shader_cta", Int, "8", "32", Key("sm.max_blocks")),
    both("-gpgpu_shader_registers", Int, "8192", Key("sm.registers")),
    newer(
        "-gpgpu_registers_per_block",
        Int,
        "8192",
        "8192",
        NoEffect(REPORTED),
    ),
    both("-gpgpu_shmem_size", Int, "16384", Into("sm.shared_bytes")),
    newer(
        "-gpgpu_shmem_sizeDefault",
        Int,
        "16384",
        "16384",
        Into("sm.shared_bytes"),
    ),
    newer(
        "-gpgpu_shmem_per_block",
        Int,
        "49152",
        "49152",
        Into("sm.max_shared_bytes_per_block"),
    ),
    both(
        "-gpgpu_shmem_size_PrefL1",
        Int,
        "16384",
        NotModelled(PREFER),
    ),
    both(
        "-gpgpu_shmem_size_PrefShared",
        Int,
        "16384",
        NotModelled(PREFER),
    ),
    newer(
        "-gpgpu_num_cta_barriers",
        Int,
        "16",
        "16",
        Key("sm.barriers_per_block"),
    ),
    both(
        "-gpgpu_simd_model",
        Int,
        "1",
        Only("1", "divergence takes a stack"),
    ),
    both("-gpgpu_num_sched_per_core", Int, "1", Key("sm.schedulers")),
    both("-gpgpu_scheduler", Text, "gto", Into("sm.warp_scheduler")),
    both(
        "-gpgpu_max_insn_issue_per_warp",
        Int,
        "2",
        Key("sm.max_issue_per_warp"),
    ),
    newer(
        "-gpgpu_dual_issue_diff_exec_units",
        Flag,
        "0",
        "1",
        Key("sm.dual_issue_different_units"),
    ),
    newer(
        "-gpgpu_inst_fetch_throughput",
        Int,
        "1",
        "1",
        Key("sm.fetch_per_cycle"),
    ),
    newer("-gpgpu_sub_core_model", Flag, "0", "0", Key("sm.sub_cores")).also(&["-sub_core_model"]),
    newer(
        "-gpgpu_perfect_inst_const_cache",
        Flag,
        "0",
        "0",
        Key("sm.perfect_inst_const_cache"),
    ),
    // Units and their latencies.
    split(
        "-gpgpu_pipeline_widths",
        Text,
        "1,1,1,1,1,1,1",
        "1,1,1,1,1,1,1,1,1,1,1,1,1",
        Into("sm.units, sm.writeback_width"),
    ),
    both("-gpgpu_num_sp_units", Int, "1", Key("sm.units.sp.count")),
    both("-gpgpu_num_sfu_units", Int, "1", Key("sm.units.sfu.count")),
    newer(
        "-gpgpu_num_dp_units",
        Int,
        "0",
        "0",
        Key("sm.units.dp.count"),
    ),
    newer(
        "-gpgpu_num_int_units",
        Int,
        "0",
        "0",
        Key("sm.units.int.count"),
    ),
    newer(
        "-gpgpu_num_tensor_core_units",
        Int,
        "0",
        "0",
        Into("sm.units.tensor.count"),
    ),
    newer(
        "-gpgpu_tensor_core_avail",
        Int,
        "0",
        "0",
        Into("sm.units.tensor.count"),
    ),
    both(
        "-gpgpu_num_mem_units",
        Int,
        "1",
        NoEffect("GPGPU-Sim does not read it either: an SM has one load/store unit"),
    ),
    split(
        "-ptx_opcode_latency_int",
        Text,
        "1,1,19,25,145",
        "1,1,19,25,145,32",
        Into("sm.units.int_timing, sm.units.shuffle_timing"),
    ),
    split(
        "-ptx_opcode_initiation_int",
        Text,
        "1,1,4,4,32",
        "1,1,4,4,32,4",
        Into("sm.units.int_timing, sm.units.shuffle_timing"),
    ),
    both(
        "-ptx_opcode_latency_fp",
        Text,
        "1,1,1,1,30",
        Into("sm.units.f32_timing"),
    ),
    both(
        "-ptx_opcode_initiation_fp",
        Text,
        "1,1,1,1,5",
        Into("sm.units.f32_timing"),
    ),
    both(
        "-ptx_opcode_latency_dp",
        Text,
        "8,8,8,8,335",
        Into("sm.units.f64_timing; 3.2.2: sm.units.sfu_timing"),
    ),
    both(
        "-ptx_opcode_initiation_dp",
        Text,
        "8,8,8,8,130",
        Into("sm.units.f64_timing; 3.2.2: sm.units.sfu_timing"),
    ),
    newer(
        "-ptx_opcode_latency_sfu",
        Text,
        "8",
        "8",
        Into("sm.units.sfu_timing"),
    ),
    newer(
        "-ptx_opcode_initiation_sfu",
        Text,
        "8",
        "8",
        Into("sm.units.sfu_timing"),
    ),
    newer(
        "-ptx_opcode_latency_tesnor",
        Text,
        "64",
        "64",
        Into("sm.units.tensor_timing"),
    )
    .also(&["-ptx_opcode_latency_tensor"]),
    newer(
        "-ptx_opcode_initiation_tensor",
        Text,
        "64",
        "64",
        Into("sm.units.tensor_timing"),
    ),
    newer(
        "-specialized_unit_1",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_2",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_3",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_4",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_5",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_6",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_7",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    newer(
        "-specialized_unit_8",
        Text,
        "0,4,4,4,4,BRA",
        "0,4,4,4,4,BRA",
        NotModelled(SPECIAL),
    ),
    // Register file and operand collectors.
    both("-gpgpu_num_reg_banks", Int, "8", Key("sm.collectors.banks")),
    both(
        "-gpgpu_reg_bank_use_warp_id",
        Flag,
        "0",
        NoEffect("GPGPU-Sim 4.2 and this program add the warp's number to the bank either way"),
    ),
    newer(
        "-gpgpu_reg_file_port_throughput",
        Int,
        "1",
        "1",
        Key("sm.collectors.steps_per_cycle"),
    ),
    newer(
        "-gpgpu_enable_specialized_operand_collector",
        Flag,
        "1",
        "1",
        Into("sm.collectors"),
    ),
    both(
        "-gpgpu_operand_collector_num_units_sp",
        Int,
        "4",
        Into("sm.collectors.sp"),
    ),
    newer(
        "-gpgpu_operand_collector_num_units_dp",
        Int,
        "0",
        "0",
        Into("sm.collectors.dp"),
    ),
    both(
        "-gpgpu_operand_collector_num_units_sfu",
        Int,
        "4",
        Into("sm.collectors.sfu"),
    ),
    newer(
        "-gpgpu_operand_collector_num_units_int",
        Int,
        "0",
        "0",
        Into("sm.collectors.int"),
    ),
    newer(
        "-gpgpu_operand_collector_num_units_tensor_core",
        Int,
        "0",
        "4",
        Into("sm.collectors.tensor"),
    ),
    both(
        "-gpgpu_operand_collector_num_units_mem",
        Int,
        "2",
        Into("sm.collectors.mem"),
    ),
    both(
        "-gpgpu_operand_collector_num_units_gen",
        Int,
        "0",
        Into("sm.collectors.general"),
    ),
    both(
        "-gpgpu_operand_collector_num_in_ports_sp",
        Int,
        "1",
        Into("sm.collectors.sp"),
    ),
    newer(
        "-gpgpu_operand_collector_num_in_ports_dp",
        Int,
        "0",
        "0",
        Into("sm.collectors.dp"),
    ),
    both(
        "-gpgpu_operand_collector_num_in_ports_sfu",
        Int,
        "1",
        Into("sm.collectors.sfu"),
    ),
    newer(
        "-gpgpu_operand_collector_num_in_ports_int",
        Int,
        "0",
        "0",
        Into("sm.collectors.int"),
    ),
    newer(
        "-gpgpu_operand_collector_num_in_ports_tensor_core",
        Int,
        "0",
        "1",
        Into("sm.collectors.tensor"),
    ),
    both(
        "-gpgpu_operand_collector_num_in_ports_mem",
        Int,
        "1",
        Into("sm.collectors.mem"),
    ),
    both(
        "-gpgpu_operand_collector_num_in_ports_gen",
        Int,
        "0",
        Into("sm.collectors.general"),
    ),
    both(
        "-gpgpu_operand_collector_num_out_ports_sp",
        Int,
        "1",
        Into("sm.collectors.sp"),
    ),
    newer(
        "-gpgpu_operand_collector_num_out_ports_dp",
        Int,
        "0",
        "0",
        Into("sm.collectors.dp"),
    ),
    both(
        "-gpgpu_operand_collector_num_out_ports_sfu",
        Int,
        "1",
        Into("sm.collectors.sfu"),
    ),
    newer(
        "-gpgpu_operand_collector_num_out_ports_int",
        Int,
        "0",
        "0",
        Into("sm.collectors.int"),
    ),
    newer(
        "-gpgpu_operand_collector_num_out_ports_tensor_core",
        Int,
        "0",
        "1",
        Into("sm.collectors.tensor"),
    ),
    both(
        "-gpgpu_operand_collector_num_out_ports_mem",
        Int,
        "1",
        Into("sm.collectors.mem"),
    ),
    both(
        "-gpgpu_operand_collector_num_out_ports_gen",
        Int,
        "0",
        Into("sm.collectors.general"),
    ),
    // Memory path of the SM.
    both("-gpgpu_coalesce_arch", Int, "13", Into("sm.coalescing")),
    both("-gpgpu_shmem_num_banks", Int, "16", Key("sm.shared_banks")),
    both(
        "-gpgpu_shmem_warp_parts",
        Int,
        "2",
        Key("sm.shared_warp_parts"),
    ),
    both(
        "-gpgpu_shmem_limited_broadcast",
        Flag,
        "1",
        Only(
            "0",
            "conflicts are counted as on Fermi and later, where every word can be broadcast; \
             GT200 had more of them",
        ),
    ),
    newer(
        "-gpgpu_mem_unit_ports",
        Int,
        "1",
        "1",
        Key("sm.mem_unit_ports"),
    )
    .also(&["-mem_unit_ports"]),
    newer(
        "-gpgpu_smem_latency",
        Int,
        "3",
        "3",
        Key("sm.shared_latency_cycles"),
    )
    .also(&["-smem_latency"]),
    newer(
        "-gpgpu_l1_latency",
        Int,
        "0",
        "1",
        Key("sm.l1d_latency_cycles"),
    )
    .also(&["-l1_latency"]),
    newer("-gpgpu_l1_banks", Int, "1", "1", Key("sm.l1d_banks")).also(&["-l1_banks"]),
    newer(
        "-gpgpu_l1_banks_byte_interleaving",
        Int,
        "32",
        "32",
        Only("32", "L1D banks interleave by 32 bytes"),
    ),
    newer(
        "-gpgpu_l1_banks_hashing_function",
        Int,
        "0",
        "0",
        Only("0", "L1D banks are chosen by the address's own bits"),
    ),
    both(
        "-gpgpu_gmem_skip_L1D",
        Flag,
        "0",
        Key("sm.global_skips_l1d"),
    )
    .also(&["-gmem_skip_L1D"]),
    both(
        "-gpgpu_n_ldst_response_buffer_size",
        Int,
        "2",
        Key("sm.response_fifo"),
    ),
    both(
        "-gpgpu_n_cluster_ejection_buffer_size",
        Int,
        "8",
        Key("sm.ejection_fifo"),
    ),
    both(
        "-gpgpu_local_mem_map",
        Flag,
        "1",
        Only("1", "local memory is interleaved by word over the threads"),
    ),
    // Caches.
    both("-gpgpu_cache:dl1", Text, "none", Into("l1d")),
    both("-gpgpu_cache:dl1PrefL1", Text, "none", NotModelled(PREFER)),
    both(
        "-gpgpu_cache:dl1PrefShared",
        Text,
        "none",
        NotModelled(PREFER),
    )
    .also(&["-gpgpu_cache:dl1PreShared"]),
    both(
        "-gpgpu_cache:il1",
        Text,
        "4:256:4,L:R:f:N,A:2:32,4",
        Into("l1i"),
    ),
    both(
        "-gpgpu_const_cache:l1",
        Text,
        "64:64:2,L:R:f:N,A:2:32,4",
        Into("l1c"),
    ),
    both(
        "-gpgpu_tex_cache:l1",
        Text,
        "8:128:5,L:R:m:N,F:128:4,128:2",
        Into("l1t"),
    ),
    both(
        "-gpgpu_cache:dl2",
        Text,
        "64:128:8,L:B:m:N,A:16:4,4",
        Into("l2"),
    ),
    both(
        "-gpgpu_cache:dl2_texture_only",
        Flag,
        "1",
        Only(
            "0",
            "L2 serves every access, not only textures: kernels hit it more often",
        ),
    ),
    both("-l2_ideal", Flag, "0", Key("partition.ideal_l2")),
    newer(
        "-gpgpu_l1_cache_write_ratio",
        Int,
        "0",
        "0",
        Key("l1d.write_ratio_percent"),
    ),
    newer(
        "-gpgpu_adaptive_cache_config",
        Flag,
        "0",
        "0",
        Only("0", CARVE_OUT),
    )
    .also(&["-adaptive_cache_config"]),
    newer("-gpgpu_shmem_option", Text, "0", "0", Only("0", CARVE_OUT)),
    newer(
        "-gpgpu_unified_l1d_size",
        Int,
        "0",
        "0",
        Only("0", CARVE_OUT),
    ),
    // Network.
    both("-network_mode", Int, "1", Into("noc.kind")),
    both(
        "-inter_config_file",
        Text,
        "mesh",
        Into("noc (-network_mode 1)"),
    ),
    newer("-icnt_flit_size", Int, "32", "32", Into(LOCAL_CROSSBAR)),
    newer(
        "-icnt_in_buffer_limit",
        Int,
        "64",
        "64",
        Into(LOCAL_CROSSBAR),
    ),
    newer(
        "-icnt_out_buffer_limit",
        Int,
        "64",
        "64",
        Into(LOCAL_CROSSBAR),
    ),
    newer("-icnt_subnets", Int, "2", "2", Into(LOCAL_CROSSBAR)),
    newer("-icnt_arbiter_algo", Int, "1", "1", Into(LOCAL_CROSSBAR)),
    newer("-icnt_grant_cycles", Int, "1", "1", Into(LOCAL_CROSSBAR)),
    newer("-icnt_verbose", Int, "0", "0", NoEffect(TRACE)),
    // Memory partitions.
    both(
        "-gpgpu_dram_partition_queues",
        Text,
        "8:8:8:8",
        Into("partition queues"),
    ),
    both(
        "-gpgpu_l2_rop_latency",
        Int,
        "85",
        Key("partition.rop_cycles"),
    )
    .also(&["-rop_latency"]),
    both(
        "-dram_latency",
        Int,
        "30",
        Key("partition.dram_latency_cycles"),
    ),
    bare(
        "-gpgpu_mem_addr_mapping",
        true,
        Into("partition.channel_bit, partition.address_map"),
    ),
    both(
        "-gpgpu_mem_address_mask",
        Int,
        "0",
        Into("partition.channel_bit, partition.address_map"),
    ),
    newer(
        "-gpgpu_memory_partition_indexing",
        Int,
        "0",
        "0",
        Into("partition.channel_index"),
    )
    .also(&["-memory_partition_indexing"]),
    both("-gpgpu_mem_addr_test", Flag, "0", NoEffect("a self-test")),
    // DRAM.
    newer(
        "-gpgpu_simple_dram_model",
        Flag,
        "0",
        "0",
        Only(
            "0",
            "DRAM has banks, rows and timing in place of one fixed latency",
        ),
    )
    .also(&["-simple_dram_model"]),
    both("-gpgpu_dram_scheduler", Int, "1", Into("dram.scheduler")),
    both(
        "-gpgpu_frfcfs_dram_sched_queue_size",
        Int,
        "0",
        Key("dram.queue"),
    ),
    both(
        "-gpgpu_dram_return_queue_size",
        Int,
        "0",
        Key("dram.return_queue"),
    ),
    both("-gpgpu_n_mem_per_ctrlr", Int, "1", Key("dram.chips")),
    both("-gpgpu_dram_buswidth", Int, "4", Key("dram.bus_bytes")),
    both(
        "-gpgpu_dram_burst_length",
        Int,
        "4",
        Key("dram.burst_length"),
    ),
    both(
        "-dram_data_command_freq_ratio",
        Int,
        "2",
        Key("dram.data_ratio"),
    ),
    both(
        "-gpgpu_dram_timing_opt",
        Text,
        "4:2:8:12:21:13:34:9:4:5:13:1:0:0",
        Into("dram.timing, dram.banks, dram.bank_groups"),
    ),
    newer(
        "-dram_dual_bus_interface",
        Int,
        "0",
        "0",
        Into("dram.dual_bus"),
    ),
    newer(
        "-dram_bnk_indexing_policy",
        Int,
        "0",
        "0",
        Into("dram.bank_index"),
    ),
    newer(
        "-dram_bnkgrp_indexing_policy",
        Int,
        "0",
        "0",
        Into("dram.group_by_low_bits"),
    ),
    newer(
        "-dram_seperate_write_queue_enable",
        Flag,
        "0",
        "0",
        Only(
            "0",
            "writes wait in the scheduler's queue together with reads",
        ),
    )
    .also(&[
        "-dram_separate_write_queue_enable",
        "-Seperate_Write_Queue_Enable",
    ]),
    newer(
        "-dram_write_queue_size",
        Text,
        "32:28:16",
        "32:28:16",
        NoEffect("read only with -dram_seperate_write_queue_enable 1"),
    )
    .also(&["-Write_Queue_Size"]),
    newer(
        "-dram_elimnate_rw_turnaround",
        Flag,
        "0",
        "0",
        Only(
            "0",
            "turning the bus between reads and writes takes its time",
        ),
    )
    .also(&["-dram_eliminate_rw_turnaround"]),
    // The program's functional side.
    both(
        "-gpgpu_ptx_sim_mode",
        Int,
        "0",
        Only("0", "`warploom run --functional` leaves the timing out"),
    ),
    both(
        "-gpgpu_ptx_convert_to_ptxplus",
        Flag,
        "0",
        Only(
            "0",
            "PTX is simulated, not the SASS of sm_1x turned into PTXPlus",
        ),
    ),
    newer(
        "-gpgpu_compute_capability_major",
        Int,
        "2",
        "7",
        Into("sm.max_registers_per_thread"),
    ),
    newer(
        "-gpgpu_compute_capability_minor",
        Int,
        "0",
        "0",
        Into("sm.max_registers_per_thread"),
    ),
    both(
        "-gpgpu_ptx_force_max_capability",
        Int,
        "0",
        Into("sm.max_registers_per_thread"),
    ),
    newer(
        "-gpgpu_occupancy_sm_number",
        Int,
        "0",
        "0",
        NoEffect("registers come from the launch or from live ranges, not from ptxas"),
    ),
    both("-gpgpu_ptx_use_cuobjdump", Flag, "1", NoEffect(FRONT_END)),
    both(
        "-gpgpu_experimental_lib_support",
        Flag,
        "0",
        NoEffect(FRONT_END),
    ),
    both(
        "-gpgpu_ptx_save_converted_ptxplus",
        Flag,
        "0",
        NoEffect(FRONT_END),
    ),
    both("-save_embedded_ptx", Flag, "0", NoEffect(FRONT_END)),
    both("-keep", Flag, "0", NoEffect(FRONT_END)),
    newer(
        "-gpgpu_stack_size_limit",
        Int,
        "1024",
        "1024",
        NoEffect(REPORTED),
    ),
    newer(
        "-gpgpu_heap_size_limit",
        Int,
        "8388608",
        "8388608",
        NoEffect(REPORTED),
    ),
    newer("-gpgpu_cdp_enabled", Flag, "0", "0", Only("0", CDP)),
    newer(
        "-cdp_latency",
        Text,
        "7200,8000,100,12000,1600",
        "7200,8000,100,12000,1600",
        NoEffect(CDP),
    ),
    newer(
        "-gpgpu_runtime_sync_depth_limit",
        Int,
        "2",
        "2",
        NoEffect(CDP),
    ),
    newer(
        "-gpgpu_runtime_pending_launch_count_limit",
        Int,
        "2048",
        "2048",
        NoEffect(CDP),
    ),
    newer("-checkpoint_option", Int, "0", "0", Only("0", RESUME)),
    newer("-checkpoint_kernel", Int, "1", "1", NoEffect(RESUME)),
    newer("-checkpoint_CTA", Int, "0", "0", NoEffect(RESUME)),
    newer("-checkpoint_CTA_t", Int, "0", "0", NoEffect(RESUME)),
    newer("-checkpoint_insn_Y", Int, "0", "0", NoEffect(RESUME)),
    newer("-resume_option", Int, "0", "0", Only("0", RESUME)),
    newer("-resume_kernel", Int, "0", "0", NoEffect(RESUME)),
    newer("-resume_CTA", Int, "0", "0", NoEffect(RESUME)),
    // Run control.
    both("-gpgpu_max_cycle", Int, "0", Only("0", EARLY)),
    both("-gpgpu_max_insn", Int, "0", Only("0", EARLY)),
    both("-gpgpu_max_cta", Int, "0", Only("0", EARLY)),
    newer("-gpgpu_max_completed_cta", Int, "0", "0", Only("0", EARLY)),
    both(
        "-gpgpu_deadlock_detect",
        Flag,
        "1",
        NoEffect("deadlocks are always found and reported"),
    ),
    // Statistics, logs, traces.
    both("-gpgpu_runtime_stat", Text, "10000:0", NoEffect(STATISTICS)),
    both("-gpgpu_memlatency_stat", Int, "0", NoEffect(STATISTICS)),
    both("-gpgpu_warpdistro_shader", Int, "-1", NoEffect(STATISTICS)),
    both("-gpgpu_warp_issue_shader", Int, "0", NoEffect(STATISTICS)),
    both("-gpgpu_cflog_interval", Int, "0", NoEffect(STATISTICS)),
    both(
        "-gpgpu_ptx_instruction_classification",
        Int,
        "0",
        NoEffect(STATISTICS),
    ),
    both(
        "-enable_ptx_file_line_stats",
        Flag,
        "1",
        NoEffect(STATISTICS),
    ),
    both(
        "-ptx_line_stats_filename",
        Text,
        "gpgpu_inst_stats.txt",
        NoEffect(STATISTICS),
    ),
    both("-liveness_message_freq", Int, "1", NoEffect(TRACE)),
    both("-gpgpu_ptx_inst_debug_to_file", Flag, "0", NoEffect(TRACE)),
    both(
        "-gpgpu_ptx_inst_debug_file",
        Text,
        "inst_debug.txt",
        NoEffect(TRACE),
    ),
    both(
        "-gpgpu_ptx_inst_debug_thread_uid",
        Int,
        "1",
        NoEffect(TRACE),
    ),
    both("-visualizer_enabled", Flag, "1", NoEffect(TRACE)),
    bare("-visualizer_outputfile", true, NoEffect(TRACE)),
    both("-visualizer_zlevel", Int, "6", NoEffect(TRACE)),
    both("-trace_enabled", Flag, "0", NoEffect(TRACE)),
    both("-trace_components", Text, "none", NoEffect(TRACE)),
    both("-trace_sampling_core", Int, "0", NoEffect(TRACE)),
    both(
        "-trace_sampling_memory_partition",
        Int,
        "-1",
        NoEffect(TRACE),
    ),
    // Power.
    both("-power_simulation_enabled", Flag, "0", NoEffect(POWER)),
    newer("-power_simulation_mode", Int, "0", "0", NoEffect(POWER)),
    both("-power_per_cycle_dump", Flag, "0", NoEffect(POWER)),
    both("-power_trace_enabled", Flag, "0", NoEffect(POWER)),
    both("-power_trace_zlevel", Int, "6", NoEffect(POWER)),
    both("-steady_power_levels_enabled", Flag, "0", NoEffect(POWER)),
    both("-steady_state_definition", Text, "8:4", NoEffect(POWER)),
    split(
        "-accelwattch_xml_file",
        Text,
        "gpuwattch.xml",
        "accelwattch_sass_sim.xml",
        NoEffect(POWER),
    )
    .also(&["-gpuwattch_xml_file"]),
    newer(
        "-hw_perf_file_name",
        Text,
        "hw_perf.csv",
        "hw_perf.csv",
        NoEffect(POWER),
    ),
    bare("-hw_perf_bench_name", false, NoEffect(POWER)),
    newer("-dvfs_enabled", Flag, "0", "0", NoEffect(POWER)),
    newer("-aggregate_power_stats", Flag, "0", "0", NoEffect(POWER)),
    both("-gpgpu_clock_gated_reg_file", Flag, "0", NoEffect(POWER)),
    both("-gpgpu_clock_gated_lanes", Flag, "0", NoEffect(POWER)),
    both("-n_regfile_gating_group", Int, "4", NoEffect(POWER)),
    newer(
        "-accelwattch_hybrid_perfsim_L1_RH",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L1_RM",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L1_WH",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L1_WM",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L2_RH",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L2_RM",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L2_WH",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_L2_WM",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_CC_ACC",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_SHARED_ACC",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_DRAM_RD",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_DRAM_WR",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_NOC",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_PIPE_DUTY",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_NUM_SM_IDLE",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_CYCLES",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    newer(
        "-accelwattch_hybrid_perfsim_VOLTAGE",
        Flag,
        "0",
        "0",
        NoEffect(POWER),
    ),
    // Accel-Sim's trace mode.
    bare("-trace", false, NotModelled(SASS)),
    bare(
        "-trace_opcode_latency_initiation_int",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_sp",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_dp",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_sfu",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_tensor",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_1",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_2",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_3",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_4",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_5",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_6",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_7",
        false,
        NotModelled(SASS),
    ),
    bare(
        "-trace_opcode_latency_initiation_spec_op_8",
        false,
        NotModelled(SASS),
    ),
];

/// Index of the option of that name or alias.
pub(super) fn find(name: &str) -> Option<usize> {
    OPTIONS
        .iter()
        .position(|row| row.name == name || row.aliases.contains(&name))
}

/// Every name and alias.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS
        .iter()
        .flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()))
}

/// Documentation of the options by what becomes of them, as Markdown.
pub fn options_markdown() -> String {
    let mut text = String::from(
        "# GPGPU-Sim's options and what becomes of them\n\n\
         Generated from the importer's table (`warploom import`). The defaults are those that\n\
         GPGPU-Sim registers, or what its source does where it has no such option.\n",
    );
    section(&mut text, "Carried", "keys", |fate| match fate {
        Key(key) => Some(format!("`{key}`")),
        Into(keys) => Some(keys.to_owned()),
        _ => None,
    });
    section(
        &mut text,
        "Modelled with one value only",
        "otherwise",
        |fate| match fate {
            Only(value, meaning) => Some(format!("only `{value}`: {meaning}")),
            _ => None,
        },
    );
    section(
        &mut text,
        "Not modelled",
        "what that means",
        |fate| match fate {
            NotModelled(meaning) => Some(meaning.to_owned()),
            _ => None,
        },
    );
    section(
        &mut text,
        "Without effect by design",
        "why",
        |fate| match fate {
            NoEffect(why) => Some(why.to_owned()),
            _ => None,
        },
    );
    text.push_str(
        "\n## The network's file\n\n\
         BookSim's settings, read with `-network_mode 1`.\n\n\
         | setting | default | what becomes of it |\n|---|---|---|\n",
    );
    text.push_str(&keys_markdown());
    text
}

fn section(text: &mut String, title: &str, column: &str, cell: impl Fn(Fate) -> Option<String>) {
    let _ = write!(
        text,
        "\n## {title}\n\n| option | other names | default 4.2 | 3.2.2 | {column} |\n|---|---|---|---|---|\n"
    );
    for row in OPTIONS {
        let Some(cell) = cell(row.fate) else { continue };
        let aliases: Vec<_> = row
            .aliases
            .iter()
            .map(|alias| format!("`{alias}`"))
            .collect();
        let default = |value: Option<&str>| value.map_or(String::new(), |v| format!("`{v}`"));
        let v3 = match row.in_v3 {
            true => default(row.v3),
            false => "not there".to_owned(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {v3} | {cell} |",
            row.name,
            aliases.join(", "),
            default(row.v4)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, Kind, OPTIONS, names};
    use crate::gpgpusim::number::whole;
    use crate::keys::keys;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_values_fit_their_types() {
        let all: Vec<_> = names().collect();
        assert!(all.len() > 240, "{}", all.len());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for row in OPTIONS {
            assert!(row.name.starts_with('-'), "{}", row.name);
            for value in [row.v3, row.v4].into_iter().flatten() {
                let fits = match row.kind {
                    Kind::Flag => ["0", "1"].contains(&value),
                    Kind::Int => whole(value).is_some(),
                    Kind::Text => !value.is_empty(),
                };
                assert!(fits, "{} {value}", row.name);
            }
        }
    }

    #[test]
    fn carried_options_name_keys_that_exist() {
        let keys = keys();
        for row in OPTIONS {
            if let Fate::Key(name) = row.fate {
                assert!(keys.iter().any(|key| key.name == name), "{name}");
            }
        }
    }
}
