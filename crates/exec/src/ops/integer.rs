//! Integer arithmetic: plain, wide, 24-bit, with carry, dot products.

use crate::handler::{Run, run};
use crate::host_isa::Wide;
use crate::inst::{Exec, InstExec, SrcRaw};
use crate::numeric::lane_value::{Int, Val, with_int};
use crate::state::registers::LANE_BITS;
use warploom_base::WARP_SIZE;
use warploom_ir::{Half, IntBin, IntTy, IntUn};

/// Two 16-bit integers in one register.
fn packed<T: Val<Raw = u32>>(a: u32, b: u32, f: impl Fn(T, T) -> T) -> u32 {
    let lo = f(T::from_raw(a & 0xffff), T::from_raw(b & 0xffff)).to_raw() & 0xffff;
    let hi = f(T::from_raw(a >> 16), T::from_raw(b >> 16)).to_raw() & 0xffff;
    hi << 16 | lo
}

fn abs<T: Int>(a: T) -> T {
    if a < T::ZERO { T::ZERO.sub(a) } else { a }
}

/// Position of the highest set bit (of the highest bit unlike the sign), or all ones.
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

fn bfind_shift<T: Int>(a: T) -> u32 {
    let at = bfind(a);
    if at == u32::MAX { at } else { T::BITS - 1 - at }
}

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

/// Sum of products of `n` fields of a and b, each of its own width and signedness.
fn dot(a: [i64; 4], b: [i64; 4], c: u32) -> u32 {
    let sum: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    (sum as u32).wrapping_add(c)
}

fn bytes(x: u32, signed: bool) -> [i64; 4] {
    x.to_le_bytes().map(|b| {
        if signed {
            i64::from(b as i8)
        } else {
            i64::from(b)
        }
    })
}

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

/// What executes d = a op b, but for packed types.
#[allow(
    clippy::unnecessary_min_or_max,
    reason = "one body for signed and unsigned types"
)]
pub(crate) fn int_bin(op: IntBin, ty: IntTy, wide: Wide) -> Option<Run> {
    Some(with_int!(ty, T => match op {
        IntBin::Add => run!(wide, |m| m.bin(T::wrapping_add)),
        IntBin::Sub => run!(wide, |m| m.bin(T::wrapping_sub)),
        IntBin::Div => run!(wide, |m| m.bin(<T as Int>::div)),
        IntBin::Rem => run!(wide, |m| m.bin(<T as Int>::rem)),
        IntBin::Min => run!(wide, |m| m.bin(<T as Ord>::min)),
        IntBin::Max => run!(wide, |m| m.bin(<T as Ord>::max)),
        IntBin::MinRelu => run!(wide, |m| m.bin(|a: T, b: T| a.min(b).max(<T as Int>::ZERO))),
        IntBin::MaxRelu => run!(wide, |m| m.bin(|a: T, b: T| a.max(b).max(<T as Int>::ZERO))),
        IntBin::AddSat => run!(wide, |m| m.bin(T::saturating_add)),
        IntBin::SubSat => run!(wide, |m| m.bin(T::saturating_sub)),
    }, packed => return None))
}

/// What executes a multiplication.
pub(crate) fn mul(half: Half, ty: IntTy, wide: Wide) -> Option<Run> {
    Some(match (half, ty) {
        (Half::Wide, IntTy::U16) => run!(wide, |m| m.bin(<u16 as Int>::mul_wide)),
        (Half::Wide, IntTy::S16) => run!(wide, |m| m.bin(<i16 as Int>::mul_wide)),
        (Half::Wide, IntTy::U32) => run!(wide, |m| m.bin(<u32 as Int>::mul_wide)),
        (Half::Wide, IntTy::S32) => run!(wide, |m| m.bin(<i32 as Int>::mul_wide)),
        (Half::Wide, _) => return None,
        (Half::Lo, ty) => with_int!(
            ty, T => run!(wide, |m| m.bin(<T as Int>::mul)),
            packed => return None
        ),
        (Half::Hi, ty) => with_int!(
            ty, T => run!(wide, |m| m.bin(<T as Int>::mul_high)),
            packed => return None
        ),
    })
}

/// The wide form of a x b + c: the product and c are twice as wide as a and b.
macro_rules! mad_wide {
    ($wide:expr, $T:ty, $C:ty) => {
        run!($wide, |m| m
            .tri(|a: $T, b: $T, c: $C| a.mul_wide(b).wrapping_add(c)))
    };
}

/// What executes a x b + c.
pub(crate) fn mad(half: Half, ty: IntTy, sat: bool, wide: Wide) -> Option<Run> {
    Some(match (half, ty, sat) {
        (Half::Hi, IntTy::S32, true) => run!(wide, |m| m
            .tri(|a: i32, b: i32, c: i32| a.mul_high(b).saturating_add(c))),
        (Half::Wide, IntTy::U16, _) => mad_wide!(wide, u16, u32),
        (Half::Wide, IntTy::S16, _) => mad_wide!(wide, i16, i32),
        (Half::Wide, IntTy::U32, _) => mad_wide!(wide, u32, u64),
        (Half::Wide, IntTy::S32, _) => mad_wide!(wide, i32, i64),
        (Half::Wide, _, _) => return None,
        (Half::Lo, ty, _) => with_int!(
            ty, T => run!(wide, |m| m.tri(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c))),
            packed => return None
        ),
        (Half::Hi, ty, _) => with_int!(
            ty, T => run!(wide, |m| m.tri(|a: T, b: T, c: T| a.mul_high(b).wrapping_add(c))),
            packed => return None
        ),
    })
}

