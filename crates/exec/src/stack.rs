//! Divergence by the immediate post-dominator stack (Fung et al., MICRO 2007), as GPGPU-Sim keeps
//! it.
//!
//! The top entry executes. Where lanes part, the top entry becomes the place where they meet again
//! and one entry per group goes on top; a group that reaches its meeting place is dropped. A call
//! pushes an entry of its own; returns of parted lanes meet at its end.
//!
//! Limit: lanes of one warp that wait for each other (a spin lock within a warp) never progress;
//! see [`Spin`].

use smallvec::SmallVec;
use warploom_base::{LaneMask, Pc};

/// Where no further instruction is: paths meet only at the function's end.
pub(crate) const FUNCTION_END: Pc = Pc(u32::MAX);

/// Which group of a divergent branch runs first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BranchOrder {
    /// The taken path (GPGPU-Sim 4.x).
    #[default]
    TakenFirst,
    /// The group that holds the highest active lane runs last (GPGPU-Sim 3.2.x).
    HighestLaneLast,
}

/// One entry of the stack, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEntry {
    /// Next instruction of the lanes; `None`: the function's end.
    pub pc: Option<Pc>,
    /// Where they meet the others; `None`: the function's end.
    pub reconverge: Option<Pc>,
    /// The lanes.
    pub lanes: LaneMask,
    /// The entry of a call: instruction of the call.
    pub call: Option<Pc>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    pc: Pc,
    rpc: Pc,
    lanes: LaneMask,
    call: Option<Pc>,
    callee: u16,
}

/// A call that ended: its lanes copy results as the call instruction says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Returned {
    pub call: Pc,
    /// Which of the functions that it may reach.
    pub callee: u16,
    pub lanes: LaneMask,
}

/// A part of a warp that keeps jumping back while other lanes wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spin {
    /// Jumps back since the last change of the stack.
    pub jumps: u64,
    /// Lanes that spin.
    pub lanes: LaneMask,
    /// Where they spin.
    pub pc: Pc,
    /// Lanes that wait.
    pub waiting: LaneMask,
    /// Where these wait.
    pub wait_pc: Option<Pc>,
}

/// The stack of one warp. Most have one entry or two: these lie in it, for every instruction that
/// executes looks at the top.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimtStack {
    entries: SmallVec<[Entry; 2]>,
    depth: u32,
    jumps: u64,
}

fn known(pc: Pc) -> Option<Pc> {
    (pc != FUNCTION_END).then_some(pc)
}

impl SimtStack {
    /// All lanes of `lanes` at the kernel's first instruction.
    pub fn reset(&mut self, lanes: LaneMask) {
        self.entries.clear();
        self.depth = 0;
        self.jumps = 0;
        if lanes != 0 {
            self.entries.push(Entry {
                pc: Pc(0),
                rpc: FUNCTION_END,
                lanes,
                call: None,
                callee: 0,
            });
        }
    }

    #[inline(always)]
    pub fn top(&self) -> Option<(Pc, LaneMask)> {
        self.entries.last().map(|e| (e.pc, e.lanes))
    }

    /// Calls in progress in the top entry.
    pub fn call_depth(&self) -> u32 {
        self.depth
    }

    /// All lanes of the top entry go on at `pc`. Returns true when they met others or returned:
    /// then call [`Self::settle`] until it yields nothing.
    #[inline(always)]
    pub fn advance(&mut self, pc: Pc) -> bool {
        match self.entries.last_mut() {
            Some(top) => {
                top.pc = pc;
                pc == top.rpc
            }
            None => false,
        }
    }

    /// As [`Self::advance`], for a jump: counts jumps back by a part of the warp.
    #[inline(always)]
    pub fn jump(&mut self, pc: Pc) -> bool {
        if self.entries.len() > 1 && self.entries.last().is_some_and(|top| pc <= top.pc) {
            self.jumps += 1;
        }
        self.advance(pc)
    }

    /// Parts the lanes of the top entry. `groups` are (next pc, lanes), pushed in this order, the
    /// last one runs first; together they are the top's lanes.
    pub fn diverge(&mut self, groups: &[(Pc, LaneMask)], reconverge: Option<Pc>) {
        self.jumps = 0;
        let rpc = reconverge.unwrap_or(FUNCTION_END);
        let Some(top) = self.entries.last_mut() else {
            return;
        };
        if top.rpc == rpc && top.call.is_none() {
            // The entry below is already where the lanes meet.
            self.entries.pop();
        } else {
            top.pc = rpc;
        }
        for &(pc, lanes) in groups {
            if pc != rpc && lanes != 0 {
                self.entries.push(Entry {
                    pc,
                    rpc,
                    lanes,
                    call: None,
                    callee: 0,
                });
            }
        }
    }

    /// A call by `lanes` of the top entry, of the `callee`-th function that it may reach; all of
    /// the entry's lanes go on behind the call afterwards.
    pub fn call(&mut self, call: Pc, target: Pc, callee: u16, lanes: LaneMask) {
        if let Some(top) = self.entries.last_mut() {
            top.pc = Pc(call.0 + 1);
        }
        self.depth += 1;
        self.entries.push(Entry {
            pc: target,
            rpc: FUNCTION_END,
            lanes,
            call: Some(call),
            callee,
        });
    }

    /// Drops top entries whose lanes are where they meet others. Yields each call that ended, one
    /// at a time.
    pub fn settle(&mut self) -> Option<Returned> {
        while let Some(&top) = self.entries.last() {
            let base = self.entries.len() == 1;
            if top.lanes != 0 && (top.pc != top.rpc || base) {
                return None;
            }
            self.jumps = 0;
            self.entries.pop();
            if let Some(call) = top.call {
                self.depth -= 1;
                return Some(Returned {
                    call,
                    callee: top.callee,
                    lanes: top.lanes,
                });
            }
        }
        None
    }

    /// Lanes end. Entries left without lanes go when they come to the top.
    pub fn exit(&mut self, lanes: LaneMask) {
        self.jumps = 0;
        for entry in &mut self.entries {
            entry.lanes &= !lanes;
        }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries, bottom first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = StackEntry> + '_ {
        self.entries.iter().map(|e| StackEntry {
            pc: known(e.pc),
            reconverge: known(e.rpc),
            lanes: e.lanes,
            call: e.call,
        })
    }

    /// The spinning part, if any lanes jump back while others wait.
    pub fn spin(&self) -> Option<Spin> {
        let [.., below, top] = self.entries.as_slice() else {
            return None;
        };
        let waiting = self.entries.iter().fold(0, |m, e| m | e.lanes) & !top.lanes;
        (self.jumps > 0 && waiting != 0).then_some(Spin {
            jumps: self.jumps,
            lanes: top.lanes,
            pc: top.pc,
            waiting,
            wait_pc: known(below.pc),
        })
    }
}
