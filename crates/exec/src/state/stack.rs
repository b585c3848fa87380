//! Stack of splits with which a warp executes divergent control flow: the immediate post-dominator
//! scheme of Fung et al. (MICRO 2007), as GPGPU-Sim implements it.
//!
//! The top entry executes. A divergent branch turns the top entry into a *reconvergence entry*,
//! whose program counter is the branch's reconvergence point, and pushes one entry for each group
//! of lanes that takes a common path. An entry is popped when it reaches its reconvergence point. A
//! call pushes an entry of its own, and lanes that return separately reconverge at the end of the
//! callee.
//!
//! Invariant: the entries, from bottom to top, are a forest in preorder. The lanes of an entry
//! contain those of its descendants, which follow it directly. The lanes of all later entries are
//! disjoint from its own. An entry that is followed by a disjoint entry is therefore a leaf. A leaf
//! is a *split*: its lanes can execute. The top entry is a leaf. The module `splits` moves another
//! leaf to the top when a split has to wait. Kernels in which no lanes wait for each other never
//! use it.

mod splits;

pub(crate) use splits::{Choice, Released};

use warploom_base::{LaneMask, Pc};
use warploom_state::Value;

/// Program counter that denotes the end of a function. No instruction follows it.
pub(crate) const FUNCTION_END: Pc = Pc(u32::MAX);

/// Order in which the groups of a divergent branch run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BranchOrder {
    /// The lanes that take the branch run first (GPGPU-Sim 4.x).
    #[default]
    TakenFirst,
    /// The group that contains the highest active lane runs last (GPGPU-Sim 3.2.x).
    HighestLaneLast,
}

/// Rule for scheduling the splits of a diverged warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Divergence {
    /// A split runs until it reconverges, exits, or waits at a barrier or a warp-wide operation
    /// (GPUs before Volta). A spinning split keeps the others from running.
    Stack,
    /// Every split makes progress, even while another split spins (Volta and later).
    #[default]
    Independent,
}

/// An entry of the SIMT stack, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEntry {
    /// Program counter of the next instruction. `None` stands for the end of the function.
    pub pc: Option<Pc>,
    /// Reconvergence point of the entry. `None` stands for the end of the function.
    pub reconverge: Option<Pc>,
    /// Lanes of the entry.
    pub lanes: LaneMask,
    /// Program counter of the call that pushed the entry, if a call did.
    pub call: Option<Pc>,
    /// True if the lanes wait at the instruction for other lanes of the warp.
    pub waits: bool,
}

/// An entry of the SIMT stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
struct Entry {
    /// Program counter of the next instruction. For an entry with descendants, this is the point at
    /// which they reconverge.
    pc: Pc,
    /// Point at which the lanes reconverge with those of the entry below.
    rpc: Pc,
    lanes: LaneMask,
    /// Program counter of the call that pushed the entry, if a call did.
    call: Option<Pc>,
    /// Index of the callee among the functions that the call may reach.
    callee: u16,
    /// True if the lanes wait at the instruction for other lanes of the warp.
    waits: bool,
}

/// A call that ended. The results of its lanes are copied as the call instruction describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Returned {
    pub call: Pc,
    /// Index of the callee among the functions that the call may reach.
    pub callee: u16,
    pub lanes: LaneMask,
}

/// A split that jumps backward repeatedly while other lanes wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spin {
    /// Number of backward jumps since the stack last changed.
    pub jumps: u64,
    /// Lanes of the spinning split.
    pub lanes: LaneMask,
    /// Program counter at which these lanes spin.
    pub pc: Pc,
    /// Lanes that wait meanwhile.
    pub waiting: LaneMask,
    /// Program counter at which the lanes wait. `None` stands for the end of the function.
    pub wait_pc: Option<Pc>,
}

impl Entry {
    const EMPTY: Self = Self {
        pc: Pc(0),
        rpc: FUNCTION_END,
        lanes: 0,
        call: None,
        callee: 0,
        waits: false,
    };
}

/// SIMT stack of one warp.
///
/// Every executed instruction reads the top entry, which is therefore stored outside of the list.
/// The top has no lanes if the stack is empty, or temporarily until [`Self::settle`] is called.
#[derive(Clone, Debug, Value)]
pub(crate) struct SimtStack {
    top: Entry,
    /// Entries below the top, from bottom to top.
    below: Vec<Entry>,
    /// Number of backward jumps since the last change, saturating.
    jumps: u32,
    /// True if all lanes have reconverged since [`Self::take_reconverged`] was last called.
    reconverged: bool,
}

impl Default for SimtStack {
    fn default() -> Self {
        Self {
            top: Entry::EMPTY,
            below: Vec::new(),
            jumps: 0,
            reconverged: false,
        }
    }
}

/// Program counter for a report, `None` for the end of the function.
fn known(pc: Pc) -> Option<Pc> {
    (pc != FUNCTION_END).then_some(pc)
}

impl SimtStack {
    /// Puts all of `lanes` at the first instruction of the kernel.
    pub fn reset(&mut self, lanes: LaneMask) {
        self.below.clear();
        self.jumps = 0;
        self.top = Entry {
            lanes,
            ..Entry::EMPTY
        };
    }

    /// Program counter and lanes of the top entry. `None` if the stack is empty.
    #[inline(always)]
    pub fn top(&self) -> Option<(Pc, LaneMask)> {
        let Entry { pc, lanes, .. } = self.top;
        (lanes != 0).then_some((pc, lanes))
    }

