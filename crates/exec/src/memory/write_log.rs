//! Stores of one SM that other SMs do not see yet.
//!
//! While SMs run independently within an epoch, each reads memory as it was at the start of the
//! epoch, plus its own stores. At the end of the epoch the logs are committed in the order of
//! cycles, and of SMs within a cycle. Results therefore do not depend on the order in which the
//! host ran the SMs.

use crate::memory::atomic::combine_bytes;
use crate::memory::device::DeviceMemory;
use crate::memory::stored_lines::{LINE_SHIFT, StoredLines};
use rustc_hash::FxHashMap;
use warploom_ir::{AtomOp, AtomTy};

const LINE_BYTES: usize = 1 << LINE_SHIFT;
/// Number of words of the filter that precedes the table of lines.
const FILTER_WORDS: usize = 64;
/// Number of bits of the filter between a line and the one that lies as many lines later as the
/// filter has bits: the golden section of the filter, so that few multiples come near to 0.
const SHIFT: u64 = 2531;

/// Contiguous bytes that one instruction stored.
#[derive(Clone, Copy, Debug)]
struct Run {
    cycle: u64,
    address: u64,
    /// Index in `bytes` of the first byte.
    at: u32,
    len: u32,
    asid: u8,
    /// Operation by which the bytes are combined into memory; `None` if they replace it.
    how: Option<Reduction>,
}

/// Operation and element type of a reduction into memory.
pub(crate) type Reduction = (AtomOp, AtomTy);

/// Text that one lane printed.
#[derive(Clone, Debug)]
struct Print {
    cycle: u64,
    asid: u8,
    text: Box<[u8]>,
}

/// Latest bytes that the SM stored to one line of 128 bytes.
#[derive(Clone, Debug)]
struct Line {
    data: [u8; LINE_BYTES],
    mask: u128,
}

/// Stores of one SM in the current epoch, in program order.
#[derive(Clone, Debug)]
pub struct WriteLog {
    runs: Vec<Run>,
    prints: Vec<Print>,
    /// Number of runs that are already visible to all SMs.
    committed: usize,
    bytes: Vec<u8>,
    /// Number of `bytes` that are entered in `lines`. Only epochs that load bytes which they stored
    /// need the lines.
    in_lines: u32,
    lines: Vec<Line>,
    index: FxHashMap<(u8, u64), u32>,
    filter: [u64; FILTER_WORDS],
    /// Key and index of the line that was last used. Most stores of an epoch are to the same line
    /// as the previous one.
    last: Option<((u8, u64), u32)>,
}

impl Default for WriteLog {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            prints: Vec::new(),
            committed: 0,
            bytes: Vec::new(),
            in_lines: 0,
            lines: Vec::new(),
            index: FxHashMap::default(),
            filter: [0; FILTER_WORDS],
            last: None,
        }
    }
}

/// Word and bit of the filter for a line. Neighbouring lines have different bits. So have lines at
/// the same place of arrays whose distance is a multiple of the filter's size, as that of arrays
/// with a power of two of bytes is.
#[inline]
fn filter_bit(line: u64) -> (usize, u64) {
    const BITS: u64 = FILTER_WORDS as u64 * 64;
    let bit = line.wrapping_add(line / BITS * SHIFT) % BITS;
    (bit as usize / 64, 1 << (bit % 64))
}

/// Splits a byte range at line boundaries into (line number, offset in the line, range of the
/// buffer).
fn line_parts(
    address: u64,
    len: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = address + done as u64;
        let offset = at as usize & (LINE_BYTES - 1);
        let part = done..(done + (LINE_BYTES - offset).min(len - done));
        done = part.end;
        Some((at >> LINE_SHIFT, offset, part))
    })
}

/// Numbers of the lines that a byte range touches.
#[inline]
fn lines_of(address: u64, len: usize) -> std::ops::RangeInclusive<u64> {
    address >> LINE_SHIFT..=(address + len as u64 - 1) >> LINE_SHIFT
}

