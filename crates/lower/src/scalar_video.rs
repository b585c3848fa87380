//! Video instructions on one lane (PTX ISA, "Scalar Video Instructions").

use crate::builder::Builder;
use crate::compare;
use crate::error::{Res, invalid};
use crate::form::Form;
use crate::video::signed;
use warploom_ir::{Addend, Dst, Op, Part, ScalarVideo, ScalarVideoOp, Second, Src, VideoMad};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

const WORD: ScalarType = ScalarType::B32;

/// Lowers `vadd`, `vsub`, `vabsdiff`, `vmin` and `vmax`.
pub(crate) fn arithmetic(b: &mut Builder, form: &mut Form) -> Res<()> {
    let op = match form.inst.opcode.node {
        Opcode::Vadd => ScalarVideoOp::Add,
        Opcode::Vsub => ScalarVideoOp::Sub,
        Opcode::Vabsdiff => ScalarVideoOp::AbsDiff,
        Opcode::Vmin => ScalarVideoOp::Min,
        _ => ScalarVideoOp::Max,
    };
    lower(b, form, op)
}

/// Lowers `vshl` and `vshr`.
pub(crate) fn shift(b: &mut Builder, form: &mut Form) -> Res<()> {
    let wrap = form.need("`.clamp` or `.wrap`", |m| match m {
        Modifier::Clamp => Some(false),
        Modifier::Wrap => Some(true),
        _ => None,
    })?;
    let op = match form.inst.opcode.node {
        Opcode::Vshl => ScalarVideoOp::Shl(wrap),
        _ => ScalarVideoOp::Shr(wrap),
    };
    lower(b, form, op)
}

/// Lowers `vset`, whose result has no type: the result and the third operand are unsigned.
pub(crate) fn set(b: &mut Builder, form: &mut Form) -> Res<()> {
    let cmp = form.need("a comparison, such as `.lt`", compare::cmp)?;
    lower(b, form, ScalarVideoOp::Set(cmp))
}

fn second(modifier: Modifier) -> Option<Second> {
    Some(match modifier {
        Modifier::Add => Second::Add,
        Modifier::Min => Second::Min,
        Modifier::Max => Second::Max,
        _ => return None,
    })
}

fn lower(b: &mut Builder, form: &mut Form, op: ScalarVideoOp) -> Res<()> {
    let d_signed = match op {
        ScalarVideoOp::Set(_) => false,
        _ => signed(form)?,
    };
    let (a_signed, b_signed) = (signed(form)?, signed(form)?);
    let second = form.take(second).unwrap_or(Second::None);
    let sat = form.has(Modifier::Sat);
    let [d, x, y] = [0, 1, 2].map(|nth| form.operand(nth).and_then(part));
    let ((d, d_part, _), (x, a, _), (y, b_part, _)) = (d?, x?, y?);
    let combines = second != Second::None;
    if combines && d_part != Part::Word {
        let message = format!("`{}` writes no part of a register", form.spelling());
        return Err(invalid("bad-selector", d.span, message));
    }
    // A third source without a use is accepted, as by NVIDIA's assembler, and has no effect.
    let third = combines || d_part != Part::Word;
    form.finish(4)?;
    let dst = b.dst(&d, WORD)?;
    let c = match third {
        true => b.src(form.operand(3)?, WORD)?,
        false => b.bits(0)?,
    };
    let how = ScalarVideo {
        a,
        b: b_part,
        d: d_part,
        a_signed,
        b_signed,
        d_signed,
        sat,
        second,
    };
    let src = [b.src(&x, WORD)?, b.src(&y, WORD)?, c];
    emit(b, Op::ScalarVideo(op), dst, &src, how.imm());
    Ok(())
}

pub(crate) fn mad(b: &mut Builder, form: &mut Form) -> Res<()> {
    signed(form)?;
    let (a_signed, b_signed) = (signed(form)?, signed(form)?);
    let sat = form.has(Modifier::Sat);
    let one_more = form.has(Modifier::Po);
    let shift = form.take(|m| match m {
        Modifier::Shr7 => Some(7),
        Modifier::Shr15 => Some(15),
        _ => None,
    });
    form.finish(4)?;
    let [x, y, z] = [1, 2, 3].map(|nth| form.operand(nth).and_then(part));
    let ((x, a, x_negated), (y, b_part, y_negated), (z, z_part, z_negated)) = (x?, y?, z?);
    let addend = match (x_negated != y_negated, z_negated, one_more) {
        (false, false, false) => Addend::Plain,
        (false, false, true) if !x_negated => Addend::PlusOne,
        (true, false, false) => Addend::ProductNegated,
        (false, true, false) => Addend::AddendNegated,
        _ => {
            let message = format!("`{}` negates one thing at most", form.spelling());
            return Err(invalid("operand-kind", form.span(), message));
        }
    };
    if z_part != Part::Word {
        let message = format!("`{}` adds a whole register", form.spelling());
        return Err(invalid("bad-selector", z.span, message));
    }
    let how = VideoMad {
        a,
        b: b_part,
        a_signed,
        b_signed,
        sat,
        addend,
        shift: shift.unwrap_or(0),
    };
    let dst = b.dst(form.operand(0)?, WORD)?;
    let src = [b.src(&x, WORD)?, b.src(&y, WORD)?, b.src(&z, WORD)?];
    emit(b, Op::VideoMad, dst, &src, how.imm());
    Ok(())
}

fn emit(b: &mut Builder, op: Op, dst: Dst, src: &[Src], imm: i32) {
    b.emit(op, &[dst], src).imm = imm;
}

/// Operand without its selector, the part that the selector chooses, and true if it is negated.
fn part(operand: &Spanned<Operand>) -> Res<(Spanned<Operand>, Part, bool)> {
    let Operand::Selected {
        name,
        negated,
        selector,
    } = &operand.node
    else {
        return Ok((operand.clone(), Part::Word, false));
    };
    let part = match selector.as_deref() {
        None => Part::Word,
        Some("h0") => Part::Half(0),
        Some("h1") => Part::Half(1),
        Some("b0") => Part::Byte(0),
        Some("b1") => Part::Byte(1),
        Some("b2") => Part::Byte(2),
        Some("b3") => Part::Byte(3),
        Some(selector) => {
            let message = format!("`.{selector}` selects no byte and no half of a register");
            return Err(invalid("bad-selector", operand.span, message));
        }
    };
    let register = Spanned {
        node: Operand::Name(name.clone()),
        span: operand.span,
    };
    Ok((register, part, *negated))
}
