//! Requests and replies between an SM and memory.

use crate::cache::sectors_from;
use crate::coalesce::sectors_of;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_state::Value;

/// Reason of a memory access: GPGPU-Sim's access types (docs/model/formats.md, Access types).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Value)]
pub enum AccessKind {
    /// Load from global memory.
    GlobalRead,
    /// Store to global memory.
    GlobalWrite,
    /// Atomic on global memory: read and written at the partition.
    GlobalAtomic,
    /// Load from local memory.
    LocalRead,
    /// Store to local memory.
    LocalWrite,
    /// Miss of a constant cache.
    ConstRead,
    /// Miss of a texture cache.
    TextureRead,
    /// Miss of an instruction cache.
    InstRead,
    /// Dirty line leaving an L1.
    L1WriteBack,
    /// Dirty line leaving L2.
    L2WriteBack,
    /// L2 reads a line because of a write miss, or the sector beside one that it reads.
    L2WriteAllocate,
    /// L1 reads a line because of a write miss.
    L1WriteAllocate,
}

impl AccessKind {
    /// Number of kinds, for counters indexed by kind.
    pub const COUNT: usize = 12;

    /// True for kinds that carry data towards memory and read none.
    #[inline]
    pub const fn is_write(self) -> bool {
        Self::WRITES >> self.index() & 1 == 1
    }

    /// Kinds that write, one bit each, so that a host tests for them with one branch.
    const WRITES: u32 = 1 << Self::GlobalWrite.index()
        | 1 << Self::LocalWrite.index()
        | 1 << Self::L1WriteBack.index()
        | 1 << Self::L2WriteBack.index();

    /// Position in counters, in the order of [`ACCESS_KINDS`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Labels of access kinds in counters, in the order of [`AccessKind`].
pub const ACCESS_KINDS: &[&str] = &[
    "global_read",
    "global_write",
    "global_atomic",
    "local_read",
    "local_write",
    "const_read",
    "texture_read",
    "inst_read",
    "l1_write_back",
    "l2_write_back",
    "l2_write_allocate",
    "l1_write_allocate",
];

/// A memory transaction. The issuer finds its own record by `token`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Request {
    /// Address of the first byte.
    pub addr: u64,
    /// Bytes touched, bit i for byte i of the 128-byte line that holds `addr`.
    pub byte_mask: u128,
    /// Core cycle of issue, modulo 2^32.
    pub issued_at: u32,
    /// Number of the MSHR that waits for the reply, in the cache that sent a read down; returned
    /// with the reply. [`NO_ENTRY`](Self::NO_ENTRY) if no cache waits.
    pub entry: u32,
    /// Core cycle, modulo 2^32, in which the reply entered the network; 0 before. In a read that L2
    /// sends to DRAM, the place of the line to fill.
    pub returned_at: u32,
    /// Number chosen by the issuer, returned with the reply.
    pub token: u32,
    /// Number of bytes requested.
    pub bytes: u16,
    /// SM that issues the request.
    pub sm: SmId,
    /// Reason of the access.
    pub kind: AccessKind,
    /// Sectors of the line touched, bit i for bytes 32i to 32i+31.
    pub sectors: u8,
    /// Slot of the kernel that the access belongs to.
    pub kernel: KernelSlot,
    /// Address space: the process of the access.
    pub asid: u8,
}

/// Reply to a request: all of its fields except the byte mask, which the issuer knows. Half a cache
/// line of the host, because a thread receives hundreds of replies within a few dozen cycles. The
/// fields are in the order of [`Request`], so that a host makes a reply with two vector moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Reply {
    /// Address of the first byte.
    pub addr: u64,
    /// Core cycle, modulo 2^32, in which the request was issued.
    pub issued_at: u32,
    /// Number of the MSHR that waits for the reply, or [`Request::NO_ENTRY`].
    pub entry: u32,
    /// Core cycle, modulo 2^32, in which the reply entered the network.
    pub returned_at: u32,
    /// Number chosen by the issuer.
    pub token: u32,
    /// Number of bytes requested.
    pub bytes: u16,
    /// SM that receives the reply.
    pub sm: SmId,
    /// Reason of the access.
    pub kind: AccessKind,
    /// Sectors of the line that were touched.
    pub sectors: u8,
    /// Slot of the kernel that the access belongs to.
    pub kernel: KernelSlot,
    /// Address space: the process of the access.
    pub asid: u8,
}

