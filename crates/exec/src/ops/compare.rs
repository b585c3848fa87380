//! Comparison and selection instructions.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec, SrcRaw};
use crate::numeric::float::{flush, flush_if, format_of, widen};
use crate::numeric::lane_value::{Val, with_int, with_width};
use crate::ops::bits::combine;
use warploom_base::{LaneMask, WARP_SIZE};
use warploom_ir::{Cmp, Combine, FloatTy, IntTy, Op, SetDst, Ty, Width};

/// Lanes in which two integers are in the given order. The orders `lo`, `ls`, `hi` and `hs` occur
/// only with unsigned types.
macro_rules! ordered {
    ($m:expr, $cmp:expr, $T:ty) => {
        match $cmp {
            Cmp::Eq | Cmp::Equ => $m.compare(|a: $T, b: $T| a == b),
            Cmp::Ne | Cmp::Neu => $m.compare(|a: $T, b: $T| a != b),
            Cmp::Lt | Cmp::Lo | Cmp::Ltu => $m.compare(|a: $T, b: $T| a < b),
            Cmp::Le | Cmp::Ls | Cmp::Leu => $m.compare(|a: $T, b: $T| a <= b),
            Cmp::Gt | Cmp::Hi | Cmp::Gtu => $m.compare(|a: $T, b: $T| a > b),
            Cmp::Ge | Cmp::Hs | Cmp::Geu => $m.compare(|a: $T, b: $T| a >= b),
            Cmp::Num => LaneMask::MAX,
            Cmp::Nan => 0,
        }
    };
}

/// Lanes in which two floating-point values are in the given order. Orders ending in `u` also hold
/// if an operand is NaN: each is the negation of another order. `$load` flushes an operand.
macro_rules! float_ordered {
    ($m:expr, $cmp:expr, $T:ty, $load:expr) => {{
        let load = $load;
        let (cmp, negated) = match $cmp {
            Cmp::Equ => (Cmp::Ne, LaneMask::MAX),
            Cmp::Neu => (Cmp::Eq, LaneMask::MAX),
            Cmp::Ltu => (Cmp::Ge, LaneMask::MAX),
            Cmp::Leu => (Cmp::Gt, LaneMask::MAX),
            Cmp::Gtu => (Cmp::Le, LaneMask::MAX),
            Cmp::Geu => (Cmp::Lt, LaneMask::MAX),
            Cmp::Nan => (Cmp::Num, LaneMask::MAX),
            ordered => (ordered, 0),
        };
        let lanes = match cmp {
            Cmp::Eq => $m.compare(|a: $T, b: $T| load(a) == load(b)),
            Cmp::Lt | Cmp::Lo => $m.compare(|a: $T, b: $T| load(a) < load(b)),
            Cmp::Le | Cmp::Ls => $m.compare(|a: $T, b: $T| load(a) <= load(b)),
            Cmp::Gt | Cmp::Hi => $m.compare(|a: $T, b: $T| load(a) > load(b)),
            Cmp::Ge | Cmp::Hs => $m.compare(|a: $T, b: $T| load(a) >= load(b)),
            Cmp::Ne => $m.compare(|a: $T, b: $T| load(a) < load(b) || load(a) > load(b)),
            _ => $m.compare(|a: $T, b: $T| !load(a).is_nan() && !load(b).is_nan()),
        };
        lanes ^ negated
    }};
}

/// Lanes in which the first of two values is less, greater, or equal. Neither holds with a NaN.
struct Order {
    less: LaneMask,
    greater: LaneMask,
    equal: LaneMask,
}

impl Order {
    /// Lanes in which a comparison holds.
    fn holds(&self, cmp: Cmp) -> LaneMask {
        let Self {
            less,
            greater,
            equal,
        } = *self;
        let unordered = !(less | greater | equal);
        match cmp {
            Cmp::Eq => equal,
            Cmp::Equ => equal | unordered,
            Cmp::Ne => less | greater,
            Cmp::Neu => !equal,
            Cmp::Lt | Cmp::Lo => less,
            Cmp::Ltu => less | unordered,
            Cmp::Le | Cmp::Ls => less | equal,
            Cmp::Leu => !greater,
            Cmp::Gt | Cmp::Hi => greater,
            Cmp::Gtu => greater | unordered,
            Cmp::Ge | Cmp::Hs => greater | equal,
            Cmp::Geu => !less,
            Cmp::Num => !unordered,
            Cmp::Nan => unordered,
        }
    }
}

