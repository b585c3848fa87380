//! How long a load takes on an idle machine, worked out from the specification stage by stage.
//!
//! A load's way is a list of [`Stage`]s, each a few edges of one or more clocks. Where all clocks
//! are equal their sum is the latency; else it depends on where the clocks' edges lie, and
//! [`GpuSpec::walk`] follows them: a domain of `f` kHz has had floor((c + 1) f / core) edges by the
//! end of core cycle `c`, and within a core cycle the parts work in a fixed order
//! (docs/model/machine.md, Order within a cycle): replies out of the network, replies into it,
//! DRAM, L2, the network itself.

use crate::spec::{GpuSpec, ModelStyle, NocKind, NocSpec};

/// Header of a packet in bytes (GPGPU-Sim's control size).
const HEADER_BYTES: u32 = 8;
/// What one lane's load fetches from L2 in bytes, once shrunk to what is used, and L2's sectors.
const SECTOR_BYTES: u32 = 32;

/// Something that a load waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Core cycles.
    Core(u32),
    /// Cycles of the network in which a packet crosses it.
    Noc(u32),
    /// The network's cycle in which L2's reply is handed to it.
    Reply,
    /// L2 cycles.
    L2(u32),
    /// DRAM command cycles.
    Dram(u32),
}

/// A part of a load's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Which part.
    pub what: &'static str,
    /// What it waits for, in order.
    pub edges: Vec<Edge>,
    /// Where the numbers come from.
    pub how: String,
}

impl Stage {
    fn new(what: &'static str, edges: impl Into<Vec<Edge>>, how: impl Into<String>) -> Self {
        Self {
            what,
            edges: edges.into(),
            how: how.into(),
        }
    }
}

/// State of the DRAM bank that a load goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The load's row is open.
    Hit,
    /// No row is open.
    Closed,
    /// Another row is open, and has been for longer than RAS and RC.
    Conflict,
}

/// Core cycles from the issue of a load whose address is in one register to the issue of the first
/// instruction that needs its result, with one warp on the machine that makes such loads only. Of
/// global loads, those that go past L1D (`ld.global.cg`). A mean where the clocks differ.
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

/// Loads over which a mean is taken.
const LOADS: u64 = 64;

impl GpuSpec {
    /// Latencies of loads on an idle machine.
    pub fn latencies(&self) -> Latencies {
        let mean = |stages: &[Stage]| {
            let end = (0..LOADS).fold(0, |at, _| self.walk(stages, at));
            ((end as f64) / LOADS as f64).round() as u32
        };
        Latencies {
            constant: mean(&self.constant_hit()),
            shared: mean(&self.shared_load(1)),
            l1d: self.l1d_hit().map(|stages| mean(&stages)),
            l2: mean(&self.l2_hit()),
            dram: mean(&self.dram_load(Row::Closed)),
        }
    }

    /// An arithmetic instruction with one register source whose unit takes `latency` cycles: its
    /// result slot arrives after `latency`, goes to EX_WB and is written
    /// (docs/model/sm.md, Execution units).
    pub fn arithmetic(&self, latency: u32) -> Vec<Stage> {
        vec![
            self.collect(),
            Stage::new("unit takes it", [Edge::Core(1)], "1"),
            Stage::new("unit", [Edge::Core(latency)], "latency"),
            Stage::new("result bus and write-back", [Edge::Core(2)], "1 + 1"),
        ]
    }

    /// A load from the constant cache that hits: the destination is free in the cycle of the try.
    pub fn constant_hit(&self) -> Vec<Stage> {
        vec![self.collect(), self.first_try()]
    }

