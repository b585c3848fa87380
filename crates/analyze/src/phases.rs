//! Time of launches in parts: before the first block, while most SMs hold blocks, and at the end,
//! when few still do; and the reasons why SMs hold none.

use crate::advice::{HALF, counted, percent};
use crate::explain::Subject;
use crate::occupancy::Occupancy;
use crate::verdict::Bound;
use warploom_config::{GpuSpec, OccupancyLimit};
use warploom_policy::utilisation::{Part, Utilisation};
use warploom_stats::result::Figures;

/// Share of the SMs' cycles from which a reason for no block is named.
const WORTH_NAMING: f64 = 0.01;
/// Share of these cycles, and ratio to the largest reason, from which a reason has a step.
const WORTH_A_STEP: (f64, f64) = (0.1, 0.5);
/// Share of the SMs' cycles with a block below which the others are named beside another bound.
const FULL: f64 = 0.9;
/// Ratio of the longest block to the mean from which blocks count as unequal.
const UNEQUAL: f64 = 2.0;
/// Step against the time before the first block of a single launch.
const MORE_WORK: &str = "give the launch more work, by a larger problem";
/// Share of the SMs' cycles with a block from which it is named that schedulers have no warp.
const NO_WARP: f64 = 0.2;
/// Warps of a scheduler up to which they are few.
const FEW_WARPS: f64 = 2.0;
/// Share of its cycles with a warp from which a scheduler always issues.
const ALWAYS: f64 = 0.9;
/// Share of the time from which it is told beside another bound that launches take it.
const LONG_LAUNCH: f64 = 0.2;
/// Share of the cycles below which the time with blocks on most SMs is too short to be judged.
const SHORT: f64 = 0.05;

/// Shares of the time of a kernel's launches. Those of SMs without a block are shares of the cycles
/// of all SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Phases {
    /// Core cycles before the first blocks of launches.
    pub before: u64,
    /// Share of these cycles in all; at most that in which SMs hold no block.
    pub launch: f64,
    /// SMs that hold no block of a launch at all.
    pub unused: f64,
    /// SMs whose last block has ended while others still run.
    pub ended: f64,
    /// SMs without a block at other times.
    pub rest: f64,
    /// Share of the cycles in which at most half of the SMs that held blocks still hold one.
    tail: f64,
    /// Share of the SMs' cycles with a block that lie in that time.
    tail_work: f64,
    /// Share of the SMs' cycles with a block, above 0.
    active: f64,
}

impl Phases {
    /// The phases of a kernel with `launches` launches. Results of earlier versions do not tell
    /// SMs that hold no block at all from others: the size of the grid then decides.
    pub(crate) fn of(
        spec: &GpuSpec,
        launches: u64,
        figures: &Figures,
        occupancy: &Occupancy,
    ) -> Self {
        let get = |name: &str| figures.statistics.get(name).copied().unwrap_or(0);
        let before = launches * u64::from(spec.gpu.kernel_launch_cycles)
            + get("sm.blocks_started") * u64::from(spec.gpu.block_launch_cycles);
        let cycles = figures.cycles.max(1) as f64;
        let sms = get("gpu.cycles") as f64 * f64::from(spec.gpu.sms);
        let held = get("sm.active_cycles") as f64;
        let active = if sms > 0.0 {
            (held / sms).min(1.0)
        } else {
            1.0
        };
        let idle = 1.0 - active;
        let launch = (before as f64 / cycles).min(idle);
        let left = idle - launch;
        let times = figures.block_times;
        let share = |of: u64| (of as f64 / sms.max(1.0)).min(1.0);
        let unused = match times {
            Some(times) => share(times.unused_sm_cycles).min(left),
            None if occupancy.grid_blocks < u64::from(spec.gpu.sms) => left,
            None => 0.0,
        };
        let ended = match times {
            Some(times) => share(times.ended_sm_cycles).min(left - unused),
            None => left - unused,
        };
        let times = times.unwrap_or_default();
        Self {
            before,
            launch,
            unused,
            ended,
            rest: left - unused - ended,
            tail: (times.tail_cycles as f64 / cycles).min(1.0),
            tail_work: (times.tail_sm_cycles as f64 / held.max(1.0)).min(1.0),
            active: active.max(1e-9),
        }
    }

