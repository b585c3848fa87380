//! Tests of the engine alone. The test takes the part of the pipeline, and decides what each warp
//! waits for.
//!
//! There are four warp slots. Blocks have two warps, and two blocks are present. A warp has ten
//! units of registers. At its only instruction, a load, five of them are live; six are reserved for
//! them while the warp is out, and two for the content of its slot. The port moves one unit per
//! cycle.

mod divided;
mod engine;
mod queues;
mod transfer;

use super::engine::{Contexts, Moved};
use super::tables::State;
use crate::prepared_kernel::{KernelContexts, PreparedKernel, PreparedKernels};
use crate::warps::Warps;
use std::sync::Arc;
use warploom_base::{BlockId, Cycle, Dim3, KernelSlot, Pc, WarpSlot};
use warploom_config::{
    ContextNeeds, ContextPlan, ContextRules, ContextStorage, ContextTransfers, ContextVictim,
    ExtraBlocks, GpuSpec, L1dStore, preset,
};
use warploom_diag::Source;
use warploom_exec::{BlockState, BranchOrder, Checks, LaunchContext, LaunchSpec, TextureTable};
use warploom_policy::WarpMask;

const SLOTS: usize = 4;

/// Rules where units are warps, and registers move.
const BY_WARP: ContextRules = ContextRules {
    by_warp: true,
    registers: true,
    shared: true,
    slots_anywhere: true,
    extra: ExtraBlocks::Fixed(1),
    port_bytes: 128,
    transfers: ContextTransfers::Serial,
    duplex: false,
    victim: ContextVictim::Oldest,
    slot_units: 2,
    stack_entries: 1,
    warps: 8,
    blocks: 4,
    warp_queue: 4,
    block_queue: 2,
    barriers: false,
    reduce: true,
    compress: true,
    active_percent: 100,
    l1d: L1dStore::Never,
};

/// Rules where units are blocks, and only the contents of slots move.
const BY_BLOCK: ContextRules = ContextRules {
    by_warp: false,
    registers: false,
    ..BY_WARP
};

/// An engine with the state of the pipeline.
struct Bench {
    contexts: Contexts,
    warps: Warps,
    kernels: PreparedKernels,
    /// The warp whose instructions are being decoded.
    decoding: WarpMask,
    /// Changes of slots, with their cycles.
    moved: Vec<(Cycle, Moved)>,
}

/// A kernel of the tests' blocks. `moves`: whether registers and shared memory move.
fn kernel(rules: &ContextRules, moves: (bool, bool), slot: u8) -> PreparedKernel {
    let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    let text = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() {\n\
                .reg .b32 %r<4>; .reg .b64 %rd<4>;\n\
                ld.global.u32 %r1, [%rd1];\nret;\n}\n";
    let source = Source::new("bench.ptx", text.to_owned());
    let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
    let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
    let program = Arc::new(ir.kernels.into_iter().next().expect("one kernel"));
    let launch = LaunchContext::new(Arc::clone(&program), launch(&spec));
    let launch = launch.unwrap_or_else(|error| panic!("{error}"));
    let style = spec.gpu.style;
    let slot = KernelSlot(slot);
    let mut prepared = PreparedKernel::new(launch, program, slot, 0, 64, 10, 0, 2, &spec.sm, style);
    prepared.contexts = Some(contexts(rules.by_warp, moves, Some(5)));
    prepared
}

/// Facts about the kernel's contexts. At the load, `kept` units are live; with `None` a warp cannot
/// be switched out there.
fn contexts(by_warp: bool, moves: (bool, bool), kept: Option<u16>) -> KernelContexts {
    let plan = ContextPlan {
        native: 2,
        bound: 1,
        by_warp,
        l1d: false,
        refusal: None,
    };
    let needs = ContextNeeds {
        warps: 2,
        registers: 10,
        kept: 6,
        shared: 4,
        switches: true,
    };
    KernelContexts::by_hand(plan, needs, &[kept, None], &[(false, false), moves])
}

fn launch(spec: &GpuSpec) -> LaunchSpec {
    LaunchSpec {
        grid: Dim3::linear(8),
        block: Dim3::linear(64),
        cluster: None,
        dynamic_shared_bytes: 0,
        max_shared_bytes: spec.sm.max_shared_bytes_per_block,
        barriers: spec.sm.barriers_per_block,
        params: Vec::new(),
        globals: Vec::new(),
        texture_refs: Vec::new(),
        textures: Arc::new(TextureTable::default()),
        grid_id: 0,
        workspace: 0,
        asid: 0,
        instructions_before: 0,
        checks: Checks::default(),
        branch_order: BranchOrder::HighestLaneLast,
    }
}

impl Bench {
    /// An SM with registers for two blocks.
    fn new(rules: ContextRules) -> Self {
        Self::with(rules, (true, false), [40, 28, 0])
    }

    /// An SM with numbers of `units` of registers, shared memory and L1D. `moves`: whether
    /// registers and shared memory of the kernel move.
    fn with(rules: ContextRules, moves: (bool, bool), units: [u32; 3]) -> Self {
        let [registers, shared, l1d] = units;
        let storage = ContextStorage {
            registers,
            shared,
            l1d,
            pending: 0,
        };
        Self::stored(rules, moves, storage)
    }

