//! Operand collectors and register-file banks (model page, section 3.5).
//!
//! An issued instruction waits in the input register of its pipe, takes a free collector, reads
//! its source registers one bank access a cycle each, and leaves for the pipe's output register.
//! Step order within a cycle: send on ready collectors, read banks, take in new instructions; so
//! an instruction with sources passes in three cycles, one without in two.
//!
//! Split into sub-cores (4.2), each scheduler owns an equal part of the banks and of every set's
//! collectors, and a place in each register: its instructions use nothing else.

mod banks;

use crate::flight::FlightId;
use crate::image::Pipe;
use crate::stage::{Issued, StageRegisters};
use banks::BankQueues;
use warploom_config::{CollectorSet, ModelStyle, SmSpec, UnitSpec};

#[derive(Clone, Copy, Debug, Default)]
struct Collector {
    /// What it holds, unless it is free.
    issued: Issued,
    pipe: u8,
    set: u8,
    /// Operands not yet read.
    missing: u8,
}

#[derive(Clone, Debug)]
struct Set {
    first: usize,
    units: u32,
    /// Bit i: collector `first + i` is free.
    free: u64,
    /// Bit i: collector `first + i` has all operands.
    ready: u64,
    /// Its instructions go to several registers, or to places of several sub-cores: where one
    /// cannot leave, another may.
    mixed: bool,
    /// Collectors of a sub-core; all where the SM is not split.
    part: u32,
    /// Its dispatchers: the first, and the one behind the last.
    dispatchers: (u16, u16),
}

impl Set {
    /// The collector that a dispatcher looks at first when it has sent `last`: the one after it, or
    /// the first of the next sub-core.
    #[inline]
    fn after(&self, last: u32) -> u32 {
        let next = if self.part == self.units {
            last + 1
        } else {
            last + self.part - last % self.part
        };
        if next >= self.units { 0 } else { next }
    }

    /// The collectors that an instruction of sub-core `sub` may take.
    #[inline]
    fn own(&self, sub: u8) -> u64 {
        (!0 >> (64 - self.part)) << (u32::from(sub) * self.part)
    }
}

/// Where instructions enter: each cycle, one of each of these pipes into one of these sets. Looked
/// at in every step, so without lists of its own elsewhere in memory.
#[derive(Clone, Copy, Debug)]
struct InPort {
    pipes: Few<{ Pipe::COUNT }>,
    /// The same, a bit each.
    mask: u8,
    /// Its own set, and the general one behind it.
    sets: Few<2>,
}

/// A few small numbers in order; [`Few::END`] stands behind them where there is room.
#[derive(Clone, Copy, Debug)]
struct Few<const MOST: usize>([u8; MOST]);

impl<const MOST: usize> Few<MOST> {
    const END: u8 = u8::MAX;

    /// Requires at most `MOST` of them.
    fn of(from: impl Iterator<Item = usize>) -> Self {
        let mut few = [Self::END; MOST];
        for (place, item) in from.enumerate() {
            few[place] = item as u8;
        }
        Self(few)
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = usize> {
        let items = self.0.iter().copied();
        items.take_while(|item| *item != Self::END).map(usize::from)
    }

    fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// Which banks registers lie in.
#[derive(Clone, Copy, Debug)]
struct BankMap {
    /// Banks of a sub-core; all where the SM is not split.
    banks: u32,
    /// Sub-cores; 1 where the SM is not split.
    subs: u32,
    /// One less than `banks` and `subs` where both are powers of two, as they mostly are.
    masks: Option<(u32, u32)>,
}

impl BankMap {
    fn new(banks: u32, subs: u32) -> Self {
        let powers = banks.is_power_of_two() && subs.is_power_of_two();
        Self {
            banks,
            subs,
            masks: powers.then(|| (banks - 1, subs - 1)),
        }
    }

    /// Bank of a register of a warp: in the part of the scheduler that the warp belongs to.
    #[inline]
    fn bank(self, register: u16, warp: u16) -> u32 {
        let (moved, warp) = (u32::from(register) + u32::from(warp), u32::from(warp));
        let (place, sub) = match self.masks {
            Some((bank, sub)) => (moved & bank, warp & sub),
            None => (moved % self.banks, warp % self.subs),
        };
        place + sub * self.banks
    }
}

/// Collectors, banks, and the registers on both sides.
#[derive(Clone, Debug)]
pub struct Collectors {
    /// From issue, by pipe (ID_OC).
    pub input: StageRegisters,
    /// To the units, by pipe (OC_EX).
    pub output: StageRegisters,
    sets: Vec<Set>,
    in_ports: Vec<InPort>,
    /// What sends on one ready collector of its set a cycle: the collector that it looks at first.
    dispatchers: Vec<u32>,
    collectors: Vec<Collector>,
    banks: BankMap,
    queues: BankQueues,
    /// Bit per bank with a waiting read.
    waiting: u64,
    /// Reads in all queues.
    reads: u64,
    /// Bit per bank written in this cycle.
    written: u64,
    style: ModelStyle,
    /// By collector: bit per bank whose next read is one of its operands.
    fronts: Box<[u64]>,
    /// Collectors that hold an instruction.
    busy: u32,
    /// Bit per set with a collector that has all operands.
    ready: u8,
    /// The last step moved nothing, and no read waits for its bank.
    settled: bool,
}

/// What the register file's banks did in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BankReads {
    /// Registers read, each by one warp.
    pub served: u64,
    /// Reads that had to wait for their bank.
    pub waited: u64,
}

/// What the collectors need to know of an instruction that enters.
pub struct Sources<'a> {
    /// Its source registers, as bank numbers before hashing.
    pub registers: &'a [u16],
    /// The warp's slot, which moves its registers to other banks.
    pub warp: u16,
}

