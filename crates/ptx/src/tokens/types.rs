//! Scalar types (PTX ISA 5.2) and state spaces (PTX ISA 5.1).

use super::lookup::spelled_enum;

spelled_enum! {
    /// Type of a register, variable or instruction.
    ScalarType, 128:
    B1 = "b1",
    B4 = "b4",
    B8 = "b8",
    B16 = "b16",
    B32 = "b32",
    B64 = "b64",
    B128 = "b128",
    B1024 = "b1024",
    U2 = "u2",
    U4 = "u4",
    U8 = "u8",
    U16 = "u16",
    U16x2 = "u16x2",
    U32 = "u32",
    U64 = "u64",
    S2 = "s2",
    S4 = "s4",
    S8 = "s8",
    S16 = "s16",
    S16x2 = "s16x2",
    S32 = "s32",
    S64 = "s64",
    F16 = "f16",
    F16x2 = "f16x2",
    Bf16 = "bf16",
    Bf16x2 = "bf16x2",
    Tf32 = "tf32",
    F32 = "f32",
    F32x2 = "f32x2",
    F64 = "f64",
    E2m1 = "e2m1",
    E2m1x2 = "e2m1x2",
    E2m1x4 = "e2m1x4",
    E2m3 = "e2m3",
    E2m3x2 = "e2m3x2",
    E2m3x4 = "e2m3x4",
    E3m2 = "e3m2",
    E3m2x2 = "e3m2x2",
    E3m2x4 = "e3m2x4",
    E4m3 = "e4m3",
    E4m3x2 = "e4m3x2",
    E4m3x4 = "e4m3x4",
    E5m2 = "e5m2",
    E5m2x2 = "e5m2x2",
    E5m2x4 = "e5m2x4",
    Ue4m3 = "ue4m3",
    Ue8m0 = "ue8m0",
    Ue8m0x2 = "ue8m0x2",
    Pred = "pred",
}

/// Interpretation of a scalar type's bits, which decides the register types that an instruction
/// type accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Bits,
    Unsigned,
    Signed,
    Float,
    Predicate,
}

impl ScalarType {
    const fn layout(self) -> (u32, Class) {
        use Class::{Bits, Float, Predicate, Signed, Unsigned};
        match self {
            Self::B1 => (1, Bits),
            Self::B4 => (4, Bits),
            Self::B8 => (8, Bits),
            Self::B16 => (16, Bits),
            Self::B32 => (32, Bits),
            Self::B64 => (64, Bits),
            Self::B128 => (128, Bits),
            Self::B1024 => (1024, Bits),
            Self::U2 => (2, Unsigned),
            Self::U4 => (4, Unsigned),
            Self::U8 => (8, Unsigned),
            Self::U16 => (16, Unsigned),
            Self::U16x2 | Self::U32 => (32, Unsigned),
            Self::U64 => (64, Unsigned),
            Self::S2 => (2, Signed),
            Self::S4 => (4, Signed),
            Self::S8 => (8, Signed),
            Self::S16 => (16, Signed),
            Self::S16x2 | Self::S32 => (32, Signed),
            Self::S64 => (64, Signed),
            Self::E2m1 => (4, Float),
            Self::E2m3 | Self::E3m2 => (6, Float),
            Self::E4m3 | Self::E5m2 | Self::Ue4m3 | Self::Ue8m0 | Self::E2m1x2 => (8, Float),
            Self::F16
            | Self::Bf16
            | Self::E2m3x2
            | Self::E3m2x2
            | Self::E4m3x2
            | Self::E5m2x2
            | Self::Ue8m0x2
            | Self::E2m1x4 => (16, Float),
            Self::F16x2
            | Self::Bf16x2
            | Self::Tf32
            | Self::F32
            | Self::E2m3x4
            | Self::E3m2x4
            | Self::E4m3x4
            | Self::E5m2x4 => (32, Float),
            Self::F32x2 | Self::F64 => (64, Float),
            Self::Pred => (1, Predicate),
        }
    }