    /// Number of instructions that the lanes of the top entry execute in a row before they
    /// reconverge with others. More than there are, if they reconverge elsewhere.
    #[inline(always)]
    pub fn before_reconvergence(&self) -> u32 {
        match self.top.rpc.0.wrapping_sub(self.top.pc.0) {
            0 => u32::MAX,
            left => left,
        }
    }

    /// True if the lanes of the top entry are inside a function that the kernel called.
    pub fn is_called(&self) -> bool {
        let lanes = self.top.lanes;
        let around = |e: &Entry| e.call.is_some() && e.lanes & lanes != 0;
        around(&self.top) || self.below.iter().any(around)
    }

    /// Moves all lanes of the top entry to `pc`. Returns true if the entry reached its
    /// reconvergence point. The caller then calls [`Self::settle`] until it returns `None`.
    #[inline(always)]
    pub fn advance(&mut self, pc: Pc) -> bool {
        self.top.pc = pc;
        pc == self.top.rpc
    }

    /// Counts a backward jump if only a part of the warp made it. Returns true in this case.
    pub fn count_jump(&mut self) -> bool {
        let partly = !self.below.is_empty();
        self.jumps = self.jumps.saturating_add(partly.into());
        partly
    }

    /// Returns true if all lanes have reconverged since the previous call.
    pub fn take_reconverged(&mut self) -> bool {
        std::mem::take(&mut self.reconverged)
    }

    /// True if the lanes of the top entry wait for other lanes.
    #[inline(always)]
    pub fn top_waits(&self) -> bool {
        self.top.waits
    }

    /// True if any lanes wait for other lanes.
    pub fn any_waits(&self) -> bool {
        self.top.waits || self.below.iter().any(|entry| entry.waits)
    }

    /// Splits the lanes of the top entry into groups of (next program counter, lanes), which
    /// together are the lanes of the entry. The groups are pushed in this order, so that the last
    /// one runs first.
    pub fn diverge(&mut self, groups: &[(Pc, LaneMask)], reconverge: Option<Pc>) {
        self.jumps = 0;
        let rpc = reconverge.unwrap_or(FUNCTION_END);
        // Otherwise the entry below is already the reconvergence entry.
        if self.top.rpc != rpc || self.top.call.is_some() {
            self.top.pc = rpc;
            self.below.push(self.top);
        }
        let mut groups = groups.iter().filter(|group| group.0 != rpc && group.1 != 0);
        let entry = |&(pc, lanes): &(Pc, LaneMask)| Entry {
            pc,
            rpc,
            lanes,
            ..Entry::EMPTY
        };
        let last = groups.next_back().map(entry);
        self.below.extend(groups.map(entry));
        match last {
            Some(last) => self.top = last,
            None => self.pop(),
        }
    }

    /// Makes the entry below the top.
    fn pop(&mut self) {
        self.top = self.below.pop().unwrap_or(Entry::EMPTY);
    }

    /// Enters a function with `lanes` of the top entry. `callee` is the index of the function among
    /// those that the call may reach. All lanes of the top entry continue after the call once it
    /// has ended.
    pub fn call(&mut self, call: Pc, target: Pc, callee: u16, lanes: LaneMask) {
        self.top.pc = Pc(call.0 + 1);
        self.below.push(self.top);
        self.top = Entry {
            pc: target,
            rpc: FUNCTION_END,
            lanes,
            call: Some(call),
            callee,
            waits: false,
        };
    }

    /// Pops top entries that have reached their reconvergence point. Returns the next call that
    /// ended thereby, or `None` if the top entry can execute.
    pub fn settle(&mut self) -> Option<Returned> {
        loop {
            let top = self.top;
            let base = self.below.is_empty();
            if base || (top.lanes != 0 && top.pc != top.rpc) {
                return None;
            }
            self.jumps = 0;
            self.pop();
            self.reconverged |= self.below.is_empty();
            if let Some(call) = top.call {
                return Some(Returned {
                    call,
                    callee: top.callee,
                    lanes: top.lanes,
                });
            }
        }
    }

    /// Removes lanes that exit. Entries without lanes are popped when they reach the top.
    pub fn exit(&mut self, lanes: LaneMask) {
        self.jumps = 0;
        self.top.lanes &= !lanes;
        for entry in &mut self.below {
            entry.lanes &= !lanes;
        }
    }

    /// Number of entries including the top.
    pub fn len(&self) -> usize {
        self.below.len() + usize::from(self.top.lanes != 0)
    }

    /// Entries from bottom to top.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = StackEntry> + '_ {
        let top = (self.top.lanes != 0).then_some(&self.top);
        self.below.iter().chain(top).map(|e| StackEntry {
            pc: known(e.pc),
            reconverge: known(e.rpc),
            lanes: e.lanes,
            call: e.call,
            waits: e.waits,
        })
    }

    /// Description of the spinning split, if lanes jump backward while others wait.
    pub fn spin(&self) -> Option<Spin> {
        let (below, top) = (self.below.last()?, &self.top);
        let waiting = self.below.iter().fold(0, |m, e| m | e.lanes) & !top.lanes;
        (self.jumps > 0 && waiting != 0).then_some(Spin {
            jumps: self.jumps.into(),
            lanes: top.lanes,
            pc: top.pc,
            waiting,
            wait_pc: known(below.pc),
        })
    }
}
