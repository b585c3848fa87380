//! Values in the files: types, literals, expectations, tolerances.

use half::{bf16, f16};

/// Type of a value in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Pred,
    Int {
        bits: u32,
        signed: bool,
    },
    F16,
    Bf16,
    F32,
    F64,
    /// Two 16-bit halves of a 32-bit register, the lower one first.
    Pair(Half),
}

/// Type of a half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    U16,
    S16,
    F16,
    Bf16,
}

/// Expectation of a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Expect {
    /// The expectation `_`: the ISA leaves the value undefined.
    Any,
    /// The expectation `unset`: the thread exited before it could store the result.
    Unset,
    Bits(u64),
    /// The expectation `nan`: any NaN.
    Nan,
    Near(f64, Tolerance),
    Pair(Box<[Expect; 2]>),
}

/// Permitted difference of a result from the exact value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    Ulps(f64),
    Absolute(f64),
    Relative(f64),
}

/// Byte that fills results before a run.
pub const POISON: u8 = 0xa5;

impl Kind {
    pub fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "pred" => Self::Pred,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" | "tf32" => Self::F32,
            "f64" => Self::F64,
            "f16x2" => Self::Pair(Half::F16),
            "bf16x2" => Self::Pair(Half::Bf16),
            "u16x2" => Self::Pair(Half::U16),
            "s16x2" => Self::Pair(Half::S16),
            _ => {
                let bits = name.get(1..).and_then(|bits| bits.parse().ok());
                match (name.chars().next(), bits) {
                    (Some('b' | 'u' | 's'), Some(bits @ (8 | 16 | 32 | 64))) => Self::Int {
                        bits,
                        signed: name.starts_with('s'),
                    },
                    _ => return Err(format!("unknown type `{name}`")),
                }
            }
        })
    }

    /// Number of bits of the value. A predicate is stored as a 32-bit 0 or 1.
    pub fn bits(self) -> u32 {
        match self {
            Self::Int { bits, .. } => bits,
            Self::F16 | Self::Bf16 => 16,
            Self::F64 => 64,
            Self::Pred | Self::F32 | Self::Pair(_) => 32,
        }
    }

    /// Number of bits of the register that contains the value.
    pub fn register_bits(self) -> u32 {
        self.bits().max(16)
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Bits of a literal.
    pub fn literal(self, text: &str) -> Result<u64, String> {
        let bad = || format!("`{text}` is no {self:?}");
        match self {
            Self::Pair(half) => {
                let (lo, hi) = text.split_once('|').ok_or_else(bad)?;
                Ok(half.kind().literal(lo)? | half.kind().literal(hi)? << 16)
            }
            Self::Pred | Self::Int { .. } => integer(text)
                .filter(|&value| self.holds(value))
                .map(|value| value as u64 & self.mask())
                .ok_or_else(bad),
            _ => self.float_literal(text).ok_or_else(bad),
        }
    }

    /// True if an integer literal is in range. Bit patterns are permitted for signed types, too.
    fn holds(self, value: i128) -> bool {
        let bits = if self == Self::Pred { 1 } else { self.bits() };
        (-(1i128 << (bits - 1))..1i128 << bits).contains(&value)
    }

    fn float_literal(self, text: &str) -> Option<u64> {
        let digits = match self {
            Self::F16 | Self::Bf16 => text.strip_prefix("0h").filter(|d| d.len() == 4),
            Self::F32 => text.strip_prefix("0f").filter(|d| d.len() == 8),
            _ => text.strip_prefix("0d").filter(|d| d.len() == 16),
        };
        if let Some(digits) = digits {
            return u64::from_str_radix(digits, 16).ok();
        }
        let value: f64 = text.parse().ok().filter(|value: &f64| !value.is_nan())?;
        // Halves in decimal must be exact, so that no reader has to round them.
        match self {
            Self::F16 => {
                let half = f16::from_f64(value);
                (half.to_f64() == value).then_some(half.to_bits().into())
            }
            Self::Bf16 => {
                let half = bf16::from_f64(value);
                (half.to_f64() == value).then_some(half.to_bits().into())
            }
            Self::F32 => Some(text.parse::<f32>().ok()?.to_bits().into()),
            _ => Some(value.to_bits()),
        }
    }

    /// The expectation that a text denotes.
    pub fn expect(self, text: &str) -> Result<Expect, String> {
        match (text, self) {
            ("_", _) => return Ok(Expect::Any),
            ("unset", _) => return Ok(Expect::Unset),
            ("nan", Self::F16 | Self::Bf16 | Self::F32 | Self::F64) => return Ok(Expect::Nan),
            (_, Self::Pair(half)) => {
                let (lo, hi) = text.split_once('|').ok_or(format!("`{text}` is no pair"))?;
                let halves = [half.kind().expect(lo)?, half.kind().expect(hi)?];
                return Ok(Expect::Pair(Box::new(halves)));
            }
            _ => {}
        }
        match text.split_once('~') {
            Some((value, tolerance)) => {
                let value = value
                    .parse()
                    .map_err(|_| format!("`{value}` is no number"))?;
                Ok(Expect::Near(value, Tolerance::parse(tolerance)?))
            }
            None => Ok(Expect::Bits(self.literal(text)?)),
        }
    }

    /// True if a result, with any bits above its type's, meets the expectation.
    pub fn meets(self, got: u64, expect: &Expect) -> bool {
        let got = got & self.mask();
        match expect {
            Expect::Any => true,
            Expect::Unset => got == u64::from_le_bytes([POISON; 8]) & self.mask(),
            Expect::Bits(bits) => got == *bits,
            Expect::Nan => self.value(got).is_nan(),
            Expect::Near(exact, tolerance) => {
                let (value, error) = (self.value(got), self.value(got) - exact);
                value.is_finite() && error.abs() <= tolerance.bound(*exact, self)
            }
            Expect::Pair(halves) => match self {
                Self::Pair(half) => {
                    let kind = half.kind();
                    kind.meets(got & 0xffff, &halves[0]) && kind.meets(got >> 16, &halves[1])
                }
                _ => false,
            },
        }
    }

    /// Value of a float's bits.
    fn value(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }
    }

    /// Text of a result for a message.
    pub fn show(self, got: u64) -> String {
        let got = got & self.mask();
        match self {
            Self::Int { signed: true, bits } => {
                let value = (got << (64 - bits)) as i64 >> (64 - bits);
                format!("{value} (0x{got:x})")
            }
            Self::Pred | Self::Int { .. } => format!("{got} (0x{got:x})"),
            Self::Pair(half) => {
                let kind = half.kind();
                format!("{} | {}", kind.show(got & 0xffff), kind.show(got >> 16))
            }
            Self::F16 | Self::Bf16 => format!("{:e} (0h{got:04X})", self.value(got)),
            Self::F32 => format!("{:e} (0f{got:08X})", self.value(got)),
            Self::F64 => format!("{:e} (0d{got:016X})", self.value(got)),
        }
    }
}

