//! `hybridsort`: a bucket sort, then merge sorts.

mod host;

use warploom_base::{Dim3, Rng};
use warploom_run::{Check, Device, HostAction, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use host::{Run, Stage};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "hybridsort",
    suite: Suite::Rodinia,
    sentence: "Sorting: a histogram in shared memory, buckets of even size, merges in each.",
    source: "Rodinia, hybridsort; HG in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: HISTOGRAM,
            sentence: "Counts into 1,024 bins, a copy for each of a block's warps.",
            entries: &["histogram1024"],
            alone: true,
        },
        KernelInfo {
            name: "bucketcount",
            sentence: "Finds each number's bucket and counts it there.",
            entries: &["bucketcount"],
            alone: false,
        },
        KernelInfo {
            name: "bucketprefixoffset",
            sentence: "Sums the blocks' counts up.",
            entries: &["bucketprefixoffset"],
            alone: false,
        },
        KernelInfo {
            name: "bucketsort",
            sentence: "Moves the numbers into their buckets.",
            entries: &["bucketsort"],
            alone: false,
        },
        KernelInfo {
            name: "mergeSortFirst",
            sentence: "Sorts vectors of four.",
            entries: &["mergeSortFirst"],
            alone: false,
        },
        KernelInfo {
            name: "mergeSortPass",
            sentence: "Merges pairs of runs, one pair a thread.",
            entries: &["mergeSortPass"],
            alone: false,
        },
        KernelInfo {
            name: "mergepack",
            sentence: "Closes the gaps between buckets.",
            entries: &["mergepack"],
            alone: false,
        },
    ],
    variants: &[
        Variant {
            name: "default",
            sentence: "At size paper 4,194,304 numbers; 64 blocks for the histogram.",
            launches: |request| SORT_64.shapes(request),
            program: |request| SORT_64.program(request),
        },
        Variant {
            name: "blocks512",
            sentence: "The same with 512 blocks for the histogram, to fill GPUDuet's machine.",
            launches: |request| SORT_512.shapes(request),
            program: |request| SORT_512.program(request),
        },
    ],
};

const HISTOGRAM: &str = "histogram";
const BUCKETS: u32 = 1024;
/// Threads of a block that counts, and number of elements per thread.
const BUCKET_BLOCK: u32 = 32;
const BAND: u32 = 128;

/// Number of elements to sort.
fn count(size: Size) -> u32 {
    size.pick(4_000, 60_000, 1 << 22)
}

#[derive(Clone, Copy)]
struct Sort {
    /// Number of blocks of the histogram at size paper.
    blocks: u32,
}

const SORT_64: Sort = Sort { blocks: 64 };
const SORT_512: Sort = Sort { blocks: 512 };

/// Launches for a given number of elements.
#[derive(Clone, Copy)]
struct Shapes {
    count: u32,
    histogram_blocks: u32,
}

impl Shapes {
    fn histogram(self) -> LaunchShape {
        let block = Dim3::linear(3 * 32);
        LaunchShape::once("histogram1024", Dim3::linear(self.histogram_blocks), block)
    }

    fn bucket_blocks(self) -> u32 {
        self.count.div_ceil(BUCKET_BLOCK * BAND)
    }

    fn buckets(self, entry: &'static str) -> LaunchShape {
        let grid = Dim3::linear(self.bucket_blocks());
        LaunchShape::once(entry, grid, Dim3::linear(BUCKET_BLOCK))
    }

    fn prefix(self) -> LaunchShape {
        let (grid, block) = (Dim3::linear(BUCKETS / 128), Dim3::linear(128));
        LaunchShape::once("bucketprefixoffset", grid, block)
    }

    /// Number of vectors of four, if every bucket's last vector were nearly empty.
    fn most_vectors(self) -> u32 {
        self.count.div_ceil(4) + BUCKETS
    }

    fn first(self) -> LaunchShape {
        let grid = Dim3::linear(self.most_vectors().div_ceil(256));
        LaunchShape::once("mergeSortFirst", grid, Dim3::linear(256))
    }

