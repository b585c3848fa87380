//! Data of a kernel launch that is the same for all blocks of the grid. Validated once and then
//! read by every [`step()`](crate::step()).

use crate::fault::{Checks, in_brackets};
use crate::host_isa::VectorIsa;
use crate::matrix_places::MatrixPlaces;
use crate::memory::texture_table::TextureTable;
use crate::state::barrier::BARRIERS;
use crate::state::cluster::{ClusterShape, ImpossibleCluster};
use crate::state::registers::{Lanes32, Lanes64};
use crate::state::stack::BranchOrder;
use std::sync::Arc;
use warploom_base::{Dim3, Pc};
use warploom_ir::{ConstValue, Dst, Program, Src};

/// Maximum number of threads in a block.
pub const MAX_BLOCK_THREADS: u64 = 1024;
/// Maximum x extent of a grid. The y and z extents are limited to 65,535.
const MAX_GRID_X: u32 = i32::MAX as u32;
const MAX_GRID_YZ: u32 = 65_535;

/// Description of a launch by its caller.
#[derive(Clone, Debug, Default)]
pub struct LaunchSpec {
    /// Extents of the grid in blocks.
    pub grid: Dim3,
    /// Extents of a block in threads.
    pub block: Dim3,
    /// Extents of a cluster in blocks, if the launch states them. Otherwise those of the kernel's
    /// `.reqnctapercluster` count, or a cluster is one block.
    pub cluster: Option<Dim3>,
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_shared_bytes: u32,
    /// Maximum shared memory of a block on this GPU in bytes.
    pub max_shared_bytes: u32,
    /// Number of named barriers of a block on this GPU, at most [`crate::BARRIERS`].
    pub barriers: u32,
    /// Parameter buffer, laid out as [`Program::params`] describes.
    pub params: Vec<u8>,
    /// Address of each variable of the module, in the order of `ModuleIr::globals`.
    pub globals: Vec<u64>,
    /// Handle of each texture reference of the module, in the order of `ModuleIr::textures`.
    pub texture_refs: Vec<u64>,
    /// Textures, indexed by handle.
    pub textures: Arc<TextureTable>,
    /// Number of the launch (`%gridid`).
    pub grid_id: u64,
    /// Number of instructions that precede the kernel's in the code memory of the program.
    pub instructions_before: u64,
    /// Address of the workspace that grid barriers of a cooperative launch use, or 0.
    pub workspace: u64,
    /// Identifier of the process's address space.
    pub asid: u8,
    /// Optional checks of the launch.
    pub checks: Checks,
    /// Side of a divergent branch that runs first.
    pub branch_order: BranchOrder,
}

