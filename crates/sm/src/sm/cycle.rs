//! A cycle of an SM. The last pipeline stage runs first.

use super::Sm;
use crate::prepared_kernel::{Pipe, prepared_kernel};
use warploom_base::Cycle;
use warploom_config::ModelStyle;
use warploom_exec::DeviceMemory;
use warploom_mem::AccessKind;
use warploom_stats::log2_bin;

/// Part of a cycle that has been done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    Nothing,
    /// Blocks and replies have come, and no function unit had a result.
    Arrivals,
    /// The load/store unit has had its turn as well; function units had nothing to take.
    Memory,
    /// All stages before issue.
    Operands,
}

impl Sm {
    /// Runs one cycle of the SM.
    #[inline]
    pub(crate) fn run_cycle(&mut self, now: Cycle, memory: &DeviceMemory) {
        let claimed = cfg!(debug_assertions).then(|| (self.sleeps_until(now), self.footprint()));
        if self.at_rest && !self.units.has_finished(now) {
            self.rest(now, memory);
        } else {
            self.work(now, memory, Done::Nothing);
        }
        if let Some((wake, before)) = claimed.filter(|(wake, _)| *wake > now) {
            let after = self.footprint();
            assert_eq!(
                before, after,
                "{} moved in cycle {now}, asleep until {wake}",
                self.id
            );
        }
    }

    /// Runs a cycle that begins at rest and in which no function unit has a result. Only the
    /// load/store unit runs, unless something ends there.
    #[inline(never)]
    fn rest(&mut self, now: Cycle, memory: &DeviceMemory) {
        self.take_arrivals(now);
        self.at_rest &= now < self.held_until;
        let mut done = Done::Arrivals;
        if self.at_rest {
            // Collectors at rest do not need the number of the step.
            debug_assert!(self.collectors.is_at_rest());
            self.load_and_store(now);
            done = Done::Memory;
        }
        if !self.at_rest {
            self.begin_counting();
            return self.work(now, memory, done);
        }
        debug_assert!(self.rests(), "{} is not at rest", self.id);
        self.collectors.end_writes();
        self.rest_for(1);
        self.send_fetch(now);
    }

    /// Counts cycles and residents before this cycle's work, which may read the counters.
    #[inline(always)]
    fn begin_counting(&mut self) {
        self.count_rested();
        self.count_residents(1);
    }

    /// Runs the stages of a cycle back to front, except for those that are `done`.
    #[inline(never)]
    pub(crate) fn work(&mut self, now: Cycle, memory: &DeviceMemory, done: Done) {
        if done == Done::Nothing {
            self.take_arrivals(now);
            self.begin_counting();
            self.finish_flights(now);
        }
        if matches!(done, Done::Nothing | Done::Arrivals) {
            self.feed_units(now);
            self.load_and_store(now);
        }
        if done != Done::Operands {
            self.feed_ldst();
            if self.style == ModelStyle::V4 {
                let steps = u64::from(self.collector_steps);
                self.read_operands(self.counters.active_cycles * steps, steps);
            }
        }
        if self.needs_settled && self.replay.records(now) && self.is_next_settled() {
            self.replay.require(now);
        }
        if self.replay.stalls_issue(now) {
            return;
        }
        let before = self.counters.warp_instructions;
        if let Err(fault) = self.issue(now, memory) {
            self.fault = Some((now, fault));
            return;
        }
        self.front_end(now);
        let issued = self.counters.warp_instructions != before;
        if self.held_until != Cycle::MAX {
            self.keep_held(now, issued);
        }
        self.wide_awake = issued || !self.skip_idle;
        if !self.wide_awake {
            self.come_to_rest();
        }
        if self.context.is_some() {
            self.switch_contexts(now);
        }
        if self.tracer.is_some() {
            self.note_activities(now);
        }
    }

    /// Takes the input of a cycle: blocks and a reply.
    #[inline(always)]
    fn take_arrivals(&mut self, now: Cycle) {
        self.start_blocks(now);
        if self.front.take_line(now) {
            self.at_rest = false;
        }
        self.take_replies(now);
    }

