//! The executions of one block's warps, kept until another block is asked for: the rectangles of a
//! block and the lines of its warps follow from the same accesses.

use crate::eval::{Outcome, Predictor, Record};
use std::ops::Range;
use warploom_base::{Dim3, LaneMask, WARP_SIZE};
use warploom_exec::Fault;

/// An access of a warp, as in a [`Record`].
#[derive(Clone, Copy, Debug)]
struct Kept {
    access: usize,
    lanes: LaneMask,
    addresses: [u64; WARP_SIZE],
}

/// The execution of the address binary for one warp.
#[derive(Debug)]
struct Run {
    outcome: Result<Outcome, Fault>,
    /// The places of its accesses in [`BlockRuns::accesses`].
    accesses: Range<usize>,
}

/// The executions of the address binary for the warps of one block.
#[derive(Default, Debug)]
pub(crate) struct BlockRuns {
    ctaid: Option<Dim3>,
    /// The execution of each warp, or `None` for a warp that has not been asked for.
    runs: Vec<Option<Run>>,
    accesses: Vec<Kept>,
}

impl BlockRuns {
    /// Reports the accesses of a warp of a block in order, without those that `array_of` maps to no
    /// array. Executes the address binary for the warp unless that has been done.
    ///
    /// # Errors
    /// Returns the fault if the kernel would fault in the warp.
    pub fn replay(
        &mut self,
        predictor: &mut Predictor,
        array_of: &[Option<usize>],
        (ctaid, warp): (Dim3, u32),
        report: impl FnMut(Record<'_>),
    ) -> Result<Outcome, Fault> {
        if self.ctaid != Some(ctaid) {
            self.turn_to(ctaid, predictor.launch().warps_per_block());
        }
        let Self { runs, accesses, .. } = self;
        let run = runs[warp as usize].get_or_insert_with(|| {
            let first = accesses.len();
            let outcome = predictor.run(ctaid, warp, |record| {
                if array_of[record.access].is_some() {
                    accesses.push(Kept::new(&record));
                }
            });
            Run {
                outcome,
                accesses: first..accesses.len(),
            }
        });
        let kept = &accesses[run.accesses.clone()];
        kept.iter().map(Kept::record).for_each(report);
        run.outcome.clone()
    }

    /// Forgets the executions of another block.
    fn turn_to(&mut self, ctaid: Dim3, warps: u32) {
        self.ctaid = Some(ctaid);
        self.runs.clear();
        self.runs.resize_with(warps as usize, || None);
        self.accesses.clear();
    }
}

impl Kept {
    fn new(record: &Record<'_>) -> Self {
        Self {
            access: record.access,
            lanes: record.lanes,
            addresses: *record.addresses,
        }
    }

    fn record(&self) -> Record<'_> {
        Record {
            access: self.access,
            lanes: self.lanes,
            addresses: &self.addresses,
        }
    }
}
