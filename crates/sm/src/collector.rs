//! Operand collectors and register-file banks (model page, section 3.5).
//!
//! An issued instruction waits in the input register of its pipe, takes a free collector, reads
//! its source registers one bank access a cycle each, and leaves for the pipe's output register.
//! Step order within a cycle: send on ready collectors, read banks, take in new instructions; so
//! an instruction with sources passes in three cycles, one without in two.

use crate::flight::FlightId;
use crate::image::Pipe;
use warploom_base::FixedQueue;
use warploom_config::{CollectorSet, CollectorSpec, ModelStyle, UnitSpec};

/// Register between two stages: as many instructions as its width.
pub type StageRegister = FixedQueue<FlightId>;

#[derive(Clone, Copy, Debug, Default)]
struct Collector {
    flight: Option<FlightId>,
    pipe: u8,
    /// Operands not yet read.
    missing: u8,
}

#[derive(Clone, Debug)]
struct Set {
    pipes: Vec<Pipe>,
    first: usize,
    units: u32,
    in_ports: u32,
    out_ports: u32,
    /// Bit i: collector `first + i` is free.
    free: u64,
    /// Bit i: collector `first + i` has all operands.
    ready: u64,
    /// Collector after which the next search for a ready one starts.
    last_sent: u32,
}

/// Collectors, banks, and the registers on both sides.
#[derive(Clone, Debug)]
pub struct Collectors {
    /// From issue, by pipe (ID_OC).
    pub input: [StageRegister; Pipe::COUNT],
    /// To the units, by pipe (OC_EX).
    pub output: [StageRegister; Pipe::COUNT],
    sets: Vec<Set>,
    collectors: Vec<Collector>,
    banks: u32,
    /// Per bank: collectors that wait to read it, oldest first.
    queues: Vec<FixedQueue<u16>>,
    /// Bit per bank with a waiting read.
    waiting: u64,
    /// Bit per bank written in this cycle.
    written: u64,
    /// Bank at which the search starts, moved on each cycle.
    first_bank: u32,
    /// 3.x: a collector receives at most one operand per cycle.
    one_per_collector: bool,
    busy: u32,
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
    pub fn new(spec: &CollectorSpec, widths: [&UnitSpec; Pipe::COUNT], style: ModelStyle) -> Self {
        let register = |width: u32| FixedQueue::new(width.max(1) as usize);
        let mut this = Self {
            input: widths.map(|w| register(w.issue_width)),
            output: widths.map(|w| register(w.dispatch_width)),
            sets: Vec::new(),
            collectors: Vec::new(),
            banks: spec.banks,
            queues: Vec::new(),
            waiting: 0,
            written: 0,
            first_bank: 0,
            one_per_collector: style == ModelStyle::V3,
            busy: 0,
        };
        let own = [
            (&spec.sp, Pipe::Sp),
            (&spec.dp, Pipe::Dp),
            (&spec.int, Pipe::Int),
            (&spec.sfu, Pipe::Sfu),
            (&spec.tensor, Pipe::Tensor),
            (&spec.mem, Pipe::Mem),
        ];
        for (set, pipe) in own {
            this.add_set(set, vec![pipe]);
        }
        this.add_set(&spec.general, Pipe::ALL.to_vec());
        let reads = this.collectors.len() * 16;
        this.queues = vec![FixedQueue::new(reads.max(1)); spec.banks as usize];
        this
    }

    fn add_set(&mut self, set: &CollectorSet, pipes: Vec<Pipe>) {
        if set.units == 0 {
            return;
        }
        assert!(set.units <= 64, "a set holds at most 64 collectors");
        self.sets.push(Set {
            pipes,
            first: self.collectors.len(),
            units: set.units,
            in_ports: set.in_ports.max(1),
            out_ports: set.out_ports.max(1),
            free: !0 >> (64 - set.units),
            ready: 0,
            last_sent: set.units - 1,
        });
        self.collectors.resize(
            self.collectors.len() + set.units as usize,
            Collector::default(),
        );
    }

    /// Bank of a register of a warp.
    #[inline]
    fn bank(&self, register: u16, warp: u16) -> u32 {
        (u32::from(register) + u32::from(warp)) % self.banks
    }

    /// Marks the banks of results written in this cycle: they serve no reads.
    #[inline]
    pub fn write(&mut self, registers: &[u16], warp: u16) {
        for &register in registers {
            self.written |= 1 << self.bank(register, warp);
        }
    }

    /// Writes if all banks are idle in this cycle; the load/store unit retries otherwise.
    #[inline]
    pub fn try_write(&mut self, registers: &[u16], warp: u16) -> bool {
        let banks = registers
            .iter()
            .fold(0, |m, &r| m | 1 << self.bank(r, warp));
        let idle = self.written & banks == 0;
        if idle {
            self.written |= banks;
        }
        idle
    }

