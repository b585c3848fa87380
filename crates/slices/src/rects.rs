//! The rectangles that one block touches (Chen, NTU thesis 2016, section 3.3.1).
//!
//! The address slice of each access yields a rectangle, from the address of the first thread that
//! makes the access to that of the last. Rectangles of one array that touch become one, so that the
//! rectangles of a block never share a line. In a loop, the rectangle of an iteration extends that
//! of the iterations before it if both touch. An iteration elsewhere in the array is left out,
//! because a loop over the whole array would otherwise give every block the same rectangle.

use crate::eval::Record;
use crate::footprint::Array;
use warploom_base::{LaneMask, Rect};

/// A rectangle of lines of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The index of the array in [`crate::Footprints::arrays`].
    pub array: usize,
    /// The columns, in cache lines, and the rows.
    pub rect: Rect,
}

/// The addresses that one thread computes for one access, one for each iteration of its loops.
#[derive(Clone, Default, Debug)]
struct Trace {
    /// The warp and the lane of the thread, or `None` before the access is made.
    thread: Option<(u32, u32)>,
    addresses: Vec<u64>,
}

impl Trace {
    fn clear(&mut self) {
        self.thread = None;
        self.addresses.clear();
    }

    /// Adds the address of an iteration. The first iteration of the first warp that makes the
    /// access determines the thread: the lane that `choose` selects. Returns whether it did.
    fn add(&mut self, record: &Record<'_>, warp: u32, choose: fn(LaneMask) -> u32) -> bool {
        if record.lanes == 0 {
            return false;
        }
        let is_new = self.thread.is_none();
        let (of, lane) = *self
            .thread
            .get_or_insert_with(|| (warp, choose(record.lanes)));
        if of == warp && record.lanes >> lane & 1 == 1 {
            self.addresses.push(record.addresses[lane as usize]);
        }
        is_new
    }
}

/// The addresses of the first and of the last thread of one block that make each access.
#[derive(Debug)]
pub(crate) struct BlockTrace {
    first: Vec<Trace>,
    last: Vec<Trace>,
    /// The numbers of accesses whose first thread, and whose last thread, are known.
    known: [usize; 2],
}

impl BlockTrace {
    pub fn new(accesses: usize) -> Self {
        Self {
            first: vec![Trace::default(); accesses],
            last: vec![Trace::default(); accesses],
            known: [0; 2],
        }
    }

    /// Discards the addresses of the block.
    pub fn clear(&mut self) {
        let traces = self.first.iter_mut().chain(&mut self.last);
        traces.for_each(Trace::clear);
        self.known = [0; 2];
    }

    /// Adds an access of a warp. Warps come in ascending order.
    pub fn add_first(&mut self, record: &Record<'_>, warp: u32) {
        let trace = &mut self.first[record.access];
        let is_new = trace.add(record, warp, LaneMask::trailing_zeros);
        self.known[0] += usize::from(is_new);
    }

    /// Adds an access of a warp. Warps come in descending order, after all calls of `add_first`.
    pub fn add_last(&mut self, record: &Record<'_>, warp: u32) {
        let trace = &mut self.last[record.access];
        let is_new = trace.add(record, warp, |lanes| lanes.ilog2());
        self.known[1] += usize::from(is_new);
    }

    /// Returns the number of accesses whose first thread is known.
    pub fn known_first(&self) -> usize {
        self.known[0]
    }

    /// Returns whether the last thread is known of every access whose first thread is known.
    pub fn has_all_last(&self) -> bool {
        self.known[1] >= self.known[0]
    }

    /// Returns the rectangles of the block in the order of first access.
    pub fn rects(&self, arrays: &[Array], array_of: &[Option<usize>]) -> Vec<Touched> {
        let mut found = Vec::new();
        for (access, array) in array_of.iter().enumerate() {
            let Some(array) = *array else {
                continue;
            };
            let (start, end) = (&self.first[access].addresses, &self.last[access].addresses);
            if let Some(rect) = of_slice(&arrays[array], start, end) {
                merge(&mut found, Touched { array, rect });
            }
        }
        found
    }
}

/// Returns the rectangle of one access from the addresses of its first and last thread.
fn of_slice(array: &Array, start: &[u64], end: &[u64]) -> Option<Rect> {
    let mut found: Option<Rect> = None;
    for iteration in 0..start.len().max(end.len()) {
        let corners = [start.get(iteration), end.get(iteration)];
        let lines = corners.into_iter().flatten().map(|at| array.line(*at));
        let Some(rect) = lines.reduce(Rect::hull) else {
            continue;
        };
        match found {
            None => found = Some(rect),
            Some(before) if before.touches(&rect) => found = Some(before.hull(rect)),
            Some(_) => {}
        }
    }
    found
}

/// Adds a rectangle and unites all rectangles of its array that touch. The united rectangle takes
/// the place of the earliest.
fn merge(found: &mut Vec<Touched>, mut new: Touched) {
    let touches =
        |new: &Touched, old: &Touched| old.array == new.array && old.rect.touches(&new.rect);
    let mut place = found.len();
    while let Some(at) = found.iter().position(|old| touches(&new, old)) {
        let old = found.remove(at);
        new.rect = new.rect.hull(old.rect);
        place = place.min(at);
    }
    found.insert(place.min(found.len()), new);
}