impl WriteLog {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if nothing was stored or printed in this epoch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.prints.is_empty()
    }

    /// Number of stored bytes in the log.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Position of the next store in the log.
    pub(crate) fn position(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Copy of the stores of cycle `cycle` that are before `position` and not yet visible to all
    /// SMs.
    pub(crate) fn waiting_before(&self, cycle: u64, position: u32) -> Self {
        let mut log = Self::new();
        for run in &self.runs[self.committed..] {
            let end = (run.at + run.len).min(position);
            if run.cycle == cycle && run.at < end && run.how.is_none() {
                let bytes = &self.bytes[run.at as usize..end as usize];
                log.store(run.asid, run.cycle, run.address, bytes);
            }
        }
        log
    }

    /// Cycle of the oldest store or printed text that is not yet visible to all SMs.
    pub fn oldest(&self) -> Option<u64> {
        let stored = self.runs.get(self.committed).map(|run| run.cycle);
        let printed = self.prints.first().map(|print| print.cycle);
        stored.into_iter().chain(printed).min()
    }

    /// Adds the lines of all stores that are not yet visible to all SMs.
    pub fn mark_lines(&self, lines: &mut StoredLines) {
        for run in &self.runs[self.committed..] {
            lines_of(run.address, run.len as usize).for_each(|line| lines.insert(line));
        }
    }

    /// Records a store of checked, contiguous bytes.
    pub(crate) fn store(&mut self, asid: u8, cycle: u64, address: u64, bytes: &[u8]) {
        self.push_run(asid, cycle, address, bytes);
        for line in lines_of(address, bytes.len()) {
            let (word, bit) = filter_bit(line);
            self.filter[word] |= bit;
        }
    }

    /// Enters all stored bytes in their lines, in which loads look for them.
    fn fill_lines(&mut self) {
        if self.in_lines == self.position() {
            return;
        }
        let done = self.in_lines;
        // The last entered run may have grown. Entering all of it again is harmless.
        let first = self.runs.partition_point(|run| run.at + run.len <= done);
        for number in first..self.runs.len() {
            self.add_to_lines(self.runs[number]);
        }
        self.in_lines = self.position();
    }

    /// Enters the bytes of a run in their lines. What a reduction yields is not known before it is
    /// visible to all.
    fn add_to_lines(&mut self, run: Run) {
        if run.how.is_some() {
            return;
        }
        for (line, offset, part) in line_parts(run.address, run.len as usize) {
            let slot = self.line_slot(run.asid, line);
            let bytes = &self.bytes[run.at as usize..][part];
            let line = &mut self.lines[slot];
            line.data[offset..][..bytes.len()].copy_from_slice(bytes);
            line.mask |= (u128::MAX >> (LINE_BYTES - bytes.len())) << offset;
        }
    }

    /// Records a store of one aligned word.
    #[inline(always)]
    fn store_word(&mut self, asid: u8, cycle: u64, address: u64, word: [u8; 4]) {
        debug_assert!(address.is_multiple_of(4), "{address:#x} is not aligned");
        self.push_run(asid, cycle, address, &word);
        let (word, bit) = filter_bit(address >> LINE_SHIFT);
        self.filter[word] |= bit;
    }

    /// Appends bytes to the last run if they continue it in the same cycle, or else as a new run.
    #[inline(always)]
    fn push_run(&mut self, asid: u8, cycle: u64, address: u64, bytes: &[u8]) {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        let len = bytes.len() as u32;
        if let Some(last) = self.runs.last_mut() {
            let follows = last.address + u64::from(last.len) == address;
            if follows && last.cycle == cycle && last.asid == asid && last.how.is_none() {
                last.len += len;
                return;
            }
        }
        self.runs.push(Run {
            cycle,
            address,
            at,
            len,
            asid,
            how: None,
        });
    }

    /// Records a reduction of checked, contiguous bytes.
    fn reduce(&mut self, asid: u8, cycle: u64, address: u64, bytes: &[u8], how: Reduction) {
        self.runs.push(Run {
            cycle,
            address,
            at: self.position(),
            len: bytes.len() as u32,
            asid,
            how: Some(how),
        });
        self.bytes.extend_from_slice(bytes);
    }

    /// Index of a line in `lines`, which is created if necessary.
    fn line_slot(&mut self, asid: u8, line: u64) -> usize {
        let key = (asid, line);
        if let Some((last, slot)) = self.last
            && last == key
        {
            return slot as usize;
        }
        let lines = &mut self.lines;
        let slot = *self.index.entry(key).or_insert_with(|| {
            lines.push(Line {
                data: [0; LINE_BYTES],
                mask: 0,
            });
            lines.len() as u32 - 1
        });
        self.last = Some((key, slot));
        slot as usize
    }

    /// Line with the given key, if the SM stored to it and the store is entered.
    fn find_line(&self, key: (u8, u64)) -> Option<&Line> {
        let slot = match self.last {
            Some((last, slot)) if last == key => slot,
            _ => *self.index.get(&key)?,
        };
        Some(&self.lines[slot as usize])
    }

    /// True if any of the bytes `[address, address + len)` may be in the log. A false result is
    /// certain.
    #[inline]
    pub(crate) fn may_touch(&self, address: u64, len: usize) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        lines_of(address, len).any(|line| {
            let (word, bit) = filter_bit(line);
            self.filter[word] & bit != 0
        })
    }

    /// Replaces bytes read from memory by those that the SM stored. All stores must be entered in
    /// lines.
    fn overlay(&self, asid: u8, address: u64, out: &mut [u8]) {
        debug_assert_eq!(self.in_lines, self.position(), "stores that are in no line");
        for (line, offset, part) in line_parts(address, out.len()) {
            let Some(line) = self.find_line((asid, line)) else {
                continue;
            };
            for (i, byte) in out[part].iter_mut().enumerate() {
                if line.mask >> (offset + i) & 1 == 1 {
                    *byte = line.data[offset + i];
                }
            }
        }
    }

    /// True if the SM stored all of the given bytes.
    fn covers(&mut self, asid: u8, address: u64, len: usize) -> bool {
        self.fill_lines();
        line_parts(address, len).all(|(line, offset, part)| {
            let wanted = (u128::MAX >> (LINE_BYTES - part.len())) << offset;
            let line = self.find_line((asid, line));
            line.is_some_and(|line| line.mask & wanted == wanted)
        })
    }

    /// Makes all stores visible to all SMs, oldest first, and empties the log.
    #[inline]
    pub fn commit(&mut self, memory: &mut DeviceMemory) {
        if !self.is_empty() {
            self.commit_until(u64::MAX, memory);
        }
    }

    /// Makes the stores of cycles up to `cycle` visible to all SMs, and empties the log once all
    /// stores are visible. If the logs of several SMs are committed cycle by cycle, and in the
    /// order of SMs within a cycle, stores have one defined order: by cycle, SM and program.
    /// Printed texts have the same order.
    pub fn commit_until(&mut self, cycle: u64, memory: &mut DeviceMemory) {
        let due = self.prints.partition_point(|print| print.cycle <= cycle);
        for print in self.prints.drain(..due) {
            memory.print(print.asid, print.text);
        }
        while self
            .runs
            .get(self.committed)
            .is_some_and(|run| run.cycle <= cycle)
        {
            self.apply(self.committed, memory);
            self.committed += 1;
        }
        if self.committed == self.runs.len() {
            self.clear();
        }
    }

    /// Writes the bytes of one run to memory.
    fn apply(&self, run: usize, memory: &mut DeviceMemory) {
        let run = &self.runs[run];
        let bytes = &self.bytes[run.at as usize..(run.at + run.len) as usize];
        match run.how {
            None => memory.write_raw(run.asid, run.address, bytes),
            Some(how) => combine_bytes(memory, (run.asid, run.address), bytes, how),
        }
    }

    /// Empties the log and keeps its capacity.
    fn clear(&mut self) {
        if self.runs.is_empty() {
            return;
        }
        self.runs.clear();
        self.committed = 0;
        self.bytes.clear();
        self.in_lines = 0;
        self.lines.clear();
        self.index.clear();
        self.filter = [0; FILTER_WORDS];
        self.last = None;
    }
}

