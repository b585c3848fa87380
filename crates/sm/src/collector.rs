//! Operand collectors and register-file banks (docs/model/sm.md, Operand collectors).
//!
//! An issued instruction waits in the input register of its pipe, takes a free collector, reads
//! its source registers one bank access a cycle each, and leaves for the pipe's output register.
//! Step order within a cycle: send on ready collectors, read banks, take in new instructions; so
//! an instruction with sources passes in three cycles, one without in two.
//!
//! Split into sub-cores (4.2), each scheduler owns an equal part of the banks and of every set's
//! collectors, and a place in each register: its instructions use nothing else.

mod banks;
mod build;
mod enter;
mod send;
mod sets;

use crate::flight::{Flight, FlightPool};
use crate::prepared_kernel::{Pipe, PreparedKernel, TimedInst};
use crate::stage::StageRegisters;
use banks::{BankMap, WaitingReads};
use sets::{COLLECTORS, Collector, InPorts, SETS, Set, WORD, WORDS};
use std::hint::cold_path;
use warploom_config::ModelStyle;
use warploom_state::State;

/// Order in which pipes enter the general set (GPGPU-Sim 4.2).
const ENTRY_ORDER: [Pipe; Pipe::COUNT] = [
    Pipe::Sp,
    Pipe::Sfu,
    Pipe::Mem,
    Pipe::Tensor,
    Pipe::Dp,
    Pipe::Int,
];

/// Collectors, banks, and the registers on both sides.
#[derive(Clone, Debug, State)]
pub struct Collectors {
    /// Registers between issue and collectors, by pipe (ID_OC).
    pub input: StageRegisters,
    /// Registers between collectors and function units, by pipe (OC_EX).
    pub output: StageRegisters,
    /// Sets of collectors; the first `used` are in use.
    sets: [Set; SETS],
    used: usize,
    /// Number of words with bits of collectors.
    words: usize,
    /// Bit per collector that holds an instruction.
    taken: [u64; WORDS],
    /// Bit per collector whose instruction has all operands.
    ready: [u64; WORDS],
    /// Sets that serve one pipe alone, by a mask of pipes. None where there is a general set.
    own_sets: [u8; 1 << Pipe::COUNT],
    in_ports: Vec<InPorts>,
    /// True if there is a general set: instructions enter through `in_ports`, not set by set.
    general: bool,
    /// True if every set serves one pipe, all registers are narrow, and all collectors fit into a
    /// word.
    plain: bool,
    /// Dispatchers, each of which sends one ready instruction of its set in a step: mask of the
    /// collectors that it looks at first.
    dispatchers: Box<[u64; COLLECTORS]>,
    collectors: Box<[Collector; COLLECTORS]>,
    /// Numbers of dispatchers and of collectors.
    counts: (usize, usize),
    #[state(fixed)]
    banks: BankMap,
    reads: WaitingReads,
    /// Bit per bank written in this cycle.
    written: u64,
    #[state(fixed)]
    style: ModelStyle,
    /// Longer side of 3.2.2's matrix of banks and collectors.
    square: u32,
    /// Number of collectors that hold an instruction.
    busy: u32,
    /// True if the last step moved nothing, and no read waits for its bank.
    settled: bool,
}

/// Accesses of the register file's banks in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BankReads {
    /// Registers read, each by one warp.
    pub served: u64,
    /// Reads that had to wait for their bank.
    pub waited: u64,
}

impl Collectors {
    /// Banks of a warp's registers, given the banks of the same registers of warp 0.
    #[inline]
    pub fn banks_of(&self, banks: u64, warp: u16) -> u64 {
        self.banks.of_warp(banks, warp)
    }

    /// Marks the bank of a function unit's result as written in this cycle, so that it serves no
    /// read. A function unit does not wait for banks: of several results, none is marked after one
    /// whose bank is busy, although all are written (`opndcoll_rfu_t::writeback`, whose result is
    /// ignored).
    #[inline]
    pub fn write(&mut self, inst: &TimedInst, kernel: &PreparedKernel, warp: u16) {
        if inst.writes_several {
            cold_path();
            self.try_write(kernel.list(&inst.bank_writes), warp);
        } else {
            self.written |= self.banks.of_warp(inst.written_bank, warp);
        }
    }

    /// Writes the registers of a load after the first `written`, as far as their banks are idle in
    /// this cycle. Returns true after the last one; `written` is 0 then, for the next load.
    #[inline]
    pub fn write_further(
        &mut self,
        inst: &TimedInst,
        kernel: &PreparedKernel,
        warp: u16,
        written: &mut usize,
    ) -> bool {
        if inst.writes_several {
            cold_path();
            let left = &kernel.list(&inst.bank_writes)[*written..];
            let count = self.try_write(left, warp);
            let all = count == left.len();
            *written = if all { 0 } else { *written + count };
            return all;
        }
        let bank = self.banks.of_warp(inst.written_bank, warp);
        let idle = self.written & bank == 0;
        self.written |= bank;
        idle
    }

    /// Writes registers from the first on, as far as their banks are idle in this cycle. Returns
    /// their number.
    #[inline(never)]
    fn try_write(&mut self, registers: &[u16], warp: u16) -> usize {
        for (i, &register) in registers.iter().enumerate() {
            let bank = 1 << self.banks.bank(register, warp);
            if self.written & bank != 0 {
                return i;
            }
            self.written |= bank;
        }
        registers.len()
    }

