//! Latency of a load on an idle machine, computed from the specification stage by stage.
//!
//! The path of a load is a list of [`Stage`]s, each of which waits for edges of one or more clocks.
//! If all clocks are equal, the latency is the sum. Otherwise it depends on the positions of the
//! edges, which [`GpuSpec::walk`] follows: a domain of `f` kHz has had floor((c + 1) f / core)
//! edges by the end of core cycle `c`. Within a core cycle parts work in a fixed order
//! (docs/model/machine.md, Order within a cycle): replies out of the network, replies into it,
//! DRAM, L2, the network itself.

use crate::spec::{CollectorSpec, GpuSpec, LatencyFrom, ModelStyle, NocKind, NocSpec, SmSpec};
use warploom_base::WARP_SIZE;

/// Size of a packet's header in bytes (GPGPU-Sim's control size).
const HEADER_BYTES: u32 = 8;
/// Bytes that the load of one lane fetches from L2 after it is shrunk, and the size of L2's
/// sectors.
const SECTOR_BYTES: u32 = 32;

/// Clock edges that a load waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Number of core cycles.
    Core(u32),
    /// Number of network cycles in which a packet crosses the network.
    Noc(u32),
    /// Network cycle in which the reply of L2 enters the network.
    Reply,
    /// Number of L2 cycles.
    L2(u32),
    /// Number of DRAM command cycles.
    Dram(u32),
}

/// Stage on the path of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Name of the stage.
    pub what: &'static str,
    /// Clock edges that the stage waits for, in order.
    pub edges: Vec<Edge>,
    /// Derivation of the numbers.
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

/// State of the DRAM bank that a load accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The row of the load is open.
    Hit,
    /// No row is open.
    Closed,
    /// Another row is open, and has been for longer than RAS and RC.
    Conflict,
}

/// Latencies in core cycles from the issue of a load, whose address is in one register, to the
/// issue of the first instruction that needs its result. One warp runs, with such loads only.
/// Global loads bypass L1D (`ld.global.cg`), except for `l1d`. The values are means if the clocks
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Hit in the constant cache.
    pub constant: u32,
    /// Shared memory without bank conflicts.
    pub shared: u32,
    /// Hit in L1D; `None` without an L1D.
    pub l1d: Option<u32>,
    /// Hit in the L2 cache.
    pub l2: u32,
    /// Miss in L2, to a DRAM bank without an open row.
    pub dram: u32,
}

/// Number of loads of which the mean is taken.
const LOADS: u64 = 64;

/// Steps of the collectors from issue to dispatch (docs/model/sm.md, Operand collectors).
const COLLECTOR_STEPS: u32 = 3;
/// Cycles from dispatch until a unit takes an instruction.
const TO_UNIT: u32 = 1;
/// Cycles of the result bus and of write-back.
const WRITE_BACK: u32 = 2;

impl CollectorSpec {
    /// Cycles from issue to dispatch, where the steps of the load/store unit do not matter.
    fn cycles(&self) -> u32 {
        COLLECTOR_STEPS.div_ceil(self.steps_per_cycle)
    }
}

impl SmSpec {
    /// Cycles of a dependence between two instructions of a unit outside of the unit itself, in
    /// style `gpgpu-sim-4`: collectors, acceptance and write-back.
    pub fn cycles_around_units(&self) -> u32 {
        self.collectors.cycles() + TO_UNIT + WRITE_BACK
    }

    /// Most cycles from the end of an access of shared memory to its result: those of an atomic of
    /// all lanes on one word.
    pub fn longest_shared_latency(&self) -> u32 {
        self.shared_latency_cycles + 31 * self.shared_atomic_cycles.saturating_sub(1)
    }

    /// Cycles that an instruction spends in a unit, of which the latency is `latency`.
    pub fn cycles_in_unit(&self, latency: u32) -> u32 {
        match self.latency_from {
            LatencyFrom::Unit => latency,
            LatencyFrom::Issue => latency.saturating_sub(self.cycles_around_units()),
        }
    }
}

impl GpuSpec {
    /// Computes the latencies of loads on an idle machine.
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

