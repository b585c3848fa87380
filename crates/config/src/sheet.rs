//! Data sheet of a machine: its specification and what follows from it, as plain data for `warploom
//! show gpu`. Names of fields end in their units. Sizes are in bytes; 1 GB/s is 10^9 bytes per
//! second.

use crate::latency::Latencies;
use crate::occupancy::BlockNeeds;
use crate::peaks::{Bandwidth, Peaks, Rate};
use crate::print::Setting;
use crate::spec::{CacheSpec, DramSpec, GpuSpec};
use serde::Serialize;
use std::collections::BTreeMap;

/// Data sheet of one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields of the parts say what they are")]
pub struct Sheet {
    pub name: String,
    pub model: String,
    pub clocks: Clocks,
    pub sm: SmSheet,
    pub rates: Rates,
    pub bandwidths: Bandwidths,
    pub l1d: CacheSheet,
    pub l1i: CacheSheet,
    pub l1c: CacheSheet,
    pub l1t: CacheSheet,
    pub noc: NocSheet,
    pub l2: L2Sheet,
    pub dram: DramSheet,
    pub latencies: LatencySheet,
    pub occupancy: Occupancy,
}

/// Clocks of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the domains' names")]
pub struct Clocks {
    pub core_mhz: f64,
    pub noc_mhz: f64,
    pub l2_mhz: f64,
    pub dram_mhz: f64,
}

/// SMs and the resources of one of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmSheet {
    /// Number of SMs of the machine.
    pub count: u32,
    /// Number of warp schedulers.
    pub schedulers: u32,
    /// Instructions that a scheduler may take from a warp in a cycle.
    pub max_issue_per_warp: u32,
    /// True if schedulers own banks, collectors and units.
    pub sub_cores: bool,
    /// Number of hardware threads.
    pub max_threads: u32,
    /// Number of warp slots.
    pub max_warps: u32,
    /// Number of block slots.
    pub max_blocks: u32,
    /// Number of 32-bit registers.
    pub registers: u32,
    /// Size of the register file.
    pub registers_bytes: u32,
    /// Number of register-file banks.
    pub register_banks: u32,
    /// Registers are granted per thread in multiples of this.
    pub register_granularity: u32,
    /// Largest number of registers of a thread.
    pub max_registers_per_thread: u32,
    /// Size of shared memory.
    pub shared_bytes: u32,
    /// Number of banks of shared memory.
    pub shared_banks: u32,
    /// Largest amount of shared memory of a block.
    pub max_shared_bytes_per_block: u32,
    /// Number of execution units by kind; kinds that do not exist are left out.
    pub units: BTreeMap<&'static str, u32>,
}

/// Peak rates of instructions by class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Warp instructions of any kind per SM and core cycle.
    pub issue_per_sm_cycle: u32,
    /// Rate of f32 multiply-adds.
    pub f32: RateSheet,
    /// Rate of f64 multiply-adds.
    pub f64: RateSheet,
    /// Rate of integer additions.
    pub int: RateSheet,
    /// Rate of special functions.
    pub sfu: RateSheet,
    /// Memory instructions per SM and core cycle.
    pub memory_per_sm_cycle: u32,
}

/// Peak rate of a class of instructions; a multiply-add is two operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSheet {
    /// Warp instructions per SM and core cycle.
    pub per_sm_cycle: f64,
    /// Lane operations of all SMs in 10^9 per second.
    pub giga_ops_per_second: f64,
}

/// Bandwidths within SMs; other levels have their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the parts' names")]
pub struct Bandwidths {
    pub registers: BandwidthSheet,
    pub shared: BandwidthSheet,
    pub l1d: BandwidthSheet,
}

/// Bandwidth of the parts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandwidthSheet {
    /// Bytes per cycle of one part.
    pub bytes_per_cycle: u32,
    /// Number of parts of this kind.
    pub parts: u32,
    /// Bandwidth of all parts together.
    pub gb_per_second: f64,
}

/// Geometry of a cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the keys' names and meanings")]
pub struct CacheSheet {
    pub enabled: bool,
    pub size_bytes: u32,
    pub sets: u32,
    pub ways: u32,
    pub line_bytes: u32,
    pub sectored: bool,
    pub write: String,
    pub index: String,
    pub mshr_entries: u32,
    pub mshr_merge: u32,
    pub port_bytes: u32,
}

