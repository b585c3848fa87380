//! How long a load takes on an idle machine, worked out from the specification stage by stage.

use crate::spec::{GpuSpec, ModelStyle, NocKind, NocSpec};

/// Header of a packet in bytes (GPGPU-Sim's control size).
const HEADER_BYTES: u32 = 8;
/// What one lane's load fetches from L2 in bytes, once shrunk to what is used.
const SECTOR_BYTES: u32 = 32;

/// Core cycles from the issue of a load whose address is in one register to the issue of the first
/// instruction that needs its result, with one warp on the machine. Of global loads, those that
/// go past L1D (`ld.global.cg`). Exact where all clocks are equal and else within two cycles,
/// for edges of the clocks lie anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Constant cache hit.
    pub constant: u32,
    /// Shared memory without conflicts.
    pub shared: u32,
    /// L1D hit; `None` without one.
    pub l1d: Option<u32>,
    /// L2 hit.
    pub l2: u32,
    /// L2 miss, to a DRAM bank without an open row.
    pub dram: u32,
}

impl GpuSpec {
    /// Latencies of loads on an idle machine.
    pub fn latencies(&self) -> Latencies {
        let (sm, front) = (&self.sm, self.to_first_try());
        // A shared-memory load is picked for write-back when its pipeline ends, and written a
        // cycle later. Caches hit in the cycle of the lookup.
        Latencies {
            constant: front,
            shared: front + sm.shared_latency_cycles + 1,
            l1d: self.l1d.enabled.then_some(front + sm.l1d_latency_cycles),
            l2: (f64::from(front) + self.l2_round_trip()).round() as u32,
            dram: (f64::from(front) + self.l2_round_trip() + self.dram_detour()).round() as u32,
        }
    }

    /// From issue to the load/store unit's first try: three steps of the collectors (entered,
    /// operand read, sent on), then taken into the unit and tried in the cycle after. In 3.2.2 the
    /// unit itself steps the collectors and takes what they send on in the same cycle, in 4.2 in
    /// the next.
    fn to_first_try(&self) -> u32 {
        let (steps, ports) = (self.sm.collectors.steps_per_cycle, self.sm.mem_unit_ports);
        match self.gpu.style {
            ModelStyle::V3 => 3u32.div_ceil(steps * ports) + 1,
            ModelStyle::V4 => 3u32.div_ceil(steps) + 2,
        }
    }

    /// From the unit's try to the write-back: link, network, the fixed delay less both links, a
    /// cycle for L2's lookup, one until the reply is given to the network, network, link; then it
    /// is taken in, picked for write-back, and written.
    fn l2_round_trip(&self) -> f64 {
        let request = network_cycles(&self.noc, HEADER_BYTES);
        let reply = network_cycles(&self.noc, HEADER_BYTES + SECTOR_BYTES);
        let in_network = f64::from(request + reply) * self.core_cycles(self.clocks.noc_khz);
        let lookup = self.core_cycles(self.clocks.l2_khz);
        in_network + f64::from(self.partition.rop_cycles) + lookup + 1.0 + 2.0
    }

    /// What a miss adds: two L2 cycles down (miss queue, and the queue's way to DRAM's arbiter),
    /// the fixed delay, DRAM, and an L2 cycle more for the reply to leave.
    fn dram_detour(&self) -> f64 {
        let l2 = 3.0 * self.core_cycles(self.clocks.l2_khz);
        let commands = f64::from(self.dram_read_cycles()) * self.core_cycles(self.clocks.dram_khz);
        l2 + f64::from(self.partition.dram_latency_cycles) + commands
    }

    /// Command cycles of a read of what L2 fetches from a bank without an open row: one until it
    /// is scheduled and activated, RCD to the first column, the further columns, CL, and one until
    /// it is returned.
    fn dram_read_cycles(&self) -> u32 {
        let (dram, l2) = (&self.dram, &self.partition.l2);
        let fetched = if l2.sectored {
            SECTOR_BYTES
        } else {
            l2.line_bytes
        };
        let columns = fetched.div_ceil(dram.chips * dram.bus_bytes * dram.burst_length);
        let apart = dram.timing.ccd.max(dram.timing.ccdl);
        1 + dram.timing.rcd + (columns - 1) * apart + dram.timing.cl + 1
    }

    /// Core cycles in one cycle of another clock.
    fn core_cycles(&self, khz: u32) -> f64 {
        f64::from(self.clocks.core_khz) / f64::from(khz)
    }
}

/// Network cycles from a packet's injection until it is at its output, without contention. Fly: a
/// cycle to inject and one for its channel, the router's pipeline, and the same behind it.
fn network_cycles(noc: &NocSpec, bytes: u32) -> u32 {
    let flits = bytes.div_ceil(noc.flit_bytes);
    match noc.kind {
        NocKind::LocalCrossbar => 1,
        NocKind::RandomCrossbar => flits + noc.hop_cycles.saturating_sub(1),
        NocKind::Fly => {
            let router = (noc.hop_cycles * 100).div_ceil(noc.internal_speedup_percent);
            2 + router + 2 + flits - 1
        }
    }
}
