//! `srad`: speckle-reducing anisotropic diffusion.

mod image;

use warploom_base::Dim3;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{alloc_output, load};
use image::{Image, LAMBDA};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "srad",
    suite: Suite::Rodinia,
    sentence: "Anisotropic diffusion of an ultrasound image: two stencils an iteration in tiles.",
    source: "Rodinia, srad (version 2); SRAD in CRAT and Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: COEFFICIENT,
            sentence: "Differences to the neighbours and the diffusion coefficient.",
            entries: &[COEFFICIENT],
            alone: false,
        },
        KernelInfo {
            name: DIFFUSION,
            sentence: "Divergence and the new image.",
            entries: &[DIFFUSION],
            alone: false,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 2,048 x 2,048, two iterations: Chen 2016's 4 launches and 65,536 \
                   blocks.",
        launches: |request| shapes(sides(request.size)).to_vec(),
        program,
    }],
};

const COEFFICIENT: &str = "srad_cuda_1";
const DIFFUSION: &str = "srad_cuda_2";
/// Side of a tile.
const TILE: u32 = 16;
const ITERATIONS: u32 = 2;

/// Numbers of columns and rows.
fn sides(size: Size) -> (u32, u32) {
    size.pick((96, 64), (384, 256), (2048, 2048))
}

fn shapes((columns, rows): (u32, u32)) -> [LaunchShape; 2] {
    [COEFFICIENT, DIFFUSION].map(|entry| {
        let grid = Dim3::new(columns / TILE, rows / TILE, 1);
        LaunchShape {
            times: Times::Fixed(ITERATIONS),
            ..LaunchShape::once(entry, grid, Dim3::new(TILE, TILE, 1))
        }
    })
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    Box::new(Program {
        sides: sides(request.size),
        seed: request.seed,
        done: 0,
        run: None,
    })
}

/// The host program, which measures the speckle of a part of the image before every iteration.
struct Program {
    sides: (u32, u32),
    seed: u64,
    /// Number of launches made.
    done: u32,
    run: Option<Run>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => Run::new(device, Image::generate(self.sides, self.seed))?,
        };
        let run = self.run.insert(run);
        let [coefficient, diffusion] = shapes(self.sides);
        let launch = match self.done {
            done if done == 2 * ITERATIONS => return Ok(HostAction::Done),
            done if done % 2 == 0 => {
                let speckle = run.now(device)?.speckle();
                run.launch(&coefficient, Arg::F32(speckle))
            }
            _ => run.launch(&diffusion, Arg::F32(LAMBDA)),
        };
        self.done += 1;
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let Some(run) = &self.run else {
            return Ok(Vec::new());
        };
        let made = device.launches_of(2 * ITERATIONS);
        let expected = (0..made / 2).fold(run.first.clone(), |image, _| image.diffused());
        let (image, count) = (run.pointers[IMAGE], expected.pixels.len());
        // The first kernel of an iteration does not change the image.
        let actual = match made % 2 {
            0 => device.last_output(image, count)?,
            _ => device.output(image, count)?,
        };
        Ok(vec![equal("image", &actual, &expected.pixels)])
    }
}

/// Index of the image among a run's pointers.
const IMAGE: usize = 4;

struct Run {
    first: Image,
    module: ModuleId,
    /// Differences to the east, west, north and south; image; coefficient.
    pointers: [DevicePtr; 6],
}

impl Run {
    fn new(device: &mut Device, first: Image) -> Result<Self, HostError> {
        let module = load(device, &WORKLOAD)?;
        let mut pointers = [DevicePtr(0); 6];
        for pointer in &mut pointers {
            *pointer = alloc_output::<f32>(device, first.pixels.len())?;
        }
        device.write_slice(pointers[IMAGE], &first.pixels)?;
        Ok(Self {
            first,
            module,
            pointers,
        })
    }

    /// The current image on the device.
    fn now(&self, device: &Device) -> Result<Image, HostError> {
        let pixels = device.read_vec(self.pointers[IMAGE], self.first.pixels.len())?;
        Ok(Image {
            pixels,
            ..self.first
        })
    }

    fn launch(&self, shape: &LaunchShape, last: Arg) -> Launch {
        let mut args = self.pointers.map(Arg::Pointer).to_vec();
        let sides = [self.first.columns, self.first.rows];
        args.extend(sides.map(|side| Arg::U32(side as u32)));
        args.push(last);
        shape.launch(self.module, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_4_times_and_65536_blocks() {
        let shapes = shapes(sides(Size::Paper));
        assert!(shapes.iter().all(|shape| shape.times == Times::Fixed(2)));
        let blocks: u64 = shapes.iter().map(|shape| 2 * shape.grid.count()).sum();
        assert_eq!(blocks, 65_536);
    }
}
