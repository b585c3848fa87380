//! Peak rates of a machine, computed from its specification: instruction rates and bandwidths. All
//! comparisons of measurements with peaks use these.
//!
//! A peak is that of one part alone. Other effects, such as operand collectors, bank conflicts and
//! row misses, lower what a program reaches.

use crate::spec::{Coalescing, GpuSpec, ModelStyle, NocKind, OpTiming, SmSpec, UnitSpec};

/// Number of lanes of a warp.
const LANES: u32 = 32;
/// Number of instructions in one fetch (docs/model/sm.md, Fetch and decode).
const INSTRUCTIONS_PER_FETCH: u32 = 2;
/// Size in bytes of a register of a warp: 32 bits per lane.
const REGISTER_BYTES: u32 = 4 * LANES;

/// Bandwidth of the parts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Bytes per cycle of one part.
    pub bytes_per_cycle: u32,
    /// Number of parts of this kind.
    pub parts: u32,
    /// Clock of the cycles, in kHz.
    pub clock_khz: u32,
}

impl Bandwidth {
    /// Bytes per cycle of all parts together.
    pub fn total_bytes_per_cycle(&self) -> u64 {
        u64::from(self.bytes_per_cycle) * u64::from(self.parts)
    }

    /// Bandwidth of all parts together in 10^9 bytes per second.
    pub fn gigabytes_per_second(&self) -> f64 {
        per_second(self.total_bytes_per_cycle() as f64, self.clock_khz)
    }

    /// Fraction of the peak that `bytes` of all parts in `cycles` cycles of the clock make up.
    pub fn utilisation(&self, bytes: u64, cycles: u64) -> f64 {
        bytes as f64 / (self.total_bytes_per_cycle() as f64 * cycles as f64)
    }
}

/// Peak rate of one class of instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Warp instructions per core cycle of one SM.
    pub per_sm_cycle: f64,
    /// Lane operations of the GPU in 10^9 per second. A multiply-add counts as two.
    pub giga_ops_per_second: f64,
}

/// Peaks of all parts of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Warp instructions of any kind that the schedulers of one SM issue per core cycle.
    pub issue_per_sm_cycle: u32,
    /// Rate of f32 multiply-adds.
    pub f32: Rate,
    /// Rate of f64 multiply-adds.
    pub f64: Rate,
    /// Rate of integer additions.
    pub int: Rate,
    /// Rate of special functions, such as square roots and sines.
    pub sfu: Rate,
    /// Loads, stores and atomics that the load/store unit of an SM starts per core cycle.
    pub memory_per_sm_cycle: u32,
    /// Bandwidth of register-file reads, per SM.
    pub registers: Bandwidth,
    /// Bandwidth of shared memory, per SM: accesses of four bytes per lane without conflicts.
    pub shared: Bandwidth,
    /// Bandwidth of L1D hits, per SM; zero bytes without an L1D.
    pub l1d: Bandwidth,
    /// Bandwidth of one network, per port of the side with fewer ports.
    pub noc: Bandwidth,
    /// Bandwidth of L2 hits, per bank.
    pub l2: Bandwidth,
    /// Bandwidth of the DRAM data bus, per channel, in cycles of the command clock.
    pub dram: Bandwidth,
}

/// Fraction of its peak that an input-queued crossbar with random arbitration sustains under
/// uniform traffic, with `ports` inputs and outputs: packets wait for the head of their queue (M.
/// Karol, M. Hluchyj, S. Morgan, IEEE Transactions on Communications 35(12), 1987, Table I). Above
/// 8 ports the value approaches its limit 2 - sqrt(2) as 1/ports.
pub fn karol(ports: u32) -> f64 {
    const TABLE: [f64; 8] = [1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184];
    let limit = 2.0 - std::f64::consts::SQRT_2;
    let beyond = || limit + (TABLE[7] - limit) * 8.0 / f64::from(ports);
    let index = ports.saturating_sub(1) as usize;
    TABLE.get(index).copied().unwrap_or_else(beyond)
}

impl GpuSpec {
    /// Number of L2 banks, each with its own port to the network.
    pub fn l2_banks(&self) -> u32 {
        self.gpu.channels * self.gpu.sub_partitions_per_channel
    }

