//! Floating-point arithmetic. Rounding to nearest runs on the host's f32 and f64 in loops that
//! vectorise; directed rounding and the narrow formats go through [`softfloat`] or through
//! f64.
//!
//! NaN results: f32 and narrower give the canonical NaN; f64 keeps the payload of the first NaN
//! operand, quieted, or gives the default NaN. `.ftz` makes a result zero that is below the
//! smallest normal number when it is rounded as if exponents had no end ([`ftz`]).

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::numeric::approx;
use crate::numeric::float::{
    SIGN32, add_to_odd, canonical, flush, flush_if, flush16, fma32, format_of, min_max16,
    min_max32, min_max64, nan64, narrow, or_nan32, or_nan64, relu16, saturate, saturate64, test,
    widen,
};
use crate::numeric::softfloat;
use crate::numeric::softfloat::Format;
use crate::ops::ftz;
use warploom_ir::{FloatBin, FloatMinMax, FloatMods, FloatPair, FloatTy, FloatUn, Round, TestKind};

/// Applies `.ftz`, `.sat` and the canonical NaN to a result.
#[inline(always)]
fn finish<const FTZ: bool, const SAT: bool>(x: f32) -> f32 {
    let x = flush::<FTZ>(x);
    if SAT {
        return saturate(x);
    }
    canonical(x)
}

/// Rounds a result to a 16-bit float and applies `.ftz`, `.sat` and `.relu`.
fn finish16(value: f64, format: Format, mods: FloatMods) -> u16 {
    let value = if mods.sat { saturate64(value) } else { value };
    let bits = if mods.ftz && value.abs() < format.smallest_normal() {
        ftz::narrow(value, format, mods.round)
    } else {
        narrow(value, format, mods.round)
    };
    relu16(bits, format, mods.relu)
}

/// Result in f64 of an operation on 16-bit floats. With 53 bits against at most 11, rounding twice
/// equals rounding once for these operations.
fn bin64(op: FloatBin, a: f64, b: f64) -> f64 {
    match op {
        FloatBin::Add => a + b,
        FloatBin::Sub => a - b,
        FloatBin::Mul => a * b,
        FloatBin::Div | FloatBin::DivFull | FloatBin::DivApprox => a / b,
    }
}

/// Result in f64 of a unary operation on a 16-bit float.
fn un64(op: FloatUn, a: f64) -> f64 {
    let approx = |f: fn(f32) -> f32| f64::from(f(a as f32));
    match op {
        FloatUn::Abs => a.abs(),
        FloatUn::Neg => -a,
        FloatUn::Rcp | FloatUn::RcpApprox => 1.0 / a,
        FloatUn::Sqrt | FloatUn::SqrtApprox => a.sqrt(),
        FloatUn::RsqrtApprox => 1.0 / a.sqrt(),
        FloatUn::SinApprox => approx(approx::sin),
        FloatUn::CosApprox => approx(approx::cos),
        FloatUn::Lg2Approx => approx(approx::lg2),
        FloatUn::Ex2Approx => approx(approx::ex2),
        FloatUn::TanhApprox => approx(approx::tanh),
        FloatUn::RcpApproxF64 => approx::rcp_f64(a),
        FloatUn::RsqrtApproxF64 => approx::rsqrt_f64(a),
    }
}

/// Applies `f` to the one or two 16-bit elements of each register.
macro_rules! by_halves {
    ($packed:expr, |$($x:ident),+| $body:expr) => {
        |$($x: u32),+| {
            let low = { $(let $x = $x as u16;)+ $body };
            if !$packed {
                return u32::from(low);
            }
            let high = { $(let $x = ($x >> 16) as u16;)+ $body };
            u32::from(high) << 16 | u32::from(low)
        }
    };
}

/// True if a type has two elements in a register.
fn is_packed(ty: FloatTy) -> bool {
    matches!(ty, FloatTy::F16x2 | FloatTy::Bf16x2)
}

