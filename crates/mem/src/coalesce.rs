//! From the addresses of a warp's lanes to memory transactions (docs/model/load-store.md,
//! Coalescing), and bank conflicts of shared memory.

mod banks;
mod words;

pub use banks::{
    SharedRule, distinct_addresses, further_lanes_of_a_word, have_strides, shared_conflict_cycles,
    shared_width_cycles,
};
pub use words::{HalfWords, coalesce_halves, halves_conflict_cycles};

use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_config::Coalescing;
use warploom_state::Value;

/// Bytes of the unit that byte masks and sector masks refer to.
const LINE: u64 = 128;

/// Lanes of half a warp.
const HALF: usize = WARP_SIZE / 2;

/// A memory transaction of a warp instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub struct Transaction {
    /// Address of the first byte: a multiple of `bytes`.
    pub addr: u64,
    /// Bytes used, bit i for byte i of the 128-byte line that holds `addr`.
    pub byte_mask: u128,
    /// Lanes that the transaction serves.
    pub lanes: LaneMask,
    /// Size in bytes: 32, 64 or 128, or that of a constant or texture line.
    pub bytes: u16,
    /// Sectors used, bit i for bytes 32i to 32i+31 of the line.
    pub sectors: u8,
}

/// Transactions of one warp instruction, in ascending order of addresses. `pop` takes them from the
/// back, the highest address first, as GPGPU-Sim does.
#[derive(Clone, Debug, Value)]
pub struct Transactions {
    list: [Transaction; Self::CAPACITY],
    len: usize,
}

impl Transactions {
    /// Largest number of transactions of one instruction: four local words of each of 32 lanes.
    pub const CAPACITY: usize = 128;

    /// An empty list of transactions.
    pub const fn new() -> Self {
        const EMPTY: Transaction = Transaction {
            addr: 0,
            byte_mask: 0,
            lanes: 0,
            bytes: 0,
            sectors: 0,
        };
        Self {
            list: [EMPTY; Self::CAPACITY],
            len: 0,
        }
    }

    /// Number of transactions left.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if no transaction is left.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all transactions from the list.
    #[inline]
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// Next transaction to send: the last of `as_slice`.
    #[inline]
    pub fn last(&self) -> Option<&Transaction> {
        self.as_slice().last()
    }

    /// Takes the next transaction to send.
    #[inline]
    pub fn pop(&mut self) -> Option<Transaction> {
        self.len = self.len.checked_sub(1)?;
        Some(self.list[self.len])
    }

    /// Transactions left, in ascending order of addresses.
    #[inline]
    pub fn as_slice(&self) -> &[Transaction] {
        &self.list[..self.len]
    }

    /// Transaction of `segment`, inserted at its place if there is none yet.
    #[inline(always)]
    fn of_segment(&mut self, segment: u64, bytes: u16) -> &mut Transaction {
        // Searched from the back, because addresses usually ascend with lanes.
        let mut at = self.len;
        while at > 0 && self.list[at - 1].addr > segment {
            at -= 1;
        }
        if at > 0 && self.list[at - 1].addr == segment {
            at -= 1;
        } else {
            self.insert(at, segment, bytes);
        }
        &mut self.list[at]
    }

    fn extend(&mut self, other: &Self) {
        self.list[self.len..][..other.len].copy_from_slice(other.as_slice());
        self.len += other.len;
    }

    fn push(&mut self, transaction: Transaction) {
        self.list[self.len] = transaction;
        self.len += 1;
    }

    fn insert(&mut self, at: usize, segment: u64, bytes: u16) {
        if at < self.len {
            self.list.copy_within(at..self.len, at + 1);
        }
        self.list[at] = Transaction {
            addr: segment,
            bytes,
            ..Transaction::default()
        };
        self.len += 1;
    }

    /// Adds `len` bytes at `addr` for some lanes, over all segments that they touch, up to the end
    /// of the address space.
    fn add(&mut self, segment_bytes: u64, lanes: LaneMask, addr: u64, len: u64) {
        let (mut at, last) = (addr, addr.saturating_add(len - 1));
        loop {
            let end = last.min(at | (segment_bytes - 1));
            self.add_within(segment_bytes, lanes, at, end - at + 1);
            if end == last {
                return;
            }
            at = end + 1;
        }
    }