/// Reason for which a kernel cannot be launched.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LaunchError {
    /// An extent of the grid or of the block is zero or exceeds its limit.
    #[error(
        "the {what} {size} has an extent of zero or beyond the limit {limit}; choose extents from 1 to the limit"
    )]
    BadExtent {
        /// Object with the wrong extent: "grid" or "block".
        what: &'static str,
        /// Extents given by the caller.
        size: Dim3,
        /// Maximum extent on each axis.
        limit: Dim3,
    },
    /// The block has too many threads.
    #[error("a block of {threads} threads exceeds the limit of {limit}; use a smaller block")]
    BlockTooLarge {
        /// Number of threads of the block.
        threads: u64,
        /// Maximum number of threads, given by the hardware or by `.maxntid`.
        limit: u64,
    },
    /// The block size differs from the one that the kernel's `.reqntid` requires.
    #[error("the kernel requires blocks of {required}, not {given} (`.reqntid`)")]
    WrongBlock {
        /// Block size required by `.reqntid`.
        required: Dim3,
        /// Block size given by the caller.
        given: Dim3,
    },
    /// The clusters of the launch are not possible.
    #[error("clusters of {} blocks in a grid of {}: {}", .0.cluster, .0.grid, .0.reason)]
    BadCluster(ImpossibleCluster),
    /// A block needs more shared memory than the GPU has.
    #[error(
        "a block needs {needed} bytes of shared memory ({fixed} static, {dynamic} dynamic), but the limit is {limit}"
    )]
    SharedTooLarge {
        /// Total shared memory of a block in bytes.
        needed: u64,
        /// Static shared memory in bytes.
        fixed: u32,
        /// Dynamic shared memory in bytes.
        dynamic: u32,
        /// Maximum shared memory of a block in bytes.
        limit: u32,
    },
    /// The parameter buffer has the wrong size.
    #[error(
        "the kernel takes {expected} bytes of parameters, but {given} were given; check the argument list"
    )]
    WrongParams {
        /// Size of the kernel's parameters in bytes.
        expected: u32,
        /// Size of the given buffer in bytes.
        given: usize,
    },
    /// The code refers to a module variable or texture for which no address was given.
    #[error("{what} number {index} of the module has no address; load the module first")]
    Unresolved {
        /// Kind of the object: "variable" or "texture".
        what: &'static str,
        /// Index of the object in the module.
        index: u32,
    },
    /// The lowered code violates an invariant, which is an error of the simulator.
    #[error("the lowered code of `{kernel}` is inconsistent: {reason}")]
    BadProgram {
        /// Name of the kernel.
        kernel: String,
        /// Description of the violated invariant.
        reason: &'static str,
    },
}

/// A validated kernel launch without its decoded instructions. Immutable while the kernel runs, and
/// shared by all SMs.
#[derive(Clone, Debug)]
pub struct KernelLaunch {
    pub(crate) program: Arc<Program>,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) block_threads: u32,
    pub(crate) cluster: ClusterShape,
    pub(crate) consts32: Vec<Lanes32>,
    pub(crate) consts64: Vec<Lanes64>,
    pub(crate) params: Vec<u8>,
    pub(crate) shared_bytes: u32,
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) textures: Arc<TextureTable>,
    pub(crate) grid_id: u64,
    pub(crate) instructions_before: u64,
    pub(crate) workspace: u64,
    pub(crate) asid: u8,
    pub(crate) checks: Checks,
    pub(crate) branch_order: BranchOrder,
    pub(crate) barriers: u32,
    pub(crate) isa: VectorIsa,
    /// Places of the elements of the program's products of matrices.
    pub(crate) matrices: MatrixPlaces,
}

impl From<ImpossibleCluster> for LaunchError {
    fn from(cluster: ImpossibleCluster) -> Self {
        Self::BadCluster(cluster)
    }
}

impl KernelLaunch {
    /// Validates a launch and resolves the program's constants.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] if an extent, the shared memory, the parameters or the code is
    /// invalid.
    pub fn new(program: Arc<Program>, spec: LaunchSpec) -> Result<Self, LaunchError> {
        check_program(&program)?;
        let cluster = ClusterShape::new(&program, spec.grid, spec.cluster)?;
        let spec = LaunchSpec {
            grid: cluster.grid,
            ..spec
        };
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
        let isa = VectorIsa::detect();
        Ok(Self {
            consts32: consts.iter().map(|&v| Lanes32([v as u32; 32])).collect(),
            consts64: consts.iter().map(|&v| Lanes64([v; 32])).collect(),
            grid: spec.grid,
            block: spec.block,
            block_threads: spec.block.count() as u32,
            cluster,
            params: spec.params,
            shared_bytes,
            dynamic_shared_bytes: spec.dynamic_shared_bytes,
            textures: spec.textures,
            grid_id: spec.grid_id,
            instructions_before: spec.instructions_before,
            workspace: spec.workspace,
            asid: spec.asid,
            checks: spec.checks,
            branch_order: spec.branch_order,
            barriers: spec.barriers.min(BARRIERS as u32),
            isa,
            matrices: MatrixPlaces::new(&program),
            program,
        })
    }

