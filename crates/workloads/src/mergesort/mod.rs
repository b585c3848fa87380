//! The workload `mergesort`: sorts keys with values by merging segments of doubling length.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram, Launch, ModuleId};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "mergesort",
    suite: Suite::CudaSdk,
    sentence: "Merge sort of keys with values: tiles in shared memory, then four launches a stage.",
    source: "CUDA SDK, sample mergeSort; MergeSort in Do et al. 2017",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: TILES,
            sentence: "Sorts tiles of 1,024 keys in shared memory.",
            entries: &[TILES],
            alone: true,
        },
        KernelInfo {
            name: RANK,
            sentence: "Ranks every 128th key of a segment in its partner.",
            entries: &[RANK],
            alone: false,
        },
        KernelInfo {
            name: LIMITS,
            sentence: "Merges the ranks into the limits of intervals.",
            entries: &[LIMITS],
            alone: false,
        },
        KernelInfo {
            name: MERGE,
            sentence: "Merges one pair of intervals a block.",
            entries: &[MERGE],
            alone: false,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "16-bit keys; at size paper the sample's 4,194,304 in 49 launches.",
        launches: shapes,
        program,
    }],
};

const TILES: &str = "sort_tiles";
const RANK: &str = "rank_samples";
const LIMITS: &str = "merge_ranks";
const MERGE: &str = "merge_intervals";
/// Keys of a tile.
const TILE: u32 = 1024;
/// Distance between two samples in keys, and threads of a merging block.
const SAMPLE: u32 = 128;
/// Threads per block of the ranking kernels.
const RANKING_BLOCK: u32 = 256;
/// Exclusive upper bound of the keys.
const KEYS: u32 = 1 << 16;

/// Number of keys to sort, a power of two.
fn count(size: Size) -> u32 {
    size.pick(4096, 65_536, 4 << 20)
}

/// Lengths of the segments that a stage merges pairwise.
fn strides(count: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(TILE), |stride| Some(2 * stride))
        .take_while(move |&stride| stride < count)
}

/// Threads of the ranking kernels: one per pair of samples.
fn ranking_threads(count: u32) -> u32 {
    count / (2 * SAMPLE)
}

fn shape(entry: &'static str, count: u32) -> LaunchShape {
    let ranking = ranking_threads(count).div_ceil(RANKING_BLOCK);
    let stages = strides(count).count() as u32;
    let (blocks, threads, times) = match entry {
        TILES => (count / TILE, TILE / 2, 1),
        RANK => (ranking, RANKING_BLOCK, stages),
        LIMITS => (ranking, RANKING_BLOCK, 2 * stages),
        _ => (count / SAMPLE, SAMPLE, stages),
    };
    LaunchShape {
        times: Times::Fixed(times),
        ..LaunchShape::once(entry, Dim3::linear(blocks), Dim3::linear(threads))
    }
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let wanted = [TILES, RANK, LIMITS, MERGE]
        .into_iter()
        .filter(|entry| request.wants(entry));
    wanted
        .map(|entry| shape(entry, count(request.size)))
        .collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// Keys and their values on the device.
#[derive(Clone, Copy)]
struct Pairs {
    keys: DevicePtr,
    values: DevicePtr,
}

impl Pairs {
    fn alloc(device: &mut Device, count: u32) -> Result<Self, HostError> {
        Ok(Self {
            keys: alloc_output::<u32>(device, count as usize)?,
            values: alloc_output::<u32>(device, count as usize)?,
        })
    }

    fn args(self) -> [Arg; 2] {
        [Arg::Pointer(self.keys), Arg::Pointer(self.values)]
    }
}

/// Scratch memory of the stages, for both segments of a pair.
struct Scratch {
    ranks: [DevicePtr; 2],
    limits: [DevicePtr; 2],
}

fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let count = count(request.size);
    let keys = input(count, request.seed);
    let values: Vec<u32> = (0..count).collect();
    let module = load(device, &WORKLOAD)?;
    let source = Pairs {
        keys: device.alloc_slice(&keys)?,
        values: device.alloc_slice(&values)?,
    };
    let buffers = [Pairs::alloc(device, count)?, Pairs::alloc(device, count)?];
    let mut rank_list = || alloc_output::<u32>(device, (count / SAMPLE) as usize);
    let scratch = Scratch {
        ranks: [rank_list()?, rank_list()?],
        limits: [rank_list()?, rank_list()?],
    };
    let args = [buffers[0].args(), source.args()].concat();
    let mut launches = vec![shape(TILES, count).launch(module, args)];
    if request.only.is_none() {
        for (number, stride) in strides(count).enumerate() {
            let [from, to] = [number, number + 1].map(|at| buffers[at % 2]);
            launches.extend(stage(module, count, stride, [to, from], &scratch));
        }
    }
    let all = launches.len() as u32;
    Ok(Plan::new(launches, move |device| {
        // The first launch sorts tiles; then each stage has several launches, of which the last
        // writes keys.
        let stages = (device.launches_of(all) - 1) as usize / STAGE_LAUNCHES;
        let (sorted, segment) = (buffers[stages % 2], TILE << stages);
        let order = reference(&keys, segment as usize);
        let sorted_keys: Vec<_> = order.iter().map(|&i| keys[i as usize]).collect();
        let count = keys.len();
        Ok(vec![
            equal(
                "keys",
                &device.last_output(sorted.keys, count)?,
                &sorted_keys,
            ),
            equal("values", &device.last_output(sorted.values, count)?, &order),
        ])
    }))
}