    /// A texture read that hits, whose four results go to `registers`. The access passes the
    /// cache's FIFOs: it is looked up when tried and moves to the results in the cycle after. A
    /// bank of registers is written once a cycle: results that share a bank come one by one.
    pub fn texture_hit(&self, registers: [u32; 4]) -> Vec<Stage> {
        let parts = match self.sm.sub_cores {
            true => self.sm.schedulers,
            false => 1,
        };
        let banks = self.sm.collectors.banks / parts;
        let in_bank = |register: &u32| {
            let same = |other: &&u32| *other % banks == register % banks;
            registers.iter().filter(same).count() as u32
        };
        let writes = registers.iter().map(in_bank).max().unwrap_or(1);
        vec![
            self.collect(),
            self.first_try(),
            Stage::new("texture FIFOs", [Edge::Core(1)], "1"),
            Stage::new(
                "write-back",
                [Edge::Core(1 + writes)],
                format!("picked 1 + written {writes}: registers in one of {banks} banks"),
            ),
        ]
    }

    /// A load from shared memory that takes `ways` cycles in the banks.
    pub fn shared_load(&self, ways: u32) -> Vec<Stage> {
        let depth = self.sm.shared_latency_cycles;
        vec![
            self.collect(),
            self.first_try(),
            Stage::new(
                "bank conflicts",
                [Edge::Core(ways.saturating_sub(1))],
                format!("{ways} - 1"),
            ),
            Stage::new("pipeline", [Edge::Core(depth)], "sm.shared_latency_cycles"),
            // Picked for write-back when its pipeline ends, written in the cycle after.
            Stage::new("write-back", [Edge::Core(1)], "1"),
        ]
    }

    /// A load marked `.nc` that hits L1D: it hits in the cycle of the lookup. `None` where no load
    /// from global memory goes through L1D.
    pub fn l1d_hit(&self) -> Option<Vec<Stage>> {
        let latency = Edge::Core(self.sm.l1d_latency_cycles);
        let hit = || {
            vec![
                self.collect(),
                self.first_try(),
                Stage::new("latency queue", [latency], "sm.l1d_latency_cycles"),
            ]
        };
        let skipped = self.sm.global_skips_l1d && self.gpu.style == ModelStyle::V3;
        (self.l1d.enabled && !skipped).then(hit)
    }

    /// A load past L1D that hits L2.
    pub fn l2_hit(&self) -> Vec<Stage> {
        let mut stages = vec![self.collect(), self.first_try()];
        stages.extend(self.to_l2());
        stages.extend(self.to_sm(SECTOR_BYTES, 1));
        stages.push(taken_and_written());
        stages
    }

    /// A load past L1D that misses L2.
    pub fn dram_load(&self, row: Row) -> Vec<Stage> {
        let mut stages = vec![self.collect(), self.first_try()];
        stages.extend(self.to_l2());
        stages.extend(self.dram_stages(row));
        stages.extend(self.to_sm(SECTOR_BYTES, 1));
        stages.push(taken_and_written());
        stages
    }

    /// Atomic on global memory that hits L2, until its warp goes on: the packet towards L2 carries
    /// the data too, and the warp does not wait for the result to be written.
    pub fn atomic_hit(&self) -> Vec<Stage> {
        let mut stages = vec![self.collect(), self.first_try()];
        stages.extend(self.request(HEADER_BYTES + SECTOR_BYTES));
        stages.extend(self.to_sm(SECTOR_BYTES, 1));
        stages.push(Stage::new("write-back", [Edge::Core(1)], "picked 1"));
        stages
    }

    /// Atomic on shared memory, all lanes on one word, until its warp goes on: when the result is
    /// picked for write-back.
    pub fn shared_atomic(&self) -> Vec<Stage> {
        let mut stages = self.shared_load(1);
        stages.pop();
        stages
    }

    /// An instruction that misses L1I and hits L2, from the issue of the last instruction before
    /// it.
    pub fn l1i_miss(&self) -> Vec<Stage> {
        let line = self.l1i.line_bytes;
        // A sectored L2 answers a line by sectors, one in each of its cycles.
        let (bytes, replies) = if self.partition.l2.sectored {
            (SECTOR_BYTES, line.div_ceil(SECTOR_BYTES))
        } else {
            (line, 1)
        };
        let mut stages = self.to_l2();
        stages.extend(self.to_sm(bytes, replies));
        stages.push(self.decode_and_issue());
        stages
    }

