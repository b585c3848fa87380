//! The stream buffer of the instruction cache (Jouppi, 1990; docs/model/sm.md, Fetch and decode).
//! After a line that misses it requests the next lines of the program, and goes on as warps come to
//! them. Here its lines are in the cache, and it keeps their addresses only.
//!
//! Invariant: `unused` and `next` are at most `end`, and all three are addresses of lines.

use super::request::{NOBODY, code_request};
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::GpuSpec;
use warploom_mem::Request;
use warploom_state::State;

/// The stream of one kernel's code.
#[derive(Debug, State)]
pub(super) struct Stream {
    line_bytes: u64,
    /// Bytes that it is ahead of the warps; 0 where there is no stream buffer.
    ahead: u64,
    /// The first line to which no warp has come.
    unused: u64,
    /// The next line to request.
    next: u64,
    /// End of the lines that it may request now.
    end: u64,
    /// End of the kernel's code.
    code_end: u64,
    kernel: KernelSlot,
    asid: u8,
}

impl Stream {
    /// The stream buffer of an SM of `spec`, which requests nothing.
    pub(super) fn new(spec: &GpuSpec) -> Self {
        let line_bytes = u64::from(spec.l1i.line_bytes);
        Self {
            line_bytes,
            ahead: u64::from(spec.sm.prefetched_code_lines) * line_bytes,
            unused: 0,
            next: 0,
            end: 0,
            code_end: 0,
            kernel: KernelSlot(0),
            asid: 0,
        }
    }

    /// True if there is a stream buffer.
    pub(super) fn is_on(&self) -> bool {
        self.ahead > 0
    }

    /// True if it has a line to request.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.next < self.end
    }

    /// True if a fetch at this address is the first of its line, and the stream moves on.
    #[inline]
    pub(super) fn moves_at(&self, addr: u64) -> bool {
        (self.unused..self.end).contains(&addr)
    }

    /// Starts behind the line of a fetch that missed. The kernel's code ends before `code_end`.
    pub(super) fn restart(&mut self, missed: &Request, code_end: u64) {
        self.next = self.line_after(missed.addr);
        self.code_end = self.line_after(code_end - 1);
        (self.kernel, self.asid) = (missed.kernel, missed.asid);
        self.move_to(missed.addr);
    }

    /// Moves on: warps have come to the line of an address.
    pub(super) fn move_to(&mut self, addr: u64) {
        self.unused = self.line_after(addr);
        self.end = (self.unused + self.ahead).min(self.code_end);
    }

    /// Address of the line behind that of an address.
    fn line_after(&self, addr: u64) -> u64 {
        (addr & !(self.line_bytes - 1)) + self.line_bytes
    }

    /// Request for the next line, as SM `sm` sends it in cycle `now`.
    pub(super) fn request(&self, now: Cycle, sm: SmId) -> Request {
        let bytes = self.line_bytes as u32;
        code_request(now, self.next, bytes, (NOBODY, sm, self.kernel, self.asid))
    }

    /// Notes that the next line is present or on its way.
    pub(super) fn pass(&mut self) {
        self.next += self.line_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::preset;

    const BASE: u64 = 0xF000_0000;

    /// A stream of two lines of 128 bytes that has started behind the first of `lines` lines.
    fn started(lines: u64) -> Stream {
        let mut spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        spec.sm.prefetched_code_lines = 2;
        let mut stream = Stream::new(&spec);
        let of = (NOBODY, SmId(0), KernelSlot(1), 3);
        stream.restart(&code_request(0, BASE + 8, 16, of), BASE + 128 * lines - 8);
        stream
    }

    /// Numbers of the lines that it has to request.
    fn pending(stream: &mut Stream) -> Vec<u64> {
        let mut lines = Vec::new();
        while stream.is_pending() {
            let request = stream.request(7, SmId(5));
            assert_eq!((request.kernel, request.asid), (KernelSlot(1), 3));
            lines.push((request.addr - BASE) / 128);
            stream.pass();
        }
        lines
    }

    /// Lines 1 and 2 follow line 0. Once warps have come to line 2, lines 3 and 4 follow.
    #[test]
    fn a_stream_stays_ahead_of_the_warps() {
        let mut stream = started(9);
        assert_eq!(pending(&mut stream), [1, 2]);
        assert!(!stream.moves_at(BASE + 120), "a line that was used");
        assert!(stream.moves_at(BASE + 256) && !stream.moves_at(BASE + 384));
        stream.move_to(BASE + 256);
        assert_eq!(pending(&mut stream), [3, 4]);
    }

    #[test]
    fn a_stream_ends_with_the_code() {
        assert_eq!(pending(&mut started(2)), [1]);
        let mut last = started(1);
        assert!(pending(&mut last).is_empty());
        assert!(!last.moves_at(BASE + 128));
    }
}
