//! Registers between two stages of the pipeline: as many instructions as the stage is wide.
//!
//! Where an SM is split into sub-cores, each scheduler has one place of its own in every register;
//! otherwise all share all places. Whoever takes any instruction takes the one issued first.

use crate::flight::FlightId;
use crate::image::Pipe;
use std::ops::Index;

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
    /// As many places as it is wide; the first `len` are taken, in order of issue.
    entries: Box<[Issued]>,
    len: usize,
    split: bool,
}

impl StageRegister {
    /// An empty register of `width` places, one a sub-core if `split`.
    pub fn new(width: u32, split: bool) -> Self {
        Self {
            entries: vec![Issued::default(); width.max(1) as usize].into(),
            len: 0,
            split,
        }
    }

    /// There is no place for an instruction of this sub-core.
    #[inline]
    pub fn is_full(&self, sub: u8) -> bool {
        if self.split {
            self.of(sub).is_some()
        } else {
            self.len == self.entries.len()
        }
    }

    /// Holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Instructions that it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Puts an instruction in. Requires a place for it.
    #[inline]
    pub fn push(&mut self, issued: Issued) {
        debug_assert!(!self.is_full(issued.sub), "no place for {issued:?}");
        let mut at = self.len;
        while at > 0 && self.entries[at - 1].order > issued.order {
            self.entries[at] = self.entries[at - 1];
            at -= 1;
        }
        self.entries[at] = issued;
        self.len += 1;
    }

    /// The instruction that was issued first.
    #[inline]
    pub fn oldest(&self) -> Option<Issued> {
        (self.len > 0).then(|| self.entries[0])
    }

    /// The instruction of a sub-core.
    #[inline]
    pub fn of(&self, sub: u8) -> Option<Issued> {
        let mut entries = self.entries[..self.len].iter();
        entries.find(|e| e.sub == sub).copied()
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
        let mut held = self.entries[..self.len].iter();
        let at = held.position(|e| e.order == issued.order);
        let at = at.expect("an instruction that the register holds");
        self.len -= 1;
        for place in at..self.len {
            self.entries[place] = self.entries[place + 1];
        }
    }
}

/// The registers of all pipes between two stages, with bits that say at a glance where there is
/// something and where there is no room.
#[derive(Clone, Debug)]
pub struct StageRegisters {
    by_pipe: [StageRegister; Pipe::COUNT],
    /// Bit per pipe: its register holds something.
    occupied: u8,
    /// By sub-core, a bit per pipe: no place for an instruction of it.
    full: Box<[u8]>,
    /// Something came or went since the last `note_unchanged`.
    changed: bool,
}

impl StageRegisters {
    /// Empty registers of these widths; where there are sub-cores, so many, with one place each.
    pub fn new(widths: [u32; Pipe::COUNT], subs: Option<u32>) -> Self {
        Self {
            by_pipe: widths.map(|width| StageRegister::new(width, subs.is_some())),
            occupied: 0,
            full: vec![0; subs.unwrap_or(1) as usize].into(),
            changed: false,
        }
    }

    /// Bit per pipe: its register holds something.
    #[inline]
    pub fn occupied(&self) -> u8 {
        self.occupied
    }

    /// Bit per pipe: there is no place for an instruction of this sub-core.
    #[inline]
    pub fn full(&self, sub: u8) -> u8 {
        self.full[usize::from(sub)]
    }

    /// Something came or went since the last call of [`note_unchanged`](Self::note_unchanged).
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// What came or went until now has been seen.
    #[inline]
    pub fn note_unchanged(&mut self) {
        self.changed = false;
    }

    /// Puts an instruction into a pipe's register. Requires a place for it.
    #[inline]
    pub fn push(&mut self, pipe: usize, issued: Issued) {
        self.changed = true;
        let register = &mut self.by_pipe[pipe];
        register.push(issued);
        self.occupied |= 1 << pipe;
        if register.is_full(issued.sub) {
            self.full[usize::from(issued.sub)] |= 1 << pipe;
        }
    }

    /// Takes an instruction out of a pipe's register.
    #[inline]
    pub fn take(&mut self, pipe: usize, issued: Issued) {
        self.changed = true;
        let register = &mut self.by_pipe[pipe];
        register.take(issued);
        self.full[usize::from(issued.sub)] &= !(1 << pipe);
        if register.is_empty() {
            self.occupied &= !(1 << pipe);
        }
    }

    /// Instructions in all registers.
    pub fn len(&self) -> usize {
        self.by_pipe.iter().map(StageRegister::len).sum()
    }
}

impl Index<usize> for StageRegisters {
    type Output = StageRegister;

    #[inline]
    fn index(&self, pipe: usize) -> &StageRegister {
        &self.by_pipe[pipe]
    }
}

#[cfg(test)]
mod tests {
    use super::{Issued, StageRegister, StageRegisters};
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

    #[test]
    fn registers_show_where_there_is_something_and_where_no_room() {
        let mut shared = StageRegisters::new([2; 6], None);
        shared.push(3, issued(1, 0));
        assert_eq!((shared.occupied(), shared.full(0)), (1 << 3, 0));
        shared.push(3, issued(2, 0));
        assert_eq!((shared.occupied(), shared.full(0)), (1 << 3, 1 << 3));
        shared.take(3, issued(1, 0));
        assert_eq!((shared.occupied(), shared.full(0)), (1 << 3, 0));
        shared.take(3, issued(2, 0));
        assert_eq!((shared.occupied(), shared.len()), (0, 0));

        let mut split = StageRegisters::new([4; 6], Some(4));
        split.push(0, issued(1, 2));
        assert_eq!((split.full(2), split.full(1)), (1, 0));
        split.take(0, issued(1, 2));
        assert_eq!((split.occupied(), split.full(2)), (0, 0));
    }
}