    /// From the fetch of a pair of instructions to the first one's issue: decoded by the next step
    /// of the front end, issued in the next cycle.
    pub fn decode_and_issue(&self) -> Stage {
        let (cycles, how) = if self.sm.fetch_per_cycle > 1 {
            (1, "decoded in the same cycle, issued in the next")
        } else {
            (2, "decode 1 + issue 1")
        };
        Stage::new("decode and issue", [Edge::Core(cycles)], how)
    }

    /// Issue, collector, operands, dispatch: three steps of the collectors
    /// (docs/model/sm.md, Operand collectors). In 3.2.2 the load/store unit steps them, as often as
    /// itself.
    fn collect(&self) -> Stage {
        let (steps, ports) = (self.sm.collectors.steps_per_cycle, self.sm.mem_unit_ports);
        let steps = match self.gpu.style {
            ModelStyle::V3 => steps * ports,
            ModelStyle::V4 => steps,
        };
        Stage::new(
            "collector, operands, dispatch",
            [Edge::Core(3u32.div_ceil(steps))],
            format!("3 steps / {steps} a cycle, rounded up"),
        )
    }

    /// Taken into the load/store unit and tried in the cycle after. In 3.2.2 the unit takes what
    /// the collectors send on in the same cycle, in 4.2 in the next.
    fn first_try(&self) -> Stage {
        let (cycles, how) = match self.gpu.style {
            ModelStyle::V3 => (1, "taken at once, tried 1"),
            ModelStyle::V4 => (2, "taken 1 + tried 1"),
        };
        Stage::new("load/store unit", [Edge::Core(cycles)], how)
    }

    /// A request without data, up to L2's lookup.
    fn to_l2(&self) -> Vec<Stage> {
        self.request(HEADER_BYTES)
    }

    fn request(&self, bytes: u32) -> Vec<Stage> {
        let link = self.gpu.link_cycles;
        let (network, how) = network_cycles(&self.noc, bytes);
        let rop = self.partition.rop_cycles;
        vec![
            Stage::new("link", [Edge::Core(link)], "gpu.link_cycles"),
            Stage::new(
                "request network",
                [Edge::Noc(network), Edge::L2(1)],
                how + ", taken by L2's next edge",
            ),
            Stage::new(
                "fixed delay before L2",
                [Edge::Core(rop.saturating_sub(2 * link)), Edge::L2(2)],
                format!(
                    "partition.rop_cycles {rop} - 2 links x {link}, then L2's edges: out of the delay, lookup 1"
                ),
            ),
        ]
    }

    /// From the lookup that misses to the one reply of DRAM's that L2 can hand on.
    fn dram_stages(&self, row: Row) -> Vec<Stage> {
        let (commands, how) = self.read_commands(row);
        let delay = Edge::Core(self.partition.dram_latency_cycles);
        vec![
            Stage::new(
                "miss queue",
                [Edge::L2(1), Edge::Dram(1)],
                "L2 1, DRAM's edge",
            ),
            Stage::new(
                "fixed delay before DRAM",
                [delay, Edge::Dram(1)],
                "partition.dram_latency_cycles, DRAM's edge",
            ),
            Stage::new("DRAM", [Edge::Dram(commands)], how),
            Stage::new("fill and answer", [Edge::L2(1), Edge::L2(1)], "L2 1 + 1"),
        ]
    }

    /// Command cycles of a read of what L2 fetches: one until it is scheduled and the first command
    /// goes out, RP and RCD where the row must be closed and opened, the further columns, CL, and
    /// one until it is returned.
    fn read_commands(&self, row: Row) -> (u32, String) {
        let (dram, t) = (&self.dram, &self.dram.timing);
        let bytes = self.dram_fetch_bytes();
        let columns = bytes.div_ceil(self.dram_atom_bytes());
        let apart = t.ccd.max(t.ccdl);
        let (open, opened) = match row {
            Row::Hit => (0, String::new()),
            Row::Closed => (t.rcd, format!(" + RCD {}", t.rcd)),
            Row::Conflict => (t.rp + t.rcd, format!(" + RP {} + RCD {}", t.rp, t.rcd)),
        };
        let further = (columns - 1) * apart;
        let how = format!(
            "1{opened} + {} further columns x {apart} + CL {} + 1; {bytes} bytes of {} x {} x {} a \
             column",
            columns - 1,
            t.cl,
            dram.chips,
            dram.bus_bytes,
            dram.burst_length
        );
        (1 + open + further + t.cl + 1, how)
    }

