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

use crate::flight::{Flight, FlightPool};
use crate::image::{KernelImage, Pipe, TimedInst};
use crate::stage::{Issued, StageRegisters};
use banks::{BankMap, WaitingReads};
use std::hint::cold_path;
use warploom_base::WarpSlot;
use warploom_config::{CollectorSet, CollectorSpec, ModelStyle, SmSpec, UnitSpec};

#[derive(Clone, Copy, Debug, Default)]
struct Collector {
    /// What it holds, unless it is free.
    issued: Issued,
    /// Bit per bank that holds an operand not yet read.
    wants: u64,
    /// How many of those are still to be read in one bank, at most, behind the first.
    depth: u8,
    pipe: u8,
    set: u8,
    /// Its number in the set.
    place: u8,
}

/// Most sets: one a pipe, and the general one. A power of two, so that an index modulo it costs no
/// check.
const SETS: usize = 8;

/// Most collectors, and most dispatchers: a power of two again.
const COLLECTORS: usize = SETS * u64::BITS as usize;

#[derive(Clone, Copy, Debug, Default)]
struct Set {
    first: u16,
    /// Its collectors; none where it is not in use.
    units: u8,
    /// Collectors of a sub-core; all where the SM is not split.
    part: u8,
    /// Its dispatchers: the first, and how many.
    dispatchers: (u16, u8),
    /// Its instructions go to several registers, or to places of several sub-cores: where one
    /// cannot leave, another may.
    mixed: bool,
    /// Bit i: collector `first + i` holds an instruction.
    taken: u64,
    /// Bit i: collector `first + i` has all operands.
    ready: u64,
    /// Bit i: the last operand of collector `first + i` came in this step, so that it is sent on
    /// from the next on.
    arrived: u64,
    /// Its pipe, of a set of one.
    pipe: u8,
    /// Where there is no general set: how many instructions of that pipe enter in a step.
    in_ports: u8,
    /// Bit per collector of the first sub-core.
    first_part: u64,
}

impl Set {
    /// The collectors that a dispatcher looks at first when it has sent `last`: those behind it, or
    /// those from the next sub-core on.
    #[inline]
    fn behind(&self, last: u32) -> u64 {
        if self.part == self.units {
            !1 << last
        } else {
            let part = u32::from(self.part);
            !1 << (last - last % part + part - 1)
        }
    }

    /// The collectors that an instruction of sub-core `sub` may take.
    #[inline]
    fn own(&self, sub: u8) -> u64 {
        self.first_part << (u32::from(sub) * u32::from(self.part))
    }
}

/// Ports that are alike, through which instructions enter: each takes, every cycle, one of each of
/// these pipes into one of these sets. Small, because every step looks at all.
#[derive(Clone, Copy, Debug)]
struct InPorts {
    /// Bit per pipe.
    pipes: u8,
    count: u32,
    /// Their own set, and the general one behind it, or the own one again.
    sets: [u8; 2],
}

/// The order in which pipes enter the general set (GPGPU-Sim 4.2).
const ENTRY_ORDER: [Pipe; Pipe::COUNT] = [
    Pipe::Sp,
    Pipe::Sfu,
    Pipe::Mem,
    Pipe::Tensor,
    Pipe::Dp,
    Pipe::Int,
];

/// The order of pipes that enter sets of their own (the same).
const OWN_ORDER: [Pipe; Pipe::COUNT] = [
    Pipe::Sp,
    Pipe::Dp,
    Pipe::Sfu,
    Pipe::Tensor,
    Pipe::Mem,
    Pipe::Int,
];

/// By some pipes, a bit each: the one that enters the general set first.
const ENTERS_FIRST: [u8; 1 << Pipe::COUNT] = {
    let mut first = [0; 1 << Pipe::COUNT];
    let mut pipes = 1;
    while pipes < first.len() {
        let mut place = 0;
        while pipes >> ENTRY_ORDER[place] as usize & 1 == 0 {
            place += 1;
        }
        first[pipes] = ENTRY_ORDER[place] as u8;
        pipes += 1;
    }
    first
};

