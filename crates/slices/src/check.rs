//! A comparison of address slices with actual executions: an observer of functional runs that
//! compares the addresses issued by the threads of some blocks with the addresses computed by the
//! address binary.
//!
//! Each coverage makes a guarantee (see [`Coverage`]). A regular access issues exactly the computed
//! addresses, in order. A conditional access issues a subsequence of them. For an access of a loop
//! with an unknown number of iterations, the first address is correct. For a warp whose execution
//! was cut off ([`Outcome::Stopped`]), the addresses computed until then are correct. Addresses
//! without a guarantee count as approximated or not covered, and violations of a guarantee count as
//! wrong.

use crate::access::{Access, Coverage};
use crate::binary::Slices;
use crate::eval::{Outcome, Predictor};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_exec::{LaunchContext, Observer, StepOut};
use warploom_ir::Program;

/// The numbers of addresses issued by threads, by the outcome of the prediction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// The addresses issued by the compared threads.
    pub issued: u64,
    /// The addresses that were predicted correctly.
    pub covered: u64,
    /// The addresses of regular accesses in iterations that the address binary does not execute.
    pub approximated: u64,
    /// The addresses that violate the guarantee of their access.
    pub wrong: u64,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        self.issued += other.issued;
        self.covered += other.covered;
        self.approximated += other.approximated;
        self.wrong += other.wrong;
    }
}

/// The results of the comparison for one kernel.
#[derive(Clone, Debug)]
pub struct KernelCheck {
    /// The name of the kernel.
    pub name: String,
    /// The slices of the kernel, which include its accesses with their coverage.
    pub slices: Arc<Slices>,
    /// The counts of each access, in the order of [`Slices::accesses`].
    pub tallies: Vec<Tally>,
    /// The number of warps compared.
    pub warps: u64,
    /// The number of warps for which the execution of the address binary was cut off.
    pub stopped: u64,
    /// A description of the first wrong prediction, if there is one.
    pub first_wrong: Option<String>,
}

/// The addresses issued by each lane for each access, in order.
type Issued = Vec<[Vec<u64>; WARP_SIZE]>;

/// An observer that compares the threads of some blocks of every launch.
#[derive(Debug, Default)]
pub struct PredictionCheck {
    /// The maximum number of blocks compared per launch.
    blocks: u64,
    /// The results by kernel. Launches of the same program share one entry.
    kernels: Vec<(Arc<Program>, KernelCheck)>,
    /// The launch in progress.
    current: Option<Watched>,
}

/// The observation of one launch.
#[derive(Debug)]
struct Watched {
    kernel: usize,
    /// The access at each instruction of the kernel.
    access_at: Vec<Option<u32>>,
    predictor: Predictor,
    warps: u32,
    /// The blocks in execution that are compared, with the addresses issued by each of their warps.
    running: BTreeMap<u64, Vec<Issued>>,
}

impl PredictionCheck {
    /// Creates an observer that compares up to `blocks` blocks of each launch, at equal distances
    /// from the first to the last.
    pub fn new(blocks: u64) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }

    /// Returns the results of each kernel, in the order of first launch.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelCheck> {
        self.kernels.iter().map(|(_, check)| check)
    }

    /// Returns the index of a program's results, and adds an entry for a new program.
    fn kernel(&mut self, program: &Arc<Program>) -> usize {
        let same = |(known, _): &(Arc<Program>, KernelCheck)| Arc::ptr_eq(known, program);
        self.kernels.iter().position(same).unwrap_or_else(|| {
            let slices = Arc::new(Slices::new(program));
            let check = KernelCheck {
                name: program.name.clone(),
                tallies: vec![Tally::default(); slices.accesses.len()],
                slices,
                warps: 0,
                stopped: 0,
                first_wrong: None,
            };
            self.kernels.push((Arc::clone(program), check));
            self.kernels.len() - 1
        })
    }
}

/// Returns whether a block is one of the `most` blocks that lie at equal distances between the
/// first and the last.
fn is_sampled(block: u64, blocks: u64, most: u64) -> bool {
    if blocks <= most || block + 1 == blocks {
        return true;
    }
    // Sample i is the block i (blocks - 1) / (most - 1), rounded down.
    let last = blocks - 1;
    let i = (block * (most - 1)).div_ceil(last.max(1));
    i * last / (most - 1).max(1) == block
}

impl Observer for PredictionCheck {
    fn begin(&mut self, launch: &LaunchContext) {
        let kernel = self.kernel(launch.program());
        let slices = Arc::clone(&self.kernels[kernel].1.slices);
        let mut access_at = vec![None; launch.program().insts.len()];
        for (index, access) in slices.accesses.iter().enumerate() {
            access_at[access.pc.index()] = Some(index as u32);
        }
        self.current = Some(Watched {
            kernel,
            access_at,
            predictor: Predictor::new(slices, launch),
            warps: launch.warps_per_block(),
            running: BTreeMap::new(),
        });
    }

