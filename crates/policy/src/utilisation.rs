//! Utilisation of each part's throughput (section 4.1 of the paper).
//!
//! - Scheduler: instructions issued over the cycles of all schedulers.
//! - L1D, L2: time in which the data port moves data of hits, which port width and request size
//!   give, over all time. The port of an L2 bank that recovers from a write is in use. An L1D with
//!   a latency queue (4.x) looks up one transaction a bank and cycle; there the banks are the port.
//! - Interconnect, each direction: flits over what the network sustains. A flit takes its wire for
//!   a cycle, however much of it a packet fills.
//! - DRAM: cycles with data on the bus over all cycles.
//! - Register file and shared memory: banks' reads over what the banks can read; cycles of
//!   accesses, conflicts included, over all cycles.
//!
//! A transfer counts where it begins, and traffic that is not uniform can pass what uniform traffic
//! sustains: where a quotient is above 1, the part is busy all the time and the utilisation is 1.

use serde::Serialize;
use warploom_config::{Bandwidth, GpuSpec, Peaks};
use warploom_stats::result::Counts;

/// A part whose throughput can bound a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Warp schedulers of all SMs.
    Scheduler,
    /// Data ports of the L1 data caches.
    L1d,
    /// All L2 banks: their data ports, and the time in which they recover from writes.
    L2,
    /// Interconnect from the SMs to L2.
    NocToL2,
    /// Interconnect from L2 to the SMs.
    NocToSm,
    /// Data buses of DRAM.
    Dram,
}

impl Part {
    /// All parts, in the order of the paper's figure.
    pub const ALL: [Self; 6] = [
        Self::Scheduler,
        Self::L1d,
        Self::L2,
        Self::NocToL2,
        Self::NocToSm,
        Self::Dram,
    ];

    /// Key of the part in results.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::L1d => "l1d",
            Self::L2 => "l2",
            Self::NocToL2 => "noc_to_l2",
            Self::NocToSm => "noc_to_sm",
            Self::Dram => "dram",
        }
    }

    /// Name of the part in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "warp schedulers",
            Self::L1d => "L1 data cache port",
            Self::L2 => "L2 banks",
            Self::NocToL2 => "network from the SMs to L2",
            Self::NocToSm => "network from L2 to the SMs",
            Self::Dram => "DRAM",
        }
    }
}

/// Utilisation of each part, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the parts' names; see Part")]
pub struct Utilisation {
    pub scheduler: f64,
    pub l1d: f64,
    pub l2: f64,
    pub noc_to_l2: f64,
    pub noc_to_sm: f64,
    pub dram: f64,
    /// Reads of the register file, which bounds none of the paper's kernels and is in none of its
    /// classes.
    pub registers: f64,
    /// Shared memory, for which the same holds.
    pub shared: f64,
}

impl Utilisation {
    /// Utilisation of one part.
    pub const fn of(&self, part: Part) -> f64 {
        match part {
            Part::Scheduler => self.scheduler,
            Part::L1d => self.l1d,
            Part::L2 => self.l2,
            Part::NocToL2 => self.noc_to_l2,
            Part::NocToSm => self.noc_to_sm,
            Part::Dram => self.dram,
        }
    }

    /// Utilisation with the parts of SMs used `in_sms` times as much, and L2, the network and DRAM
    /// `outside` times; at most 1.
    #[must_use]
    pub fn times(&self, in_sms: f64, outside: f64) -> Self {
        let inner = |used: f64| (used * in_sms).min(1.0);
        let outer = |used: f64| (used * outside).min(1.0);
        Self {
            scheduler: inner(self.scheduler),
            l1d: inner(self.l1d),
            l2: outer(self.l2),
            noc_to_l2: outer(self.noc_to_l2),
            noc_to_sm: outer(self.noc_to_sm),
            dram: outer(self.dram),
            registers: inner(self.registers),
            shared: inner(self.shared),
        }
    }
}

/// Data that passes a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Throughput that the time in which the part moves data is worth, in 10^9 bytes per second.
    pub used_gb_per_s: f64,
    /// Throughput that the part can sustain: the peak, except for the interconnect.
    pub sustainable_gb_per_s: f64,
    /// Peak throughput of the part.
    pub peak_gb_per_s: f64,
}

/// Data that passes each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the parts' names; see Part")]
pub struct Throughputs {
    pub l1d: Throughput,
    pub l2: Throughput,
    pub noc_to_l2: Throughput,
    pub noc_to_sm: Throughput,
    pub dram: Throughput,
}

impl Throughputs {
    /// Throughput of one part; `None` for the schedulers, which move no data.
    pub const fn of(&self, part: Part) -> Option<Throughput> {
        match part {
            Part::Scheduler => None,
            Part::L1d => Some(self.l1d),
            Part::L2 => Some(self.l2),
            Part::NocToL2 => Some(self.noc_to_l2),
            Part::NocToSm => Some(self.noc_to_sm),
            Part::Dram => Some(self.dram),
        }
    }
}

