//! Advice on a kernel, in sentences with numbers: the verdict and the next step of the explanation,
//! details of the part that bounds it, the effect of more TLP, the resource to free, and other
//! findings.

use crate::accesses::Accesses;
use crate::allocation::Allocation;
use crate::analysis::KernelAnalysis;
use crate::atomics::Atomics;
use crate::explain::Subject;
use crate::growth::more_tlp;
use crate::hot_banks::queueing;
use crate::occupancy::{Occupancy, WARP};
use crate::phases::longest_block;
use crate::recovery::Recovery;
use crate::shape::{WIDER, whole_warps};
use crate::shared::SharedWait;
use crate::verdict::Bound;
use warploom_config::{GpuSpec, OccupancyLimit, WritePolicy};
use warploom_policy::load_class::thresholds;
use warploom_policy::utilisation::{Machine, Part, hits, sum};
use warploom_stats::result::{Counts, Figures};

/// Remedy against accesses that are split.
pub(crate) const NEIGHBOURS: &str = "let neighbouring threads access neighbouring words";

/// Returns sentences of advice on a kernel, whose explanation is there.
pub(crate) fn advice(
    machine: &Machine<'_>,
    analysis: &KernelAnalysis,
    figures: &Figures,
) -> Vec<String> {
    let subject = Subject::new(machine, analysis, figures);
    let facts = &subject.facts;
    let mut advice: Vec<_> = analysis.explanation.first().cloned().into_iter().collect();
    advice.extend(detail(machine, analysis, facts));
    advice.extend(analysis.explanation.last().cloned());
    let more = more_tlp(&subject);
    advice.push(more.sentence);
    advice.extend(occupancy(machine.spec, analysis, more.helps));
    advice.extend(other_memories(analysis));
    advice.extend(facts.remarks(&analysis.occupancy, &analysis.explanation));
    advice.extend(subject.idle_beside().map(|idle| format!("{idle}.")));
    advice
}

/// Sentences on the memories that no category stands for, where they are busy.
fn other_memories(analysis: &KernelAnalysis) -> impl Iterator<Item = String> {
    let used = &analysis.utilisation_with_blocks;
    let memories = [
        ("register file", used.registers),
        ("shared memory", used.shared),
    ];
    let busy = memories.into_iter().filter(|(_, used)| *used > 0.6);
    busy.map(|(name, used)| format!("The {name} is busy {} of the time.", percent(used)))
}

/// Ratios that say how a kernel uses the machine. `None` stands for a ratio without a base.
pub(crate) struct Facts {
    /// Hits of L1D over its accesses.
    pub l1d_hit_rate: Option<f64>,
    /// Hits of L1D over its accesses, those on lines on their way included.
    pub l1d_near: Option<f64>,
    /// Hits of L1D over its loads, those on lines on their way included.
    pub l1d_reads: Option<f64>,
    /// Hits of L2 over its accesses.
    pub l2_hit_rate: Option<f64>,
    /// Share of the packets towards L2 that carry data of writes.
    pub write_packets: Option<f64>,
    /// Share of those packets that store to local memory.
    pub local_writes: Option<f64>,
    /// Share of local memory in the packets that ask for data.
    pub local_reads: Option<f64>,
    /// Share of the requests to DRAM that find their row open.
    pub row_hit_rate: Option<f64>,
    /// Reads of DRAM that L2 makes for lines of stores.
    pub allocation: Option<Allocation>,
    /// Transactions of a global or local access, whatever its kind.
    pub transactions: Option<f64>,
    /// Global and local accesses by kind.
    pub accesses: Vec<Accesses>,
    /// Share of the look-ups of L2 that found what copies of the host had left there.
    pub copied: Option<f64>,
    /// Hits of L2 over its loads, those on lines on their way included, without those on what
    /// copies had left there.
    pub l2_reread: Option<f64>,
    /// Share of the SMs' cycles with a block in which load/store units have an access that they
    /// have not finished.
    pub units_busy: f64,
    /// Share of the time of accesses that they wait in queues of the memory system.
    pub queueing: f64,
    /// The same share of those that do not go to the banks with the longest waits.
    pub queueing_elsewhere: f64,
    /// Share of the time after the launch for which the longest block runs, if blocks are unequal.
    pub longest_block: f64,
    /// Writes that keep L2 banks busy for longer than the data that they move.
    pub recovery: Option<Recovery>,
    /// Flits of a packet from L2 to an SM.
    pub reply_flits: Option<f64>,
    /// Share of atomics in the transactions.
    pub atomics: Option<f64>,
    /// Lanes of an atomic's transaction.
    pub atomic_lanes: Option<f64>,
    /// Memory whose atomics take longest in all; `None` without atomics.
    pub atomic_memory: Option<Atomics>,
    /// Cycles that accesses to shared memory wait for each other's lanes.
    pub shared_wait: Option<SharedWait>,
    /// Lanes in which an instruction takes effect, over those that do in any: a branch that no lane
    /// takes masks no lane.
    pub lanes: Option<f64>,
    /// Share of the SMs' cycles in which they hold a block.
    pub active: Option<f64>,
    /// Share of the scheduler cycles in which warps wait for room in the load/store units.
    pub queued: f64,
}

