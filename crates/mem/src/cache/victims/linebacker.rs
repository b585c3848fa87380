//! Linebacker: lines of the loads that find their data again.
//!
//! Source: Oh, Koo, Annavaram and Ro, Linebacker: Preserving Victim Cache Lines in Idle Register
//! Files of GPUs, ISCA 2019. Its abstract says that lines of a few selected loads, those of high
//! data locality, are kept. Windows, the table and the threshold are choices of this program
//! (docs/policies-compared.md).

use super::{Facts, Keep, Room};
use warploom_base::{Cycle, Pc};
use warploom_config::{GpuSpec, LinebackerSettings};
use warploom_state::{State, Value};

/// Bits of an address, as in the storage of other victim tags.
const ADDRESS_BITS: u32 = 40;

/// Reads of the loads with one number in the window that runs.
#[derive(Clone, Copy, Default, Debug, Value)]
struct Load {
    reads: u32,
    /// Reads that found their data in the data cache or in a kept line.
    found: u32,
    chosen: bool,
}

/// Watches loads for a window and keeps all lines meanwhile. Then it keeps those of the loads that
/// found enough of their data, until the kernels have ended. While no load does, it goes on
/// watching.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Linebacker {
    #[state(fixed)]
    settings: LinebackerSettings,
    #[state(each)]
    loads: Vec<Load>,
    /// First cycle after the window; `None` before the first read.
    window_end: Option<Cycle>,
    /// True once loads are chosen.
    has_chosen: bool,
}

impl Linebacker {
    pub(super) fn new(settings: LinebackerSettings) -> Self {
        Self {
            loads: vec![Load::default(); settings.loads as usize],
            window_end: None,
            has_chosen: false,
            settings,
        }
    }

    /// Number of the load at `pc`: its low bits, mixed with those above.
    fn number(&self, pc: Pc) -> usize {
        let bits = self.settings.loads.trailing_zeros();
        let pc = pc.index() as u32;
        ((pc ^ pc >> bits) & (self.settings.loads - 1)) as usize
    }

    /// Ends the window if its time is over.
    fn go_on(&mut self, now: Cycle) {
        if self.has_chosen || self.window_end.is_none_or(|end| now < end) {
            return;
        }
        let percent = u64::from(self.settings.hit_percent);
        for load in &mut self.loads {
            let (reads, found) = (u64::from(load.reads), u64::from(load.found));
            let chosen = reads > 0 && found * 100 >= reads * percent;
            self.has_chosen |= chosen;
            *load = Load {
                chosen,
                ..Load::default()
            };
        }
        self.window_end = Some(now + Cycle::from(self.settings.window_cycles));
    }
}

/// Bits of the tags of kept lines.
fn tag_bits(spec: &GpuSpec) -> u64 {
    let room = Room::new(spec);
    let ways = room.ways(spec.sm.registers);
    let tag = ADDRESS_BITS.saturating_sub(spec.l1d.line_bytes.ilog2() + room.sets.ilog2());
    let order = ways.max(1).next_power_of_two().ilog2();
    u64::from(room.sets) * u64::from(ways) * u64::from(tag + 1 + 4 + order)
}

impl Keep for Linebacker {
    const FACTS: Facts<GpuSpec> = Facts {
        about: "Registers that no block holds keep lines that L1D replaces: all of them in a first \
                window, then those of loads that find their data again.",
        source: "Linebacker: Oh et al., ISCA 2019",
        state: "registers / 32: a tag, a valid bit, four sectors and an order of a set's lines + \
                lines of L1D x a load's number + loads x (2 x log2(window) + 1)",
        bits: |spec| {
            let settings: LinebackerSettings = spec.sm.l1d_victims.settings();
            let number = u64::from(settings.loads.ilog2());
            let lines = u64::from(spec.l1d.sets) * u64::from(spec.l1d.ways);
            let count = u64::from(settings.window_cycles.next_power_of_two().ilog2());
            tag_bits(spec) + lines * number + u64::from(settings.loads) * (2 * count + 1)
        },
        // 32 sets of 32 lines: a tag of 40 - 7 - 5 = 28 bits, 1, 4, and 5 for the order; 128 lines
        // of L1D with numbers of 5 bits; 32 loads with two counters of 12 bits.
        example_bits: 32 * 32 * (28 + 1 + 4 + 5) + 128 * 5 + 32 * (2 * 12 + 1),
    };

    fn on_read(&mut self, now: Cycle, pc: Pc, found: bool) {
        self.go_on(now);
        if self.has_chosen {
            return;
        }
        let end = now + Cycle::from(self.settings.window_cycles);
        self.window_end.get_or_insert(end);
        let number = self.number(pc);
        let load = &mut self.loads[number];
        load.reads += 1;
        load.found += u32::from(found);
    }

    fn keeps(&mut self, now: Cycle, pc: Pc) -> bool {
        self.go_on(now);
        !self.has_chosen || self.loads[self.number(pc)].chosen
    }

    fn forget_loads(&mut self) {
        *self = Self::new(self.settings);
    }
}
