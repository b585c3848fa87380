//! The vocabulary of PTX as integers: base mnemonics, dotted modifiers, scalar types, state spaces.
//!
//! Source: PTX ISA 9.0, the instruction pages, and older manuals for what later ones dropped.
//!
//! Representation of what follows an opcode with dots: one flat enum, [`Modifier`], with three
//! exceptions that carry data because whole families share a spelling rule or a use elsewhere:
//! types are [`Modifier::Type`], plain state spaces are [`Modifier::Space`], matrix shapes are
//! [`Modifier::Shape`]. A spelling has one meaning here whatever the instruction: `.lo` is
//! [`Modifier::Lo`] both for `mul.lo` and for the comparison `setp.lo`; `.b` is [`Modifier::B`]
//! for `sust.b`, `wmma.load.b` and `tld4.b`. Sub-qualified spaces (`.shared::cta`) are modifiers
//! of their own. What an instruction allows is the business of `forms`.

mod lookup;
mod modifier;
mod opcode;
mod types;

pub use modifier::{MatrixShape, Modifier};
pub use opcode::Opcode;
pub use types::{ScalarType, Space};

/// The newest version of PTX whose vocabulary is here: major and minor.
pub const NEWEST: (u32, u32) = (9, 0);
