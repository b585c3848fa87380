//! The presets of the papers have the values of the papers' tables, in the units of the tables.

use crate::{CacheSpec, DramScheduler, GpuSpec, NocKind, WarpSchedulerChoice, preset};

fn gpu(name: &str) -> GpuSpec {
    preset(name).unwrap_or_else(|errors| panic!("{errors}"))
}

fn kib(cache: &CacheSpec) -> u32 {
    cache.sets * cache.ways * cache.line_bytes / 1024
}

/// Returns tRRD, tRCD, tRAS, tRP, tRC and tCL.
fn timing(gpu: &GpuSpec) -> [u32; 6] {
    let t = gpu.dram.timing;
    [t.rrd, t.rcd, t.ras, t.rp, t.rc, t.cl]
}

/// Numbers of SMs, warp slots, block slots, KB of registers, KB of shared memory, schedulers.
fn sms(gpu: &GpuSpec) -> [u32; 6] {
    let sm = &gpu.sm;
    [
        gpu.gpu.sms,
        sm.max_threads / 32,
        sm.max_blocks,
        sm.registers * 4 / 1024,
        sm.shared_bytes / 1024,
        sm.schedulers,
    ]
}

fn l2_kib(gpu: &GpuSpec) -> u32 {
    gpu.l2_banks() * kib(&gpu.partition.l2)
}

/// Number of blocks of 256 threads with `registers` each that the registers of an SM hold.
fn blocks_of_256(gpu: &GpuSpec, registers: u32) -> u32 {
    gpu.sm.registers / (256 * registers.next_multiple_of(gpu.sm.register_granularity))
}

fn near(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 0.5, "{ours} is not {theirs}");
}

/// GPUDuet, Table 1. Its 98 KB of shared memory are 96, by section 6.6.
#[test]
fn maxwell_duet_is_table_1() {
    let gpu = gpu("maxwell-duet");
    assert_eq!(sms(&gpu), [16, 64, 32, 256, 96, 4]);
    assert_eq!(gpu.sm.warp_scheduler, WarpSchedulerChoice::Gto);
    assert_eq!(gpu.clocks.core_khz, 1_000_000);
    let l1d = &gpu.l1d;
    assert_eq!(
        (l1d.sets, l1d.ways, l1d.line_bytes, l1d.mshr_entries),
        (32, 8, 128, 256)
    );
    let l2 = &gpu.partition.l2;
    assert_eq!(
        (gpu.l2_banks(), kib(l2), l2.ways, l2.mshr_entries),
        (16, 128, 8, 256)
    );
    assert_eq!(gpu.noc.kind, NocKind::RandomCrossbar);
    let peaks = gpu.peaks();
    assert_eq!((peaks.noc.bytes_per_cycle, peaks.noc.parts), (32, 16));
    near(peaks.noc.gigabytes_per_second(), 614.0);
    near(peaks.dram.gigabytes_per_second(), 307.0);
    assert_eq!(peaks.issue_per_sm_cycle, 4);
    let latencies = gpu.latencies();
    assert_eq!((latencies.l2, latencies.dram), (200, 450));
    // 128 cores per SM with one multiply-add per cycle each.
    near(peaks.f32.giga_ops_per_second, 16.0 * 128.0 * 2.0);
    // Section 6.6's address map: 0x800 + 0x300 + 0x100 units of 128 bytes.
    let units = |bytes: u32| bytes / 128;
    assert_eq!(units(gpu.sm.registers * 4), 0x800);
    assert_eq!(units(gpu.sm.shared_bytes), 0x300);
    assert_eq!(units(kib(l1d) * 1024), 0x100);
}

/// Do et al. 2017, Tables 1 and 2, as decided in the comments of the preset.
#[test]
fn gtx480_is_tables_1_and_2() {
    let gpu = gpu("gtx480");
    assert_eq!(sms(&gpu), [15, 48, 8, 128, 48, 2]);
    assert_eq!((gpu.l1d.sets, gpu.l1d.ways, kib(&gpu.l1d)), (32, 4, 16));
    assert_eq!((gpu.l1i.sets, gpu.l1i.ways, kib(&gpu.l1i)), (4, 4, 2));
    let channel = gpu.gpu.sub_partitions_per_channel;
    let l2 = &gpu.partition.l2;
    assert_eq!(
        (gpu.gpu.channels, l2.sets, l2.ways * channel, l2_kib(&gpu)),
        (6, 64, 16, 768)
    );
    assert_eq!(
        (gpu.l2_banks(), gpu.dram.chips, gpu.dram.queue),
        (12, 2, 32)
    );
    let partition = &gpu.partition;
    assert_eq!(partition.rop_cycles, 120);
    assert_eq!(partition.rop_cycles + partition.dram_latency_cycles, 220);
    assert_eq!(timing(&gpu), [8, 12, 25, 10, 35, 10]);
    let noc = &gpu.noc;
    assert_eq!(
        (noc.kind, noc.flit_bytes, noc.virtual_channels),
        (NocKind::Fly, 32, 1)
    );
    assert_eq!(
        (noc.input_buffer, noc.input_speedup, noc.output_speedup),
        (8, 2, 1)
    );
    assert_eq!(noc.internal_speedup_percent, 100);
    near(gpu.peaks().dram.gigabytes_per_second(), 177.4);
}