    /// A pass with this many threads for each bucket.
    fn pass(self, threads_per_bucket: u32) -> LaunchShape {
        let threads = threads_per_bucket * BUCKETS;
        let grid = threads.div_ceil(208);
        // The grid has at least eight blocks.
        let (grid, block) = match grid {
            0..8 => (8, threads.div_ceil(8)),
            _ => (grid, 208),
        };
        LaunchShape {
            times: Times::UntilDone,
            ..LaunchShape::once("mergeSortPass", Dim3::linear(grid), Dim3::linear(block))
        }
    }

    /// Launch of the last kernel for buckets of at most `largest` numbers.
    fn pack(self, largest: u32) -> LaunchShape {
        let grid = Dim3::new(largest.div_ceil(256), BUCKETS, 1);
        LaunchShape::once("mergepack", grid, Dim3::linear(256))
    }

    /// Number of elements of an average bucket; the largest has at least this number.
    fn least_largest(self) -> u32 {
        self.count.div_ceil(BUCKETS).next_multiple_of(4)
    }
}

/// Threads that a bucket of `largest` numbers needs in a pass that makes runs of `run` vectors.
fn threads_per_bucket(largest: u32, run: u32) -> u32 {
    largest.div_ceil(4 * run)
}

impl Sort {
    fn at(self, size: Size) -> Shapes {
        Shapes {
            count: count(size),
            histogram_blocks: size.pick(4, 32, self.blocks),
        }
    }

    /// Passes and the last launch for buckets of equal size; buckets of different sizes need more.
    fn shapes(self, request: &Request) -> Vec<LaunchShape> {
        let shapes = self.at(request.size);
        let mut launches = vec![shapes.histogram()];
        if request.only.is_none() {
            let largest = shapes.least_largest();
            launches.extend([
                shapes.buckets("bucketcount"),
                shapes.prefix(),
                shapes.buckets("bucketsort"),
                shapes.first(),
                shapes.pass(threads_per_bucket(largest, 2)),
                shapes.pack(largest),
            ]);
        }
        launches
    }

    fn program(self, request: &Request) -> Box<dyn HostProgram> {
        Box::new(Program {
            shapes: self.at(request.size),
            seed: request.seed,
            whole: request.only.is_none(),
            stage: Stage::Histogram,
            run: None,
        })
    }
}

struct Program {
    shapes: Shapes,
    seed: u64,
    /// True to run the whole sort, false to run only the histogram.
    whole: bool,
    stage: Stage,
    run: Option<Run>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => Run::new(device, self.shapes, numbers(self.shapes.count, self.seed))?,
        };
        let run = self.run.insert(run);
        if !self.whole && !matches!(self.stage, Stage::Histogram) {
            return Ok(HostAction::Done);
        }
        let Some((launch, stage)) = run.launch(device, self.stage)? else {
            return Ok(HostAction::Done);
        };
        self.stage = stage;
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let Some(run) = &self.run else {
            return Ok(Vec::new());
        };
        let histogram = run.counted(device)?;
        let mut checks = vec![equal("histogram", &histogram, &run.expected_histogram())];
        if self.whole {
            let mut expected = run.numbers.clone();
            expected.sort_by(f32::total_cmp);
            checks.push(equal("sorted", &run.sorted(device)?, &expected));
        }
        Ok(checks)
    }
}

/// Uniform numbers from 0 to 1, as the benchmark draws them.
fn numbers(count: u32, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.unit_f32()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_shapes_are_met() {
        let shapes = SORT_64.at(Size::Paper);
        assert_eq!(shapes.histogram().grid, Dim3::linear(64));
        assert_eq!(shapes.buckets("bucketcount").grid, Dim3::linear(1024));
        assert_eq!(shapes.pack(4096).grid, Dim3::new(16, 1024, 1));
    }

    #[test]
    fn a_small_pass_has_eight_blocks() {
        let pass = SORT_64.at(Size::Test).pass(1);
        assert_eq!((pass.grid.x, pass.block.x), (8, 128));
        assert_eq!(SORT_64.at(Size::Test).pass(3).grid, Dim3::linear(15));
    }
}
