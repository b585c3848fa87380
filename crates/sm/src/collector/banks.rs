//! Banks of the register file, and reads that wait for them.

use super::sets::{COLLECTORS, Collector, WORD};
use warploom_policy::WarpMask;
use warploom_state::State;

/// Most warps of an SM.
const WARPS: usize = WarpMask::BITS as usize;
/// Most registers that an instruction reads.
const OPERANDS: usize = 32;

/// Map from registers to banks.
#[derive(Clone, Debug)]
pub(super) struct BankMap {
    /// Number of banks of a sub-core; of all where the SM is not split.
    banks: u32,
    /// Number of sub-cores; 1 where the SM is not split.
    pub(super) subs: u32,
    /// Mask of the banks of a sub-core.
    all: u64,
    places: [Place; WARPS],
}

/// Place of a warp's registers in the banks.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Number of banks by which they are rotated.
    by: u8,
    /// Rotation in the other direction; 0 where the banks fill a word.
    back: u8,
    /// The first bank of the warp's sub-core.
    first: u8,
}

impl BankMap {
    /// Map for `subs` sub-cores of `banks` banks each.
    pub(super) fn new(banks: u32, subs: u32) -> Self {
        assert!(banks * subs <= 64, "a register file has at most 64 banks");
        let place = |warp: usize| {
            let warp = warp as u32;
            let by = warp % banks;
            Place {
                by: by as u8,
                back: ((banks - by) % u64::BITS) as u8,
                first: (warp % subs * banks) as u8,
            }
        };
        Self {
            banks,
            subs,
            all: !0 >> (u64::BITS - banks),
            places: std::array::from_fn(place),
        }
    }

    /// Bank of a warp's register, in the part of the scheduler to which the warp belongs.
    #[inline]
    pub(super) fn bank(&self, register: u16, warp: u16) -> u32 {
        let Place { by, first, .. } = self.places[usize::from(warp) % WARPS];
        let moved = u32::from(register) + u32::from(by);
        let place = if self.banks.is_power_of_two() {
            moved & (self.banks - 1)
        } else {
            moved % self.banks
        };
        place + u32::from(first)
    }

    /// A warp's banks, given those of warp 0.
    #[inline]
    pub(super) fn of_warp(&self, banks: u64, warp: u16) -> u64 {
        let Place { by, back, first } = self.places[usize::from(warp) % WARPS];
        // Without a rotation the second part is 0 or, with 64 banks, equal to the first.
        let turned = banks << by | banks >> back;
        (turned & self.all) << first
    }
}

/// Reads that wait for their bank, which serves them in the order in which their instructions came.
#[derive(Clone, Debug, State)]
pub(super) struct WaitingReads {
    /// Collectors with registers to read, in the order in which they took their instructions. The
    /// first `len` are in use.
    line: Box<[u16; COLLECTORS]>,
    len: usize,
    /// By collector: masks of the banks that hold a second register, a third one and so on. Empty
    /// before the first instruction with such banks.
    further: Vec<[u64; OPERANDS]>,
    /// Number of all collectors.
    collectors: usize,
    /// Mask of the banks with a waiting read.
    banks: u64,
    /// Mask of the banks with more than one waiting read.
    contested: u64,
    /// Number of all waiting reads.
    count: u64,
}

impl WaitingReads {
    pub(super) fn new(collectors: usize) -> Self {
        Self {
            line: Box::new([0; COLLECTORS]),
            len: 0,
            collectors,
            further: Vec::new(),
            banks: 0,
            contested: 0,
            count: 0,
        }
    }

    /// Mask of the banks with a waiting read.
    #[inline]
    pub(super) fn banks(&self) -> u64 {
        self.banks
    }

    /// Number of all waiting reads.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the reads of an instruction: `count` registers in these banks.
    #[inline]
    pub(super) fn add(&mut self, collector: usize, banks: u64, count: u8) {
        self.line[self.len % COLLECTORS] = collector as u16;
        self.len += usize::from(banks != 0);
        self.contested |= self.banks & banks;
        self.banks |= banks;
        self.count += u64::from(count);
    }

