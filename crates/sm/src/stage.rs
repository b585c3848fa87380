//! Registers between two stages of the pipeline, which hold as many instructions as the stage is
//! wide.
//!
//! Where an SM is split into sub-cores, each scheduler has a place of its own in every register;
//! otherwise all share all places. The instruction that was issued first leaves first.

use crate::detail::MAX_SCHEDULERS;
use crate::flight::FlightId;
use crate::prepared_kernel::Pipe;
use std::ops::Range;
use warploom_state::{State, Value};

/// An issued instruction on its way to a unit, in a word: its order of issue, its sub-core and its
/// record. The first issued is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Value)]
pub struct Issued(u64);

/// First bits of the parts of the word.
const SUB: u32 = u16::BITS;
const ORDER: u32 = SUB + u8::BITS;

impl Issued {
    /// An instruction with a record; `order` rises with the order of issue in the SM, `sub` is the
    /// sub-core that issued it, 0 where an SM is not split.
    #[inline]
    pub fn new(flight: FlightId, order: u64, sub: u8) -> Self {
        debug_assert!(order < 1 << (u64::BITS - ORDER), "a million million issued");
        Self(order << ORDER | u64::from(sub) << SUB | u64::from(flight.0))
    }

    /// Record of the instruction.
    #[inline]
    pub fn flight(self) -> FlightId {
        FlightId(self.0 as u16)
    }

    /// The sub-core that issued it.
    #[inline]
    pub fn sub(self) -> u8 {
        (self.0 >> SUB) as u8
    }
}

/// An empty place, which comes after every instruction.
const EMPTY: Issued = Issued(u64::MAX);

const PIPES: usize = Pipe::PLACES;

/// Words with a byte for each pipe: 1 in the byte of one pipe.
const ONE: [u64; PIPES] = {
    let mut one = [0; PIPES];
    let mut pipe = 0;
    while pipe < PIPES {
        one[pipe] = 1 << (pipe as u32 * u8::BITS);
        pipe += 1;
    }
    one
};

/// The highest bit of every byte.
const TOP: u64 = 0x8080_8080_8080_8080;

/// A pipe's bit in a mask of pipes that has a byte for each: the highest of its byte.
#[inline]
pub const fn bit_of(pipe: usize) -> u64 {
    ONE[pipe % PIPES] << (u8::BITS - 1)
}

/// The first pipe of such a mask, which is not empty.
#[inline]
pub const fn pipe_of_bit(mask: u64) -> usize {
    (mask.trailing_zeros() / u8::BITS) as usize % PIPES
}

/// A pipe's byte of a word.
#[inline]
const fn byte(word: u64, pipe: usize) -> u8 {
    (word >> (pipe % PIPES * u8::BITS as usize)) as u8
}

/// Bit per byte, in order, that has its highest bit.
#[inline]
const fn tops(bytes: u64) -> u8 {
    // Each of them comes to its place in the highest byte, and no two come to one place.
    ((bytes & TOP).wrapping_mul(0x0002_0408_1020_4081) >> (u64::BITS - u8::BITS)) as u8
}

/// The registers of one stage, by pipe. Instructions of wide registers lie in no order, because
/// moving them would take unpredictable branches. One word holds the numbers of instructions of all
/// registers, so that one look answers questions about all of them.
#[derive(Clone, Debug, State)]
pub struct StageRegisters {
    /// Byte per pipe: instructions that its register holds, below 128.
    held: u64,
    /// Byte per pipe: what reaches 128 with as many instructions as its register has places.
    rest: u64,
    /// None has more than [`NARROW`] places, which all share: `wide` is not in use.
    narrow: bool,
    /// Narrow, and one has more than two places.
    deep: bool,
    /// Each scheduler has a place of its own.
    split: bool,
    /// Something came or went since the last `note_unchanged`.
    changed: bool,
    registers: [Register; PIPES],
    /// The third and the fourth instruction of each register, where registers are deep.
    behind: [Register; PIPES],
    wide: Wide,
}

/// Two instructions of a register, one issued after the other.
#[derive(Clone, Copy, Debug, Value)]
struct Register {
    /// The instruction issued first.
    oldest: Issued,
    /// The instruction issued second, in a narrow register.
    second: Issued,
}