impl Reply {
    /// Size of the packet in bytes, as [`Request::reply_bytes`] gives it.
    #[inline]
    pub const fn packet_bytes(&self) -> u32 {
        reply_bytes(self.kind, self.bytes)
    }

    /// Cycles from the issue of the request to core cycle `now`.
    #[inline]
    pub fn age(&self, now: Cycle) -> u64 {
        age(self.issued_at, now)
    }
}

/// Cycles from core cycle `at`, modulo 2^32, to core cycle `now`.
#[inline]
fn age(at: u32, now: Cycle) -> u64 {
    u64::from((now as u32).wrapping_sub(at))
}

impl From<&Request> for Reply {
    #[inline]
    fn from(request: &Request) -> Self {
        Self {
            addr: request.addr,
            issued_at: request.issued_at,
            entry: request.entry,
            returned_at: request.returned_at,
            token: request.token,
            bytes: request.bytes,
            sm: request.sm,
            kind: request.kind,
            sectors: request.sectors,
            kernel: request.kernel,
            asid: request.asid,
        }
    }
}

/// Size of a reply's packet in bytes: a header, and the data of reads and atomics.
#[inline]
const fn reply_bytes(kind: AccessKind, bytes: u16) -> u32 {
    // Branch-free: the kind of the next reply is unpredictable.
    Request::HEADER_BYTES + bytes as u32 * !kind.is_write() as u32
}

/// A request in a cache line of the host to itself, for queues whose entries stay until they have
/// left the host's nearest caches.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
pub(crate) struct InLine(pub Request);

/// Bytes of a sector.
const SECTOR_BYTES: u16 = 32;

impl Request {
    /// Value of `entry` if no cache waits for the reply.
    pub const NO_ENTRY: u32 = u32::MAX;

    /// Size of a packet without data, in bytes.
    pub const HEADER_BYTES: u32 = 8;

    /// A request for `bytes` bytes from `addr`, of SM 0, kernel 0 and address space 0. Bytes beyond
    /// the 128-byte line of `addr` are left out of the mask.
    pub const fn new(kind: AccessKind, addr: u64, bytes: u16) -> Self {
        let ones = if bytes >= 128 {
            u128::MAX
        } else {
            (1 << bytes) - 1
        };
        let byte_mask = ones << (addr % 128);
        Self {
            addr,
            byte_mask,
            issued_at: 0,
            entry: Self::NO_ENTRY,
            returned_at: 0,
            token: 0,
            bytes,
            sm: SmId(0),
            kind,
            sectors: sectors_of(byte_mask),
            kernel: KernelSlot(0),
            asid: 0,
        }
    }

    /// Cycles from the issue of the request to core cycle `now`.
    #[inline]
    pub fn age(&self, now: Cycle) -> u64 {
        age(self.issued_at, now)
    }

    /// Number of replies that memory sends: a sectored L2 answers by 32-byte sectors.
    pub fn replies(&self, sectored_l2: bool) -> u32 {
        if sectored_l2 {
            u32::from(self.bytes).div_ceil(u32::from(SECTOR_BYTES))
        } else {
            1
        }
    }

    /// Parts of the request by 32-byte sector, in order: the request itself if it is no longer than
    /// a sector.
    pub fn by_sector(self) -> impl Iterator<Item = Self> {
        let whole = self.bytes <= SECTOR_BYTES;
        let sectors = match (whole, self.kind) {
            (true, _) => 1,
            (false, AccessKind::L1WriteBack) => self.sectors,
            (false, _) => sectors_from(self.addr, self.bytes.into()),
        };
        let touched = (0..4).filter(move |s| sectors >> s & 1 == 1);
        touched.map(move |sector: u64| match whole {
            true => self,
            false => Self {
                addr: (self.addr & !127) + 32 * sector,
                bytes: SECTOR_BYTES,
                sectors: 1 << sector,
                byte_mask: self.byte_mask & u128::from(u32::MAX) << (32 * sector),
                ..self
            },
        })
    }

