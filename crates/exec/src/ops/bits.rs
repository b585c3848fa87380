//! Logic operations, shifts, bit fields and byte permutation.

use crate::handler::{Handler, handler};
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::numeric::lane_value::{Int, with_int, with_width};
use warploom_base::WARP_SIZE;
use warploom_ir::{Combine, IntTy, Logic, PrmtMode, Width};

/// Position and length of a bit field. Only their lowest 8 bits count. For the 64-bit forms,
/// hardware uses all 32 bits instead, where values beyond 255 have the effect of 255
/// (`docs/hardware.md`).
fn place(pos: u32, len: u32, bits: u32) -> (u32, u32) {
    match bits {
        64 => (pos.min(0xff), len.min(0xff)),
        _ => (pos & 0xff, len & 0xff),
    }
}

/// Result of `bfe`: `len` bits of `a` from `pos`. For signed types, the highest of these bits (or
/// of `a`) is extended.
fn bfe(a: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let ((pos, len), msb) = (place(pos, len, bits), bits - 1);
    let sign_at = (pos + len).saturating_sub(1).min(msb);
    let sign = signed && len > 0 && a >> sign_at & 1 == 1;
    let taken = len.min(bits.saturating_sub(pos));
    let field = if taken == 0 {
        0
    } else {
        a >> pos & (u64::MAX >> (64 - taken))
    };
    match (sign, taken < 64) {
        (true, true) => field | u64::MAX << taken,
        _ => field,
    }
}

/// Result of `bfi`: `b` with `len` bits from `pos` replaced by the low bits of `a`.
fn bfi(a: u64, b: u64, pos: u32, len: u32, bits: u32) -> u64 {
    let (pos, len) = place(pos, len, bits);
    let taken = len.min(bits.saturating_sub(pos));
    if taken == 0 {
        return b;
    }
    let mask = (u64::MAX >> (64 - taken)) << pos;
    (b & !mask) | (a << pos & mask)
}

/// Result of `bmsk`: `width` ones from `start`.
fn bmsk(start: u32, width: u32, clamp: bool) -> u32 {
    let (a, b) = (start & 31, width & 31);
    let low = if clamp && start >= 32 {
        0
    } else {
        u32::MAX << a
    };
    let open = a + b >= 32 || (clamp && (start >= 32 || width >= 32));
    let high = if open { 0 } else { u32::MAX << (a + b) };
    low & !high
}

/// Result of `szext`: the low `width` bits of `a`, sign- or zero-extended.
pub(crate) fn szext(a: u32, width: u32, clamp: bool, signed: bool) -> u32 {
    let n = width & 31;
    let whole = clamp && width >= 32;
    let above = if whole { 0 } else { u32::MAX << n };
    let sign = signed && !whole && n > 0 && a >> (n - 1) & 1 == 1;
    (a & !above) | if sign { above } else { 0 }
}

/// Result of `fns`: the position of the |offset|-th set bit from `base`, upward or downward. All
/// ones if there is none.
fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    let base = base & 31;
    if offset == 0 {
        return if mask >> base & 1 == 1 {
            base
        } else {
            u32::MAX
        };
    }
    let nth = offset.unsigned_abs() as usize - 1;
    let set = |&at: &u32| mask >> at & 1 == 1;
    let found = if offset > 0 {
        (base..32).filter(set).nth(nth)
    } else {
        (0..=base).rev().filter(set).nth(nth)
    };
    found.unwrap_or(u32::MAX)
}

/// Result of `lop3`: bit `i` of the table is the result for the bits (a, b, c) of the number `i`.
#[inline(always)]
fn lop3(a: u32, b: u32, c: u32, terms: &[u32; 8]) -> u32 {
    let low = (!a & !b & !c & terms[0]) | (!a & !b & c & terms[1]);
    let low = low | (!a & b & !c & terms[2]) | (!a & b & c & terms[3]);
    let high = (a & !b & !c & terms[4]) | (a & !b & c & terms[5]);
    low | high | (a & b & !c & terms[6]) | (a & b & c & terms[7])
}

/// Result of `shf`: a funnel shift of the pair (b, a) by c.
fn shf(a: u32, b: u32, c: u32, left: bool, wrap: bool) -> u32 {
    let n = if wrap { c & 31 } else { c.min(32) };
    let both = u64::from(b) << 32 | u64::from(a);
    if left {
        ((both << n) >> 32) as u32
    } else {
        (both >> n) as u32
    }
}

/// Selector of a `prmt` mode: the indices of the bytes from result byte 0 up, one nibble each.
fn prmt_selector(mode: PrmtMode, c: u32) -> u32 {
    let i = (c & 3) as usize;
    match mode {
        PrmtMode::Index => c,
        PrmtMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543][i],
        PrmtMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123][i],
        PrmtMode::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333][i],
        PrmtMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333][i],
        PrmtMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210][i],
        PrmtMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232][i],
    }
}

