//! The footprints of blocks: the arrays of a launch with their row pitch, and the rectangles of
//! each array for every block.
//!
//! A rectangle follows from the addresses of the block's first and last thread. It is exact if the
//! threads of the block access the array in order, and an estimate otherwise.

use crate::array::Base;
use crate::binary::Slices;
use crate::eval::{Outcome, Predictor, Record};
use crate::pitch;
use crate::rects::{BlockTrace, Touched};
use crate::runs::BlockRuns;
use std::sync::Arc;
use warploom_base::{Dim3, Rect, lanes_of};
use warploom_exec::{Fault, LaunchContext};

/// The size of a cache line in bytes, the unit of a rectangle's columns.
pub const LINE_BYTES: u64 = 128;

/// An array that a launch accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// The origin of the array's address.
    pub base: Base,
    /// The address of the array in the launch.
    pub address: u64,
    /// The row pitch in bytes, or `None` for a linear array.
    pub pitch: Option<u64>,
}

impl Array {
    /// Returns the column (in cache lines) and the row of an address in the array. Columns and rows
    /// begin at the cache line that contains the start of the array.
    #[inline]
    pub fn line(&self, address: u64) -> Rect {
        let offset = self.offset(address);
        let (row, column) = match self.pitch {
            Some(pitch) => (
                offset.div_euclid(pitch as i64),
                offset.rem_euclid(pitch as i64),
            ),
            None => (0, offset),
        };
        Rect::line(column.div_euclid(LINE_BYTES as i64) as i32, row as i32)
    }

    /// Returns whether each line of the array is one of memory: its rows are whole lines.
    fn has_whole_lines(&self) -> bool {
        self.pitch.is_none_or(|pitch| pitch % LINE_BYTES == 0)
    }

    /// Returns the distance in bytes of an address from the first cache line of the array.
    #[inline]
    pub(crate) fn offset(&self, address: u64) -> i64 {
        address.wrapping_sub(self.address / LINE_BYTES * LINE_BYTES) as i64
    }
}

/// A launch whose footprints are available before its blocks run.
#[derive(Debug)]
pub struct Footprints {
    predictor: Predictor,
    arrays: Vec<Array>,
    /// The array of each access, or `None` for irregular accesses and for accesses whose pointer is
    /// unknown.
    array_of: Vec<Option<usize>>,
    /// The number of accesses with an array.
    known: usize,
    /// The accesses of the current block.
    trace: BlockTrace,
    /// The executions of the block that was asked for last.
    runs: BlockRuns,
}

impl Footprints {
    /// Finds the arrays of a launch. At most `limit` arrays, in the order of first access, are
    /// included, as in the hardware table of Chen's thesis.
    ///
    /// # Errors
    /// Returns the fault if the kernel would fault in the threads that are examined.
    pub fn new(slices: Arc<Slices>, launch: &LaunchContext, limit: usize) -> Result<Self, Fault> {
        let mut arrays: Vec<Array> = Vec::new();
        let mut array_of = Vec::new();
        for access in &slices.accesses {
            let base = access.base.filter(|_| access.is_regular());
            array_of.push(base.and_then(|base| {
                let known = arrays.iter().position(|array| array.base == base);
                known.or_else(|| add(&mut arrays, base, launch, limit))
            }));
        }
        let mut predictor = Predictor::new(slices, launch);
        let pitches = pitch::find(&mut predictor, &array_of, &arrays)?;
        for (array, pitch) in arrays.iter_mut().zip(pitches) {
            array.pitch = pitch;
        }
        Ok(Self {
            known: array_of.iter().flatten().count(),
            trace: BlockTrace::new(array_of.len()),
            runs: BlockRuns::default(),
            predictor,
            arrays,
            array_of,
        })
    }

    /// Returns the arrays in the order of first access.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// Returns the index into [`Footprints::arrays`] of the array of an access.
    pub fn array_of(&self, access: usize) -> Option<usize> {
        self.array_of[access]
    }

    /// Returns the address binary of the launch.
    pub fn predictor(&mut self) -> &mut Predictor {
        &mut self.predictor
    }

    /// Returns the rectangles of cache lines that a block touches, in the order of first access.
    /// Rectangles of one array have no line in common.
    ///
    /// The address binary is executed for the block's warps in order until each access has its
    /// first thread, and in reverse order until each has its last thread.
    ///
    /// # Errors
    /// Returns the fault if the kernel would fault in the block.
    pub fn rects(&mut self, ctaid: Dim3) -> Result<Vec<Touched>, Fault> {
        self.trace.clear();
        let warps = self.predictor.launch().warps_per_block();
        for warp in 0..warps {
            let outcome = self.run(ctaid, warp, BlockTrace::add_first)?;
            if self.trace.known_first() == self.known || outcome == Outcome::Stopped {
                break;
            }
        }
        for warp in (0..warps).rev() {
            if self.trace.has_all_last() {
                break;
            }
            self.run(ctaid, warp, BlockTrace::add_last)?;
        }
        Ok(self.trace.rects(&self.arrays, &self.array_of))
    }

    /// Adds the accesses of one warp that have an array to the trace of the block.
    fn run(
        &mut self,
        ctaid: Dim3,
        warp: u32,
        add: fn(&mut BlockTrace, &Record<'_>, u32),
    ) -> Result<Outcome, Fault> {
        let Self {
            predictor,
            array_of,
            trace,
            runs,
            ..
        } = self;
        let of = (ctaid, warp);
        runs.replay(predictor, array_of, of, |record| add(trace, &record, warp))
    }

    /// Reports the cache lines that one warp of a block touches, in the order of lanes; a line that
    /// lanes touch one after the other is reported once. `report` receives the index into
    /// [`Footprints::arrays`] and the column and row of the line.
    ///
    /// # Errors
    /// Returns the fault if the kernel would fault in the warp.
    pub fn warp_lines(
        &mut self,
        ctaid: Dim3,
        warp: u32,
        mut report: impl FnMut(usize, Rect),
    ) -> Result<Outcome, Fault> {
        let Self {
            predictor,
            array_of,
            arrays,
            runs,
            ..
        } = self;
        let of = (ctaid, warp);
        runs.replay(predictor, array_of, of, |record| {
            if let Some(array) = array_of[record.access] {
                each_line(&arrays[array], &record, |line| report(array, line));
            }
        })
    }
}

/// Calls `f` with the lines of an array that an access touches, in the order of lanes. A line that
/// lanes touch one after the other comes once.
fn each_line(array: &Array, record: &Record<'_>, mut f: impl FnMut(Rect)) {
    let mut last: Option<(u64, Rect)> = None;
    for lane in lanes_of(record.lanes) {
        let address = record.addresses[lane];
        let number = address / LINE_BYTES;
        // A row of whole lines begins where a line of memory begins.
        if array.has_whole_lines() && last.is_some_and(|(before, _)| before == number) {
            continue;
        }
        let line = array.line(address);
        if last.is_none_or(|(_, before)| before != line) {
            f(line);
        }
        last = Some((number, line));
    }
}

/// Adds an array within the limit and returns its index.
fn add(arrays: &mut Vec<Array>, base: Base, launch: &LaunchContext, limit: usize) -> Option<usize> {
    let address = match base {
        Base::Param(at) => launch.param_u64(at)?,
        Base::Global(index) => launch.global_address(index)?,
    };
    (arrays.len() < limit).then(|| {
        arrays.push(Array {
            base,
            address,
            pitch: None,
        });
        arrays.len() - 1
    })
}
