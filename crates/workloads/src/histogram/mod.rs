//! `histogram`: frequencies of byte values.

use warploom_base::{Dim3, Rng};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostError, HostProgram, Launch, ModuleId, Output,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "histogram",
    suite: Suite::CudaSdk,
    sentence: "Histograms of bytes: private counters in shared memory, then a merge.",
    source: "CUDA SDK, sample histogram; HIS in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: "histogram64",
            sentence: "Counts 64 bins in byte counters of each thread.",
            entries: &["histogram64"],
            alone: true,
        },
        KernelInfo {
            name: "merge_histogram64",
            sentence: "Adds the blocks' counts of one of 64 bins a block.",
            entries: &["merge_histogram64"],
            alone: false,
        },
        KernelInfo {
            name: "histogram256",
            sentence: "Counts 256 bins in counters of each warp, by atomics on shared memory.",
            entries: &["histogram256"],
            alone: true,
        },
        KernelInfo {
            name: "merge_histogram256",
            sentence: "Adds the blocks' counts of one of 256 bins a block.",
            entries: &["merge_histogram256"],
            alone: false,
        },
    ],
    variants: &[
        Variant {
            name: "uniform",
            sentence: "Uniform bytes, as in the sample; at size paper its 64 MiB.",
            launches: |request| shapes(request, 1),
            program: |request| program(request, 1, uniform),
        },
        Variant {
            name: "image",
            sentence: "Bytes that vary little from one to the next: lanes collide in few bins.",
            launches: |request| shapes(request, 1),
            program: |request| program(request, 1, image),
        },
        Variant {
            name: "twice",
            sentence: "Uniform bytes, everything twice: at size paper Chen's 8 launches, 9,860 blocks.",
            launches: |request| shapes(request, twice(request.size)),
            program: |request| program(request, twice(request.size), uniform),
        },
    ],
};

/// A histogram of the two.
struct Stage {
    bins: u32,
    /// Number of low bits of a byte that do not select its bin.
    shift: u32,
    count: &'static str,
    merge: &'static str,
    threads: u32,
    /// Number of bytes that a thread loads at once.
    vector: u32,
    /// Number of partial histograms, one per block.
    partials: fn(Size) -> u32,
}

const STAGE_64: Stage = Stage {
    bins: 64,
    shift: 2,
    count: "histogram64",
    merge: "merge_histogram64",
    threads: 64,
    vector: 16,
    // Enough blocks that no byte counter overflows.
    partials: |size| (byte_count(size) / 16).div_ceil(64 * VECTORS_PER_THREAD),
};

const STAGE_256: Stage = Stage {
    bins: 256,
    shift: 0,
    count: "histogram256",
    merge: "merge_histogram256",
    threads: 192,
    vector: 4,
    // The sample's number, but fewer for a test.
    partials: |size| size.pick(16, 240, 240),
};

const MERGE_THREADS: u32 = 256;
/// Number of vectors of 16 bytes that a thread may count into byte counters.
const VECTORS_PER_THREAD: u32 = u8::MAX as u32 / 16;

fn byte_count(size: Size) -> u32 {
    size.pick(64 << 10, 4 << 20, 64 << 20)
}

impl Stage {
    fn count_shape(&self, size: Size) -> LaunchShape {
        let grid = Dim3::linear((self.partials)(size));
        LaunchShape::once(self.count, grid, Dim3::linear(self.threads))
    }

    fn merge_shape(&self) -> LaunchShape {
        LaunchShape::once(
            self.merge,
            Dim3::linear(self.bins),
            Dim3::linear(MERGE_THREADS),
        )
    }

    /// Launches of a request: counting and merging, or counting alone.
    fn shapes(&self, request: &Request) -> Vec<LaunchShape> {
        let mut shapes = Vec::new();
        if request.wants(self.count) {
            shapes.push(self.count_shape(request.size));
        }
        if request.only.is_none() {
            shapes.push(self.merge_shape());
        }
        shapes
    }
}

/// Number of repetitions: two, but one at size test, whose budget of instructions merging exhausts.
fn twice(size: Size) -> u32 {
    size.pick(1, 2, 2)
}

fn shapes(request: &Request, times: u32) -> Vec<LaunchShape> {
    let stages = [STAGE_64, STAGE_256];
    let once = stages.iter().flat_map(|stage| stage.shapes(request));
    once.map(|shape| LaunchShape {
        times: Times::Fixed(times),
        ..shape
    })
    .collect()
}

fn program(
    request: &Request,
    times: u32,
    generate: fn(u32, u64) -> Vec<u8>,
) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| {
        let data = generate(byte_count(request.size), request.seed);
        plan(device, &request, times, data)
    })
}

fn plan(
    device: &mut Device,
    request: &Request,
    times: u32,
    data: Vec<u8>,
) -> Result<Plan, HostError> {
    let module = load(device, &WORKLOAD)?;
    let input = device.alloc(data.len() as u64)?;
    device.write(input, &data)?;
    let (mut launches, mut outputs) = (Vec::new(), Vec::new());
    for stage in [STAGE_64, STAGE_256] {
        if request.wants(stage.count) {
            let output = Counted::new(device, stage, request.size)?;
            for _ in 0..times {
                launches.extend(output.launches(module, input, request));
            }
            outputs.push(output);
        }
    }
    let merged = request.only.is_none();
    Ok(Plan::new(launches, move |device| {
        verify(device, &outputs, &data, merged)
    }))
}

