//! A program as text, for people and tests: `{}` lists the code, `{:#}` adds the facts of every
//! instruction.
//!
//! `r4` is slot 4 (a 64-bit value takes r4 and r5), `p1` a predicate, `#0x10` a literal, `&g0+4`
//! the address of variable 0 plus 4, `&t0` texture 0, `param[8]` the parameter at byte 8. `-> 7` is
//! the target of a branch, `meet 9` its reconvergence point.

use crate::convert::CvtRound;
use crate::inst::{Dst, Inst, Src};
use crate::op::{FloatMods, MemTy, Op};
use crate::program::{Callee, ConstValue, ExtraOperands, Frame, InstFacts, Program};
use crate::scalar_video::{ScalarVideo, VideoMad};
use std::fmt::{self, Debug, Display, Formatter};
use warploom_base::Pc;

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_header(f)?;
        let mut functions = self.functions.iter().peekable();
        for (at, inst) in self.insts.iter().enumerate() {
            while functions.peek().is_some_and(|(pc, _)| pc.index() == at) {
                let name = functions.next().map_or("", |(_, name)| name);
                writeln!(f, "{name}:")?;
            }
            write!(f, "{at:4}: ")?;
            self.write_inst(f, inst)?;
            if let Some(meet) = self.facts[at].reconverge {
                write!(f, " meet {}", meet.0)?;
            }
            writeln!(f)?;
            if f.alternate() {
                writeln!(f, "        {}", self.facts[at])?;
            }
        }
        Ok(())
    }
}

impl Program {
    fn write_header(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "kernel {}: {} slots, {} predicates, {} registers per thread",
            self.name, self.reg_slots, self.preds, self.registers_per_thread
        )?;
        for param in &self.params {
            writeln!(
                f,
                "param {} at {}: {} bytes, {:?}",
                param.name, param.offset, param.bytes, param.kind
            )?;
        }
        if self.shared_bytes > 0 || self.dynamic_shared_align.is_some() {
            write!(f, "shared {} bytes", self.shared_bytes)?;
            if let Some(align) = self.dynamic_shared_align {
                write!(f, ", dynamic aligned to {align}")?;
            }
            writeln!(f)?;
        }
        if self.local_bytes > 0 {
            writeln!(f, "local {} bytes", self.local_bytes)?;
        }
        if self.stack_bytes > 0 {
            writeln!(f, "stack {} bytes", self.stack_bytes)?;
        }
        Ok(())
    }

    fn write_inst(&self, f: &mut Formatter<'_>, inst: &Inst) -> fmt::Result {
        if let Some(guard) = inst.guard {
            let not = if guard.negated { "!" } else { "" };
            write!(f, "@{not}p{} ", guard.pred.0)?;
        }
        write_op(f, inst.op)?;
        let extra = (self.extras.get(inst.extra.0 as usize)).cloned();
        let extra = extra.unwrap_or_default();
        write_list(f, " ", inst.dst.iter().copied().filter(|d| *d != Dst::None))?;
        write_list(f, " ", extra.dsts.iter().copied())?;
        let sources = inst.src.iter().rposition(|s| *s != Src::None);
        let sources = &inst.src[..sources.map_or(0, |last| last + 1)];
        let shown = |src: &Src| Shown(self, *src);
        write_list(f, " <- ", sources.iter().map(shown))?;
        write_list(f, " .. ", extra.srcs.iter().map(shown))?;
        write_place(f, inst, &extra)
    }
}

/// Writes an operation. Of a conversion, which has most settings, only those in use are named.
fn write_op(f: &mut Formatter<'_>, op: Op) -> fmt::Result {
    let Op::Cvt {
        to,
        from,
        round,
        ftz,
        sat,
    } = op
    else {
        return write!(f, "{op:?}");
    };
    write!(f, "Cvt({to:?}, {from:?}")?;
    if round != CvtRound::None {
        write!(f, ", {round:?}")?;
    }
    for (holds, name) in [(ftz, "ftz"), (sat, "sat")] {
        if holds {
            write!(f, ", {name}")?;
        }
    }
    write!(f, ")")
}