/// Leaves the earlier of two instructions at a place, and returns the later one.
#[inline(always)]
fn keep_earlier(place: &mut Issued, issued: Issued) -> Issued {
    let held = *place;
    *place = held.min(issued);
    held.max(issued)
}

impl Register {
    /// Takes out the oldest instruction, whose place the second one takes.
    #[inline(always)]
    fn take_oldest(&mut self) -> Issued {
        let second = std::mem::replace(&mut self.second, EMPTY);
        std::mem::replace(&mut self.oldest, second)
    }
}

/// Two places without instructions.
const NOTHING: Register = Register {
    oldest: EMPTY,
    second: EMPTY,
};

/// Most places of a narrow register.
const NARROW: u32 = 4;

/// State of registers with more places than a narrow one, or with a place for each sub-core.
#[derive(Clone, Debug, State)]
struct Wide {
    /// By pipe: first place of its register. The places in use come first.
    first: [u16; PIPES],
    /// Places of all registers, one register after the other.
    places: Box<[Issued]>,
    /// By sub-core, where they have places of their own: the bit of each pipe whose register has
    /// none left for it.
    full: [u64; MAX_SCHEDULERS],
}

impl StageRegisters {
    /// Empty registers of `widths` places, for `subs` sub-cores with a place each, or shared.
    pub fn new(widths: [u32; Pipe::COUNT], subs: Option<u32>) -> Self {
        let widths = widths.map(|width| width.max(1));
        assert!(widths.iter().all(|width| *width < 128), "a byte counts");
        let (mut first, mut rest, mut places) = ([0; PIPES], 0, 0);
        for (pipe, width) in widths.into_iter().enumerate() {
            first[pipe] = places;
            places += width as u16;
            rest += ONE[pipe] * u64::from(128 - width);
        }
        let narrow = subs.is_none() && widths.iter().all(|width| *width <= NARROW);
        Self {
            held: 0,
            rest,
            narrow,
            deep: narrow && widths.iter().any(|width| *width > 2),
            split: subs.is_some(),
            changed: false,
            registers: [NOTHING; PIPES],
            behind: [NOTHING; PIPES],
            wide: Wide {
                first,
                places: vec![EMPTY; usize::from(places)].into(),
                full: [0; MAX_SCHEDULERS],
            },
        }
    }

    /// No register holds an instruction.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Bit per pipe whose register holds an instruction.
    #[inline]
    pub fn occupied(&self) -> u8 {
        tops(self.held + (TOP - TOP / 128))
    }

    /// The [`bit_of`] each pipe whose register has no place for an instruction of sub-core `sub`.
    #[inline]
    pub fn full(&self, sub: u8) -> u64 {
        if self.split {
            self.wide.full[usize::from(sub) % MAX_SCHEDULERS]
        } else {
            (self.held + self.rest) & TOP
        }
    }

    /// A pipe's register, whose places all share, has none left.
    #[inline]
    pub fn has_no_room(&self, pipe: usize) -> bool {
        (self.held + self.rest) & bit_of(pipe) != 0
    }

    /// A pipe's register has no place for an instruction of sub-core `sub`.
    #[inline]
    pub fn is_full(&self, pipe: usize, sub: u8) -> bool {
        self.full(sub) & bit_of(pipe) != 0
    }

    /// Something came or went since the last `note_unchanged`.
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// From now on changes are new ones.
    #[inline]
    pub fn note_unchanged(&mut self) {
        self.changed = false;
    }

    /// No register has more than [`NARROW`] places, which all share.
    pub fn is_narrow(&self) -> bool {
        self.narrow
    }

    /// Requires a free place.
    #[inline]
    pub fn push(&mut self, pipe: usize, issued: Issued) {
        debug_assert!(!self.is_full(pipe, issued.sub()), "no place for {issued:?}");
        if self.narrow {
            self.push_narrow(pipe, issued);
        } else {
            self.push_wide(pipe, issued);
        }
    }