/// Order of two operands. `$load` flushes or widens an operand.
macro_rules! order {
    ($m:expr, $T:ty, $load:expr) => {{
        let load = $load;
        Order {
            less: $m.compare(|a: $T, b: $T| load(a) < load(b)),
            greater: $m.compare(|a: $T, b: $T| load(a) > load(b)),
            equal: $m.compare(|a: $T, b: $T| load(a) == load(b)),
        }
    }};
}

/// True if two integers are in the given order.
pub(crate) fn holds<T: PartialOrd>(cmp: Cmp, a: T, b: T) -> bool {
    match cmp {
        Cmp::Eq | Cmp::Equ => a == b,
        Cmp::Ne | Cmp::Neu => a != b,
        Cmp::Lt | Cmp::Lo | Cmp::Ltu => a < b,
        Cmp::Le | Cmp::Ls | Cmp::Leu => a <= b,
        Cmp::Gt | Cmp::Hi | Cmp::Gtu => a > b,
        Cmp::Ge | Cmp::Hs | Cmp::Geu => a >= b,
        Cmp::Num => true,
        Cmp::Nan => false,
    }
}

/// Handler of `setp` for the types that kernels compare frequently.
pub(crate) fn setp(ty: Ty, isa: VectorIsa) -> Option<Handler> {
    Some(match ty {
        Ty::Bits(Width::B32) | Ty::Int(IntTy::U32) => handler!(isa, |m| m.setp_of::<u32>()),
        Ty::Bits(Width::B64) | Ty::Int(IntTy::U64) => handler!(isa, |m| m.setp_of::<u64>()),
        Ty::Int(IntTy::S32) => handler!(isa, |m| m.setp_of::<i32>()),
        Ty::Int(IntTy::S64) => handler!(isa, |m| m.setp_of::<i64>()),
        Ty::Float(FloatTy::F32) => handler!(isa, |m| m.setp_of_f32()),
        Ty::Float(FloatTy::F64) => handler!(isa, |m| m.setp_of_f64()),
        _ => return None,
    })
}

/// True if a type has two elements in a register.
fn is_packed(ty: Ty) -> bool {
    matches!(ty, Ty::Float(FloatTy::F16x2 | FloatTy::Bf16x2))
}

impl InstExec<'_, '_> {
    /// Lanes in which a comparison holds: of the lower elements and of the upper elements of a
    /// packed type. Both are equal for other types. One function for all types that have no handler
    /// of `setp`, and for `set`, which is rare.
    #[inline(never)]
    fn holds(&self, cmp: Cmp, ty: Ty, ftz: bool) -> (LaneMask, LaneMask) {
        let order = match ty {
            Ty::Bits(width) => with_width!(width, T => order!(self, T, |x| x)),
            Ty::Int(ty) => with_int!(ty, T => order!(self, T, |x| x), packed => return (0, 0)),
            Ty::Float(FloatTy::F32) => order!(self, f32, |x| flush_if(ftz, x)),
            Ty::Float(FloatTy::F64) => order!(self, f64, |x| x),
            Ty::Float(ty) => {
                let format = format_of(ty);
                let load = |bits: u16| {
                    let value = widen(bits, format);
                    // The smallest normal f16 is 2^-14. Comparisons of bf16 have no `.ftz`.
                    let tiny = value.abs() < f64::from_bits((1023 - 14) << 52);
                    if ftz && ty != FloatTy::Bf16 && tiny {
                        0.0
                    } else {
                        value
                    }
                };
                let low = order!(self, u32, |x: u32| load(x as u16));
                let high = order!(self, u32, |x: u32| load((x >> 16) as u16));
                return (low.holds(cmp), high.holds(cmp));
            }
        };
        let mask = order.holds(cmp);
        (mask, mask)
    }

    /// Executes the instruction `setp`.
    pub fn setp(&mut self, cmp: Cmp, how: Combine, ty: Ty, ftz: bool) -> Exec {
        let (low, high) = self.holds(cmp, ty, ftz);
        let second = if is_packed(ty) { high } else { !low };
        self.put_comparison(how, low, second)
    }