/// Creates a handler for an f32 operation that rounds to nearest, specialised for `.ftz` and
/// `.sat`.
macro_rules! handler32 {
    ($mods:expr, $isa:expr, |$m:ident, $ftz:ident, $sat:ident $(, $fused:ident)?| $body:expr) => {
        match ($mods.ftz, $mods.sat) {
            (false, false) => handler32!(@ $isa, $m, $ftz false, $sat false, ($($fused)?), $body),
            (true, false) => handler32!(@ $isa, $m, $ftz true, $sat false, ($($fused)?), $body),
            (false, true) => handler32!(@ $isa, $m, $ftz false, $sat true, ($($fused)?), $body),
            (true, true) => handler32!(@ $isa, $m, $ftz true, $sat true, ($($fused)?), $body),
        }
    };
    (@ $isa:expr, $m:ident, $ftz:ident $yes:literal, $sat:ident $too:literal, ($($fused:ident)?),
        $body:expr) => {{
        const $ftz: bool = $yes;
        const $sat: bool = $too;
        handler!($isa, |$m $(, $fused)?| $body)
    }};
}

/// Handler of frequent f32 operations. `None` for all others.
pub(crate) fn float_bin(
    op: FloatBin,
    ty: FloatTy,
    mods: FloatMods,
    isa: VectorIsa,
) -> Option<Handler> {
    if ty != FloatTy::F32 || mods.round != Round::Near {
        return None;
    }
    Some(match op {
        FloatBin::Add => {
            handler32!(mods, isa, |m, FTZ, SAT| m
                .binary32::<FTZ, SAT>(FloatBin::Add))
        }
        FloatBin::Sub => {
            handler32!(mods, isa, |m, FTZ, SAT| m
                .binary32::<FTZ, SAT>(FloatBin::Sub))
        }
        FloatBin::Mul => {
            handler32!(mods, isa, |m, FTZ, SAT| m
                .binary32::<FTZ, SAT>(FloatBin::Mul))
        }
        _ => return None,
    })
}

/// Handler of the f32 fused multiply-add that rounds to nearest. `None` for other types and
/// roundings.
pub(crate) fn fma(ty: FloatTy, mods: FloatMods, isa: VectorIsa) -> Option<Handler> {
    if ty != FloatTy::F32 || mods.round != Round::Near {
        return None;
    }
    Some(handler32!(mods, isa, |m, FTZ, SAT, fused| m.fma32::<FTZ, SAT>(fused)))
}

impl InstExec<'_, '_> {
    /// Executes a binary floating-point operation.
    #[inline(always)]
    pub fn float_bin(&mut self, op: FloatBin, ty: FloatTy, mods: FloatMods) -> Exec {
        match ty {
            FloatTy::F32 => match (mods.round, mods.ftz, mods.sat) {
                (Round::Near, false, false) => self.binary32::<false, false>(op),
                (Round::Near, true, false) => self.binary32::<true, false>(op),
                (Round::Near, false, true) => self.binary32::<false, true>(op),
                (Round::Near, true, true) => self.binary32::<true, true>(op),
                _ => self.binary32_directed(op, mods),
            },
            FloatTy::F64 => self.binary64(op, mods.round),
            _ => {
                let (format, packed) = (format_of(ty), is_packed(ty));
                let load = move |x| widen(flush16(x, format, mods.ftz), format);
                self.binary(by_halves!(packed, |a, b| {
                    finish16(bin64(op, load(a), load(b)), format, mods)
                }))
            }
        }
    }

    /// Executes a binary f32 operation that rounds to nearest.
    #[inline(always)]
    fn binary32<const FTZ: bool, const SAT: bool>(&mut self, op: FloatBin) -> Exec {
        let fin = finish::<FTZ, SAT>;
        let load = flush::<FTZ>;
        match op {
            FloatBin::Add => self.binary(|a: f32, b: f32| fin(load(a) + load(b))),
            FloatBin::Sub => self.binary(|a: f32, b: f32| fin(load(a) - load(b))),
            FloatBin::Mul => self.binary_ftz::<FTZ>(|a, b| fin(load(a) * load(b)), softfloat::mul),
            // `div.full` has a bound of two units in the last place. This result is the nearest
            // one.
            FloatBin::Div | FloatBin::DivFull => {
                self.binary_ftz::<FTZ>(|a, b| fin(load(a) / load(b)), softfloat::div)
            }
            FloatBin::DivApprox => self.binary(|a: f32, b: f32| fin(approx::div(load(a), load(b)))),
        }
    }

    /// Executes a binary f32 operation with directed rounding.
    fn binary32_directed(&mut self, op: FloatBin, mods: FloatMods) -> Exec {
        let f = match op {
            FloatBin::Add | FloatBin::Sub => softfloat::add,
            FloatBin::Mul => softfloat::mul,
            _ => softfloat::div,
        };
        let flip = if op == FloatBin::Sub { SIGN32 } else { 0 };
        self.binary(|a: f32, b: f32| {
            let [a, b] = [a, b].map(|x| flush_if(mods.ftz, x).to_bits());
            let [a, b] = [a, b ^ flip].map(u64::from);
            finish_directed(mods, |up, format| f(a << up, b << up, format, mods.round))
        })
    }

