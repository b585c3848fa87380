//! Pipes from issue to the function units.

use warploom_state::Value;

/// Kinds of pipes from issue to the function units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum Pipe {
    /// Single precision, and integers where there is no unit for them.
    Sp,
    /// Operations in double precision.
    Dp,
    /// Integers, where there are units for them.
    Int,
    /// Special functions such as `sin`.
    Sfu,
    /// Products of small matrices.
    Tensor,
    /// Loads, stores and atomics.
    Mem,
    /// SP or, while its input register is full, SFU: the pipe of an instruction that has not
    /// issued. It has no registers and no units of its own.
    SpOrSfu,
}

impl Pipe {
    /// Number of kinds of pipes, without the choice of two.
    pub const COUNT: usize = 6;
    /// Entries in tables by pipe: a power of two, so that an index modulo this number needs no
    /// check.
    pub const PLACES: usize = (Self::COUNT + 1).next_power_of_two();
    /// All pipes, in order.
    pub const ALL: [Pipe; Self::COUNT] = [
        Pipe::Sp,
        Pipe::Dp,
        Pipe::Int,
        Pipe::Sfu,
        Pipe::Tensor,
        Pipe::Mem,
    ];
}
