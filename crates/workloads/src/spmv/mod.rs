//! `spmv`: a sparse matrix times a vector.

mod jds;
mod matrix;
mod numbering;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DeviceError, HostError, HostProgram, ModuleId};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use jds::Jds;
use matrix::Problem;
use numbering::Numbering;

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "spmv",
    suite: Suite::Parboil,
    sentence: "Sparse matrix times vector in jagged diagonals: streamed rows, gathered vector.",
    source: "Parboil, spmv; SPMV in GPUDuet and CRAT, MVP in Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: "spmv_jds",
            sentence: "One row a thread, rows sorted by length.",
            entries: &["spmv_jds"],
            alone: true,
        },
        KernelInfo {
            name: "spmv_jds_ahead",
            sentence: "The same, its loads an element or two ahead.",
            entries: &["spmv_jds_ahead"],
            alone: true,
        },
    ],
    variants: &[
        Variant {
            name: "fem",
            sentence: "Bicubic finite elements; at size paper the large data set's 146,689 rows, 765 blocks.",
            launches: |request| vec![shape("spmv_jds", request)],
            program: |request| program("spmv_jds", request, Numbering::by_rows),
        },
        Variant {
            name: "elements",
            sentence: "The same mesh, its functions numbered element by element: corners, edges, interiors.",
            launches: |request| vec![shape("spmv_jds", request)],
            program: |request| program("spmv_jds", request, Numbering::by_elements),
        },
        Variant {
            name: "ahead",
            sentence: "The first one's matrix, loads ahead of their use as in the benchmark.",
            launches: |request| vec![shape("spmv_jds_ahead", request)],
            program: |request| program("spmv_jds_ahead", request, Numbering::by_rows),
        },
    ],
};

const BLOCK: u32 = 192;

/// Number of elements along each side of the mesh.
fn elements(size: Size) -> u32 {
    size.pick(16, 64, 128)
}

/// The launch shape of the variant's `kernel`, unless the request names another.
fn shape(kernel: &'static str, request: &Request) -> LaunchShape {
    let kernel = request.only.unwrap_or(kernel);
    let grid = Dim3::linear(matrix::rows(elements(request.size)).div_ceil(BLOCK));
    LaunchShape::once(kernel, grid, Dim3::linear(BLOCK))
}

fn program(
    kernel: &'static str,
    request: &Request,
    numbering: fn(u32) -> Numbering,
) -> Box<dyn HostProgram> {
    let shape = shape(kernel, request);
    let (elements, seed) = (elements(request.size), request.seed);
    Sequence::boxed(move |device| {
        let problem = Problem::generate(elements, &numbering(elements), seed);
        plan(device, &shape, problem)
    })
}

fn plan(device: &mut Device, shape: &LaunchShape, problem: Problem) -> Result<Plan, HostError> {
    let jds = Jds::new(&problem.matrix);
    let module = load(device, &WORKLOAD)?;
    set_constants(device, module, &jds)?;
    let rows = problem.matrix.rows();
    let y = alloc_output::<f32>(device, rows)?;
    let args = vec![
        Arg::Pointer(y),
        Arg::Pointer(device.alloc_slice(&jds.values)?),
        Arg::Pointer(device.alloc_slice(&jds.columns)?),
        Arg::Pointer(device.alloc_slice(&jds.permutation)?),
        Arg::Pointer(device.alloc_slice(&problem.x)?),
        Arg::U32(rows as u32),
    ];
    let launch = shape.launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let actual = device.output(y, rows)?;
        Ok(vec![equal("y", &actual, &problem.reference())])
    }))
}

fn set_constants(device: &mut Device, module: ModuleId, jds: &Jds) -> Result<(), DeviceError> {
    for (name, values) in [
        ("diagonal_start", &jds.diagonal_start),
        ("group_length", &jds.group_length),
    ] {
        let variable = device.variable(module, name)?;
        device.write_slice(variable, values)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of entries of each constant array in the kernel.
    const CAPACITY: usize = 5000;

    #[test]
    fn the_paper_launches_765_blocks_of_192() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let shape = shape("spmv_jds", &request);
        assert_eq!(
            (shape.grid, shape.block),
            (Dim3::linear(765), Dim3::linear(192))
        );
    }

    #[test]
    fn a_kernel_that_is_asked_for_runs_in_every_variant() {
        for kernel in WORKLOAD.kernels {
            let request = Request {
                size: Size::Test,
                seed: 0,
                only: Some(kernel.name),
            };
            for variant in WORKLOAD.variants {
                let launches = (variant.launches)(&request);
                assert!(launches.iter().all(|launch| launch.entry == kernel.name));
            }
        }
    }

    #[test]
    fn constants_fit_at_every_size() {
        for size in Size::ALL {
            let groups = matrix::rows(elements(size)).div_ceil(jds::GROUP as u32);
            assert!(groups as usize <= CAPACITY);
        }
    }
}