/// Writes branch target, address offset and copies.
fn write_place(f: &mut Formatter<'_>, inst: &Inst, extra: &ExtraOperands) -> fmt::Result {
    match inst.op {
        Op::Bra(_) | Op::Call => write!(f, " -> {}", inst.imm)?,
        Op::Video(_) => write!(f, " lanes {:#x}", inst.imm)?,
        Op::ScalarVideo(_) => write!(f, " {:?}", ScalarVideo::of_imm(inst.imm))?,
        Op::VideoMad => write!(f, " {:?}", VideoMad::of_imm(inst.imm))?,
        Op::CallIndirect => {
            let places = extra.callees.iter();
            let place = |c: &Callee| format!("{} at {:#x}", c.target.0, c.address);
            write_list(f, " -> ", places.map(place))?;
        }
        Op::BrxIdx => write_list(f, " -> ", extra.targets.iter().map(|Pc(pc)| pc))?,
        op if op.has_address() => {
            write!(f, " [{:+}]", inst.imm)?;
            if !inst.wide_addr {
                write!(f, " narrow address")?;
            }
        }
        _ => {}
    }
    extra
        .callees
        .iter()
        .try_for_each(|callee| write_entry(f, callee))
}

/// Writes how a function is entered.
fn write_entry(f: &mut Formatter<'_>, callee: &Callee) -> fmt::Result {
    for (word, copies) in [("in", &callee.copies_in), ("out", &callee.copies_out)] {
        for (from, to, bytes) in copies {
            write!(f, " {word} {from}->{to} ({bytes})")?;
        }
    }
    let Some(frame) = &callee.frame else {
        return Ok(());
    };
    let Frame {
        bytes,
        kept_wide,
        kept_narrow,
        kept_preds,
    } = frame;
    write!(
        f,
        " frame {bytes} bytes keeps {kept_wide:?} {kept_narrow:?} {kept_preds:?}"
    )
}

fn write_list<T: Display>(
    f: &mut Formatter<'_>,
    before: &str,
    items: impl Iterator<Item = T>,
) -> fmt::Result {
    for (nth, item) in items.enumerate() {
        write!(f, "{}{item}", if nth == 0 { before } else { ", " })?;
    }
    Ok(())
}

struct Shown<'a>(&'a Program, Src);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Src::None => write!(f, "_"),
            Src::Reg(reg) => write!(f, "r{}", reg.0),
            Src::Special(special) => write!(f, "%{special:?}"),
            Src::Pred(pred, negated) => write!(f, "{}p{}", if negated { "!" } else { "" }, pred.0),
            Src::Const(index) => match self.0.consts[usize::from(index)] {
                ConstValue::Bits(bits) => write!(f, "#{bits:#x}"),
                ConstValue::Global(global, 0) => write!(f, "&g{global}"),
                ConstValue::Global(global, offset) => write!(f, "&g{global}{offset:+}"),
                ConstValue::Texture(texture) => write!(f, "&t{texture}"),
                ConstValue::Param(param) => write!(f, "param[{}]", param.offset),
            },
        }
    }
}

impl Display for Dst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Dst::None => write!(f, "_"),
            Dst::Reg(reg) => write!(f, "r{}", reg.0),
            Dst::Pred(pred) => write!(f, "p{}", pred.0),
        }
    }
}

/// Short form for listings: `s8`, `u32x4`; `u32 to 64` if the register is wider.
impl Debug for MemTy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.signed { 's' } else { 'u' };
        write!(f, "{sign}{}", u32::from(self.bytes) * 8)?;
        if self.count != 1 {
            write!(f, "x{}", self.count)?;
        }
        match (self.wide_reg, self.bytes) {
            (true, ..8) => write!(f, " to 64"),
            (false, 8..) => write!(f, " to 32"),
            _ => Ok(()),
        }
    }
}

/// Short form for listings: `Near+ftz`.
impl Debug for FloatMods {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.round)?;
        for (set, name) in [(self.ftz, "+ftz"), (self.sat, "+sat"), (self.relu, "+relu")] {
            f.write_str(if set { name } else { "" })?;
        }
        Ok(())
    }
}

impl Display for InstFacts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} reads {:?} writes {:?} banks {:?} -> {:?} at {}:{}",
            self.class,
            self.reads,
            self.writes,
            self.bank_reads,
            self.bank_writes,
            self.pos.line,
            self.pos.column
        )
    }
}