    /// Stages of an arithmetic instruction with one register source and a unit of `latency` cycles.
    /// Its result leaves the pipeline after `latency`, passes EX_WB and is written
    /// (docs/model/sm.md, Execution units).
    pub fn arithmetic(&self, latency: u32) -> Vec<Stage> {
        let how = match self.sm.latency_from {
            LatencyFrom::Unit => "latency".to_owned(),
            LatencyFrom::Issue => format!(
                "latency {latency} from issue, less {} outside of the unit",
                self.sm.cycles_around_units()
            ),
        };
        let inside = Edge::Core(self.sm.cycles_in_unit(latency));
        let written = Edge::Core(WRITE_BACK);
        vec![
            self.collect(),
            Stage::new("unit takes it", [Edge::Core(TO_UNIT)], "1"),
            Stage::new("unit", [inside], how),
            Stage::new("result bus and write-back", [written], "1 + 1"),
        ]
    }

    /// Stages of a load that hits the constant cache. The result is available in the cycle of the
    /// try.
    pub fn constant_hit(&self) -> Vec<Stage> {
        vec![self.collect(), self.first_try()]
    }

    /// Stages of a texture read that hits, whose four results go to `registers`. The access passes
    /// the FIFOs of the cache: it is looked up when tried and moves to the results in the next
    /// cycle. A bank of registers is written once per cycle, so that results in one bank take a
    /// cycle each.
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

    /// Stages of a load from shared memory that occupies the banks for `ways` cycles.
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
            // Picked for write-back at the end of its pipeline, written in the next cycle.
            Stage::new("write-back", [Edge::Core(1)], "1"),
        ]
    }

    /// Stages of a load with `.nc` that hits L1D in the cycle of the lookup. `None` if no load from
    /// global memory uses L1D.
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

    /// Stages of a load that bypasses L1D and hits L2.
    pub fn l2_hit(&self) -> Vec<Stage> {
        let mut stages = vec![self.collect(), self.first_try()];
        stages.extend(self.to_l2());
        stages.extend(self.to_sm(SECTOR_BYTES, 1));
        stages.push(taken_and_written());
        stages
    }

    /// Stages of a load that bypasses L1D and misses L2.
    pub fn dram_load(&self, row: Row) -> Vec<Stage> {
        let mut stages = vec![self.collect(), self.first_try()];
        stages.extend(self.to_l2());
        stages.extend(self.dram_stages(row));
        stages.extend(self.to_sm(SECTOR_BYTES, 1));
        stages.push(taken_and_written());
        stages
    }

    /// Stages of an atomic on global memory that hits L2, until its warp can issue again. The
    /// request carries the data, and the warp does not wait until the result is written.
    pub fn atomic_hit(&self) -> Vec<Stage> {
        let mut stages = vec![self.collect(), self.first_try()];
        stages.extend(self.request(HEADER_BYTES + SECTOR_BYTES));
        stages.extend(self.to_sm(SECTOR_BYTES, 1));
        stages.push(Stage::new("write-back", [Edge::Core(1)], "picked 1"));
        stages
    }

    /// Stages of an atomic on shared memory with all lanes on one word, until its warp can issue
    /// again: when the result is picked for write-back.
    pub fn shared_atomic(&self) -> Vec<Stage> {
        let mut stages = self.shared_load(1);
        stages.pop();
        let further = WARP_SIZE as u32 - 1;
        stages.push(Stage::new(
            "turns of the other lanes",
            [Edge::Core(further * self.sm.shared_atomic_cycles)],
            format!("{further} x sm.shared_atomic_cycles"),
        ));
        stages
    }

    /// Stages of an instruction that misses L1I and hits L2, from the issue of the instruction
    /// before it.
    pub fn l1i_miss(&self) -> Vec<Stage> {
        let line = self.l1i.line_bytes;
        // A sectored L2 sends a line by sectors, one in each L2 cycle.
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

    /// Stage from the fetch of two instructions to the issue of the first: the next step of the
    /// front end decodes it, and it issues in the next cycle.
    pub fn decode_and_issue(&self) -> Stage {
        let (cycles, how) = if self.sm.fetch_per_cycle > 1 {
            (1, "decoded in the same cycle, issued in the next")
        } else {
            (2, "decode 1 + issue 1")
        };
        Stage::new("decode and issue", [Edge::Core(cycles)], how)
    }

    /// Stage from issue to dispatch: three steps of the collectors (docs/model/sm.md, Operand
    /// collectors). In 3.2.2 the collectors step with the load/store unit.
    fn collect(&self) -> Stage {
        let (steps, ports) = (self.sm.collectors.steps_per_cycle, self.sm.mem_unit_ports);
        let steps = match self.gpu.style {
            ModelStyle::V3 => steps * ports,
            ModelStyle::V4 => steps,
        };
        Stage::new(
            "collector, operands, dispatch",
            [Edge::Core(COLLECTOR_STEPS.div_ceil(steps))],
            format!("{COLLECTOR_STEPS} steps / {steps} a cycle, rounded up"),
        )
    }

    /// Stage in which the load/store unit takes an instruction and tries it in the next cycle. In
    /// 3.2.2 the unit takes what the collectors send in the same cycle, in 4.2 in the next.
    fn first_try(&self) -> Stage {
        let (cycles, how) = match self.gpu.style {
            ModelStyle::V3 => (1, "taken at once, tried 1"),
            ModelStyle::V4 => (2, "taken 1 + tried 1"),
        };
        Stage::new("load/store unit", [Edge::Core(cycles)], how)
    }

    /// Stages of a request without data up to the lookup in L2.
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

    /// Stages from the lookup that misses to the reply of DRAM that L2 can forward.
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

    /// Command cycles of a read of L2, with the derivation: one until it is scheduled and the first
    /// command is issued, RP and RCD if a row must be closed and opened, further columns, CL, and
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

    /// Bytes that L2 fetches on a miss.
    pub fn dram_fetch_bytes(&self) -> u32 {
        if self.partition.l2.sectored {
            SECTOR_BYTES
        } else {
            self.partition.l2.line_bytes
        }
    }

    /// Bytes that one column command moves.
    pub fn dram_atom_bytes(&self) -> u32 {
        self.dram.chips * self.dram.bus_bytes * self.dram.burst_length
    }

    /// Stages of `replies` replies with `bytes` of data each, from the first answer of L2 to the
    /// arrival of the last reply at the SM.
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

    /// Follows `stages` from core cycle `start` and returns the core cycle in which they end.
    pub fn walk(&self, stages: &[Stage], start: u64) -> u64 {
        let mut at = Place::new(self, start);
        let edges = stages.iter().flat_map(|stage| &stage.edges);
        edges.for_each(|edge| at.pass(*edge));
        at.cycle
    }

    /// Core cycles of each stage if the first begins in core cycle `start`.
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

/// Stage in which the reply of a bypassed access is picked for write-back and written.
fn taken_and_written() -> Stage {
    Stage::new("write-back", [Edge::Core(2)], "picked 1 + written 1")
}

/// Network cycles of a packet from its injection to its output without contention, with the
/// derivation. The butterfly takes a cycle to inject and one for the channel, the pipeline of the
/// router, and again two cycles.
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

/// Parts in the order of their work within a core cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Start,
    Reply,
    Dram,
    L2,
    Noc,
}

