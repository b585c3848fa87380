//! Vocabulary of PTX as integers: mnemonics, dotted modifiers, scalar types, state spaces.
//!
//! Source: PTX ISA 9.0, the instruction pages, and older manuals for words that later ones dropped.
//!
//! The words after an opcode's dot are one flat enum, [`Modifier`]. Three of its values carry data,
//! because whole families share a spelling rule or another use: types are [`Modifier::Type`], plain
//! state spaces are [`Modifier::Space`], matrix shapes are [`Modifier::Shape`]. A spelling has one
//! meaning for all instructions: `.lo` is [`Modifier::Lo`] both for `mul.lo` and for the comparison
//! `setp.lo`; `.b` is [`Modifier::B`] for `sust.b`, `wmma.load.b` and `tld4.b`. Sub-qualified
//! spaces (`.shared::cta`) are modifiers of their own. The module `forms` decides what an
//! instruction allows.

mod lookup;
mod modifier;
mod opcode;
mod types;

pub use modifier::{MatrixShape, Modifier};
pub use opcode::Opcode;
pub use types::{ScalarType, Space};

/// Newest version of PTX whose vocabulary is known: major and minor.
pub const NEWEST: (u32, u32) = (9, 0);