    /// Executes a binary f64 operation.
    fn binary64(&mut self, op: FloatBin, round: Round) -> Exec {
        if round != Round::Near {
            let f = match op {
                FloatBin::Add | FloatBin::Sub => softfloat::add,
                FloatBin::Mul => softfloat::mul,
                _ => softfloat::div,
            };
            let flip = if op == FloatBin::Sub { 1 << 63 } else { 0 };
            return self.binary(|a: f64, b: f64| {
                or_nan64(
                    f(a.to_bits(), b.to_bits() ^ flip, Format::F64, round),
                    &[a, b],
                )
            });
        }
        match op {
            FloatBin::Add => self.binary(|a: f64, b: f64| nan64(a + b, &[a, b])),
            FloatBin::Sub => self.binary(|a: f64, b: f64| nan64(a - b, &[a, b])),
            FloatBin::Mul => self.binary(|a: f64, b: f64| nan64(a * b, &[a, b])),
            _ => self.binary(|a: f64, b: f64| nan64(a / b, &[a, b])),
        }
    }

    /// Executes a fused multiply-add.
    #[inline(always)]
    pub fn fma(&mut self, ty: FloatTy, mods: FloatMods, fused: bool) -> Exec {
        match ty {
            FloatTy::F32 => match (mods.round, mods.ftz, mods.sat) {
                (Round::Near, false, false) => self.fma32::<false, false>(fused),
                (Round::Near, true, false) => self.fma32::<true, false>(fused),
                (Round::Near, false, true) => self.fma32::<false, true>(fused),
                (Round::Near, true, true) => self.fma32::<true, true>(fused),
                _ => self.fma32_directed(mods),
            },
            FloatTy::F64 => self.fma64(mods.round),
            _ => {
                let (format, packed) = (format_of(ty), is_packed(ty));
                let load = move |x| widen(flush16(x, format, mods.ftz), format);
                self.ternary(by_halves!(packed, |a, b, c| {
                    finish16(add_to_odd(load(a) * load(b), load(c)), format, mods)
                }))
            }
        }
    }

    /// Executes arithmetic on pairs of f32.
    #[inline(never)]
    pub fn float_pair(&mut self, op: FloatPair, mods: FloatMods) -> Exec {
        let one = |a: u32, b: u32, c: u32| {
            let [a, b, c] =
                [a, b, c].map(|x| u64::from(flush_if(mods.ftz, f32::from_bits(x)).to_bits()));
            let minus_b = b ^ u64::from(SIGN32);
            let round = mods.round;
            let value = finish_directed(mods, |up, format| {
                let [a, b, c, minus_b] = [a, b, c, minus_b].map(|x| x << up);
                match op {
                    FloatPair::Add => softfloat::add(a, b, format, round),
                    FloatPair::Sub => softfloat::add(a, minus_b, format, round),
                    FloatPair::Mul => softfloat::mul(a, b, format, round),
                    FloatPair::Fma => softfloat::fma(a, b, c, format, round),
                }
            });
            u64::from(value.to_bits())
        };
        self.ternary(|a: u64, b: u64, c: u64| {
            let high = one((a >> 32) as u32, (b >> 32) as u32, (c >> 32) as u32);
            high << 32 | one(a as u32, b as u32, c as u32)
        })
    }

    /// Executes an f32 fused multiply-add that rounds to nearest.
    #[inline(always)]
    fn fma32<const FTZ: bool, const SAT: bool>(&mut self, fused: bool) -> Exec {
        let load = flush::<FTZ>;
        self.ternary_ftz::<FTZ>(|a, b, c| {
            finish::<FTZ, SAT>(fma32(load(a), load(b), load(c), fused))
        })
    }

    /// Executes an f32 fused multiply-add with directed rounding.
    fn fma32_directed(&mut self, mods: FloatMods) -> Exec {
        self.ternary(|a: f32, b: f32, c: f32| {
            let [a, b, c] = [a, b, c].map(|x| u64::from(flush_if(mods.ftz, x).to_bits()));
            finish_directed(mods, |up, format| {
                softfloat::fma(a << up, b << up, c << up, format, mods.round)
            })
        })
    }

