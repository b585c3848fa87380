//! State of an instruction during lowering: modifiers are taken one by one, and an instruction with
//! a modifier that was not taken is refused, so that no modifier is ignored by oversight.

use crate::error::{Res, invalid, unsupported};
use smallvec::SmallVec;
use warploom_diag::Span;
use warploom_ptx::ast::{Instruction, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Instruction with the set of its modifiers that were taken.
pub(crate) struct Form<'a> {
    /// Instruction as it was parsed.
    pub inst: &'a Instruction,
    taken: SmallVec<[bool; 8]>,
}

impl<'a> Form<'a> {
    pub(crate) fn new(inst: &'a Instruction) -> Self {
        Self {
            inst,
            taken: SmallVec::from_elem(false, inst.modifiers.len()),
        }
    }

    /// Opcode and modifiers as written.
    pub(crate) fn spelling(&self) -> String {
        spell(self.inst)
    }

    /// Place of opcode and modifiers.
    pub(crate) fn span(&self) -> Span {
        let last = self.inst.modifiers.last().map(|m| m.span);
        last.map_or(self.inst.opcode.span, |m| self.inst.opcode.span.to(m))
    }

    /// Takes a modifier. Returns false if the instruction does not have it.
    pub(crate) fn has(&mut self, wanted: Modifier) -> bool {
        self.take(|m| (m == wanted).then_some(())).is_some()
    }

    /// Takes the first modifier that `pick` knows.
    pub(crate) fn take<T>(&mut self, pick: impl Fn(Modifier) -> Option<T>) -> Option<T> {
        let mut untaken = (self.inst.modifiers.iter().zip(&mut self.taken)).filter(|(_, t)| !**t);
        untaken.find_map(|(modifier, taken)| {
            let value = pick(modifier.node)?;
            *taken = true;
            Some(value)
        })
    }

    /// Takes the first modifier that `pick` knows, or refuses the instruction because `what` is
    /// missing. An instruction with unknown modifiers is another form, which is not supported.
    pub(crate) fn need<T>(&mut self, what: &str, pick: impl Fn(Modifier) -> Option<T>) -> Res<T> {
        if let Some(found) = self.take(pick) {
            return Ok(found);
        }
        let mut left = self.inst.modifiers.iter().zip(&self.taken);
        let foreign = |m: Modifier| m.scalar_type().is_none() && m.space().is_none();
        if left.any(|(modifier, taken)| !taken && foreign(modifier.node)) {
            return self.unsupported();
        }
        let message = format!("`{}` lacks {what}", self.inst.opcode.node);
        Err(invalid("missing-modifier", self.inst.opcode.span, message))
    }

    /// Takes and ignores every modifier that `known` accepts: hints without effect on values.
    pub(crate) fn ignore(&mut self, known: impl Fn(Modifier) -> bool) {
        while self.take(|m| known(m).then_some(())).is_some() {}
    }

    /// Takes the next type.
    pub(crate) fn ty(&mut self) -> Res<ScalarType> {
        self.need("a type, such as `.u32`", Modifier::scalar_type)
    }

    /// Takes the state space, if one is written.
    pub(crate) fn space(&mut self) -> Option<Space> {
        self.take(Modifier::space)
    }

    /// Number of operands, the optional ones included.
    pub(crate) fn count(&self) -> usize {
        self.inst.operands.len()
    }

    /// Operand at a position.
    pub(crate) fn operand(&self, nth: usize) -> Res<&'a Spanned<Operand>> {
        self.inst.operands.get(nth).ok_or_else(|| {
            let message = format!(
                "`{}` needs at least {} operands, but has {}",
                self.spelling(),
                nth + 1,
                self.count()
            );
            invalid("operand-count", self.span().after(), message)
        })
    }

    /// Refuses operands beyond a number.
    pub(crate) fn at_most(&self, count: usize) -> Res<()> {
        match self.inst.operands.get(count) {
            None => Ok(()),
            Some(extra) => {
                let message = format!("`{}` takes {count} operands at most", self.spelling());
                Err(invalid("operand-count", extra.span, message))
            }
        }
    }

    /// Refuses an instruction with a modifier that was not taken, or with surplus operands.
    pub(crate) fn finish(&self, operands: usize) -> Res<()> {
        self.finish_modifiers()?;
        self.at_most(operands)
    }

    /// Refuses an instruction with a modifier that was not taken.
    pub(crate) fn finish_modifiers(&self) -> Res<()> {
        let mut left = self.inst.modifiers.iter().zip(&self.taken);
        match left.find(|(_, taken)| !**taken) {
            None => Ok(()),
            Some((modifier, _)) => {
                let what = format!("`{}` in `{}`", modifier.node, self.spelling());
                Err(unsupported(modifier.span, &what))
            }
        }
    }

    /// Refuses the instruction as a whole.
    pub(crate) fn unsupported<T>(&self) -> Res<T> {
        Err(unsupported(self.span(), &format!("`{}`", self.spelling())))
    }

    /// Refuses a type on which the instruction does not work.
    pub(crate) fn bad_type<T>(&self, ty: ScalarType) -> Res<T> {
        let place = self
            .inst
            .modifiers
            .iter()
            .find(|m| m.node == Modifier::Type(ty));
        let what = format!("type `.{ty}` in `{}`", self.spelling());
        Err(unsupported(place.map_or(self.span(), |m| m.span), &what))
    }
}

/// Opcode and modifiers as written.
pub(crate) fn spell(inst: &Instruction) -> String {
    let mut text = inst.opcode.node.to_string();
    for modifier in &inst.modifiers {
        text.push_str(&modifier.node.to_string());
    }
    text
}
