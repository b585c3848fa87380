//! Specifications for tests: the memory side of GPGPU-Sim's GTX480 and QV100 configurations. The
//! values of SMs do not matter here.

use crate::{AccessKind, Request};
use warploom_config::*;

/// A read of `bytes` at `addr`.
pub(crate) fn read(addr: u64, bytes: u16) -> Request {
    Request::new(AccessKind::GlobalRead, addr, bytes)
}

/// A write of `bytes` at `addr`.
pub(crate) fn write(addr: u64, bytes: u16) -> Request {
    Request::new(AccessKind::GlobalWrite, addr, bytes)
}

/// A set-associative cache of whole lines: LRU, allocation on a miss, no write allocation.
pub(crate) fn cache_spec(sets: u32, ways: u32) -> CacheSpec {
    CacheSpec {
        enabled: true,
        sets,
        line_bytes: 128,
        ways,
        sectored: false,
        replacement: Replacement::Lru,
        write: WritePolicy::LocalBackGlobalEvict,
        allocate: AllocatePolicy::OnMiss,
        write_allocate: WriteAllocate::None,
        index: SetIndex::Linear,
        mshr: MshrKind::Associative,
        mshr_entries: 32,
        mshr_merge: 8,
        miss_queue: 8,
        result_fifo: 0,
        port_bytes: 128,
        write_ratio_percent: 0,
    }
}

/// Specification of the GTX480 of GPGPU-Sim 4.2.
pub(crate) fn fermi_spec() -> GpuSpec {
    let mut spec = any_spec();
    spec.partition.l2 = CacheSpec {
        sectored: true,
        write: WritePolicy::WriteBack,
        write_allocate: WriteAllocate::LazyFetchOnRead,
        mshr_entries: 256,
        mshr_merge: 4,
        miss_queue: 4,
        port_bytes: 32,
        ..cache_spec(64, 8)
    };
    spec
}

/// Specification of the QV100 of GPGPU-Sim 4.2.
pub(crate) fn volta_spec() -> GpuSpec {
    let mut spec = fermi_spec();
    spec.gpu.sms = 80;
    spec.gpu.channels = 32;
    spec.partition.l2 = CacheSpec {
        sets: 32,
        ways: 24,
        index: SetIndex::Ipoly,
        mshr_entries: 192,
        miss_queue: 32,
        ..spec.partition.l2
    };
    spec.partition.rop_cycles = 160;
    // ..RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS
    spec.partition.address_map = AddressMap {
        channel_bit: 8,
        bank_mask: 0x0000_7100,
        row_mask: 0x0fff_8000,
        column_mask: 0x0000_0eff,
        burst_mask: 0x1f,
    };
    spec.partition.channel_index = ChannelIndex::Ipoly;
    spec.dram = DramSpec {
        return_queue: 192,
        chips: 1,
        bus_bytes: 16,
        burst_length: 2,
        data_ratio: 2,
        dual_bus: true,
        timing: DramTiming {
            ccd: 1,
            rrd: 3,
            rcd: 12,
            ras: 28,
            rp: 12,
            rc: 40,
            cl: 12,
            wl: 2,
            cdlr: 3,
            wr: 10,
            ccdl: 2,
            rtpl: 3,
        },
        ..spec.dram
    };
    spec
}

fn any_spec() -> GpuSpec {
    let cache = cache_spec(32, 4);
    GpuSpec {
        name: "test".into(),
        clocks: ClockSpec {
            core_khz: 700_000,
            noc_khz: 700_000,
            l2_khz: 700_000,
            dram_khz: 924_000,
        },
        sm: any_sm(),
        l1d: cache,
        l1i: cache,
        l1c: cache,
        l1t: cache,
        noc: NocSpec {
            kind: NocKind::Fly,
            flit_bytes: 40,
            input_buffer: 64,
            output_buffer: 64,
            injection_buffer: 9,
            boundary_buffer: 16,
            virtual_channels: 1,
            input_speedup: 1,
            output_speedup: 1,
            internal_speedup_percent: 200,
            hop_cycles: 3,
            sustainable_percent: None,
        },
        partition: PartitionSpec {
            l2: cache,
            ideal_l2: false,
            exact_sectors: true,
            noc_to_l2: 64,
            l2_to_dram: 64,
            dram_to_l2: 64,
            l2_to_noc: 64,
            rop_cycles: 120,
            far_cycles: 0,
            fetch_bytes: 32,
            write_cycles: 1,
            partial_write_cycles: 1,
            dram_latency_cycles: 100,
            // ..RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS
            address_map: AddressMap {
                channel_bit: 8,
                bank_mask: 0x0000_e100,
                row_mask: 0x0fff_0000,
                column_mask: 0x0000_1eff,
                burst_mask: 0x3f,
            },
            channel_index: ChannelIndex::Consecutive,
        },
        dram: fermi_dram(),
        sim: SimSpec { skip_idle: true },
        gpu: DeviceSpec {
            sms: 15,
            sms_per_cluster: 1,
            gpcs: 1,
            channels: 6,
            sub_partitions_per_channel: 2,
            style: ModelStyle::V4,
            max_blocks_per_sm: None,
            block_scheduler: BlockSchedulerChoice::RoundRobin,
            sm_filter: SmFilterChoice::All,
            multiprogram: MultiprogramChoice::LeftOver,
            kernel_launch_cycles: 0,
            block_launch_cycles: 0,
            max_concurrent_kernels: 1,
            flush_l1_at_kernel_end: true,
            flush_l2_at_kernel_end: false,
            perfect_memory: false,
            compute_capability: 0,
            copies_warm_l2: true,
            link_cycles: 1,
            seed: 1,
        },
    }
}

