//! Integer arithmetic: plain, widening and 24-bit operations, operations with carry, and dot
//! products.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec, SrcRaw};
use crate::numeric::lane_value::{Int, Val, with_int};
use crate::state::registers::LANE_BITS;
use warploom_base::WARP_SIZE;
use warploom_ir::{Half, IntBin, IntTy, IntUn};

/// Applies `f` to each of the two 16-bit integers in a register.
fn packed<T: Val<Raw = u32>>(a: u32, b: u32, f: impl Fn(T, T) -> T) -> u32 {
    let lo = f(T::from_raw(a & 0xffff), T::from_raw(b & 0xffff)).to_raw() & 0xffff;
    let hi = f(T::from_raw(a >> 16), T::from_raw(b >> 16)).to_raw() & 0xffff;
    hi << 16 | lo
}

/// Absolute value, wrapping for the minimum.
fn abs<T: Int>(a: T) -> T {
    if a < T::ZERO { T::ZERO.sub(a) } else { a }
}

/// Position of the highest set bit, or of the highest bit that differs from the sign bit. All ones
/// if there is none.
fn bfind<T: Int>(a: T) -> u32 {
    let ones = if a < T::ZERO {
        T::ONES.sub(a).bits()
    } else {
        a.bits()
    };
    if ones == 0 {
        u32::MAX
    } else {
        63 - ones.leading_zeros()
    }
}

/// Shift amount that moves the bit found by [`bfind`] to the highest position.
fn bfind_shift<T: Int>(a: T) -> u32 {
    let at = bfind(a);
    if at == u32::MAX { at } else { T::BITS - 1 - at }
}

/// Low 32 bits, or the upper 32 of 48 bits, of the product of two 24-bit integers.
fn mul24(hi: bool, signed: bool, a: u32, b: u32) -> u32 {
    let extend = |x: u32| {
        if signed {
            ((x << 8) as i32 >> 8) as i64
        } else {
            i64::from(x << 8 >> 8)
        }
    };
    let product = extend(a) * extend(b);
    (if hi { product >> 16 } else { product }) as u32
}

/// Sum of `c` and the products of corresponding elements.
fn dot(a: [i64; 4], b: [i64; 4], c: u32) -> u32 {
    let sum: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    (sum as u32).wrapping_add(c)
}

/// Four bytes of a register, extended to 64 bits.
fn bytes(x: u32, signed: bool) -> [i64; 4] {
    x.to_le_bytes().map(|b| {
        if signed {
            i64::from(b as i8)
        } else {
            i64::from(b)
        }
    })
}

/// Two halves of a register, extended to 64 bits and followed by zeros.
fn halves(x: u32, signed: bool) -> [i64; 4] {
    let half = |h: u32| {
        if signed {
            i64::from(h as u16 as i16)
        } else {
            i64::from(h as u16)
        }
    };
    [half(x), half(x >> 16), 0, 0]
}

/// Handler of d = a op b. `None` for packed types.
#[allow(
    clippy::unnecessary_min_or_max,
    reason = "one body for signed and unsigned types"
)]
pub(crate) fn int_bin(op: IntBin, ty: IntTy, isa: VectorIsa) -> Option<Handler> {
    Some(with_int!(ty, T => match op {
        IntBin::Add => handler!(isa, |m| m.binary(T::wrapping_add)),
        IntBin::Sub => handler!(isa, |m| m.binary(T::wrapping_sub)),
        IntBin::Div => handler!(isa, |m| m.binary(<T as Int>::div)),
        IntBin::Rem => handler!(isa, |m| m.binary(<T as Int>::rem)),
        IntBin::Min => handler!(isa, |m| m.binary(<T as Ord>::min)),
        IntBin::Max => handler!(isa, |m| m.binary(<T as Ord>::max)),
        IntBin::MinRelu => handler!(isa, |m| m.binary(|a: T, b: T| a.min(b).max(<T as Int>::ZERO))),
        IntBin::MaxRelu => handler!(isa, |m| m.binary(|a: T, b: T| a.max(b).max(<T as Int>::ZERO))),
        IntBin::AddSat => handler!(isa, |m| m.binary(T::saturating_add)),
        IntBin::SubSat => handler!(isa, |m| m.binary(T::saturating_sub)),
    }, packed => return None))
}

/// Handler of a multiplication. `None` for packed types.
pub(crate) fn mul(half: Half, ty: IntTy, isa: VectorIsa) -> Option<Handler> {
    Some(match (half, ty) {
        (Half::Wide, IntTy::U16) => handler!(isa, |m| m.binary(<u16 as Int>::mul_wide)),
        (Half::Wide, IntTy::S16) => handler!(isa, |m| m.binary(<i16 as Int>::mul_wide)),
        (Half::Wide, IntTy::U32) => handler!(isa, |m| m.binary(<u32 as Int>::mul_wide)),
        (Half::Wide, IntTy::S32) => handler!(isa, |m| m.binary(<i32 as Int>::mul_wide)),
        (Half::Wide, _) => return None,
        (Half::Lo, ty) => with_int!(
            ty, T => handler!(isa, |m| m.binary(<T as Int>::mul)),
            packed => return None
        ),
        (Half::Hi, ty) => with_int!(
            ty, T => handler!(isa, |m| m.binary(<T as Int>::mul_high)),
            packed => return None
        ),
    })
}