/// A stage with its buffers on the device.
struct Counted {
    stage: Stage,
    partials: u32,
    partial: DevicePtr,
    histogram: DevicePtr,
}

impl Counted {
    fn new(device: &mut Device, stage: Stage, size: Size) -> Result<Self, HostError> {
        let partials = (stage.partials)(size);
        let partial = alloc_output::<u32>(device, (partials * stage.bins) as usize)?;
        let histogram = alloc_output::<u32>(device, stage.bins as usize)?;
        Ok(Self {
            stage,
            partials,
            partial,
            histogram,
        })
    }

    fn launches(&self, module: ModuleId, input: DevicePtr, request: &Request) -> Vec<Launch> {
        let vectors = byte_count(request.size) / self.stage.vector;
        let count = [
            Arg::Pointer(self.partial),
            Arg::Pointer(input),
            Arg::U32(vectors),
        ];
        let histogram = Arg::Pointer(self.histogram);
        let merge = [
            histogram,
            Arg::Pointer(self.partial),
            Arg::U32(self.partials),
        ];
        let shapes = self.stage.shapes(request).into_iter();
        let args = [count, merge].into_iter();
        shapes
            .zip(args)
            .map(|(shape, args)| shape.launch(module, args.to_vec()))
            .collect()
    }

    /// The sum of the blocks' partial histograms.
    fn partial_sums(&self, device: &Device) -> Result<Output<u32>, HostError> {
        let bins = self.stage.bins as usize;
        let partial = device.output(self.partial, self.partials as usize * bins)?;
        Ok(partial.combine(|partial: Vec<u32>| {
            let mut sums = vec![0; bins];
            for block in partial.chunks_exact(bins) {
                sums.iter_mut()
                    .zip(block)
                    .for_each(|(sum, count)| *sum += count);
            }
            sums
        }))
    }
}

fn verify(
    device: &Device,
    outputs: &[Counted],
    data: &[u8],
    merged: bool,
) -> Result<Vec<Check>, HostError> {
    let mut checks = Vec::new();
    for output in outputs {
        let (stage, expected) = (&output.stage, reference(data, &output.stage));
        checks.push(equal(stage.count, &output.partial_sums(device)?, &expected));
        if merged {
            let histogram = device.output::<u32>(output.histogram, stage.bins as usize)?;
            checks.push(equal(stage.merge, &histogram, &expected));
        }
    }
    Ok(checks)
}

fn uniform(count: u32, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..count / 8)
        .flat_map(|_| rng.next_u64().to_le_bytes())
        .collect()
}

/// A random walk of small steps between black and white, as along the rows of a photograph.
fn image(count: u32, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut level = 128;
    let mut pixel = || {
        level = (level + rng.below(7) as i32 - 3).clamp(0, 255);
        level as u8
    };
    (0..count).map(|_| pixel()).collect()
}

fn reference(data: &[u8], stage: &Stage) -> Vec<u32> {
    let mut histogram = vec![0; stage.bins as usize];
    data.iter()
        .for_each(|&byte| histogram[usize::from(byte >> stage.shift)] += 1);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Request = Request {
        size: Size::Paper,
        seed: 0,
        only: None,
    };

    #[test]
    fn counts_equal_positions_in_the_sorted_data() {
        for data in [uniform(4096, 1), image(4096, 1)] {
            let mut sorted = data.clone();
            sorted.sort_unstable();
            let below = |byte: u32| sorted.partition_point(|&b| u32::from(b) < byte) as u32;
            let expected: Vec<_> = (0..256).map(|bin| below(bin + 1) - below(bin)).collect();
            assert_eq!(reference(&data, &STAGE_256), expected);
            let expected: Vec<_> = (0..64)
                .map(|bin| below(4 * bin + 4) - below(4 * bin))
                .collect();
            assert_eq!(reference(&data, &STAGE_64), expected);
        }
    }

    #[test]
    fn images_vary_little_from_byte_to_byte() {
        let steps = |data: &[u8]| {
            let near = |pair: &&[u8]| pair[0].abs_diff(pair[1]) <= 3;
            data.windows(2).filter(near).count()
        };
        assert_eq!(steps(&image(10_000, 2)), 9_999);
        assert!(steps(&uniform(10_000, 2)) < 500);
    }

    #[test]
    fn byte_counters_cannot_overflow() {
        for size in Size::ALL {
            let threads = (STAGE_64.partials)(size) * STAGE_64.threads;
            let vectors = (byte_count(size) / 16).div_ceil(threads);
            assert!(vectors * 16 <= 255, "{size}: {vectors}");
        }
    }

    #[test]
    fn the_paper_makes_8_launches_of_9860_blocks() {
        let shapes = shapes(&PAPER, twice(PAPER.size));
        let blocks: u64 = shapes.iter().map(|shape| 2 * shape.grid.count()).sum();
        assert_eq!((2 * shapes.len(), blocks), (8, 9_860));
    }

    #[test]
    fn counting_can_run_alone() {
        let request = Request {
            only: Some("histogram256"),
            ..PAPER
        };
        let entries: Vec<_> = shapes(&request, 1)
            .iter()
            .map(|shape| shape.entry)
            .collect();
        assert_eq!(entries, ["histogram256"]);
    }
}
