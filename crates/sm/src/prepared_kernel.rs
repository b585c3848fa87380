//! A kernel prepared for one GPU: every instruction's pipe, latency and register lists as small
//! integers, looked up by program counter. Made once per launch, shared by all SMs.

mod control;
mod timing;

pub use crate::pipe::Pipe;
use crate::warps::CopyRole;
use control::Control;
use std::sync::Arc;
pub use timing::{ClassTiming, class_timing};
use timing::{pipe_of, timing_of};
use warploom_base::{KernelSlot, Pc};
use warploom_config::{
    BlockNeeds, ContextNeeds, ContextPlan, ContextRules, ContextStorage, GpuSpec, ModelStyle,
    OccupancyLimit, SmSpec,
};
use warploom_exec::{LaunchContext, Lookahead};
use warploom_ir::{
    AsyncKind, InstClass, InstFacts, MemClass, Program, SwitchPoint, Unit, machine_instructions,
};
use warploom_policy::{MemoryAccess, MemoryOp, MemorySpace};

/// First address of code, as in GPGPU-Sim. Kernels follow each other there, as the launch says.
pub const CODE_BASE: u64 = 0xF000_0000;
/// Distance between the places of two address spaces in physical memory: whole memories apart, so
/// that no two processes share a line, and by 256 MiB more, so that they lie in other rows of DRAM,
/// whose numbers come from lower bits.
const PROCESS_STRIDE: u64 = 1 << 44 | 1 << 28;

/// First physical address of an address space, which is added to its addresses on their way to
/// caches and memory.
pub const fn physical_base(asid: u8) -> u64 {
    asid as u64 * PROCESS_STRIDE
}

/// The kernels of an SM, by number: more than `gpu.max_concurrent_kernels` allows, because a number
/// of eight bits then needs no check.
pub(crate) type PreparedKernels = [Option<Arc<PreparedKernel>>; 1 << u8::BITS];

/// Registers that lie in a [`RegisterList`] itself.
const FEW: usize = 3;

/// Registers of an instruction for [`PreparedKernel::list`].
#[derive(Clone, Copy, Debug)]
pub struct RegisterList {
    /// Number of registers in the list.
    pub len: u16,
    /// The registers or, if there are more, their index in [`PreparedKernel::lists`] in two halves.
    few: [u16; FEW],
}

/// Facts about one instruction for the pipeline, in one line of the host's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TimedInst {
    /// Pipe to which it issues.
    pub pipe: Pipe,
    /// Source of its result.
    pub comes_from: ComesFrom,
    /// True for a memory fence.
    pub fence: bool,
    /// Role for asynchronous copies.
    pub copies: CopyRole,
    /// Cycles in the function unit.
    pub latency: u16,
    /// Cycles until the unit takes another instruction.
    pub interval: u16,
    /// Mask of the first 64 scoreboard entries: those that it reads or writes, and so needs free.
    pub needs_word: u64,
    /// Mask of the first 64 scoreboard entries: those that it writes.
    pub writes_word: u64,
    /// Index of the further entries in [`PreparedKernel`]'s table.
    more: u32,
    /// True if more than `needs_word` decides whether it may issue: further entries or copies.
    pub asks_further: bool,
    /// Registers read through the collector.
    pub bank_reads: RegisterList,
    /// True if some of these registers lie in the same bank.
    pub shares_banks: bool,
    /// Mask of the banks of a sub-core that hold these registers, for warp 0.
    pub banks: u64,
    /// True if several registers are written to the banks.
    pub writes_several: bool,
    /// Bank of the first written register, for warp 0.
    pub written_bank: u64,
    /// Registers written to the banks.
    pub bank_writes: RegisterList,
}

const _: () = assert!(size_of::<TimedInst>() == 64);

impl TimedInst {
    /// True if its result takes long, because it comes from memory other than shared memory.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.comes_from == ComesFrom::Memory
    }

    /// True for a load from shared memory.
    #[inline]
    pub fn loads_shared(&self) -> bool {
        self.comes_from == ComesFrom::Shared
    }
}

/// Source of the result of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComesFrom {
    /// A function unit, or an atomic on shared memory.
    Unit,
    /// Shared memory, by a load.
    Shared,
    /// Other memory. The two-level scheduler calls such a result long (docs/model/sm.md,
    /// Scoreboard).
    Memory,
}

