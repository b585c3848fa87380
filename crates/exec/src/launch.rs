//! A launch: what stays the same for all blocks of a grid. Validated once, then read by every
//! [`step()`](crate::step()).

use crate::ahead::Ahead;
use crate::barrier::BARRIERS;
use crate::decode::{Decoded, decode};
use crate::fault::Checks;
use crate::regs::{Lanes32, Lanes64};
use crate::stack::BranchOrder;
use crate::texture::TextureTable;
use crate::wide::Wide;
use std::sync::Arc;
use warploom_base::{Dim3, Pc};
use warploom_ir::{ConstValue, Dst, Program, Src};

/// Most threads that a block may have.
pub const MAX_BLOCK_THREADS: u64 = 1024;
/// Largest x extent of a grid; y and z go to 65,535.
const MAX_GRID_X: u32 = i32::MAX as u32;
const MAX_GRID_YZ: u32 = 65_535;

/// What a caller says about a launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchSpec {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
    /// Largest shared memory that a block may have on this GPU, in bytes.
    pub max_shared_bytes: u32,
    /// Named barriers that a block has on this GPU, at most [`crate::BARRIERS`].
    pub barriers: u32,
    /// The parameter buffer, laid out as [`Program::params`] says.
    pub params: Vec<u8>,
    /// Address of each of the module's variables, in the order of `ModuleIr::globals`.
    pub globals: Vec<u64>,
    /// Handle of each of the module's texture references, in the order of `ModuleIr::textures`.
    pub texture_refs: Vec<u64>,
    /// Textures that handles name.
    pub textures: Arc<TextureTable>,
    /// `%gridid`
    pub grid_id: u64,
    /// Bytes of code in front of the kernel's in the program's memory for code.
    pub code_offset: u64,
    /// Address of what the barrier of a cooperative launch works on, or 0.
    pub workspace: u64,
    /// Address space of the process.
    pub asid: u8,
    /// Optional checks.
    pub checks: Checks,
    /// Which side of a divergent branch runs first.
    pub branch_order: BranchOrder,
}

/// Why a kernel cannot be launched.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LaunchError {
    /// An extent is zero or above the limit.
    #[error(
        "the {what} {size} has an extent of zero or beyond the limit {limit}; choose extents from 1 to the limit"
    )]
    BadExtent {
        /// "grid" or "block".
        what: &'static str,
        /// As given.
        size: Dim3,
        /// Largest extents.
        limit: Dim3,
    },
    /// Too many threads in a block.
    #[error("a block of {threads} threads exceeds the limit of {limit}; use a smaller block")]
    BlockTooLarge {
        /// Threads asked for.
        threads: u64,
        /// The limit (of the hardware, or `.maxntid`).
        limit: u64,
    },
    /// The kernel's `.reqntid` names another block size.
    #[error("the kernel requires blocks of {required}, not {given} (`.reqntid`)")]
    WrongBlock {
        /// `.reqntid`
        required: Dim3,
        /// As given.
        given: Dim3,
    },
    /// Too much shared memory.
    #[error(
        "a block needs {needed} bytes of shared memory ({fixed} static, {dynamic} dynamic), but the limit is {limit}"
    )]
    SharedTooLarge {
        /// Total.
        needed: u64,
        /// Static part.
        fixed: u32,
        /// Dynamic part.
        dynamic: u32,
        /// The limit.
        limit: u32,
    },
    /// Parameters of another size.
    #[error(
        "the kernel takes {expected} bytes of parameters, but {given} were given; check the argument list"
    )]
    WrongParams {
        /// Bytes of the kernel's parameters.
        expected: u32,
        /// Bytes given.
        given: usize,
    },
    /// The code refers to a module variable or texture whose address was not given.
    #[error("{what} number {index} of the module has no address; load the module first")]
    Unresolved {
        /// "variable" or "texture".
        what: &'static str,
        /// Its index.
        index: u32,
    },
    /// The code itself is inconsistent: our lowering is at fault.
    #[error("the lowered code of `{kernel}` is inconsistent: {reason}")]
    BadProgram {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// A validated launch. Immutable while it runs, shared by all SMs.
#[derive(Clone, Debug)]
pub struct LaunchContext {
    pub(crate) program: Arc<Program>,
    /// The program's instructions, ready to execute.
    pub(crate) code: Arc<[Decoded]>,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) block_threads: u32,
    pub(crate) consts32: Vec<Lanes32>,
    pub(crate) consts64: Vec<Lanes64>,
    pub(crate) params: Vec<u8>,
    pub(crate) shared_bytes: u32,
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) textures: Arc<TextureTable>,
    pub(crate) grid_id: u64,
    pub(crate) code_offset: u64,
    pub(crate) workspace: u64,
    pub(crate) asid: u8,
    pub(crate) checks: Checks,
    pub(crate) branch_order: BranchOrder,
    pub(crate) barriers: u32,
    pub(crate) wide: Wide,
}

