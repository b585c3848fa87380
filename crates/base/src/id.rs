//! Typed indices. One type per table, so that an SM's number is never used as a warp's.

/// Declares index types around an integer with `new`, `index` and `Display`.
#[macro_export]
macro_rules! define_id {
    ($($(#[$meta:meta])* $name:ident($int:ty) = $prefix:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// The index for a position in its table. Panics if the position does not fit.
            #[inline]
            pub fn new(index: usize) -> Self {
                debug_assert!(index <= <$int>::MAX as usize);
                Self(index as $int)
            }
            /// Position in its table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
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
    /// A streaming multiprocessor.
    SmId(u16) = "sm";
    /// A warp's place in one SM (physical slot).
    WarpSlot(u16) = "warp";
    /// A thread block's place in one SM (physical slot).
    BlockId(u16) = "block";
    /// A kernel in flight on the GPU.
    KernelSlot(u8) = "kernel";
    /// A DRAM channel with its controller.
    ChannelId(u16) = "channel";
    /// One L2 bank: a sub-partition of a memory channel.
    SubPartitionId(u16) = "partition";
    /// Position of an instruction in a kernel's flat code.
    Pc(u32) = "pc";
}
