//! Construction of programs, and execution of single instructions on given lanes.

use std::sync::Arc;
use warploom_base::{Dim3, Pc};
use warploom_exec::*;
use warploom_ir::*;

/// Source operand in a register.
pub fn r(slot: u16) -> Src {
    Src::Reg(Reg(slot))
}

/// Destination in a register.
pub fn d(slot: u16) -> Dst {
    Dst::Reg(Reg(slot))
}

/// Source operand in a predicate.
pub fn p(index: u16) -> Src {
    Src::Pred(Pred(index), false)
}

/// Destination in a predicate.
pub fn dp(index: u16) -> Dst {
    Dst::Pred(Pred(index))
}

/// Instruction with up to two destinations and four source operands.
pub fn inst(op: Op, dst: &[Dst], src: &[Src]) -> Inst {
    let mut inst = Inst {
        op,
        guard: None,
        dst: [Dst::None; 2],
        src: [Src::None; 4],
        imm: 0,
        extra: Extra::NONE,
        wide_addr: true,
    };
    inst.dst[..dst.len()].copy_from_slice(dst);
    inst.src[..src.len()].copy_from_slice(src);
    inst
}

/// Instruction with the guard `@p` or `@!p`.
pub fn guarded(mut inst: Inst, pred: u16, negated: bool) -> Inst {
    inst.guard = Some(Guard {
        pred: Pred(pred),
        negated,
        overwrites: false,
    });
    inst
}

/// Branch to an instruction of the program.
pub fn bra(target: u32) -> Inst {
    let mut inst = inst(Op::Bra(false), &[], &[]);
    inst.imm = target as i32;
    inst
}

/// A program under construction.
pub struct Builder {
    pub program: Program,
}

impl Builder {
    pub fn new() -> Self {
        Self {
            program: Program {
                name: "k".into(),
                insts: Vec::new(),
                facts: Vec::new(),
                consts: Vec::new(),
                extras: Vec::new(),
                reg_slots: 32,
                wide_slots: 0,
                preds: 8,
                registers_per_thread: 32,
                params: Vec::new(),
                param_bytes: 0,
                shared_bytes: 0,
                dynamic_shared_align: None,
                local_bytes: 0,
                stack_bytes: 0,
                max_threads: None,
                required_threads: None,
                cluster: Default::default(),
                written: Written::default(),
                functions: Vec::new(),
                switch_points: Vec::new(),
            },
        }
    }

    /// Adds an instruction, whose PTX line is its number counted from 1.
    pub fn push(&mut self, inst: Inst) -> &mut Self {
        self.push_to(inst, None)
    }

    /// Adds a branch with the reconvergence point `reconverge`.
    pub fn push_to(&mut self, inst: Inst, reconverge: Option<u32>) -> &mut Self {
        let line = self.program.insts.len() as u32 + 1;
        self.program.insts.push(inst);
        self.program.facts.push(InstFacts {
            unit: None,
            other_operands: 0,
            class: InstClass::Simple,
            reads: Vec::new(),
            writes: Vec::new(),
            bank_reads: Vec::new(),
            bank_writes: Vec::new(),
            reconverge: reconverge.map(Pc),
            pos: SourcePos { line, column: 1 },
        });
        self
    }

    /// Source operand with a constant.
    pub fn c(&mut self, bits: u64) -> Src {
        self.program.consts.push(ConstValue::Bits(bits));
        Src::Const(self.program.consts.len() as u16 - 1)
    }

    /// Operands beyond those stored in an instruction.
    pub fn extra(&mut self, dsts: &[Dst], srcs: &[Src]) -> Extra {
        self.program.extras.push(ExtraOperands {
            dsts: dsts.to_vec(),
            srcs: srcs.to_vec(),
            ..ExtraOperands::default()
        });
        Extra(self.program.extras.len() as u32 - 1)
    }

    pub fn launch(self, grid: u32, block: u32) -> LaunchContext {
        self.launch_with(LaunchSpec {
            grid: Dim3::linear(grid),
            block: Dim3::linear(block),
            ..spec()
        })
    }

    pub fn launch_with(self, spec: LaunchSpec) -> LaunchContext {
        LaunchContext::new(Arc::new(self.program), spec).expect("a valid launch")
    }
}

