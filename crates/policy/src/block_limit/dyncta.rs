//! DYNCTA (Kayiran et al., PACT 2013): each SM runs one block more or fewer by what it did in the
//! last window of cycles.
//!
//! An SM begins a kernel with half of the blocks that have room. After each window:
//!
//! - it was idle for `idle_cycles` or more: one block more;
//! - else it waited for memory for fewer than `memory_low_cycles`: one block more;
//! - else it waited for `memory_high_cycles` or more: one block fewer.
//!
//! There is always at least one block, and at most as many as have room. An SM with blocks is idle
//! while no warp of them runs, or while all warps wait at a barrier, for a fence or for an atomic.
//! An SM waits for memory while no warp issues and at least one needs the result of a load or a
//! place in the load/store pipe. On an SM with several schedulers both are means over the
//! schedulers.

use super::{BlockLimit, BlockLimitCounters, Launches, NO_LIMIT, most_blocks};
use crate::multiprogram::{MultiprogramView, SmSample};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{Cycle, SmId};
use warploom_config::{DynctaSettings, GpuSpec};
use warploom_state::{State, Value};

/// Block limit that follows idle cycles and cycles that wait for memory.
#[derive(Clone, Debug, State)]
pub struct Dyncta {
    #[state(fixed)]
    settings: DynctaSettings,
    launches: Launches,
    next: Cycle,
    sms: Vec<Window>,
    counters: BlockLimitCounters,
}

/// Limit of an SM, and its counts at the beginning of the window.
#[derive(Clone, Copy, Debug, Value)]
struct Window {
    limit: u32,
    idle_slots: u64,
    memory_slots: u64,
}

impl PolicyFacts for Dyncta {
    const FACTS: Facts = Facts {
        about: "One block more on an SM that idles, one fewer on an SM that waits for memory.",
        source: "DYNCTA: Kayiran et al., PACT 2013",
        state: "2 x log2(window + 1) + log2(blocks) + blocks: idle cycles and cycles that wait for \
                memory, the limit, which blocks are paused",
        bits,
        // Counts up to 2,048 (12 bits), a limit of 1 to 8 (3 bits), a bit for each of 8 blocks.
        bits_on_gtx480: 2 * 12 + 3 + 8,
        part: Part::Sm,
        complexity: "constant, once a window",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: DynctaSettings = spec.sm.block_limit.settings();
    let blocks = u64::from(spec.sm.max_blocks);
    2 * bits_for(u64::from(settings.window_cycles) + 1) + bits_for(blocks) + blocks
}

impl Dyncta {
    /// A limit that has seen no kernel.
    pub fn new(settings: DynctaSettings) -> Self {
        Self {
            settings,
            launches: Launches::default(),
            next: Cycle::MAX,
            sms: Vec::new(),
            counters: BlockLimitCounters::default(),
        }
    }

    /// The next limit of an SM that idled and waited for memory for a number of scheduler cycles.
    fn step(&self, limit: u32, idle_slots: u64, memory_slots: u64, schedulers: u64) -> u32 {
        let cycles = |threshold: u32| u64::from(threshold) * schedulers;
        if idle_slots >= cycles(self.settings.idle_cycles)
            || memory_slots < cycles(self.settings.memory_low_cycles)
        {
            limit + 1
        } else if memory_slots >= cycles(self.settings.memory_high_cycles) {
            limit - 1
        } else {
            limit
        }
    }

    fn end_window(&mut self, view: &MultiprogramView<'_>) {
        let schedulers = u64::from(view.spec.sm.schedulers.max(1));
        for (at, sample) in view.sms.iter().enumerate() {
            let Window {
                limit,
                idle_slots,
                memory_slots,
            } = self.sms[at];
            let idle = sample.idle_slots - idle_slots;
            let memory = sample.memory_slots - memory_slots;
            let next = self.step(limit, idle, memory, schedulers);
            let next = next.clamp(1, most_blocks(view));
            self.counters.note(limit, next);
            self.sms[at] = Window::new(next, sample);
        }
    }
}

impl Window {
    fn new(limit: u32, sample: &SmSample) -> Self {
        Self {
            limit,
            idle_slots: sample.idle_slots,
            memory_slots: sample.memory_slots,
        }
    }
}

impl BlockLimit for Dyncta {
    fn next_check(&self) -> Cycle {
        self.next
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        let window = Cycle::from(self.settings.window_cycles);
        if self.launches.begin_anew(view) {
            let half = (most_blocks(view) / 2).max(1);
            let windows = view.sms.iter().map(|sample| Window::new(half, sample));
            self.sms = windows.collect();
            self.next = view.now + window;
        } else if view.kernels.is_empty() {
            self.next = Cycle::MAX;
        } else if view.now >= self.next {
            self.end_window(view);
            self.next = view.now + window;
        }
    }

    fn limit(&self, sm: SmId) -> u32 {
        self.sms
            .get(sm.index())
            .map_or(NO_LIMIT, |window| window.limit)
    }

    fn pauses(&self) -> bool {
        true
    }

    fn counters(&self) -> BlockLimitCounters {
        self.counters.clone()
    }
}