    /// Notes the banks that hold several registers of an instruction, given the banks of all of
    /// them. Returns the most registers that a bank has after the first.
    #[cold]
    pub(super) fn add_further(&mut self, collector: usize, banks: impl Iterator<Item = u32>) -> u8 {
        self.further.resize(self.collectors, [0; OPERANDS]);
        let further = &mut self.further[collector];
        let (mut seen, mut depth) = (0_u64, 0);
        for bank in banks {
            let bit = 1 << bank;
            if seen & bit != 0 {
                let place = further.iter().position(|banks| banks & bit == 0);
                let place = place.expect("no more registers than an instruction reads");
                further[place] |= bit;
                depth = depth.max(place + 1);
            }
            seen |= bit;
        }
        self.contested |= further[0];
        depth as u8
    }

    /// True if every bank can serve its read, and none has more than one.
    #[inline]
    pub(super) fn are_free_of(&self, busy: u64) -> bool {
        self.contested | self.banks & busy == 0
    }

    /// Serves all reads. Requires that their banks are not busy. Returns their number.
    #[inline]
    pub(super) fn serve_all(&mut self) -> u64 {
        self.len = 0;
        self.banks = 0;
        std::mem::take(&mut self.count)
    }

    /// Lets each of the `open` banks serve its oldest read. Of the banks that could serve a
    /// collector, only those that `granted` returns do: at most one where `ONE` says so. Calls
    /// `ready` with each collector, and with its bit in its word if it has all its operands then,
    /// else with 0. Returns the number of reads that were served.
    #[inline(always)]
    pub(super) fn serve<const ONE: bool>(
        &mut self,
        collectors: &mut [Collector; COLLECTORS],
        mut open: u64,
        granted: impl Fn(u16, u64) -> u64,
        mut ready: impl FnMut(usize, u64),
    ) -> u64 {
        let (mut kept, mut served, mut collectors_served) = (0, 0_u64, 0);
        // In local variables, because each turn would store them in memory.
        let (mut banks, mut contested) = (0, 0);
        for place in 0..self.len {
            let index = self.line[place % COLLECTORS];
            let c = &mut collectors[usize::from(index) % COLLECTORS];
            let wanted = c.wants;
            let got = granted(c.number, wanted & open);
            open &= !wanted;
            served |= got;
            collectors_served += u64::from(got != 0);
            let mut left = wanted & !got;
            if c.depth > 0 {
                left |= self.bring_up(index, got, &mut c.depth);
                contested |= self.further[usize::from(index)][0];
            }
            contested |= left & banks;
            banks |= left;
            c.wants = left;
            self.line[kept % COLLECTORS] = index;
            kept += usize::from(left != 0);
            let index = usize::from(index);
            ready(index, u64::from(left == 0) << (index % WORD));
        }
        (self.banks, self.contested) = (banks, contested);
        self.len = kept;
        // Many hosts count bits in a dozen instructions.
        let served = match ONE {
            true => collectors_served,
            false => u64::from(served.count_ones()),
        };
        self.count -= served;
        served
    }

    /// Moves up the next read of a collector in each bank that has served one. Returns the banks
    /// that have a next one.
    #[cold]
    fn bring_up(&mut self, collector: u16, served: u64, depth: &mut u8) -> u64 {
        let further = &mut self.further[usize::from(collector)][..usize::from(*depth)];
        let next = further[0] & served;
        for place in 0..further.len() {
            let behind = further.get(place + 1).map_or(0, |banks| banks & served);
            further[place] = further[place] & !served | behind;
        }
        *depth -= u8::from(further.last() == Some(&0));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::BankMap;

    /// Rotation of a mask is the same as moving each of its registers.
    #[test]
    fn a_warps_banks_are_those_of_its_registers() {
        for (banks, subs) in [(16, 1), (4, 4), (64, 1), (5, 3), (1, 1), (32, 2)] {
            let map = BankMap::new(banks, subs);
            let registers = [0, 3, 7, 9, 63];
            let of = |warp| {
                let each = registers.iter().map(|register| map.bank(*register, warp));
                each.fold(0_u64, |mask, bank| mask | 1 << bank)
            };
            for warp in 0..128 {
                assert_eq!(map.of_warp(of(0), warp), of(warp), "{banks} banks, {warp}");
            }
        }
    }
}