    /// Width in bits; 1 for a predicate.
    pub const fn bits(self) -> u32 {
        self.layout().0
    }

    /// Size in memory in bytes, rounded up.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for a floating-point format, packed or not.
    pub const fn is_float(self) -> bool {
        matches!(self.layout().1, Class::Float)
    }

    /// True for a signed or unsigned integer, but not for untyped bits.
    pub const fn is_integer(self) -> bool {
        matches!(self.layout().1, Class::Signed | Class::Unsigned)
    }

    /// True for a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self.layout().1, Class::Signed)
    }

    /// True for an unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        matches!(self.layout().1, Class::Unsigned)
    }

    /// True for untyped bits.
    pub const fn is_bits(self) -> bool {
        matches!(self.layout().1, Class::Bits)
    }

    /// True if a register, variable or parameter may have the type (PTX ISA 5.2.1 and 5.2.5). The
    /// narrow and packed formats that only instructions name are excluded.
    pub const fn is_fundamental(self) -> bool {
        matches!(
            self,
            Self::B8
                | Self::B16
                | Self::B32
                | Self::B64
                | Self::B128
                | Self::U8
                | Self::U16
                | Self::U32
                | Self::U64
                | Self::S8
                | Self::S16
                | Self::S32
                | Self::S64
                | Self::F16
                | Self::F16x2
                | Self::F32
                | Self::F64
                | Self::Pred
        )
    }
}

spelled_enum! {
    /// State space of a variable or of a memory instruction.
    Space, 32:
    /// Registers of a thread.
    Reg = "reg",
    /// Special registers of a thread.
    Sreg = "sreg",
    /// Constant memory of a module.
    Const = "const",
    /// Global memory of the device.
    Global = "global",
    /// Local memory of one thread.
    Local = "local",
    /// Parameters of kernels and device functions.
    Param = "param",
    /// Shared memory of a block.
    Shared = "shared",
    /// Textures (deprecated spelling of a global texture reference).
    Tex = "tex",
    /// Generic addresses: no space is written. Only contexts such as `.ptr .generic` spell it.
    Generic = "generic",
}

#[cfg(test)]
mod tests {
    use super::{ScalarType, Space};

    #[test]
    fn every_spelling_finds_its_member() {
        for &ty in ScalarType::ALL {
            assert_eq!(ScalarType::from_text(ty.text()), Some(ty));
        }
        for &space in Space::ALL {
            assert_eq!(Space::from_text(space.text()), Some(space));
        }
        assert_eq!(ScalarType::from_text("u33"), None);
        assert_eq!(Space::from_text("shared::cta"), None);
    }

    #[test]
    fn widths_follow_the_spelling() {
        // bits named in the spelling, times the packing factor, is the width: an oracle that does
        // not share the table. Micro-float names (e4m3) count exponent, mantissa and sign instead.
        for &ty in ScalarType::ALL {
            let text = ty.text();
            if ty == ScalarType::Pred || ty == ScalarType::Tf32 || text.contains('e') {
                continue;
            }
            let (scalar, factor) = text.split_once('x').unwrap_or((text, "1"));
            let digits: String = scalar.chars().filter(char::is_ascii_digit).collect();
            let expected = digits.parse::<u32>().unwrap() * factor.parse::<u32>().unwrap();
            assert_eq!(ty.bits(), expected, "{text}");
        }
        assert_eq!(ScalarType::E4m3x2.bits(), 16);
        assert_eq!(ScalarType::E2m1x2.bytes(), 1);
    }

    #[test]
    fn classes_exclude_each_other() {
        for &ty in ScalarType::ALL {
            let classes = [
                ty.is_bits(),
                ty.is_float(),
                ty.is_integer(),
                ty == ScalarType::Pred,
            ];
            assert_eq!(classes.iter().filter(|c| **c).count(), 1, "{ty}");
            assert_eq!(ty.is_integer(), ty.is_signed() || ty.is_unsigned());
        }
    }
}