/// Lanes of an instruction below which branches count as divergent.
pub(crate) const FEW_LANES: f64 = 24.0;

impl Facts {
    pub(crate) fn new(spec: &GpuSpec, figures: &Figures) -> Self {
        let counts = &figures.statistics;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let looked_up = |cache: &str| {
            let of = |outcome: &str| sum(counts, &format!("{cache}.accesses.{outcome}."));
            hits(counts, cache) + of("hit_reserved") + of("miss") + of("sector_miss")
        };
        let loads = |cache: &str| {
            let of = |outcome: &str| {
                let of_kind = |kind| get(&format!("{cache}.accesses.{outcome}.{kind}"));
                of_kind("global_read") + of_kind("local_read")
            };
            (
                of("hit") + of("hit_reserved"),
                of("miss") + of("sector_miss"),
            )
        };
        let hit_rate = |cache: &str| ratio(hits(counts, cache), looked_up(cache));
        let (near, far) = loads("l1d");
        let l1d_reads = ratio(near, near + far);
        let (near, far) = loads("l2");
        let reread = (near - get("partition.copied_hits")).max(0.0);
        let writes = [
            "global_write",
            "local_write",
            "l1_write_back",
            "global_atomic",
        ];
        let writes = writes.map(|kind| get(&format!("sm.packets_sent.{kind}")));
        // L1D may keep only what was stored to local memory until its line is evicted.
        let written_back = match spec.l1d.write {
            WritePolicy::LocalBackGlobalEvict => writes[2],
            _ => 0.0,
        };
        let [local, global] =
            ["local_read", "global_read"].map(|kind| get(&format!("sm.packets_sent.{kind}")));
        let rows = get("dram.row_hits") + get("dram.row_misses");
        let [queueing, queueing_elsewhere] = queueing(spec, figures, hit_rate("l2"));
        // Lanes of an atomic that update the same word make a transaction each.
        let (atomics, updates) = (get("sm.packets_sent.global_atomic"), get("gpu.atomics"));
        Self {
            l1d_hit_rate: hit_rate("l1d"),
            l1d_near: ratio(
                hits(counts, "l1d") + sum(counts, "l1d.accesses.hit_reserved."),
                looked_up("l1d"),
            ),
            l1d_reads,
            l2_hit_rate: hit_rate("l2"),
            l2_reread: ratio(reread, near + far),
            units_busy: units_busy(spec, counts),
            write_packets: ratio(writes.iter().sum(), sum(counts, "sm.packets_sent.")),
            local_writes: ratio(writes[1] + written_back, writes.iter().sum()),
            local_reads: ratio(local, local + global),
            allocation: Allocation::of(spec, counts),
            row_hit_rate: ratio(get("dram.row_hits"), rows),
            transactions: ratio(get("sm.memory_transactions"), get("sm.memory_instructions")),
            accesses: Accesses::of(spec, counts),
            copied: ratio(get("partition.copied_hits"), looked_up("l2")),
            queueing,
            queueing_elsewhere,
            longest_block: longest_block(spec, figures),
            recovery: Recovery::of(spec, counts),
            reply_flits: ratio(get("noc_to_sm.flits"), get("noc_to_sm.packets")),
            atomics: ratio(atomics, get("sm.memory_transactions")),
            atomic_lanes: ratio(updates, atomics),
            atomic_memory: Atomics::of(spec, counts),
            shared_wait: SharedWait::of(spec, counts),
            lanes: ratio(
                get("sm.thread_instructions"),
                get("sm.warp_instructions") - get("sm.issued_without_lanes"),
            ),
            active: ratio(
                get("sm.active_cycles"),
                get("gpu.cycles") * f64::from(spec.gpu.sms),
            ),
            queued: Bound::LoadStore.waits(figures),
        }
    }