    /// Utilisation while there are blocks: of parts of an SM while it holds one, of others while
    /// most SMs that the launch uses hold one. What these move is taken to be spread over the SMs'
    /// cycles with a block.
    pub(crate) fn with_blocks(&self, used: &Utilisation) -> Utilisation {
        let time = 1.0 - self.launch - self.tail;
        let outside = match time > SHORT {
            true => (1.0 - self.tail_work) / time,
            false => 1.0,
        };
        used.times(1.0 / self.active, outside.max(1.0))
    }

    /// The reasons why SMs hold no block, with their shares.
    fn reasons(&self) -> [(Idle, f64); 3] {
        [
            (Idle::Launch, self.launch),
            (Idle::Grid, self.unused),
            (Idle::Tail, self.ended),
        ]
    }
}

/// Cycles of the longest block and of one on average, if blocks are unequal.
pub(crate) fn unequal_blocks(figures: &Figures) -> Option<(u64, u64)> {
    let times = figures.block_times.filter(|times| times.blocks > 0)?;
    let mean = times.cycles / times.blocks;
    (times.longest as f64 >= UNEQUAL * mean as f64).then_some((times.longest, mean))
}

/// Share of the time after the launch for which the longest block runs; 0 if blocks are equal.
pub(crate) fn longest_block(spec: &GpuSpec, figures: &Figures) -> f64 {
    let launch = u64::from(spec.gpu.kernel_launch_cycles);
    let time = figures.cycles.saturating_sub(launch).max(1);
    let longest = unequal_blocks(figures).map_or(0, |(longest, _)| longest);
    longest as f64 / time as f64
}

/// Reason why SMs hold no block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Idle {
    /// The time before the first blocks of launches.
    Launch,
    /// The grid has no block for them.
    Grid,
    /// The last block of an SM has ended, and others still run.
    Tail,
}