/// View that one SM has of device memory while it executes: the contents at the start of the epoch
/// and its own stores.
#[derive(Debug)]
pub struct MemPort<'a> {
    /// Memory as all SMs see it.
    pub image: &'a DeviceMemory,
    /// Stores of this SM that are not yet visible to all.
    pub log: &'a mut WriteLog,
    /// Cycle of new stores.
    pub now: u64,
}

impl MemPort<'_> {
    /// Reads checked bytes as this SM sees them.
    pub(crate) fn read(&mut self, asid: u8, address: u64, out: &mut [u8]) {
        self.image.read_raw(asid, address, out);
        if self.log.may_touch(address, out.len()) {
            self.log.fill_lines();
            self.log.overlay(asid, address, out);
        }
    }

    /// Enters this SM's stores in their lines. Must be called before a [`Self::reader`] is used.
    pub(crate) fn prepare_reader(&mut self) {
        self.log.fill_lines();
    }

    /// Reads `bytes` checked bytes, at most 16, as this SM sees them. The remaining bytes of the
    /// result are unspecified. All stores must be entered in lines.
    #[inline]
    pub(crate) fn read_few(&self, asid: u8, address: u64, bytes: usize) -> [u8; 16] {
        let mut few = if (address % 16) as usize + bytes > 16 {
            let mut few = [0; 16];
            self.image.read_raw(asid, address, &mut few[..bytes]);
            few
        } else {
            self.image.read_block(asid, address)
        };
        if self.log.may_touch(address, bytes) {
            self.log.overlay(asid, address, &mut few[..bytes]);
        }
        few
    }

    /// Records a store of checked bytes.
    pub(crate) fn write(&mut self, asid: u8, address: u64, bytes: &[u8]) {
        self.log.store(asid, self.now, address, bytes);
    }

    /// Records a reduction of checked bytes into memory, which acts when stores become visible.
    pub(crate) fn combine(&mut self, asid: u8, address: u64, bytes: &[u8], how: Reduction) {
        if !bytes.is_empty() {
            self.log.reduce(asid, self.now, address, bytes, how);
        }
    }

    /// Records a store of a checked, aligned word.
    #[inline(always)]
    pub(crate) fn write_word(&mut self, asid: u8, address: u64, word: [u8; 4]) {
        self.log.store_word(asid, self.now, address, word);
    }

    /// Records text that a lane printed.
    pub(crate) fn print(&mut self, asid: u8, text: Vec<u8>) {
        self.log.prints.push(Print {
            cycle: self.now,
            asid,
            text: text.into_boxed_slice(),
        });
    }

    /// True if all of the given bytes were written by the host, by a kernel or by this SM.
    pub(crate) fn is_written(&mut self, asid: u8, address: u64, bytes: usize) -> bool {
        (address..address + bytes as u64)
            .all(|at| self.image.is_written(asid, at, 1) || self.log.covers(asid, at, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{MemPort, WriteLog};
    use crate::memory::device::{DeviceMemory, PAGE_BYTES};

    /// A store hides no loads of other lines near it, nor of the same place in arrays at multiples of
    /// a power of two, up to 2 GiB.
    #[test]
    fn a_store_touches_no_arrays_at_powers_of_two() {
        let base = 1 << 32;
        let mut log = WriteLog::new();
        log.store(0, 7, base + 4096, &[1; 128]);
        assert!(log.may_touch(base + 4096 + 124, 4));
        for power in 19..29 {
            for array in 1..8 {
                let near = base + 4096 + (array << power);
                assert!(!log.may_touch(near, 128), "{power} {array}");
                assert!(!log.may_touch(near + 2048, 128), "{power} {array}");
            }
        }
        for line in 1..4000 {
            assert!(!log.may_touch(base + 4096 + 128 * line, 128), "{line}");
        }
    }

    /// Small reads within a block of 16 bytes and across its end, of bytes written or not by the
    /// host and by the SM.
    #[test]
    fn few_bytes_are_those_of_any_read() {
        let mut image = DeviceMemory::new(1 << 16);
        let base = image.alloc(0, 64).expect("room");
        let bytes: Vec<u8> = (1..=32).collect();
        image.write(0, base, &bytes).expect("it is there");
        let mut log = WriteLog::new();
        log.store(0, 7, base + 13, &[201, 202, 203, 204, 205]);
        let mut port = MemPort {
            image: &image,
            log: &mut log,
            now: 8,
        };
        for address in base..base + 48 {
            for bytes in [1, 2, 4, 8, 12, 16] {
                let mut all = vec![0; bytes];
                port.read(0, address, &mut all);
                port.prepare_reader();
                assert_eq!(port.read_few(0, address, bytes)[..bytes], all);
                assert_eq!(port.reader(0).read(address, bytes)[..bytes], all);
            }
        }
    }

    /// Loads must find bytes of runs that have grown since they were entered, across lines and over
    /// older bytes.
    #[test]
    fn a_load_finds_what_was_stored_since_the_last() {
        let mut image = DeviceMemory::new(1 << 16);
        let base = image.alloc(0, 512).expect("room");
        let mut log = WriteLog::new();
        let mut expected = vec![0; 400];
        for step in 0..200_u8 {
            let at = usize::from(step / 3) * 5 + usize::from(step % 3);
            expected[at..at + 3].fill(step);
            let mut port = MemPort {
                image: &image,
                log: &mut log,
                now: u64::from(step / 60),
            };
            port.write(0, base + at as u64, &[step; 3]);
            if step % 4 == 0 {
                let mut all = vec![0; 400];
                port.read(0, base, &mut all);
                assert_eq!(all, expected);
            }
        }
    }

    /// Pending stores before a position, and the cycle of the oldest pending store.
    #[test]
    fn a_log_knows_what_waits() {
        let mut image = DeviceMemory::new(1 << 16);
        let base = image.alloc(0, 64).expect("room");
        let mut log = WriteLog::new();
        assert_eq!(log.oldest(), None);
        log.store(0, 7, base, &[1; 4]);
        log.store(0, 8, base, &[2; 2]);
        let position = log.position();
        // The store continues the previous one in memory and in time, so that both form one run.
        log.store(0, 8, base + 2, &[3; 2]);
        assert_eq!(log.oldest(), Some(7));
        log.commit_until(7, &mut image);
        assert_eq!(log.oldest(), Some(8));
        let read = |log: &mut WriteLog| {
            let mut out = [0; 4];
            let mut port = MemPort {
                image: &image,
                log,
                now: 9,
            };
            port.read(0, base, &mut out);
            out
        };
        let position = [0, position, log.position()];
        let read_before = |at: usize| read(&mut log.waiting_before(8, position[at]));
        assert_eq!(read_before(0), [1; 4]);
        assert_eq!(read_before(1), [2, 2, 1, 1]);
        assert_eq!(read_before(2), [2, 2, 3, 3]);
        // Stores of later cycles are excluded, whatever their position.
        assert_eq!(read(&mut log.waiting_before(7, position[2])), [1; 4]);
        log.commit(&mut image);
        assert_eq!(log.oldest(), None);
    }

    /// Reads of several pages, written or not, by one reader.
    #[test]
    fn a_reader_follows_its_address() {
        const PAGE: u64 = PAGE_BYTES as u64;
        let mut image = DeviceMemory::new(8 * PAGE);
        let base = image.alloc(0, 4 * PAGE).expect("room");
        image.write(0, base + 8, &[7; 8]).expect("it is there");
        image
            .write(0, base + 2 * PAGE, &[9; 4])
            .expect("it is there");
        let mut log = WriteLog::new();
        let port = MemPort {
            image: &image,
            log: &mut log,
            now: 0,
        };
        let mut reader = port.reader(0);
        for at in [0, 8, 2 * PAGE, PAGE, 2 * PAGE, 12, 0] {
            let few = port.read_few(0, base + at, 4);
            assert_eq!(reader.read(base + at, 4), few, "{at}");
        }
    }
}