    /// The loads or stores whose lanes touch different lines, whichever have more transactions to
    /// save, if these are many.
    pub(crate) fn scattered(&self) -> Option<Accesses> {
        Accesses::scattered(&self.accesses)
    }

    /// Clause on the flits of a packet to an SM.
    fn flits_in_words(&self) -> String {
        let flits = self.reply_flits;
        flits.map_or_else(String::new, |flits| {
            format!(", in packets of {flits:.1} flits")
        })
    }

    /// Sentences on ratios that are unusually high or low, apart from remedies that the explanation
    /// has already.
    fn remarks(&self, held: &Occupancy, explanation: &[String]) -> impl Iterator<Item = String> {
        let is_new = |remedy: &str| !explanation.iter().any(|told| told.contains(remedy));
        let scattered = self
            .scattered()
            .filter(|kind| !kind.are_local() && is_new(NEIGHBOURS) && is_new(WIDER));
        let transactions = scattered.map(|kind| {
            format!(
                "On average {} makes {:.1} transactions: neighbouring threads touch different lines; \
                 {NEIGHBOURS}.",
                kind.one, kind.transactions
            )
        });
        let conflicts = self.shared_wait.filter(|wait| is_new(wait.remedy()));
        let conflicts =
            conflicts.map(|wait| format!("On average {}; {}.", wait.in_words(), wait.remedy()));
        let lanes = self.lanes.filter(|&n| n < FEW_LANES).map(|n| {
            let why = held
                .explains(n)
                .map_or_else(|| "branches diverge".to_owned(), whole_warps);
            format!("An instruction takes effect in {n:.1} of {WARP} lanes: {why}.")
        });
        [transactions, conflicts, lanes].into_iter().flatten()
    }
}

/// Share of the SMs' cycles with a block in which load/store units have an access that they have
/// not finished.
fn units_busy(spec: &GpuSpec, counts: &Counts) -> f64 {
    let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    let busy = sum(counts, "sm.ldst_stalls.")
        + get("sm.memory_instructions")
        + get("sm.shared_instructions");
    let cycles = get("sm.active_cycles") * f64::from(spec.sm.mem_unit_ports);
    (busy / cycles.max(1.0)).min(1.0)
}

pub(crate) fn percent(share: f64) -> String {
    // An empty sum of floating-point numbers is -0.
    format!("{:.0}%", share * 100.0 + 0.0)
}