    /// Size of the packet towards memory in bytes: a header, and the data of writes and atomics.
    #[inline]
    pub const fn request_bytes(&self) -> u32 {
        match self.kind {
            AccessKind::GlobalAtomic => Self::HEADER_BYTES + self.bytes as u32,
            kind if kind.is_write() => Self::HEADER_BYTES + self.bytes as u32,
            _ => Self::HEADER_BYTES,
        }
    }

    /// Size of the reply's packet in bytes: a header, and the data of reads and atomics.
    #[inline]
    pub const fn reply_bytes(&self) -> u32 {
        reply_bytes(self.kind, self.bytes)
    }
}

const _: () = assert!(
    size_of::<Request>() <= 64,
    "a request must stay within a host cache line"
);
const _: () = assert!(
    size_of::<Reply>() <= 32,
    "two replies must fit a host cache line"
);

#[cfg(test)]
mod tests {
    use crate::testing::{read, write};
    use crate::{ACCESS_KINDS, AccessKind, Request};

    /// A label is its kind's name in lower case, with words apart.
    #[test]
    fn kinds_are_labelled_in_their_order() {
        use AccessKind as K;
        let kinds = [
            K::GlobalRead,
            K::GlobalWrite,
            K::GlobalAtomic,
            K::LocalRead,
            K::LocalWrite,
            K::ConstRead,
            K::TextureRead,
            K::InstRead,
            K::L1WriteBack,
            K::L2WriteBack,
            K::L2WriteAllocate,
            K::L1WriteAllocate,
        ];
        assert_eq!(kinds.len(), AccessKind::COUNT);
        for (kind, label) in kinds.into_iter().zip(ACCESS_KINDS) {
            assert_eq!(format!("{kind:?}").to_lowercase(), label.replace('_', ""));
            assert_eq!(ACCESS_KINDS[kind.index()], *label);
        }
    }

    #[test]
    fn a_request_knows_its_bytes_within_their_line() {
        let masks = |addr, bytes| (read(addr, bytes).byte_mask, read(addr, bytes).sectors);
        assert_eq!(masks(0x1000, 128), (u128::MAX, 0b1111));
        assert_eq!(masks(0x1020, 64), (u128::from(u64::MAX) << 32, 0b0110));
        // Across two sectors, and up to the end of the line.
        assert_eq!(masks(0x101c, 8), (0xff << 28, 0b0011));
        assert_eq!(masks(0x1078, 16), (0xff << 120, 0b1000));
    }

    /// Headers of 8 bytes; data goes with writes and atomics up, with reads and atomics down.
    #[test]
    fn packets_carry_data_one_way_or_both() {
        let sizes = |r: Request| (r.request_bytes(), r.reply_bytes());
        assert_eq!(sizes(read(0, 128)), (8, 136));
        assert_eq!(sizes(write(0, 64)), (72, 8));
        assert_eq!(
            sizes(Request::new(AccessKind::GlobalAtomic, 0, 32)),
            (40, 40)
        );
    }

    #[test]
    fn a_request_splits_by_the_sectors_that_it_spans() {
        let parts = |r: Request| {
            r.by_sector()
                .map(|p| (p.addr, p.bytes, p.sectors))
                .collect::<Vec<_>>()
        };
        let half = read(0x1040, 64);
        assert_eq!(parts(half), [(0x1040, 32, 0b100), (0x1060, 32, 0b1000)]);
        assert_eq!(parts(read(0x1000, 128)).len(), 4);
        let small = read(0x1010, 16);
        assert_eq!(
            parts(small),
            [(0x1010, 16, small.sectors)],
            "it is no longer than one"
        );
        let mut dirty = Request::new(AccessKind::L1WriteBack, 0x1000, 128);
        dirty.sectors = 0b1001;
        assert_eq!(
            parts(dirty).iter().map(|p| p.0).collect::<Vec<_>>(),
            [0x1000, 0x1060]
        );
    }
}