impl ComesFrom {
    fn of(class: InstClass) -> Self {
        match class {
            InstClass::Load(MemClass::Shared) => Self::Shared,
            InstClass::Atomic(MemClass::Shared) => Self::Unit,
            InstClass::Load(_) | InstClass::Atomic(_) => Self::Memory,
            _ => Self::Unit,
        }
    }
}

/// Facts about an instruction for the counters of energy.
#[derive(Clone, Copy, Debug)]
pub struct EnergyFacts {
    /// Registers that it writes when it issues: none for loads of parameters and constants. In
    /// machine code these are operands of other instructions, so that they write no register;
    /// GPGPU-Sim's power model counts none either.
    pub registers_written: u16,
    /// Number of source operands that are no registers.
    pub other_operands: u8,
    /// Number of its execution unit; [`Unit::COUNT`] for branches, barriers and accesses to memory.
    pub unit: u8,
}

impl EnergyFacts {
    fn of(facts: &InstFacts) -> Self {
        let unit = facts.unit.map_or(Unit::COUNT, |unit| unit.index());
        let registers_written = match facts.class {
            InstClass::Load(MemClass::Const | MemClass::Param) => 0,
            _ => facts.bank_writes.len() as u16,
        };
        Self {
            registers_written,
            other_operands: facts.other_operands.min(MOST_OPERANDS),
            unit: unit as u8,
        }
    }
}

/// Most source operands that are no registers: a machine instruction has no more than three.
const MOST_OPERANDS: u8 = 3;

/// A kernel in flight.
pub struct PreparedKernel {
    /// Data and decoded code of the launch.
    pub launch: LaunchContext,
    /// Code of the kernel.
    pub program: Arc<Program>,
    /// Slot of the kernel among those in flight.
    pub slot: KernelSlot,
    /// Number of the address space.
    pub asid: u8,
    /// Physical address of its code.
    pub code: u64,
    /// Threads of a block.
    pub block_threads: u32,
    /// Warps of a block.
    pub block_warps: u32,
    /// Registers of a thread, as granted.
    pub registers_per_thread: u32,
    /// Shared memory of a block, dynamic included, in bytes.
    pub shared_bytes: u32,
    /// Facts for the counters of energy, by program counter.
    pub energy: Vec<EnergyFacts>,
    /// Most blocks on one SM, which fixes the layout of local memory.
    pub blocks_per_sm: u32,
    /// Facts for the pipeline, by program counter.
    pub timed: Vec<TimedInst>,
    /// By program counter: issue slots that an instruction takes after its first. Empty where
    /// every instruction takes one.
    further_slots: Vec<u8>,
    /// Facts about contexts, if they are switched.
    pub contexts: Option<KernelContexts>,
    /// By program counter: see [`Program::fewest_to_end`].
    pub fewest_to_end: Vec<u32>,
    /// Registers that have no room in their [`RegisterList`].
    lists: Vec<u16>,
    /// By instruction: words of scoreboard entries beyond the first 64 that it needs, then those
    /// that it writes.
    more_scores: Vec<u64>,
    score_words: usize,
    /// How far SMs may run ahead of each other in the kernel.
    pub lookahead: Lookahead,
    /// By program counter: whether the instructions that issue together from there on need settled
    /// memory, or those of warps that they release from a barrier.
    settled: Vec<bool>,
}

/// The table of [`PreparedKernel::needs_settled`] for warps that issue up to `most_issued`
/// instructions in a cycle. A warp that is released from a barrier may issue in the same cycle, so
/// that barriers and exits count as the instructions behind the kernel's barriers.
fn settled_table(program: &Program, launch: &LaunchContext, most_issued: u32) -> Vec<bool> {
    let count = program.insts.len() as u32;
    let needs = |first: u32| {
        let mut issued = (first..first + most_issued).map(Pc);
        issued.any(|pc| launch.needs_settled(pc))
    };
    let is = |pc: u32, class: InstClass| program.facts[pc as usize].class == class;
    let behind_barrier = (0..count).any(|pc| is(pc, InstClass::Barrier) && needs(pc + 1));
    let releases = |pc| is(pc, InstClass::Barrier) || is(pc, InstClass::Exit);
    (0..count)
        .map(|first| {
            let mut issued = first..count.min(first + most_issued);
            needs(first) || behind_barrier && issued.any(releases)
        })
        .collect()
}

