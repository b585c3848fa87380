//! Register classes: which PTX registers can stand in for one another, and what they cost.
//!
//! PTX wants a register of an instruction's width, and a predicate where it wants a predicate; a
//! register declared as untyped bits serves every type of its width (PTX ISA 9.2). So classes go by
//! width, and one register may hold an integer at one time and a float at another. With
//! [`Typing::Kinds`] floats have classes of their own, as in the paper's section 5.2; values then
//! pass between the two only through the program's own `mov`.

use warploom_ptx::tokens::ScalarType;

/// How finely registers are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Typing {
    /// By width alone.
    #[default]
    Bits,
    /// By width, and floats apart from integers.
    Kinds,
}

/// A set of registers that can stand in for one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Predicates. They cost nothing and are never spilled.
    Pred,
    /// 8 bits.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits; only integers and bits with [`Typing::Kinds`].
    B32,
    /// 32-bit floats, with [`Typing::Kinds`].
    F32,
    /// 64 bits; only integers and bits with [`Typing::Kinds`].
    B64,
    /// 64-bit floats, with [`Typing::Kinds`].
    F64,
    /// 128 bits.
    B128,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 8] = [
        Self::Pred,
        Self::B8,
        Self::B16,
        Self::B32,
        Self::F32,
        Self::B64,
        Self::F64,
        Self::B128,
    ];

    /// The class of registers declared with a type.
    pub fn of(ty: ScalarType, typing: Typing) -> Self {
        let float = ty.is_float() && typing == Typing::Kinds;
        match (ty.bits(), float) {
            (1, _) => Self::Pred,
            (..=8, _) => Self::B8,
            (..=16, _) => Self::B16,
            (..=32, false) => Self::B32,
            (..=32, true) => Self::F32,
            (..=64, false) => Self::B64,
            (..=64, true) => Self::F64,
            _ => Self::B128,
        }
    }

    /// Position in [`Class::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// 32-bit registers that one of this class counts as.
    pub const fn units(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::B8 | Self::B16 | Self::B32 | Self::F32 => 1,
            Self::B64 | Self::F64 => 2,
            Self::B128 => 4,
        }
    }

    /// Bytes that a spilled value takes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::B8 => 1,
            Self::B16 => 2,
            Self::B32 | Self::F32 => 4,
            Self::B64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    /// The type that the class's registers are declared with.
    pub const fn ty(self) -> ScalarType {
        match self {
            Self::Pred => ScalarType::Pred,
            Self::B8 => ScalarType::B8,
            Self::B16 => ScalarType::B16,
            Self::B32 => ScalarType::B32,
            Self::F32 => ScalarType::F32,
            Self::B64 => ScalarType::B64,
            Self::F64 => ScalarType::F64,
            Self::B128 => ScalarType::B128,
        }
    }

    /// What its registers' names start with, as NVIDIA's compilers name them.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Pred => "%p",
            Self::B8 => "%rc",
            Self::B16 => "%rs",
            Self::B32 => "%r",
            Self::F32 => "%f",
            Self::B64 => "%rd",
            Self::F64 => "%fd",
            Self::B128 => "%rq",
        }
    }
}

/// Something for every class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerClass<T>([T; 8]);

impl<T> std::ops::Index<Class> for PerClass<T> {
    type Output = T;

    fn index(&self, class: Class) -> &T {
        &self.0[class.index()]
    }
}

impl<T> std::ops::IndexMut<Class> for PerClass<T> {
    fn index_mut(&mut self, class: Class) -> &mut T {
        &mut self.0[class.index()]
    }
}

impl PerClass<u32> {
    /// 32-bit registers that so many of each class count as.
    pub fn units(&self) -> u32 {
        Class::ALL.iter().map(|c| self[*c] * c.units()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, PerClass, Typing};
    use warploom_ptx::tokens::ScalarType;

    #[test]
    fn floats_have_classes_of_their_own_only_on_request() {
        let of = |ty| (Class::of(ty, Typing::Bits), Class::of(ty, Typing::Kinds));
        assert_eq!(of(ScalarType::F32), (Class::B32, Class::F32));
        assert_eq!(of(ScalarType::S32), (Class::B32, Class::B32));
        assert_eq!(of(ScalarType::F64), (Class::B64, Class::F64));
        assert_eq!(of(ScalarType::F16), (Class::B16, Class::B16));
        assert_eq!(of(ScalarType::Pred), (Class::Pred, Class::Pred));
    }

    #[test]
    fn a_class_declares_registers_of_itself() {
        for class in Class::ALL {
            assert_eq!(Class::of(class.ty(), Typing::Kinds), class);
            assert_eq!(
                class.ty().bits().div_ceil(32) * u32::from(class != Class::Pred),
                class.units()
            );
        }
    }

    #[test]
    fn wide_registers_count_as_several() {
        let mut count = PerClass::<u32>::default();
        (
            count[Class::Pred],
            count[Class::B16],
            count[Class::B32],
            count[Class::B64],
        ) = (9, 1, 5, 3);
        assert_eq!(count.units(), 1 + 5 + 6);
    }
}