impl Half {
    pub fn kind(self) -> Kind {
        match self {
            Self::U16 => Kind::Int {
                bits: 16,
                signed: false,
            },
            Self::S16 => Kind::Int {
                bits: 16,
                signed: true,
            },
            Self::F16 => Kind::F16,
            Self::Bf16 => Kind::Bf16,
        }
    }
}

impl Tolerance {
    /// Parses a tolerance such as `2ulp`, `abs2^-20.9` or `rel2^-22`.
    fn parse(text: &str) -> Result<Self, String> {
        let power = |digits: &str| digits.parse().ok().map(f64::exp2);
        let found = if let Some(digits) = text.strip_prefix("abs2^") {
            power(digits).map(Self::Absolute)
        } else if let Some(digits) = text.strip_prefix("rel2^") {
            power(digits).map(Self::Relative)
        } else {
            let ulps = text.strip_suffix("ulp").and_then(|ulps| ulps.parse().ok());
            ulps.map(Self::Ulps)
        };
        found.ok_or(format!("`{text}` is no tolerance"))
    }

    fn bound(self, exact: f64, kind: Kind) -> f64 {
        match self {
            Self::Absolute(bound) => bound,
            Self::Relative(bound) => bound * exact.abs(),
            Self::Ulps(count) => count * ulp(exact, kind),
        }
    }
}

/// Distance between neighbours of a type at a value.
fn ulp(value: f64, kind: Kind) -> f64 {
    let (digits, least) = match kind {
        Kind::F16 => (10, -14),
        Kind::Bf16 => (7, -126),
        Kind::F32 => (23, -126),
        _ => (52, -1022),
    };
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    f64::from(exponent.max(least) - digits).exp2()
}

/// Parses a decimal or hexadecimal integer.
pub fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

#[test]
fn literals_are_bits() {
    let bits = |kind: &str, text: &str| Kind::parse(kind).and_then(|kind| kind.literal(text));
    assert_eq!(bits("s32", "-1"), Ok(0xffff_ffff));
    assert_eq!(bits("f32", "-0.0"), Ok(0x8000_0000));
    assert_eq!(bits("f16", "1.5"), Ok(0x3e00));
    assert_eq!(bits("f16x2", "1.0|-inf"), Ok(0xfc00_3c00));
    for (kind, text) in [
        ("u8", "256"),
        ("s8", "-129"),
        ("f16", "0.1"),
        ("pred", "2"),
        ("f32", "0f1"),
    ] {
        assert!(bits(kind, text).is_err(), "{kind} {text}");
    }
}

#[test]
fn tolerances_bound_the_error() {
    let meets = |text: &str, got: f32| {
        let expect = Kind::F32.expect(text).expect("a correct expectation");
        Kind::F32.meets(got.to_bits().into(), &expect)
    };
    let next = f32::from_bits(1.0f32.to_bits() + 2);
    assert!(meets("1.0~2ulp", next) && !meets("1.0~1ulp", next));
    assert!(meets("4.0~abs2^-1", 4.5) && !meets("4.0~abs2^-1", 4.6));
    assert!(meets("4.0~rel2^-1", 6.0) && !meets("4.0~rel2^-1", 6.1));
    assert!(meets("nan", f32::NAN) && !meets("nan", 1.0) && !meets("1.0~2ulp", f32::NAN));
}
