//! Divergence by the immediate post-dominator stack (Fung et al., MICRO 2007), as GPGPU-Sim keeps
//! it.
//!
//! The top entry executes. Where lanes part, the top entry becomes the place where they meet again
//! and one entry per group goes on top; a group that reaches its meeting place is dropped. A call
//! pushes an entry of its own; returns of parted lanes meet at its end.
//!
//! Invariant: the entries, bottom first, are a forest in preorder. An entry's lanes contain those
//! of the entries that stem from it, which follow it, and lanes of other entries after it are
//! disjoint from its own. So every entry that is followed by a disjoint one is a leaf: a *split*,
//! whose lanes can execute. The top is a leaf. `stack/splits.rs` lets another leaf come to the top
//! where one has to wait; kernels in which no lanes wait for each other never go there.

mod splits;

pub(crate) use splits::{Choice, Released};

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

/// What lanes of a warp that went different ways may do for each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Divergence {
    /// A split runs until it meets others, ends or waits at a barrier or an operation of the warp
    /// (GPUs before Volta). Splits that spin keep the others from running.
    Stack,
    /// Every split makes progress, also while another one spins (Volta and later).
    #[default]
    Independent,
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
    /// The lanes wait for others at the instruction.
    pub waits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    /// Next instruction. Of an entry with others that stem from it: where those meet.
    pc: Pc,
    /// Where the lanes meet those of the entry below.
    rpc: Pc,
    lanes: LaneMask,
    /// The call that made the entry.
    call: Option<Pc>,
    /// Which of the functions that the call may reach.
    callee: u16,
    /// The lanes stand at an instruction that waits for other lanes of the warp.
    waits: bool,
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

/// The stack of one warp. Every instruction that executes looks at the top, which therefore is not
/// in the list. It has no lanes only when no entry is left, or until [`Self::settle`].
#[derive(Clone, Debug)]
pub(crate) struct SimtStack {
    top: Entry,
    /// The others, bottom first.
    below: Vec<Entry>,
    /// Jumps back since the last change, as far as they can be counted.
    jumps: u32,
    /// All lanes have met since this was last asked for.
    met: bool,
}

impl Default for SimtStack {
    fn default() -> Self {
        Self {
            top: Entry::EMPTY,
            below: Vec::new(),
            jumps: 0,
            met: false,
        }
    }
}

fn known(pc: Pc) -> Option<Pc> {
    (pc != FUNCTION_END).then_some(pc)
}

impl SimtStack {
    /// All lanes of `lanes` at the kernel's first instruction.
    pub fn reset(&mut self, lanes: LaneMask) {
        self.below.clear();
        self.jumps = 0;
        self.top = Entry {
            lanes,
            ..Entry::EMPTY
        };
    }

    /// Next instruction and lanes of the top entry, if there is one.
    #[inline(always)]
    pub fn top(&self) -> Option<(Pc, LaneMask)> {
        let Entry { pc, lanes, .. } = self.top;
        (lanes != 0).then_some((pc, lanes))
    }

    /// The top's lanes are in a function that the kernel called.
    pub fn is_called(&self) -> bool {
        let lanes = self.top.lanes;
        let around = |e: &Entry| e.call.is_some() && e.lanes & lanes != 0;
        around(&self.top) || self.below.iter().any(around)
    }

    /// All lanes of the top entry go on at `pc`. Returns true when they met others or returned:
    /// then call [`Self::settle`] until it yields nothing.
    #[inline(always)]
    pub fn advance(&mut self, pc: Pc) -> bool {
        self.top.pc = pc;
        pc == self.top.rpc
    }

    /// Counts a jump back, if a part of the warp has made it.
    pub fn count_jump(&mut self) -> bool {
        let partly = !self.below.is_empty();
        self.jumps = self.jumps.saturating_add(partly.into());
        partly
    }

    /// Whether all lanes have met since the last call.
    pub fn take_met(&mut self) -> bool {
        std::mem::take(&mut self.met)
    }

    /// The lanes of the top entry wait for others.
    #[inline(always)]
    pub fn top_waits(&self) -> bool {
        self.top.waits
    }

    /// Some lanes wait for others.
    pub fn any_waits(&self) -> bool {
        self.top.waits || self.below.iter().any(|entry| entry.waits)
    }

    /// Parts the lanes of the top entry. `groups` are (next pc, lanes), pushed in this order, the
    /// last one runs first; together they are the top's lanes.
    pub fn diverge(&mut self, groups: &[(Pc, LaneMask)], reconverge: Option<Pc>) {
        self.jumps = 0;
        let rpc = reconverge.unwrap_or(FUNCTION_END);
        // Else the entry below is already where the lanes meet.
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

    /// The entry below becomes the top.
    fn pop(&mut self) {
        self.top = self.below.pop().unwrap_or(Entry::EMPTY);
    }

    /// A call by `lanes` of the top entry, of the `callee`-th function that it may reach; all of
    /// the entry's lanes go on behind the call afterwards.
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

    /// Drops top entries whose lanes are where they meet others. Yields each call that ended, one
    /// at a time.
    pub fn settle(&mut self) -> Option<Returned> {
        loop {
            let top = self.top;
            let base = self.below.is_empty();
            if base || (top.lanes != 0 && top.pc != top.rpc) {
                return None;
            }
            self.jumps = 0;
            self.pop();
            self.met |= self.below.is_empty();
            if let Some(call) = top.call {
                return Some(Returned {
                    call,
                    callee: top.callee,
                    lanes: top.lanes,
                });
            }
        }
    }

    /// Lanes end. Entries left without lanes go when they come to the top.
    pub fn exit(&mut self, lanes: LaneMask) {
        self.jumps = 0;
        self.top.lanes &= !lanes;
        for entry in &mut self.below {
            entry.lanes &= !lanes;
        }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.below.len() + usize::from(self.top.lanes != 0)
    }

    /// The entries, bottom first.
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

    /// The spinning part, if any lanes jump back while others wait.
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
