//! `convolutionseparable`: a convolution by rows, then by columns.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::picture;
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "convolutionseparable",
    suite: Suite::CudaSdk,
    sentence: "A separable convolution of radius 8: rows, then columns, tiles in shared memory.",
    source: "CUDA SDK, sample convolutionSeparable; CONV in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: ROWS,
            sentence: "Convolves rows, 128 x 4 pixels a block.",
            entries: &[ROWS],
            alone: true,
        },
        KernelInfo {
            name: COLUMNS,
            sentence: "Convolves columns, 16 x 64 pixels a block.",
            entries: &[COLUMNS],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "megapixel",
        sentence: "A picture; at size paper 1,024 x 1,024 pixels 17 times: 34 launches, 52,224 blocks.",
        launches: shapes,
        program,
    }],
};

const ROWS: &str = "convolution_rows";
const COLUMNS: &str = "convolution_columns";
const RADIUS: usize = 8;
const TAPS: usize = 2 * RADIUS + 1;

/// Width (a multiple of 128), height (a multiple of 64), and number of runs of both kernels.
fn run(size: Size) -> (u32, u32, u32) {
    size.pick((128, 64, 1), (512, 256, 2), (1024, 1024, 17))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (width, height, times) = run(request.size);
    let shape = |entry, (x, y): (u32, u32), block| LaunchShape {
        times: Times::Fixed(times),
        ..LaunchShape::once(entry, Dim3::new(width / x, height / y, 1), block)
    };
    let both = [
        shape(ROWS, (128, 4), Dim3::new(16, 4, 1)),
        shape(COLUMNS, (16, 64), Dim3::new(16, 8, 1)),
    ];
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// If only columns are requested, the unchanged picture is convolved.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let request = *request;
    let (width, height, times) = run(request.size);
    let image = picture::plane(width as usize, height as usize, request.seed, 0);
    let weights = weights(request.seed);
    let module = load(device, &WORKLOAD)?;
    let constants = device.variable(module, "weights")?;
    device.write_slice(constants, &weights)?;
    let input = device.alloc_slice(&image)?;
    let [between, output] = [
        alloc_output::<f32>(device, image.len())?,
        alloc_output::<f32>(device, image.len())?,
    ];
    let rows = request.wants(ROWS);
    let mut launches = Vec::new();
    for _ in 0..times {
        for shape in shapes(&request) {
            let pointers = match (shape.entry, rows) {
                (ROWS, _) => [between, input],
                (_, true) => [output, between],
                (_, false) => [output, input],
            };
            let mut args = pointers.map(Arg::Pointer).to_vec();
            args.extend([width, height, width].map(Arg::U32));
            launches.push(shape.launch(module, args));
        }
    }
    Ok(Plan::new(launches, move |device| {
        let (count, width) = (image.len(), width as usize);
        let mut checks = Vec::new();
        let mut expected = image.clone();
        if rows {
            expected = convolved(&expected, &weights, |i| (i % width, width), 1);
            checks.push(equal("rows", &device.output(between, count)?, &expected));
        }
        if request.wants(COLUMNS) {
            let height = count / width;
            expected = convolved(&expected, &weights, |i| (i / width, height), width);
            checks.push(equal("columns", &device.output(output, count)?, &expected));
        }
        Ok(checks)
    }))
}

/// Small integers, as in the sample.
fn weights(seed: u64) -> [f32; TAPS] {
    let mut rng = Rng::new(!seed);
    [0; TAPS].map(|_| rng.below(16) as f32)
}

/// A convolution along an axis. `place` gives a pixel's coordinate along it and the extent, and
/// `step` is the distance to the next pixel. Values beyond the border are zero.
fn convolved(
    image: &[f32],
    weights: &[f32; TAPS],
    place: impl Fn(usize) -> (usize, usize),
    step: usize,
) -> Vec<f32> {
    let pixel = |i: usize| {
        let (at, extent) = place(i);
        (0..TAPS).fold(0.0f32, |sum, tap| {
            let inside = (RADIUS..extent + RADIUS).contains(&(at + tap));
            let value = if inside {
                image[i + tap * step - RADIUS * step]
            } else {
                0.0
            };
            weights[TAPS - 1 - tap].mul_add(value, sum)
        })
    };
    (0..image.len()).map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_gives_the_weights() {
        let mut image = vec![0.0; 20];
        image[3] = 1.0;
        let weights = weights(1);
        let result = convolved(&image, &weights, |i| (i, 20), 1);
        assert_eq!(result[..12], weights[5..]);
        assert_eq!(result[12..], [0.0; 8]);
    }

    #[test]
    fn the_paper_makes_34_launches_of_52224_blocks() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let shapes = shapes(&request);
        let blocks: u64 = shapes.iter().map(|shape| 17 * shape.grid.count()).sum();
        assert!(shapes.iter().all(|shape| shape.times == Times::Fixed(17)));
        assert_eq!((17 * shapes.len(), blocks), (34, 52_224));
    }
}