    /// Adds the accesses of the `N` lanes from lane `from` on if all are active and their addresses
    /// are equal or contiguous. Returns the lanes added.
    #[inline]
    fn add_even<const N: usize>(
        &mut self,
        segment_bytes: u64,
        len: u64,
        from: usize,
        addrs: &[u64; N],
        mask: LaneMask,
    ) -> LaneMask {
        let lanes = LaneMask::MAX >> (WARP_SIZE - N) << from;
        let first = addrs[0];
        let step = addrs[1].wrapping_sub(first);
        let is_row = step == len;
        // Scattered addresses usually differ in their first step already.
        if mask & lanes != lanes || !(is_row || step == 0) || !is_even(addrs, step) {
            return 0;
        }
        let bytes = if is_row { len * N as u64 } else { len };
        if first.checked_add(bytes).is_none() {
            return 0;
        }
        if (first & (segment_bytes - 1)) + bytes <= segment_bytes {
            self.add_within(segment_bytes, lanes, first, bytes);
        } else if !is_row {
            self.add(segment_bytes, lanes, first, len);
        } else if first & (len - 1) != 0 {
            return 0;
        } else {
            self.add_row(segment_bytes, from as u32, first, len, N as u64);
        }
        lanes
    }

    /// Replaces the list by the transactions of `keys`. Branch-free, because the end of a segment
    /// is unpredictable: the transaction is written after each lane, over the one before if the
    /// segment is the same.
    fn of_lanes(&mut self, keys: &Keys, size: u64, len: u64, addrs: &[u64; WARP_SIZE]) {
        self.len = 0;
        let mut last = Transaction::default();
        for (segment, lane) in keys.iter() {
            let goes_on = (last.addr == segment) & (self.len > 0);
            last = Transaction {
                addr: segment,
                byte_mask: if goes_on { last.byte_mask } else { 0 }
                    | bytes_within(segment, size, addrs[lane], len),
                lanes: if goes_on { last.lanes } else { 0 } | 1 << lane,
                bytes: size as u16,
                sectors: 0,
            };
            self.len += usize::from(!goes_on);
            self.list[self.len - 1] = last;
        }
    }

    /// Adds `len` bytes at `addr` for some lanes; the bytes lie in one segment.
    #[inline(always)]
    fn add_within(&mut self, segment_bytes: u64, lanes: LaneMask, addr: u64, len: u64) {
        let segment = addr & !(segment_bytes - 1);
        let transaction = self.of_segment(segment, segment_bytes as u16);
        transaction.byte_mask |= byte_mask(addr, len);
        transaction.lanes |= lanes;
    }

    /// Adds contiguous accesses of `count` lanes from lane `from` on. Requires that they are
    /// aligned to their length.
    fn add_row(&mut self, segment_bytes: u64, from: u32, first: u64, len: u64, count: u64) {
        let end = first + len * count;
        let len_bits = len.trailing_zeros();
        let mut at = first;
        while at < end {
            let segment = at & !(segment_bytes - 1);
            let stop = end.min(segment.saturating_add(segment_bytes));
            let before = (at - first) >> len_bits;
            let inside = (stop - at) >> len_bits;
            let lanes = LaneMask::MAX >> (WARP_SIZE as u64 - inside) << before << from;
            self.add_within(segment_bytes, lanes, at, stop - at);
            at = stop;
        }
    }

    /// Sets the sectors of every transaction, and shrinks it to the half or quarter in use.
    fn finish(&mut self) {
        for transaction in &mut self.list[..self.len] {
            transaction.sectors = sectors_of(transaction.byte_mask);
            shrink(transaction);
        }
    }
}

impl Default for Transactions {
    fn default() -> Self {
        Self::new()
    }
}

/// Mask of `len` bytes from `addr` within their line.
#[inline]
const fn byte_mask(addr: u64, len: u64) -> u128 {
    let ones = match len {
        // The usual case, for which 64 bits are enough.
        1..=64 => (u64::MAX >> (64 - len)) as u128,
        LINE.. => u128::MAX,
        _ => (1 << len) - 1,
    };
    ones << (addr % LINE)
}

/// Sectors that a byte mask touches.
#[inline]
pub(crate) const fn sectors_of(bytes: u128) -> u8 {
    const SECTOR: u128 = u32::MAX as u128;
    (bytes & SECTOR != 0) as u8
        | ((bytes >> 32 & SECTOR != 0) as u8) << 1
        | ((bytes >> 64 & SECTOR != 0) as u8) << 2
        | ((bytes >> 96 & SECTOR != 0) as u8) << 3
}

/// Part of a line to which a transaction shrinks, by the sectors that it uses: 64 bytes if they lie
/// in one half, 32 bytes if they are one. Offset in the line and size, both in bytes.
const PARTS: [(u8, u8); 16] = {
    let mut parts = [(0, LINE as u8); 16];
    let mut quarter = 0;
    while quarter < 4 {
        parts[1 << quarter] = (32 * quarter, 32);
        quarter += 1;
    }
    parts[0b0011] = (0, 64);
    parts[0b1100] = (64, 64);
    parts
};