    /// What L2 fetches on a miss in bytes.
    pub fn dram_fetch_bytes(&self) -> u32 {
        if self.partition.l2.sectored {
            SECTOR_BYTES
        } else {
            self.partition.l2.line_bytes
        }
    }

    /// Bytes of one column command.
    pub fn dram_atom_bytes(&self) -> u32 {
        self.dram.chips * self.dram.bus_bytes * self.dram.burst_length
    }

    /// `replies` replies with `bytes` of data each, from L2's answer to the first to the SM's
    /// view of the last.
    fn to_sm(&self, bytes: u32, replies: u32) -> Vec<Stage> {
        let link = self.gpu.link_cycles;
        let (network, how) = network_cycles(&self.noc, HEADER_BYTES + bytes);
        let network = Stage::new(
            "reply network",
            [Edge::Reply, Edge::Noc(network), Edge::Core(1)],
            how + ", handed over before and taken out after, 1",
        );
        let link = Stage::new("link", [Edge::Core(link)], "gpu.link_cycles");
        let further = Edge::L2(replies - 1);
        let more = Stage::new("further sectors", [further], format!("{replies} - 1"));
        match replies {
            1 => vec![network, link],
            _ => vec![more, network, link],
        }
    }

    /// Follows `stages` from core cycle `start`; the core cycle in which they end.
    pub fn walk(&self, stages: &[Stage], start: u64) -> u64 {
        let mut at = Place::new(self, start);
        let edges = stages.iter().flat_map(|stage| &stage.edges);
        edges.for_each(|edge| at.pass(*edge));
        at.cycle
    }

    /// Core cycles that each stage takes when the first begins in core cycle `start`.
    pub fn stage_cycles(&self, stages: &[Stage], start: u64) -> Vec<u64> {
        let mut at = Place::new(self, start);
        let cycles = stages.iter().map(|stage| {
            let before = at.cycle;
            stage.edges.iter().for_each(|edge| at.pass(*edge));
            at.cycle - before
        });
        cycles.collect()
    }
}

/// A reply around the caches is taken from its register for write-back, and written.
fn taken_and_written() -> Stage {
    Stage::new("write-back", [Edge::Core(2)], "picked 1 + written 1")
}

/// Network cycles from a packet's injection until it is at its output, without contention. Fly: a
/// cycle to inject and one for its channel, the router's pipeline, and the same behind it.
fn network_cycles(noc: &NocSpec, bytes: u32) -> (u32, String) {
    let flits = bytes.div_ceil(noc.flit_bytes);
    match noc.kind {
        NocKind::LocalCrossbar | NocKind::TurnCrossbar => (1, "crossbar 1".to_owned()),
        NocKind::RandomCrossbar => {
            let more = noc.hop_cycles.saturating_sub(1);
            (
                flits + more,
                format!("{flits} flits + noc.hop_cycles - 1 = {more}"),
            )
        }
        NocKind::Fly => {
            let router = (noc.hop_cycles * 100).div_ceil(noc.internal_speedup_percent);
            let how = format!("in 2 + router {router} + out 2 + {flits} flits - 1");
            (2 + router + 2 + flits - 1, how)
        }
    }
}

/// Order of the parts' work within a core cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Start,
    Reply,
    Dram,
    L2,
    Noc,
}

/// A point of time in the memory system.
struct Place<'a> {
    spec: &'a GpuSpec,
    cycle: u64,
    part: Part,
    /// Edges of the part's clock in this cycle that have passed.
    passed: u64,
}

impl<'a> Place<'a> {
    fn new(spec: &'a GpuSpec, cycle: u64) -> Self {
        Self {
            spec,
            cycle,
            part: Part::Start,
            passed: 0,
        }
    }