/// Networks between SMs and L2.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NocSheet {
    /// Kind of both networks, by name.
    pub kind: String,
    /// Number of ports on the side of the SMs.
    pub sm_ports: u32,
    /// Number of ports on the side of the L2 banks.
    pub l2_ports: u32,
    /// Size of a flit (local crossbar: of a packet).
    pub flit_bytes: u32,
    /// Bandwidth of each direction.
    pub per_direction: BandwidthSheet,
    /// Fraction of it that uniform traffic sustains, if known.
    pub sustainable_fraction: Option<f64>,
    /// Bandwidth that uniform traffic sustains, if known.
    pub sustainable_gb_per_second: Option<f64>,
}

/// All banks of L2 together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct L2Sheet {
    /// Size of all banks.
    pub size_bytes: u32,
    /// Number of banks of L2.
    pub banks: u32,
    /// Geometry of one bank.
    pub bank: CacheSheet,
    /// Bandwidth of hits in all banks.
    pub bandwidth: BandwidthSheet,
}

/// All DRAM channels together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DramSheet {
    /// Number of channels of the machine.
    pub channels: u32,
    /// Number of chips of a channel.
    pub chips_per_channel: u32,
    /// Number of banks of a channel.
    pub banks: u32,
    /// Number of bank groups of a channel.
    pub bank_groups: u32,
    /// Bytes that a column command moves.
    pub burst_bytes: u32,
    /// Requests that the scheduler holds; 0 stands for no limit.
    pub queue: u32,
    /// Bandwidth of the data bus.
    pub bandwidth: BandwidthSheet,
    /// Timing parameters by their usual names.
    pub timing: Vec<TimingSheet>,
}

/// Timing parameter of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimingSheet {
    /// Usual name of the parameter.
    pub name: &'static str,
    /// Time in command cycles.
    pub cycles: u32,
    /// Time in nanoseconds at this clock.
    pub ns: f64,
}

/// Latencies of loads on an idle machine; see [`Latencies`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the levels' names")]
pub struct LatencySheet {
    pub constant: TimeSheet,
    pub shared: TimeSheet,
    pub l1d: Option<TimeSheet>,
    pub l2: TimeSheet,
    pub dram: TimeSheet,
}

/// Time in two units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeSheet {
    /// Time in core cycles.
    pub cycles: u32,
    /// Time in nanoseconds at this clock.
    pub ns: f64,
}

/// Number of blocks that fit an SM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Occupancy {
    /// Numbers of threads of a block: the columns of `blocks`.
    pub block_threads: Vec<u32>,
    /// Rows by registers per thread.
    pub by_registers: Vec<RegisterRow>,
    /// Rows by number of blocks.
    pub by_shared: Vec<SharedRow>,
}

/// Blocks that fit with a number of registers per thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegisterRow {
    /// Number of registers per thread.
    pub registers_per_thread: u32,
    /// Blocks per SM, one for each column.
    pub blocks: Vec<u32>,
}

/// Shared memory with which a number of blocks fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SharedRow {
    /// Number of blocks per SM.
    pub blocks: u32,
    /// Largest amount of shared memory of each block.
    pub max_shared_bytes: u32,
}

impl Sheet {
    /// Computes the sheet of a machine.
    pub fn new(spec: &GpuSpec) -> Self {
        let peaks = spec.peaks();
        let settings = spec.settings();
        let cache = |table: &str, cache: &CacheSpec| cache_sheet(cache, table, &settings);
        Self {
            name: spec.name.clone(),
            model: named(&settings, "gpu.style"),
            clocks: clocks(spec),
            sm: sm(spec),
            rates: rates(&peaks),
            bandwidths: Bandwidths {
                registers: peaks.registers.into(),
                shared: peaks.shared.into(),
                l1d: peaks.l1d.into(),
            },
            l1d: cache("l1d", &spec.l1d),
            l1i: cache("l1i", &spec.l1i),
            l1c: cache("l1c", &spec.l1c),
            l1t: cache("l1t", &spec.l1t),
            noc: noc(spec, &peaks, named(&settings, "noc.kind")),
            l2: L2Sheet {
                size_bytes: spec.l2_banks() * size_bytes(&spec.partition.l2),
                banks: spec.l2_banks(),
                bank: cache("l2", &spec.partition.l2),
                bandwidth: peaks.l2.into(),
            },
            dram: dram(spec, &peaks),
            latencies: latencies(&spec.latencies(), spec.clocks.core_khz),
            occupancy: occupancy(spec),
        }
    }
}

impl From<Bandwidth> for BandwidthSheet {
    fn from(peak: Bandwidth) -> Self {
        Self {
            bytes_per_cycle: peak.bytes_per_cycle,
            parts: peak.parts,
            gb_per_second: peak.gigabytes_per_second(),
        }
    }
}

impl From<Rate> for RateSheet {
    fn from(rate: Rate) -> Self {
        Self {
            per_sm_cycle: rate.per_sm_cycle,
            giga_ops_per_second: rate.giga_ops_per_second,
        }
    }
}