/// Shrinks a transaction to the part in use. A segment is at most a line, so that the part in use
/// of a smaller segment lies within it.
#[inline]
fn shrink(transaction: &mut Transaction) {
    let (offset, bytes) = PARTS[usize::from(transaction.sectors & 15)];
    transaction.addr = (transaction.addr & !(LINE - 1)) + u64::from(offset);
    transaction.bytes = bytes.into();
}

/// Segment size in bytes, by the size of an access.
#[inline]
const fn segment_bytes(rule: Coalescing, skips_l1: bool, bytes_per_lane: u32) -> u64 {
    let sectored = match rule {
        Coalescing::Segments => false,
        Coalescing::SegmentsAndSectors => skips_l1,
        Coalescing::Sectors => true,
    };
    match (sectored, bytes_per_lane) {
        (true, _) | (false, 1) => 32,
        (false, 2) => 64,
        (false, _) => 128,
    }
}

/// Bits of a key that hold the lane. Segments are larger.
const LANE_BITS: u64 = 31;

/// Keys (segment | lane) of every segment that a lane touches, in ascending order.
struct Keys {
    list: [u64; 2 * WARP_SIZE],
    len: usize,
}

impl Keys {
    #[inline]
    fn new(segment: u64, len: u64, addrs: &[u64; WARP_SIZE], mask: LaneMask) -> Self {
        let mut keys = Self {
            list: [0; 2 * WARP_SIZE],
            len: 0,
        };
        let (mut ascending, mut before) = (true, 0);
        for lane in lanes_of(mask) {
            let first = addrs[lane] & !(segment - 1);
            let last = addrs[lane].saturating_add(len - 1) & !(segment - 1);
            keys.list[keys.len] = first | lane as u64;
            keys.len += 1;
            ascending &= before <= first;
            before = last;
            if last != first {
                keys.list[keys.len] = last | lane as u64;
                keys.len += 1;
            }
        }
        if !ascending {
            keys.list[..keys.len].sort_unstable();
        }
        keys
    }

    /// Pairs (segment, lane), by segment and then by lane.
    fn iter(&self) -> impl Iterator<Item = (u64, usize)> {
        self.list[..self.len]
            .iter()
            .map(|key| (key & !LANE_BITS, (key & LANE_BITS) as usize))
    }
}

/// Byte mask of an access of `len` bytes (a power of two up to 16) at `addr` within a segment.
#[inline]
fn bytes_within(segment: u64, segment_bytes: u64, addr: u64, len: u64) -> u128 {
    if addr & (len - 1) == 0 {
        return aligned_bytes(addr, len);
    }
    let from = addr.max(segment);
    let last = addr
        .saturating_add(len - 1)
        .min(segment | (segment_bytes - 1));
    byte_mask(from, last - from + 1)
}

/// Coalesces each of `parts` equal parts of a warp by itself (GT200: halves). `coalesce` does so
/// for the lanes that it is given. The transactions of the first part come first in the list.
#[inline]
pub fn in_parts(
    parts: u32,
    mask: LaneMask,
    out: &mut Transactions,
    coalesce: impl Fn(LaneMask, &mut Transactions),
) {
    if parts == 1 {
        return coalesce(mask, out);
    }
    let mut of_part = Transactions::new();
    out.clear();
    for lanes in part_masks(parts) {
        coalesce(mask & lanes, &mut of_part);
        out.extend(&of_part);
    }
}

/// Lanes of each of `parts` equal parts of a warp.
fn part_masks(parts: u32) -> impl Iterator<Item = LaneMask> {
    let lanes = WARP_SIZE as u32 / parts;
    let ones = LaneMask::MAX >> (WARP_SIZE as u32 - lanes);
    (0..parts).map(move |part| ones << (part * lanes))
}

/// Coalesces a global access of `bytes_per_lane` bytes (1, 2, 4, 8 or 16) into `out`, which is
/// cleared first. `skips_l1` says that the access is marked `.cg` or that global accesses skip L1,
/// which matters to `Coalescing::SegmentsAndSectors`.
pub fn coalesce(
    rule: Coalescing,
    skips_l1: bool,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    out: &mut Transactions,
) {
    let (size, len) = (
        segment_bytes(rule, skips_l1, bytes_per_lane),
        u64::from(bytes_per_lane),
    );
    out.clear();
    let mut left = mask;
    if addrs[HALF].wrapping_sub(addrs[0])
        == addrs[1].wrapping_sub(addrs[0]).wrapping_mul(HALF as u64)
    {
        left &= !out.add_even(size, len, 0, addrs, left);
    }
    if left != 0 {
        // Rows of blocks that are 16 threads wide, and the halves that GT200 coalesces by
        // themselves.
        for from in [0, HALF] {
            let half: &[u64; HALF] = addrs[from..].first_chunk().expect("half a warp");
            left &= !out.add_even(size, len, from, half, left);
        }
    }
    if left != 0 {
        out.of_lanes(&Keys::new(size, len, addrs, mask), size, len, addrs);
    }
    out.finish();
}

