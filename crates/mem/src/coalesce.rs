//! From the addresses of a warp's lanes to memory transactions, and bank conflicts of shared
//! memory.

use warploom_base::{LaneMask, WARP_SIZE};
use warploom_config::Coalescing;

/// One memory transaction of a warp instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transaction {
    /// First byte: a multiple of `bytes`.
    pub addr: u64,
    /// Bytes used, bit i for byte i of the 128-byte line that holds `addr`.
    pub byte_mask: u128,
    /// Lanes served.
    pub lanes: LaneMask,
    /// Size: 32, 64 or 128 bytes (or a constant or texture line).
    pub bytes: u16,
    /// Sectors used, bit i for bytes 32i to 32i+31 of the line.
    pub sectors: u8,
}

/// Transactions of one warp instruction, in ascending address order. Consume with `pop`: from the
/// back, highest address first, as GPGPU-Sim does.
#[derive(Clone, Debug)]
pub struct Transactions {
    list: [Transaction; Self::CAPACITY],
    len: usize,
}

impl Transactions {
    /// Most transactions of one instruction: 32 lanes of up to four local words, each on its own.
    pub const CAPACITY: usize = 128;

    /// An empty list.
    pub const fn new() -> Self {
        todo!()
    }
    /// Transactions left.
    pub fn len(&self) -> usize {
        self.len
    }
    /// None left.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Empties the list.
    pub fn clear(&mut self) {
        self.len = 0;
    }
    /// Next to be sent (the last of `as_slice`).
    pub fn last(&self) -> Option<&Transaction> {
        self.as_slice().last()
    }
    /// Takes the next to be sent.
    pub fn pop(&mut self) -> Option<Transaction> {
        todo!()
    }
    /// All that are left, ascending.
    pub fn as_slice(&self) -> &[Transaction] {
        &self.list[..self.len]
    }
}

impl Default for Transactions {
    fn default() -> Self {
        Self::new()
    }
}

/// Coalesces a global access of `bytes_per_lane` (1, 2, 4, 8 or 16) into `out` (cleared first).
/// `skips_l1`: the access bypasses L1, which matters to `Coalescing::SegmentsAndSectors`.
pub fn coalesce(
    rule: Coalescing,
    skips_l1: bool,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    out: &mut Transactions,
) {
    let _ = (rule, skips_l1, bytes_per_lane, addrs, mask, out);
    todo!()
}

/// As `coalesce`, for atomics: lanes on the same bytes go to separate transactions.
pub fn coalesce_atomic(
    rule: Coalescing,
    skips_l1: bool,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    out: &mut Transactions,
) {
    let _ = (rule, skips_l1, bytes_per_lane, addrs, mask, out);
    todo!()
}

/// One transaction per distinct block of `line_bytes`: constant, parameter and texture accesses.
pub fn coalesce_lines(
    line_bytes: u32,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    out: &mut Transactions,
) {
    let _ = (line_bytes, bytes_per_lane, addrs, mask, out);
    todo!()
}

/// How the local memory of a kernel's threads is laid out in the global address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalMap {
    /// First byte of the window.
    pub base: u64,
    /// Threads of a block, rounded up to whole warps.
    pub padded_block_threads: u32,
    /// Blocks that fit an SM.
    pub blocks_per_sm: u32,
    /// SMs.
    pub sms: u32,
}

impl LocalMap {
    /// Global address of the byte `local` of thread `thread` (0-based in its block) of block slot
    /// `block` on SM `sm`. Neighbouring threads' four-byte words are neighbours.
    pub fn address(&self, sm: u32, block: u32, thread: u32, local: u64) -> u64 {
        let _ = (sm, block, thread, local);
        todo!()
    }
}

/// Coalesces a local access: `addrs` are addresses in each thread's own local memory;
/// `first_thread` is the first lane's thread in its block. Wide accesses go in four-byte pieces.
#[expect(
    clippy::too_many_arguments,
    reason = "plain numbers of one instruction"
)]
pub fn coalesce_local(
    rule: Coalescing,
    skips_l1: bool,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    map: &LocalMap,
    (sm, block, first_thread): (u32, u32, u32),
    out: &mut Transactions,
) {
    let _ = (
        rule,
        skips_l1,
        bytes_per_lane,
        addrs,
        mask,
        map,
        sm,
        block,
        first_thread,
        out,
    );
    todo!()
}

/// Cycles that a shared-memory access takes: the most distinct words in one bank (at least 1 per
/// part). `wide` checks every word of 8- and 16-byte accesses, else only the first.
pub fn shared_conflict_cycles(
    banks: u32,
    parts: u32,
    wide: bool,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
) -> u32 {
    let _ = (banks, parts, wide, bytes_per_lane, addrs, mask);
    todo!()
}