impl Subject<'_> {
    /// Clause on the reasons why SMs hold no block, each with its share if there are several.
    pub(crate) fn idle_in_words(&self) -> String {
        self.reasons_in_words(&self.phases.reasons())
    }

    /// Clause on some reasons why SMs hold no block, and on the rest.
    fn reasons_in_words(&self, reasons: &[(Idle, f64)]) -> String {
        let phases = &self.phases;
        let named = reasons.iter().copied();
        let named = named.filter(|(_, share)| *share >= WORTH_NAMING);
        let mut told: Vec<(f64, String)> = named
            .map(|(idle, share)| (share, self.reason(idle)))
            .collect();
        if phases.rest >= WORTH_NAMING {
            told.push((phases.rest, "at other times".to_owned()));
        }
        match told.as_slice() {
            [] => String::new(),
            [(_, only)] => format!(", {only}"),
            [firsts @ .., last] => {
                let one = |(share, words): &(f64, String)| format!("{} {words}", percent(*share));
                let firsts: Vec<String> = firsts.iter().map(one).collect();
                format!(": {}, and {}", firsts.join(", "), one(last))
            }
        }
    }

    /// True if launches take a large part of the time, and another bound is told.
    pub(crate) fn has_long_launch(&self) -> bool {
        self.phases.launch >= LONG_LAUNCH && self.analysis.bound != Bound::IdleSms
    }

    /// Clause on the time before the first blocks of launches.
    pub(crate) fn launch_takes(&self) -> String {
        let before = match self.analysis.launches {
            1 => "before the first block starts".to_owned(),
            launches => format!("before the first blocks of {launches} launches start"),
        };
        format!(
            "{:.0} of {} cycles pass {before} (gpu.kernel_launch_cycles is {})",
            self.phases.launch * self.analysis.cycles as f64,
            self.analysis.cycles,
            self.machine.spec.gpu.kernel_launch_cycles
        )
    }

    /// Sentence on the time that launches take, if it is long and another bound is told.
    pub(crate) fn launch_in_words(&self) -> String {
        match self.has_long_launch() {
            true => format!(
                " The kernel is short: {}, whatever the SMs do.",
                self.launch_takes()
            ),
            false => String::new(),
        }
    }

    /// Step against the time that launches take, if it is long and another bound is told.
    pub(crate) fn against_launch(&self) -> Option<&'static str> {
        self.has_long_launch().then(|| self.more_work())
    }

    /// Step against the time before the first block of a launch.
    fn more_work(&self) -> &'static str {
        match self.analysis.launches {
            1 => MORE_WORK,
            _ => "give a launch more work: a larger problem, or one launch for several",
        }
    }

    /// Clause on SMs that hold no block although the launch is over, if they are worth naming.
    pub(crate) fn idle_after_launch_in_words(&self) -> String {
        let idle = 1.0 - self.phases.active - self.phases.launch;
        match idle >= WORTH_NAMING {
            true => format!(
                "SMs hold no block in a further {} of their cycles{}",
                percent(idle),
                self.reasons_in_words(&self.phases.reasons()[1..])
            ),
            false => String::new(),
        }
    }

    /// Clause on SMs without a block beside another bound, if they are many. Those of a launch that
    /// the first sentence tells are left out.
    pub(crate) fn idle_beside(&self) -> Option<String> {
        let active = self.facts.active.filter(|&share| share < FULL)?;
        if self.has_long_launch() {
            let is_long = 1.0 - active - self.phases.launch > 1.0 - FULL;
            return is_long.then(|| self.idle_after_launch_in_words());
        }
        (self.analysis.bound != Bound::IdleSms).then(|| {
            let idle = percent(1.0 - active);
            format!(
                "SMs hold no block in {idle} of their cycles{}",
                self.idle_in_words()
            )
        })
    }

    /// Share of the scheduler cycles in which a scheduler of an SM that holds a block has no warp.
    fn without_warp(&self) -> f64 {
        let idle = 1.0 - self.facts.active.unwrap_or(1.0);
        (self.share("no_warp") - idle).max(0.0)
    }

    /// Clause on schedulers without a warp on SMs that hold a block, if they have none for long.
    pub(crate) fn without_warp_in_words(&self) -> String {
        let active = self.facts.active.unwrap_or(1.0).max(1e-9);
        match self.without_warp() / active {
            share if share >= NO_WARP => format!(
                "; in {} of that time a scheduler has no warp (an SM has {} of them)",
                percent(share),
                self.machine.spec.sm.schedulers
            ),
            _ => String::new(),
        }
    }

    /// Clause on schedulers without a warp beside a bound for which they wait in fewer cycles.
    pub(crate) fn more_without_warp(&self, bound: Bound) -> String {
        match self.without_warp() {
            share if share > bound.waits(self.figures) => format!(
                "; in {}, schedulers of SMs that hold a block have no warp",
                percent(share)
            ),
            _ => String::new(),
        }
    }

    fn reason(&self, idle: Idle) -> String {
        let gpu = &self.machine.spec.gpu;
        match idle {
            Idle::Launch => format!(
                "before the first block of a launch starts ({} of {} cycles; \
                 gpu.kernel_launch_cycles is {})",
                self.phases.before, self.analysis.cycles, gpu.kernel_launch_cycles
            ),
            Idle::Grid => format!(
                "because the grid has {} for {} SMs",
                counted(self.analysis.occupancy.grid_blocks),
                gpu.sms
            ),
            Idle::Tail => format!(
                "after the last block of an SM, while others still run ({})",
                self.tail_in_words()
            ),
        }
    }

    /// Why SMs run out of blocks at different times.
    fn tail_in_words(&self) -> String {
        if let Some((longest, mean)) = unequal_blocks(self.figures) {
            return format!("the longest block takes {longest} cycles, one on average {mean}");
        }
        let (blocks, places) = (self.analysis.occupancy.grid_blocks, self.places());
        format!(
            "the grid has {} for {places} places: {:.1} rounds",
            counted(blocks),
            blocks as f64 / places.max(1) as f64
        )
    }

    /// Blocks for which the machine has room at a time.
    fn places(&self) -> u64 {
        let held = &self.analysis.occupancy;
        let rooms = held.rooms.iter().filter_map(|room| room.blocks);
        let a_sm = match self.is_short_of_blocks() {
            true => rooms.min().unwrap_or(held.blocks_per_sm),
            false => held.blocks_per_sm,
        };
        u64::from(self.machine.spec.gpu.sms) * u64::from(a_sm)
    }

    /// True if the grid is what limits the blocks on an SM.
    pub(crate) fn is_short_of_blocks(&self) -> bool {
        self.analysis.occupancy_limit == OccupancyLimit::Grid.name()
    }

    /// Reasons why SMs hold no block that have a step: the largest ones.
    fn largest_reasons(&self) -> Vec<Idle> {
        let (least, of_largest) = WORTH_A_STEP;
        let reasons = self.phases.reasons();
        let largest = reasons.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let counts = |share: f64| share == largest || share >= least.max(of_largest * largest);
        let named = reasons.into_iter().filter(|(_, share)| counts(*share));
        named.map(|(idle, _)| idle).collect()
    }

    /// Steps against the largest reasons why SMs hold no block.
    pub(crate) fn more_blocks(&self) -> String {
        let reasons = self.largest_reasons().into_iter();
        let mut steps: Vec<String> = reasons.map(|idle| self.against(idle)).collect();
        // The remedy against the time of one launch is told once.
        if steps.len() > 1 && steps[0] == MORE_WORK {
            let is_told = steps[1..]
                .iter()
                .any(|step| step.contains("a larger problem"));
            steps.drain(..usize::from(is_told));
        }
        steps.join("; and ")
    }

    /// True if warps that share an SM hardly keep each other from issuing: they wait for results
    /// for longer than schedulers issue, or are few and leave schedulers cycles without issue.
    /// Fewer of them on an SM are no faster then.
    pub(crate) fn waits_alone(&self) -> bool {
        let within = self.within_sms();
        let of_latency = matches!(
            within,
            Bound::Loads | Bound::SharedLoads | Bound::Arithmetic | Bound::Atomics | Bound::Fetch
        );
        let is_free = self.facts.units_busy < HALF;
        let issued = self.share("issued");
        let with_warps = 1.0 - self.share("no_warp");
        let schedulers = f64::from(self.machine.spec.sm.schedulers);
        let few = self.analysis.occupancy.resident_warps <= FEW_WARPS * schedulers;
        let by_latency = of_latency && within.waits(self.figures) > issued;
        let by_issue = within == Bound::Part(Part::Scheduler) || of_latency;
        is_free && (by_latency || by_issue && few && issued < ALWAYS * with_warps)
    }

    /// True if the step against idle SMs is to let more threads share the work.
    pub(crate) fn shares_work(&self) -> bool {
        self.analysis.bound == Bound::IdleSms
            && self.largest_reasons().contains(&Idle::Grid)
            && self.waits_alone()
    }

    fn against(&self, idle: Idle) -> String {
        let step = match idle {
            Idle::Launch => self.more_work(),
            Idle::Grid if self.waits_alone() => {
                "let more threads share the work, in more blocks, or solve a larger problem (the \
                 same threads in smaller blocks are hardly faster: a warp waits for its own results)"
            }
            Idle::Grid => "launch more blocks: smaller ones, or a larger problem",
            Idle::Tail if unequal_blocks(self.figures).is_some() => return self.equal_blocks(),
            Idle::Tail => {
                "let blocks be small and take equally long, so that the last ones end together, or \
                 solve a larger problem"
            }
        };
        step.to_owned()
    }

    /// Step against blocks that take unequally long. Smaller ones may help if warps keep each other
    /// from issuing: where they wait for arithmetic, they take hardly less time.
    fn equal_blocks(&self) -> String {
        let is_full = matches!(
            self.within_sms(),
            Bound::Part(Part::Scheduler) | Bound::Units
        );
        let smaller = match self.analysis.occupancy.warps_per_block > 1 && is_full {
            true => "; smaller blocks may spread that work over more SMs",
            false => "",
        };
        format!(
            "give all blocks the same work: divide that of the longest ones among more threads\
             {smaller}"
        )
    }
}
