//! Constants and long operand lists of one kernel, which its functions share.

use crate::error::{Res, unsupported};
use rustc_hash::FxHashMap;
use warploom_diag::Span;
use warploom_ir::{ConstValue, Extra, ExtraOperands, Src};

/// Pools that grow while functions are lowered. Equal constants share an entry.
#[derive(Default, Debug)]
pub(crate) struct Pools {
    /// Values of constants, by index.
    pub consts: Vec<ConstValue>,
    /// Long operand lists, by index.
    pub extras: Vec<ExtraOperands>,
    known: FxHashMap<ConstValue, u16>,
}

impl Pools {
    /// Operand that reads a constant.
    pub(crate) fn constant(&mut self, value: ConstValue, span: Span) -> Res<Src> {
        if let Some(&index) = self.known.get(&value) {
            return Ok(Src::Const(index));
        }
        let index = u16::try_from(self.consts.len())
            .map_err(|_| unsupported(span, "more than 65,536 different constants in a kernel"))?;
        self.consts.push(value);
        self.known.insert(value, index);
        Ok(Src::Const(index))
    }

    /// Stores a long operand list.
    pub(crate) fn extra(&mut self, operands: ExtraOperands) -> Extra {
        self.extras.push(operands);
        Extra(self.extras.len() as u32 - 1)
    }
}