/// Value of a key whose values are names.
fn named(settings: &BTreeMap<String, Setting>, key: &str) -> String {
    match settings.get(key) {
        Some(Setting::Text(name)) => name.clone(),
        other => unreachable!("`{key}` is {other:?} and not a name"),
    }
}

fn mhz(khz: u32) -> f64 {
    f64::from(khz) / 1e3
}

fn ns(cycles: u32, khz: u32) -> f64 {
    f64::from(cycles) * 1e6 / f64::from(khz)
}

fn clocks(spec: &GpuSpec) -> Clocks {
    let clocks = spec.clocks;
    Clocks {
        core_mhz: mhz(clocks.core_khz),
        noc_mhz: mhz(clocks.noc_khz),
        l2_mhz: mhz(clocks.l2_khz),
        dram_mhz: mhz(clocks.dram_khz),
    }
}

fn sm(spec: &GpuSpec) -> SmSheet {
    let sm = &spec.sm;
    let units = [
        ("sp", sm.units.sp),
        ("dp", sm.units.dp),
        ("int", sm.units.int),
        ("sfu", sm.units.sfu),
        ("tensor", sm.units.tensor),
        ("mem", sm.units.mem),
    ];
    let existing = units.into_iter().filter(|(_, unit)| unit.count > 0);
    SmSheet {
        count: spec.gpu.sms,
        schedulers: sm.schedulers,
        max_issue_per_warp: sm.max_issue_per_warp,
        sub_cores: sm.sub_cores,
        max_threads: sm.max_threads,
        max_warps: sm.max_threads / 32,
        max_blocks: sm.max_blocks,
        registers: sm.registers,
        registers_bytes: 4 * sm.registers,
        register_banks: sm.collectors.banks,
        register_granularity: sm.register_granularity,
        max_registers_per_thread: sm.max_registers_per_thread,
        shared_bytes: sm.shared_bytes,
        shared_banks: sm.shared_banks,
        max_shared_bytes_per_block: sm.max_shared_bytes_per_block,
        units: existing.map(|(kind, unit)| (kind, unit.count)).collect(),
    }
}

fn rates(peaks: &Peaks) -> Rates {
    Rates {
        issue_per_sm_cycle: peaks.issue_per_sm_cycle,
        f32: peaks.f32.into(),
        f64: peaks.f64.into(),
        int: peaks.int.into(),
        sfu: peaks.sfu.into(),
        memory_per_sm_cycle: peaks.memory_per_sm_cycle,
    }
}

fn size_bytes(cache: &CacheSpec) -> u32 {
    cache.sets * cache.ways * cache.line_bytes
}

fn cache_sheet(cache: &CacheSpec, table: &str, settings: &BTreeMap<String, Setting>) -> CacheSheet {
    CacheSheet {
        enabled: cache.enabled,
        size_bytes: size_bytes(cache),
        sets: cache.sets,
        ways: cache.ways,
        line_bytes: cache.line_bytes,
        sectored: cache.sectored,
        write: named(settings, &format!("{table}.write")),
        index: named(settings, &format!("{table}.index")),
        mshr_entries: cache.mshr_entries,
        mshr_merge: cache.mshr_merge,
        port_bytes: cache.port_bytes,
    }
}

fn noc(spec: &GpuSpec, peaks: &Peaks, kind: String) -> NocSheet {
    let fraction = spec.noc_sustainable();
    NocSheet {
        kind,
        sm_ports: spec.gpu.sms,
        l2_ports: spec.l2_banks(),
        flit_bytes: spec.noc.flit_bytes,
        per_direction: peaks.noc.into(),
        sustainable_fraction: fraction,
        sustainable_gb_per_second: fraction.map(|f| f * peaks.noc.gigabytes_per_second()),
    }
}

fn dram(spec: &GpuSpec, peaks: &Peaks) -> DramSheet {
    let dram = &spec.dram;
    DramSheet {
        channels: spec.gpu.channels,
        chips_per_channel: dram.chips,
        banks: dram.banks,
        bank_groups: dram.bank_groups,
        burst_bytes: dram.chips * dram.bus_bytes * dram.burst_length,
        queue: dram.queue,
        bandwidth: peaks.dram.into(),
        timing: timing(dram, spec.clocks.dram_khz),
    }
}