/// Facts about a kernel's contexts, known before it runs.
#[derive(Clone, Debug)]
pub struct KernelContexts {
    /// Plan of the blocks on an SM.
    pub plan: ContextPlan,
    /// Resources that contexts take.
    pub needs: ContextNeeds,
    /// By program counter: units of registers that an absent warp keeps; `None` where it cannot
    /// leave.
    units: Vec<Option<u16>>,
    /// By number of extra blocks: whether registers leave, and shared memory.
    moves: Vec<(bool, bool)>,
}

impl KernelContexts {
    /// Facts about `program` in blocks with these needs. The first value is the number of blocks
    /// that an SM holds at once, with the resource that limits it.
    pub fn new(
        fit: (u32, OccupancyLimit),
        needs: &BlockNeeds,
        program: &Program,
        rules: &ContextRules,
        spec: &GpuSpec,
    ) -> Self {
        let live = |point: &SwitchPoint| match rules.compress {
            true => point.units(),
            false => point.registers,
        };
        let points = &program.switch_points;
        // Where registers are divided, each context takes what it needs at its point.
        let exact = ContextStorage::of(spec).divides_registers();
        let kept = match (rules.reduce, exact) {
            (false, _) => None,
            (true, false) => points.iter().map(live).max(),
            (true, true) => points.iter().map(live).min(),
        };
        let needs = ContextNeeds::new(needs, kept, !points.is_empty());
        let plan = ContextPlan::new(rules, &needs, fit, spec);
        let most = if exact { needs.registers } else { needs.kept };
        let mut units = vec![None; program.insts.len()];
        for point in points {
            let units_there = if rules.reduce { live(point) } else { most };
            units[point.pc.index()] = Some(units_there.min(most) as u16);
        }
        let moves = (0..=plan.bound).map(|extra| {
            let registers = plan.moves_registers(&needs, extra, spec);
            (registers, plan.moves_shared(&needs, extra, spec))
        });
        Self {
            plan,
            needs,
            units,
            moves: moves.collect(),
        }
    }

    /// Facts as a test chooses them.
    #[cfg(test)]
    pub(crate) fn by_hand(
        plan: ContextPlan,
        needs: ContextNeeds,
        units: &[Option<u16>],
        moves: &[(bool, bool)],
    ) -> Self {
        let (units, moves) = (units.to_vec(), moves.to_vec());
        Self {
            plan,
            needs,
            units,
            moves,
        }
    }

    /// Units of registers that a warp keeps while it is absent at `pc`; `None` where it cannot
    /// leave.
    pub fn units_at(&self, pc: Pc) -> Option<u32> {
        self.units[pc.index()].map(u32::from)
    }

    /// With `extra` extra blocks: whether registers leave, and whether shared memory does.
    pub fn moves(&self, extra: u32) -> (bool, bool) {
        let last = self.moves.len() - 1;
        self.moves[(extra as usize).min(last)]
    }
}