    /// Nothing in collectors and input registers, so that `step` would do nothing.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.busy == 0 && self.input.iter().all(FixedQueue::is_empty)
    }

    /// `step` would move nothing, and will not before an output register is emptied: collectors
    /// hold instructions that have all operands and nowhere to go. `memory_full` says that the
    /// load/store unit takes nothing; every other output register must be empty, for units free
    /// themselves by time.
    pub fn is_stalled(&self, memory_full: bool) -> bool {
        let mem = Pipe::Mem as usize;
        let outputs = self.output.iter().enumerate();
        let drained = outputs
            .clone()
            .all(|(p, o)| o.is_empty() || (p == mem && memory_full));
        drained && self.waiting == 0 && self.sets.iter().all(|set| self.set_is_stalled(set))
    }

    fn set_is_stalled(&self, set: &Set) -> bool {
        let occupied = !set.free & (!0 >> (64 - set.units));
        let stuck = bits(occupied).all(|i| {
            let pipe = self.collectors[set.first + i as usize].pipe;
            set.ready >> i & 1 != 0 && self.output[pipe as usize].is_full()
        });
        let nothing_enters =
            set.free == 0 || set.pipes.iter().all(|p| self.input[*p as usize].is_empty());
        stuck && nothing_enters
    }

    /// Accounts for `cycles` cycles that were not stepped because `is_stalled`.
    pub fn skip(&mut self, cycles: u64, steps_per_cycle: u32) {
        if self.busy > 0 {
            let steps = cycles * u64::from(steps_per_cycle) % u64::from(self.banks);
            self.first_bank = (self.first_bank + steps as u32) % self.banks;
        }
    }

    /// One cycle. `sources` tells what an entering instruction reads.
    pub fn step<'a>(&mut self, sources: impl Fn(FlightId) -> (Pipe, Sources<'a>)) -> BankReads {
        let mut reads = BankReads::default();
        if self.busy > 0 {
            self.send_ready();
            reads = self.read_banks();
        }
        self.take_in(sources);
        self.end_writes();
        reads
    }

    /// Ends the cycle for the banks: they may be written again. `step` does so itself.
    #[inline]
    pub fn end_writes(&mut self) {
        self.written = 0;
    }

    fn send_ready(&mut self) {
        for set in &mut self.sets {
            for _ in 0..set.out_ports {
                if set.ready == 0 {
                    break;
                }
                // Round robin over the set, first the ready ones after the last sent.
                let after = set.ready & (!0u64 << set.last_sent << 1);
                let order = [after, set.ready & !after];
                let sendable = order.into_iter().flat_map(bits).find(|&i| {
                    let c = &self.collectors[set.first + i as usize];
                    !self.output[c.pipe as usize].is_full()
                });
                let Some(i) = sendable else { break };
                let c = &mut self.collectors[set.first + i as usize];
                if let Some(flight) = c.flight.take() {
                    self.output[c.pipe as usize].push(flight);
                }
                set.ready &= !(1 << i);
                set.free |= 1 << i;
                set.last_sent = i;
                self.busy -= 1;
            }
        }
    }

    fn read_banks(&mut self) -> BankReads {
        let mut reads = BankReads::default();
        let open = self.waiting & !self.written;
        let rotated = [
            open & (!0 << self.first_bank),
            open & !(!0 << self.first_bank),
        ];
        let mut served: u128 = 0;
        for bank in rotated.into_iter().flat_map(bits) {
            let queue = &mut self.queues[bank as usize];
            let Some(&collector) = queue.front() else {
                continue;
            };
            if self.one_per_collector && served >> collector & 1 != 0 {
                continue;
            }
            queue.pop();
            if queue.is_empty() {
                self.waiting &= !(1 << bank);
            }
            served |= 1 << collector;
            reads.served += 1;
            self.operand_arrived(collector);
        }
        self.first_bank = (self.first_bank + 1) % self.banks;
        reads.waited = bits(self.waiting)
            .map(|bank| self.queues[bank as usize].len() as u64)
            .sum();
        reads
    }

    fn operand_arrived(&mut self, collector: u16) {
        let index = usize::from(collector);
        self.collectors[index].missing -= 1;
        if self.collectors[index].missing == 0 {
            self.mark_ready(index);
        }
    }

    fn mark_ready(&mut self, index: usize) {
        for set in &mut self.sets {
            if (set.first..set.first + set.units as usize).contains(&index) {
                set.ready |= 1 << (index - set.first);
            }
        }
    }

    fn take_in<'a>(&mut self, sources: impl Fn(FlightId) -> (Pipe, Sources<'a>)) {
        for s in 0..self.sets.len() {
            for _ in 0..self.sets[s].in_ports {
                if self.sets[s].free == 0 {
                    break;
                }
                let input = &mut self.input;
                let from = self.sets[s]
                    .pipes
                    .iter()
                    .find(|p| !input[**p as usize].is_empty());
                let Some(flight) = from.and_then(|p| input[*p as usize].pop()) else {
                    break;
                };
                let (pipe, sources) = sources(flight);
                self.occupy(s, flight, pipe, &sources);
            }
        }
    }

    fn occupy(&mut self, set: usize, flight: FlightId, pipe: Pipe, sources: &Sources<'_>) {
        let set = &mut self.sets[set];
        let i = set.free.trailing_zeros();
        set.free &= !(1 << i);
        self.busy += 1;
        let index = set.first + i as usize;
        let missing = sources.registers.len() as u8;
        self.collectors[index] = Collector {
            flight: Some(flight),
            pipe: pipe as u8,
            missing,
        };
        if missing == 0 {
            set.ready |= 1 << i;
        }
        for &register in sources.registers {
            let bank = self.bank(register, sources.warp);
            self.queues[bank as usize].push(index as u16);
            self.waiting |= 1 << bank;
        }
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
mod tests {
    use super::*;

    const NONE: CollectorSet = CollectorSet {
        units: 0,
        in_ports: 0,
        out_ports: 0,
    };
    const WIDTH: UnitSpec = UnitSpec {
        count: 1,
        issue_width: 2,
        dispatch_width: 2,
    };

    fn collectors(units: u32, ports: u32, style: ModelStyle) -> Collectors {
        let spec = CollectorSpec {
            banks: 4,
            steps_per_cycle: 1,
            sp: CollectorSet {
                units,
                in_ports: ports,
                out_ports: ports,
            },
            dp: NONE,
            int: NONE,
            sfu: NONE,
            tensor: NONE,
            mem: NONE,
            general: NONE,
        };
        Collectors::new(&spec, [&WIDTH; Pipe::COUNT], style)
    }

    /// Steps until `count` instructions came out; the step after which each did, from 1.
    fn arrivals(c: &mut Collectors, sources: &[&'static [u16]]) -> Vec<usize> {
        for i in 0..sources.len() {
            c.input[0].push(FlightId(i as u16));
        }
        let mut out = Vec::new();
        for step in 1..50 {
            c.step(|f| {
                (
                    Pipe::Sp,
                    Sources {
                        registers: sources[f.0 as usize],
                        warp: 0,
                    },
                )
            });
            while c.output[0].pop().is_some() {
                out.push(step);
            }
        }
        assert!(c.is_idle());
        out
    }

    #[test]
    fn sources_take_one_step_more_than_none() {
        assert_eq!(arrivals(&mut collectors(1, 1, ModelStyle::V3), &[&[]]), [2]);
        assert_eq!(
            arrivals(&mut collectors(1, 1, ModelStyle::V3), &[&[1]]),
            [3]
        );
    }

    #[test]
    fn a_collector_receives_one_operand_a_cycle_in_3_and_several_in_4() {
        assert_eq!(
            arrivals(&mut collectors(1, 1, ModelStyle::V3), &[&[0, 1, 2]]),
            [5]
        );
        assert_eq!(
            arrivals(&mut collectors(1, 1, ModelStyle::V4), &[&[0, 1, 2]]),
            [3]
        );
    }

    #[test]
    fn one_bank_serves_one_read_a_cycle() {
        // Registers 0, 4 and 8 share bank 0.
        assert_eq!(
            arrivals(&mut collectors(1, 1, ModelStyle::V4), &[&[0, 4, 8]]),
            [5]
        );
        // Two instructions on one bank: the second waits a cycle.
        assert_eq!(
            arrivals(&mut collectors(2, 2, ModelStyle::V4), &[&[0], &[4]]),
            [3, 4]
        );
    }

    #[test]
    fn writes_block_reads_of_their_bank() {
        let mut c = collectors(1, 1, ModelStyle::V4);
        let source = |_| {
            (
                Pipe::Sp,
                Sources {
                    registers: &[3],
                    warp: 0,
                },
            )
        };
        c.input[0].push(FlightId(0));
        c.step(source);
        c.write(&[3], 0);
        assert!(!c.try_write(&[7], 0), "the same bank");
        assert!(c.try_write(&[6], 0), "another bank");
        let reads = |served, waited| BankReads { served, waited };
        assert_eq!(c.step(source), reads(0, 1), "the read waited");
        assert_eq!(c.step(source), reads(1, 0));
        assert!(c.output[0].is_empty());
        c.step(source);
        assert!(!c.output[0].is_empty());
    }

    #[test]
    fn ports_limit_what_enters_and_leaves() {
        assert_eq!(
            arrivals(&mut collectors(2, 1, ModelStyle::V4), &[&[0], &[1]]),
            [3, 4]
        );
        assert_eq!(
            arrivals(&mut collectors(2, 2, ModelStyle::V4), &[&[0], &[1]]),
            [3, 3]
        );
    }

    #[test]
    fn the_warp_moves_registers_to_other_banks() {
        let c = collectors(1, 1, ModelStyle::V3);
        assert_eq!((c.bank(5, 0), c.bank(5, 2)), (1, 3));
    }
}