fn timing(dram: &DramSpec, khz: u32) -> Vec<TimingSheet> {
    let t = &dram.timing;
    let parameters = [
        ("tCL", t.cl),
        ("tRCD", t.rcd),
        ("tRP", t.rp),
        ("tRAS", t.ras),
        ("tRC", t.rc),
        ("tRRD", t.rrd),
        ("tCCD", t.ccd),
        ("tCCDL", t.ccdl),
        ("tWL", t.wl),
        ("tWR", t.wr),
        ("tCDLR", t.cdlr),
        ("tRTPL", t.rtpl),
    ];
    let sheet = |(name, cycles)| TimingSheet {
        name,
        cycles,
        ns: ns(cycles, khz),
    };
    parameters.map(sheet).into()
}

fn latencies(of: &Latencies, khz: u32) -> LatencySheet {
    let time = |cycles| TimeSheet {
        cycles,
        ns: ns(cycles, khz),
    };
    LatencySheet {
        constant: time(of.constant),
        shared: time(of.shared),
        l1d: of.l1d.map(time),
        l2: time(of.l2),
        dram: time(of.dram),
    }
}

/// Occupancy at usual sizes, up to the limits of threads and blocks.
fn occupancy(spec: &GpuSpec) -> Occupancy {
    const BLOCKS: [u32; 8] = [32, 64, 128, 192, 256, 384, 512, 1024];
    const REGISTERS: [u32; 9] = [16, 20, 24, 32, 40, 48, 64, 96, 128];
    let sm = &spec.sm;
    let fit = |threads, registers, shared_bytes| {
        let needs = BlockNeeds::new(threads, registers, shared_bytes, sm);
        needs.blocks_per_sm(u64::MAX, sm, &spec.gpu).0
    };
    let block_threads: Vec<u32> = BLOCKS
        .into_iter()
        .filter(|&threads| threads <= sm.max_threads)
        .collect();
    let most = sm.max_registers_per_thread;
    let registers = REGISTERS.into_iter().filter(|&count| count < most);
    let row = |registers_per_thread| RegisterRow {
        registers_per_thread,
        blocks: block_threads
            .iter()
            .map(|&threads| fit(threads, registers_per_thread, 0))
            .collect(),
    };
    let shared = |blocks| SharedRow {
        blocks,
        max_shared_bytes: (sm.shared_bytes / blocks).min(sm.max_shared_bytes_per_block),
    };
    let powers = (0..).map(|power| 1 << power);
    Occupancy {
        by_registers: registers.chain([most]).map(row).collect(),
        by_shared: powers
            .take_while(|&blocks| blocks <= fit(32, 1, 0))
            .map(shared)
            .collect(),
        block_threads,
    }
}

#[cfg(test)]
mod tests {
    use super::Sheet;
    use crate::{PRESETS, preset};

    fn sheet(name: &str) -> Sheet {
        Sheet::new(&preset(name).unwrap_or_else(|errors| panic!("{errors}")))
    }

    /// Table 3 of Do et al. 2017: six blocks of 256 threads; CUDA's occupancy calculator for 2.0
    /// gives 4 blocks of 256 threads at 32 registers, and 8 of 64 threads at 20 or 63.
    #[test]
    fn occupancy_is_what_resources_allow() {
        let occupancy = sheet("gtx480").occupancy;
        let blocks = |registers: u32, threads: u32| {
            let column = occupancy.block_threads.iter().position(|&t| t == threads);
            let row = occupancy
                .by_registers
                .iter()
                .find(|r| r.registers_per_thread == registers);
            row.unwrap().blocks[column.unwrap()]
        };
        assert_eq!((blocks(20, 256), blocks(32, 256)), (6, 4));
        assert_eq!((blocks(20, 64), blocks(63, 64)), (8, 8));
        assert_eq!((blocks(16, 1024), blocks(63, 1024)), (1, 0));
        let shared: Vec<_> = occupancy
            .by_shared
            .iter()
            .map(|r| r.max_shared_bytes)
            .collect();
        assert_eq!(shared, [49152, 24576, 12288, 6144]);
    }

    #[test]
    fn times_are_in_both_units() {
        let sheet = sheet("maxwell-duet");
        assert_eq!(
            (sheet.latencies.dram.cycles, sheet.latencies.dram.ns),
            (450, 450.0)
        );
        let cl = sheet.dram.timing[0];
        assert_eq!((cl.name, cl.cycles, cl.ns), ("tCL", 12, 10.0));
    }

    #[test]
    fn levels_below_are_slower_on_every_preset() {
        for preset in PRESETS {
            let sheet = sheet(preset.name);
            let latencies = sheet.latencies;
            let l1d = latencies.l1d.map_or(0, |l1d| l1d.cycles);
            assert!(l1d < latencies.l2.cycles, "{}", preset.name);
            assert!(
                latencies.l2.cycles < latencies.dram.cycles,
                "{}",
                preset.name
            );
            assert_eq!(sheet.noc.sm_ports, sheet.sm.count);
        }
    }
}
