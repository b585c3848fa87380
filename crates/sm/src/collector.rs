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

use crate::flight::{Flight, FlightPool};
use crate::prepared_kernel::{Pipe, PreparedKernel, TimedInst};
use crate::stage::{Issued, StageRegisters};
use banks::{BankMap, WaitingReads};
use std::hint::cold_path;
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
    /// Its number among those of all sets.
    number: u16,
}

/// Most sets: one a pipe, and the general one. A power of two, so that an index modulo it costs no
/// check.
const SETS: usize = 8;

/// Words with a bit for each collector: sets lie side by side where they fit into one.
const WORDS: usize = SETS;

const WORD: usize = u64::BITS as usize;

/// Most collectors, and most dispatchers: a power of two again.
const COLLECTORS: usize = WORDS * WORD;

#[derive(Clone, Copy, Debug, Default)]
struct Set {
    /// Bit per collector in their word.
    mask: u64,
    /// Those of the first sub-core.
    first_part: u64,
    /// The word, and the place of the first in it.
    word: u8,
    first: u8,
    /// Its collectors; none where it is not in use.
    units: u8,
    /// Collectors of a sub-core; all where the SM is not split.
    part: u8,
    /// Its dispatchers: the first, and how many.
    dispatchers: (u16, u8),
    /// Its instructions go to several registers, or to places of several sub-cores: where one
    /// cannot leave, another may.
    mixed: bool,
    /// Its pipe, of a set of one.
    pipe: u8,
    /// Where there is no general set: how many instructions of that pipe enter in a step.
    in_ports: u8,
}

impl Set {
    /// The collectors that a dispatcher looks at first when it has sent the one at place `last` of
    /// their word: those behind it, or those from the next sub-core on.
    #[inline]
    fn behind(&self, last: u32) -> u64 {
        if self.part == self.units {
            !1 << last
        } else {
            let part = u32::from(self.part);
            !1 << (last - (last - u32::from(self.first)) % part + part - 1)
        }
    }

    /// The collectors that an instruction of sub-core `sub` may take.
    #[inline]
    fn own(&self, sub: u8) -> u64 {
        self.first_part << (u32::from(sub) * u32::from(self.part))
    }