    /// Executes an f64 fused multiply-add.
    #[inline(always)]
    fn fma64(&mut self, round: Round) -> Exec {
        if round == Round::Near {
            return self.ternary(|a: f64, b: f64, c: f64| nan64(a.mul_add(b, c), &[a, b, c]));
        }
        self.ternary(|a: f64, b: f64, c: f64| {
            let bits = softfloat::fma(a.to_bits(), b.to_bits(), c.to_bits(), Format::F64, round);
            or_nan64(bits, &[a, b, c])
        })
    }

    /// Executes a unary floating-point operation.
    #[inline(always)]
    pub fn float_un(&mut self, op: FloatUn, ty: FloatTy, mods: FloatMods) -> Exec {
        match ty {
            FloatTy::F32 if mods.round != Round::Near => self.unary32_directed(op, mods),
            FloatTy::F32 => match (mods.ftz, mods.sat) {
                (false, false) => self.unary32::<false, false>(op),
                (true, false) => self.unary32::<true, false>(op),
                (false, true) => self.unary32::<false, true>(op),
                (true, true) => self.unary32::<true, true>(op),
            },
            FloatTy::F64 => self.unary64(op, mods),
            _ => {
                let (format, packed) = (format_of(ty), is_packed(ty));
                let load = move |x| widen(flush16(x, format, mods.ftz), format);
                self.unary(by_halves!(packed, |a| finish16(
                    un64(op, load(a)),
                    format,
                    mods
                )))
            }
        }
    }

    /// Executes a unary f32 operation that rounds to nearest.
    #[inline(always)]
    fn unary32<const FTZ: bool, const SAT: bool>(&mut self, op: FloatUn) -> Exec {
        let fin = finish::<FTZ, SAT>;
        let load = flush::<FTZ>;
        match op {
            FloatUn::Abs => self.unary(|a: f32| fin(load(a).abs())),
            FloatUn::Neg => self.unary(|a: f32| fin(-load(a))),
            FloatUn::Rcp | FloatUn::RcpApprox => self.unary(|a: f32| fin(1.0 / load(a))),
            FloatUn::Sqrt | FloatUn::SqrtApprox => self.unary(|a: f32| fin(load(a).sqrt())),
            FloatUn::RsqrtApprox => self.unary(|a: f32| fin(approx::rsqrt(load(a)))),
            FloatUn::SinApprox if self.all_near() => {
                self.unary(|a: f32| fin(approx::sine(load(a), 0)))
            }
            FloatUn::CosApprox if self.all_near() => {
                self.unary(|a: f32| fin(approx::sine(load(a), 1)))
            }
            FloatUn::SinApprox => self.unary(|a: f32| fin(approx::sin(load(a)))),
            FloatUn::CosApprox => self.unary(|a: f32| fin(approx::cos(load(a)))),
            FloatUn::Lg2Approx => self.unary(|a: f32| fin(approx::lg2(load(a)))),
            FloatUn::Ex2Approx => self.unary(|a: f32| fin(approx::ex2(load(a)))),
            FloatUn::TanhApprox => self.unary(|a: f32| fin(approx::tanh(load(a)))),
            FloatUn::RcpApproxF64 | FloatUn::RsqrtApproxF64 => Err(self.illegal()),
        }
    }

    /// True if all arguments are small enough for the vectorised sine.
    fn all_near(&self) -> bool {
        let small = |&bits: &u32| f32::from_bits(bits).abs() < approx::NEAR;
        self.src::<u32>(0).iter().all(small)
    }

    /// Executes a unary f32 operation with directed rounding.
    fn unary32_directed(&mut self, op: FloatUn, mods: FloatMods) -> Exec {
        let one = u64::from(1f32.to_bits());
        self.unary(|a: f32| {
            let a = u64::from(flush_if(mods.ftz, a).to_bits());
            finish_directed(mods, |up, format| match op {
                FloatUn::Sqrt => softfloat::sqrt(a << up, format, mods.round),
                _ => softfloat::div(one << up, a << up, format, mods.round),
            })
        })
    }

