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
use crate::image::Pipe;
use crate::stage::{Issued, StageRegisters};
use banks::{BankMap, WaitingReads};
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
    /// Bit per collector of the first sub-core.
    first_part: u64,
}

impl Set {
    /// The collector that a dispatcher looks at first when it has sent `last`: the one after it, or
    /// the first of the next sub-core.
    #[inline]
    fn after(&self, last: u32) -> u32 {
        let (part, units) = (u32::from(self.part), u32::from(self.units));
        let next = if part == units {
            last + 1
        } else {
            last + part - last % part
        };
        if next >= units { 0 } else { next }
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

/// By some pipes, a bit each: the first one in an order.
const fn first_in(order: [Pipe; Pipe::COUNT]) -> [u8; 1 << Pipe::COUNT] {
    let mut first = [0; 1 << Pipe::COUNT];
    let mut pipes = 1;
    while pipes < first.len() {
        let mut place = 0;
        while pipes >> order[place] as usize & 1 == 0 {
            place += 1;
        }
        first[pipes] = order[place] as u8;
        pipes += 1;
    }
    first
}

const ENTERS_FIRST: [u8; 1 << Pipe::COUNT] = first_in(ENTRY_ORDER);
const OWN_FIRST: [u8; 1 << Pipe::COUNT] = first_in(OWN_ORDER);

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
    /// By pipe: its own set and how many ports lead there, where there is no general set.
    own_ports: Option<[(u8, u8); 1 << 3]>,
    /// What sends on one ready collector of its set a cycle: the collector that it looks at first.
    dispatchers: Vec<u32>,
    collectors: Vec<Collector>,
    banks: BankMap,
    reads: WaitingReads,
    /// Bit per bank written in this cycle.
    written: u64,
    style: ModelStyle,
    /// The longer side of 3.2.2's matrix of banks and collectors.
    square: u32,
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
            own_ports: None,
            dispatchers: Vec::new(),
            collectors: Vec::new(),
            banks: BankMap::new(spec.banks / subs, subs),
            reads: WaitingReads::new(0),
            written: 0,
            style,
            square: 0,
            busy: 0,
            ready: 0,
            settled: false,
        };
        // Order of GPGPU-Sim 4.2: the general set first, which serves the pipes that exist.
        let exists = |p: &Pipe| widths[*p as usize].issue_width > 0;
        let every: Vec<Pipe> = ENTRY_ORDER.into_iter().filter(exists).collect();
        let general = this.add_set(&spec.general, every.len());
        this.add_ports(&spec.general, &every, [general; 2]);
        let mut own_ports = [(0, 0); 1 << 3];
        for pipe in OWN_ORDER {
            let set = own_set(spec, pipe);
            let own = this.add_set(set, 1);
            this.add_ports(set, &[pipe], [own, general]);
            if let Some(own) = own {
                own_ports[pipe as usize] = (own, set.in_ports as u8);
            }
        }
        this.own_ports = general.is_none().then_some(own_ports);
        let collectors = this.collectors.len();
        this.reads = WaitingReads::new(collectors);
        this.square = spec.banks.max(collectors as u32);
        this
    }

    /// Adds the collectors of a set, which serves so many pipes, with their dispatchers. `None` for
    /// an empty set.
    fn add_set(&mut self, set: &CollectorSet, pipes: usize) -> Option<u8> {
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
        let first = self.collectors.len();
        let from = self.dispatchers.len();
        // More than there are collectors would find none.
        let ports = set.out_ports.clamp(1, set.units);
        let new = Set {
            first: first as u16,
            units: set.units as u8,
            part: (set.units / subs) as u8,
            dispatchers: (from as u16, ports as u8),
            mixed: subs > 1 || pipes > 1,
            taken: 0,
            ready: 0,
            first_part: !0 >> (64 - set.units / subs),
        };
        // One that has sent nothing takes collector 0 for the last.
        self.dispatchers.resize(from + ports as usize, new.after(0));
        self.sets[index] = new;
        let blank = |place| Collector {
            set: index as u8,
            place,
            ..Collector::default()
        };
        self.collectors.extend((0..set.units as u8).map(blank));
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

    /// Nothing in collectors and input registers, or nothing that can move: `step` would do
    /// nothing.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() || self.is_settled()
    }

    /// Nothing in collectors and input registers.
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
        self.output.occupied() & !stays == 0 && self.is_at_rest()
    }

    /// The last step moved nothing, no operand waits for its bank, and no register before or behind
    /// has changed since: the next step will move nothing either.
    #[inline]
    fn is_settled(&self) -> bool {
        self.settled && !self.input.has_changed() && !self.output.has_changed()
    }

    #[inline]
    fn can_leave(&self, set: &Set, i: u32) -> bool {
        let c = &self.collectors[usize::from(set.first) + i as usize];
        self.output.full(c.issued.sub()) >> c.pipe & 1 == 0
    }

    /// The lowest of some collectors of a set whose instruction finds a place behind it.
    fn first_to_leave(&self, set: &Set, collectors: u64) -> Option<u32> {
        bits(collectors).find(|i| self.can_leave(set, *i))
    }

    /// One step, the `nth` of the SM, of instructions in `flights`. `registers` tells of one that
    /// enters which registers it reads, as bank numbers before hashing.
    pub fn step<'a>(
        &mut self,
        nth: u64,
        flights: &FlightPool,
        registers: impl Fn(&Flight) -> &'a [u16],
    ) -> BankReads {
        let mut reads = BankReads::default();
        if self.is_at_rest() {
            self.end_writes();
            return reads;
        }
        let waited = self.reads.banks() != 0;
        self.input.note_unchanged();
        self.output.note_unchanged();
        if self.ready != 0 {
            self.send_ready();
        }
        if waited {
            reads = self.read_banks(nth);
        }
        if self.input.occupied() != 0 {
            self.take_in(flights, &registers);
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

    /// Each dispatcher sends on one ready collector of its set: round robin, from the one after
    /// the last sent; among sub-cores, from the first of the next sub-core (4.2's `find_ready`).
    fn send_ready(&mut self) {
        let mut sets = self.ready;
        while sets != 0 {
            let set = sets.trailing_zeros() as usize;
            sets &= sets - 1;
            let (first, ports) = self.sets[set % SETS].dispatchers;
            for dispatcher in (usize::from(first)..).take(ports.into()) {
                let chosen = self.choose(&self.sets[set % SETS], self.dispatchers[dispatcher]);
                // Where one finds none that can leave, the set's others find none either.
                let Some(i) = chosen else { break };
                self.dispatchers[dispatcher] = self.sets[set % SETS].after(i);
                self.send(set, i);
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
        let set = &mut self.sets[number % SETS];
        let c = &mut self.collectors[usize::from(set.first) + i as usize];
        self.output.push(usize::from(c.pipe), c.issued);
        set.ready &= !(1 << i);
        set.taken &= !(1 << i);
        self.busy -= 1;
        self.ready &= !(u8::from(set.ready == 0) << number);
    }

    /// Every bank serves its oldest read, in 3.2.2 those of [`granted`].
    #[inline]
    fn read_banks(&mut self, nth: u64) -> BankReads {
        let served = match self.style {
            ModelStyle::V4 if self.reads.are_free_of(self.written) => self.read_all(),
            ModelStyle::V4 => self.read_some(|_, banks| banks),
            ModelStyle::V3 => {
                let square = self.square;
                let first = remainder(nth, square.into()) as u32;
                self.read_some(|c, banks| granted(banks, c.into(), first, square))
            }
        };
        BankReads {
            served,
            waited: self.reads.count(),
        }
    }

    /// Every collector receives what it waits for.
    #[inline]
    fn read_all(&mut self) -> u64 {
        for (number, set) in self.sets[..self.used].iter_mut().enumerate() {
            set.ready = set.taken;
            self.ready |= u8::from(set.ready != 0) << number;
        }
        self.reads.serve_all()
    }

    /// Banks that are not written serve their first read to the collectors that it is `granted`.
    #[inline(never)]
    fn read_some(&mut self, granted: impl Fn(u16, u64) -> u64) -> u64 {
        let Self {
            reads,
            collectors,
            sets,
            ready,
            ..
        } = self;
        reads.serve(collectors, !self.written, granted, |c, has_all| {
            sets[usize::from(c.set) % SETS].ready |= u64::from(has_all) << c.place;
            *ready |= u8::from(has_all) << c.set;
        })
    }

    /// Collector `i` of a set has all its operands, or not yet.
    #[inline]
    fn note_ready(&mut self, set: usize, i: u32, has_all: bool) {
        self.sets[set % SETS].ready |= u64::from(has_all) << i;
        self.ready |= u8::from(has_all) << set;
    }

    #[inline]
    fn take_in<'a>(&mut self, flights: &FlightPool, registers: &impl Fn(&Flight) -> &'a [u16]) {
        let Some(own_ports) = &self.own_ports else {
            return self.take_in_by_port(flights, registers);
        };
        let own_ports = *own_ports;
        let mut pipes = self.input.occupied();
        while pipes != 0 {
            let pipe = usize::from(OWN_FIRST[usize::from(pipes) % OWN_FIRST.len()]);
            pipes &= !(1 << pipe);
            let (set, ports) = own_ports[pipe % own_ports.len()];
            self.take_own(pipe, set.into(), ports, flights, registers);
        }
    }

    /// Takes the first issued of a pipe into its own set, one through each port, as long as there
    /// is one and a collector is free.
    #[inline(never)]
    fn take_own<'a>(
        &mut self,
        pipe: usize,
        set: usize,
        ports: u8,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        for _ in 0..ports {
            let Some(issued) = self.input.oldest(pipe) else {
                return;
            };
            let Some(i) = self.free_place(set, issued) else {
                return;
            };
            self.enter((set, i), pipe, issued, flights, registers);
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
        self.note_ready(set, i, flight.banks == 0);
        let s = &mut self.sets[set % SETS];
        s.taken |= 1 << i;
        let index = usize::from(s.first) + i as usize;
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
            if self.input.occupied() == 0 {
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