    /// Computes the peaks of all parts.
    pub fn peaks(&self) -> Peaks {
        let (sm, clocks, sms) = (&self.sm, &self.clocks, self.gpu.sms);
        let per_sm = |bytes_per_cycle| Bandwidth {
            bytes_per_cycle,
            parts: sms,
            clock_khz: clocks.core_khz,
        };
        let banks = self.l2_banks();
        let dram = &self.dram;
        Peaks {
            issue_per_sm_cycle: issue_width(sm),
            f32: self.rate(sm.units.sp, sm.units.f32_timing.mad, 2),
            f64: self.rate(self.f64_unit(), sm.units.f64_timing.mad, 2),
            int: self.rate(self.int_unit(), sm.units.int_timing.add, 1),
            sfu: self.rate(sm.units.sfu, sm.units.sfu_timing, 1),
            memory_per_sm_cycle: memory_width(sm),
            registers: per_sm(sm.collectors.banks * sm.collectors.steps_per_cycle * REGISTER_BYTES),
            shared: per_sm(
                4 * sm.shared_banks.min(LANES / sm.shared_warp_parts) * sm.mem_unit_ports,
            ),
            l1d: per_sm(self.l1d_bytes_per_cycle()),
            noc: Bandwidth {
                bytes_per_cycle: self.noc.flit_bytes,
                parts: sms.min(banks),
                clock_khz: clocks.noc_khz,
            },
            l2: Bandwidth {
                bytes_per_cycle: self.partition.l2.port_bytes,
                parts: banks,
                clock_khz: clocks.l2_khz,
            },
            dram: Bandwidth {
                bytes_per_cycle: dram.chips * dram.bus_bytes * dram.data_ratio,
                parts: self.gpu.channels,
                clock_khz: clocks.dram_khz,
            },
        }
    }

    /// Fraction of the network's peak that uniform random traffic sustains: that of the
    /// configuration, or that of theory ([`karol`]). `None` for other networks, which must be
    /// measured.
    pub fn noc_sustainable(&self) -> Option<f64> {
        if let Some(percent) = self.noc.sustainable_percent {
            return Some(f64::from(percent) / 100.0);
        }
        match self.noc.kind {
            NocKind::RandomCrossbar => Some(karol(self.gpu.sms.min(self.l2_banks()))),
            NocKind::LocalCrossbar | NocKind::TurnCrossbar | NocKind::Fly => None,
        }
    }

    /// Unit that executes f64 instructions: in 3.x SP, in 4.x DP, or SFU without one
    /// (docs/model/sm.md, Instruction classes).
    pub fn f64_unit(&self) -> UnitSpec {
        let units = &self.sm.units;
        match self.gpu.style {
            ModelStyle::V3 => self.int_unit(),
            ModelStyle::V4 if units.dp.count > 0 => units.dp,
            ModelStyle::V4 => units.sfu,
        }
    }

    /// Unit that executes integer instructions.
    pub fn int_unit(&self) -> UnitSpec {
        let units = &self.sm.units;
        if units.int.count > 0 {
            units.int
        } else {
            units.sp
        }
    }

    /// Warp instructions of one class that an SM can start per core cycle, as limited by issue,
    /// ports of the collectors, units and result bus.
    pub fn instructions_per_cycle(&self, unit: UnitSpec, timing: OpTiming) -> f64 {
        let widths = [
            issue_width(&self.sm),
            unit.issue_width,
            unit.dispatch_width,
            self.sm.writeback_width,
        ];
        let width = f64::from(widths.into_iter().min().unwrap_or(0));
        let units = f64::from(unit.count) / f64::from(timing.interval_cycles);
        width.min(units)
    }

    fn rate(&self, unit: UnitSpec, timing: OpTiming, operations: u32) -> Rate {
        let per_sm_cycle = self.instructions_per_cycle(unit, timing);
        let lanes = f64::from(LANES * operations * self.gpu.sms);
        Rate {
            per_sm_cycle,
            giga_ops_per_second: per_second(per_sm_cycle * lanes, self.clocks.core_khz),
        }
    }

    /// Bytes per cycle of L1D hits. Without a latency queue (3.x) an access occupies the data port.
    /// With one (4.x) each bank looks up one transaction per cycle, and the port is only counted.
    fn l1d_bytes_per_cycle(&self) -> u32 {
        let transaction = match self.sm.coalescing {
            Coalescing::Sectors => 32,
            Coalescing::SegmentsAndSectors if self.sm.global_skips_l1d => 32,
            Coalescing::Segments | Coalescing::SegmentsAndSectors => self.l1d.line_bytes,
        };
        match self.sm.l1d_latency_cycles {
            _ if !self.l1d.enabled => 0,
            0 => self.l1d.port_bytes,
            _ => self.sm.l1d_banks * transaction,
        }
    }
}