    /// True if `step` would do nothing: collectors and input registers are empty, or nothing can
    /// move.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() || self.is_settled()
    }

    /// True if collectors and input registers are empty.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.busy == 0 && self.input.is_empty()
    }

    /// True if `step` would move nothing until an output register is emptied: the instructions in
    /// collectors have all operands, and their output register is full. `memory_full` says that the
    /// load/store unit takes nothing; every other output register must be empty, because time alone
    /// frees function units.
    #[inline]
    pub fn is_stalled(&self, memory_full: bool) -> bool {
        let stays = u8::from(memory_full) << Pipe::Mem as u8;
        self.output.occupied() & !stays == 0 && self.is_at_rest()
    }

    /// True if the last step moved nothing, no operand waits for its bank, and no register on
    /// either side has changed since: the next step will move nothing either.
    #[inline]
    fn is_settled(&self) -> bool {
        self.settled && !self.input.has_changed() && !self.output.has_changed()
    }

    /// Does the `nth` step of the SM; instructions are in `flights`. `registers` returns the
    /// registers that an entering instruction reads.
    #[inline]
    pub fn step<'a>(
        &mut self,
        nth: u64,
        flights: &FlightPool,
        registers: impl Fn(&Flight) -> &'a [u16],
    ) -> BankReads {
        if self.plain {
            self.step_of::<true>(nth, flights, &registers)
        } else {
            self.step_of_any(nth, flights, &registers)
        }
    }

    #[inline(never)]
    fn step_of_any<'a>(
        &mut self,
        nth: u64,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) -> BankReads {
        self.step_of::<false>(nth, flights, registers)
    }

    /// `step`, compiled twice: `PLAIN` stands for the field `plain`.
    #[inline(always)]
    fn step_of<'a, const PLAIN: bool>(
        &mut self,
        nth: u64,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) -> BankReads {
        let waited = self.reads.banks() != 0;
        self.input.note_unchanged();
        self.output.note_unchanged();
        self.send_on::<PLAIN>();
        let reads = self.read_banks::<PLAIN>(nth);
        self.take_own::<PLAIN>(flights, registers);
        if !PLAIN && self.general {
            self.take_in_by_port(flights, registers);
        }
        self.settled = !waited && !self.input.has_changed() && !self.output.has_changed();
        self.end_writes();
        reads
    }

    /// Ends the cycle for the banks, which may be written again then. Part of `step`.
    #[inline]
    pub fn end_writes(&mut self) {
        self.written = 0;
    }

    /// Every bank serves its oldest read, in 3.2.2 those that [`granted`] chooses. Follows
    /// `send_on`, so that an instruction whose last operand comes now leaves in the next step at
    /// the earliest.
    #[inline(always)]
    fn read_banks<const PLAIN: bool>(&mut self, nth: u64) -> BankReads {
        let all_arrive = self.style == ModelStyle::V4 && self.reads.are_free_of(self.written);
        let served = if all_arrive {
            let words = if PLAIN { 1 } else { self.words };
            self.ready[..words].copy_from_slice(&self.taken[..words]);
            self.reads.serve_all()
        } else if self.reads.banks() == 0 {
            0
        } else if self.style == ModelStyle::V3 {
            self.read_one_each::<PLAIN>(nth)
        } else {
            self.read_open()
        };
        let waited = self.reads.count();
        BankReads { served, waited }
    }

    /// Banks that are not written serve their oldest read.
    #[inline(never)]
    fn read_open(&mut self) -> u64 {
        let (collectors, ready) = (&mut self.collectors, &mut self.ready);
        let all = |_, banks| banks;
        self.reads
            .serve::<false>(collectors, !self.written, all, |at, bit| {
                ready[at / WORD % WORDS] |= bit;
            })
    }

    /// Banks that are not written serve their oldest read, as far as 3.2.2 chooses them: one for
    /// each collector.
    #[inline(always)]
    fn read_one_each<const PLAIN: bool>(&mut self, nth: u64) -> u64 {
        let square = self.square;
        let first = remainder(nth, square.into()) as u32;
        let one = |collector: u16, banks| granted(banks, collector.into(), first, square);
        let (collectors, ready) = (&mut self.collectors, &mut self.ready);
        self.reads
            .serve::<true>(collectors, !self.written, one, |at, bit| {
                ready[if PLAIN { 0 } else { at / WORD % WORDS }] |= bit;
            })
    }
}

/// The bank from which a collector receives its only operand of a step in 3.2.2, as a mask. `banks`
/// are those that could serve it. The wavefront allocator goes through the diagonals of the
/// `square` matrix of banks and collectors from diagonal `first` on, another one in each step; the
/// bank whose diagonal comes first is chosen.
#[inline]
fn granted(banks: u64, collector: u32, first: u32, square: u32) -> u64 {
    // Bank b is on the collector's diagonal `turn - b`, modulo the square.
    let turn = if collector >= first {
        collector - first
    } else {
        collector + square - first
    };
    let below = banks & !0 >> (63 - turn.min(63));
    let from = if below != 0 { below } else { banks };
    from & 1 << (63 - (from | 1).leading_zeros())
}

/// `value % by`, fast for powers of two, which most numbers of banks are.
#[inline]
const fn remainder(value: u64, by: u64) -> u64 {
    if by.is_power_of_two() {
        value & (by - 1)
    } else {
        value % by
    }
}

#[cfg(test)]
mod tests;