/// Launch of one block with one thread and plenty of shared memory.
pub fn spec() -> LaunchSpec {
    LaunchSpec {
        grid: Dim3::linear(1),
        block: Dim3::linear(32),
        max_shared_bytes: 48 << 10,
        barriers: 16,
        ..LaunchSpec::default()
    }
}

/// Warp with the state that it needs to execute.
pub struct Bench {
    pub ctx: LaunchContext,
    pub block: BlockState,
    pub warp: WarpState,
    pub memory: DeviceMemory,
    pub log: WriteLog,
    pub out: StepOut,
    pub env: Env,
}

impl Bench {
    pub fn new(ctx: LaunchContext) -> Self {
        let (mut block, mut warp) = (BlockState::new(), WarpState::new());
        block.reset(&ctx, Dim3::default());
        warp.reset(&ctx, &block, 0);
        Self {
            ctx,
            block,
            warp,
            memory: DeviceMemory::new(1 << 40),
            log: WriteLog::new(),
            out: StepOut::default(),
            env: Env::default(),
        }
    }

    pub fn step(&mut self) -> Result<(), Fault> {
        let mut port = MemPort {
            image: &self.memory,
            log: &mut self.log,
            now: 0,
        };
        step(
            &self.ctx,
            &mut self.block,
            &mut self.warp,
            &mut port,
            &self.env,
            &mut self.out,
        )
    }
}

/// Runs one instruction on up to 32 operand tuples, one for each lane. Operands have 64 bits in
/// slots 0, 2, 4 and 6. For 32-bit operations, the first slot of a pair is written separately.
/// Predicates 0 and 1 hold `preds`. Returns slot 8 as 32 and as 64 bits per lane, and predicates 2
/// and 3.
pub struct One {
    pub r32: [u32; 32],
    pub r64: [u64; 32],
    pub p2: u32,
    pub p3: u32,
}

/// Registers of [`run_one`] that have 64 bits.
#[derive(Clone, Copy, Default)]
pub struct Wide {
    pub src: [bool; 4],
    pub dst: bool,
}

pub fn run_one(op: Op, dst: &[Dst], src: &[Src], lanes: &[[u64; 4]], wide: Wide) -> One {
    run_inst(inst(op, dst, src), lanes, wide, 0, u32::MAX)
}

/// Executes one instruction in the lanes of `mask`. `lanes` holds four operands for each lane, and
/// `preds` the value of predicate 0 in each lane.
pub fn run_inst(one: Inst, lanes: &[[u64; 4]], wide: Wide, preds: u32, mask: u32) -> One {
    let mut builder = Builder::new();
    builder.program.shared_bytes = 32 * 64;
    load_operands(&mut builder, wide);
    let zero = builder.c(0);
    let marker = builder.c(0xdead_beef_dead_beef);
    let whole = if wide.dst { Width::B64 } else { Width::B32 };
    builder.push(inst(Op::Mov(whole), &[d(8)], &[marker]));
    let bit = builder.c(preds.into());
    let one_bit = builder.c(1);
    // Predicates 0 and 4 are set in each lane from the masks.
    builder.push(inst(
        Op::Shr(IntTy::U32),
        &[d(22)],
        &[bit, Src::Special(SpecialReg::LaneId)],
    ));
    builder.push(inst(
        Op::Logic(Logic::And, Width::B32),
        &[d(22)],
        &[r(22), one_bit],
    ));
    let ne = Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false);
    builder.push(inst(ne, &[dp(0)], &[r(22), zero]));
    let active = builder.c(mask.into());
    builder.push(inst(
        Op::Shr(IntTy::U32),
        &[d(22)],
        &[active, Src::Special(SpecialReg::LaneId)],
    ));
    builder.push(inst(
        Op::Logic(Logic::And, Width::B32),
        &[d(22)],
        &[r(22), one_bit],
    ));
    builder.push(inst(ne, &[dp(4)], &[r(22), zero]));
    builder.push(if mask == u32::MAX {
        one
    } else {
        guarded(one, 4, false)
    });
    store_results(&mut builder, wide);
    builder.push(inst(Op::Exit, &[], &[]));
    drive_one(builder, lanes)
}

