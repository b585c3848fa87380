//! Calls, returns and `alloca`: operations on the call stacks of a warp's threads.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::state::registers::blend;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{Callee, Src, Width};

/// Alignment of frames in bytes.
const FRAME_ALIGN: u32 = 16;

impl InstExec<'_, '_> {
    /// Enters a function with `lanes`: allocates its frame and copies its parameters.
    pub(crate) fn enter(&mut self, callee: &Callee, lanes: LaneMask) -> Exec {
        let from = self.warp.stacks.frame_start(callee.from_moving);
        if let Some(frame) = &callee.frame {
            let free = self.warp.stacks.end.0;
            let start = free.map(|end| end.next_multiple_of(FRAME_ALIGN));
            let more = |lane: usize| u64::from(start[lane] - free[lane] + frame.bytes);
            let end = self.grown(lanes, more)?;
            let warp = &mut *self.warp;
            warp.stacks.save(&warp.regs, frame, lanes);
            blend(&mut self.warp.stacks.base.0, &start, lanes);
            blend(&mut self.warp.stacks.end.0, &end, lanes);
        }
        let to = self.warp.stacks.frame_start(callee.frame.is_some());
        self.copy_frames(&callee.copies_in, &from, &to, lanes);
        Ok(())
    }

    /// Leaves a function with `lanes`: copies its results and frees its frame.
    pub(crate) fn leave(&mut self, callee: &Callee, lanes: LaneMask) {
        let from = self.warp.stacks.frame_start(callee.frame.is_some());
        if let Some(frame) = &callee.frame {
            let warp = &mut *self.warp;
            warp.stacks
                .restore(&mut warp.regs, frame, lanes, warp.exited);
        }
        let to = self.warp.stacks.frame_start(callee.from_moving);
        self.copy_frames(&callee.copies_out, &from, &to, lanes);
    }

    /// Copies bytes between the frames of caller and callee.
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

    /// End of the stacks of `lanes` after each grows by `more` bytes. An overflow is a fault.
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

    /// Source operand `k`, an amount or an address of the stack, in 64 bits.
    fn stack_operand(&self, k: usize, width: Width) -> [u64; WARP_SIZE] {
        match (width, self.inst.src[k]) {
            (Width::B64, _) | (_, Src::Const(_)) => *self.src::<u64>(k),
            _ => self.src::<u32>(k).map(u64::from),
        }
    }

    /// Writes an address of the stack to the destination.
    fn put_address(&mut self, width: Width, value: &[u32; WARP_SIZE]) {
        match width {
            Width::B64 => self.write_result(&value.map(u64::from)),
            _ => self.write_result(value),
        }
    }

    /// Executes the instruction `alloca`.
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

    /// Executes the instruction `stacksave`.
    pub fn stack_save(&mut self, width: Width) -> Exec {
        let ends = self.warp.stacks.end.0;
        self.put_address(width, &ends);
        Ok(())
    }

    /// Executes `stackrestore`: frees everything that was allocated after the saved end. An end
    /// beyond the current one is a fault.
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