    /// The same, of a narrow register.
    #[inline]
    pub fn push_narrow(&mut self, pipe: usize, issued: Issued) {
        debug_assert!(self.narrow && !self.is_full(pipe, 0), "{issued:?}");
        self.changed = true;
        let register = &mut self.registers[pipe % PIPES];
        let last = keep_earlier(&mut register.oldest, issued);
        if self.deep {
            let behind = &mut self.behind[pipe % PIPES];
            let last = keep_earlier(&mut register.second, last);
            behind.second = keep_earlier(&mut behind.oldest, last);
        } else {
            register.second = last;
        }
        self.held += ONE[pipe % PIPES];
    }

    #[inline(never)]
    fn push_wide(&mut self, pipe: usize, issued: Issued) {
        self.changed = true;
        let register = &mut self.registers[pipe % PIPES];
        register.oldest = register.oldest.min(issued);
        self.put_into_place(pipe, issued);
        self.held += ONE[pipe % PIPES];
    }

    fn put_into_place(&mut self, pipe: usize, issued: Issued) {
        let behind = self.places_of(pipe).end;
        self.wide.places[behind] = issued;
        self.wide.full[usize::from(issued.sub()) % MAX_SCHEDULERS] |= bit_of(pipe);
    }

    /// The places of a pipe's register that are in use.
    #[inline]
    fn places_of(&self, pipe: usize) -> Range<usize> {
        let first = usize::from(self.wide.first[pipe % PIPES]);
        first..first + usize::from(byte(self.held, pipe))
    }

    /// The instruction issued first.
    #[inline]
    pub fn oldest(&self, pipe: usize) -> Option<Issued> {
        let oldest = self.registers[pipe % PIPES].oldest;
        (oldest != EMPTY).then_some(oldest)
    }

    /// The instruction issued first. Requires that the pipe's register holds one.
    #[inline]
    pub fn first_issued(&self, pipe: usize) -> Issued {
        let oldest = self.registers[pipe % PIPES].oldest;
        debug_assert!(oldest != EMPTY, "nothing in register {pipe}");
        oldest
    }

    /// The instruction that the pipe's unit `index` may take: its sub-core's, or the one issued
    /// first.
    #[inline]
    pub fn for_unit(&self, pipe: usize, index: u8) -> Option<Issued> {
        if self.split {
            let held = &self.wide.places[self.places_of(pipe)];
            held.iter().find(|issued| issued.sub() == index).copied()
        } else {
            self.oldest(pipe)
        }
    }

    /// Takes out an instruction that the register holds: of a narrow register the oldest.
    #[inline]
    pub fn take(&mut self, pipe: usize, issued: Issued) {
        if self.narrow {
            self.take_narrow(pipe, issued);
        } else {
            self.take_from_places(pipe, issued);
        }
    }

    /// The same, of a narrow register.
    #[inline]
    pub fn take_narrow(&mut self, pipe: usize, issued: Issued) {
        self.changed = true;
        self.held -= ONE[pipe % PIPES];
        let register = &mut self.registers[pipe % PIPES];
        debug_assert!(self.narrow && register.oldest == issued, "not the oldest");
        register.oldest = register.second;
        register.second = if self.deep {
            self.behind[pipe % PIPES].take_oldest()
        } else {
            EMPTY
        };
    }

    /// The last instruction comes to the place of one that is taken.
    #[inline(never)]
    fn take_from_places(&mut self, pipe: usize, issued: Issued) {
        self.changed = true;
        self.held -= ONE[pipe % PIPES];
        let left = self.places_of(pipe);
        let Wide { places, full, .. } = &mut self.wide;
        full[usize::from(issued.sub()) % MAX_SCHEDULERS] &= !bit_of(pipe);
        let last = places[left.end];
        let mut oldest = EMPTY;
        for other in &mut places[left] {
            *other = if *other == issued { last } else { *other };
            oldest = oldest.min(*other);
        }
        self.registers[pipe % PIPES].oldest = oldest;
    }

    /// Instructions in all registers.
    pub fn len(&self) -> usize {
        self.held.to_le_bytes().map(usize::from).iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Issued, NARROW, StageRegisters, bit_of, pipe_of_bit, tops};
    use crate::flight::FlightId;
    use crate::prepared_kernel::Pipe;

    fn issued(order: u64, sub: u8) -> Issued {
        Issued::new(FlightId(order as u16), order, sub)
    }

