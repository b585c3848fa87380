//! Slices against truth: an observer of functional runs that compares the addresses which some
//! blocks' threads issue with those that the address binary computed for them.
//!
//! What each kind of coverage promises (see [`Coverage`]): of a regular access all addresses, in
//! order; of one that may not happen each address that happens, in order; of one whose loop cannot
//! be counted the first; of a warp whose loops were cut short (`Outcome::Stopped`) what was
//! computed before. What lies outside of these promises counts as approximated or not covered,
//! what breaks one as wrong.

use crate::access::{Access, Coverage};
use crate::binary::Slices;
use crate::eval::{Outcome, Predictor};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_exec::{LaunchContext, Observer, StepOut};
use warploom_ir::Program;

/// Addresses that threads issued, by what became of their prediction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Issued by the threads that were compared.
    pub issued: u64,
    /// Computed beforehand, and right.
    pub covered: u64,
    /// Of regular accesses, but in iterations that the address binary does not run.
    pub approximated: u64,
    /// Computed beforehand, and not what was issued.
    pub wrong: u64,
}

impl Tally {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.issued += other.issued;
        self.covered += other.covered;
        self.approximated += other.approximated;
        self.wrong += other.wrong;
    }
}

/// What was found of one kernel.
#[derive(Clone, Debug)]
pub struct KernelTruth {
    /// Its name.
    pub name: String,
    /// Its accesses, with their coverage.
    pub slices: Arc<Slices>,
    /// By access.
    pub tallies: Vec<Tally>,
    /// Warps compared, and those whose loops were cut short.
    pub warps: u64,
    /// Of them.
    pub stopped: u64,
    /// The first wrong prediction, in words.
    pub first_wrong: Option<String>,
}

/// Addresses by access and lane, in the order of their issue.
type Issued = Vec<[Vec<u64>; WARP_SIZE]>;

/// Compares the threads of a few blocks of every launch.
#[derive(Debug, Default)]
pub struct Truth {
    /// Blocks of a launch that are compared.
    blocks: u64,
    /// Those kernels whose programs are alike are one.
    kernels: Vec<(Arc<Program>, KernelTruth)>,
    /// The launch that runs.
    current: Option<Watched>,
}

#[derive(Debug)]
struct Watched {
    kernel: usize,
    /// Access at each place of the kernel.
    access_at: Vec<Option<u32>>,
    predictor: Predictor,
    warps: u32,
    /// Blocks that are compared and run, with what each of their warps issued.
    running: BTreeMap<u64, Vec<Issued>>,
}

impl Truth {
    /// Compares up to `blocks` blocks of each launch, spread evenly from the first to the last.
    pub fn new(blocks: u64) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }

    /// What was found, kernel by kernel in the order of their first launch.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelTruth> {
        self.kernels.iter().map(|(_, truth)| truth)
    }

    fn kernel(&mut self, program: &Arc<Program>) -> usize {
        let same = |(known, _): &(Arc<Program>, KernelTruth)| Arc::ptr_eq(known, program);
        self.kernels.iter().position(same).unwrap_or_else(|| {
            let slices = Arc::new(Slices::new(program));
            let truth = KernelTruth {
                name: program.name.clone(),
                tallies: vec![Tally::default(); slices.accesses.len()],
                slices,
                warps: 0,
                stopped: 0,
                first_wrong: None,
            };
            self.kernels.push((Arc::clone(program), truth));
            self.kernels.len() - 1
        })
    }
}

/// Whether a block is one of `most` that lie evenly between the first and the last.
fn is_sampled(block: u64, blocks: u64, most: u64) -> bool {
    if blocks <= most || block + 1 == blocks {
        return true;
    }
    // The sample i lies at i (blocks - 1) / (most - 1), rounded down.
    let last = blocks - 1;
    let i = (block * (most - 1)).div_ceil(last.max(1));
    i * last / (most - 1).max(1) == block
}

impl Observer for Truth {
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
        let truth = &mut self.kernels[watched.kernel].1;
        let ctaid = launch.grid().point(block);
        for (warp, issued) in watched.running.remove(&block).iter().flatten().enumerate() {
            let mut said = nothing_issued(truth.tallies.len());
            let outcome = watched.predictor.run(ctaid, warp as u32, |record| {
                for lane in lanes_of(record.lanes) {
                    said[record.access][lane].push(record.addresses[lane]);
                }
            });
            // The binary faults where the kernel would; a kernel that ended did not.
            let stopped = outcome != Ok(Outcome::Complete);
            truth.warps += 1;
            truth.stopped += u64::from(stopped);
            for (index, (said, issued)) in said.iter().zip(issued).enumerate() {
                for lane in 0..WARP_SIZE {
                    let access = &truth.slices.accesses[index];
                    let tally = compare(access, &said[lane], &issued[lane], stopped);
                    if tally.wrong > 0 && truth.first_wrong.is_none() {
                        truth.first_wrong = Some(format!(
                            "line {}: block {ctaid}, warp {warp}, lane {lane}: said {:x?}, issued \
                             {:x?}",
                            access.pos.line, said[lane], issued[lane]
                        ));
                    }
                    truth.tallies[index].add(&tally);
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

/// One thread's addresses of one access.
fn compare(access: &Access, said: &[u64], issued: &[u64], stopped: bool) -> Tally {
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
    let found = match conditional {
        true => in_order(issued, said),
        false => equal_from_the_start(issued, said),
    };
    let missing = (issued.len() - found) as u64;
    let kept = if conditional {
        missing == 0 || first_only || stopped
    } else if first_only {
        said.first() == issued.first() || (stopped && said.is_empty())
    } else {
        let both = said.len().min(issued.len());
        found == both && (stopped || said.len() == issued.len())
    };
    Tally {
        issued: issued.len() as u64,
        covered: found as u64,
        approximated: if kept { missing } else { 0 },
        wrong: if kept { 0 } else { missing.max(1) },
    }
}

/// Addresses of `issued` that `said` has in the same order.
fn in_order(issued: &[u64], said: &[u64]) -> usize {
    let mut rest = said.iter();
    issued
        .iter()
        .take_while(|address| rest.any(|other| other == *address))
        .count()
}

fn equal_from_the_start(issued: &[u64], said: &[u64]) -> usize {
    issued.iter().zip(said).take_while(|(a, b)| a == b).count()
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