impl LaunchContext {
    /// Checks a launch and resolves the program's constants.
    pub fn new(program: Arc<Program>, spec: LaunchSpec) -> Result<Self, LaunchError> {
        check_program(&program)?;
        check_extents(&program, &spec)?;
        let shared_bytes = shared_bytes(&program, &spec)?;
        if spec.params.len() != program.param_bytes as usize {
            let expected = program.param_bytes;
            return Err(LaunchError::WrongParams {
                expected,
                given: spec.params.len(),
            });
        }
        let consts = program.consts.iter().map(|&c| resolve(c, &spec));
        let consts = consts.collect::<Result<Vec<u64>, _>>()?;
        let wide = Wide::of_host();
        Ok(Self {
            code: decode(&program, wide).into(),
            consts32: consts.iter().map(|&v| Lanes32([v as u32; 32])).collect(),
            consts64: consts.iter().map(|&v| Lanes64([v; 32])).collect(),
            grid: spec.grid,
            block: spec.block,
            block_threads: spec.block.count() as u32,
            params: spec.params,
            shared_bytes,
            dynamic_shared_bytes: spec.dynamic_shared_bytes,
            textures: spec.textures,
            grid_id: spec.grid_id,
            code_offset: spec.code_offset,
            workspace: spec.workspace,
            asid: spec.asid,
            checks: spec.checks,
            branch_order: spec.branch_order,
            barriers: spec.barriers.min(BARRIERS as u32),
            wide,
            program,
        })
    }

    /// The same launch, executed with those vector instructions alone that the program was compiled
    /// for. Results are the same: this is for tests that say so.
    pub fn plainly(mut self) -> Self {
        self.wide = Wide::Plain;
        self.code = decode(&self.program, self.wide).into();
        self
    }

    /// The same launch of another program with the same constants and parameters, such as a part
    /// of the kernel. It has no shared memory.
    ///
    /// # Panics
    /// If the constants or the parameters differ in number, or the code is inconsistent.
    pub fn with_program(&self, program: Arc<Program>) -> Self {
        assert_eq!(program.consts.len(), self.program.consts.len());
        assert_eq!(program.param_bytes, self.program.param_bytes);
        assert_eq!(check_program(&program), Ok(()));
        Self {
            code: decode(&program, self.wide).into(),
            program,
            shared_bytes: 0,
            ..self.clone()
        }
    }