/// Handler of the widening form of a x b + c: the product and c are twice as wide as a and b.
macro_rules! mad_wide {
    ($isa:expr, $T:ty, $C:ty) => {
        handler!($isa, |m| m
            .ternary(|a: $T, b: $T, c: $C| a.mul_wide(b).wrapping_add(c)))
    };
}

/// Handler of a x b + c. `None` for packed types.
pub(crate) fn mad(half: Half, ty: IntTy, sat: bool, isa: VectorIsa) -> Option<Handler> {
    Some(match (half, ty, sat) {
        (Half::Hi, IntTy::S32, true) => handler!(isa, |m| m
            .ternary(|a: i32, b: i32, c: i32| a.mul_high(b).saturating_add(c))),
        (Half::Wide, IntTy::U16, _) => mad_wide!(isa, u16, u32),
        (Half::Wide, IntTy::S16, _) => mad_wide!(isa, i16, i32),
        (Half::Wide, IntTy::U32, _) => mad_wide!(isa, u32, u64),
        (Half::Wide, IntTy::S32, _) => mad_wide!(isa, i32, i64),
        (Half::Wide, _, _) => return None,
        (Half::Lo, ty, _) => with_int!(
            ty, T => handler!(isa, |m| {
                m.ternary(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c))
            }),
            packed => return None
        ),
        (Half::Hi, ty, _) => with_int!(
            ty, T => handler!(isa, |m| m.ternary(|a: T, b: T, c: T| a.mul_high(b).wrapping_add(c))),
            packed => return None
        ),
    })
}

impl InstExec<'_, '_> {
    /// Executes d = a op b for two packed 16-bit integers.
    pub fn int_bin_packed(&mut self, op: IntBin, signed: bool) -> Exec {
        match (op, signed) {
            (IntBin::Add, _) => self.binary_packed(u16::wrapping_add),
            (IntBin::Sub, _) => self.binary_packed(u16::wrapping_sub),
            (IntBin::Min, false) => self.binary_packed(<u16 as Ord>::min),
            (IntBin::Max, false) => self.binary_packed(<u16 as Ord>::max),
            (IntBin::Min, true) => self.binary_packed(<i16 as Ord>::min),
            (IntBin::Max, true) => self.binary_packed(<i16 as Ord>::max),
            (IntBin::MinRelu, true) => self.binary_packed(|a: i16, b: i16| a.min(b).max(0)),
            (IntBin::MaxRelu, true) => self.binary_packed(|a: i16, b: i16| a.max(b).max(0)),
            _ => Err(self.illegal()),
        }
    }

    /// Executes d = f(a, b) for two packed 16-bit integers.
    fn binary_packed<T: Val<Raw = u32>>(&mut self, f: impl Fn(T, T) -> T) -> Exec {
        self.binary(|a: u32, b: u32| packed(a, b, &f))
    }

    /// Executes d = op a.
    #[inline(always)]
    pub fn int_un(&mut self, op: IntUn, ty: IntTy) -> Exec {
        with_int!(ty, T => match op {
            IntUn::Abs => self.unary(abs::<T>),
            IntUn::Neg => self.unary(|a: T| <T as Int>::ZERO.sub(a)),
            IntUn::Popc => self.unary(|a: T| a.count_ones()),
            IntUn::Clz => self.unary(|a: T| a.leading_zeros()),
            IntUn::Brev => self.unary(|a: T| a.reverse_bits()),
            IntUn::Bfind => self.unary(bfind::<T>),
            IntUn::BfindShiftAmt => self.unary(bfind_shift::<T>),
        }, packed => Err(self.illegal()))
    }

    /// Executes the instruction `mul24`.
    #[inline(always)]
    pub fn mul24(&mut self, hi: bool, ty: IntTy) -> Exec {
        let signed = ty == IntTy::S32;
        self.binary(|a: u32, b: u32| mul24(hi, signed, a, b))
    }

    /// Executes the instruction `mad24`.
    #[inline(always)]
    pub fn mad24(&mut self, hi: bool, sat: bool, ty: IntTy) -> Exec {
        let signed = ty == IntTy::S32;
        if sat {
            return self.ternary(|a: u32, b: u32, c: i32| {
                (mul24(hi, signed, a, b) as i32).saturating_add(c)
            });
        }
        self.ternary(|a: u32, b: u32, c: u32| mul24(hi, signed, a, b).wrapping_add(c))
    }

