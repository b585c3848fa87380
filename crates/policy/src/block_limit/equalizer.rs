//! Equalizer without its clocks (Sethia and Mahlke, MICRO 2014): each SM runs one block more or
//! fewer by what its warps wait for.
//!
//! Four numbers of warps are sampled and averaged over an epoch: the warps that run (active), those
//! of them whose next instruction waits for an operand (waiting), and those that could issue but
//! for others, to the load/store pipe (excess memory) or to another pipe (excess arithmetic). Let W
//! be the warps of a block. At the end of an epoch, the first of these rules that holds decides:
//!
//! - excess memory above W: one block fewer;
//! - excess arithmetic above W: as before (the kernel is bound by arithmetic);
//! - excess memory above `bandwidth_warps`: as before (memory is saturated);
//! - more than half of the active warps wait: one block more.
//!
//! The number of blocks changes when `epochs` epochs in a row ask for the same change. The paper
//! also raises or lowers the clocks of the SMs and of the memory system, which is left out here.

use super::{BlockLimit, BlockLimitCounters, Launches, NO_LIMIT, most_blocks};
use crate::facts::warps;
use crate::multiprogram::{MultiprogramView, WarpCounts};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{Cycle, SmId};
use warploom_config::{EqualizerSettings, GpuSpec};
use warploom_state::{State, Value};

/// Block limit that follows four counts of warps.
#[derive(Clone, Debug, State)]
pub struct Equalizer {
    #[state(fixed)]
    settings: EqualizerSettings,
    launches: Launches,
    next: Cycle,
    epoch_end: Cycle,
    /// Number of samples of the epoch so far.
    samples: u64,
    sms: Vec<OnSm>,
    counters: BlockLimitCounters,
}

/// Change of the number of blocks for which an epoch asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
enum Change {
    Fewer,
    Same,
    More,
}

/// State of one SM.
#[derive(Clone, Copy, Debug, Value)]
struct OnSm {
    limit: u32,
    /// Sums over the samples of the epoch.
    sums: WarpCounts,
    /// Change for which the last epochs asked, and their number.
    wanted: (Change, u32),
}

impl PolicyFacts for Equalizer {
    const FACTS: Facts = Facts {
        about: "One block more on an SM whose warps wait, one fewer where they queue for memory.",
        source: "Equalizer, without clocks: Sethia and Mahlke, MICRO 2014",
        state: "4 x log2(warps x samples + 1) + 2 x log2(epochs + 1) + log2(blocks) + blocks: sums \
                of four counts, epochs that ask for a change, the limit, which blocks are paused",
        bits,
        // 48 warps in 32 samples are 1,536 (11 bits); three epochs each way (2 bits); a limit of 1
        // to 8 (3 bits); 8 blocks.
        bits_on_gtx480: 4 * 11 + 2 * 2 + 3 + 8,
        part: Part::Sm,
        complexity: "warps, once a sample",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: EqualizerSettings = spec.sm.block_limit.settings();
    let samples = u64::from(settings.epoch_cycles / settings.sample_cycles);
    let blocks = u64::from(spec.sm.max_blocks);
    4 * bits_for(warps(spec) * samples + 1)
        + 2 * bits_for(u64::from(settings.epochs) + 1)
        + bits_for(blocks)
        + blocks
}

impl Equalizer {
    /// A limit that has seen no kernel.
    pub fn new(settings: EqualizerSettings) -> Self {
        Self {
            settings,
            launches: Launches::default(),
            next: Cycle::MAX,
            epoch_end: Cycle::MAX,
            samples: 0,
            sms: Vec::new(),
            counters: BlockLimitCounters::default(),
        }
    }

    fn begin(&mut self, view: &MultiprogramView<'_>) {
        let fresh = OnSm {
            limit: most_blocks(view),
            sums: WarpCounts::default(),
            wanted: (Change::Same, 0),
        };
        self.sms = vec![fresh; view.sms.len()];
        self.begin_epoch(view.now);
        self.next = view.now + Cycle::from(self.settings.sample_cycles);
    }

    fn begin_epoch(&mut self, now: Cycle) {
        self.samples = 0;
        self.epoch_end = now + Cycle::from(self.settings.epoch_cycles);
    }

    fn sample(&mut self, view: &MultiprogramView<'_>) {
        self.samples += 1;
        for (sm, sample) in self.sms.iter_mut().zip(view.sms) {
            sm.sums.add(&sample.warps);
        }
        self.next = view.now + Cycle::from(self.settings.sample_cycles);
        if view.now >= self.epoch_end {
            self.end_epoch(view);
            self.begin_epoch(view.now);
        }
    }

    fn end_epoch(&mut self, view: &MultiprogramView<'_>) {
        let block_warps = view.kernels.iter().map(|kernel| kernel.needs.threads / 32);
        let block_warps = u64::from(block_warps.max().unwrap_or(1));
        for at in 0..self.sms.len() {
            let change = self.change(&self.sms[at].sums, block_warps);
            let sm = &mut self.sms[at];
            sm.sums = WarpCounts::default();
            let next = sm
                .after(change, self.settings.epochs)
                .clamp(1, most_blocks(view));
            self.counters.note(sm.limit, next);
            sm.limit = next;
        }
    }

    /// The change for which the sums of an epoch ask.
    fn change(&self, sums: &WarpCounts, block_warps: u64) -> Change {
        let above = |sum: u64, warps: u64| sum > warps * self.samples;
        let bandwidth = u64::from(self.settings.bandwidth_warps);
        if above(sums.excess_memory, block_warps) {
            Change::Fewer
        } else if above(sums.excess_arithmetic, block_warps)
            || above(sums.excess_memory, bandwidth)
            || 2 * sums.waiting <= sums.active
        {
            Change::Same
        } else {
            Change::More
        }
    }
}

impl OnSm {
    /// The limit after an epoch that asks for a change, which takes effect if `epochs` in a row do.
    fn after(&mut self, change: Change, epochs: u32) -> u32 {
        let (last, count) = self.wanted;
        self.wanted = (change, if change == last { count + 1 } else { 1 });
        if change == Change::Same || self.wanted.1 < epochs {
            return self.limit;
        }
        self.wanted = (Change::Same, 0);
        match change {
            Change::Fewer => self.limit - 1,
            _ => self.limit + 1,
        }
    }
}

impl BlockLimit for Equalizer {
    fn next_check(&self) -> Cycle {
        self.next
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        if self.launches.begin_anew(view) {
            self.begin(view);
        } else if view.kernels.is_empty() {
            self.next = Cycle::MAX;
        } else if view.now >= self.next {
            self.sample(view);
        }
    }

    fn limit(&self, sm: SmId) -> u32 {
        self.sms.get(sm.index()).map_or(NO_LIMIT, |sm| sm.limit)
    }

    fn pauses(&self) -> bool {
        true
    }

    fn counters(&self) -> BlockLimitCounters {
        self.counters.clone()
    }
}
