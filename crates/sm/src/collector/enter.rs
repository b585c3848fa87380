//! Issued instructions enter collectors.

use super::sets::{InPorts, SETS, Set, WORD, WORDS};
use super::{Collectors, ENTRY_ORDER};
use crate::flight::{Flight, FlightPool};
use crate::prepared_kernel::Pipe;
use crate::stage::Issued;
use warploom_config::ModelStyle;

/// The pipe that enters the general set first, by a mask of pipes.
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

impl Collectors {
    /// Takes the oldest instructions of each pipe into the set of the pipe, one through each port,
    /// as long as a collector is free.
    #[inline(always)]
    pub(super) fn take_own<'a, const PLAIN: bool>(
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

    /// The oldest instruction of a pipe enters a free collector of a set.
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

    /// Adds the reads of an instruction for which a bank holds several registers.
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

    /// Takes instructions through the ports, in their order.
    #[inline(never)]
    pub(super) fn take_in_by_port<'a>(
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
                // If one port takes nothing, the next, which is equal, takes nothing either.
                if !self.take_through(ports, flights, registers) {
                    break;
                }
            }
        }
    }

    /// Takes instructions through one of some equal ports. Returns whether any entered.
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

    /// Takes the oldest instruction of a pipe into one of two sets, if a collector is free. Out of
    /// line, because the compiler would load in each step what few steps need.
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

    /// Set and collector that an instruction takes.
    #[inline]
    fn place_for(&self, sets: [u8; 2], issued: Issued) -> Option<(usize, u32)> {
        sets.into_iter().find_map(|set| {
            let place = self.free_place::<false>(set.into(), issued)?;
            Some((usize::from(set), place))
        })
    }

    /// Bit of the collector of a set that an instruction takes.
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