/// Machine of CRAT, Table 2.
#[test]
fn fermi_crat_is_table_2() {
    let gpu = gpu("fermi-crat");
    assert_eq!(sms(&gpu), [15, 48, 8, 128, 48, 2]);
    assert_eq!(
        (gpu.clocks.core_khz, gpu.sm.collectors.banks),
        (700_000, 16)
    );
    assert_eq!((gpu.sm.shared_banks, gpu.sm.max_threads), (32, 1536));
    let l1d = &gpu.l1d;
    assert_eq!(
        (kib(l1d), l1d.ways, l1d.line_bytes, l1d.mshr_entries),
        (32, 4, 128, 32)
    );
    assert_eq!((l2_kib(&gpu), gpu.gpu.channels), (768, 6));
    assert_eq!(gpu.sm.warp_scheduler, WarpSchedulerChoice::Gto);
    near(gpu.peaks().f32.giga_ops_per_second, 15.0 * 32.0 * 2.0 * 1.4);
}

/// CRAT, section 7.3. CFD's (50, 5) with blocks of 256 threads needs registers granted singly.
#[test]
fn kepler_crat_has_twice_the_registers() {
    let (kepler, fermi) = (gpu("kepler-crat"), gpu("fermi-crat"));
    assert_eq!(sms(&kepler), [15, 64, 8, 256, 48, 2]);
    assert_eq!(blocks_of_256(&kepler, 50), 5);
    let mut rest = kepler;
    rest.sm.max_threads = fermi.sm.max_threads;
    rest.sm.registers = fermi.sm.registers;
    rest.name.clone_from(&fermi.name);
    assert_eq!(rest, fermi, "all else is Table 2");
}

/// Warped-Slicer, Table I, and registers and blocks of its Table II that fill an SM.
#[test]
fn fermi_slicer_is_table_1() {
    let gpu = gpu("fermi-slicer");
    assert_eq!(sms(&gpu), [16, 48, 8, 128, 48, 2]);
    assert_eq!(gpu.sm.warp_scheduler, WarpSchedulerChoice::Gto);
    assert_eq!(
        (gpu.clocks.core_khz, gpu.clocks.dram_khz),
        (700_000, 924_000)
    );
    assert_eq!(
        (kib(&gpu.l1d), gpu.l1d.ways, gpu.l1d.mshr_entries),
        (16, 4, 64)
    );
    let channel = kib(&gpu.partition.l2) * gpu.gpu.sub_partitions_per_channel;
    assert_eq!(
        (gpu.gpu.channels, channel, gpu.partition.l2.ways),
        (6, 128, 8)
    );
    assert_eq!(gpu.dram.scheduler, DramScheduler::FrFcfs);
    assert_eq!(timing(&gpu), [6, 12, 28, 12, 40, 12]);
    // 1.7 billion thread instructions of IMG in two million cycles are 850 a cycle; the machine
    // issues at most 1024.
    assert_eq!(gpu.peaks().issue_per_sm_cycle * 32 * gpu.gpu.sms, 1024);
}

/// Larger machine of Warped-Slicer, section V.H.
#[test]
fn fermi_slicer_large_has_larger_sms() {
    let (large, small) = (gpu("fermi-slicer-large"), gpu("fermi-slicer"));
    assert_eq!(sms(&large), [16, 64, 32, 256, 96, 2]);
    assert_eq!(
        (large.clocks, large.l1d, large.dram),
        (small.clocks, small.l1d, small.dram)
    );
}

/// Machine of Chen 2016, Table 4.1.
#[test]
fn fermi_locality_is_table_4_1() {
    let gpu = gpu("fermi-locality");
    assert_eq!(sms(&gpu), [15, 48, 8, 128, 48, 2]);
    assert_eq!(
        (kib(&gpu.l1d), gpu.l1d.ways, gpu.l1d.line_bytes),
        (16, 4, 128)
    );
    let l2 = &gpu.partition.l2;
    assert_eq!((l2_kib(&gpu), l2.ways, l2.line_bytes), (768, 8, 128));
    assert_eq!((gpu.gpu.channels, gpu.dram.queue), (6, 16));
    assert_eq!(gpu.dram.scheduler, DramScheduler::FrFcfs);
    assert_eq!(timing(&gpu), [6, 12, 28, 12, 40, 12]);
}