    /// Executes a unary f64 operation.
    fn unary64(&mut self, op: FloatUn, mods: FloatMods) -> Exec {
        let round = mods.round;
        let one = 1f64.to_bits();
        match (op, round) {
            // Only the sign bit changes, also for NaNs.
            (FloatUn::Abs, _) => self.unary(|a: u64| a & !(1 << 63)),
            (FloatUn::Neg, _) => self.unary(|a: u64| a ^ 1 << 63),
            (FloatUn::RcpApproxF64, _) => self.unary(approx::rcp_f64),
            // Only the form with `.ftz` uses just the upper word.
            (FloatUn::RsqrtApproxF64, _) if mods.ftz => self.unary(approx::rsqrt_f64),
            (FloatUn::RsqrtApproxF64 | FloatUn::RsqrtApprox, _) => self.unary(|a: f64| {
                let value = 1.0 / a.sqrt();
                nan64(
                    if a == 0.0 {
                        f64::INFINITY.copysign(a)
                    } else {
                        value
                    },
                    &[a],
                )
            }),
            (FloatUn::Rcp, Round::Near) => self.unary(|a: f64| nan64(1.0 / a, &[a])),
            (FloatUn::Sqrt, Round::Near) => self.unary(|a: f64| nan64(a.sqrt(), &[a])),
            (FloatUn::Rcp, _) => self.unary(|a: f64| {
                or_nan64(softfloat::div(one, a.to_bits(), Format::F64, round), &[a])
            }),
            (FloatUn::Sqrt, _) => self
                .unary(|a: f64| or_nan64(softfloat::sqrt(a.to_bits(), Format::F64, round), &[a])),
            _ => Err(self.illegal()),
        }
    }

    /// Executes `min` and `max` of two or three operands.
    #[inline(always)]
    pub fn float_min_max(&mut self, how: FloatMinMax, ty: FloatTy) -> Exec {
        let third = self.inst.src[2] != warploom_ir::Src::None;
        // With `.xorsign`, the sign of the third operand takes part in the second step.
        match ty {
            FloatTy::F32 if third => self.ternary(|a: f32, b: f32, c: f32| {
                let f = if how.ftz {
                    min_max32::<true>
                } else {
                    min_max32::<false>
                };
                f(how, f(how, a, b), c)
            }),
            FloatTy::F32 if how.ftz => self.binary(|a: f32, b: f32| min_max32::<true>(how, a, b)),
            FloatTy::F32 => self.binary(|a: f32, b: f32| min_max32::<false>(how, a, b)),
            FloatTy::F64 if third => {
                self.ternary(|a: f64, b: f64, c: f64| min_max64(how, min_max64(how, a, b), c))
            }
            FloatTy::F64 => self.binary(|a: f64, b: f64| min_max64(how, a, b)),
            _ => {
                let (format, packed) = (format_of(ty), is_packed(ty));
                let pick = move |a, b| min_max16(how, format, a, b);
                if third {
                    self.ternary(by_halves!(packed, |a, b, c| pick(pick(a, b), c)))
                } else {
                    self.binary(by_halves!(packed, |a, b| pick(a, b)))
                }
            }
        }
    }

    /// Executes the instruction `copysign`.
    pub fn copysign(&mut self, ty: FloatTy) -> Exec {
        match ty {
            FloatTy::F32 => self.binary(|a: u32, b: u32| (a & SIGN32) | (b & !SIGN32)),
            FloatTy::F64 => self.binary(|a: u64, b: u64| (a & 1 << 63) | (b & !(1 << 63))),
            _ => Err(self.illegal()),
        }
    }

    /// Executes the instruction `testp`.
    pub fn testp(&mut self, kind: TestKind, ty: FloatTy) -> Exec {
        let holds = match ty {
            FloatTy::F64 => self.test(|a: u64| test(kind, a, Format::F64)),
            FloatTy::F32 => self.test(|a: u32| test(kind, a.into(), Format::F32)),
            FloatTy::F16 | FloatTy::Bf16 => self.test(|a: u16| test(kind, a.into(), format_of(ty))),
            FloatTy::F16x2 | FloatTy::Bf16x2 => return Err(self.illegal()),
        };
        self.write_pred(self.inst.dst[0], holds);
        Ok(())
    }
}

/// Result of a software operation with directed rounding, after `.ftz` and `.sat`. `f` computes the
/// operation for operands that are shifted left by the given number of bits in the given format.
fn finish_directed(mods: FloatMods, f: impl Fn(u32, Format) -> Option<u64>) -> f32 {
    let rounded = or_nan32(f(0, Format::F32)).to_bits();
    let x = f32::from_bits(if mods.ftz {
        ftz::flushed(rounded, || f(1, ftz::FINER))
    } else {
        rounded
    });
    let x = flush_if(mods.ftz, x);
    if mods.sat { saturate(x) } else { x }
}
