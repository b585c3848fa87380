//! Register classes: sets of PTX registers that can replace one another, and their costs.
//!
//! PTX requires that a register has the width of the instruction's type and that a predicate
//! operand is a predicate register. A register of an untyped type such as `.b32` is compatible with
//! every type of its width (PTX ISA 9.2). Classes are therefore determined by width, and one
//! register may hold an integer at one time and a float at another. With [`Typing::Kinds`] floats
//! have separate classes, as in section 5.2 of CRAT (Xie et al., MICRO 2015); values then move
//! between the classes only through `mov` instructions of the program.

use warploom_ptx::tokens::ScalarType;

/// The rule by which types of the same width share registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Typing {
    /// Classes depend on width alone.
    #[default]
    Bits,
    /// Classes depend on width, with floats separate from integers and untyped bits.
    Kinds,
}

/// A register file is a set of registers that classes share. With [`Typing::Bits`] there are two:
/// one of predicates, and one of 32-bit registers of which a wide register takes several. With
/// [`Typing::Kinds`] every class has its own, because PTX cannot give a register of one type to a
/// variable of another (section 5.2 of CRAT).
impl Typing {
    /// Returns the number of register files.
    pub(crate) const fn files(self) -> usize {
        match self {
            Self::Bits => 2,
            Self::Kinds => Class::ALL.len(),
        }
    }

    /// Returns the index of the file that contains the registers of a class.
    pub(crate) const fn file(self, class: Class) -> usize {
        match (self, class) {
            (Self::Bits, Class::Pred) => 0,
            (Self::Bits, _) => 1,
            (Self::Kinds, _) => class.index(),
        }
    }

    /// Returns the number of registers of the file that one register of a class takes.
    pub(crate) const fn size(self, class: Class) -> u32 {
        match (self, class) {
            (Self::Bits, Class::B64 | Class::F64 | Class::B128) => class.units(),
            _ => 1,
        }
    }

    /// Returns the number of 32-bit registers that one register of a file counts as.
    pub(crate) const fn units(self, file: usize) -> u32 {
        match self {
            Self::Bits => file as u32,
            Self::Kinds => Class::ALL[file].units(),
        }
    }
}

/// A set of registers that can replace one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Predicate registers, which are free and are never spilled.
    Pred,
    /// Registers of 8 bits, of any type.
    B8,
    /// Registers of 16 bits, of any type.
    B16,
    /// Registers of 32 bits. With [`Typing::Kinds`] the class excludes floats.
    B32,
    /// Registers of 32-bit floats, with [`Typing::Kinds`] only.
    F32,
    /// Registers of 64 bits. With [`Typing::Kinds`] the class excludes floats.
    B64,
    /// Registers of 64-bit floats, with [`Typing::Kinds`] only.
    F64,
    /// Registers of 128 bits, of any type.
    B128,
}

impl Class {
    /// All classes, in the order of their indices.
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

    /// Returns the class of a register that is declared with the type `ty`.
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

    /// Returns the index of the class in [`Class::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the number of 32-bit registers that one register of the class counts as.
    pub const fn units(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::B8 | Self::B16 | Self::B32 | Self::F32 => 1,
            Self::B64 | Self::F64 => 2,
            Self::B128 => 4,
        }
    }

    /// Returns the size of a spilled value in bytes.
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

    /// Returns the type with which registers of the class are declared.
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

    /// Returns the prefix of register names of the class, following the convention of NVIDIA's
    /// compilers.
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

/// A table with one value for each class.
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
    /// Returns the total number of 32-bit registers, for a table that holds the number of registers
    /// of each class.
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
