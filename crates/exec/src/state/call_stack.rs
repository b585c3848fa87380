//! The stack of every thread: frames of functions that may be called again before they return, and
//! what `alloca` takes.
//!
//! A call makes a frame at the stack's end and keeps the caller's registers aside; the return gives
//! both back. Frames have addresses, so that pointers into them stay right however deep calls go.

use crate::state::registers::{Lanes32, Lanes64, blend};
use crate::state::warp::WarpState;
use warploom_base::{LaneMask, WARP_SIZE};
use warploom_ir::Frame;

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
    pub(crate) fn keep(&mut self, frame: &Frame, lanes: LaneMask) {
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
    pub(crate) fn give_back(&mut self, frame: &Frame, lanes: LaneMask) {
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
    pub(crate) fn frame_start(&self, moves: bool) -> [u32; WARP_SIZE] {
        match moves {
            true => self.stacks.base.0,
            false => [0; WARP_SIZE],
        }
    }
}