    /// Writes the two results of `setp`.
    #[inline(always)]
    fn put_comparison(&mut self, how: Combine, low: LaneMask, second: LaneMask) -> Exec {
        let [low, second] = match how {
            Combine::None => [low, second],
            _ => {
                let c = self.src_pred(2);
                [low, second].map(|mask| combine(how, mask, c))
            }
        };
        self.write_pred(self.inst.dst[0], low);
        self.write_pred(self.inst.dst[1], second);
        Ok(())
    }

    /// Comparison of `setp`, what it is combined with, and whether it flushes operands.
    #[inline(always)]
    fn comparison(&self) -> (Cmp, Combine, bool) {
        match self.inst.op {
            Op::Setp(cmp, how, _, ftz) => (cmp, how, ftz),
            op => unreachable!("{op:?} executed as `setp`"),
        }
    }

    /// Executes `setp` for integers of a type that is known at compile time.
    #[inline(always)]
    fn setp_of<T: Val<Raw: SrcRaw> + PartialOrd>(&mut self) -> Exec {
        let (cmp, how, _) = self.comparison();
        let lanes = ordered!(self, cmp, T);
        self.put_comparison(how, lanes, !lanes)
    }

    /// Executes `setp` for f32.
    #[inline(always)]
    fn setp_of_f32(&mut self) -> Exec {
        let (cmp, how, ftz) = self.comparison();
        let lanes = if ftz {
            float_ordered!(self, cmp, f32, flush::<true>)
        } else {
            float_ordered!(self, cmp, f32, flush::<false>)
        };
        self.put_comparison(how, lanes, !lanes)
    }

    /// Executes `setp` for f64.
    #[inline(always)]
    fn setp_of_f64(&mut self) -> Exec {
        let (cmp, how, _) = self.comparison();
        let lanes = float_ordered!(self, cmp, f64, |x: f64| x);
        self.put_comparison(how, lanes, !lanes)
    }

    /// Executes the instruction `set`.
    pub fn set(&mut self, cmp: Cmp, how: Combine, ty: Ty, ftz: bool, dst: SetDst) -> Exec {
        let c = self.src_pred(2);
        let (low, high) = self.holds(cmp, ty, ftz);
        let (low, high) = (combine(how, low, c), combine(how, high, c));
        let (one, packed) = match dst {
            // Two elements have two results, even in an integer destination.
            SetDst::U32 | SetDst::S32 if is_packed(ty) => (0xffff, true),
            SetDst::U32 | SetDst::S32 => (u32::MAX, false),
            SetDst::U16 => (0xffff, false),
            SetDst::F32 => (1f32.to_bits(), false),
            SetDst::F16 => (0x3c00, false),
            SetDst::Bf16 => (0x3f80, false),
            SetDst::F16x2 => (0x3c00, true),
            SetDst::Bf16x2 => (0x3f80, true),
        };
        let pick = |mask: LaneMask, lane: usize| if mask >> lane & 1 == 1 { one } else { 0 };
        let d: [u32; WARP_SIZE] = std::array::from_fn(|lane| {
            let upper = if packed { pick(high, lane) << 16 } else { 0 };
            pick(low, lane) | upper
        });
        self.write_result(&d);
        Ok(())
    }

    /// Executes the instruction `selp`.
    #[inline(always)]
    pub fn selp(&mut self, width: Width) -> Exec {
        let choose = self.src_pred(2);
        if width == Width::B64 {
            self.select::<u64>(choose)
        } else {
            self.select::<u32>(choose)
        }
    }

    /// Executes d = a in the chosen lanes, and d = b in the others.
    #[inline(always)]
    fn select<R: crate::inst::SrcRaw>(&mut self, choose: LaneMask) -> Exec {
        let mut d = *self.src::<R>(1);
        crate::state::registers::blend(&mut d, self.src::<R>(0), choose);
        self.write_result(&d);
        Ok(())
    }

    /// Executes the instruction `slct`.
    pub fn slct(&mut self, width: Width, float: bool, ftz: bool) -> Exec {
        let c = self.src::<u32>(2);
        let choose = (0..WARP_SIZE).fold(0, |mask: LaneMask, lane| {
            let x = f32::from_bits(c[lane]);
            let chosen = match (float, ftz) {
                (false, _) => c[lane] as i32 >= 0,
                (true, true) => flush::<true>(x) >= 0.0,
                (true, false) => x >= 0.0,
            };
            mask | LaneMask::from(chosen) << lane
        });
        if width == Width::B64 {
            self.select::<u64>(choose)
        } else {
            self.select::<u32>(choose)
        }
    }
}
