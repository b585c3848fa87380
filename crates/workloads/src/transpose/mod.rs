//! `transpose`: matrix copies and transpositions.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Check, Device, DevicePtr, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "transpose",
    suite: Suite::CudaSdk,
    sentence: "Transposition of a matrix, from the naive way to padded tiles in shared memory.",
    source: "CUDA SDK, sample transpose; TRAN in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &KERNELS,
    variants: &[
        Variant {
            name: "tile32",
            sentence: "Naive, coalesced and padded, tiles of 32 x 32 and blocks of 32 x 8.",
            launches: |request| shapes(&TILE_32, request),
            program: |request| program(&TILE_32, request),
        },
        Variant {
            name: "tile16",
            sentence: "All eight kernels three times, tiles and blocks of 16 x 16: at size paper Chen's \
                       24 launches and 98,304 blocks.",
            launches: |request| shapes(&TILE_16, request),
            program: |request| program(&TILE_16, request),
        },
    ],
};

macro_rules! kernels {
    ($($name:literal: $sentence:literal),+ $(,)?) => {
        [$(KernelInfo {
            name: $name,
            sentence: $sentence,
            entries: &[concat!($name, "_32x8"), concat!($name, "_16x16")],
            alone: true,
        }),+]
    };
}

/// Kernels in the sample's order.
static KERNELS: [KernelInfo; 8] = kernels! {
    "copy": "Copies the matrix: the bandwidth to be reached.",
    "copy_shared": "Copies the matrix through shared memory.",
    "naive": "Transposes with stores that run down columns.",
    "coalesced": "Transposes in shared memory, with bank conflicts.",
    "padded": "Transposes in shared memory padded by a column, without bank conflicts.",
    "coarse_grained": "Moves tiles to their transposed places, leaving their insides.",
    "fine_grained": "Transposes the insides of tiles, leaving their places.",
    "diagonal": "As padded, with blocks numbered along diagonals.",
};

/// A block shape and the kernels that run with it by default.
struct Geometry {
    tile: u32,
    rows: u32,
    /// Index of its entry in [`KernelInfo::entries`].
    entry: usize,
    default: &'static [&'static str],
    times: u32,
}

const TILE_32: Geometry = Geometry {
    tile: 32,
    rows: 8,
    entry: 0,
    default: &["naive", "coalesced", "padded"],
    times: 1,
};

const TILE_16: Geometry = Geometry {
    tile: 16,
    rows: 16,
    entry: 1,
    default: &[
        "copy",
        "copy_shared",
        "naive",
        "coalesced",
        "padded",
        "coarse_grained",
        "fine_grained",
        "diagonal",
    ],
    times: 3,
};

/// Width and height of the input, which are multiples of 32.
fn extents(size: Size) -> (u32, u32) {
    size.pick((96, 64), (384, 320), (1024, 1024))
}

/// The kernels of a request: the requested one, or the geometry's default.
fn kernels(geometry: &Geometry, request: &Request) -> impl Iterator<Item = &'static KernelInfo> {
    let default = geometry.default;
    let only = request.only;
    KERNELS.iter().filter(move |kernel| match only {
        Some(only) => kernel.name == only,
        None => default.contains(&kernel.name),
    })
}

fn shape(geometry: &Geometry, size: Size, kernel: &KernelInfo) -> LaunchShape {
    let (width, height) = extents(size);
    let grid = Dim3::new(width / geometry.tile, height / geometry.tile, 1);
    let block = Dim3::new(geometry.tile, geometry.rows, 1);
    LaunchShape {
        times: Times::Fixed(geometry.times),
        ..LaunchShape::once(kernel.entries[geometry.entry], grid, block)
    }
}

fn shapes(geometry: &Geometry, request: &Request) -> Vec<LaunchShape> {
    kernels(geometry, request)
        .map(|kernel| shape(geometry, request.size, kernel))
        .collect()
}

fn program(geometry: &'static Geometry, request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, geometry, &request))
}