/// Sentence on the use of the part that bounds the kernel, beyond the verdict.
fn detail(machine: &Machine<'_>, analysis: &KernelAnalysis, facts: &Facts) -> Option<String> {
    let Bound::Part(part) = analysis.bound else {
        return None;
    };
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
    let sustained = percent(machine.sustainable);
    Some(match part {
        Part::NocToSm => format!(
            "The network sustains {sustained} of its peak (noc.flit_bytes is {}). L1D hits {} of \
             the loads; every miss comes through here{}.",
            machine.spec.noc.flit_bytes,
            rate(facts.l1d_reads),
            facts.flits_in_words(),
        ),
        Part::NocToL2 => format!(
            "The network sustains {sustained} of its peak. {} of the packets carry data of stores \
             and atomics.",
            rate(facts.write_packets),
        ),
        Part::Dram => format!(
            "Row misses and turns of its bus keep DRAM from its peak: from 70% on it counts as full. \
             {} of the requests find their row open, L2 hits {} of its accesses.",
            rate(facts.row_hit_rate),
            rate(facts.l2_hit_rate),
        ),
        Part::Scheduler | Part::L1d | Part::L2 => return None,
    })
}

/// A cause of `sm.slots` in words.
pub(crate) fn because(cause: &str) -> &str {
    match cause {
        "no_warp" => "because no warp is left that runs",
        "barrier" => "at barriers, at fences or for atomics",
        "instruction_buffer" => "for instructions to be fetched",
        "memory_dependence" => "for loads",
        "execution_dependence" => "for results of arithmetic",
        "memory_pipe" => "for room in the load/store unit",
        "execution_pipe" => "for function units",
        "policy" => "because the scheduling policy holds warps back",
        other => other,
    }
}

/// The part of the machine that is nearest to its saturation.
pub(crate) struct Nearest {
    /// Name of the part in sentences.
    pub name: &'static str,
    /// Utilisation of the part, from 0 to 1.
    pub used: f64,
    /// Utilisation at which the part is saturated.
    pub full: f64,
    /// True for shared memory.
    pub is_shared: bool,
}

/// The part nearest to its saturation. Shared memory, for which GPUDuet has no threshold, is one of
/// the parts, and saturated if it is busy all the time.
pub(crate) fn nearest(analysis: &KernelAnalysis) -> Nearest {
    let part = |part: Part| Nearest {
        name: part.name(),
        used: analysis.utilisation_with_blocks.of(part),
        full: thresholds(part).saturated,
        is_shared: false,
    };
    let shared = Nearest {
        name: "shared memory",
        used: analysis.utilisation_with_blocks.shared,
        full: 1.0,
        is_shared: true,
    };
    let nearer = |a: &Nearest, b: &Nearest| (a.used / a.full).total_cmp(&(b.used / b.full));
    let parts = std::iter::once(shared).chain(Part::ALL.into_iter().map(part));
    parts
        .max_by(nearer)
        .unwrap_or_else(|| part(Part::Scheduler))
}

/// The same with the function units of the most used pipe among the parts.
pub(crate) fn nearest_or_units(analysis: &KernelAnalysis) -> Nearest {
    let part = nearest(analysis);
    let used = analysis.units.function_units_with_blocks;
    match used > part.used / part.full {
        true => Nearest {
            name: "function units",
            used,
            full: 1.0,
            is_shared: false,
        },
        false => part,
    }
}

/// Share of the time of accesses in queues above which the memory system counts as full.
pub(crate) const HALF: f64 = 0.5;
/// Share of scheduler cycles with a full load/store unit above which further requests only wait.
pub(crate) const QUEUED: f64 = 0.5;

/// Sentence on the limit of occupancy, and on how one more block would fit. A larger grid is not
/// advised where more warps do not help.
fn occupancy(spec: &GpuSpec, analysis: &KernelAnalysis, more_help: bool) -> Option<String> {
    let held = &analysis.occupancy;
    let blocks = held.blocks_per_sm;
    let warps = blocks * held.warps_per_block;
    let holds = format!(
        "An SM holds {blocks} {} of {} {} ({warps} of {} warp slots; {:.1} warps resident on \
         average)",
        plural(blocks, "block"),
        held.warps_per_block,
        plural(held.warps_per_block, "warp"),
        held.warp_slots,
        held.resident_warps,
    );
    let remedy = remedy(spec, analysis)?;
    let limit = limit_in_words(analysis);
    let is_of_grid = analysis.occupancy_limit == OccupancyLimit::Grid.name();
    Some(match is_of_grid && !more_help {
        true => format!("{holds}, limited by {limit}."),
        false => format!("{holds}, limited by {limit}: {remedy}."),
    })
}