impl PreparedKernel {
    /// Prepares `program` for SMs of `spec`.
    #[expect(clippy::too_many_arguments, reason = "the facts of one launch")]
    pub fn new(
        launch: LaunchContext,
        program: Arc<Program>,
        slot: KernelSlot,
        asid: u8,
        block_threads: u32,
        registers_per_thread: u32,
        shared_bytes: u32,
        blocks_per_sm: u32,
        spec: &SmSpec,
        style: ModelStyle,
    ) -> Self {
        let mut lists = Vec::new();
        let control = Control::new(&program, spec);
        let score_words = control.entries.div_ceil(64).max(1);
        let mut more_scores = Vec::new();
        let timed = program.facts.iter().enumerate().map(|(pc, facts)| {
            let more = more_scores.len() as u32;
            let scores = control.scores(&program.insts[pc], facts);
            let [needs, writes] = scores.map(|entries| bits(&entries, score_words));
            more_scores.extend(needs[1..].iter().chain(&writes[1..]));
            let mut inst = time(facts, spec, style, &mut lists);
            inst.latency = control.latency(pc, inst.latency);
            let asks_copies = !matches!(
                inst.copies,
                CopyRole::None | CopyRole::Start | CopyRole::StartProduct
            );
            TimedInst {
                needs_word: needs[0],
                writes_word: writes[0],
                more,
                asks_further: asks_copies || needs[1..].iter().any(|word| *word != 0),
                ..inst
            }
        });
        let timed = timed.collect();
        let further = |inst| machine_instructions(inst) - 1;
        let further_slots = match spec.machine_instructions {
            true => program.insts.iter().map(further).collect(),
            false => Vec::new(),
        };
        let energy = program.facts.iter().map(EnergyFacts::of).collect();
        let offset = launch.instructions_before() * u64::from(spec.instruction_bytes);
        let code = physical_base(asid) + CODE_BASE + offset;
        let fewest_to_end = program.fewest_to_end();
        let most_issued = spec.max_issue_per_warp.max(1);
        let settled = settled_table(&program, &launch, most_issued);
        Self {
            settled,
            lookahead: launch.lookahead(),
            fewest_to_end,
            launch,
            program,
            slot,
            asid,
            code,
            block_threads,
            block_warps: block_threads.div_ceil(32),
            registers_per_thread,
            shared_bytes,
            blocks_per_sm,
            timed,
            energy,
            further_slots,
            contexts: None,
            lists,
            more_scores,
            score_words,
        }
    }

    /// Words of the scoreboard entries that an instruction needs free, without the first.
    #[inline]
    pub fn more_needs(&self, inst: &TimedInst) -> &[u64] {
        &self.more_scores[inst.more as usize..][..self.score_words - 1]
    }

    /// Words of the scoreboard entries that an instruction writes, without the first.
    #[inline]
    pub fn more_writes(&self, inst: &TimedInst) -> &[u64] {
        &self.more_scores[inst.more as usize + self.score_words - 1..][..self.score_words - 1]
    }

    /// Words of the scoreboard entries that an instruction needs free.
    pub fn needs(&self, inst: &TimedInst) -> impl Iterator<Item = u64> {
        let more = self.more_needs(inst).iter().copied();
        std::iter::once(inst.needs_word).chain(more)
    }

    /// Words of the scoreboard entries that an instruction writes.
    pub fn writes(&self, inst: &TimedInst) -> impl Iterator<Item = u64> {
        let more = self.more_writes(inst).iter().copied();
        std::iter::once(inst.writes_word).chain(more)
    }

    /// The registers of a list.
    #[inline]
    pub fn list<'a>(&'a self, list: &'a RegisterList) -> &'a [u16] {
        let few = list.few.get(..usize::from(list.len));
        few.unwrap_or_else(|| self.long_list(list))
    }

    #[cold]
    fn long_list(&self, list: &RegisterList) -> &[u16] {
        let start = usize::from(list.few[0]) | usize::from(list.few[1]) << u16::BITS;
        &self.lists[start..][..usize::from(list.len)]
    }

    /// Issue slots that the instruction at `pc` takes after its first.
    #[inline]
    pub fn further_slots(&self, pc: Pc) -> u8 {
        self.further_slots.get(pc.index()).copied().unwrap_or(0)
    }

    /// The pipeline's view of an instruction.
    #[inline]
    pub fn at(&self, pc: Pc) -> &TimedInst {
        &self.timed[pc.index()]
    }

    /// True if a warp that issues the instruction at `pc`, and those that may issue with it, needs
    /// settled memory.
    #[inline]
    pub(crate) fn needs_settled(&self, pc: Pc) -> bool {
        self.settled[pc.index()]
    }

    /// Memory access of the instruction at `pc`, for a scheduler's gate.
    pub fn access_at(&self, pc: Pc) -> Option<MemoryAccess> {
        let (op, space) = match self.program.facts[pc.index()].class {
            InstClass::Load(space) => (MemoryOp::Load, space_of(space)),
            InstClass::Store(space) => (MemoryOp::Store, space_of(space)),
            InstClass::Atomic(space) => (MemoryOp::Atomic, space_of(space)),
            InstClass::CopyAsync | InstClass::Bulk => (MemoryOp::Copy, MemorySpace::Global),
            _ => return None,
        };
        Some(MemoryAccess { op, space })
    }