    /// The eight bytes at an offset of the parameter buffer.
    pub fn param_u64(&self, offset: u32) -> Option<u64> {
        let bytes = self.params.get(offset as usize..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Address of a variable of the module that the code mentions.
    pub fn global_address(&self, index: u32) -> Option<u64> {
        let consts = self.program.consts.iter().zip(&self.consts64);
        consts.into_iter().find_map(|(value, lanes)| match value {
            ConstValue::Global(at, addend) if *at == index => {
                Some(lanes.0[0].wrapping_add_signed(-addend))
            }
            _ => None,
        })
    }

    /// Bytes of code in front of the kernel's in the program's memory for code.
    pub fn code_offset(&self) -> u64 {
        self.code_offset
    }

    /// The kernel.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Blocks of the grid.
    pub fn grid(&self) -> Dim3 {
        self.grid
    }

    /// Threads of a block.
    pub fn block(&self) -> Dim3 {
        self.block
    }

    /// Warps of a block, the last one possibly partly filled.
    pub fn warps_per_block(&self) -> u32 {
        self.block_threads.div_ceil(32)
    }

    /// Shared memory of a block in bytes, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// PTX line of an instruction, 0 if the pc lies outside the code.
    pub fn line(&self, pc: Pc) -> u32 {
        self.program
            .facts
            .get(pc.index())
            .map_or(0, |facts| facts.pos.line)
    }

    /// The process.
    pub fn asid(&self) -> u8 {
        self.asid
    }

    /// How SMs may run its warps ahead of each other.
    pub fn ahead(&self) -> Ahead {
        let of_code = self.code.iter().map(|decoded| Ahead::of(decoded.inst.op));
        match self.checks == Checks::default() {
            true => of_code.min().unwrap_or(Ahead::Kept),
            false => Ahead::Never,
        }
    }

    /// Optional checks in force.
    pub fn checks(&self) -> Checks {
        self.checks
    }
}

fn resolve(value: ConstValue, spec: &LaunchSpec) -> Result<u64, LaunchError> {
    let unresolved = |what, index| LaunchError::Unresolved { what, index };
    match value {
        ConstValue::Bits(bits) => Ok(bits),
        ConstValue::Global(index, addend) => {
            let base = spec
                .globals
                .get(index as usize)
                .ok_or(unresolved("variable", index))?;
            Ok(base.wrapping_add_signed(addend))
        }
        ConstValue::Texture(index) => {
            let handle = spec.texture_refs.get(index as usize);
            handle.copied().ok_or(unresolved("texture", index))
        }
    }
}

fn shared_bytes(program: &Program, spec: &LaunchSpec) -> Result<u32, LaunchError> {
    let align = u64::from(program.dynamic_shared_align.unwrap_or(1).max(1));
    let dynamic = spec.dynamic_shared_bytes;
    let start = match dynamic {
        0 => u64::from(program.shared_bytes),
        _ => u64::from(program.shared_bytes).next_multiple_of(align),
    };
    let needed = start + u64::from(dynamic);
    if needed > u64::from(spec.max_shared_bytes) {
        return Err(LaunchError::SharedTooLarge {
            needed,
            fixed: program.shared_bytes,
            dynamic,
            limit: spec.max_shared_bytes,
        });
    }
    Ok(needed as u32)
}

fn check_extents(program: &Program, spec: &LaunchSpec) -> Result<(), LaunchError> {
    let limit = Dim3::new(MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ);
    check_extent("grid", spec.grid, limit)?;
    check_extent("block", spec.block, Dim3::new(1024, 1024, 64))?;
    let threads = spec.block.count();
    let max = program
        .max_threads
        .map_or(u64::MAX, |[x, y, z]| Dim3::new(x, y, z).count());
    let limit = MAX_BLOCK_THREADS.min(max);
    if threads > limit {
        return Err(LaunchError::BlockTooLarge { threads, limit });
    }
    match program.required_threads.map(|[x, y, z]| Dim3::new(x, y, z)) {
        Some(required) if required != spec.block => Err(LaunchError::WrongBlock {
            required,
            given: spec.block,
        }),
        _ => Ok(()),
    }
}

fn check_extent(what: &'static str, size: Dim3, limit: Dim3) -> Result<(), LaunchError> {
    let inside = |given: u32, most: u32| (1..=most).contains(&given);
    if inside(size.x, limit.x) && inside(size.y, limit.y) && inside(size.z, limit.z) {
        Ok(())
    } else {
        Err(LaunchError::BadExtent { what, size, limit })
    }
}

/// Everything that `step` takes for granted of the code.
fn check_program(program: &Program) -> Result<(), LaunchError> {
    let bad = |reason| LaunchError::BadProgram {
        kernel: program.name.clone(),
        reason,
    };
    if program.insts.is_empty() {
        return Err(bad("it has no instructions"));
    }
    if program.facts.len() != program.insts.len() {
        return Err(bad("facts and instructions differ in number"));
    }
    let in_insts = program.insts.iter().all(|inst| {
        let guard = inst.guard.is_none_or(|guard| guard.pred.0 < program.preds);
        guard && valid_operands(program, &inst.dst, &inst.src)
    });
    let in_extras = program
        .extras
        .iter()
        .all(|e| valid_operands(program, &e.dsts, &e.srcs));
    if !in_insts || !in_extras {
        return Err(bad("an operand lies outside its table"));
    }
    Ok(())
}

fn valid_operands(program: &Program, dsts: &[Dst], srcs: &[Src]) -> bool {
    let dst = |dst: &Dst| match *dst {
        Dst::None => true,
        Dst::Reg(reg) => reg.0 < program.reg_slots,
        Dst::Pred(pred) => pred.0 < program.preds,
    };
    let src = |src: &Src| match *src {
        Src::None | Src::Special(_) => true,
        Src::Reg(reg) => reg.0 < program.reg_slots,
        Src::Pred(pred, _) => pred.0 < program.preds,
        Src::Const(index) => (index as usize) < program.consts.len(),
    };
    dsts.iter().all(dst) && srcs.iter().all(src)
}
