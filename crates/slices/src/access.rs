//! One load or store of global memory, and how much of it is known before it runs.

use crate::array::Base;
use crate::regular::Cause;
use std::fmt;
use warploom_base::Pc;
use warploom_ir::{Inst, MemSpace, MemTy, Op, Program, SourcePos};

/// How much of an access's addresses the address binary computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// The address follows from parameters, constants and indices.
    Regular {
        /// Whether it happens hangs on data: if it does, this is its address.
        conditional: bool,
        /// How often its loop runs hangs on data: the first time is known.
        first_only: bool,
    },
    /// The address hangs on data.
    Irregular,
    /// It stands in a function that the kernel calls; those are not sliced.
    InFunction,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular {
                first_only: true, ..
            } => "regular, first iteration",
            Self::Regular {
                conditional: true, ..
            } => "regular, if it happens",
            Self::Regular { .. } => "regular",
            Self::Irregular => "irregular",
            Self::InFunction => "in a function",
        })
    }
}

/// A load from or a store to global memory (or a generic address, which is taken for global).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Its place in the kernel.
    pub pc: Pc,
    /// Its place in the PTX file.
    pub pos: SourcePos,
    /// A store, not a load.
    pub store: bool,
    /// Bytes of a thread.
    pub bytes: u32,
    /// What is known.
    pub coverage: Coverage,
    /// Why nothing is known of an irregular address.
    pub cause: Option<Cause>,
    /// The pointer that a regular address starts from, if it is one.
    pub base: Option<Base>,
}

impl Access {
    /// The access that an instruction makes, if it is a global one.
    pub(crate) fn of(pc: Pc, inst: &Inst, kernel: &Program) -> Option<Self> {
        let of = |ty: MemTy| u32::from(ty.bytes) * u32::from(ty.count);
        let (space, bytes, store) = match inst.op {
            Op::Ld(space, ty, _) => (space, of(ty), false),
            Op::St(space, ty, _) => (space, of(ty), true),
            Op::CopyAsync { bytes, .. } => (MemSpace::Global, bytes.into(), false),
            _ => return None,
        };
        matches!(space, MemSpace::Global | MemSpace::Generic).then(|| Self {
            pc,
            pos: kernel.facts[pc.index()].pos,
            store,
            bytes,
            coverage: Coverage::Irregular,
            cause: None,
            base: None,
        })
    }

    /// Its address is computed ahead.
    pub fn is_regular(&self) -> bool {
        matches!(self.coverage, Coverage::Regular { .. })
    }
}

/// Why an access of a kernel is irregular, in words.
pub fn reason(access: &Access, kernel: &Program) -> Option<String> {
    let line = |pc: Pc| kernel.facts[pc.index()].pos.line;
    Some(match access.cause? {
        Cause::Value(pc) => {
            let what = yields(&kernel.insts[pc.index()]);
            format!("the address hangs on {what} in line {}", line(pc))
        }
        Cause::Branch(pc) => format!(
            "the address hangs on the branch in line {}, which hangs on data",
            line(pc)
        ),
        Cause::Paths => "the address hangs on which paths ran before".to_owned(),
        Cause::Narrow => "the address has 32 bits".to_owned(),
    })
}

fn yields(inst: &Inst) -> &'static str {
    match inst.op {
        Op::Ld(..) | Op::CopyAsync { .. } | Op::LdMatrix(..) | Op::Surf { .. } => "a load",
        Op::Atom(..) | Op::Mbarrier(..) => "an atomic",
        Op::Tex { .. } | Op::Tld4 { .. } | Op::Txq(_) => "a texture",
        Op::Call | Op::CallIndirect | Op::System(_) => "a call",
        Op::Barrier(_) => "a barrier's vote",
        Op::Vote(_) | Op::Match(..) | Op::Shfl(_) | Op::Activemask | Op::Redux(..) | Op::Elect => {
            "an exchange between lanes"
        }
        Op::AddC { .. } | Op::SubC { .. } | Op::MadC { .. } => "a carry",
        _ => "a register of the machine",
    }
}
