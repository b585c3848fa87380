//! Conversion between register bits and typed values. Types of 8 and 16 bits use the low bits of a
//! slot and ignore the others.

use crate::state::registers::RegFile;
use warploom_base::WARP_SIZE;

/// Width of a lane's register: 32 or 64 bits.
pub(crate) trait Raw: Copy + Default + 'static {
    fn reg(regs: &RegFile, slot: usize) -> &[Self; WARP_SIZE];
    fn reg_mut(regs: &mut RegFile, slot: usize) -> &mut [Self; WARP_SIZE];
    fn zeros() -> &'static [Self; WARP_SIZE];
    fn from_u64(value: u64) -> Self;
}

impl Raw for u32 {
    #[inline(always)]
    fn reg(regs: &RegFile, slot: usize) -> &[u32; WARP_SIZE] {
        regs.r32(slot)
    }
    #[inline(always)]
    fn reg_mut(regs: &mut RegFile, slot: usize) -> &mut [u32; WARP_SIZE] {
        regs.r32_mut(slot)
    }
    fn zeros() -> &'static [u32; WARP_SIZE] {
        &[0; WARP_SIZE]
    }
    #[inline(always)]
    fn from_u64(value: u64) -> u32 {
        value as u32
    }
}

impl Raw for u64 {
    #[inline(always)]
    fn reg(regs: &RegFile, slot: usize) -> &[u64; WARP_SIZE] {
        regs.r64(slot)
    }
    #[inline(always)]
    fn reg_mut(regs: &mut RegFile, slot: usize) -> &mut [u64; WARP_SIZE] {
        regs.r64_mut(slot)
    }
    fn zeros() -> &'static [u64; WARP_SIZE] {
        &[0; WARP_SIZE]
    }
    #[inline(always)]
    fn from_u64(value: u64) -> u64 {
        value
    }
}

/// A typed value of one lane.
pub(crate) trait Val: Copy {
    type Raw: Raw;
    fn from_raw(raw: Self::Raw) -> Self;
    fn to_raw(self) -> Self::Raw;
}

macro_rules! int_vals {
    ($($t:ty as $raw:ty, $unsigned:ty, $wide:ty;)+) => {$(
        impl Val for $t {
            type Raw = $raw;
            #[inline(always)]
            fn from_raw(raw: $raw) -> $t {
                raw as $t
            }
            #[inline(always)]
            fn to_raw(self) -> $raw {
                self as $unsigned as $raw
            }
        }

        impl Int for $t {
            type Wide = $wide;
            const BITS: u32 = <$t>::BITS;
            const ONES: $t = !0;
            const ZERO: $t = 0;
            #[inline(always)]
            fn sub(self, b: $t) -> $t {
                self.wrapping_sub(b)
            }
            #[inline(always)]
            fn mul(self, b: $t) -> $t {
                self.wrapping_mul(b)
            }
            #[inline(always)]
            fn mul_wide(self, b: $t) -> $wide {
                (self as $wide).wrapping_mul(b as $wide)
            }
            #[inline(always)]
            fn mul_high(self, b: $t) -> $t {
                (self.mul_wide(b) >> <$t>::BITS) as $t
            }
            fn div(self, b: $t) -> $t {
                if b == 0 { !0 } else { self.wrapping_div(b) }
            }
            fn rem(self, b: $t) -> $t {
                if b == 0 { !0 } else { self.wrapping_rem(b) }
            }
            #[inline(always)]
            fn carrying_add(self, b: $t, carry: bool) -> ($t, bool) {
                let (x, c) = (self as $unsigned).overflowing_add(b as $unsigned);
                let (x, d) = x.overflowing_add(carry as $unsigned);
                (x as $t, c | d)
            }
            #[inline(always)]
            fn borrowing_sub(self, b: $t, borrow: bool) -> ($t, bool) {
                let (x, c) = (self as $unsigned).overflowing_sub(b as $unsigned);
                let (x, d) = x.overflowing_sub(borrow as $unsigned);
                (x as $t, c | d)
            }
            #[inline(always)]
            fn shr_clamped(self, n: u32) -> $t {
                if n >= <$t>::BITS {
                    if self < Self::ZERO { !0 } else { 0 }
                } else {
                    self >> n
                }
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }
        }
    )+};
}

/// Operations that all integer types share.
pub(crate) trait Int: Val + Ord {
    type Wide: Copy;
    const BITS: u32;
    const ONES: Self;
    const ZERO: Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn mul_wide(self, b: Self) -> Self::Wide;
    fn mul_high(self, b: Self) -> Self;
    /// Quotient. Division by zero gives all ones, and the minimum divided by -1 gives the minimum,
    /// as on hardware (`docs/hardware.md`). PTX leaves both undefined.
    fn div(self, b: Self) -> Self;
    /// Remainder, which is all ones for a division by zero.
    fn rem(self, b: Self) -> Self;
    fn carrying_add(self, b: Self, carry: bool) -> (Self, bool);
    fn borrowing_sub(self, b: Self, borrow: bool) -> (Self, bool);
    /// Shift to the right by any amount. For amounts beyond the width, only copies of the sign bit
    /// (or zeros) remain.
    fn shr_clamped(self, n: u32) -> Self;
    /// Bits of the value, zero-extended to 64 bits.
    fn bits(self) -> u64;
}

int_vals! {
    u8 as u32, u8, u16;
    i8 as u32, u8, i16;
    u16 as u32, u16, u32;
    i16 as u32, u16, i32;
    u32 as u32, u32, u64;
    i32 as u32, u32, i64;
    u64 as u64, u64, u128;
    i64 as u64, u64, i128;
}

impl Val for f32 {
    type Raw = u32;
    #[inline(always)]
    fn from_raw(raw: u32) -> f32 {
        f32::from_bits(raw)
    }
    #[inline(always)]
    fn to_raw(self) -> u32 {
        self.to_bits()
    }
}

impl Val for f64 {
    type Raw = u64;
    #[inline(always)]
    fn from_raw(raw: u64) -> f64 {
        f64::from_bits(raw)
    }
    #[inline(always)]
    fn to_raw(self) -> u64 {
        self.to_bits()
    }
}

/// Evaluates `$body` with `$T` as the Rust type of a scalar integer type, or `$packed` for packed
/// types.
macro_rules! with_int {
    ($ty:expr, $T:ident => $body:expr, packed => $packed:expr) => {
        match $ty {
            IntTy::U8 => {
                type $T = u8;
                $body
            }
            IntTy::S8 => {
                type $T = i8;
                $body
            }
            IntTy::U16 => {
                type $T = u16;
                $body
            }
            IntTy::S16 => {
                type $T = i16;
                $body
            }
            IntTy::U32 => {
                type $T = u32;
                $body
            }
            IntTy::S32 => {
                type $T = i32;
                $body
            }
            IntTy::U64 => {
                type $T = u64;
                $body
            }
            IntTy::S64 => {
                type $T = i64;
                $body
            }
            IntTy::U16x2 | IntTy::S16x2 => $packed,
        }
    };
}
pub(crate) use with_int;

/// Evaluates `$body` with `$T` as the unsigned Rust type of a width.
macro_rules! with_width {
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            Width::B8 => {
                type $T = u8;
                $body
            }
            Width::B16 => {
                type $T = u16;
                $body
            }
            Width::B32 => {
                type $T = u32;
                $body
            }
            Width::B64 => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(crate) use with_width;
