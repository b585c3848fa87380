//! Constants as operands: a register that only ever holds a literal, a result of integer arithmetic
//! on literals, an address, a kernel parameter or a size of the launch is replaced by that where an
//! instruction reads it. Machine code reads parameters and sizes of the launch from its constant
//! bank.

use crate::arithmetic::value;
use crate::body::Body;
use crate::fold::Counts;
use rustc_hash::FxHashMap;
use warploom_ir::{
    ConstValue, Dst, Inst, MemSpace, MemTy, Op, ParamValue, Reg, SpecialReg, Src, Width,
};

/// Replaces registers by constants wherever the operation takes them.
pub(crate) fn fold(body: &mut Body) {
    let counts = Counts::of(body);
    let mut pool = Pool::new(&body.consts);
    let mut known: FxHashMap<u16, Src> = FxHashMap::default();
    loop {
        let before = known.len();
        for at in 0..body.insts.len() {
            let inst = body.insts[at];
            let dsts = match body.code().extra(&inst) {
                Some(extra) => extra.dsts.clone(),
                None => vec![inst.dst[0]],
            };
            for (nth, dst) in dsts.into_iter().enumerate() {
                let Dst::Reg(reg) = dst else { continue };
                let value = usize::from(reg.0);
                let once = counts.defs[value] == 1 && !body.unwritten.contains(value);
                if !once || inst.guard.is_some() || known.contains_key(&reg.0) {
                    continue;
                }
                if let Some(src) = constant(body, &inst, nth, reg, &mut pool) {
                    known.insert(reg.0, src);
                }
            }
        }
        for inst in &mut body.insts {
            replace(inst, &known, &pool);
        }
        if known.len() == before {
            break;
        }
    }
    body.consts = pool.values;
}

/// Constants of a program, which grow while operands are folded.
pub(crate) struct Pool {
    values: Vec<ConstValue>,
    places: FxHashMap<ConstValue, u16>,
}

impl Pool {
    /// The constants that a program has.
    pub fn new(values: &[ConstValue]) -> Self {
        let places = values.iter().enumerate();
        Self {
            places: places.map(|(at, value)| (*value, at as u16)).collect(),
            values: values.to_vec(),
        }
    }

    /// Operand of a constant, as long as there is room.
    pub fn operand(&mut self, value: ConstValue) -> Option<Src> {
        if let Some(place) = self.places.get(&value) {
            return Some(Src::Const(*place));
        }
        let place = u16::try_from(self.values.len()).ok()?;
        self.values.push(value);
        self.places.insert(value, place);
        Some(Src::Const(place))
    }

    /// Bits of an operand that is a literal.
    pub fn literal(&self, src: Src) -> Option<u64> {
        match src {
            Src::Const(at) => match self.values[usize::from(at)] {
                ConstValue::Bits(bits) => Some(bits),
                _ => None,
            },
            _ => None,
        }
    }

    /// Operand of a literal, as long as there is room.
    pub fn bits(&mut self, bits: u64) -> Option<Src> {
        self.operand(ConstValue::Bits(bits))
    }

    /// The constants of the pool, by their numbers.
    pub fn into_values(self) -> Vec<ConstValue> {
        self.values
    }
}