    #[test]
    fn a_word_holds_all_and_sorts_by_issue() {
        let last = issued((1 << 40) - 1, 255);
        assert_eq!((last.flight(), last.sub()), (FlightId(u16::MAX), 255));
        assert!(issued(6, 3) < issued(7, 0));
    }

    #[test]
    fn a_shared_register_gives_the_first_issued_whoever_came_first() {
        let mut shared = StageRegisters::new([2; 6], None);
        shared.push(1, issued(7, 0));
        shared.push(1, issued(3, 0));
        assert_eq!(shared.full(0), bit_of(1));
        assert_eq!(shared.for_unit(1, 1), Some(issued(3, 0)));
        shared.take(1, issued(3, 0));
        assert_eq!(shared.oldest(1), Some(issued(7, 0)));
        assert_eq!(shared.full(0), 0);
    }

    #[test]
    fn every_pipe_has_a_bit() {
        for pipe in Pipe::ALL.map(|pipe| pipe as usize) {
            assert_eq!(pipe_of_bit(bit_of(pipe) | bit_of(Pipe::COUNT)), pipe);
            assert_eq!(tops(bit_of(pipe) | 1), 1 << pipe);
        }
        assert_eq!(tops(!0), u8::MAX);
    }

    /// Against a list in order, through all ways to fill and to empty some places; of a narrow
    /// register only the oldest is taken.
    fn compare_with_a_list(width: usize) {
        for choices in 0..3_u32.pow(9) {
            let mut register = StageRegisters::new([width as u32; 6], None);
            let mut sorted: Vec<u64> = Vec::new();
            for step in 0..9 {
                let choice = choices / 3_u32.pow(step) % 3;
                let new = u64::from(choices >> step & 15) * 16 + u64::from(step);
                match choice {
                    0 if sorted.len() < width => {
                        register.push(2, issued(new, 0));
                        sorted.push(new);
                        sorted.sort_unstable();
                    }
                    1 | 2 if !sorted.is_empty() => {
                        let is_first = choice == 1 || width <= NARROW as usize;
                        let at = if is_first { 0 } else { sorted.len() - 1 };
                        register.take(2, issued(sorted.remove(at), 0));
                    }
                    _ => {}
                }
                assert_eq!(register.len(), sorted.len());
                let first = sorted.first().map(|order| issued(*order, 0));
                assert_eq!(register.oldest(2), first);
                assert_eq!(register.is_full(2, 0), sorted.len() == width);
                assert_eq!(register.occupied() >> 2 & 1 != 0, !sorted.is_empty());
            }
        }
    }

    #[test]
    fn the_oldest_is_the_first_of_a_sorted_list() {
        (1..=5).for_each(compare_with_a_list);
    }

    #[test]
    fn sub_cores_have_a_place_each() {
        let mut split = StageRegisters::new([4; 6], Some(4));
        split.push(0, issued(5, 2));
        assert_eq!([split.full(2), split.full(0)], [bit_of(0), 0]);
        split.push(0, issued(4, 0));
        assert_eq!(split.for_unit(0, 2), Some(issued(5, 2)));
        assert_eq!(split.for_unit(0, 1), None, "unit 1 serves sub-core 1 alone");
        assert_eq!(split.oldest(0), Some(issued(4, 0)));
        split.take(0, issued(5, 2));
        assert_eq!(split.for_unit(0, 2), None);
    }

    #[test]
    fn registers_show_where_there_is_something_and_where_no_room() {
        let mut shared = StageRegisters::new([2; 6], None);
        shared.push(3, issued(1, 0));
        assert_eq!((shared.occupied(), shared.full(0)), (1 << 3, 0));
        shared.push(3, issued(2, 0));
        assert_eq!((shared.occupied(), shared.full(0)), (1 << 3, bit_of(3)));
        shared.take(3, issued(1, 0));
        assert_eq!((shared.occupied(), shared.full(0)), (1 << 3, 0));
        shared.take(3, issued(2, 0));
        assert_eq!((shared.occupied(), shared.len()), (0, 0));

        let mut split = StageRegisters::new([4; 6], Some(4));
        split.push(0, issued(1, 2));
        assert_eq!((split.full(2), split.full(1)), (bit_of(0), 0));
        split.take(0, issued(1, 2));
        assert_eq!((split.occupied(), split.full(2)), (0, 0));
    }
}