    /// Executes `sad`: d = |a - b| + c.
    pub fn sad(&mut self, ty: IntTy) -> Exec {
        with_int!(
            ty,
            T => self.ternary(|a: T, b: T, c: T| {
                let difference = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
                difference.wrapping_add(c)
            }),
            packed => Err(self.illegal())
        )
    }

    /// Executes d = f(lane, operand, carry), where `operand` is the source operand `last`, and
    /// updates the carry flag of active lanes if `cout`.
    fn carrying<T>(
        &mut self,
        cin: bool,
        cout: bool,
        last: usize,
        f: impl Fn(usize, T, bool) -> (T, bool),
    ) -> Exec
    where
        T: Int<Raw: SrcRaw>,
    {
        let carry_in = if cin { self.warp.carry } else { 0 };
        let b = self.src::<T::Raw>(last);
        let mut d = [T::Raw::default(); WARP_SIZE];
        let mut carry_out = 0;
        for i in 0..WARP_SIZE {
            let (x, carry) = f(i, T::from_raw(b[i]), carry_in & LANE_BITS[i] != 0);
            d[i] = x.to_raw();
            carry_out |= if carry { LANE_BITS[i] } else { 0 };
        }
        self.write_result(&d);
        if cout {
            self.warp.carry = (self.warp.carry & !self.mask) | (carry_out & self.mask);
        }
        Ok(())
    }

    /// Executes `add.cc` and `addc`.
    pub fn add_carry(&mut self, cin: bool, cout: bool, ty: IntTy) -> Exec {
        match ty {
            IntTy::U32 | IntTy::S32 => {
                let a = *self.src::<u32>(0);
                self.carrying(cin, cout, 1, |i, b: u32, c| Int::carrying_add(a[i], b, c))
            }
            IntTy::U64 | IntTy::S64 => {
                let a = *self.src::<u64>(0);
                self.carrying(cin, cout, 1, |i, b: u64, c| Int::carrying_add(a[i], b, c))
            }
            _ => Err(self.illegal()),
        }
    }

    /// Executes `sub.cc` and `subc`. The flag is the carry of a + ~b + 1, as on GPUs (`IADD3` and
    /// `IADD3.X` of a negated operand): it is set if nothing was borrowed. The PTX ISA does not
    /// specify how `addc` sees a borrow.
    pub fn sub_carry(&mut self, cin: bool, cout: bool, ty: IntTy) -> Exec {
        match ty {
            IntTy::U32 | IntTy::S32 => {
                let a = *self.src::<u32>(0);
                self.carrying(cin, cout, 1, |i, b: u32, c| subtract(a[i], b, cin && !c))
            }
            IntTy::U64 | IntTy::S64 => {
                let a = *self.src::<u64>(0);
                self.carrying(cin, cout, 1, |i, b: u64, c| subtract(a[i], b, cin && !c))
            }
            _ => Err(self.illegal()),
        }
    }

    /// Executes `mad.cc` and `madc`.
    pub fn mad_carry(&mut self, half: Half, cin: bool, cout: bool, ty: IntTy) -> Exec {
        with_int!(ty, T => {
            let product = self.products::<T>(half)?;
            self.carrying(cin, cout, 2, |i, c: T, carry| Int::carrying_add(product[i], c, carry))
        }, packed => Err(self.illegal()))
    }

    /// Selected half of the product a x b in every lane.
    fn products<T>(&self, half: Half) -> Exec<[T; WARP_SIZE]>
    where
        T: Int<Raw: SrcRaw>,
    {
        let (a, b) = (self.src::<T::Raw>(0), self.src::<T::Raw>(1));
        let f = match half {
            Half::Lo => T::mul,
            Half::Hi => T::mul_high,
            Half::Wide => return Err(self.illegal()),
        };
        Ok(std::array::from_fn(|i| {
            f(T::from_raw(a[i]), T::from_raw(b[i]))
        }))
    }

    /// Executes the instruction `dp4a`.
    pub fn dp4a(&mut self, a_signed: bool, b_signed: bool) -> Exec {
        self.ternary(|a: u32, b: u32, c: u32| dot(bytes(a, a_signed), bytes(b, b_signed), c))
    }

    /// Executes the instruction `dp2a`.
    pub fn dp2a(&mut self, hi: bool, a_signed: bool, b_signed: bool) -> Exec {
        let shift = if hi { 16 } else { 0 };
        self.ternary(|a: u32, b: u32, c: u32| {
            let pair = bytes(b >> shift, b_signed);
            dot(halves(a, a_signed), pair, c)
        })
    }
}

/// Difference a - b, minus one after an earlier borrow, and whether the subtraction borrowed
/// nothing.
fn subtract<T: Int>(a: T, b: T, borrow: bool) -> (T, bool) {
    let (difference, borrowed) = a.borrowing_sub(b, borrow);
    (difference, !borrowed)
}
