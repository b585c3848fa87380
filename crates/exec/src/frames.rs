//! The stack of every thread: frames of functions that may be called again before they return, and
//! what `alloca` takes.
//!
//! A call makes a frame at the stack's end and keeps the caller's registers aside; the return gives
//! both back. Frames have addresses, so that pointers into them stay right however deep calls go.

use crate::fault::{FaultKind, RawFault};
use crate::machine::{Exec, Machine};
use crate::regs::{Lanes32, Lanes64, blend};
use crate::warp::WarpState;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{Callee, Frame, Src, Width};

/// Alignment of frames.
const FRAME_ALIGN: u32 = 16;

/// Where a warp's threads are on their stacks.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    /// Start of each lane's frame.
    pub base: Lanes32,
    /// End of what each lane uses.
    pub end: Lanes32,
    /// What the calls that are under way will give back, of each lane the innermost last. Calls of
    /// lanes that went different ways may end in any order.
    kept: Vec<Kept>,
}

/// What a call keeps.
#[derive(Clone, Debug)]
struct Kept {
    /// Lanes in which the call has not ended.
    lanes: LaneMask,
    base: Lanes32,
    end: Lanes32,
    wide: Vec<Lanes64>,
    narrow: Vec<Lanes32>,
    preds: Vec<LaneMask>,
}

impl Stacks {
    pub const EMPTY: Self = Self {
        base: Lanes32::ZERO,
        end: Lanes32::ZERO,
        kept: Vec::new(),
    };

    /// Nothing is on any stack; they begin at `start`.
    pub fn reset(&mut self, start: u32) {
        self.base = Lanes32::ZERO;
        self.end = Lanes32([start; WARP_SIZE]);
        self.kept.clear();
    }
}

impl WarpState {
    /// Keeps what a call by `lanes` has to give back.
    fn keep(&mut self, frame: &Frame, lanes: LaneMask) {
        let wide = frame.kept_wide.clone().step_by(2);
        let (narrow, preds) = (frame.kept_narrow.clone(), frame.kept_preds.clone());
        let kept = Kept {
            lanes,
            base: self.stacks.base,
            end: self.stacks.end,
            wide: wide
                .map(|slot| Lanes64(*self.regs.r64(slot.into())))
                .collect(),
            narrow: narrow
                .map(|slot| Lanes32(*self.regs.r32(slot.into())))
                .collect(),
            preds: preds.map(|pred| self.regs.pred(pred.into())).collect(),
        };
        self.stacks.kept.push(kept);
    }

    /// Gives back to `lanes` what their innermost call kept. Lanes that have ended need nothing.
    fn give_back(&mut self, frame: &Frame, lanes: LaneMask) {
        let gone = self.exited;
        let kept = &mut self.stacks.kept;
        kept.retain(|kept| kept.lanes & !gone != 0);
        let Some(at) = kept.iter().rposition(|kept| kept.lanes & lanes != 0) else {
            return;
        };
        let from = &mut kept[at];
        from.lanes &= !lanes;
        blend(&mut self.stacks.base.0, &from.base.0, lanes);
        blend(&mut self.stacks.end.0, &from.end.0, lanes);
        for (slot, values) in frame.kept_wide.clone().step_by(2).zip(&from.wide) {
            blend(self.regs.r64_mut(slot.into()), &values.0, lanes);
        }
        for (slot, values) in frame.kept_narrow.clone().zip(&from.narrow) {
            blend(self.regs.r32_mut(slot.into()), &values.0, lanes);
        }
        for (pred, values) in frame.kept_preds.clone().zip(&from.preds) {
            self.regs.set_pred(pred.into(), lanes, *values);
        }
        if from.lanes == 0 {
            kept.remove(at);
        }
    }

    /// Start of the running function's frame, where it moves.
    fn frame_start(&self, moves: bool) -> [u32; WARP_SIZE] {
        match moves {
            true => self.stacks.base.0,
            false => [0; WARP_SIZE],
        }
    }
}

impl Machine<'_, '_> {
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
