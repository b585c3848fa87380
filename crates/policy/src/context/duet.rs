//! GPUDuet (Lin, Mantor, Zhou, TACO 2018): its storage, and how many extra blocks it
//! takes.

use crate::{Facts, Part, Policy, bits_for};
use warploom_config::{Context, ContextStorage, DuetSettings, GpuSpec};

/// Warps and blocks leave to spare memory.
#[derive(Clone, Copy, Debug)]
pub struct Duet;

/// Blocks alone do.
#[derive(Clone, Copy, Debug)]
pub struct DuetTb;

const SOURCE: &str = "Lin et al., TACO 2018, section 6";
const STATE: &str = "allocation map, tables of warps and of blocks, four queues (Table 4)";

impl Policy for Duet {
    const FACTS: Facts = Facts {
        about: "Stalled warps, or blocks where shared memory limits, leave to spare memory on chip.",
        source: SOURCE,
        state: STATE,
        bits: |spec| Tables::of(spec).bits(),
        part: Part::Sm,
        complexity: "length of the queues",
    };
}

impl Policy for DuetTb {
    const FACTS: Facts = Facts {
        about: "Stalled blocks leave to spare memory on chip as wholes, whatever limits.",
        source: SOURCE,
        state: STATE,
        bits: |spec| Tables::of(spec).bits(),
        part: Part::Sm,
        complexity: "length of the queues",
    };
}

/// Table 4: components with the bits of an entry and entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Name, bits of an entry, entries.
    pub rows: [(&'static str, u64, u64); 5],
}

impl Tables {
    /// Those of a machine, with its settings.
    pub fn of(spec: &GpuSpec) -> Self {
        let settings = match spec.sm.context {
            Context::Duet(settings) | Context::DuetTb(settings) => settings,
            _ => DuetSettings::default(),
        };
        let units = u64::from(ContextStorage::of(spec).units());
        let address = bits_for(units);
        let warps = u64::from(settings.warp_contexts);
        let blocks = u64::from(settings.block_contexts);
        // The widest block: 1024 threads.
        let mask = 32;
        Self {
            rows: [
                ("allocation bit map", units, 1),
                ("warp context table", 1 + 2 + 2 * address, warps),
                ("block context table", 1 + mask + address, blocks),
                (
                    "stalled and ready warp queues",
                    bits_for(warps),
                    2 * u64::from(settings.warp_queue),
                ),
                (
                    "stalled and ready block queues",
                    bits_for(blocks),
                    2 * u64::from(settings.block_queue),
                ),
            ],
        }
    }

    /// All of them.
    pub fn bits(&self) -> u64 {
        self.rows
            .iter()
            .map(|(_, bits, entries)| bits * entries)
            .sum()
    }
}

/// Room for more TLP, by Table 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Every part is below its lower threshold.
    Underutilised,
    /// Neither of the others.
    Moderate,
    /// Some part is above its upper threshold.
    Saturated,
}

/// Chooses the number of extra blocks (ME) of a kernel from what the monitor sees (section 6.4).
///
/// The first window decides: underutilised, as many as have room; saturated, none; between the two
/// one more after each window, from none, until there is no more room or a part saturates. It does
/// not step back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraBlocksMonitor {
    extra: u32,
    first: bool,
    done: bool,
}

impl ExtraBlocksMonitor {
    /// No extra blocks, no window seen.
    pub fn new() -> Self {
        Self {
            extra: 0,
            first: true,
            done: false,
        }
    }

    /// Nothing will change any more.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Extra blocks from now on, after a window in which the kernel loaded the machine so; `bound`
    /// have room.
    pub fn look(&mut self, load: Load, bound: u32) -> u32 {
        if !self.done {
            match load {
                Load::Saturated => self.done = true,
                Load::Underutilised if self.first => (self.extra, self.done) = (bound, true),
                Load::Underutilised | Load::Moderate => {
                    // The first window begins at none.
                    self.extra = (self.extra + u32::from(!self.first)).min(bound);
                    self.done = self.extra == bound;
                }
            }
            self.first = false;
        }
        self.extra
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtraBlocksMonitor, Load, Tables};
    use crate::Policy;
    use warploom_config::preset;

    /// Table 4, typed again from the paper: 3072, 3456, 1440, 224 and 80 bits.
    #[test]
    fn storage_is_table_4() {
        let spec = preset("maxwell-duet").expect("a preset");
        let tables = Tables::of(&spec);
        let totals = tables.rows.map(|(_, bits, entries)| bits * entries);
        assert_eq!(totals, [3072, 3456, 1440, 224, 80]);
        // 1034 bytes, and Virtual Thread's 84 (section 6.8).
        assert_eq!(tables.bits(), 1034 * 8);
        assert_eq!((super::super::VirtualThread::FACTS.bits)(&spec), 84 * 8);
    }

    fn check(loads: &[Load], expected: &[u32]) {
        let mut monitor = ExtraBlocksMonitor::new();
        let extra: Vec<_> = loads.iter().map(|load| monitor.look(*load, 3)).collect();
        assert_eq!(extra, expected);
    }

    #[test]
    fn the_first_window_decides_at_both_ends() {
        use Load::{Moderate, Saturated, Underutilised};
        check(&[Underutilised, Saturated], &[3, 3]);
        check(&[Saturated, Underutilised], &[0, 0]);
        check(
            &[Moderate, Moderate, Underutilised, Moderate, Moderate],
            &[0, 1, 2, 3, 3],
        );
        check(&[Moderate, Moderate, Saturated, Moderate], &[0, 1, 1, 1]);
    }
}
