//! Fixed parameters of a cache, in the form that accesses need.

use super::tags::SECTOR_BYTES;
use crate::AccessKind;
use warploom_config::{AllocatePolicy, CacheSpec, ModelStyle, WriteAllocate, WritePolicy};

/// Level of a cache, which names its write-backs and the reads for its write misses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// A cache of an SM.
    L1,
    /// A cache of a memory partition.
    L2,
}

/// Sectors of a 128-byte line that `bytes` bytes from `addr` on touch, bit i for sector i. Requires
/// that `addr` is a multiple of 32.
pub(crate) const fn sectors_from(addr: u64, bytes: u32) -> u8 {
    let count = if bytes >= 128 { 4 } else { bytes.div_ceil(32) };
    ((((1_u32 << count) - 1) << (addr % 128 / 32)) & 15) as u8
}

/// Fixed parameters of a cache. Small, so that they share a cache line of the host with what
/// accesses change.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(super) struct Rules {
    pub(super) port_bytes: u32,
    pub(super) line_bytes: u32,
    /// Cycles of the fill port for one fill.
    pub(super) fill_cycles: u32,
    /// Bytes of one fill: a sector, or a line where there are no sectors.
    pub(super) atom_bytes: u16,
    /// Sectors of one fill, counted from the first of a line.
    pub(super) atom_sectors: u8,
    /// Mask of a sector's number: 0 where there are no sectors.
    pub(super) sector_bits: u8,
    /// `write` is `WritePolicy::ReadOnly`.
    pub(super) read_only: bool,
    /// Global writes go down, whether they hit or miss.
    pub(super) sends_global_writes: bool,
    pub(super) write: WritePolicy,
    pub(super) write_allocate: WriteAllocate,
    pub(super) allocate: AllocatePolicy,
    pub(super) level: Level,
    pub(super) style: ModelStyle,
}

/// Bytes of one fill: a sector, or a line where there are no sectors.
pub(super) fn atom_bytes(spec: &CacheSpec) -> u32 {
    match spec.sectored {
        true => SECTOR_BYTES,
        false => spec.line_bytes,
    }
}

impl Rules {
    pub(super) fn new(spec: &CacheSpec, level: Level, style: ModelStyle) -> Self {
        let atom_bytes = atom_bytes(spec);
        Self {
            port_bytes: spec.port_bytes,
            line_bytes: spec.line_bytes,
            fill_cycles: atom_bytes / spec.port_bytes,
            atom_bytes: atom_bytes as u16,
            atom_sectors: sectors_from(0, atom_bytes),
            sector_bits: if spec.sectored { 3 } else { 0 },
            read_only: spec.write == WritePolicy::ReadOnly,
            sends_global_writes: spec.write_allocate == WriteAllocate::None
                && spec.write != WritePolicy::WriteBack,
            write: spec.write,
            write_allocate: spec.write_allocate,
            allocate: spec.allocate,
            level,
            style,
        }
    }

    /// True if accesses of this kind go down whatever the tags say.
    #[inline]
    pub(super) fn sends(&self, kind: AccessKind) -> bool {
        self.sends_global_writes && kind == AccessKind::GlobalWrite
    }
}