/// True if each address is the one before plus `step`.
#[inline]
fn is_even<const N: usize>(addrs: &[u64; N], step: u64) -> bool {
    let (mut expected, mut unlike) = (addrs[0], 0);
    for addr in addrs {
        unlike |= addr ^ expected;
        expected = expected.wrapping_add(step);
    }
    unlike == 0
}

/// Byte mask of an access within its line. Requires that it is aligned to its length, up to 16.
#[inline]
const fn aligned_bytes(addr: u64, len: u64) -> u128 {
    let half = (((1_u64 << len) - 1) << (addr % 64)) as u128;
    if addr & 64 == 0 { half } else { half << 64 }
}

/// Coalesces an atomic: like `coalesce`, but lanes on the same bytes go to separate transactions,
/// the lowest lanes to those that come first in the list.
pub fn coalesce_atomic(
    rule: Coalescing,
    skips_l1: bool,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    out: &mut Transactions,
) {
    let (size, len) = (
        segment_bytes(rule, skips_l1, bytes_per_lane),
        u64::from(bytes_per_lane),
    );
    out.clear();
    let mut first = 0;
    for (segment, lane) in Keys::new(size, len, addrs, mask).iter() {
        let bytes = bytes_within(segment, size, addrs[lane], len);
        if out.last().is_none_or(|last| last.addr != segment) {
            first = out.len;
        }
        let free = out.list[first..out.len]
            .iter()
            .position(|t| t.byte_mask & bytes == 0);
        let at = free.map_or(out.len, |at| first + at);
        if at == out.len {
            out.insert(at, segment, size as u16);
        }
        let transaction = &mut out.list[at];
        transaction.byte_mask |= bytes;
        transaction.lanes |= 1 << lane;
    }
    out.finish();
}

/// Coalesces a constant, parameter or texture access: one transaction for each distinct line of
/// `line_bytes` bytes (32 to 128).
pub fn coalesce_lines(
    line_bytes: u32,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
    out: &mut Transactions,
) {
    out.clear();
    let line = u64::from(line_bytes);
    let unlike = addrs.iter().fold(0, |bits, addr| bits | (addr ^ addrs[0]));
    let all_same = mask == LaneMask::MAX && unlike == 0;
    let len = u64::from(bytes_per_lane);
    if all_same && (addrs[0] & (line - 1)) + len <= line {
        // The usual case, above all of parameters.
        let byte_mask = byte_mask(addrs[0], len);
        return out.push(Transaction {
            addr: addrs[0] & !(line - 1),
            byte_mask,
            lanes: mask,
            bytes: line_bytes as u16,
            sectors: sectors_of(byte_mask),
        });
    }
    for lane in lanes_of(mask) {
        out.add(line, 1 << lane, addrs[lane], len);
    }
    for transaction in &mut out.list[..out.len] {
        transaction.sectors = sectors_of(transaction.byte_mask);
    }
}

/// Layout of the local memory of a kernel's threads in the global address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalMap {
    /// Address of the first byte of the window.
    pub base: u64,
    /// Threads of a block, rounded up to whole warps.
    pub padded_block_threads: u32,
    /// Number of blocks that fit an SM.
    pub blocks_per_sm: u32,
    /// Number of SMs of the GPU.
    pub sms: u32,
}

impl LocalMap {
    /// Global address of byte `local` of the local memory of thread `thread` (counted from 0 in its
    /// block) of block slot `block` on SM `sm`. Four-byte words of neighbouring threads are
    /// neighbours.
    #[inline]
    pub fn address(&self, sm: u32, block: u32, thread: u32, local: u64) -> u64 {
        let padded = u64::from(self.padded_block_threads);
        let all = padded * u64::from(self.blocks_per_sm) * u64::from(self.sms);
        let slot = u64::from(sm) + u64::from(self.sms) * u64::from(block);
        let thread = padded * slot + u64::from(thread);
        self.base + (local / 4 * all + thread) * 4 + local % 4
    }
}

/// Coalesces a local access. `addrs` are addresses in each thread's own local memory, and
/// `first_thread` is the thread of the first lane in its block. Wide accesses are split into pieces
/// of four bytes.
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
    let piece = bytes_per_lane.min(4);
    let segment = segment_bytes(rule, skips_l1, piece);
    out.clear();
    for word in 0..u64::from(bytes_per_lane.div_ceil(4)) {
        for lane in lanes_of(mask) {
            let local = addrs[lane].wrapping_add(4 * word);
            let addr = map.address(sm, block, first_thread + lane as u32, local);
            out.add(segment, 1 << lane, addr, piece.into());
        }
    }
    out.finish();
}

#[cfg(test)]
mod tests;