    /// An SM with this storage.
    fn stored(rules: ContextRules, moves: (bool, bool), storage: ContextStorage) -> Self {
        let prepared = kernel(&rules, moves, 0);
        let mut warps = Warps::new(SLOTS, rules.warps as usize, 8);
        warps.furnish();
        warps.reserve_scoreboard(prepared.score_words());
        Self {
            contexts: Contexts::new(rules, storage, SLOTS),
            warps,
            kernels: {
                let mut prepared = Some(Arc::new(prepared));
                std::array::from_fn(|_| prepared.take())
            },
            decoding: 0,
            moved: Vec::new(),
        }
    }

    /// The SM of `new` with three blocks, the last of which is out.
    fn full(rules: ContextRules) -> Self {
        let mut bench = Self::new(rules);
        (0..3).for_each(|block| bench.launch(block));
        bench
    }

    /// Sets whether warps can be switched out at the load.
    fn allow(&mut self, leave: bool) {
        let prepared = self.kernels[0].as_mut().and_then(Arc::get_mut);
        let kept = leave.then_some(5);
        prepared.expect("nobody else has it").contexts = Some(contexts(true, (true, false), kept));
    }

    fn prepared(&self) -> Arc<PreparedKernel> {
        Arc::clone(self.kernels[0].as_ref().expect("the kernel"))
    }

    fn has_room(&mut self) -> bool {
        let prepared = self.prepared();
        let contexts = prepared.contexts.as_ref().expect("it is switched");
        let one = self.contexts.has_room(&prepared, contexts);
        assert_eq!(self.contexts.room(&prepared, contexts, 1), u32::from(one));
        one
    }

    /// Assigns a block and starts it.
    fn launch(&mut self, block: u16) {
        let first = self.assign(block);
        let prepared = self.prepared();
        let mut state = BlockState::new();
        state.reset(&prepared.launch, prepared.launch.grid().point(0));
        for nth in 0..2 {
            let place = self.contexts.place((first + nth) as usize);
            self.warps.exec[place].reset(&prepared.launch, &state, nth);
            let id = BlockId(block);
            self.warps.start(place, id, KernelSlot(0), 0, nth);
        }
        self.contexts.start(BlockId(block));
    }

    fn assign(&mut self, block: u16) -> u32 {
        let prepared = self.prepared();
        let contexts = prepared.contexts.as_ref().expect("it is switched");
        self.contexts.assign(&prepared, contexts, BlockId(block))
    }

    /// Lets a warp's next instruction wait for a load that missed in L1D.
    fn miss(&mut self, context: usize) {
        let (prepared, slot) = (self.prepared(), self.slot(context));
        let load = prepared.at(Pc(0));
        self.warps.reserve(slot, load, &prepared);
        self.warps.note_miss(slot, load, &prepared);
        self.warps.note_load(slot);
        self.warps.track[slot].in_flight += 1;
        self.decode(context);
    }

    /// Puts the next instruction of a warp into its buffer.
    fn decode(&mut self, context: usize) {
        let slot = self.slot(context);
        self.warps.track[slot].buffer_pc = Pc(0);
        self.warps.track[slot].buffer_len = 1;
        self.warps.refresh(slot, &self.prepared());
    }

    /// Completes the load of a warp, in its slot or out.
    fn arrive(&mut self, context: usize) {
        let (prepared, place) = (self.prepared(), self.contexts.place(context));
        let load = prepared.at(Pc(0));
        self.warps.clear_pending(place, load, &prepared);
        self.warps.track[place].in_flight -= 1;
        self.warps.forget_load(place, true, load, &prepared);
        if place < SLOTS {
            self.warps.refresh_arrived(place, &prepared);
        } else {
            self.contexts.arrived(context, &self.warps, &self.kernels);
        }
    }

    /// Lets a warp wait at a barrier.
    fn wait(&mut self, context: usize) {
        self.warps.at_barrier.insert(self.slot(context));
    }

    /// Completes the barrier for a warp, in its slot or out.
    fn go_on(&mut self, context: usize) {
        let place = self.contexts.place(context);
        if place < SLOTS {
            self.warps.at_barrier.remove(place);
        } else {
            self.contexts.released(context);
            self.contexts.arrived(context, &self.warps, &self.kernels);
        }
    }

    /// Ends a warp in its slot.
    fn end(&mut self, context: usize) {
        let slot = self.slot(context);
        self.warps.drop_buffer(slot);
        self.warps.release(slot);
        self.contexts.warp_gone(slot);
    }

    /// Slot of a present warp.
    fn slot(&self, context: usize) -> usize {
        let place = self.contexts.place(context);
        assert!(place < SLOTS, "warp {context} is out");
        place
    }

    /// Ends one cycle of the engine.
    fn step(&mut self, now: Cycle) {
        let mut moved = Vec::new();
        let (warps, kernels) = (&mut self.warps, &self.kernels);
        self.contexts
            .step(now, warps, kernels, self.decoding, &mut moved);
        self.moved.extend(moved.into_iter().map(|what| (now, what)));
    }

    /// Ends a range of cycles.
    fn run(&mut self, cycles: std::ops::Range<Cycle>) {
        cycles.for_each(|now| self.step(now));
    }

    fn state(&self, context: usize) -> State {
        self.contexts.warps[context].state
    }

    fn states(&self, contexts: std::ops::Range<usize>) -> Vec<State> {
        contexts.map(|context| self.state(context)).collect()
    }
}

fn out(slot: usize) -> Moved {
    Moved::Out(WarpSlot::new(slot))
}

fn back(slot: usize) -> Moved {
    Moved::In(WarpSlot::new(slot))
}
