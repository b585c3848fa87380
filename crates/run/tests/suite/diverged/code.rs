//! Kernels as flat lists of instructions: what is drawn, printed and interpreted.

use std::collections::BTreeSet;

/// Number of a `%r` register; see [`reg`].
pub type Reg = u8;
/// Number of a `%p` register.
pub type Pred = u8;
/// Number of a label in its body.
pub type Label = u16;

/// What registers are for. Each body of code has its own.
pub mod reg {
    use super::Reg;
    /// The hash that a thread leaves.
    pub const HASH: Reg = 0;
    /// `%tid.x`.
    pub const TID: Reg = 1;
    /// The thread's number in its warp.
    pub const LANE: Reg = 2;
    /// The warp's number in its block.
    pub const WARP: Reg = 3;
    /// Data that is computed with.
    pub const DATA: [Reg; 4] = [4, 5, 6, 7];
    /// Intermediate values.
    pub const TEMP: [Reg; 4] = [8, 9, 10, 11];
    /// Member masks, each of one part of the code.
    pub const MASKS: [Reg; 10] = [12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
    /// Counters of loops.
    pub const COUNTERS: [Reg; 6] = [22, 23, 24, 25, 26, 27];
    /// How many there are.
    pub const COUNT: usize = 28;
}

/// How many `%p` registers there are.
pub const PREDS: usize = 6;
/// Words of input; indices wrap around.
pub const INPUTS: u32 = 64;
/// Words that atomics act on, in global and in shared memory each.
pub const TOTALS: usize = 8;

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opd {
    R(Reg),
    I(u32),
}

/// Operations on two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bin {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Min,
}

/// Comparisons of unsigned words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Ge,
}

/// How `shfl` finds its source lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shfl {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What `redux` computes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Redux {
    Add,
    MinU,
    MaxS,
    And,
    Or,
    Xor,
}

/// An operation of a warp with its modifiers: lanes execute it together only if it is the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    Shfl(Shfl),
    VoteAll,
    VoteAny,
    VoteUni,
    Ballot,
    MatchAny,
    MatchAll,
    Redux(Redux),
    Elect,
    WarpSync,
}

/// An operation of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpOp {
    pub form: Form,
    /// The result, where it is a word.
    pub d: Reg,
    /// The result, where it is a predicate.
    pub p: Pred,
    /// The word that others see.
    pub a: Opd,
    /// The predicate that votes see, and whether it is negated.
    pub q: (Pred, bool),
    /// `shfl`'s second and third operand.
    pub b: Opd,
    pub c: u32,
    pub mask: Opd,
}

/// What arrives at a barrier, and what comes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarKind {
    Sync,
    Arrive,
    /// `bar.red.popc` into [`Bar::d`].
    Popc,
    /// `bar.red.and` into [`Bar::p`].
    And,
    /// `bar.red.or` into [`Bar::p`].
    Or,
}

/// An operation of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    pub kind: BarKind,
    pub number: u8,
    pub threads: Option<u32>,
    pub d: Reg,
    pub p: Pred,
    pub q: (Pred, bool),
}

/// How atomics on a word change it: always the same way, so that their order does not matter.
pub const fn total_op(word: u8) -> Bin {
    match word % 3 {
        0 => Bin::Add,
        1 => Bin::Xor,
        _ => Bin::Or,
    }
}

/// What an instruction does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// No instruction: a place to jump to.
    Label(Label),
    Bin(Bin, Reg, Opd, Opd),
    /// `d = p ? a : b`.
    Select(Reg, Opd, Opd, Pred),
    Compare(Cmp, Pred, Opd, Opd),
    /// Loads a word of input.
    Input(Reg, Opd),
    /// Stores the hash into the thread's word of output.
    Output,
    /// Stores into the thread's own word of a region of shared memory.
    Store(u8, Opd),
    /// Loads the word of another thread of the block from a region; behind the last thread is its.
    Fetch(Reg, u8, Opd),
    /// An atomic without a result on a word of global memory.
    GlobalTotal(u8, Opd),
    /// An atomic without a result on a word of shared memory.
    SharedTotal(u8, Opd),
    /// Loads such a word of shared memory.
    FetchTotal(Reg, u8),
    Bra(Label),
    /// `brx.idx`.
    Switch(Reg, Vec<Label>),
    /// Calls a body with the hash, two words of data and a mask; it gives a hash.
    Call(u8, Opd),
    /// Returns from a function, or ends the thread in the kernel.
    Ret,
    Exit,
    Trap,
    Warp(WarpOp),
    Bar(Bar),
    /// `atom.global.cas` on the lock of all threads: 0 becomes 1.
    Acquire(Reg),
    /// `atom.global.exch` on it: 0.
    Release,
    /// Adds to the word that the lock guards, by a load and a store.
    Guarded(Opd),
}

/// An instruction with the predicate that it depends on, and the value that this must have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ins {
    pub guard: Option<(Pred, bool)>,
    pub op: Op,
}

impl From<Op> for Ins {
    fn from(op: Op) -> Self {
        Self { guard: None, op }
    }
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel, then functions, each of which calls only later ones.
    pub bodies: Vec<Vec<Ins>>,
    pub blocks: u32,
    pub threads: u32,
    pub input: Vec<u32>,
    /// How barriers of each number are written: `bar.`, `barrier.` and so on, and a suffix.
    pub spelling: [(&'static str, &'static str); 16],
}

impl Kernel {
    /// One block of code, for tests.
    pub fn of(body: Vec<Ins>, blocks: u32, threads: u32) -> Self {
        Self {
            bodies: vec![body],
            blocks,
            threads,
            input: vec![0; INPUTS as usize],
            spelling: [("bar.", ""); 16],
        }
    }

    /// Regions of shared memory that are used.
    pub fn regions(&self) -> u32 {
        let used = self.bodies.iter().flatten().filter_map(|ins| match ins.op {
            Op::Store(region, _) | Op::Fetch(_, region, _) => Some(u32::from(region) + 1),
            _ => None,
        });
        used.max().unwrap_or(0)
    }

    /// Every jump, call and branch of it leads somewhere.
    pub fn is_whole(&self) -> bool {
        let labels = |body: &[Ins]| -> BTreeSet<Label> {
            let all = body.iter().filter_map(|ins| match ins.op {
                Op::Label(label) => Some(label),
                _ => None,
            });
            all.collect()
        };
        self.bodies.iter().all(|body| {
            let there = labels(body);
            body.iter().all(|ins| match &ins.op {
                Op::Bra(to) => there.contains(to),
                Op::Switch(_, to) => to.iter().all(|label| there.contains(label)),
                Op::Call(body, _) => usize::from(*body) < self.bodies.len(),
                _ => true,
            })
        })
    }
}