/// Warp instructions that all schedulers issue in a cycle, limited by fetch.
fn issue_width(sm: &SmSpec) -> u32 {
    (sm.schedulers * sm.max_issue_per_warp).min(INSTRUCTIONS_PER_FETCH * sm.fetch_per_cycle)
}

/// Number of memory instructions that reach the load/store unit in a cycle.
fn memory_width(sm: &SmSpec) -> u32 {
    let unit = sm.units.mem;
    let widths = [unit.issue_width, unit.dispatch_width, sm.mem_unit_ports];
    widths.into_iter().fold(issue_width(sm), u32::min)
}

/// Converts a rate per cycle to 10^9 per second.
fn per_second(per_cycle: f64, clock_khz: u32) -> f64 {
    per_cycle * f64::from(clock_khz) / 1e6
}

#[cfg(test)]
mod tests {
    use crate::{Base, GpuSpec, preset, resolve};

    fn gpu(name: &str) -> GpuSpec {
        preset(name).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn near(ours: f64, theirs: f64) {
        assert!((ours / theirs - 1.0).abs() < 1e-3, "{ours} is not {theirs}");
    }

    /// NVIDIA's figures for the GeForce GTX 480: 480 cores at 1401 MHz, two operations a cycle
    /// (1345 GFLOP/s, here at 1400 MHz: 1344), f64 at an eighth of that, 60 special-function units
    /// at 1400 MHz, 384 bits of GDDR5 at 3696 MT/s (177.4 GB/s).
    #[test]
    fn gtx480_has_its_data_sheets_peaks() {
        let peaks = gpu("gtx480").peaks();
        near(peaks.f32.giga_ops_per_second, 1344.0);
        near(peaks.f64.giga_ops_per_second, 168.0);
        near(peaks.dram.gigabytes_per_second(), 177.4);
        assert_eq!(peaks.issue_per_sm_cycle, 2);
        assert_eq!(peaks.f32.per_sm_cycle, 2.0);
        // 16 banks of 32 lanes; 32 banks of four bytes; a line; a flit for each of 12 partitions
        // and 15 SMs; 32 bytes for each of 12 banks.
        assert_eq!(peaks.registers.bytes_per_cycle, 2048);
        assert_eq!(peaks.shared.bytes_per_cycle, 128);
        assert_eq!(peaks.l1d.bytes_per_cycle, 128);
        assert_eq!(peaks.noc.total_bytes_per_cycle(), 384);
        near(peaks.noc.gigabytes_per_second(), 384.0 * 0.7);
        near(peaks.l2.gigabytes_per_second(), 384.0 * 0.7);
    }

    /// Quadro GV100: 5120 cores, 870 GB/s of HBM2 (4096 bits at 1.7 GT/s), f64 at half the rate of
    /// f32. At GPGPU-Sim's 1132 MHz the cores give 11.6 TFLOP/s; the data sheet's 14.8 TFLOP/s are
    /// at a boost of 1450 MHz.
    #[test]
    fn volta_has_its_data_sheets_peaks() {
        let gpu = gpu("qv100-volta");
        let peaks = gpu.peaks();
        near(peaks.f32.giga_ops_per_second, 5120.0 * 2.0 * 1.132);
        near(
            peaks.f32.giga_ops_per_second / peaks.f64.giga_ops_per_second,
            2.0,
        );
        near(peaks.dram.gigabytes_per_second(), 870.4);
        assert_eq!(peaks.l1d.bytes_per_cycle, 128);
    }

    /// The figure of GPUDuet: about 60% of the peak at 16 ports.
    #[test]
    fn crossbars_sustain_what_karol_found() {
        let crossbar = |ports: u32| {
            let sets = [
                "noc.kind=random-crossbar".to_owned(),
                format!("gpu.sms={ports}"),
                format!("gpu.channels={ports}"),
                "gpu.sub_partitions_per_channel=1".to_owned(),
            ];
            resolve(&Base::Preset("gtx480".to_owned()), &sets)
                .unwrap_or_else(|errors| panic!("{errors}"))
                .noc_sustainable()
                .expect("a crossbar")
        };
        assert_eq!(crossbar(2), 0.75);
        assert_eq!(crossbar(8), 0.6184);
        assert!((crossbar(16) - 0.6).abs() < 0.005);
        assert!((crossbar(256) - 0.586).abs() < 0.002);
        assert_eq!(gpu("gtx480").noc_sustainable(), None);
    }

    #[test]
    fn utilisation_is_a_share_of_the_peak() {
        let dram = gpu("gtx480").peaks().dram;
        // 32 bytes a channel and command cycle.
        assert_eq!(dram.utilisation(6 * 32 * 50, 100), 0.5);
    }
}