impl Collectors {
    /// Collectors and stage registers of the given shapes, by pipe order of [`Pipe::ALL`].
    pub fn new(sm: &SmSpec, widths: [&UnitSpec; Pipe::COUNT], style: ModelStyle) -> Self {
        let spec = &sm.collectors;
        let split = sm.sub_cores;
        let own_places = split.then(|| sm.schedulers.max(1));
        let subs = own_places.unwrap_or(1);
        let mut this = Self {
            input: StageRegisters::new(widths.map(|w| w.issue_width), own_places),
            output: StageRegisters::new(widths.map(|w| w.dispatch_width), own_places),
            sets: Vec::new(),
            in_ports: Vec::new(),
            dispatchers: Vec::new(),
            collectors: Vec::new(),
            banks: BankMap::new(spec.banks / subs, subs),
            queues: BankQueues::new(0, 0),
            waiting: 0,
            reads: 0,
            written: 0,
            style,
            fronts: Box::default(),
            busy: 0,
            ready: 0,
            settled: false,
        };
        // Order of GPGPU-Sim 4.2: the general set first, which serves the pipes that exist.
        let exists = |p: &Pipe| widths[*p as usize].issue_width > 0;
        let order = [
            Pipe::Sp,
            Pipe::Sfu,
            Pipe::Mem,
            Pipe::Tensor,
            Pipe::Dp,
            Pipe::Int,
        ];
        let every: Vec<Pipe> = order.into_iter().filter(exists).collect();
        let general = this.add_set(&spec.general, every.len());
        this.add_ports(&spec.general, &every, Few::of(general.into_iter()));
        let own = [
            (&spec.sp, Pipe::Sp),
            (&spec.dp, Pipe::Dp),
            (&spec.sfu, Pipe::Sfu),
            (&spec.tensor, Pipe::Tensor),
            (&spec.mem, Pipe::Mem),
            (&spec.int, Pipe::Int),
        ];
        for (set, pipe) in own {
            let sets = Few::of(this.add_set(set, 1).into_iter().chain(general));
            this.add_ports(set, &[pipe], sets);
        }
        let collectors = this.collectors.len();
        this.queues = BankQueues::new(spec.banks as usize, collectors);
        this.fronts = vec![0; collectors].into();
        this
    }

    /// Adds the collectors of a set, which serves so many pipes, with their dispatchers. `None` for
    /// an empty set.
    fn add_set(&mut self, set: &CollectorSet, pipes: usize) -> Option<usize> {
        if set.units == 0 {
            return None;
        }
        assert!(set.units <= 64, "a set holds at most 64 collectors");
        let subs = self.banks.subs;
        assert!(
            set.units.is_multiple_of(subs),
            "collectors do not divide among sub-cores"
        );
        let index = self.sets.len();
        let first = self.collectors.len();
        let from = self.dispatchers.len();
        let end = from + set.out_ports.max(1) as usize;
        let new = Set {
            first,
            units: set.units,
            free: !0 >> (64 - set.units),
            ready: 0,
            mixed: subs > 1 || pipes > 1,
            part: set.units / subs,
            dispatchers: (from as u16, end as u16),
        };
        // One that has sent nothing takes collector 0 for the last.
        self.dispatchers.resize(end, new.after(0));
        self.sets.push(new);
        let blank = Collector {
            set: index as u8,
            ..Collector::default()
        };
        self.collectors.resize(first + set.units as usize, blank);
        Some(index)
    }

    fn add_ports(&mut self, set: &CollectorSet, pipes: &[Pipe], sets: Few<2>) {
        if !sets.is_empty() && !pipes.is_empty() {
            let mask = pipes.iter().fold(0, |mask, pipe| mask | 1 << *pipe as u8);
            let pipes = Few::of(pipes.iter().map(|pipe| *pipe as usize));
            let port = InPort { pipes, mask, sets };
            self.in_ports
                .extend(std::iter::repeat_n(port, set.in_ports as usize));
        }
    }

