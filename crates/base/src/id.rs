//! Typed indices: one type for each table, so that the number of an SM cannot stand for a warp.

/// Declares index types around an integer, with `new`, `index` and `Display`.
#[macro_export]
macro_rules! define_id {
    ($($(#[$meta:meta])* $name:ident($int:ty) = $prefix:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// Creates the index of a position in the table. Panics in debug builds if the position
            /// does not fit the integer.
            #[inline]
            pub fn new(index: usize) -> Self {
                debug_assert!(index <= <$int>::MAX as usize);
                Self(index as $int)
            }
            /// Position in the table that the index refers to.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::state::State for $name {
            #[inline]
            fn state(
                &mut self,
                io: &mut $crate::state::Io<'_>,
            ) -> Result<(), $crate::state::StateError> {
                $crate::state::State::state(&mut self.0, io)
            }
        }

        impl $crate::state::Value for $name {
            fn blank() -> Self {
                Self::default()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )+};
}

define_id! {
    /// Number of a streaming multiprocessor.
    SmId(u16) = "sm";
    /// Number of a warp slot of one SM.
    WarpSlot(u16) = "warp";
    /// Number of a block slot of one SM.
    BlockId(u16) = "block";
    /// Number of a kernel in flight on the GPU.
    KernelSlot(u8) = "kernel";
    /// Number of a DRAM channel with its controller.
    ChannelId(u16) = "channel";
    /// Number of an L2 bank: a sub-partition of a memory channel.
    SubPartitionId(u16) = "partition";
    /// Position of an instruction in the flat code of a kernel.
    Pc(u32) = "pc";
}
