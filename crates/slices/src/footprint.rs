//! The footprints of blocks: the arrays of a launch with their row pitch, and a rectangle of each
//! array for every block.
//!
//! A rectangle contains the addresses of the block's first and last thread, with all iterations of
//! their loops. The rectangle is exact if the threads of the block access the array in order, and
//! an estimate otherwise.

use crate::array::Base;
use crate::binary::Slices;
use crate::eval::{Outcome, Predictor, Record};
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
    /// Returns the column (in cache lines) and the row of an address in the array.
    pub fn line(&self, address: u64) -> Rect {
        let offset = address.wrapping_sub(self.address) as i64;
        let (row, column) = match self.pitch {
            Some(pitch) => (
                offset.div_euclid(pitch as i64),
                offset.rem_euclid(pitch as i64),
            ),
            None => (0, offset),
        };
        Rect::line(column.div_euclid(LINE_BYTES as i64) as i32, row as i32)
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
        let mut found = Self {
            predictor: Predictor::new(slices, launch),
            arrays,
            array_of,
        };
        found.find_pitches()?;
        Ok(found)
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

    /// Returns the rectangle of each array that a block touches, or `None` for an array that the
    /// block does not touch.
    ///
    /// # Errors
    /// Returns the fault if the kernel would fault in the block.
    pub fn rects(&mut self, ctaid: Dim3) -> Result<Vec<Option<Rect>>, Fault> {
        let mut rects = vec![None; self.arrays.len()];
        let threads = self.predictor.launch().block().count() as u32;
        let (arrays, array_of) = (&self.arrays, &self.array_of);
        for thread in [0, threads - 1] {
            let lane = thread % 32;
            self.predictor.run(ctaid, thread / 32, |record| {
                if record.lanes >> lane & 1 == 1 {
                    let address = record.addresses[lane as usize];
                    grow(&mut rects, arrays, array_of[record.access], address);
                }
            })?;
        }
        Ok(rects)
    }

    /// Reports the cache lines that one warp of a block touches, lane by lane. `report` receives
    /// the index into [`Footprints::arrays`] and the column and row of the line.
    ///
    /// # Errors
    /// Returns the fault if the kernel would fault in the warp.
    pub fn warp_lines(
        &mut self,
        ctaid: Dim3,
        warp: u32,
        mut report: impl FnMut(usize, Rect),
    ) -> Result<Outcome, Fault> {
        let (arrays, array_of) = (&self.arrays, &self.array_of);
        self.predictor.run(ctaid, warp, |record: Record<'_>| {
            if let Some(array) = array_of[record.access] {
                for lane in lanes_of(record.lanes) {
                    report(array, arrays[array].line(record.addresses[lane]));
                }
            }
        })
    }

    /// Finds the row pitches by the method of Chen's thesis. The thread index is incremented in y,
    /// z and x, and then the block index in y. The pitch is the first resulting change of an
    /// address by at least a cache line. If the first thread makes no access, as at the boundary of
    /// a stencil, the search is repeated in the middle of the grid.
    fn find_pitches(&mut self) -> Result<(), Fault> {
        let launch = self.predictor.launch();
        let (grid, block) = (launch.grid(), launch.block());
        let middle = |d: Dim3| Dim3::new(d.x / 2, d.y / 2, d.z / 2);
        let origins = [
            (Dim3::new(0, 0, 0), Dim3::new(0, 0, 0)),
            (middle(grid), middle(block)),
        ];
        for (ctaid, thread) in origins {
            let steps = self.steps(ctaid, thread)?;
            for (access, found) in steps.into_iter().enumerate() {
                if let Some(array) = self.array_of[access] {
                    let pitch = &mut self.arrays[array].pitch;
                    *pitch = pitch.or(found);
                }
            }
        }
        Ok(())
    }

    /// Returns the pitch that the increments yield for each access, if there is one.
    fn steps(&mut self, ctaid: Dim3, thread: Dim3) -> Result<Vec<Option<u64>>, Fault> {
        let Dim3 { x, y, z } = thread;
        let here = [
            thread,
            Dim3::new(x, y + 1, z),
            Dim3::new(x, y, z + 1),
            Dim3::new(x + 1, y, z),
        ];
        let below = Dim3::new(ctaid.x, ctaid.y + 1, ctaid.z);
        let mut first = vec![[None; 5]; self.array_of.len()];
        self.predictor.run_threads(ctaid, &here, |record| {
            for lane in lanes_of(record.lanes) {
                let place = &mut first[record.access][lane];
                *place = place.or(Some(record.addresses[lane]));
            }
        })?;
        self.predictor.run_threads(below, &here[..1], |record| {
            let place = &mut first[record.access][4];
            *place = place.or(Some(record.addresses[0]));
        })?;
        Ok(first.into_iter().map(pitch_of).collect())
    }
}

/// Returns the first difference from the first address that is at least a cache line.
fn pitch_of(addresses: [Option<u64>; 5]) -> Option<u64> {
    let [origin, others @ ..] = addresses;
    let far = |other: Option<u64>| {
        let difference = other?.abs_diff(origin?);
        (difference >= LINE_BYTES).then_some(difference)
    };
    others.into_iter().find_map(far)
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

/// Extends the rectangle of an array by an address.
fn grow(rects: &mut [Option<Rect>], arrays: &[Array], array: Option<usize>, address: u64) {
    if let Some(index) = array {
        let line = arrays[index].line(address);
        let rect = &mut rects[index];
        *rect = Some(rect.map_or(line, |rect| rect.hull(line)));
    }
}