    /// Fewest instructions that all warps of a block issue.
    pub fn fewest_of_block(&self) -> u64 {
        let fewest = self.fewest_to_end.first().copied().unwrap_or(0);
        u64::from(self.block_warps) * u64::from(fewest)
    }

    /// Number of scoreboard words of a warp.
    pub fn score_words(&self) -> usize {
        self.score_words
    }
}

/// The prepared kernel in a slot whose instructions are in flight.
#[inline]
pub(crate) fn prepared_kernel(kernels: &PreparedKernels, slot: KernelSlot) -> &PreparedKernel {
    kernels[usize::from(slot.0)]
        .as_deref()
        .expect("a kernel with instructions in flight is loaded")
}

/// A list of `registers`, put into `lists` if they are many.
fn register_list(lists: &mut Vec<u16>, registers: &[u16]) -> RegisterList {
    let mut few = [0; FEW];
    if let Some(few) = few.get_mut(..registers.len()) {
        few.copy_from_slice(registers);
    } else {
        (few[0], few[1]) = (lists.len() as u16, (lists.len() >> u16::BITS) as u16);
        lists.extend_from_slice(registers);
    }
    RegisterList {
        len: registers.len() as u16,
        few,
    }
}

/// Set of scoreboard entries, as `words` words.
fn bits<'a>(entries: impl IntoIterator<Item = &'a u16>, words: usize) -> Vec<u64> {
    let mut bits = vec![0; words];
    for &entry in entries {
        bits[usize::from(entry / 64)] |= 1 << (entry % 64);
    }
    bits
}

/// Facts about an instruction, without the scoreboard's.
fn time(facts: &InstFacts, spec: &SmSpec, style: ModelStyle, lists: &mut Vec<u16>) -> TimedInst {
    let timing = timing_of(facts.class, spec);
    let mut bank_reads = facts.bank_reads.clone();
    if style == ModelStyle::V4 {
        // 4.2 reads a register that stands twice among the sources once.
        bank_reads.sort_unstable();
        bank_reads.dedup();
    }
    let bank = |register: &u16| 1 << (u32::from(*register) % own_banks(spec));
    let banks = bank_reads
        .iter()
        .map(bank)
        .fold(0_u64, |all, bank| all | bank);
    let bank_writes = &facts.bank_writes;
    TimedInst {
        needs_word: 0,
        writes_word: 0,
        more: 0,
        asks_further: false,
        shares_banks: (banks.count_ones() as usize) < bank_reads.len(),
        banks,
        pipe: pipe_of(facts.class, spec, style),
        comes_from: ComesFrom::of(facts.class),
        fence: facts.class == InstClass::Membar,
        copies: match facts.class {
            InstClass::CopyAsync => CopyRole::Start,
            InstClass::CopyCommit => CopyRole::Commit,
            InstClass::CopyWait(which) => CopyRole::Wait(which),
            InstClass::WarpGroup(_) => CopyRole::StartProduct,
            InstClass::AsyncCommit(kind) => CopyRole::CommitOther(kind),
            InstClass::AsyncWait(AsyncKind::Product, but) => CopyRole::WaitProducts(but),
            InstClass::AsyncWait(AsyncKind::Bulk, but) => CopyRole::WaitBulk(but),
            _ => CopyRole::None,
        },
        latency: timing.latency_cycles as u16,
        interval: timing.interval_cycles as u16,
        bank_reads: register_list(lists, &bank_reads),
        writes_several: bank_writes.len() > 1,
        written_bank: bank_writes.first().map_or(0, bank),
        bank_writes: register_list(lists, bank_writes),
    }
}

/// Number of banks of the register file for a warp: those of a sub-core.
fn own_banks(spec: &SmSpec) -> u32 {
    if spec.sub_cores {
        spec.collectors.banks / spec.schedulers.max(1)
    } else {
        spec.collectors.banks
    }
}

/// State space of an access as policies see it.
const fn space_of(class: MemClass) -> MemorySpace {
    match class {
        MemClass::Generic => MemorySpace::Generic,
        MemClass::Global => MemorySpace::Global,
        MemClass::Shared => MemorySpace::Shared,
        MemClass::Local => MemorySpace::Local,
        MemClass::Const => MemorySpace::Constant,
        MemClass::Param => MemorySpace::Parameter,
        MemClass::Texture => MemorySpace::Texture,
    }
}
