//! The search for the row pitch of the arrays of a launch (Chen, NTU thesis 2016, section 3.3.1).
//!
//! The thesis increments an index by one and takes the resulting change of the address as the row
//! pitch. An array may have many accesses, and those of a stencil stand still at the boundary of
//! the grid. The search therefore uses a thread in the middle of the grid, and of each array the
//! smallest change among all its accesses.
//!
//! If the thread index causes no such change, a block touches a contiguous part of the array. The
//! change from block to block is then a row pitch only if that part lies within a row.

use crate::eval::Predictor;
use crate::footprint::{Array, LINE_BYTES};
use warploom_base::{Dim3, lanes_of};
use warploom_exec::Fault;

/// The number of increments: of the thread index in y, z and x, and of the block index in y, in
/// this order.
const STEPS: usize = 4;
/// The increment of the block index.
const BLOCK_STEP: usize = 3;

/// The addresses of one access in its first iteration, or `None` where the access is not made.
#[derive(Clone, Copy, Default)]
struct Probe {
    /// The address in the examined thread.
    origin: Option<u64>,
    /// The address after each increment.
    after: [Option<u64>; STEPS],
    /// The addresses in the first and in the last thread of the block.
    ends: [Option<u64>; 2],
}

/// The changes of the addresses of one array. Each is the smallest of at least a cache line among
/// all accesses of the array, in bytes.
#[derive(Clone, Default)]
struct Changes {
    /// Whether the examined thread accesses the array.
    is_accessed: bool,
    by_step: [Option<u64>; STEPS],
    /// The offsets in the array of the first and of the last thread of the block, for each access.
    ends: Vec<[i64; 2]>,
}

impl Changes {
    fn add(&mut self, probe: &Probe, array: &Array) {
        let Some(origin) = probe.origin else {
            return;
        };
        self.is_accessed = true;
        for (smallest, address) in self.by_step.iter_mut().zip(probe.after) {
            let change = address.map(|address| address.abs_diff(origin));
            let change = change.filter(|change| *change >= LINE_BYTES);
            *smallest = match (*smallest, change) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        if let [Some(first), Some(last)] = probe.ends {
            let ends = [first, last].map(|address| array.offset(address));
            self.ends.push(ends);
        }
    }

    /// Returns the row pitch: the change by the first increment that has one.
    fn pitch(&self) -> Option<u64> {
        let step = self.by_step.iter().position(Option::is_some)?;
        let pitch = self.by_step[step]?;
        let row = |offset: i64| offset.div_euclid(pitch as i64);
        let is_in_a_row = |[first, last]: &[i64; 2]| row(*first) == row(*last);
        (step != BLOCK_STEP || self.ends.iter().all(is_in_a_row)).then_some(pitch)
    }
}

/// Returns the row pitch of each array in bytes, or `None` for a linear array. `array_of` contains
/// the array of each access. Arrays that the thread in the middle does not access are examined at
/// the first thread of the middle block, and then at the first thread of the grid.
///
/// # Errors
/// Returns the fault if the kernel would fault in the threads that are examined.
pub(crate) fn find(
    predictor: &mut Predictor,
    array_of: &[Option<usize>],
    arrays: &[Array],
) -> Result<Vec<Option<u64>>, Fault> {
    let (grid, block) = (predictor.launch().grid(), predictor.launch().block());
    let first = Dim3::new(0, 0, 0);
    let places = [
        (inside(grid), inside(block)),
        (inside(grid), first),
        (first, first),
    ];
    let mut found = vec![Changes::default(); arrays.len()];
    for (ctaid, thread) in places {
        let changes = changes(predictor, array_of, arrays, ctaid, thread)?;
        for (found, here) in found.iter_mut().zip(changes) {
            if !found.is_accessed {
                *found = here;
            }
        }
    }
    Ok(found.iter().map(Changes::pitch).collect())
}

/// Returns a point in the middle, which has a neighbour in each direction that has two or more
/// points.
fn inside(size: Dim3) -> Dim3 {
    let middle = |n: u32| n.saturating_sub(1) / 2;
    Dim3::new(middle(size.x), middle(size.y), middle(size.z))
}

/// Returns the changes of each array's addresses by the increments at one thread.
fn changes(
    predictor: &mut Predictor,
    array_of: &[Option<usize>],
    arrays: &[Array],
    ctaid: Dim3,
    thread: Dim3,
) -> Result<Vec<Changes>, Fault> {
    let mut changes = vec![Changes::default(); arrays.len()];
    let probes = probes(predictor, array_of.len(), ctaid, thread)?;
    for (probe, array) in probes.iter().zip(array_of) {
        if let Some(array) = *array {
            changes[array].add(probe, &arrays[array]);
        }
    }
    Ok(changes)
}

/// Returns the addresses of each access at one thread, after each increment of its indices, and at
/// both ends of its block.
fn probes(
    predictor: &mut Predictor,
    accesses: usize,
    ctaid: Dim3,
    thread: Dim3,
) -> Result<Vec<Probe>, Fault> {
    let Dim3 { x, y, z } = thread;
    let block = predictor.launch().block();
    let threads = [
        thread,
        Dim3::new(x, y + 1, z),
        Dim3::new(x, y, z + 1),
        Dim3::new(x + 1, y, z),
        Dim3::new(0, 0, 0),
        Dim3::new(block.x - 1, block.y - 1, block.z - 1),
    ];
    let below = Dim3::new(ctaid.x, ctaid.y + 1, ctaid.z);
    let mut probes = vec![Probe::default(); accesses];
    predictor.run_threads(ctaid, &threads, |record| {
        let probe = &mut probes[record.access];
        for lane in lanes_of(record.lanes) {
            let place = match lane {
                0 => &mut probe.origin,
                1..=3 => &mut probe.after[lane - 1],
                _ => &mut probe.ends[lane - 4],
            };
            *place = place.or(Some(record.addresses[lane]));
        }
    })?;
    predictor.run_threads(below, &threads[..1], |record| {
        let place = &mut probes[record.access].after[BLOCK_STEP];
        *place = place.or(Some(record.addresses[0]));
    })?;
    Ok(probes)
}