impl InstExec<'_, '_> {
    pub fn int_bin_packed(&mut self, op: IntBin, signed: bool) -> Exec {
        match (op, signed) {
            (IntBin::Add, _) => self.bin_halves(u16::wrapping_add),
            (IntBin::Sub, _) => self.bin_halves(u16::wrapping_sub),
            (IntBin::Min, false) => self.bin_halves(<u16 as Ord>::min),
            (IntBin::Max, false) => self.bin_halves(<u16 as Ord>::max),
            (IntBin::Min, true) => self.bin_halves(<i16 as Ord>::min),
            (IntBin::Max, true) => self.bin_halves(<i16 as Ord>::max),
            (IntBin::MinRelu, true) => self.bin_halves(|a: i16, b: i16| a.min(b).max(0)),
            (IntBin::MaxRelu, true) => self.bin_halves(|a: i16, b: i16| a.max(b).max(0)),
            _ => Err(self.illegal()),
        }
    }

    fn bin_halves<T: Val<Raw = u32>>(&mut self, f: impl Fn(T, T) -> T) -> Exec {
        self.bin(|a: u32, b: u32| packed(a, b, &f))
    }

    #[inline(always)]
    pub fn int_un(&mut self, op: IntUn, ty: IntTy) -> Exec {
        with_int!(ty, T => match op {
            IntUn::Abs => self.un(abs::<T>),
            IntUn::Neg => self.un(|a: T| <T as Int>::ZERO.sub(a)),
            IntUn::Popc => self.un(|a: T| a.count_ones()),
            IntUn::Clz => self.un(|a: T| a.leading_zeros()),
            IntUn::Brev => self.un(|a: T| a.reverse_bits()),
            IntUn::Bfind => self.un(bfind::<T>),
            IntUn::BfindShiftAmt => self.un(bfind_shift::<T>),
        }, packed => Err(self.illegal()))
    }

    #[inline(always)]
    pub fn mul24(&mut self, hi: bool, ty: IntTy) -> Exec {
        let signed = ty == IntTy::S32;
        self.bin(|a: u32, b: u32| mul24(hi, signed, a, b))
    }

    #[inline(always)]
    pub fn mad24(&mut self, hi: bool, sat: bool, ty: IntTy) -> Exec {
        let signed = ty == IntTy::S32;
        if sat {
            return self
                .tri(|a: u32, b: u32, c: i32| (mul24(hi, signed, a, b) as i32).saturating_add(c));
        }
        self.tri(|a: u32, b: u32, c: u32| mul24(hi, signed, a, b).wrapping_add(c))
    }

    pub fn sad(&mut self, ty: IntTy) -> Exec {
        with_int!(
            ty,
            T => self.tri(|a: T, b: T, c: T| {
                let difference = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
                difference.wrapping_add(c)
            }),
            packed => Err(self.illegal())
        )
    }

    /// d = f(a, b, carry), and the new carry in the lanes that take part.
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
        self.put0(&d);
        if cout {
            self.warp.carry = (self.warp.carry & !self.mask) | (carry_out & self.mask);
        }
        Ok(())
    }

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

    /// The flag is the carry of a + ~b + 1, as on GPUs (`IADD3` and `IADD3.X` of a negated
    /// operand): set where nothing was borrowed. The PTX ISA leaves open how `addc` sees a borrow.
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

    pub fn mad_carry(&mut self, half: Half, cin: bool, cout: bool, ty: IntTy) -> Exec {
        with_int!(ty, T => {
            let product = self.products::<T>(half)?;
            self.carrying(cin, cout, 2, |i, c: T, carry| Int::carrying_add(product[i], c, carry))
        }, packed => Err(self.illegal()))
    }

    /// The chosen half of a x b in every lane.
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

    pub fn dp4a(&mut self, a_signed: bool, b_signed: bool) -> Exec {
        self.tri(|a: u32, b: u32, c: u32| dot(bytes(a, a_signed), bytes(b, b_signed), c))
    }

    pub fn dp2a(&mut self, hi: bool, a_signed: bool, b_signed: bool) -> Exec {
        let shift = if hi { 16 } else { 0 };
        self.tri(|a: u32, b: u32, c: u32| {
            let pair = bytes(b >> shift, b_signed);
            dot(halves(a, a_signed), pair, c)
        })
    }
}

/// The difference a - b, less one if something was borrowed before, and whether nothing was now.
fn subtract<T: Int>(a: T, b: T, borrow: bool) -> (T, bool) {
    let (difference, borrowed) = a.borrowing_sub(b, borrow);
    (difference, !borrowed)
}
