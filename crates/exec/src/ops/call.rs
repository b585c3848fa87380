//! The stack of every thread: frames of functions that may be called again before they return, and
//! what `alloca` takes.
//!
//! A call makes a frame at the stack's end and keeps the caller's registers aside; the return gives
//! both back. Frames have addresses, so that pointers into them stay right however deep calls go.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::state::registers::blend;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{Callee, Src, Width};

/// Alignment of frames.
const FRAME_ALIGN: u32 = 16;

impl InstExec<'_, '_> {
    /// Enters a function with `lanes`: its frame is made and its parameters are copied.
    pub(crate) fn enter(&mut self, callee: &Callee, lanes: LaneMask) -> Exec {
        let from = self.warp.frame_start(callee.from_moving);
        if let Some(frame) = &callee.frame {
            let free = self.warp.stacks.end.0;
            let start = free.map(|end| end.next_multiple_of(FRAME_ALIGN));
            let more = |lane: usize| u64::from(start[lane] - free[lane] + frame.bytes);
            let end = self.grown(lanes, more)?;
            self.warp.keep(frame, lanes);
            blend(&mut self.warp.stacks.base.0, &start, lanes);
            blend(&mut self.warp.stacks.end.0, &end, lanes);
        }
        let to = self.warp.frame_start(callee.frame.is_some());
        self.copy_frames(&callee.copies_in, &from, &to, lanes);
        Ok(())
    }

    /// Leaves it: its results are copied and its frame is gone.
    pub(crate) fn leave(&mut self, callee: &Callee, lanes: LaneMask) {
        let from = self.warp.frame_start(callee.frame.is_some());
        if let Some(frame) = &callee.frame {
            self.warp.give_back(frame, lanes);
        }
        let to = self.warp.frame_start(callee.from_moving);
        self.copy_frames(&callee.copies_out, &from, &to, lanes);
    }

    fn copy_frames(
        &mut self,
        copies: &[(u32, u32, u32)],
        from: &[u32; WARP_SIZE],
        to: &[u32; WARP_SIZE],
        lanes: LaneMask,
    ) {
        for &(source, target, bytes) in copies {
            for i in 0..bytes {
                for lane in lanes_of(lanes) {
                    let at = |start: u32, offset: u32| (start + offset + i) as usize;
                    let byte = self.warp.local_byte(lane, at(from[lane], source));
                    self.warp.set_local_byte(lane, at(to[lane], target), byte);
                }
            }
        }
    }

    /// Where the stacks of `lanes` end when each has `more` bytes.
    fn grown(&self, lanes: LaneMask, more: impl Fn(usize) -> u64) -> Exec<[u32; WARP_SIZE]> {
        let mut ends = self.warp.stacks.end.0;
        let limit = self.ctx.program.local_end();
        for lane in lanes_of(lanes) {
            let end = u64::from(ends[lane]).saturating_add(more(lane));
            if end > u64::from(limit) {
                return Err(RawFault::plain(FaultKind::StackOverflow, lane));
            }
            ends[lane] = end as u32;
        }
        Ok(ends)
    }

    fn stack_operand(&self, k: usize, width: Width) -> [u64; WARP_SIZE] {
        match (width, self.inst.src[k]) {
            (Width::B64, _) | (_, Src::Const(_)) => *self.src::<u64>(k),
            _ => self.src::<u32>(k).map(u64::from),
        }
    }

    fn put_address(&mut self, width: Width, value: &[u32; WARP_SIZE]) {
        match width {
            Width::B64 => self.put0(&value.map(u64::from)),
            _ => self.put0(value),
        }
    }

    pub fn alloca(&mut self, width: Width) -> Exec {
        let (bytes, align) = (self.stack_operand(0, width), self.stack_operand(1, width));
        let mut starts = self.warp.stacks.end.0;
        for lane in lanes_of(self.mask) {
            let step = align[lane].clamp(1, 1 << 20) as u32;
            starts[lane] = starts[lane].next_multiple_of(step);
        }
        let ends = self.warp.stacks.end.0;
        let ends = self.grown(self.mask, |lane| {
            bytes[lane].saturating_add((starts[lane] - ends[lane]).into())
        })?;
        blend(&mut self.warp.stacks.end.0, &ends, self.mask);
        self.put_address(width, &starts);
        Ok(())
    }

    pub fn stack_save(&mut self, width: Width) -> Exec {
        let ends = self.warp.stacks.end.0;
        self.put_address(width, &ends);
        Ok(())
    }

    /// The stack's end goes back to where it was; elsewhere it cannot go.
    pub fn stack_restore(&mut self, width: Width) -> Exec {
        let wanted = self.stack_operand(0, width);
        let mut ends = self.warp.stacks.end.0;
        for lane in lanes_of(self.mask) {
            if wanted[lane] > u64::from(ends[lane]) {
                return Err(RawFault::plain(FaultKind::StackOverflow, lane));
            }
            ends[lane] = wanted[lane] as u32;
        }
        self.warp.stacks.end.0 = ends;
        Ok(())
    }
}
