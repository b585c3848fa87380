//! Time of launches in parts: before the first block, while most SMs hold blocks, and at the end,
//! when few still do; and the reasons why SMs hold none.

use crate::advice::{counted, percent};
use crate::explain::Subject;
use crate::occupancy::Occupancy;
use crate::verdict::Bound;
use warploom_config::{GpuSpec, OccupancyLimit};
use warploom_policy::utilisation::Utilisation;
use warploom_stats::result::Figures;

/// Share of the SMs' cycles from which a reason for no block is named.
const WORTH_NAMING: f64 = 0.01;
/// Share of these cycles, and ratio to the largest reason, from which a reason has a step.
const WORTH_A_STEP: (f64, f64) = (0.1, 0.5);
/// Share of the SMs' cycles with a block below which the others are named beside another bound.
const FULL: f64 = 0.9;
/// Ratio of the longest block to the mean from which blocks count as unequal.
const UNEQUAL: f64 = 2.0;
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
        let phases = &self.phases;
        let named = phases.reasons().into_iter();
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

    /// Clause on SMs without a block beside another bound, if they are many.
    pub(crate) fn idle_beside(&self) -> Option<String> {
        let active = self.facts.active.filter(|&share| share < FULL)?;
        (self.analysis.bound != Bound::IdleSms).then(|| {
            let idle = percent(1.0 - active);
            format!(
                "SMs hold no block in {idle} of their cycles{}",
                self.idle_in_words()
            )
        })
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
        if let Some((longest, mean)) = self.unequal_blocks() {
            return format!("the longest block takes {longest} cycles, one on average {mean}");
        }
        let (blocks, places) = (self.analysis.occupancy.grid_blocks, self.places());
        format!(
            "the grid has {} for {places} places: {:.1} rounds",
            counted(blocks),
            blocks as f64 / places.max(1) as f64
        )
    }

    /// Cycles of the longest block and of one on average, if blocks are unequal.
    fn unequal_blocks(&self) -> Option<(u64, u64)> {
        let times = self.figures.block_times.filter(|times| times.blocks > 0)?;
        let mean = times.cycles / times.blocks;
        (times.longest as f64 >= UNEQUAL * mean as f64).then_some((times.longest, mean))
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

    /// Steps against the largest reasons why SMs hold no block.
    pub(crate) fn more_blocks(&self) -> String {
        let (least, of_largest) = WORTH_A_STEP;
        let reasons = self.phases.reasons();
        let largest = reasons.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let counts = |share: f64| share == largest || share >= least.max(of_largest * largest);
        let steps = reasons.into_iter().filter(|(_, share)| counts(*share));
        let mut steps: Vec<&str> = steps.map(|(idle, _)| self.against(idle)).collect();
        steps.dedup();
        steps.join("; and ")
    }

    fn against(&self, idle: Idle) -> &'static str {
        match idle {
            Idle::Launch if self.analysis.launches == 1 => {
                "give the launch more work, by a larger problem"
            }
            Idle::Launch => "give a launch more work: a larger problem, or one launch for several",
            Idle::Grid => "launch more blocks: smaller ones, or a larger problem",
            Idle::Tail if self.unequal_blocks().is_some() => {
                "give all blocks the same work: divide that of the longest ones among more threads"
            }
            Idle::Tail => {
                "let blocks be small and take equally long, so that the last ones end together, or \
                 solve a larger problem"
            }
        }
    }
}
