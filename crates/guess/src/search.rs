//! The order in which candidates are tried, given how earlier ones ended.

use crate::candidates::Candidate;

/// Way in which the trial of a candidate ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The trial took more work than a guess may take.
    TooLong,
    /// A thread accessed shared memory outside of the block's arrays.
    BeyondShared,
    /// The trial ended in any other way.
    Failed,
}

/// Candidates in the order in which they should be tried. A block with fewer threads is tried only
/// after an access outside of the shared arrays, which other sizes and contents of the same number
/// of threads would repeat. Sizes that took too long are not tried again.
#[derive(Debug)]
pub struct Search {
    rest: std::vec::IntoIter<Candidate>,
    last: Option<Candidate>,
    too_long: Option<usize>,
    /// Number of the variant whose blocks are tried, and of the block in it.
    variant: usize,
    nth_block: usize,
}

impl Search {
    /// A search through candidates in their order.
    pub fn new(candidates: Vec<Candidate>) -> Self {
        Self {
            rest: candidates.into_iter(),
            last: None,
            too_long: None,
            variant: 0,
            nth_block: 0,
        }
    }

    /// The next candidate, given how the last one ended. `None` if there is none left.
    pub fn next(&mut self, ended: Option<Ended>) -> Option<Candidate> {
        match (ended, &self.last) {
            (Some(Ended::TooLong), Some(last)) => self.too_long = Some(last.size),
            (Some(Ended::BeyondShared), Some(last)) => self.nth_block = last.nth_block + 1,
            _ => {}
        }
        for candidate in self.rest.by_ref() {
            if candidate.variant != self.variant {
                (self.variant, self.nth_block) = (candidate.variant, 0);
            }
            if candidate.nth_block == self.nth_block && self.too_long != Some(candidate.size) {
                self.last = Some(candidate.clone());
                return Some(candidate);
            }
        }
        None
    }
}