/// Launches of a stage.
const STAGE_LAUNCHES: usize = 4;

/// Launches that merge pairs of segments of `stride` keys.
fn stage(
    module: ModuleId,
    count: u32,
    stride: u32,
    [to, from]: [Pairs; 2],
    scratch: &Scratch,
) -> [Launch; STAGE_LAUNCHES] {
    let launch = |entry, args| shape(entry, count).launch(module, args);
    let [stride, threads] = [stride, ranking_threads(count)].map(Arg::U32);
    let [ranks_a, ranks_b] = scratch.ranks.map(Arg::Pointer);
    let [limits_a, limits_b] = scratch.limits.map(Arg::Pointer);
    let list = |args: &[&Arg]| args.iter().map(|arg| (*arg).clone()).collect();
    let merge_ranks = |limits, ranks| launch(LIMITS, list(&[limits, ranks, &stride, &threads]));
    let [to_keys, to_values] = to.args();
    let [keys, values] = from.args();
    let merge = [
        &to_keys, &to_values, &keys, &values, &limits_a, &limits_b, &stride,
    ];
    [
        launch(RANK, list(&[&ranks_a, &ranks_b, &keys, &stride, &threads])),
        merge_ranks(&limits_a, &ranks_a),
        merge_ranks(&limits_b, &ranks_b),
        launch(MERGE, list(&merge)),
    ]
}

fn input(count: u32, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.below(KEYS)).collect()
}

/// Original index of each key of the result, if segments of `segment` keys are sorted separately
/// and equal keys keep their order.
fn reference(keys: &[u32], segment: usize) -> Vec<u32> {
    let mut order: Vec<_> = (0..keys.len() as u32).collect();
    for part in order.chunks_mut(segment) {
        part.sort_by_key(|&i| keys[i as usize]);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_makes_49_launches_of_8156_blocks_on_average() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let (mut launches, mut blocks) = (0, 0);
        for shape in shapes(&request) {
            let Times::Fixed(times) = shape.times else {
                panic!("the number of stages is known");
            };
            launches += u64::from(times);
            blocks += u64::from(times) * shape.grid.count();
        }
        assert_eq!((launches, blocks), (49, 399_616));
        assert_eq!(blocks.div_ceil(launches), 8156);
    }

    #[test]
    fn keys_repeat_and_keep_their_order() {
        let keys = input(1 << 18, 3);
        let order = reference(&keys, keys.len());
        let pairs = || order.windows(2).map(|w| (w[0], w[1]));
        let key = |i: u32| keys[i as usize];
        assert!(pairs().all(|(a, b)| (key(a), a) < (key(b), b)));
        assert!(pairs().any(|(a, b)| key(a) == key(b)));
        assert_ne!(order, reference(&keys, TILE as usize));
    }
}
