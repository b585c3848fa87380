//! What travels between an SM and memory.

use warploom_base::{Cycle, KernelSlot, SmId};

/// Why memory is accessed: GPGPU-Sim's access types (formats page, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// Global load.
    GlobalRead,
    /// Global store.
    GlobalWrite,
    /// Atomic on global memory: read and written at the partition.
    GlobalAtomic,
    /// Local load.
    LocalRead,
    /// Local store.
    LocalWrite,
    /// Constant cache miss.
    ConstRead,
    /// Texture cache miss.
    TextureRead,
    /// Instruction fetch.
    InstRead,
    /// Dirty line leaving an L1.
    L1WriteBack,
    /// Dirty line leaving L2.
    L2WriteBack,
    /// L2 reads a line because of a write miss.
    L2WriteAllocate,
    /// L1 reads a line because of a write miss.
    L1WriteAllocate,
}

impl AccessKind {
    /// Kinds, for counters indexed by kind.
    pub const COUNT: usize = 12;

    /// Carries data towards memory.
    #[inline]
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Self::GlobalWrite | Self::LocalWrite | Self::L1WriteBack | Self::L2WriteBack
        )
    }

    /// Position in counters.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// One memory transaction. Plain data: the issuer finds its own records by `token`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// First byte.
    pub addr: u64,
    /// Bytes touched, bit i for byte i of the 128-byte line that holds `addr`.
    pub byte_mask: u128,
    /// Core cycle of issue.
    pub issued_at: Cycle,
    /// The issuer's own number, returned with the reply.
    pub token: u32,
    /// Bytes asked for.
    pub bytes: u16,
    /// Issuing SM.
    pub sm: SmId,
    /// Why.
    pub kind: AccessKind,
    /// Sectors of the line touched, bit i for bytes 32i to 32i+31.
    pub sectors: u8,
    /// Kernel that it belongs to.
    pub kernel: KernelSlot,
    /// Address space (process).
    pub asid: u8,
}

impl Request {
    /// Bytes of a packet without data.
    pub const HEADER_BYTES: u32 = 8;

    /// Size of the packet towards memory: a header, and the data of writes and atomics.
    #[inline]
    pub const fn request_bytes(&self) -> u32 {
        match self.kind {
            AccessKind::GlobalAtomic => Self::HEADER_BYTES + self.bytes as u32,
            kind if kind.is_write() => Self::HEADER_BYTES + self.bytes as u32,
            _ => Self::HEADER_BYTES,
        }
    }

    /// Size of the reply's packet: a header, and the data of reads and atomics.
    #[inline]
    pub const fn reply_bytes(&self) -> u32 {
        if self.kind.is_write() {
            Self::HEADER_BYTES
        } else {
            Self::HEADER_BYTES + self.bytes as u32
        }
    }
}

const _: () = assert!(
    size_of::<Request>() <= 64,
    "a request must stay within a host cache line"
);
