//! The comparison of the addresses that a kernel issues with those that its address binary
//! computes.

use crate::{Access, Coverage, Predictor, Slices};
use std::sync::Arc;
use warploom_base::{Dim3, Rng, lanes_of};
use warploom_diag::Source;
use warploom_exec::{
    BlockState, DeviceMemory, Env, LaunchContext, LaunchSpec, MemPort, StepOut, WarpState,
    WriteLog, step,
};
use warploom_ir::Program;
use warploom_lower::lower;

/// The number of words of the input array, all of which are small.
pub const WORDS: usize = 1024;

/// Returns the first kernel of a PTX text.
pub fn kernel(ptx: &str) -> Program {
    let source = Source::new("test.ptx", ptx);
    let (module, diagnostics) = warploom_ptx::parse(&source);
    assert!(!diagnostics.has_errors(), "{ptx}\n{diagnostics:?}");
    let mut module = lower(&module, &source).expect("the module lowers");
    assert!(module.refused.is_empty(), "{:?}", module.refused);
    module.kernels.remove(0)
}

/// A launch whose parameters are a pointer to an input array of small pseudo-random numbers, a
/// pointer to an output array of 1 MiB, and `numbers` as 32-bit values.
pub struct Bench {
    pub launch: LaunchContext,
    pub memory: DeviceMemory,
}

impl Bench {
    pub fn new(program: &Program, grid: Dim3, block: Dim3, numbers: &[u32], seed: u64) -> Self {
        let mut memory = DeviceMemory::new(1 << 24);
        let input = memory.alloc(0, 4 * WORDS as u64).expect("room");
        let output = memory.alloc(0, 1 << 20).expect("room");
        let mut rng = Rng::new(seed);
        let words = (0..WORDS).flat_map(|_| (rng.next_u64() as u32 % 7).to_le_bytes());
        let words: Vec<u8> = words.collect();
        memory.write(0, input, &words).expect("inside");
        let mut params = Vec::new();
        params.extend(input.to_le_bytes());
        params.extend(output.to_le_bytes());
        params.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        let spec = LaunchSpec {
            grid,
            block,
            params,
            max_shared_bytes: 48 << 10,
            barriers: 16,
            ..LaunchSpec::default()
        };
        let launch = LaunchContext::new(Arc::new(program.clone()), spec).expect("it launches");
        Self { launch, memory }
    }

    /// Returns the addresses that every thread of a warp issues, by access and lane, in order.
    fn real(&mut self, slices: &Slices, ctaid: Dim3, warp: u32) -> Vec<[Vec<u64>; 32]> {
        let mut found = empty(slices);
        let (mut block, mut state) = (BlockState::new(), WarpState::new());
        block.reset(&self.launch, ctaid);
        state.reset(&self.launch, &block, warp);
        let (mut log, mut out) = (WriteLog::new(), StepOut::default());
        while let Some(pc) = state.pc() {
            let mut port = MemPort {
                image: &self.memory,
                log: &mut log,
                now: 0,
            };
            let env = Env::default();
            step(
                &self.launch,
                &mut block,
                &mut state,
                &mut port,
                &env,
                &mut out,
            )
            .expect("test kernels do not fault");
            if let Some(access) = slices.accesses.iter().position(|a| a.pc == pc) {
                for lane in lanes_of(out.active) {
                    found[access][lane].push(out.addrs[lane]);
                }
            }
        }
        log.commit(&mut self.memory);
        found
    }
}

fn empty(slices: &Slices) -> Vec<[Vec<u64>; 32]> {
    vec![std::array::from_fn(|_| Vec::new()); slices.accesses.len()]
}

/// Compares every warp of a launch and returns the numbers of predicted and of issued addresses.
pub fn compare(program: &Program, bench: &mut Bench) -> (usize, usize) {
    let slices = Arc::new(Slices::new(program));
    let mut predictor = Predictor::new(slices.clone(), &bench.launch);
    let (mut covered, mut issued) = (0, 0);
    let grid = bench.launch.grid();
    for block in 0..grid.count() {
        let ctaid = grid.point(block);
        for warp in 0..bench.launch.warps_per_block() {
            let mut predicted = empty(&slices);
            let outcome = predictor.run(ctaid, warp, |record| {
                for lane in lanes_of(record.lanes) {
                    predicted[record.access][lane].push(record.addresses[lane]);
                }
            });
            assert!(outcome.is_ok(), "{outcome:?}");
            let real = bench.real(&slices, ctaid, warp);
            for (index, access) in slices.accesses.iter().enumerate() {
                for lane in 0..32 {
                    let (predicted, real) = (&predicted[index][lane], &real[index][lane]);
                    assert!(
                        agrees(access, predicted, real),
                        "{access:?} block {ctaid} warp {warp} lane {lane}\n\
                         predicted {predicted:x?}\nreal {real:x?}\n{program}\n{}",
                        slices.program
                    );
                    covered += usize::from(access.is_regular()) * real.len();
                    issued += real.len();
                }
            }
        }
    }
    (covered, issued)
}

/// Returns whether the addresses satisfy the guarantee of the access's coverage.
fn agrees(access: &Access, predicted: &[u64], real: &[u64]) -> bool {
    match access.coverage {
        Coverage::Irregular | Coverage::InFunction => predicted.is_empty(),
        Coverage::Regular {
            first_only: true,
            conditional,
        } => conditional || predicted.first() == real.first(),
        Coverage::Regular {
            conditional: true, ..
        } => is_subsequence(real, predicted),
        Coverage::Regular { .. } => predicted == real,
    }
}

fn is_subsequence(part: &[u64], whole: &[u64]) -> bool {
    let mut rest = whole.iter();
    part.iter()
        .all(|address| rest.any(|other| other == address))
}
