//! Conversion of PTX's scalar types to the types of operations.

use warploom_ir::{FloatTy, IntTy, Ty, Width};
use warploom_ptx::tokens::ScalarType;

/// Integer type for arithmetic, if the type has one; untyped bits count as unsigned.
pub(crate) fn int_or_bits(ty: ScalarType) -> Option<IntTy> {
    use ScalarType as S;
    Some(match ty {
        S::U8 | S::B8 => IntTy::U8,
        S::U16 | S::B16 => IntTy::U16,
        S::U32 | S::B32 => IntTy::U32,
        S::U64 | S::B64 => IntTy::U64,
        S::S8 => IntTy::S8,
        S::S16 => IntTy::S16,
        S::S32 => IntTy::S32,
        S::S64 => IntTy::S64,
        S::U16x2 => IntTy::U16x2,
        S::S16x2 => IntTy::S16x2,
        _ => return None,
    })
}

/// Integer type, if the scalar type is one.
pub(crate) fn int(ty: ScalarType) -> Option<IntTy> {
    int_or_bits(ty).filter(|_| ty.is_integer())
}

/// Floating-point type for arithmetic, if the type has one.
pub(crate) fn float(ty: ScalarType) -> Option<FloatTy> {
    use ScalarType as S;
    Some(match ty {
        S::F16 => FloatTy::F16,
        S::F16x2 => FloatTy::F16x2,
        S::Bf16 => FloatTy::Bf16,
        S::Bf16x2 => FloatTy::Bf16x2,
        S::F32 => FloatTy::F32,
        S::F64 => FloatTy::F64,
        _ => return None,
    })
}

/// Type for comparison, selection and conversion.
pub(crate) fn any(ty: ScalarType) -> Option<Ty> {
    if ty.is_bits() {
        return width(ty).map(Ty::Bits);
    }
    int(ty).map(Ty::Int).or(float(ty).map(Ty::Float))
}

/// Width of a type as untyped bits.
pub(crate) fn width(ty: ScalarType) -> Option<Width> {
    width_of_bits(ty.bits())
}

/// Width for a number of bits.
pub(crate) fn width_of_bits(bits: u32) -> Option<Width> {
    Some(match bits {
        8 => Width::B8,
        16 => Width::B16,
        32 => Width::B32,
        64 => Width::B64,
        _ => return None,
    })
}

/// Unsigned integer type for a number of bits.
pub(crate) fn unsigned_of_bits(bits: u32) -> IntTy {
    match bits {
        8 => IntTy::U8,
        16 => IntTy::U16,
        64 => IntTy::U64,
        _ => IntTy::U32,
    }
}

/// Signed integer type for a number of bits.
pub(crate) fn signed_of_bits(bits: u32) -> IntTy {
    match bits {
        8 => IntTy::S8,
        16 => IntTy::S16,
        64 => IntTy::S64,
        _ => IntTy::S32,
    }
}

/// Scalar type of untyped bits.
pub(crate) fn bits(bits: u32) -> ScalarType {
    match bits {
        8 => ScalarType::B8,
        16 => ScalarType::B16,
        64 => ScalarType::B64,
        _ => ScalarType::B32,
    }
}
