//! Sets of collectors and their ports, as the configuration describes them.

use super::banks::{BankMap, WaitingReads};
use super::sets::{COLLECTORS, Collector, InPorts, SETS, Set, WORD, WORDS};
use super::{Collectors, ENTRY_ORDER};
use crate::prepared_kernel::Pipe;
use crate::stage::StageRegisters;
use warploom_config::{CollectorSet, CollectorSpec, ModelStyle, SmSpec, UnitSpec};

/// Order in which pipes enter sets of their own (GPGPU-Sim 4.2).
const OWN_ORDER: [Pipe; Pipe::COUNT] = [
    Pipe::Sp,
    Pipe::Dp,
    Pipe::Sfu,
    Pipe::Tensor,
    Pipe::Mem,
    Pipe::Int,
];

/// The set that serves one pipe alone.
fn own_set(spec: &CollectorSpec, pipe: Pipe) -> &CollectorSet {
    match pipe {
        Pipe::Sp | Pipe::SpOrSfu => &spec.sp,
        Pipe::Dp => &spec.dp,
        Pipe::Int => &spec.int,
        Pipe::Sfu => &spec.sfu,
        Pipe::Tensor => &spec.tensor,
        Pipe::Mem => &spec.mem,
    }
}

impl Collectors {
    /// Empty collectors and stage registers of the given shapes; `widths` has one entry for each
    /// pipe of [`Pipe::ALL`].
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
        // Further ports would find no collector.
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
        // A dispatcher that has sent nothing starts after the first collector.
        self.dispatchers[from..][..ports as usize].fill(new.after(first as u32));
        self.counts = (from + ports as usize, number + set.units as usize);
        self.sets[index] = new;
        let own = &mut self.collectors[word * WORD + first..][..set.units as usize];
        for (collector, number) in own.iter_mut().zip(number..) {
            collector.set = index as u8;
            collector.number = number as u16;
        }
        Some(index as u8)
    }

    /// Word for `units` more collectors, and the first bit of theirs in it.
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

    /// Adds the ports of a set. Instructions enter the first of `sets`, or the second if that is
    /// full.
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
}