    /// Eight bytes at an offset of the parameter buffer, as a little-endian number. `None` if they
    /// are not inside the buffer.
    pub fn param_u64(&self, offset: u32) -> Option<u64> {
        let bytes = self.params.get(offset as usize..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Address of a module variable. `None` if the code does not refer to the variable.
    pub fn global_address(&self, index: u32) -> Option<u64> {
        let consts = self.program.consts.iter().zip(&self.consts64);
        consts.into_iter().find_map(|(value, lanes)| match value {
            ConstValue::Global(at, addend) if *at == index => {
                Some(lanes.0[0].wrapping_add_signed(-addend))
            }
            _ => None,
        })
    }

    /// Number of instructions that precede the kernel's in the code memory of the program.
    pub fn instructions_before(&self) -> u64 {
        self.instructions_before
    }

    /// Lowered program of the kernel.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Extents of the grid in blocks.
    pub fn grid(&self) -> Dim3 {
        self.grid
    }

    /// Extents of a block in threads.
    pub fn block(&self) -> Dim3 {
        self.block
    }

    /// Clusters of the grid.
    pub fn cluster(&self) -> &ClusterShape {
        &self.cluster
    }

    /// Index of the block of a rank in the grid. Blocks of a cluster follow each other. Without
    /// clusters the order is that of the grid, x fastest.
    pub fn block_at(&self, rank: u64) -> Dim3 {
        self.cluster.block_at(rank)
    }

    /// Number of blocks that are spread over all SMs, which limits those of an SM in small grids.
    /// No limit where clusters have several blocks, because those share a GPC.
    pub fn spread_blocks(&self) -> u64 {
        match self.cluster.are_several() {
            true => u64::MAX,
            false => self.grid.count(),
        }
    }

    /// Number of warps of a block. The last one may be partly filled.
    pub fn warps_per_block(&self) -> u32 {
        self.block_threads.div_ceil(32)
    }

    /// Shared memory of a block in bytes, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// PTX line of the instruction at `pc`, or 0 if `pc` is outside of the code, and its place in
    /// the file from which a compiler made the PTX, such as `14 (saxpy.cu:12)`.
    pub fn line(&self, pc: Pc) -> String {
        let facts = self.program.facts.get(pc.index());
        let line = facts.map_or(0, |facts| facts.pos.line);
        let written = self.program.written_at(pc);
        format!("{line}{}", in_brackets(written.as_deref()))
    }

    /// Identifier of the process's address space.
    pub fn asid(&self) -> u8 {
        self.asid
    }

    /// True for a cooperative launch, whose blocks may wait for each other.
    #[inline]
    pub fn is_cooperative(&self) -> bool {
        self.workspace != 0
    }

    /// Optional checks of the launch.
    pub fn checks(&self) -> Checks {
        self.checks
    }
}

/// Value of a constant of the program: a number, the address of a variable or the handle of a
/// texture.
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
        ConstValue::Param(param) => {
            let value = param.of(&spec.params);
            value.ok_or(unresolved("parameter", param.offset))
        }
    }
}

/// Shared memory of a block in bytes: the static part, aligned, and the dynamic part.
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

/// Checks the extents of the grid and of a block against the GPU's limits and the kernel's
/// directives.
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

/// Checks that each extent is between 1 and its limit.
fn check_extent(what: &'static str, size: Dim3, limit: Dim3) -> Result<(), LaunchError> {
    let inside = |given: u32, most: u32| (1..=most).contains(&given);
    if inside(size.x, limit.x) && inside(size.y, limit.y) && inside(size.z, limit.z) {
        Ok(())
    } else {
        Err(LaunchError::BadExtent { what, size, limit })
    }
}

/// Checks the properties of the code that [`step`](crate::step()) relies on.
pub(crate) fn check_program(program: &Program) -> Result<(), LaunchError> {
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

/// True if every register, predicate and constant operand is inside its table.
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