    /// Marks the banks of a function unit's results written in this cycle: they serve no reads. A
    /// function unit does not wait for banks: behind a result whose bank is busy no other is
    /// marked, although all are written (`opndcoll_rfu_t::writeback`, whose answer nobody reads).
    #[inline]
    pub fn write(&mut self, registers: &[u16], warp: u16) {
        self.try_write(registers, warp);
    }

    /// Writes registers from the first on, as far as their banks are idle in this cycle; how many
    /// were written. The load/store unit retries the others.
    #[inline]
    pub fn try_write(&mut self, registers: &[u16], warp: u16) -> usize {
        for (i, &register) in registers.iter().enumerate() {
            let bank = 1 << self.banks.bank(register, warp);
            if self.written & bank != 0 {
                return i;
            }
            self.written |= bank;
        }
        registers.len()
    }

    /// Nothing in collectors and input registers, so that `step` would do nothing.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.busy == 0 && self.input.occupied() == 0
    }

    /// `step` would move nothing, and will not before an output register is emptied: collectors
    /// hold instructions that have all operands and nowhere to go. `memory_full` says that the
    /// load/store unit takes nothing; every other output register must be empty, for units free
    /// themselves by time.
    #[inline]
    pub fn is_stalled(&self, memory_full: bool) -> bool {
        let stays = u8::from(memory_full) << Pipe::Mem as u8;
        self.output.occupied() & !stays == 0 && (self.is_idle() || self.is_settled())
    }

    /// The last step moved nothing, no operand waits for its bank, and no register before or behind
    /// has changed since: the next step will move nothing either.
    #[inline]
    fn is_settled(&self) -> bool {
        self.settled && !self.input.has_changed() && !self.output.has_changed()
    }

    #[inline]
    fn can_leave(&self, set: &Set, i: u32) -> bool {
        let c = &self.collectors[set.first + i as usize];
        self.output.full(c.issued.sub()) >> c.pipe & 1 == 0
    }

    /// The lowest of some collectors of a set whose instruction finds a place behind it.
    fn first_to_leave(&self, set: &Set, collectors: u64) -> Option<u32> {
        bits(collectors).find(|i| self.can_leave(set, *i))
    }

    /// One step, the `nth` of the SM. `sources` tells what an entering instruction reads.
    pub fn step<'a>(&mut self, nth: u64, sources: impl Fn(FlightId) -> Sources<'a>) -> BankReads {
        let mut reads = BankReads::default();
        if self.is_settled() {
            self.end_writes();
            return reads;
        }
        let waited = self.waiting != 0;
        self.input.note_unchanged();
        self.output.note_unchanged();
        if self.ready != 0 {
            self.send_ready();
        }
        if waited {
            reads = self.read_banks(nth);
        }
        self.take_in(sources);
        self.settled = !waited && !self.input.has_changed() && !self.output.has_changed();
        self.end_writes();
        reads
    }

    /// Ends the cycle for the banks: they may be written again. `step` does so itself.
    #[inline]
    pub fn end_writes(&mut self) {
        self.written = 0;
    }

    /// Each dispatcher sends on one ready collector of its set: round robin, from the one after
    /// the last sent; among sub-cores, from the first of the next sub-core (4.2's `find_ready`).
    fn send_ready(&mut self) {
        let mut sets = self.ready;
        while sets != 0 {
            let set = sets.trailing_zeros() as usize;
            sets &= sets - 1;
            let (first, end) = self.sets[set].dispatchers;
            for dispatcher in usize::from(first)..usize::from(end) {
                let chosen = self.choose(&self.sets[set], self.dispatchers[dispatcher]);
                if let Some(i) = chosen {
                    self.dispatchers[dispatcher] = self.sets[set].after(i);
                    self.send(set, i);
                }
            }
        }
    }

    /// The ready collector of a set that is sent on next, in turn from collector `start` on.
    #[inline]
    fn choose(&self, set: &Set, start: u32) -> Option<u32> {
        if set.ready == 0 {
            return None;
        }
        let after = set.ready & (!0 << start);
        let next = if after != 0 { after } else { set.ready };
        let first = next.trailing_zeros();
        if self.can_leave(set, first) {
            Some(first)
        } else if set.mixed {
            self.first_to_leave(set, after)
                .or_else(|| self.first_to_leave(set, set.ready & !after))
        } else {
            None
        }
    }

    #[inline]
    fn send(&mut self, set: usize, i: u32) {
        let number = set;
        let set = &mut self.sets[number];
        let c = &mut self.collectors[set.first + i as usize];
        self.output.push(usize::from(c.pipe), c.issued);
        set.ready &= !(1 << i);
        set.free |= 1 << i;
        self.busy -= 1;
        self.ready &= !(u8::from(set.ready == 0) << number);
    }

    /// Every bank serves its oldest read, in 3.2.2 those of [`granted`].
    fn read_banks(&mut self, nth: u64) -> BankReads {
        let mut reads = BankReads::default();
        let square = self.queues.banks().max(self.collectors.len()) as u32;
        let first = remainder(nth, square.into()) as u32;
        let mut open = self.waiting & !self.written;
        while open != 0 {
            let mut bank = open.trailing_zeros();
            let mut looked_at = 1 << bank;
            if self.style == ModelStyle::V3 {
                let collector = self.queues.front(bank as usize);
                looked_at = self.fronts[usize::from(collector)] & open;
                bank = granted(looked_at, collector.into(), first, square);
            }
            open &= !looked_at;
            let read = self.queues.pop(bank as usize);
            self.fronts[usize::from(read.collector)] &= !(1 << bank);
            if let Some(next) = read.next {
                self.fronts[usize::from(next)] |= 1 << bank;
            } else {
                self.waiting &= !(1 << bank);
            }
            reads.served += 1;
            self.operand_arrived(read.collector);
        }
        self.reads -= reads.served;
        reads.waited = self.reads;
        reads
    }

    #[inline]
    fn operand_arrived(&mut self, collector: u16) {
        let index = usize::from(collector);
        let c = &mut self.collectors[index];
        c.missing -= 1;
        let (set, has_all) = (usize::from(c.set), c.missing == 0);
        let place = index - self.sets[set].first;
        self.note_ready(set, place as u32, has_all);
    }

    /// Collector `i` of a set has all its operands, or not yet.
    #[inline]
    fn note_ready(&mut self, set: usize, i: u32, has_all: bool) {
        self.sets[set].ready |= u64::from(has_all) << i;
        self.ready |= u8::from(has_all) << set;
    }

    fn take_in<'a>(&mut self, sources: impl Fn(FlightId) -> Sources<'a>) {
        for p in 0..self.in_ports.len() {
            let port = self.in_ports[p];
            if port.mask & self.input.occupied() == 0 {
                continue;
            }
            for pipe in port.pipes.iter() {
                let Some(issued) = self.input.oldest(pipe) else {
                    continue;
                };
                if let Some((set, i)) = self.place_for(&port.sets, issued) {
                    self.input.take(pipe, issued);
                    self.occupy(set, i, issued, pipe, &sources(issued.flight()));
                }
                if self.style == ModelStyle::V3 {
                    // A port of 3.2.2 tries one instruction a cycle.
                    break;
                }
            }
        }
    }

    /// The set and collector that an instruction takes.
    #[inline]
    fn place_for(&self, sets: &Few<2>, issued: Issued) -> Option<(usize, u32)> {
        sets.iter().find_map(|index| {
            let set = &self.sets[index];
            let free = set.free & set.own(issued.sub());
            (free != 0).then(|| (index, free.trailing_zeros()))
        })
    }

    #[inline]
    fn occupy(&mut self, set: usize, i: u32, issued: Issued, pipe: usize, sources: &Sources<'_>) {
        self.busy += 1;
        let missing = sources.registers.len() as u8;
        self.note_ready(set, i, missing == 0);
        let s = &mut self.sets[set];
        s.free &= !(1 << i);
        let index = s.first + i as usize;
        self.collectors[index] = Collector {
            issued,
            pipe: pipe as u8,
            set: set as u8,
            missing,
        };
        self.reads += u64::from(missing);
        for (operand, &register) in sources.registers.iter().enumerate() {
            let bank = self.banks.bank(register, sources.warp);
            let is_first = self.queues.push(bank as usize, index, operand);
            self.fronts[index] |= u64::from(is_first) << bank;
            self.waiting |= 1 << bank;
        }
    }
}

/// 3.2.2: a collector receives one operand a cycle. Its wavefront allocator goes through the
/// diagonals of the `square` matrix of banks and collectors, beginning with another one, the
/// `first`, each step: of the `banks` that want one collector, the one whose diagonal comes first.
#[inline]
fn granted(banks: u64, collector: u32, first: u32, square: u32) -> u32 {
    // Bank b is on the collector's diagonal `turn - b`, modulo the square.
    let turn = if collector >= first {
        collector - first
    } else {
        collector + square - first
    };
    let below = banks & !0 >> (63 - turn.min(63));
    let from = if below != 0 { below } else { banks };
    63 - from.leading_zeros()
}

/// `value % by`; most numbers of banks and sub-cores are powers of two.
#[inline]
const fn remainder(value: u64, by: u64) -> u64 {
    if by.is_power_of_two() {
        value & (by - 1)
    } else {
        value % by
    }
}

fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests;
