//! Counters of a run as numbers of events.

use warploom_config::GpuSpec;
use warploom_stats::result::Counts;

/// Counts of a GPU in an interval: a whole run, a launch, or a window of core cycles.
#[derive(Clone, Copy)]
pub struct Activity<'a> {
    /// Counters by the registry's names.
    pub counts: &'a Counts,
    /// Length of the interval in core cycles.
    pub cycles: u64,
    /// Core clock in Hz.
    pub core_hz: f64,
    /// Number of SMs of the GPU.
    pub sms: u32,
    /// True if inactive lanes of a warp use no energy; otherwise a part of them counts.
    pub gated_lanes: bool,
}

/// Units whose inactive lanes count by three quarters where lanes are not gated: they share the
/// multiplier and the special function units. Of all other units half of them counts.
const SHARED_UNITS: [&str; 8] = [
    "int_mul32",
    "int_div",
    "fp_div",
    "sqrt",
    "log",
    "sin",
    "exp",
    "dp_div",
];

impl<'a> Activity<'a> {
    /// The activity of an interval on a machine.
    pub fn new(spec: &GpuSpec, counts: &'a Counts, cycles: u64, gated_lanes: bool) -> Self {
        Self {
            counts,
            cycles,
            core_hz: f64::from(spec.clocks.core_khz) * 1e3,
            sms: spec.gpu.sms,
            gated_lanes,
        }
    }

    /// Returns the length in seconds.
    pub fn seconds(&self) -> f64 {
        self.cycles as f64 / self.core_hz
    }

    /// Cycles in which SMs held blocks, summed over SMs.
    pub fn active_sm_cycles(&self) -> f64 {
        self.count("sm.active_cycles")
    }

    /// Cycles in which SMs held no block, summed over SMs.
    pub fn idle_sm_cycles(&self) -> f64 {
        (self.cycles as f64 * f64::from(self.sms) - self.active_sm_cycles()).max(0.0)
    }

    /// Returns a counter; 0 if it was not counted.
    pub(crate) fn count(&self, name: &str) -> f64 {
        self.counts.get(name).copied().unwrap_or(0) as f64
    }

    /// Lanes that used energy in a unit.
    pub(crate) fn lanes(&self, unit: &str) -> f64 {
        let active = self.active_lanes(unit);
        if self.gated_lanes {
            return active;
        }
        let warps = self.count(&format!("sm.unit_warps.{unit}"));
        let share = match SHARED_UNITS.contains(&unit) {
            true => 0.75,
            false => 0.5,
        };
        active + share * (32.0 * warps - active)
    }

    /// Active lanes of instructions of a unit.
    pub(crate) fn active_lanes(&self, unit: &str) -> f64 {
        self.count(&format!("sm.unit_lanes.{unit}"))
    }

    /// Active lanes of a warp instruction that executes in a unit, in the mean; 0 without any.
    pub(crate) fn lanes_per_warp(&self) -> f64 {
        let sum = |prefix: &str| -> f64 {
            let of_units = self
                .counts
                .iter()
                .filter(|(name, _)| name.starts_with(prefix));
            of_units.map(|(_, count)| *count as f64).sum()
        };
        match sum("sm.unit_warps.") {
            0.0 => 0.0,
            warps => sum("sm.unit_lanes.") / warps,
        }
    }

    /// Lanes that pass the pipeline's last stage.
    pub(crate) fn pipeline_lanes(&self) -> f64 {
        match self.gated_lanes {
            true => self.count("sm.thread_instructions"),
            false => 32.0 * self.count("sm.warp_instructions"),
        }
    }

    /// Hits of an L1 cache as GPGPU-Sim's power model counts them: an access that merges into a
    /// pending miss is a hit.
    pub(crate) fn hits(&self, cache: &str, kinds: &[&str]) -> f64 {
        self.accesses(cache, &["hit", "mshr_hit"], kinds)
    }

    /// Misses of an L1 cache as GPGPU-Sim's power model counts them: accesses less hits, where an
    /// access that merged into a pending miss was counted as a miss once and as a hit once.
    pub(crate) fn misses(&self, cache: &str, kinds: &[&str]) -> f64 {
        let all = self.accesses(cache, &["hit", "miss", "sector_miss"], kinds);
        all - self.hits(cache, kinds)
    }

    pub(crate) fn l2_hits(&self, kinds: &[&str]) -> f64 {
        self.accesses("l2", &["hit", "hit_reserved"], kinds)
    }

    pub(crate) fn l2_misses(&self, kinds: &[&str]) -> f64 {
        self.accesses("l2", &["miss", "sector_miss"], kinds)
    }

    pub(crate) fn dram_reads(&self) -> f64 {
        self.count("dram.reads") + self.count("dram.allocate_reads")
    }

    pub(crate) fn dram_writes(&self) -> f64 {
        self.count("dram.writes") + self.count("dram.write_backs")
    }

    fn accesses(&self, cache: &str, outcomes: &[&str], kinds: &[&str]) -> f64 {
        let of = |outcome: &&str| -> f64 {
            let one = |kind: &&str| self.count(&format!("{cache}.accesses.{outcome}.{kind}"));
            kinds.iter().map(one).sum()
        };
        outcomes.iter().map(of).sum()
    }
}