/// Every kernel has an output of its own, so that all can be checked at the end.
fn plan(
    device: &mut Device,
    geometry: &'static Geometry,
    request: &Request,
) -> Result<Plan, HostError> {
    let (width, height) = extents(request.size);
    let matrix = Matrix::generate(width as usize, height as usize, request.seed);
    let module = load(device, &WORKLOAD)?;
    let input = device.alloc_slice(&matrix.values)?;
    let (mut launches, mut outputs) = (Vec::new(), Vec::new());
    for kernel in kernels(geometry, request) {
        let output = alloc_output::<f32>(device, matrix.values.len())?;
        let args = [
            Arg::Pointer(output),
            Arg::Pointer(input),
            Arg::U32(width),
            Arg::U32(height),
        ];
        let launch = shape(geometry, request.size, kernel).launch(module, args.to_vec());
        launches.extend((0..geometry.times).map(|_| launch.clone()));
        outputs.push((kernel.name, output));
    }
    Ok(Plan::new(launches, move |device| {
        verify(device, &matrix, geometry, &outputs)
    }))
}

fn verify(
    device: &Device,
    matrix: &Matrix,
    geometry: &Geometry,
    outputs: &[(&'static str, DevicePtr)],
) -> Result<Vec<Check>, HostError> {
    let check = |&(kernel, output): &(&str, DevicePtr)| {
        let actual = device.output::<f32>(output, matrix.values.len())?;
        Ok(equal(
            kernel,
            &actual,
            &matrix.result_of(kernel, geometry.tile as usize),
        ))
    };
    outputs.iter().map(check).collect()
}

/// A matrix, row major.
#[derive(Clone, Debug, PartialEq)]
struct Matrix {
    width: usize,
    height: usize,
    values: Vec<f32>,
}

impl Matrix {
    fn generate(width: usize, height: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let values = (0..width * height).map(|_| rng.unit_f32()).collect();
        Self {
            width,
            height,
            values,
        }
    }

    /// A matrix of the given extents whose element (x, y) is the element `source(x, y)` of this
    /// matrix.
    fn gather(
        &self,
        (width, height): (usize, usize),
        source: impl Fn(usize, usize) -> (usize, usize),
    ) -> Self {
        let value = |at: usize| {
            let (x, y) = source(at % width, at / width);
            self.values[y * self.width + x]
        };
        Self {
            width,
            height,
            values: (0..width * height).map(value).collect(),
        }
    }

    fn transposed(&self) -> Self {
        self.gather((self.height, self.width), |x, y| (y, x))
    }

    /// The matrix with every tile transposed in its place.
    fn fine_grained(&self, tile: usize) -> Self {
        let inside = |x: usize, y: usize| (x / tile * tile + y % tile, y / tile * tile + x % tile);
        self.gather((self.width, self.height), inside)
    }

    /// The matrix with every tile moved to its transposed place.
    fn coarse_grained(&self, tile: usize) -> Self {
        let place = |x: usize, y: usize| (y / tile * tile + x % tile, x / tile * tile + y % tile);
        self.gather((self.height, self.width), place)
    }

    /// Result of a kernel for this matrix.
    fn result_of(&self, kernel: &str, tile: usize) -> Vec<f32> {
        match kernel {
            "copy" | "copy_shared" => self.values.clone(),
            "fine_grained" => self.fine_grained(tile).values,
            "coarse_grained" => self.coarse_grained(tile).values,
            _ => self.transposed().values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposition_swaps_coordinates_and_undoes_itself() {
        let matrix = Matrix::generate(6, 4, 1);
        let transposed = matrix.transposed();
        assert_eq!((transposed.width, transposed.height), (4, 6));
        assert_eq!(transposed.values[5 * 4 + 3], matrix.values[3 * 6 + 5]);
        assert_eq!(transposed.transposed(), matrix);
    }

    #[test]
    fn tiles_moved_and_transposed_make_a_transposition() {
        let matrix = Matrix::generate(12, 8, 2);
        assert_eq!(
            matrix.fine_grained(4).coarse_grained(4),
            matrix.transposed()
        );
        assert_eq!(
            matrix.coarse_grained(4).fine_grained(4),
            matrix.transposed()
        );
        assert_ne!(matrix.fine_grained(4).values, matrix.values);
    }

    #[test]
    fn the_paper_makes_24_launches_of_98304_blocks() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let shapes = shapes(&TILE_16, &request);
        let blocks: u64 = shapes.iter().map(|shape| 3 * shape.grid.count()).sum();
        assert!(shapes.iter().all(|shape| shape.times == Times::Fixed(3)));
        assert_eq!((3 * shapes.len(), blocks), (24, 98_304));
    }

    #[test]
    fn any_kernel_can_run_alone() {
        let request = Request {
            size: Size::Test,
            seed: 0,
            only: Some("diagonal"),
        };
        assert_eq!(shapes(&TILE_32, &request)[0].entry, "diagonal_32x8");
        assert_eq!(shapes(&TILE_32, &request).len(), 1);
    }
}