/// Constant that an instruction without a guard leaves in its destination `nth`, which is `reg`.
pub(crate) fn constant(
    body: &Body,
    inst: &Inst,
    nth: usize,
    reg: Reg,
    pool: &mut Pool,
) -> Option<Src> {
    let wide = body.wide[usize::from(reg.0)];
    match inst.op {
        Op::Ld(MemSpace::Param, ty, _) if inst.src[0] == Src::None => {
            pool.operand(ConstValue::Param(parameter(body, inst, ty, nth, wide)?))
        }
        Op::Mov(width) if wide == (width == Width::B64) => match inst.src[0] {
            Src::Const(at) => match pool.values[usize::from(at)] {
                ConstValue::Bits(bits) if !wide => {
                    pool.operand(ConstValue::Bits(bits & u64::from(u32::MAX)))
                }
                ConstValue::Param(param) if param.wide != wide => None,
                ConstValue::Global(..) | ConstValue::Texture(_) if !wide => None,
                _ => Some(inst.src[0]),
            },
            Src::Special(special) if is_launch_size(special) && !wide => Some(inst.src[0]),
            _ => None,
        },
        _ => {
            let value = value(inst.op, inst.src.map(|src| pool.literal(src)))?;
            let value = if wide {
                value
            } else {
                value & u64::from(u32::MAX)
            };
            pool.bits(value)
        }
    }
}

fn parameter(body: &Body, inst: &Inst, ty: MemTy, nth: usize, wide: bool) -> Option<ParamValue> {
    let first = u32::try_from(inst.imm).ok()?;
    let offset = first + nth as u32 * u32::from(ty.bytes);
    let inside = offset + u32::from(ty.bytes) <= body.param_bytes;
    // A load at another address is a fault.
    let aligned = first.is_multiple_of(u32::from(ty.bytes) * u32::from(ty.count));
    (inside && aligned && ty.bytes <= 8 && ty.wide_reg == wide).then_some(ParamValue {
        offset,
        bytes: ty.bytes,
        signed: ty.signed,
        wide,
    })
}

/// Sizes of the launch, which machine code finds in its constant bank.
const fn is_launch_size(special: SpecialReg) -> bool {
    use SpecialReg as S;
    matches!(
        special,
        S::NtidX | S::NtidY | S::NtidZ | S::NctaidX | S::NctaidY | S::NctaidZ
    )
}

/// Replaces the sources of an instruction that may be constants.
pub(crate) fn replace(inst: &mut Inst, known: &FxHashMap<u16, Src>, pool: &Pool) {
    if !takes_constants(inst.op) {
        return;
    }
    let is_access = matches!(inst.op, Op::Ld(..) | Op::St(..));
    for nth in 0..inst.src.len() {
        let Src::Reg(reg) = inst.src[nth] else {
            continue;
        };
        let Some(&src) = known.get(&reg.0) else {
            continue;
        };
        if is_access && nth == 0 && !may_be_address(inst, src, pool) {
            continue;
        }
        inst.src[nth] = src;
    }
}

/// True if a constant may replace the register of an address. The sum with the offset has 64 bits
/// then, also where that with a register has 32.
fn may_be_address(inst: &Inst, src: Src, pool: &Pool) -> bool {
    let Src::Const(at) = src else { return false };
    inst.wide_addr
        || match pool.values[usize::from(at)] {
            ConstValue::Bits(bits) => {
                let sum = bits.checked_add_signed(inst.imm.into());
                sum.is_some_and(|sum| sum <= u64::from(u32::MAX))
            }
            _ => false,
        }
}

/// True for operations whose sources may all be constants.
fn takes_constants(op: Op) -> bool {
    matches!(
        op,
        Op::Mov(_)
            | Op::Int(..)
            | Op::IntUn(..)
            | Op::Mul(..)
            | Op::Mad(..)
            | Op::Mul24(..)
            | Op::Mad24(..)
            | Op::Bfe(_)
            | Op::Bfi(_)
            | Op::Logic(..)
            | Op::Not(_)
            | Op::Lop3(..)
            | Op::Shl(_)
            | Op::Shr(_)
            | Op::Shf(..)
            | Op::Prmt(_)
            | Op::Float(..)
            | Op::Fma(..)
            | Op::FloatUn(..)
            | Op::FloatMinMax(..)
            | Op::Setp(..)
            | Op::Set(..)
            | Op::Selp(_)
            | Op::Cvt { .. }
            | Op::CvtPack2 { .. }
            | Op::Ld(..)
            | Op::St(..)
    )
}