    pub(crate) fn count_residents(&mut self, cycles: u64) {
        if self.holds_warps() {
            self.counters.active_cycles += cycles;
            self.counters.resident_warp_cycles += cycles * u64::from(self.warps.resident);
            let waiting = u64::from(self.warps.count_at_barrier());
            self.counters.barrier_warp_cycles += cycles * waiting;
        } else {
            self.counters.inactive_slots += cycles * self.schedulers.len() as u64;
        }
    }

    /// Hands at most one reply to the part that it is for.
    #[inline(always)]
    fn take_replies(&mut self, now: Cycle) {
        let Some(reply) = self.link.front(now) else {
            return;
        };
        let taken = if reply.kind == AccessKind::InstRead {
            let free = self.front.l1i.fill_port_free(now);
            if free {
                self.front.l1i.fill(now, reply.entry, reply.bytes);
                self.at_rest = false;
            }
            free
        } else {
            let free = self.ldst.can_respond();
            if free {
                let cycles = reply.age(now);
                let back = u64::from((now as u32).wrapping_sub(reply.returned_at));
                self.ldst.respond(*reply);
                self.detail.return_cycles += back;
                self.detail.return_cycles_max.note(back);
                self.detail.returns_by_cycles[log2_bin(back)] += 1;
                self.counters.fetches += 1;
                self.counters.fetch_cycles += cycles;
                self.counters.fetch_cycles_max.note(cycles);
                self.counters.fetches_by_cycles[log2_bin(cycles)] += 1;
            }
            free
        };
        if taken {
            self.link.drop_oldest();
        }
    }

    /// Runs the load/store unit. In 3.2.2 it steps the collectors too, before it takes an
    /// instruction from them; in 4.2 they step after that.
    #[inline(always)]
    fn load_and_store(&mut self, now: Cycle) {
        if self.one_turn {
            self.ldst_cycle(now);
        } else {
            self.load_and_store_in_turns(now);
        }
        if self.tells_memory_use {
            self.tell_memory_use();
        }
    }

    #[inline(always)]
    fn load_and_store_in_turns(&mut self, now: Cycle) {
        for port in 0..self.mem_unit_ports {
            self.ldst_cycle(now);
            if self.style == ModelStyle::V3 {
                if self.collectors.is_at_rest() {
                    self.collectors.end_writes();
                } else {
                    self.read_operands_for_port(port);
                }
            }
        }
    }

    #[inline(always)]
    fn read_operands_for_port(&mut self, port: u32) {
        let steps = u64::from(self.collector_steps);
        let ports = u64::from(self.mem_unit_ports);
        let nth = self.counters.active_cycles * ports + u64::from(port);
        self.read_operands(nth * steps, steps);
    }

    /// Runs `steps` steps of the collectors, from number `first` on.
    #[inline]
    fn read_operands(&mut self, first: u64, steps: u64) {
        for nth in first..first + steps {
            if self.collectors.is_at_rest() {
                return self.collectors.end_writes();
            }
            self.collector_step(nth);
        }
    }

    #[inline(never)]
    fn collector_step(&mut self, nth: u64) {
        let Self {
            collectors,
            flights,
            kernels,
            counters,
            ..
        } = self;
        let reads = collectors.step(nth, flights, |flight| {
            let prepared = prepared_kernel(kernels, flight.kernel);
            prepared.list(&prepared.at(flight.pc).bank_reads)
        });
        counters.register_reads += reads.served;
        counters.register_bank_conflicts += reads.waited;
    }

    fn feed_ldst(&mut self) {
        let registers = &mut self.collectors.output;
        let pipe = Pipe::Mem as usize;
        if self.ldst.can_accept()
            && let Some(issued) = registers.oldest(pipe)
        {
            registers.take(pipe, issued);
            self.at_rest = false;
            let mem = self.flights[issued.flight().0].mem;
            self.ldst.accept(issued.flight(), mem);
        }
    }
}
