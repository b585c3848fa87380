//! Video instructions on two and four lanes (PTX ISA 9.7.19).

use crate::builder::Builder;
use crate::compare;
use crate::error::{Res, invalid};
use crate::form::Form;
use warploom_ir::{Op, Video, VideoLanes, VideoOp, VideoParts};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType};

const WORD: ScalarType = ScalarType::B32;

/// Takes the next type. Returns true if it is signed.
pub(crate) fn signed(form: &mut Form) -> Res<bool> {
    let ty = form.ty()?;
    match ty {
        ScalarType::U32 => Ok(false),
        ScalarType::S32 => Ok(true),
        _ => form.bad_type(ty),
    }
}

/// Lowers `vset2` and `vset4`, whose result has no type.
pub(crate) fn set(b: &mut Builder, form: &mut Form, lanes: VideoLanes) -> Res<()> {
    let cmp = form.need("a comparison, such as `.lt`", compare::cmp)?;
    lower(b, form, VideoOp::Set(cmp), lanes, false)
}

/// Lowers the other packed video instructions.
pub(crate) fn video(b: &mut Builder, form: &mut Form, op: VideoOp, lanes: VideoLanes) -> Res<()> {
    let d_signed = signed(form)?;
    lower(b, form, op, lanes, d_signed)
}

fn lower(
    b: &mut Builder,
    form: &mut Form,
    op: VideoOp,
    lanes: VideoLanes,
    d_signed: bool,
) -> Res<()> {
    let video = Video {
        op,
        lanes,
        a_signed: signed(form)?,
        b_signed: signed(form)?,
        d_signed,
        sat: form.has(Modifier::Sat),
        add: form.has(Modifier::Add),
    };
    form.finish(4)?;
    let [(d, mask), (x, of_x), (y, of_y)] = [
        selected(form.operand(0)?),
        selected(form.operand(1)?),
        selected(form.operand(2)?),
    ];
    // Without selectors, the lanes are those of the source's own register, and all are written.
    let first = lanes.count() as u8;
    let sources = [source(lanes, &x, of_x, 0)?, source(lanes, &y, of_y, first)?];
    let mask = mask.map_or(Ok((1 << first) - 1), |chosen| mask_of(lanes, &d, chosen))?;
    let dst = b.dst(&d, WORD)?;
    let src = [
        b.src(&x, WORD)?,
        b.src(&y, WORD)?,
        b.src(form.operand(3)?, WORD)?,
    ];
    b.emit(Op::Video(video), &[dst], &src).imm = VideoParts::new(mask, sources).imm();
    Ok(())
}

/// Operand without its selector, and the selector.
fn selected(operand: &Spanned<Operand>) -> (Spanned<Operand>, Option<&str>) {
    match &operand.node {
        Operand::Selected {
            name,
            negated: false,
            selector,
        } => {
            let register = Spanned {
                node: Operand::Name(name.clone()),
                span: operand.span,
            };
            (register, selector.as_deref())
        }
        _ => (operand.clone(), None),
    }
}

/// Numbers of lanes below `end` from the selector's text, which has lane 0 last.
fn digits(lanes: VideoLanes, at: &Spanned<Operand>, selector: &str, end: u32) -> Res<Vec<u8>> {
    let letter = match lanes {
        VideoLanes::Two => 'h',
        VideoLanes::Four => 'b',
    };
    let digits = selector.strip_prefix(letter).unwrap_or_default();
    let numbers = digits.bytes().rev().map(|digit| digit.wrapping_sub(b'0'));
    let numbers: Vec<u8> = numbers.collect();
    if numbers.is_empty() || numbers.iter().any(|&number| u32::from(number) >= end) {
        let message = format!("`.{selector}` selects no lanes of this instruction");
        return Err(invalid("bad-selector", at.span, message));
    }
    Ok(numbers)
}

fn source(
    lanes: VideoLanes,
    at: &Spanned<Operand>,
    selector: Option<&str>,
    first: u8,
) -> Res<[u8; 4]> {
    let count = lanes.count() as usize;
    let mut all = [0, 1, 2, 3].map(|lane| first + lane);
    if let Some(selector) = selector {
        let chosen = digits(lanes, at, selector, 2 * lanes.count())?;
        if chosen.len() != count {
            let message = format!("`.{selector}` must choose {count} lanes");
            return Err(invalid("bad-selector", at.span, message));
        }
        all[..count].copy_from_slice(&chosen);
    }
    Ok(all)
}

fn mask_of(lanes: VideoLanes, at: &Spanned<Operand>, selector: &str) -> Res<u8> {
    let chosen = digits(lanes, at, selector, lanes.count())?;
    Ok(chosen.into_iter().fold(0, |mask, lane| mask | 1 << lane))
}