/// Point of time in the memory system.
struct Place<'a> {
    spec: &'a GpuSpec,
    cycle: u64,
    part: Part,
    /// Number of edges of the part's clock that have passed in this cycle.
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

    /// Advances to the `n`-th edge of the clock of `part` after this point.
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

    /// GTX 480: 4 cycles to the first try, 1 for the link, 2 + 3 + 2 for the network, 118 of the
    /// fixed delay, 1 for the lookup. The reply takes 8 cycles for two flits, 1 to leave the
    /// network, 1 for the link, and 2 to be written.
    #[test]
    fn the_gtx480s_l2_hit_by_hand() {
        let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let by_hand = 4 + 1 + 7 + (120 - 2) + 1 + (8 + 1) + 1 + 2;
        assert_eq!(gpu.walk(&gpu.l2_hit(), 1000), 1000 + by_hand);
        let stages = gpu.dram_load(Row::Hit);
        let parts = gpu.stage_cycles(&stages, 1000);
        assert_eq!(parts.iter().sum::<u64>() + 1000, gpu.walk(&stages, 1000));
    }

    /// GTX 480: 4 cycles to the first try, 1 to the results, 1 to be picked, and 1 to be written to
    /// four of 16 banks (registers 10, 14, 18 and 22 are in banks 10, 14, 2 and 6). Volta: 2 cycles
    /// for the collectors at two steps per cycle, 2 to be taken and tried, and four writes, since
    /// one of the four banks of a sub-core has all four registers.
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
