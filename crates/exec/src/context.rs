//! A launch that is ready to execute: its data and its decoded instructions.

use crate::decode::{Decoded, decode};
use crate::host_isa::VectorIsa;
use crate::launch::{KernelLaunch, LaunchError, LaunchSpec, check_program};
use crate::lookahead::Lookahead;
use crate::matrix_places::MatrixPlaces;
use crate::texture_reads::can_be_kept;
use std::ops::Deref;
use std::sync::Arc;
use warploom_base::Pc;
use warploom_ir::{Op, Program};

/// A validated launch with its decoded instructions. Immutable while it runs, shared by all SMs.
#[derive(Clone, Debug)]
pub struct LaunchContext {
    launch: KernelLaunch,
    /// The program's instructions, ready to execute.
    pub(crate) code: Arc<[Decoded]>,
}

/// True for an operation that reads texels.
const fn fetches_texels(op: Op) -> bool {
    matches!(op, Op::Tex { .. } | Op::Tld4 { .. })
}

impl Deref for LaunchContext {
    type Target = KernelLaunch;

    fn deref(&self) -> &KernelLaunch {
        &self.launch
    }
}

impl LaunchContext {
    /// Checks a launch, resolves the program's constants and decodes its instructions.
    pub fn new(program: Arc<Program>, spec: LaunchSpec) -> Result<Self, LaunchError> {
        let launch = KernelLaunch::new(program, spec)?;
        let code = decode(&launch.program, launch.isa).into();
        Ok(Self { launch, code })
    }

    /// Returns the same launch, executed only with the vector instructions for which the simulator
    /// was compiled. Used by tests which show that the results are equal.
    pub fn with_baseline_isa(mut self) -> Self {
        self.launch.isa = VectorIsa::Baseline;
        self.code = decode(&self.launch.program, VectorIsa::Baseline).into();
        self
    }

    /// Returns the same launch for another program with the same constants and parameters, such as
    /// a part of the kernel. The result has no shared memory.
    ///
    /// # Panics
    /// Panics if the constants or the parameters differ in number, or if the code is inconsistent.
    pub fn with_program(&self, program: Arc<Program>) -> Self {
        assert_eq!(program.consts.len(), self.program.consts.len());
        assert_eq!(program.param_bytes, self.program.param_bytes);
        assert_eq!(check_program(&program), Ok(()));
        Self {
            code: decode(&program, self.isa).into(),
            launch: KernelLaunch {
                matrices: MatrixPlaces::new(&program),
                program,
                shared_bytes: 0,
                ..self.launch.clone()
            },
        }
    }

    /// The launch with code in which values that are the same for all its threads are constants.
    /// The second result is true if no thread then reads a register before it has written it, so
    /// that warps may [begin](crate::WarpState::begin) with any contents. `None` if this takes more
    /// time than it saves, or if instructions read registers of lanes that do not execute them.
    pub fn folded(&self) -> Option<(Self, bool)> {
        let folded = crate::fold::folded(self, self.grid().count())?;
        Some((folded.ctx, folded.writes_first))
    }

    /// The launch with other code of the same length.
    pub(crate) fn with_code(launch: KernelLaunch, code: Vec<Decoded>) -> Self {
        Self {
            launch,
            code: code.into(),
        }
    }

    /// How far SMs may run ahead of each other in the kernel: as its most demanding instruction
    /// allows.
    pub fn lookahead(&self) -> Lookahead {
        // Blocks read and write shared memory of other SMs.
        if self.cluster.are_several() {
            return Lookahead::Never;
        }
        let of_code = self.code.iter().map(|decoded| self.lookahead_of(decoded));
        of_code.min().unwrap_or(Lookahead::Repeated)
    }

    /// True if the instruction needs memory with all stores and atomics of earlier cycles.
    pub fn needs_settled(&self, pc: Pc) -> bool {
        let decoded = self.code.get(pc.index());
        decoded.is_some_and(|decoded| self.lookahead_of(decoded) == Lookahead::Settled)
    }

    fn lookahead_of(&self, decoded: &Decoded) -> Lookahead {
        let inst = &decoded.inst;
        let extra = self.program.extras.get(inst.extra.0 as usize);
        match fetches_texels(inst.op) && !can_be_kept(inst, extra) {
            true => Lookahead::Settled,
            false => Lookahead::of(inst.op, self.checks),
        }
    }

    /// True if the kernel fetches texels.
    pub fn fetches_texels(&self) -> bool {
        let mut code = self.code.iter();
        code.any(|decoded| fetches_texels(decoded.inst.op))
    }
}