    fn stepped(&mut self, block: u64, warp: u32, out: &StepOut) {
        let Some(watched) = &mut self.current else {
            return;
        };
        let Some(access) = watched.access_at[out.pc.index()] else {
            return;
        };
        let grid = watched.predictor.launch().grid().count();
        if out.active == 0 || !is_sampled(block, grid, self.blocks) {
            return;
        }
        let accesses = self.kernels[watched.kernel].1.tallies.len();
        let warps = watched.warps as usize;
        let issued = watched
            .running
            .entry(block)
            .or_insert_with(|| vec![nothing_issued(accesses); warps]);
        for lane in lanes_of(out.active) {
            issued[warp as usize][access as usize][lane].push(out.addrs[lane]);
        }
    }

    fn block_ended(&mut self, launch: &LaunchContext, block: u64) {
        let Some(watched) = &mut self.current else {
            return;
        };
        let check = &mut self.kernels[watched.kernel].1;
        let ctaid = launch.block_at(block);
        for (warp, issued) in watched.running.remove(&block).iter().flatten().enumerate() {
            let mut predicted = nothing_issued(check.tallies.len());
            let outcome = watched.predictor.run(ctaid, warp as u32, |record| {
                for lane in lanes_of(record.lanes) {
                    predicted[record.access][lane].push(record.addresses[lane]);
                }
            });
            // The address binary faults where the kernel would fault, and a kernel that completed
            // did not.
            let stopped = outcome != Ok(Outcome::Complete);
            check.warps += 1;
            check.stopped += u64::from(stopped);
            for (index, (predicted, issued)) in predicted.iter().zip(issued).enumerate() {
                for lane in 0..WARP_SIZE {
                    let access = &check.slices.accesses[index];
                    let tally = compare(access, &predicted[lane], &issued[lane], stopped);
                    if tally.wrong > 0 && check.first_wrong.is_none() {
                        check.first_wrong = Some(format!(
                            "line {}: block {ctaid}, warp {warp}, lane {lane}: predicted {:x?}, issued \
                             {:x?}",
                            access.pos.line, predicted[lane], issued[lane]
                        ));
                    }
                    check.tallies[index].add(&tally);
                }
            }
        }
    }

    fn end(&mut self, _: &LaunchContext) {
        self.current = None;
    }
}

fn nothing_issued(accesses: usize) -> Issued {
    vec![std::array::from_fn(|_| Vec::new()); accesses]
}

/// Compares the predicted with the issued addresses of one thread for one access.
fn compare(access: &Access, predicted: &[u64], issued: &[u64], stopped: bool) -> Tally {
    let Coverage::Regular {
        conditional,
        first_only,
    } = access.coverage
    else {
        return Tally {
            issued: issued.len() as u64,
            ..Tally::default()
        };
    };
    let found = if conditional {
        in_order(issued, predicted)
    } else {
        equal_from_the_start(issued, predicted)
    };
    let missing = (issued.len() - found) as u64;
    let kept = if conditional {
        missing == 0 || first_only || stopped
    } else if first_only {
        predicted.first() == issued.first() || (stopped && predicted.is_empty())
    } else {
        let both = predicted.len().min(issued.len());
        found == both && (stopped || predicted.len() == issued.len())
    };
    Tally {
        issued: issued.len() as u64,
        covered: found as u64,
        approximated: if kept { missing } else { 0 },
        wrong: if kept { 0 } else { missing.max(1) },
    }
}

/// Returns the length of the longest prefix of `issued` that is a subsequence of `said`.
fn in_order(issued: &[u64], predicted: &[u64]) -> usize {
    let mut rest = predicted.iter();
    issued
        .iter()
        .take_while(|address| rest.any(|other| other == *address))
        .count()
}

/// Returns the length of the common prefix of both sequences.
fn equal_from_the_start(issued: &[u64], predicted: &[u64]) -> usize {
    issued
        .iter()
        .zip(predicted)
        .take_while(|(a, b)| a == b)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_evenly_with_both_ends() {
        let sampled = |blocks, most| -> Vec<u64> {
            (0..blocks)
                .filter(|block| is_sampled(*block, blocks, most))
                .collect()
        };
        assert_eq!(sampled(3, 4), [0, 1, 2]);
        assert_eq!(sampled(10, 4), [0, 3, 6, 9]);
        assert_eq!(sampled(100, 5), [0, 24, 49, 74, 99]);
        assert_eq!(sampled(1, 4), [0]);
    }
}
