//! Lines that the data cache has replaced and that idle registers keep: the registers that no block
//! holds, reads that find such a line, and the way of their data to the registers of the load.

use super::records::{MEM_RECORDS, MemInst, mem_of};
use super::watch::inst_of;
use crate::counters::SmCounters;
use crate::detail::SmDetail;
use crate::flight::{MemId, Pool};
use std::collections::VecDeque;
use warploom_base::{BlockId, Cycle};
use warploom_config::GpuSpec;
use warploom_mem::Request;
use warploom_mem::cache::{Access, AccessOutcome, Cache, KeptLines, Moved, Placed, Sent};
use warploom_state::State;

/// Records of memory instructions, by which reads name their load.
type Insts = Pool<MemInst, MEM_RECORDS>;

/// Kept lines of an SM, and reads that have found their data there.
#[derive(Debug, State)]
pub(crate) struct Victims {
    lines: KeptLines,
    /// Loads whose data are read from the registers, with the cycle in which they have been.
    found: VecDeque<(Cycle, MemId)>,
    /// Registers of threads that no running block holds.
    idle_registers: u32,
    /// Registers of the block in each slot, from its assignment on.
    #[state(each)]
    by_block: Vec<u32>,
}

/// Counters that moves of lines change.
pub(super) struct Counts<'a> {
    pub(super) sm: &'a mut SmCounters,
    pub(super) detail: &'a mut SmDetail,
}

impl Counts<'_> {
    /// Counts lines that have been moved; each is written to a register of a warp.
    fn note(&mut self, moved: Moved) {
        self.sm.register_writes += moved.kept;
        self.detail.victim_lines_kept += moved.kept;
        self.detail.victim_lines_dropped += moved.dropped;
    }
}

impl Victims {
    /// An SM without blocks and kept lines, if a policy keeps lines.
    pub(super) fn new(spec: &GpuSpec, l1d: Option<&Cache>) -> Option<Box<Self>> {
        let lines = KeptLines::new(spec, l1d)?;
        Some(Box::new(Self {
            lines,
            found: VecDeque::new(),
            idle_registers: spec.sm.registers,
            by_block: vec![0; spec.sm.max_blocks as usize],
        }))
    }

    /// Serves a read whose data the data cache neither has nor awaits, if a kept line has them. For
    /// the load it is a miss that sends nothing: its data come later.
    pub(super) fn read(
        &mut self,
        now: Cycle,
        l1d: &Cache,
        request: &Request,
        counts: &mut Counts<'_>,
    ) -> Option<Access> {
        let at = self.lines.find(now, l1d, request)?;
        self.found.push_back((at, mem_of(request.token)));
        counts.sm.register_reads += 1;
        counts.detail.victim_hits += 1;
        Some(Access {
            outcome: AccessOutcome::Miss,
            sent: Sent::Nothing,
        })
    }

    /// Notes an access that was taken: by the data cache or, if `found`, by a kept line.
    pub(super) fn accessed(
        &mut self,
        now: Cycle,
        (l1d, insts): (&Cache, &Insts),
        request: &Request,
        (access, found): (Access, bool),
        placed: Option<Placed>,
        counts: &mut Counts<'_>,
    ) {
        let by = (request, inst_of(insts, request).map(|inst| inst.pc));
        let moved = self.lines.accessed(now, l1d, by, (access, found), placed);
        counts.note(moved);
    }

    /// Notes a fill of the data cache on behalf of `first`, and the line that it brought in.
    pub(super) fn filled(
        &mut self,
        now: Cycle,
        (l1d, insts): (&Cache, &Insts),
        first: &Request,
        placed: Option<Placed>,
        counts: &mut Counts<'_>,
    ) {
        let pc = inst_of(insts, first).map(|inst| inst.pc);
        let moved = self.lines.filled(now, l1d, (first, pc), placed);
        counts.note(moved);
    }

    /// Drops the line of an address that is written without timing.
    pub(super) fn forget(&mut self, l1d: &Cache, addr: u64) {
        self.lines.forget(l1d, addr);
    }

    /// Drops all kept lines.
    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }

    /// Forgets what the policy knows of the loads of kernels that have ended.
    pub(crate) fn forget_loads(&mut self) {
        self.lines.forget_loads();
    }

    /// Notes the registers of a block that will start in a slot.
    pub(crate) fn assign(&mut self, slot: BlockId, registers: u32) {
        self.by_block[slot.index()] = registers;
    }

    /// Notes that a block has started, so that its registers hold no lines, or that one has ended.
    /// Returns the number of lines that were dropped.
    pub(crate) fn change(&mut self, slot: BlockId, starts: bool) -> u64 {
        let registers = self.by_block[slot.index()];
        let idle = self.idle_registers;
        self.idle_registers = match starts {
            true => idle.saturating_sub(registers),
            false => idle.saturating_add(registers),
        };
        self.lines.set_registers(self.idle_registers)
    }

    /// Cycle in which the next data have been read from the registers.
    pub(super) fn next_event(&self) -> Option<Cycle> {
        self.found.front().map(|(at, _)| *at)
    }

    /// Takes a load whose data have been read from the registers.
    pub(super) fn take_found(&mut self, now: Cycle) -> Option<MemId> {
        let due = self.next_event().is_some_and(|at| at <= now);
        let found = due.then(|| self.found.pop_front()).flatten();
        found.map(|(_, id)| id)
    }
}
