//! Function units take instructions from the collectors, and their results go to the registers
//! (docs/model/sm.md, Execution units).

use crate::prepared_kernel::Pipe;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use crate::stage::Issued;
use crate::units::UnitMask;
use warploom_base::Cycle;

impl Sm {
    /// Write-back of the function units.
    #[inline(always)]
    pub(crate) fn finish_flights(&mut self, now: Cycle) {
        if !self.units.has_finished(now) {
            return;
        }
        self.at_rest = false;
        for place in self.units.take_finished(now) {
            let id = self.units.at(place, now);
            let flight = &self.flights[id.0];
            let prepared = prepared_kernel(&self.kernels, flight.kernel);
            let inst = prepared.at(flight.pc);
            let slot = flight.warp.index();
            self.collectors.write(inst, prepared, flight.warp.0);
            if let Some(group) = flight.product {
                self.warps.copies[slot].products.arrived(group);
            }
            self.warps.finished(slot, inst, prepared);
            self.release_fence(slot);
            self.flights.give(id.0);
        }
    }

    /// Function units take instructions from the collectors.
    #[inline]
    pub(crate) fn feed_units(&mut self, now: Cycle) {
        let mut pipes = self.collectors.output.occupied() & !(1 << Pipe::Mem as u8);
        while pipes != 0 {
            let pipe = pipes.trailing_zeros() as usize;
            pipes &= pipes - 1;
            if self.sub_cores {
                self.feed_own(pipe, now);
            } else {
                self.feed(pipe, now);
            }
        }
    }

    /// Each unit of a pipe takes the instruction of its sub-core.
    #[inline(never)]
    fn feed_own(&mut self, pipe: usize, now: Cycle) {
        let mut units = self.units.free(pipe, now);
        while units != 0 {
            let unit = units.trailing_zeros();
            units &= units - 1;
            let own = self.collectors.output.for_unit(pipe, unit as u8);
            if let Some(issued) = own {
                self.feed_first(pipe, 1 << unit, issued, now);
            }
        }
    }

    /// Units of a pipe, in order, take the instruction that was issued first.
    #[inline]
    fn feed(&mut self, pipe: usize, now: Cycle) {
        let mut units = self.units.free(pipe, now);
        while let Some(issued) = self.collectors.output.oldest(pipe)
            && let Some(unit) = self.feed_first(pipe, units, issued, now)
        {
            units &= !1 << unit;
        }
    }

    /// Gives an instruction to the first of some units that can take it.
    #[inline(always)]
    fn feed_first(
        &mut self,
        pipe: usize,
        units: UnitMask,
        issued: Issued,
        now: Cycle,
    ) -> Option<u32> {
        let id = issued.flight();
        let flight = &self.flights[id.0];
        let (latency, interval) = (u32::from(flight.latency), u32::from(flight.interval));
        let accepting = self.units.accepting(pipe, units, now, latency);
        if accepting == 0 {
            return None;
        }
        let unit = accepting.trailing_zeros();
        self.collectors.output.take(pipe, issued);
        self.units
            .accept((pipe, unit), now, (latency, interval), id);
        Some(unit)
    }
}
