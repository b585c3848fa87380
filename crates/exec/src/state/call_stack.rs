//! Call stacks of the threads of a warp, in their local memory. They hold the frames of functions
//! that may be recursive, and the memory that `alloca` returns.
//!
//! A call allocates a frame at the end of the stack and saves the registers of the caller. The
//! return frees the frame and restores the registers. Frames have addresses, so that pointers into
//! them stay valid at any depth of calls.

use crate::state::registers::{Lanes32, Lanes64, RegFile, blend};
use warploom_base::{LaneMask, WARP_SIZE};
use warploom_ir::Frame;
use warploom_state::Value;

/// Call stacks of the threads of a warp.
#[derive(Clone, Debug, Value)]
pub(crate) struct CallStacks {
    /// Start of each lane's current frame, in bytes of local memory.
    pub base: Lanes32,
    /// End of each lane's used stack, in bytes of local memory.
    pub end: Lanes32,
    /// Registers saved by the active calls, those of the innermost call last. The calls of diverged
    /// lanes may end in any order.
    saved: Vec<SavedState>,
}

/// State of the caller that a call saves.
#[derive(Clone, Debug, Value)]
struct SavedState {
    /// Lanes in which the call has not ended.
    lanes: LaneMask,
    base: Lanes32,
    end: Lanes32,
    wide: Vec<Lanes64>,
    narrow: Vec<Lanes32>,
    preds: Vec<LaneMask>,
}

impl CallStacks {
    pub const EMPTY: Self = Self {
        base: Lanes32::ZERO,
        end: Lanes32::ZERO,
        saved: Vec::new(),
    };

    /// Empties all stacks. They start at `start`, in bytes of local memory.
    pub fn reset(&mut self, start: u32) {
        self.base = Lanes32::ZERO;
        self.end = Lanes32([start; WARP_SIZE]);
        self.saved.clear();
    }

    /// Saves the registers and the stack of the caller for a call by `lanes`.
    pub fn save(&mut self, regs: &RegFile, frame: &Frame, lanes: LaneMask) {
        let wide = frame.kept_wide.clone().step_by(2);
        let (narrow, preds) = (frame.kept_narrow.clone(), frame.kept_preds.clone());
        self.saved.push(SavedState {
            lanes,
            base: self.base,
            end: self.end,
            wide: wide.map(|slot| Lanes64(*regs.r64(slot.into()))).collect(),
            narrow: narrow.map(|slot| Lanes32(*regs.r32(slot.into()))).collect(),
            preds: preds.map(|pred| regs.pred(pred.into())).collect(),
        });
    }

    /// Restores the registers and the stack that the innermost call of `lanes` saved. State of
    /// calls in which all lanes are among `exited` is dropped.
    pub fn restore(
        &mut self,
        regs: &mut RegFile,
        frame: &Frame,
        lanes: LaneMask,
        exited: LaneMask,
    ) {
        let saved = &mut self.saved;
        saved.retain(|saved| saved.lanes & !exited != 0);
        let Some(at) = saved.iter().rposition(|saved| saved.lanes & lanes != 0) else {
            return;
        };
        let from = &mut saved[at];
        from.lanes &= !lanes;
        blend(&mut self.base.0, &from.base.0, lanes);
        blend(&mut self.end.0, &from.end.0, lanes);
        for (slot, values) in frame.kept_wide.clone().step_by(2).zip(&from.wide) {
            blend(regs.r64_mut(slot.into()), &values.0, lanes);
        }
        for (slot, values) in frame.kept_narrow.clone().zip(&from.narrow) {
            blend(regs.r32_mut(slot.into()), &values.0, lanes);
        }
        for (pred, values) in frame.kept_preds.clone().zip(&from.preds) {
            regs.set_pred(pred.into(), lanes, *values);
        }
        if from.lanes == 0 {
            saved.remove(at);
        }
    }

    /// Start of the current function's frame in each lane. Functions without a moving frame start
    /// at 0.
    pub fn frame_start(&self, moves: bool) -> [u32; WARP_SIZE] {
        if moves { self.base.0 } else { [0; WARP_SIZE] }
    }
}
