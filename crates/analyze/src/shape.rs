//! Costs of the shape of blocks: warps that take words of several rows, and lanes without a thread.

use crate::accesses::Accesses;
use crate::explain::Subject;
use crate::occupancy::{Occupancy, WARP};

/// Ratio by which the mean of lanes may differ from that of lanes with a thread.
const EQUAL: f64 = 1.05;
/// Ratio by which transactions may pass those of whole rows, since words of a row may begin within
/// a segment.
const MISALIGNED: f64 = 1.25;

/// Beginning of the step that widens blocks.
pub(crate) const WIDER: &str = "launch blocks of ";

impl Occupancy {
    /// Lanes of a warp that have a thread, on average.
    fn lanes(&self) -> f64 {
        f64::from(self.block_threads) / f64::from(self.warps_per_block.max(1))
    }

    /// Size of blocks, if lanes without a thread are why instructions take effect in `lanes` lanes.
    pub(crate) fn explains(&self, lanes: f64) -> Option<u32> {
        let is_partial = !self.block_threads.is_multiple_of(WARP);
        (is_partial && lanes * EQUAL >= self.lanes()).then_some(self.block_threads)
    }
}

/// Clause on blocks that are no whole warps.
pub(crate) fn whole_warps(threads: u32) -> String {
    format!("blocks have {threads} threads, which are no whole warps: use a multiple of {WARP}")
}

impl Subject<'_> {
    /// Step that widens blocks, where a large part of all transactions is there because a warp of a
    /// block that is `x` threads wide has threads of 32 / `x` rows.
    pub(crate) fn wider_blocks(&self) -> Option<String> {
        let [x, y, z] = self.analysis.occupancy.block;
        let threads = x * y * z;
        let rows = f64::from(WARP) / f64::from(x);
        let is_narrow = x < WARP && y * z > 1 && threads.is_multiple_of(WARP);
        let kind = Accesses::split(&self.facts.accesses).filter(|kind| !kind.are_local())?;
        let new = match z {
            1 => [WARP, threads / WARP, 1],
            _ => solid(threads / WARP),
        };
        (is_narrow && kind.spread() <= MISALIGNED * rows).then(|| {
            format!(
                "{WIDER}{} threads instead of {}, if neighbouring words belong to \
                 neighbouring `threadIdx.x`: a warp then takes words of one row instead of \
                 {rows:.0} ({} takes {:.1} transactions now, some of which remain where rows begin \
                 within a line or have halos{})",
                shape(new),
                shape([x, y, z]),
                kind.one,
                kind.transactions,
                match (self.analysis.occupancy.shared_bytes, z) {
                    (0, _) => "",
                    (_, 1) => {
                        ", and tiles in shared memory need the new shape: the flatter, the larger \
                         a halo"
                    }
                    _ => ", and tiles in shared memory need the new shape",
                }
            )
        })
    }

    /// A step against transactions, after the one that widens blocks if that helps.
    pub(crate) fn with_wider_blocks(&self, step: String) -> String {
        match self.wider_blocks() {
            Some(wider) if !step.contains(WIDER) => format!("{wider}; then {step}"),
            _ => step,
        }
    }
}

/// A block of rows as wide as a warp, whose other two dimensions are as equal as they can be:
/// flatter ones have larger halos.
fn solid(rows: u32) -> [u32; 3] {
    let z = (1..=rows.isqrt()).rev().find(|&z| rows.is_multiple_of(z));
    let z = z.unwrap_or(1);
    [WARP, rows / z, z]
}

/// Shape of a block in words.
fn shape([x, y, z]: [u32; 3]) -> String {
    match z {
        1 => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    }
}
