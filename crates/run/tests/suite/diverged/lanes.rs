//! The reference. Every lane runs by itself, with its own place in the code and its own registers,
//! until it waits for others. The reference has no notion of warps that run together.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions": a lane waits at an operation
//! of its warp until every lane that its mask names and that has not exited is at the same
//! operation, and so do those lanes. Of several such sets the smallest continues; a lane that names
//! others which do not name it waits until they do. A lane waits at a barrier for all lanes of its
//! warp that have not exited; then the warp arrives.

use crate::diverged::block::Block;
use crate::diverged::code::{Kernel, TOTALS};
use std::collections::BTreeSet;
use warploom_base::Rng;

/// Number of instructions of all threads after which a kernel is abandoned.
pub const BUDGET: u64 = 1 << 20;

/// Choice of the lane that runs next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    Lowest,
    Highest,
    Drawn(u64),
}

/// Order in which lanes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    pub turn: Turn,
    /// True if operations of warps execute only when no lane can run, and not as soon as possible.
    pub is_late: bool,
    /// Value that is read from lanes without a value.
    pub poison: u32,
}

/// Orders under which a kernel must have the same result.
pub const fn orders(seed: u64) -> [Order; 3] {
    [
        order(Turn::Lowest, false, 0x5a5a_1111),
        order(Turn::Highest, true, 0xa5a5_2222),
        order(Turn::Drawn(seed), false, 0x1234_5678),
    ]
}

const fn order(turn: Turn, is_late: bool, poison: u32) -> Order {
    Order {
        turn,
        is_late,
        poison,
    }
}

/// Place of an instruction: number of the body, index in the body.
pub type Place = (usize, usize);

/// A thread that executed `trap`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Trap {
    pub at: Place,
    pub block: u32,
    pub thread: u32,
}

/// Result of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All threads exited. Contains words of output and of atomics.
    Done(Vec<u32>),
    /// Threads wait for ever at these instructions.
    Deadlock(BTreeSet<Place>),
    /// Threads that reach a `trap` in every order.
    Fault(BTreeSet<Trap>),
}

/// Reason why a kernel has no defined result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unclear {
    /// Accesses to shared memory race.
    Race,
    /// The kernel runs too long.
    Long,
    /// The result depends on the order of lanes or on undefined values.
    Order,
    /// A lane waits for another lane that does not name it, or does not name itself.
    OneSided,
    /// A jump leads out of the code, or calls are nested too deeply.
    Broken,
}

/// Memory that all blocks share.
pub struct Global {
    pub output: Vec<u32>,
    /// The words for atomics.
    pub totals: Vec<u32>,
    pub lock: u32,
    pub guarded: u32,
}

impl Global {
    fn new(kernel: &Kernel) -> Self {
        Self {
            output: vec![0; (kernel.blocks * kernel.threads) as usize],
            totals: vec![0; TOTALS],
            lock: 0,
            guarded: 0,
        }
    }

    /// All words, in the order of a run's buffers.
    fn words(self) -> Vec<u32> {
        let tail = [self.lock, self.guarded];
        let all = self.output.into_iter().chain(self.totals);
        all.chain(tail).collect()
    }
}

/// Result of a kernel in each of the orders, which must be the same.
pub fn interpret(kernel: &Kernel, seed: u64) -> Result<End, Unclear> {
    let [first, second, third] = orders(seed);
    let end = run(kernel, first)?;
    for order in [second, third] {
        if run(kernel, order)? != end {
            return Err(Unclear::Order);
        }
    }
    Ok(end)
}

/// Result of a kernel in one order.
pub fn run(kernel: &Kernel, order: Order) -> Result<End, Unclear> {
    let mut global = Global::new(kernel);
    let (mut traps, mut waits) = (BTreeSet::new(), BTreeSet::new());
    let mut rng = match order.turn {
        Turn::Drawn(seed) => Rng::new(seed),
        _ => Rng::new(0),
    };
    for index in 0..kernel.blocks {
        let mut block = Block::new(kernel, index, order.poison);
        block.run(&mut global, order, &mut rng)?;
        traps.extend(block.traps());
        waits.extend(block.waits());
    }
    Ok(match (traps.is_empty(), waits.is_empty()) {
        (false, _) => End::Fault(traps),
        (true, false) => End::Deadlock(waits),
        (true, true) => End::Done(global.words()),
    })
}
