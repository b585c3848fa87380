//! `cfd`: fluxes of the Euler equations over an unstructured mesh.

mod flow;
mod mesh;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram, ModuleId};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use flow::{FAR_STATE, Flow, VARIABLES, far_flux};
use mesh::Mesh;

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "cfd",
    suite: Suite::Rodinia,
    sentence: "Fluxes over an unstructured mesh of tetrahedra: many registers, gathered neighbours.",
    source: "Rodinia, cfd (euler3d); CFD in GPUDuet and CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "compute_flux",
        sentence: "Sums the fluxes through the four faces of a cell.",
        entries: &["compute_flux"],
        alone: true,
    }],
    variants: &[
        Variant {
            name: "missile",
            sentence: "Blocks of 192; at size paper the 232,536 cells of missile.domn.0.2M, 1,212 blocks.",
            launches: |request| vec![MISSILE.shape(request.size)],
            program: |request| MISSILE.program(request),
        },
        Variant {
            name: "missile256",
            sentence: "The same in blocks of 256, as CRAT's (reg, TLP) points need.",
            launches: |request| vec![MISSILE_256.shape(request.size)],
            program: |request| MISSILE_256.program(request),
        },
        Variant {
            name: "fvcorr97k",
            sentence: "Blocks of 256; at size paper the 97,046 cells of fvcorr.domn.097K.",
            launches: |request| vec![FVCORR_97K.shape(request.size)],
            program: |request| FVCORR_97K.program(request),
        },
        Variant {
            name: "fvcorr193k",
            sentence: "Blocks of 256; at size paper the 193,474 cells of fvcorr.domn.193K.",
            launches: |request| vec![FVCORR_193K.shape(request.size)],
            program: |request| FVCORR_193K.program(request),
        },
    ],
};

/// A mesh at size paper and a block shape.
#[derive(Clone, Copy)]
struct Case {
    cells: u32,
    block: u32,
}

const MISSILE: Case = Case {
    cells: 232_536,
    block: 192,
};
const MISSILE_256: Case = Case {
    block: 256,
    ..MISSILE
};
const FVCORR_97K: Case = Case {
    cells: 97_046,
    block: 256,
};
const FVCORR_193K: Case = Case {
    cells: 193_474,
    block: 256,
};

impl Case {
    fn cells(self, size: Size) -> u32 {
        size.pick(2_000, 40_000, self.cells)
    }

    fn shape(self, size: Size) -> LaunchShape {
        let grid = Dim3::linear(self.cells(size).div_ceil(self.block));
        LaunchShape::once("compute_flux", grid, Dim3::linear(self.block))
    }

    fn program(self, request: &Request) -> Box<dyn HostProgram> {
        let (cells, seed) = (self.cells(request.size), request.seed);
        let shape = self.shape(request.size);
        Sequence::boxed(move |device| plan(device, &shape, cells as usize, seed))
    }
}

fn plan(
    device: &mut Device,
    shape: &LaunchShape,
    cells: usize,
    seed: u64,
) -> Result<Plan, HostError> {
    // The kernel tests no bounds: the last cell is repeated to a block's end.
    let padded = shape.grid.x as usize * shape.block.x as usize;
    let mesh = Mesh::generate(cells, padded, seed);
    let flow = Flow::generate(&mesh, seed);
    let module = load(device, &WORKLOAD)?;
    set_constants(device, module)?;
    let fluxes = alloc_output::<f32>(device, VARIABLES * padded)?;
    let args = vec![
        Arg::U32(padded as u32),
        Arg::Pointer(device.alloc_slice(&mesh.neighbours)?),
        Arg::Pointer(device.alloc_slice(&mesh.normals)?),
        Arg::Pointer(device.alloc_slice(&flow.variables)?),
        Arg::Pointer(fluxes),
    ];
    Ok(Plan::new(vec![shape.launch(module, args)], move |device| {
        let actual = device.output(fluxes, VARIABLES * padded)?;
        Ok(vec![equal("fluxes", &actual, &flow.fluxes(&mesh))])
    }))
}

fn set_constants(device: &mut Device, module: ModuleId) -> Result<(), HostError> {
    let state = device.variable(module, "far_state")?;
    device.write_slice(state, &FAR_STATE)?;
    let flux = device.variable(module, "far_flux")?;
    device.write_slice(flux, far_flux().as_flattened())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_sets_take_these_blocks() {
        let blocks = |case: Case| case.shape(Size::Paper).grid.x;
        let cases = [MISSILE, MISSILE_256, FVCORR_97K, FVCORR_193K];
        assert_eq!(cases.map(blocks), [1212, 909, 380, 756]);
    }
}
