//! Kernels as flat lists of instructions, which are generated, printed and interpreted.

use std::collections::BTreeSet;

/// Number of a `%r` register; [`reg`] assigns them.
pub type Reg = u8;
/// Number of a `%p` register.
pub type Pred = u8;
/// Number of a label in its body.
pub type Label = u16;

/// Assignment of registers. Each body of code has registers of its own.
pub mod reg {
    use super::Reg;
    /// Register for the hash that a thread stores.
    pub const HASH: Reg = 0;
    /// Register for the value `%tid.x`.
    pub const TID: Reg = 1;
    /// Register for the thread's number in its warp.
    pub const LANE: Reg = 2;
    /// Register for the warp's number in its block.
    pub const WARP: Reg = 3;
    /// Registers for random data.
    pub const DATA: [Reg; 4] = [4, 5, 6, 7];
    /// Registers for intermediate values.
    pub const TEMP: [Reg; 4] = [8, 9, 10, 11];
    /// Registers for member masks, each of one part of the code.
    pub const MASKS: [Reg; 10] = [12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
    /// Registers for counters of loops.
    pub const COUNTERS: [Reg; 6] = [22, 23, 24, 25, 26, 27];
    /// Number of `%r` registers.
    pub const COUNT: usize = 28;
}

/// Number of `%p` registers.
pub const PREDS: usize = 6;
/// Number of input words; indices wrap around.
pub const INPUTS: u32 = 64;
/// Number of words for atomics, in global and in shared memory each.
pub const TOTALS: usize = 8;

/// An operand of an instruction.
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

/// Modes of `shfl` for its source lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shfl {
    Up,
    Down,
    Bfly,
    Idx,
}

/// Operations of the instruction `redux`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Redux {
    Add,
    MinU,
    MaxS,
    And,
    Or,
    Xor,
}

/// An operation of a warp with its modifiers. Lanes execute it together only if it is the same.
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

/// An operation of a warp with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpOp {
    pub form: Form,
    /// Destination of a result that is a word.
    pub d: Reg,
    /// Destination of a result that is a predicate.
    pub p: Pred,
    /// The word that other lanes receive.
    pub a: Opd,
    /// The predicate that votes read, and whether it is negated.
    pub q: (Pred, bool),
    /// The second and third operands of `shfl`.
    pub b: Opd,
    pub c: u32,
    pub mask: Opd,
}

/// Kinds of barrier instructions, with their results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarKind {
    Sync,
    Arrive,
    /// `bar.red.popc` with its result in [`Bar::d`].
    Popc,
    /// `bar.red.and` with its result in [`Bar::p`].
    And,
    /// `bar.red.or` with its result in [`Bar::p`].
    Or,
}

/// A barrier instruction with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    pub kind: BarKind,
    pub number: u8,
    pub threads: Option<u32>,
    pub d: Reg,
    pub p: Pred,
    pub q: (Pred, bool),
}

/// Operation of all atomics on a word. It is always the same, so that their order has no effect.
pub const fn total_op(word: u8) -> Bin {
    match word % 3 {
        0 => Bin::Add,
        1 => Bin::Xor,
        _ => Bin::Or,
    }
}

/// Operation of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// The target of a jump; no instruction.
    Label(Label),
    Bin(Bin, Reg, Opd, Opd),
    /// Computes `d = p ? a : b`.
    Select(Reg, Opd, Opd, Pred),
    Compare(Cmp, Pred, Opd, Opd),
    /// Loads a word of the input.
    Input(Reg, Opd),
    /// Stores the hash into the thread's word of output.
    Output,
    /// Stores into the thread's own word of a region of shared memory.
    Store(u8, Opd),
    /// Loads the word of another thread of the block from a region. Thread numbers wrap around.
    Fetch(Reg, u8, Opd),
    /// An atomic without a result on a word of global memory.
    GlobalTotal(u8, Opd),
    /// An atomic without a result on a word of shared memory.
    SharedTotal(u8, Opd),
    /// Loads such a word of shared memory.
    FetchTotal(Reg, u8),
    Bra(Label),
    /// Jumps to one of several labels (`brx.idx`).
    Switch(Reg, Vec<Label>),
    /// Calls a body with the hash, two words of data and a mask. The result is a hash.
    Call(u8, Opd),
    /// Returns from a function, or exits the thread in the kernel.
    Ret,
    Exit,
    Trap,
    Warp(WarpOp),
    Bar(Bar),
    /// Takes the lock of all threads: `atom.global.cas` changes 0 to 1.
    Acquire(Reg),
    /// Releases the lock: `atom.global.exch` stores 0.
    Release,
    /// Adds to the word that the lock guards, by a load and a store.
    Guarded(Opd),
}

/// An instruction with its guard predicate and the value that this must have.
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

/// A kernel with its launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel, followed by functions, each of which calls only later ones.
    pub bodies: Vec<Vec<Ins>>,
    pub blocks: u32,
    pub threads: u32,
    pub input: Vec<u32>,
    /// Spelling of barriers with each number (`bar.`, `barrier.` and so on), and a suffix.
    pub spelling: [(&'static str, &'static str); 16],
}

impl Kernel {
    /// A kernel with a single body, for tests.
    pub fn of(body: Vec<Ins>, blocks: u32, threads: u32) -> Self {
        Self {
            bodies: vec![body],
            blocks,
            threads,
            input: vec![0; INPUTS as usize],
            spelling: [("bar.", ""); 16],
        }
    }

    /// Number of regions of shared memory that are used.
    pub fn regions(&self) -> u32 {
        let used = self.bodies.iter().flatten().filter_map(|ins| match ins.op {
            Op::Store(region, _) | Op::Fetch(_, region, _) => Some(u32::from(region) + 1),
            _ => None,
        });
        used.max().unwrap_or(0)
    }

    /// True if every jump, call and branch has a target.
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