fn fermi_dram() -> DramSpec {
    DramSpec {
        scheduler: DramScheduler::FrFcfs,
        queue: 64,
        return_queue: 116,
        chips: 2,
        bus_bytes: 4,
        burst_length: 8,
        data_ratio: 4,
        dual_bus: false,
        banks: 16,
        bank_groups: 4,
        group_by_low_bits: true,
        bank_index: BankIndex::Linear,
        free_turnaround: false,
        write_queue: WriteQueueSpec {
            size: 0,
            high: 28,
            low: 16,
        },
        timing: DramTiming {
            ccd: 2,
            rrd: 6,
            rcd: 12,
            ras: 28,
            rp: 12,
            rc: 40,
            cl: 12,
            wl: 4,
            cdlr: 5,
            wr: 12,
            ccdl: 3,
            rtpl: 2,
        },
    }
}

fn any_sm() -> SmSpec {
    SmSpec {
        l1d_one_line: false,
        shared_phases: false,
        folds_instructions: false,
        machine_instructions: false,
        root_latency_cycles: 0,
        guard_latency_cycles: 0,
        memory_issue_cycles: 0,
        branch_cycles: 0,
        instruction_order: InstructionOrder::Text,
        max_threads: 1536,
        max_blocks: 8,
        registers: 32768,
        register_granularity: 4,
        max_registers_per_thread: 63,
        shared_bytes: 49152,
        max_shared_bytes_per_block: 49152,
        adaptive_l1d: false,
        unified_kib: 0,
        shared_options_kib: SizeList(vec![0]),
        barriers_per_block: 16,
        schedulers: 2,
        warp_scheduler: WarpSchedulerChoice::Gto,
        context: ContextChoice::Resident,
        block_limit: BlockLimitChoice::Unlimited,
        l1d_allocation: L1dAllocation::Always,
        l1d_victims: L1dVictims::Nothing,
        max_issue_per_warp: 1,
        dual_issue_different_units: false,
        fetch_per_cycle: 1,
        instruction_bytes: 8,
        prefetched_code_lines: 0,
        code_latency_cycles: 0,
        perfect_const_cache: false,
        sub_cores: false,
        perfect_inst_const_cache: false,
        units: any_units(),
        products: Products::ByType,
        collectors: any_collectors(),
        writeback_width: 2,
        shared_banks: 32,
        shared_warp_parts: 1,
        shared_latency_cycles: 26,
        wide_shared_conflicts: false,
        shared_one_broadcast: false,
        shared_atomic_cycles: 0,
        latency_from: LatencyFrom::Unit,
        bulk_interval_cycles: 32,
        bulk_requests: 384,
        bulk_issue_cycles: 0,
        cluster_latency_cycles: 180,
        cluster_bytes_per_cycle: 20,
        warp_group_cycles: 0,
        warp_group_latency_cycles: 0,
        global_skips_l1d: false,
        l1d_latency_cycles: 35,
        l1d_banks: 1,
        l1d_bank_bytes: 32,
        l1d_bank_index: SetIndex::Linear,
        mem_unit_ports: 1,
        coalescing: Coalescing::SegmentsAndSectors,
        response_fifo: 2,
        ejection_fifo: 8,
        branch_order: BranchOrder::TakenFirst,
        divergence: Divergence::Stack,
    }
}

fn any_units() -> UnitSpecs {
    let unit = UnitSpec {
        count: 1,
        issue_width: 1,
        dispatch_width: 1,
    };
    let one = OpTiming {
        latency_cycles: 1,
        interval_cycles: 1,
    };
    let timing = TypeTiming {
        add: one,
        minmax: one,
        mul: one,
        mad: one,
        div: one,
    };
    UnitSpecs {
        sp: unit,
        dp: unit,
        int: unit,
        sfu: unit,
        tensor: unit,
        mem: unit,
        int_timing: timing,
        f32_timing: timing,
        f64_timing: timing,
        sfu_timing: one,
        tensor_timing: one,
        shuffle_timing: one,
    }
}

fn any_collectors() -> CollectorSpec {
    let set = CollectorSet {
        units: 1,
        in_ports: 1,
        out_ports: 1,
    };
    CollectorSpec {
        banks: 16,
        steps_per_cycle: 1,
        sp: set,
        dp: set,
        int: set,
        sfu: set,
        tensor: set,
        mem: set,
        general: set,
    }
}
