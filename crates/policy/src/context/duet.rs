//! GPUDuet (Lin, Mantor, Zhou, TACO 2018): facts and storage. The engine that moves contexts is
//! part of the SM. The [monitor](super::monitor) decides on the number of extra blocks.

use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_config::{ContextStorage, DuetSettings, GpuSpec};

/// Context system that moves stalled warps or blocks to spare memory on chip.
#[derive(Clone, Copy, Debug)]
pub struct Duet;

/// Context system that moves only whole stalled blocks to spare memory on chip.
#[derive(Clone, Copy, Debug)]
pub struct DuetTb;

const SOURCE: &str = "Lin et al., TACO 2018, section 6";
const STATE: &str = "allocation map, tables of warps and of blocks, four queues (Table 4)";

impl PolicyFacts for Duet {
    const FACTS: Facts = Facts {
        about: "Stalled warps, or blocks where shared memory limits, leave to spare memory on chip.",
        source: SOURCE,
        state: STATE,
        bits: |spec| Tables::of(spec).bits(),
        // 128 KB of registers, 48 KB of shared memory and 16 KB of L1D in units of 128 bytes,
        // addresses of 11 bits; 128 warps, 32 blocks; queues of 7 and 5 bits.
        bits_on_gtx480: 1536 + 128 * 25 + 32 * 44 + 32 * 7 + 16 * 5,
        part: Part::Sm,
        complexity: "length of the queues",
    };
}

impl PolicyFacts for DuetTb {
    const FACTS: Facts = Facts {
        about: "Stalled blocks leave to spare memory on chip as wholes, whatever limits.",
        source: SOURCE,
        state: STATE,
        bits: |spec| Tables::of(spec).bits(),
        // 128 KB of registers, 48 KB of shared memory and 16 KB of L1D in units of 128 bytes,
        // addresses of 11 bits; 128 warps, 32 blocks; queues of 7 and 5 bits.
        bits_on_gtx480: 1536 + 128 * 25 + 32 * 44 + 32 * 7 + 16 * 5,
        part: Part::Sm,
        complexity: "length of the queues",
    };
}

/// Storage of GPUDuet per SM: the components of Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// For each component: its name, the bits of an entry, and the number of entries.
    pub rows: [(&'static str, u64, u64); 5],
}

impl Tables {
    /// Tables of a machine, with its settings.
    pub fn of(spec: &GpuSpec) -> Self {
        let settings: DuetSettings = spec.sm.context.settings();
        let units = u64::from(ContextStorage::of(spec).units());
        let address = bits_for(units);
        let warps = u64::from(settings.warp_contexts);
        let blocks = u64::from(settings.block_contexts);
        // The widest block has 1024 threads.
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

    /// Bits of all components in total.
    pub fn bits(&self) -> u64 {
        self.rows
            .iter()
            .map(|(_, bits, entries)| bits * entries)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Tables;
    use crate::PolicyFacts;
    use warploom_config::preset;

    /// Table 4 of the paper has 3072, 3456, 1440, 224 and 80 bits.
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
}