pub(crate) fn limit_in_words(analysis: &KernelAnalysis) -> &str {
    match analysis.occupancy_limit.as_str() {
        "threads" => "its warp slots",
        "grid" => "the grid",
        "shared-memory" => "shared memory",
        "block-slots" => "block slots",
        "cap" => "gpu.max_blocks_per_sm",
        other => other,
    }
}

pub(crate) fn plural(count: u32, one: &str) -> String {
    match count {
        1 => one.to_owned(),
        _ => format!("{one}s"),
    }
}

/// Number of blocks in words.
pub(crate) fn counted(blocks: u64) -> String {
    match blocks {
        1 => "1 block".to_owned(),
        _ => format!("{blocks} blocks"),
    }
}

/// Share of a block's shared memory up to which what it should save may be padding.
const PADDING: f64 = 0.1;

/// Clause on how one more block would fit.
pub(crate) fn remedy(spec: &GpuSpec, analysis: &KernelAnalysis) -> Option<String> {
    let held = &analysis.occupancy;
    let limit = analysis.occupancy_limit.as_str();
    let is = |named: OccupancyLimit| limit == named.name();
    let more = held.blocks_per_sm + 1;
    if is(OccupancyLimit::Grid) {
        let sms = spec.gpu.sms;
        let fit = held.rooms.iter().filter_map(|room| room.blocks).min()?;
        return Some(format!(
            "it has {} for {sms} SMs, although an SM has room for {fit}; let more threads share the \
             work, or launch a larger problem",
            counted(held.grid_blocks)
        ));
    }
    let then = held.next_limit(limit).and_then(|room| {
        let blocks = room.blocks?;
        let next = room.resource.replace('-', " ");
        Some(format!(" ({next} next, at {blocks})"))
    });
    let then = then.unwrap_or_default();
    if is(OccupancyLimit::Registers) {
        let room = held.room(OccupancyLimit::Registers)?;
        let per_thread = room.total / more / (held.warps_per_block * WARP);
        let granted = per_thread / spec.sm.register_granularity.max(1);
        let fewer = granted * spec.sm.register_granularity.max(1);
        return Some(match fewer {
            0 => "one more block does not fit with any number; use smaller blocks".to_owned(),
            fewer => format!(
                "{more} blocks fit with {fewer} registers a thread instead of {}{then}",
                held.registers_per_thread
            ),
        });
    }
    if is(OccupancyLimit::SharedMemory) {
        let room = held.room(OccupancyLimit::SharedMemory)?;
        let fewer = room.total / more;
        let padding = match f64::from(held.shared_bytes - fewer.min(held.shared_bytes)) {
            saved if saved <= PADDING * f64::from(held.shared_bytes) => {
                ", unless the rest is padding against bank conflicts"
            }
            _ => "",
        };
        return Some(format!(
            "{more} blocks fit with {fewer} bytes of shared memory a block instead of \
             {}{padding}{then}",
            held.shared_bytes
        ));
    }
    if is(OccupancyLimit::Threads) {
        return Some(free_slots(held));
    }
    if is(OccupancyLimit::Blocks) {
        let per_block = held.warp_slots.div_ceil(held.blocks_per_sm.max(1));
        return Some(format!(
            "larger blocks, of up to {} threads instead of {}, would fill its warp slots{then}",
            per_block * WARP,
            held.block_threads
        ));
    }
    is(OccupancyLimit::Cap).then(|| format!("gpu.max_blocks_per_sm keeps further ones out{then}"))
}

fn free_slots(held: &Occupancy) -> String {
    let used = held.blocks_per_sm * held.warps_per_block;
    match held.warp_slots - used {
        0 => "all are taken; only a machine with more slots holds more".to_owned(),
        free => {
            format!("{free} slots are too few for another block; smaller blocks would fill them")
        }
    }
}