/// Machine whose utilisation is computed from counters.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// Specification of the machine.
    pub spec: &'a GpuSpec,
    /// Share of the interconnect's peak that it sustains (`warploom_noc::sustainable`).
    pub sustainable: f64,
    peaks: Peaks,
}

impl<'a> Machine<'a> {
    /// A machine whose interconnect sustains a share of its peak, above 0 and at most 1.
    pub fn new(spec: &'a GpuSpec, sustainable: f64) -> Self {
        assert!(sustainable > 0.0 && sustainable <= 1.0, "a share");
        Self {
            spec,
            sustainable,
            peaks: spec.peaks(),
        }
    }

    /// Utilisations over `cycles` core cycles in which the machine counted `counts`.
    pub fn utilisation(&self, cycles: u64, counts: &Counts) -> Utilisation {
        let sm = &self.spec.sm;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let sms = cycles as f64 * f64::from(self.spec.gpu.sms);
        let l2_per_core = f64::from(self.peaks.l2.clock_khz) / f64::from(self.spec.clocks.core_khz);
        let collectors = sm.collectors.banks * sm.collectors.steps_per_cycle;
        let network = |direction: &str| {
            let wires = get(&format!("{direction}.cycles")) * f64::from(self.peaks.noc.parts);
            share(get(&format!("{direction}.flits")), wires * self.sustainable)
        };
        Utilisation {
            scheduler: share(get("sm.warp_instructions"), sms * f64::from(sm.schedulers)),
            l1d: match sm.l1d_latency_cycles {
                0 => share(get("l1d.data_port_hits"), sms),
                _ => share(hits(counts, "l1d"), sms * f64::from(sm.l1d_banks)),
            },
            l2: share(
                get("l2.data_port_hits") + get("partition.write_recovery_cycles"),
                cycles as f64 * l2_per_core * f64::from(self.peaks.l2.parts),
            ),
            noc_to_l2: network("noc_to_l2"),
            noc_to_sm: network("noc_to_sm"),
            dram: share(get("dram.data_cycles"), get("dram.cycles")),
            registers: share(get("sm.register_reads"), sms * f64::from(collectors)),
            shared: share(
                get("sm.shared_instructions") + get("sm.shared_conflict_cycles"),
                sms * f64::from(sm.mem_unit_ports),
            ),
        }
    }

    /// Bandwidths of the parts with these utilisations, which come from `counts`.
    pub fn throughputs(&self, utilisation: &Utilisation, counts: &Counts) -> Throughputs {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let (moves, recovers) = (
            get("l2.data_port_hits"),
            get("partition.write_recovery_cycles"),
        );
        let of = |part: Part, peak: &Bandwidth, sustainable: f64| {
            let peak = peak.gigabytes_per_second();
            let moving = match part {
                Part::L2 => utilisation.l2 * share(moves, moves + recovers),
                part => utilisation.of(part),
            };
            Throughput {
                used_gb_per_s: moving * sustainable * peak,
                sustainable_gb_per_s: sustainable * peak,
                peak_gb_per_s: peak,
            }
        };
        let peaks = &self.peaks;
        Throughputs {
            l1d: of(Part::L1d, &peaks.l1d, 1.0),
            l2: of(Part::L2, &peaks.l2, 1.0),
            noc_to_l2: of(Part::NocToL2, &peaks.noc, self.sustainable),
            noc_to_sm: of(Part::NocToSm, &peaks.noc, self.sustainable),
            dram: of(Part::Dram, &peaks.dram, 1.0),
        }
    }
}

/// Names, or prefixes of names, of the counters from which utilisations are computed.
const NEEDED: [&str; 14] = [
    "sm.warp_instructions",
    "sm.register_reads",
    "sm.shared_instructions",
    "sm.shared_conflict_cycles",
    "l1d.data_port_hits",
    "l1d.accesses.hit.",
    "l2.data_port_hits",
    "partition.write_recovery_cycles",
    "noc_to_l2.cycles",
    "noc_to_l2.flits",
    "noc_to_sm.cycles",
    "noc_to_sm.flits",
    "dram.cycles",
    "dram.data_cycles",
];

/// True if utilisations are computed from this counter.
pub fn is_needed(name: &str) -> bool {
    NEEDED.iter().any(|needed| match needed.ends_with('.') {
        true => name.starts_with(needed),
        false => name == *needed,
    })
}

/// Number of accesses to a cache that hit.
pub fn hits(counts: &Counts, cache: &str) -> f64 {
    sum(counts, &format!("{cache}.accesses.hit."))
}

/// Sum of the counters whose names begin with `prefix`.
pub fn sum(counts: &Counts, prefix: &str) -> f64 {
    let from = counts.range(prefix.to_owned()..);
    let same = from.take_while(|(name, _)| name.starts_with(prefix));
    same.map(|(_, count)| *count as f64).sum()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (part / whole).min(1.0)
    } else {
        0.0
    }
}