/// Loads the operands of a single instruction from shared memory.
fn load_operands(builder: &mut Builder, wide: Wide) {
    for k in 0..4u16 {
        let ty = MemTy {
            bytes: 8,
            count: 1,
            signed: false,
            wide_reg: wide.src[k as usize],
        };
        let ty = if wide.src[k as usize] {
            ty
        } else {
            MemTy { bytes: 4, ..ty }
        };
        let mut load = inst(
            Op::Ld(MemSpace::Shared, ty, CacheOp::Default),
            &[d(2 * k)],
            &[r(20)],
        );
        load.imm = 8 * i32::from(k);
        load.wide_addr = false;
        builder.push(load);
    }
}

/// Stores the results of a single instruction to shared memory.
fn store_results(builder: &mut Builder, wide: Wide) {
    let result = MemTy {
        bytes: if wide.dst { 8 } else { 4 },
        count: 1,
        signed: false,
        wide_reg: wide.dst,
    };
    let mut store = inst(
        Op::St(MemSpace::Shared, result, CacheOp::Default),
        &[],
        &[r(20), r(8)],
    );
    store.wide_addr = false;
    store.imm = 32;
    builder.push(store);
    for (k, pred) in [(0, 2u16), (1, 3)] {
        builder.push(inst(Op::Vote(VoteMode::Ballot), &[d(22)], &[p(pred)]));
        let word = MemTy {
            bytes: 4,
            count: 1,
            signed: false,
            wide_reg: false,
        };
        let mut store = inst(
            Op::St(MemSpace::Shared, word, CacheOp::Default),
            &[],
            &[r(20), r(22)],
        );
        store.wide_addr = false;
        store.imm = 40 + 4 * k;
        builder.push(store);
    }
}

/// Prepends the computation of addresses and the loads of operands from shared memory.
fn drive_one(mut builder: Builder, lanes: &[[u64; 4]]) -> One {
    let stride = builder.c(64);
    let address = inst(
        Op::Mul(Half::Lo, IntTy::U32),
        &[d(20)],
        &[Src::Special(SpecialReg::LaneId), stride],
    );
    let mut fills = vec![address];
    let mut params = Vec::new();
    for k in 0..4 {
        for lane in 0..32 {
            let value = lanes.get(lane).or(lanes.last()).map_or(0, |ops| ops[k]);
            params.extend_from_slice(&value.to_le_bytes());
        }
        let full = MemTy {
            bytes: 8,
            count: 1,
            signed: false,
            wide_reg: true,
        };
        let mut load = inst(
            Op::Ld(MemSpace::Param, full, CacheOp::Default),
            &[d(10)],
            &[r(21)],
        );
        load.wide_addr = false;
        load.imm = k as i32 * 256;
        let mut store = inst(
            Op::St(MemSpace::Shared, full, CacheOp::Default),
            &[],
            &[r(20), r(10)],
        );
        store.wide_addr = false;
        store.imm = 8 * k as i32;
        fills.extend([load, store]);
    }
    let eight = builder.c(8);
    let lane_offset = inst(
        Op::Mul(Half::Lo, IntTy::U32),
        &[d(21)],
        &[Src::Special(SpecialReg::LaneId), eight],
    );
    fills.insert(0, lane_offset);
    let facts = builder.program.facts[0].clone();
    builder.program.param_bytes = params.len() as u32;
    builder
        .program
        .facts
        .splice(0..0, fills.iter().map(|_| facts.clone()));
    builder.program.insts.splice(0..0, fills);
    let mut bench = Bench::new(builder.launch_with(LaunchSpec { params, ..spec() }));
    while !bench.warp.is_done() {
        bench.step().expect("no fault");
    }
    let shared = bench.block.shared();
    let word = |at: usize| u32::from_le_bytes(shared[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_le_bytes(shared[at..at + 8].try_into().unwrap());
    One {
        r32: std::array::from_fn(|lane| word(lane * 64 + 32)),
        r64: std::array::from_fn(|lane| long(lane * 64 + 32)),
        p2: word(40),
        p3: word(44),
    }
}

/// Word of 32 bits at an address of global memory.
pub fn word(memory: &DeviceMemory, address: u64) -> u32 {
    let mut bytes = [0; 4];
    memory.read(0, address, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

/// Sets predicate `k` in the lanes below `limit`.
pub fn lane_below(builder: &mut Builder, k: u16, limit: u64) {
    let limit = builder.c(limit);
    let lt = Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::U32), false);
    builder.push(inst(
        lt,
        &[dp(k)],
        &[Src::Special(SpecialReg::LaneId), limit],
    ));
}
