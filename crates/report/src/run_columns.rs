//! Columns of runs that tables of comparisons and of sweeps have in common.

use crate::page::Cell;
use warploom_stats::result::Reached;

/// Rates, blocks and bound of a run, with what they mean.
pub const OF_RUN: [(&str, &str); 6] = [
    ("l1d.hit_rate", "Hits over accesses of the L1 data caches."),
    ("l2.hit_rate", "Hits over accesses of L2."),
    (
        "dram.utilisation",
        "Share of DRAM's cycles in which data moved.",
    ),
    (
        "blocks_per_sm",
        "Number of the first launch's blocks that fit an SM.",
    ),
    (
        "limit",
        "What limits this number: `grid` if an SM gets no more blocks of it.",
    ),
    (
        "bound",
        "What bound the kernel that took the most cycles, or several programs together, as `run \
         --explain` names it.",
    ),
];

/// Columns on how far a run came that may be cut, with what they mean.
pub const REACHED: [(&str, &str); 4] = [
    ("launch", "Number of the last launch that had begun."),
    (
        "blocks_ended",
        "Blocks of the last launch that had ended when the run did.",
    ),
    ("blocks", "Blocks in the grid of this launch."),
    (
        "waves",
        "Waves of blocks that had ended in all launches: a wave is as many blocks as the machine \
         holds at once.",
    ),
];

/// Cells of the columns [`REACHED`], empty where nothing is known.
pub fn reached_cells(reached: Option<Reached>) -> [Cell; REACHED.len()] {
    reached.map_or([const { Cell::None }; REACHED.len()], |reached| {
        let waves = (reached.waves * 100.0).round() / 100.0;
        [
            Cell::Count(reached.launches),
            Cell::Count(reached.blocks_ended),
            Cell::Count(reached.blocks),
            Cell::Number(waves),
        ]
    })
}