/// Result of the instruction `prmt`.
fn prmt(a: u32, b: u32, c: u32, mode: PrmtMode) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let selector = prmt_selector(mode, c);
    let byte = |i: u32| {
        let pick = selector >> (4 * i);
        let byte = (both >> (8 * (pick & 7))) as u8;
        let sign = mode == PrmtMode::Index && pick & 8 != 0;
        if sign { (byte as i8 >> 7) as u8 } else { byte }
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

/// Combines the result of a comparison with a predicate operand.
#[inline(always)]
pub(crate) fn combine(how: Combine, value: u32, c: u32) -> u32 {
    match how {
        Combine::None => value,
        Combine::And => value & c,
        Combine::Or => value | c,
        Combine::Xor => value ^ c,
    }
}

/// Result of a logic operation on two lane masks.
fn logic_mask(op: Logic, a: u32, b: u32) -> u32 {
    match op {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

/// Handler of a bitwise operation.
pub(crate) fn logic(op: Logic, width: Width, isa: VectorIsa) -> Option<Handler> {
    Some(match (op, width) {
        (Logic::And, Width::B64) => handler!(isa, |m| m.binary(|a: u64, b: u64| a & b)),
        (Logic::Or, Width::B64) => handler!(isa, |m| m.binary(|a: u64, b: u64| a | b)),
        (Logic::Xor, Width::B64) => handler!(isa, |m| m.binary(|a: u64, b: u64| a ^ b)),
        (Logic::And, _) => handler!(isa, |m| m.binary(|a: u32, b: u32| a & b)),
        (Logic::Or, _) => handler!(isa, |m| m.binary(|a: u32, b: u32| a | b)),
        (Logic::Xor, _) => handler!(isa, |m| m.binary(|a: u32, b: u32| a ^ b)),
    })
}

/// Handler of a left shift.
pub(crate) fn shl(width: Width, isa: VectorIsa) -> Option<Handler> {
    Some(
        with_width!(width, T => handler!(isa, |m| m.binary(|a: T, n: u32| {
            if n >= T::BITS { 0 } else { a << n }
        }))),
    )
}

/// Handler of a right shift. `None` for packed types.
pub(crate) fn shr(ty: IntTy, isa: VectorIsa) -> Option<Handler> {
    let run = with_int!(
        ty, T => handler!(isa, |m| m.binary(|a: T, n: u32| a.shr_clamped(n))),
        packed => return None
    );
    Some(run)
}

impl InstExec<'_, '_> {
    /// Executes the instruction `bfe`.
    #[inline(always)]
    pub fn bfe(&mut self, ty: IntTy) -> Exec {
        match ty {
            IntTy::U32 => {
                self.ternary(|a: u32, b: u32, c: u32| bfe(a.into(), b, c, 32, false) as u32)
            }
            IntTy::S32 => {
                self.ternary(|a: u32, b: u32, c: u32| bfe(a.into(), b, c, 32, true) as u32)
            }
            IntTy::U64 => self.ternary(|a: u64, b: u32, c: u32| bfe(a, b, c, 64, false)),
            IntTy::S64 => self.ternary(|a: u64, b: u32, c: u32| bfe(a, b, c, 64, true)),
            _ => Err(self.illegal()),
        }
    }

    /// Executes the instruction `bfi`.
    #[inline(always)]
    pub fn bfi(&mut self, width: Width) -> Exec {
        match width {
            Width::B32 => self.quaternary(|a: u32, b: u32, c: u32, d: u32| {
                bfi(a.into(), b.into(), c, d, 32) as u32
            }),
            Width::B64 => self.quaternary(|a: u64, b: u64, c: u32, d: u32| bfi(a, b, c, d, 64)),
            _ => Err(self.illegal()),
        }
    }

    /// Executes the instruction `bmsk`.
    pub fn bmsk(&mut self, clamp: bool) -> Exec {
        self.binary(|a: u32, b: u32| bmsk(a, b, clamp))
    }

    /// Executes the instruction `szext`.
    pub fn szext(&mut self, clamp: bool, ty: IntTy) -> Exec {
        let signed = ty == IntTy::S32;
        self.binary(|a: u32, b: u32| szext(a, b, clamp, signed))
    }

    /// Executes the instruction `fns`.
    pub fn fns(&mut self) -> Exec {
        self.ternary(fns)
    }

    /// Executes the instruction `not`.
    #[inline(always)]
    pub fn not(&mut self, width: Width) -> Exec {
        with_width!(width, T => self.unary(|a: T| !a))
    }

    /// Executes the instruction `cnot`.
    pub fn cnot(&mut self, width: Width) -> Exec {
        with_width!(width, T => self.unary(|a: T| T::from(a == 0)))
    }

    /// Executes a logic operation on predicates.
    pub fn logic_pred(&mut self, op: Logic) -> Exec {
        let value = logic_mask(op, self.src_pred(0), self.src_pred(1));
        self.write_pred(self.inst.dst[0], value);
        Ok(())
    }

    /// Executes the instruction `lop3`.
    #[inline(always)]
    pub fn lop3(&mut self, table: u8, how: Combine) -> Exec {
        let terms = std::array::from_fn(|i| if table >> i & 1 == 1 { u32::MAX } else { 0 });
        let (a, b, c) = (self.src::<u32>(0), self.src::<u32>(1), self.src::<u32>(2));
        let mut d = [0; WARP_SIZE];
        for i in 0..WARP_SIZE {
            d[i] = lop3(a[i], b[i], c[i], &terms);
        }
        let with = self.src_pred(3);
        self.write_result(&d);
        let nonzero = (0..WARP_SIZE).fold(0, |m, i| m | u32::from(d[i] != 0) << i);
        self.write_pred(self.inst.dst[1], combine(how, nonzero, with));
        Ok(())
    }

    /// Executes the instruction `shf`.
    pub fn shf(&mut self, left: bool, wrap: bool) -> Exec {
        self.ternary(|a: u32, b: u32, c: u32| shf(a, b, c, left, wrap))
    }

    /// Executes the instruction `prmt`.
    pub fn prmt(&mut self, mode: PrmtMode) -> Exec {
        self.ternary(|a: u32, b: u32, c: u32| prmt(a, b, c, mode))
    }
}