/// The set of a pipe alone.
fn own_set(spec: &CollectorSpec, pipe: Pipe) -> &CollectorSet {
    match pipe {
        Pipe::Sp => &spec.sp,
        Pipe::Dp => &spec.dp,
        Pipe::Int => &spec.int,
        Pipe::Sfu => &spec.sfu,
        Pipe::Tensor => &spec.tensor,
        Pipe::Mem => &spec.mem,
    }
}

/// Collectors, banks, and the registers on both sides.
#[derive(Clone, Debug)]
pub struct Collectors {
    /// From issue, by pipe (ID_OC).
    pub input: StageRegisters,
    /// To the units, by pipe (OC_EX).
    pub output: StageRegisters,
    /// Those in use first.
    sets: [Set; SETS],
    /// How many these are.
    used: usize,
    in_ports: Vec<InPorts>,
    /// There is a general set: instructions enter through `in_ports`, not set by set.
    general: bool,
    /// What sends on one ready collector of its set a cycle: those that it looks at first.
    dispatchers: Box<[u64; COLLECTORS]>,
    collectors: Box<[Collector; COLLECTORS]>,
    /// How many there are of both.
    counts: (usize, usize),
    banks: BankMap,
    reads: WaitingReads,
    /// Bit per bank written in this cycle.
    written: u64,
    style: ModelStyle,
    /// The longer side of 3.2.2's matrix of banks and collectors.
    square: u32,
    /// Collectors that hold an instruction.
    busy: u32,
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
            sets: [Set::default(); SETS],
            used: 0,
            in_ports: Vec::new(),
            general: false,
            dispatchers: Box::new([0; COLLECTORS]),
            collectors: Box::new([Collector::default(); COLLECTORS]),
            counts: (0, 0),
            banks: BankMap::new(spec.banks / subs, subs),
            reads: WaitingReads::new(0),
            written: 0,
            style,
            square: 0,
            busy: 0,
            settled: false,
        };
        // Order of GPGPU-Sim 4.2: the general set first, which serves the pipes that exist.
        let exists = |p: &Pipe| widths[*p as usize].issue_width > 0;
        let every: Vec<Pipe> = ENTRY_ORDER.into_iter().filter(exists).collect();
        let general = this.add_set(&spec.general, None);
        this.add_ports(&spec.general, &every, [general; 2]);
        this.general = general.is_some();
        for pipe in OWN_ORDER {
            let set = own_set(spec, pipe);
            let own = this.add_set(set, Some(pipe));
            this.add_ports(set, &[pipe], [own, general]);
            if let (Some(own), None) = (own, general) {
                this.sets[usize::from(own)].in_ports = set.in_ports as u8;
            }
        }
        let (_, collectors) = this.counts;
        this.reads = WaitingReads::new(collectors);
        this.square = spec.banks.max(collectors as u32);
        this
    }

    /// Adds the collectors of a set, which serves a pipe of its own or any, with their dispatchers.
    /// `None` for an empty set.
    fn add_set(&mut self, set: &CollectorSet, pipe: Option<Pipe>) -> Option<u8> {
        if set.units == 0 {
            return None;
        }
        assert!(set.units <= 64, "a set holds at most 64 collectors");
        let subs = self.banks.subs;
        assert!(
            set.units.is_multiple_of(subs),
            "collectors do not divide among sub-cores"
        );
        let index = self.used;
        self.used += 1;
        let (from, first) = self.counts;
        // More than there are collectors would find none.
        let ports = set.out_ports.clamp(1, set.units);
        let new = Set {
            first: first as u16,
            units: set.units as u8,
            part: (set.units / subs) as u8,
            dispatchers: (from as u16, ports as u8),
            mixed: subs > 1 || pipe.is_none(),
            taken: 0,
            ready: 0,
            arrived: 0,
            pipe: pipe.map_or(0, |pipe| pipe as u8),
            in_ports: 0,
            first_part: !0 >> (64 - set.units / subs),
        };
        // One that has sent nothing takes collector 0 for the last.
        self.dispatchers[from..][..ports as usize].fill(new.behind(0));
        self.counts = (from + ports as usize, first + set.units as usize);
        self.sets[index] = new;
        let blank = |place| Collector {
            set: index as u8,
            place,
            ..Collector::default()
        };
        for (place, collector) in self.collectors[first..][..set.units as usize]
            .iter_mut()
            .enumerate()
        {
            *collector = blank(place as u8);
        }
        Some(index as u8)
    }

    /// Adds the ports of a set, which lead to the first of some sets, and from there to the second.
    fn add_ports(&mut self, set: &CollectorSet, pipes: &[Pipe], sets: [Option<u8>; 2]) {
        let Some(first) = sets[0].or(sets[1]) else {
            return;
        };
        self.in_ports.push(InPorts {
            pipes: pipes.iter().fold(0, |mask, pipe| mask | 1 << *pipe as u8),
            count: set.in_ports,
            sets: [first, sets[1].unwrap_or(first)],
        });
    }

    /// Banks of a warp's registers, given those of warp 0's.
    #[inline]
    pub fn banks_of(&self, banks: u64, warp: u16) -> u64 {
        self.banks.of_warp(banks, warp)
    }

    /// Marks the bank of a function unit's result, if it has one, written in this cycle: it serves
    /// no read. A function unit does not wait for banks: of several results, behind one whose bank
    /// is busy no other is marked, although all are written (`opndcoll_rfu_t::writeback`, whose
    /// answer nobody reads).
    #[inline]
    pub fn write(&mut self, inst: &TimedInst, kernel: &KernelImage, warp: u16) {
        if inst.writes_several {
            cold_path();
            self.try_write(kernel.list(&inst.bank_writes), warp);
        } else {
            self.written |= self.banks.of_warp(inst.written_bank, warp);
        }
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

    /// Nothing in collectors and input registers, or nothing that can move: `step` would do
    /// nothing.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() || self.is_settled()
    }

    /// Nothing in collectors and input registers.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.busy == 0 && self.input.is_empty()
    }

    /// `step` would move nothing, and will not before an output register is emptied: collectors
    /// hold instructions that have all operands and nowhere to go. `memory_full` says that the
    /// load/store unit takes nothing; every other output register must be empty, for units free
    /// themselves by time.
    #[inline]
    pub fn is_stalled(&self, memory_full: bool) -> bool {
        let stays = u8::from(memory_full) << Pipe::Mem as u8;
        self.output.occupied() & !stays == 0 && self.is_at_rest()
    }

    /// The last step moved nothing, no operand waits for its bank, and no register before or behind
    /// has changed since: the next step will move nothing either.
    #[inline]
    fn is_settled(&self) -> bool {
        self.settled && !self.input.has_changed() && !self.output.has_changed()
    }

    /// One step, the `nth` of the SM, of instructions in `flights`. `registers` tells of one that
    /// enters which registers it reads, as bank numbers before hashing.
    pub fn step<'a>(
        &mut self,
        nth: u64,
        flights: &FlightPool,
        registers: impl Fn(&Flight) -> &'a [u16],
    ) -> BankReads {
        let waited = self.reads.banks() != 0;
        self.input.note_unchanged();
        self.output.note_unchanged();
        // What is read now is sent on from the next step on, so that banks may come first and each
        // set has its turn at once.
        let (reads, all_arrive) = self.read_banks(nth);
        for set in 0..self.used {
            if self.sets[set % SETS].taken != 0 {
                self.send_from(set, all_arrive);
            }
            self.take_own(set, flights, &registers);
        }
        if self.general {
            self.take_in_by_port(flights, &registers);
        }
        self.settled = !waited && !self.input.has_changed() && !self.output.has_changed();
        self.end_writes();
        reads
    }

    /// Ends the cycle for the banks: they may be written again. `step` does so itself.
    #[inline]
    pub fn end_writes(&mut self) {
        self.written = 0;
    }

    /// Sends on what is ready in a set. Then what came to the others in this step, which is what
    /// they miss if `all_arrive`, is in.
    #[inline]
    fn send_from(&mut self, set: usize, all_arrive: bool) {
        if self.sets[set % SETS].mixed {
            self.send_mixed(set);
        } else {
            self.send_own(set);
        }
        let set = &mut self.sets[set % SETS];
        set.ready |= if all_arrive { set.taken } else { set.arrived };
        set.arrived = 0;
    }

    /// Each dispatcher of a set of one pipe sends on one ready collector: round robin, from the one
    /// after the last sent.
    #[inline]
    fn send_own(&mut self, set: usize) {
        let set = &mut self.sets[set % SETS];
        let (from, ports) = set.dispatchers;
        let (mut ready, mut sent) = (set.ready, 0);
        let most = ports.min(self.output.room(set.pipe.into()));
        for dispatcher in (usize::from(from)..).take(most.into()) {
            if ready == 0 {
                break;
            }
            let behind = &mut self.dispatchers[dispatcher % COLLECTORS];
            let after = ready & *behind;
            let i = if after != 0 { after } else { ready }.trailing_zeros();
            let c = &self.collectors[(usize::from(set.first) + i as usize) % COLLECTORS];
            self.output.push(set.pipe.into(), c.issued);
            *behind = !1 << i;
            sent |= 1 << i;
            ready &= !(1 << i);
            self.busy -= 1;
        }
        set.ready = ready;
        set.taken &= !sent;
    }

    /// The same of a set of several pipes or sub-cores: among these, from the first of the next
    /// sub-core (4.2's `find_ready`), and where one cannot leave, the next one may.
    #[inline(never)]
    fn send_mixed(&mut self, set: usize) {
        let set = &mut self.sets[set % SETS];
        let (from, ports) = set.dispatchers;
        for behind in &mut self.dispatchers[usize::from(from)..][..usize::from(ports)] {
            let can_leave = |i: &u32| {
                let c = &self.collectors[usize::from(set.first) + *i as usize];
                !self.output.is_full(c.pipe.into(), c.issued.sub())
            };
            let after = set.ready & *behind;
            let mut in_turn = bits(after).chain(bits(set.ready & !after));
            // Where one finds none that can leave, the set's others find none either.
            let Some(i) = in_turn.find(can_leave) else {
                break;
            };
            let c = &self.collectors[usize::from(set.first) + i as usize];
            self.output.push(c.pipe.into(), c.issued);
            *behind = set.behind(i);
            set.ready &= !(1 << i);
            set.taken &= !(1 << i);
            self.busy -= 1;
        }
    }

    /// Every bank serves its oldest read, in 3.2.2 those of [`granted`]. Whether every collector
    /// has all its operands now; otherwise those that have are noted.
    #[inline]
    fn read_banks(&mut self, nth: u64) -> (BankReads, bool) {
        let all_arrive = self.style == ModelStyle::V4 && self.reads.are_free_of(self.written);
        let served = if all_arrive {
            self.reads.serve_all()
        } else {
            self.read_some(nth)
        };
        let waited = self.reads.count();
        (BankReads { served, waited }, all_arrive)
    }

    /// Banks that are not written serve their first read.
    #[inline(never)]
    fn read_some(&mut self, nth: u64) -> u64 {
        let (square, style) = (self.square, self.style);
        let first = remainder(nth, square.into()) as u32;
        let granted = |collector: u16, banks| match style {
            ModelStyle::V3 => granted(banks, collector.into(), first, square),
            ModelStyle::V4 => banks,
        };
        let (collectors, sets) = (&mut self.collectors, &mut self.sets);
        self.reads
            .serve(collectors, !self.written, granted, |c, has_all| {
                sets[usize::from(c.set) % SETS].arrived |= u64::from(has_all) << c.place;
            })
    }

    /// Takes the first issued of a set's pipe into it, one through each port, as long as there is
    /// one and a collector is free.
    #[inline]
    fn take_own<'a>(
        &mut self,
        set: usize,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        let Set { pipe, in_ports, .. } = self.sets[set % SETS];
        for _ in 0..in_ports {
            let Some(issued) = self.input.oldest(pipe.into()) else {
                return;
            };
            let Some(i) = self.free_place(set, issued) else {
                return;
            };
            self.enter((set, i), pipe.into(), issued, flights, registers);
        }
    }

    /// The first issued of a pipe enters a free collector of a set.
    #[inline(always)]
    fn enter<'a>(
        &mut self,
        (set, i): (usize, u32),
        pipe: usize,
        issued: Issued,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        self.input.take(pipe, issued);
        let flight = &flights[issued.flight().0];
        self.busy += 1;
        let s = &mut self.sets[set % SETS];
        s.taken |= 1 << i;
        s.ready |= u64::from(flight.banks == 0) << i;
        let index = (usize::from(s.first) + i as usize) % COLLECTORS;
        let collector = &mut self.collectors[index];
        collector.issued = issued;
        collector.pipe = pipe as u8;
        collector.wants = flight.banks;
        self.reads.add(index, flight.banks, flight.reads);
        if flight.shares_banks {
            self.add_further(index, registers(flight), flight.warp);
        }
    }

    /// A bank holds several registers of an instruction that entered.
    #[cold]
    fn add_further(&mut self, collector: usize, registers: &[u16], warp: WarpSlot) {
        let bank = |register: &u16| self.banks.bank(*register, warp.0);
        let banks = registers.iter().map(bank);
        self.collectors[collector].depth = self.reads.add_further(collector, banks);
    }

    #[inline(never)]
    fn take_in_by_port<'a>(
        &mut self,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        for p in 0..self.in_ports.len() {
            if self.input.is_empty() {
                return;
            }
            let ports = self.in_ports[p];
            for _ in 0..ports.count {
                // Where one takes nothing, the next, which is like it, takes nothing either.
                if !self.take_through(ports, flights, registers) {
                    break;
                }
            }
        }
    }

    /// What enters through one of some ports; whether anything does.
    #[inline]
    fn take_through<'a>(
        &mut self,
        ports: InPorts,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) -> bool {
        let mut pipes = ports.pipes & self.input.occupied();
        let mut taken = false;
        while pipes != 0 {
            let pipe = usize::from(ENTERS_FIRST[usize::from(pipes) % ENTERS_FIRST.len()]);
            pipes &= !(1 << pipe);
            taken |= self.take_from(pipe, ports.sets, flights, registers);
            if self.style == ModelStyle::V3 {
                // A port of 3.2.2 tries one instruction a cycle.
                break;
            }
        }
        taken
    }

    /// Takes the first issued of a pipe into one of some sets, if a collector is free. Apart from
    /// the loops around it: within, the compiler would load for every step what few need.
    #[inline(never)]
    fn take_from<'a>(
        &mut self,
        pipe: usize,
        sets: [u8; 2],
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) -> bool {
        let issued = self.input.first_issued(pipe);
        let place = self.place_for(sets, issued);
        if let Some((set, i)) = place {
            self.enter((set, i), pipe, issued, flights, registers);
        }
        place.is_some()
    }

    /// The set and collector that an instruction takes.
    #[inline]
    fn place_for(&self, sets: [u8; 2], issued: Issued) -> Option<(usize, u32)> {
        sets.into_iter().find_map(|set| {
            let i = self.free_place(set.into(), issued)?;
            Some((usize::from(set), i))
        })
    }

    /// The collector of a set that an instruction takes.
    #[inline]
    fn free_place(&self, set: usize, issued: Issued) -> Option<u32> {
        let set = &self.sets[set % SETS];
        let free = !set.taken & set.own(issued.sub());
        (free != 0).then(|| free.trailing_zeros())
    }
}

/// 3.2.2: a collector receives one operand a cycle. Its wavefront allocator goes through the
/// diagonals of the `square` matrix of banks and collectors, beginning with another one, the
/// `first`, each step: of the `banks` that have something for a collector, if any, the one whose
/// diagonal comes first.
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
