//! Fewest instructions between a place in the code and the end of a warp.

use crate::op::Op;
use crate::program::Program;

impl Program {
    /// Returns, for every instruction, the fewest instructions that a warp executes from it to its
    /// end, itself included. Calls through registers and branches by table count as one instruction
    /// each, because their targets are unknown; a return may be the end.
    pub fn fewest_to_end(&self) -> Vec<u32> {
        let mut fewest = vec![u32::MAX; self.insts.len()];
        let mut changes = true;
        while changes {
            changes = false;
            for at in (0..self.insts.len()).rev() {
                let left = 1 + self.fewest_behind(at, &fewest);
                changes |= left < fewest[at];
                fewest[at] = fewest[at].min(left);
            }
        }
        fewest
    }

    /// Fewest instructions after an instruction, as far as they are known.
    fn fewest_behind(&self, at: usize, fewest: &[u32]) -> u32 {
        let inst = &self.insts[at];
        let behind = |at: usize| fewest.get(at).copied().unwrap_or(0);
        let there = || behind(inst.imm as usize);
        let next = behind(at + 1);
        let goes_on = match inst.op {
            Op::Bra(_) if inst.guard.is_none() => there(),
            Op::Bra(_) | Op::Call => there().min(next),
            Op::Ret | Op::Exit | Op::Trap | Op::BrxIdx | Op::CallIndirect => 0,
            _ => next,
        };
        // An unknown distance stays unknown.
        goes_on.min(u32::MAX - 1)
    }
}