    fn pass(&mut self, edge: Edge) {
        let clocks = &self.spec.clocks;
        match edge {
            Edge::Core(n) => {
                self.cycle += u64::from(n);
                (self.part, self.passed) = (Part::Start, 0);
            }
            Edge::Noc(n) => self.edges(Part::Noc, n, clocks.noc_khz),
            Edge::Reply => self.edges(Part::Reply, 1, clocks.noc_khz),
            Edge::L2(n) => self.edges(Part::L2, n, clocks.l2_khz),
            Edge::Dram(n) => self.edges(Part::Dram, n, clocks.dram_khz),
        }
    }

    /// Goes to the `n`-th edge of `part`'s clock after this point.
    fn edges(&mut self, part: Part, n: u32, khz: u32) {
        for _ in 0..n {
            loop {
                let all = self.edges_in_cycle(khz);
                let gone = match part.cmp(&self.part) {
                    std::cmp::Ordering::Greater => 0,
                    std::cmp::Ordering::Equal => self.passed,
                    std::cmp::Ordering::Less => all,
                };
                if gone < all {
                    (self.part, self.passed) = (part, gone + 1);
                    break;
                }
                self.cycle += 1;
                (self.part, self.passed) = (Part::Start, 0);
            }
        }
    }

    fn edges_in_cycle(&self, khz: u32) -> u64 {
        let core = u64::from(self.spec.clocks.core_khz);
        let by = |cycles: u64| cycles * u64::from(khz) / core;
        by(self.cycle + 1) - by(self.cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, Row};
    use crate::{Base, preset, resolve};

    /// GTX 480: 4 cycles to the first try, a link of 1, a network of 2 + 3 + 2 cycles, 118 of the
    /// fixed delay, the lookup; back through 8 cycles of two flits and 1 to take them out, the
    /// link, and 2 to write.
    #[test]
    fn the_gtx480s_l2_hit_by_hand() {
        let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let by_hand = 4 + 1 + 7 + (120 - 2) + 1 + (8 + 1) + 1 + 2;
        assert_eq!(gpu.walk(&gpu.l2_hit(), 1000), 1000 + by_hand);
        let stages = gpu.dram_load(Row::Hit);
        let parts = gpu.stage_cycles(&stages, 1000);
        assert_eq!(parts.iter().sum::<u64>() + 1000, gpu.walk(&stages, 1000));
    }

    /// GTX 480: 4 cycles to the first try, 1 to the results, picked 1, and written in one cycle to
    /// four of its 16 banks (numbers 10, 14, 18 and 22 are banks 10, 14, 2 and 6). Volta: two steps
    /// a cycle bring the access in 2, it is taken and tried in 2 more, and of a sub-core's four
    /// banks one has the four registers, which takes them in four cycles.
    #[test]
    fn texture_hits_by_hand() {
        for (name, by_hand) in [
            ("gtx480", 4 + 1 + 1 + 1),
            ("qv100-volta", 2 + 2 + 1 + 1 + 4),
        ] {
            let gpu = preset(name).unwrap_or_else(|errors| panic!("{errors}"));
            let stages = gpu.texture_hit([10, 14, 18, 22]);
            assert_eq!(gpu.walk(&stages, 1000), 1000 + by_hand, "{name}");
        }
    }

    #[test]
    fn edges_of_other_clocks_are_where_the_ratio_puts_them() {
        let sets = ["clocks.core_mhz=1000", "clocks.dram_mhz=1500"].map(str::to_owned);
        let gpu = resolve(&Base::Preset("gtx480".to_owned()), &sets)
            .unwrap_or_else(|errors| panic!("{errors}"));
        // Edges of DRAM by the end of cycles 0, 1, 2, 3: 1, 3, 4, 6.
        let stage = |n| super::Stage::new("", [Edge::Dram(n)], "");
        let ends: Vec<_> = (1..=6).map(|n| gpu.walk(&[stage(n)], 0)).collect();
        assert_eq!(ends, [0, 1, 1, 2, 3, 3]);
    }
}
