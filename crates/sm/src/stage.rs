//! Registers between two stages of the pipeline: as many instructions as the stage is wide.
//!
//! Where an SM is split into sub-cores, each scheduler has one place of its own in every register;
//! otherwise all share all places. Whoever takes any instruction takes the one issued first.

use crate::flight::FlightId;
use smallvec::SmallVec;

/// An issued instruction on its way to a unit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Issued {
    /// Its record.
    pub flight: FlightId,
    /// Rises with the order of issue in the SM.
    pub order: u64,
    /// The sub-core that issued it; 0 where an SM is not split.
    pub sub: u8,
}

/// Register between two stages.
#[derive(Clone, Debug)]
pub struct StageRegister {
    /// In order of issue.
    entries: SmallVec<[Issued; 4]>,
    width: usize,
    split: bool,
}

impl StageRegister {
    /// An empty register of `width` places, one a sub-core if `split`.
    pub fn new(width: u32, split: bool) -> Self {
        let width = width.max(1) as usize;
        Self {
            entries: SmallVec::with_capacity(width),
            width,
            split,
        }
    }

    /// There is no place for an instruction of this sub-core.
    #[inline]
    pub fn is_full(&self, sub: u8) -> bool {
        if self.split {
            self.of(sub).is_some()
        } else {
            self.entries.len() == self.width
        }
    }

    /// Holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Instructions that it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Puts an instruction in. Requires a place for it.
    #[inline]
    pub fn push(&mut self, issued: Issued) {
        debug_assert!(!self.is_full(issued.sub), "no place for {issued:?}");
        let mut at = self.entries.len();
        while at > 0 && self.entries[at - 1].order > issued.order {
            at -= 1;
        }
        if at == self.entries.len() {
            self.entries.push(issued);
        } else {
            self.entries.insert(at, issued);
        }
    }

    /// The instruction that was issued first.
    #[inline]
    pub fn oldest(&self) -> Option<Issued> {
        self.entries.first().copied()
    }

    /// The instruction of a sub-core.
    #[inline]
    pub fn of(&self, sub: u8) -> Option<Issued> {
        self.entries.iter().find(|e| e.sub == sub).copied()
    }

    /// The instruction that a unit may take: its sub-core's, or the first issued of all.
    #[inline]
    pub fn for_unit(&self, index: u8) -> Option<Issued> {
        if self.split {
            self.of(index)
        } else {
            self.oldest()
        }
    }

    /// Takes an instruction out.
    #[inline]
    pub fn take(&mut self, issued: Issued) {
        let at = self.entries.iter().position(|e| e.order == issued.order);
        let at = at.expect("an instruction that the register holds");
        if at + 1 == self.entries.len() {
            self.entries.pop();
        } else {
            self.entries.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Issued, StageRegister};
    use crate::flight::FlightId;

    fn issued(order: u64, sub: u8) -> Issued {
        Issued {
            flight: FlightId(order as u16),
            order,
            sub,
        }
    }

    #[test]
    fn a_shared_register_gives_the_first_issued_whoever_came_first() {
        let mut register = StageRegister::new(2, false);
        register.push(issued(7, 0));
        register.push(issued(3, 0));
        assert!(register.is_full(0));
        assert_eq!(register.for_unit(1), Some(issued(3, 0)));
        register.take(issued(3, 0));
        assert_eq!(register.oldest(), Some(issued(7, 0)));
        assert!(!register.is_full(0));
    }

    #[test]
    fn sub_cores_have_a_place_each() {
        let mut register = StageRegister::new(4, true);
        register.push(issued(5, 2));
        assert!(register.is_full(2) && !register.is_full(0));
        register.push(issued(4, 0));
        assert_eq!(register.for_unit(2), Some(issued(5, 2)));
        assert_eq!(register.for_unit(1), None, "unit 1 serves sub-core 1 alone");
        assert_eq!(register.oldest(), Some(issued(4, 0)));
    }
}