    /// Number of the collector at a place of their word.
    #[inline]
    fn at(&self, place: u32) -> usize {
        (usize::from(self.word) * WORD + place as usize) % COLLECTORS
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
    /// How many words their collectors take.
    words: usize,
    /// Bit per collector that holds an instruction.
    taken: [u64; WORDS],
    /// Bit per collector whose instruction has all operands.
    ready: [u64; WORDS],
    /// By pipes, a bit each: the sets of these alone. None where there is a general set.
    own_sets: [u8; 1 << Pipe::COUNT],
    in_ports: Vec<InPorts>,
    /// There is a general set: instructions enter through `in_ports`, not set by set.
    general: bool,
    /// Every set is one pipe's, all registers are narrow, and all collectors fit into a word.
    plain: bool,
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
            words: 0,
            taken: [0; WORDS],
            ready: [0; WORDS],
            own_sets: [0; _],
            in_ports: Vec::new(),
            general: false,
            plain: false,
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
                for (pipes, sets) in this.own_sets.iter_mut().enumerate() {
                    *sets |= ((pipes >> pipe as usize & 1) as u8) << own;
                }
            }
        }
        let mixed = this.sets.iter().any(|set| set.mixed);
        let narrow = this.input.is_narrow() && this.output.is_narrow();
        this.plain = !mixed && narrow && this.words == 1;
        let (_, collectors) = this.counts;
        this.reads = WaitingReads::new(this.words * WORD);
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
        let (from, number) = self.counts;
        let (word, first) = self.room_for(set.units);
        // More than there are collectors would find none.
        let ports = set.out_ports.clamp(1, set.units);
        let new = Set {
            mask: !0 >> (64 - set.units) << first,
            first_part: !0 >> (64 - set.units / subs) << first,
            word: word as u8,
            first: first as u8,
            units: set.units as u8,
            part: (set.units / subs) as u8,
            dispatchers: (from as u16, ports as u8),
            mixed: subs > 1 || pipe.is_none(),
            pipe: pipe.map_or(0, |pipe| pipe as u8),
            in_ports: 0,
        };
        // One that has sent nothing takes the first collector for the last.
        self.dispatchers[from..][..ports as usize].fill(new.behind(first as u32));
        self.counts = (from + ports as usize, number + set.units as usize);
        self.sets[index] = new;
        let own = &mut self.collectors[word * WORD + first..][..set.units as usize];
        for (collector, number) in own.iter_mut().zip(number..) {
            collector.set = index as u8;
            collector.number = number as u16;
        }
        Some(index as u8)
    }

    /// The word for so many more collectors, and their first place in it.
    fn room_for(&mut self, units: u32) -> (usize, usize) {
        let last = self.used.checked_sub(2).map(|set| self.sets[set]);
        let (word, first) = last.map_or((0, 0), |set| {
            (usize::from(set.word), usize::from(set.first + set.units))
        });
        let (word, first) = if first + units as usize > WORD {
            (word + 1, 0)
        } else {
            (word, first)
        };
        self.words = word + 1;
        (word, first)
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
    pub fn write(&mut self, inst: &TimedInst, kernel: &PreparedKernel, warp: u16) {
        if inst.writes_several {
            cold_path();
            self.try_write(kernel.list(&inst.bank_writes), warp);
        } else {
            self.written |= self.banks.of_warp(inst.written_bank, warp);
        }
    }

    /// Writes registers of a load, so many of which are `written`, as far as their banks are idle
    /// in this cycle. Whether these were all: then none is written of the next.
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

    /// Writes registers from the first on, as far as their banks are idle in this cycle; how many
    /// were written.
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

    /// The same; `PLAIN`: of collectors that are known to be.
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

    /// Ends the cycle for the banks: they may be written again. `step` does so itself.
    #[inline]
    pub fn end_writes(&mut self) {
        self.written = 0;
    }

    /// Sends on what is ready.
    #[inline(always)]
    fn send_on<const PLAIN: bool>(&mut self) {
        if PLAIN {
            let mut ready = self.ready[0];
            while ready != 0 {
                let set = self.collectors[ready.trailing_zeros() as usize].set;
                ready &= !self.sets[usize::from(set) % SETS].mask;
                self.send_own::<PLAIN>(set.into());
            }
            return;
        }
        for set in 0..self.used {
            let Set {
                mask, word, mixed, ..
            } = self.sets[set % SETS];
            if self.ready[usize::from(word) % WORDS] & mask == 0 {
                continue;
            }
            if mixed {
                self.send_mixed(set);
            } else {
                self.send_own::<PLAIN>(set);
            }
        }
    }

    /// Each dispatcher of a set of one pipe sends on one ready collector: round robin, from the one
    /// after the last sent.
    #[inline(always)]
    fn send_own<const PLAIN: bool>(&mut self, set: usize) {
        let set = &self.sets[set % SETS];
        let word = if PLAIN {
            0
        } else {
            usize::from(set.word) % WORDS
        };
        let pipe = usize::from(set.pipe);
        let (from, ports) = set.dispatchers;
        let mut ready = self.ready[word] & set.mask;
        for dispatcher in (usize::from(from)..).take(ports.into()) {
            if ready == 0 || self.output.has_no_room(pipe) {
                break;
            }
            let behind = &mut self.dispatchers[dispatcher % COLLECTORS];
            let after = ready & *behind;
            let place = if after != 0 { after } else { ready }.trailing_zeros();
            let index = if PLAIN {
                place as usize % WORD
            } else {
                set.at(place)
            };
            let issued = self.collectors[index].issued;
            if PLAIN {
                self.output.push_narrow(pipe, issued);
            } else {
                self.output.push(pipe, issued);
            }
            *behind = !1 << place;
            let left = !(1 << place);
            ready &= left;
            self.ready[word] &= left;
            self.taken[word] &= left;
            self.busy -= 1;
        }
    }

    /// The same of a set of several pipes or sub-cores: among these, from the first of the next
    /// sub-core (4.2's `find_ready`), and where one cannot leave, the next one may.
    #[inline(never)]
    fn send_mixed(&mut self, set: usize) {
        let set = &self.sets[set % SETS];
        let word = usize::from(set.word) % WORDS;
        let (from, ports) = set.dispatchers;
        for behind in &mut self.dispatchers[usize::from(from)..][..usize::from(ports)] {
            let can_leave = |place: &u32| {
                let c = &self.collectors[set.at(*place)];
                !self.output.is_full(c.pipe.into(), c.issued.sub())
            };
            let ready = self.ready[word] & set.mask;
            let after = ready & *behind;
            let mut in_turn = bits(after).chain(bits(ready & !after));
            // Where one finds none that can leave, the set's others find none either.
            let Some(place) = in_turn.find(can_leave) else {
                break;
            };
            let c = &self.collectors[set.at(place)];
            self.output.push(c.pipe.into(), c.issued);
            *behind = set.behind(place);
            self.ready[word] &= !(1 << place);
            self.taken[word] &= !(1 << place);
            self.busy -= 1;
        }
    }

    /// Every bank serves its oldest read, in 3.2.2 those of [`granted`]: behind what is sent on, so
    /// that a collector whose last operand comes now is sent on from the next step on.
    #[inline(always)]
    fn read_banks<const PLAIN: bool>(&mut self, nth: u64) -> BankReads {
        let all_arrive = self.style == ModelStyle::V4 && self.reads.are_free_of(self.written);
        let served = if all_arrive {
            let words = if PLAIN { 1 } else { self.words };
            self.ready[..words].copy_from_slice(&self.taken[..words]);
            self.reads.serve_all()
        } else {
            self.read_some(nth)
        };
        let waited = self.reads.count();
        BankReads { served, waited }
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
        let (collectors, ready) = (&mut self.collectors, &mut self.ready);
        self.reads
            .serve(collectors, !self.written, granted, |index, has_all| {
                ready[index / WORD % WORDS] |= u64::from(has_all) << (index % WORD);
            })
    }

    /// Takes the first issued of each pipe into its set, one through each port, as long as there is
    /// one and a collector is free.
    #[inline(always)]
    fn take_own<'a, const PLAIN: bool>(
        &mut self,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        let pipes = usize::from(self.input.occupied());
        let mut sets = self.own_sets[pipes % self.own_sets.len()];
        while sets != 0 {
            let set = sets.trailing_zeros() as usize;
            sets &= sets - 1;
            let Set { pipe, in_ports, .. } = self.sets[set % SETS];
            for _ in 0..in_ports {
                let Some(issued) = self.input.oldest(pipe.into()) else {
                    break;
                };
                let Some(place) = self.free_place::<PLAIN>(set, issued) else {
                    break;
                };
                self.enter::<PLAIN>((set, place), pipe.into(), issued, flights, registers);
            }
        }
    }

    /// The first issued of a pipe enters a free collector of a set.
    #[inline(always)]
    fn enter<'a, const PLAIN: bool>(
        &mut self,
        (set, place): (usize, u32),
        pipe: usize,
        issued: Issued,
        flights: &FlightPool,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        if PLAIN {
            self.input.take_narrow(pipe, issued);
        } else {
            self.input.take(pipe, issued);
        }
        let index = if PLAIN {
            place as usize % WORD
        } else {
            self.sets[set % SETS].at(place)
        };
        let flight = &flights[issued.flight().0];
        self.busy += 1;
        self.taken[index / WORD] |= 1 << place;
        self.ready[index / WORD] |= u64::from(flight.banks == 0) << place;
        let collector = &mut self.collectors[index];
        collector.issued = issued;
        collector.pipe = pipe as u8;
        collector.wants = flight.banks;
        self.reads.add(index, flight.banks, flight.reads);
        if flight.shares_banks {
            self.add_further(index, flight, registers);
        }
    }

    /// A bank holds several registers of an instruction that entered.
    #[cold]
    #[inline(never)]
    fn add_further<'a>(
        &mut self,
        collector: usize,
        flight: &Flight,
        registers: &impl Fn(&Flight) -> &'a [u16],
    ) {
        let bank = |register: &u16| self.banks.bank(*register, flight.warp.0);
        let banks = registers(flight).iter().map(bank);
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
            self.enter::<false>((set, i), pipe, issued, flights, registers);
        }
        place.is_some()
    }

    /// The set and collector that an instruction takes.
    #[inline]
    fn place_for(&self, sets: [u8; 2], issued: Issued) -> Option<(usize, u32)> {
        sets.into_iter().find_map(|set| {
            let place = self.free_place::<false>(set.into(), issued)?;
            Some((usize::from(set), place))
        })
    }

    /// The place of the collector of a set that an instruction takes.
    #[inline(always)]
    fn free_place<const PLAIN: bool>(&self, set: usize, issued: Issued) -> Option<u32> {
        let set = &self.sets[set % SETS];
        let free = if PLAIN {
            !self.taken[0] & set.mask
        } else {
            !self.taken[usize::from(set.word) % WORDS] & set.own(issued.sub())
        };
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
