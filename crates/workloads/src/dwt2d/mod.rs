//! `dwt2d`: a wavelet transform of an RGB image.

mod image;

use std::collections::VecDeque;

use warploom_base::Dim3;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{alloc_output, load};
use image::{Component, Image};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "dwt2d",
    suite: Suite::Rodinia,
    sentence: "Wavelet transform of an image: a split into components, then sliding windows.",
    source: "Rodinia, dwt2d; DWT_1 and DWT_2 in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: COPY,
            sentence: "Splits RGB bytes into three components of words.",
            entries: &[COPY],
            alone: true,
        },
        KernelInfo {
            name: FDWT,
            sentence: "One level of the reversible 5/3 transform; wider blocks for wider images.",
            entries: &["fdwt53_192", "fdwt53_128", "fdwt53_64"],
            alone: true,
        },
    ],
    variants: &[
        Variant {
            name: "rgb",
            sentence: "Two or three levels; at size paper GPUDuet's 1,024 x 1,024 pixels, 4,096 \
                       blocks and 90.",
            launches: |request| shapes(BENCHMARK, request),
            program: |request| program(BENCHMARK, request),
        },
        Variant {
            name: "strips128",
            sentence: "The same with strips of at most 128 columns and a window that does not \
                       slide: GPUDuet's ten blocks an SM, and enough of them.",
            launches: |request| shapes(STRIPS_128, request),
            program: |request| program(STRIPS_128, request),
        },
    ],
};

const COPY: &str = "copy_components";
const FDWT: &str = "fdwt";
const COPY_BLOCK: u32 = 256;
/// Number of rows of a window.
const WINDOW: u32 = 8;

/// Division of an image among blocks.
#[derive(Clone, Copy)]
struct Strips {
    /// Number of columns of the widest strip.
    widest: u32,
    /// Largest number of blocks in y: windows slide as often as necessary.
    most_down: u32,
}

/// Division as in the public benchmark.
const BENCHMARK: Strips = Strips {
    widest: 192,
    most_down: 15,
};
const STRIPS_128: Strips = Strips {
    widest: 128,
    most_down: 128,
};
const COMPONENTS: u32 = 3;

/// Numbers of columns and rows, even at every level.
fn sides(size: Size) -> (u32, u32) {
    size.pick((960, 16), (960, 256), (1024, 1024))
}

fn copy_shape((width, height): (u32, u32)) -> LaunchShape {
    let grid = Dim3::linear((width * height).div_ceil(COPY_BLOCK));
    LaunchShape::once(COPY, grid, Dim3::linear(COPY_BLOCK))
}

impl Strips {
    /// Number of steps of the window in a block.
    fn steps(self, height: u32) -> u32 {
        height.div_ceil(self.most_down * WINDOW)
    }

    fn shape(self, (width, height): (u32, u32)) -> LaunchShape {
        let block = match width {
            960.. => self.widest,
            480.. => 128,
            _ => 64,
        };
        let entry = match block {
            192 => "fdwt53_192",
            128 => "fdwt53_128",
            _ => "fdwt53_64",
        };
        let down = height.div_ceil(WINDOW * self.steps(height));
        let grid = Dim3::new(width.div_ceil(block), down, 1);
        LaunchShape::once(entry, grid, Dim3::linear(block))
    }
}

/// Sizes of the image and of the low bands after each level. A window needs at least five rows.
fn levels(size: Size) -> impl Iterator<Item = (u32, u32)> + Clone {
    let (width, height) = sides(size);
    (0..size.pick(2, 3, 3)).map(move |level| (width >> level, height >> level))
}

fn shapes(strips: Strips, request: &Request) -> Vec<LaunchShape> {
    let sides = sides(request.size);
    let mut shapes = Vec::new();
    if request.wants(COPY) {
        shapes.push(copy_shape(sides));
    }
    if request.wants(FDWT) {
        let component = levels(request.size).map(|sides| strips.shape(sides));
        shapes.extend((0..COMPONENTS).flat_map(|_| component.clone()));
    }
    shapes
}

fn program(strips: Strips, request: &Request) -> Box<dyn HostProgram> {
    Box::new(Program {
        strips,
        request: *request,
        run: None,
    })
}

/// Steps of the host, in order.
enum Step {
    Launch(Launch),
    /// Copies this many words from the start of the first buffer to that of the second.
    Copy(DevicePtr, DevicePtr, usize),
}

struct Program {
    strips: Strips,
    request: Request,
    run: Option<Run>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => Run::new(device, self.strips, &self.request)?,
        };
        let run = self.run.insert(run);
        while let Some(step) = run.steps.pop_front() {
            match step {
                Step::Launch(launch) => return Ok(HostAction::Launch(launch)),
                Step::Copy(from, to, words) => {
                    let band: Vec<i32> = device.read_vec(from, words)?;
                    device.write_slice(to, &band)?;
                }
            }
        }
        Ok(HostAction::Done)
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.run
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |run| run.checks(device, &self.request))
    }
}

struct Run {
    image: Image,
    /// Buffers of each component: its pixels, which the transform overwrites, and its coefficients.
    buffers: Vec<(DevicePtr, DevicePtr)>,
    steps: VecDeque<Step>,
    /// Number of all launches, and of those of one component's transform.
    launches: u32,
    levels: usize,
}

impl Run {
    fn new(device: &mut Device, strips: Strips, request: &Request) -> Result<Self, HostError> {
        let sides = sides(request.size);
        let image = Image::generate(sides, request.seed);
        let module = load(device, &WORKLOAD)?;
        let mut run = Self {
            image,
            buffers: Vec::new(),
            steps: VecDeque::new(),
            launches: 0,
            levels: 0,
        };
        let pixels = run.image.pixels();
        for component in 0..COMPONENTS as usize {
            let input = if request.wants(COPY) {
                alloc_output::<i32>(device, pixels)?
            } else {
                device.alloc_slice(&run.image.component(component).values)?
            };
            run.buffers
                .push((input, alloc_output::<i32>(device, pixels)?));
        }
        if request.wants(COPY) {
            run.push_copy(device, module, sides)?;
        }
        if request.wants(FDWT) {
            run.push_transforms(strips, module, request.size);
            run.levels = levels(request.size).count();
        }
        let launches = run.steps.iter();
        let launches = launches.filter(|step| matches!(step, Step::Launch(_)));
        run.launches = launches.count() as u32;
        Ok(run)
    }

    fn push_copy(
        &mut self,
        device: &mut Device,
        module: ModuleId,
        sides: (u32, u32),
    ) -> Result<(), HostError> {
        let mut args: Vec<_> = self
            .buffers
            .iter()
            .map(|(input, _)| Arg::Pointer(*input))
            .collect();
        // Whole blocks are read.
        let shape = copy_shape(sides);
        let mut bytes = self.image.bytes.clone();
        bytes.resize(3 * (shape.grid.x * COPY_BLOCK) as usize, 0);
        args.push(Arg::Pointer(device.alloc_slice(&bytes)?));
        args.push(Arg::U32(self.image.pixels() as u32));
        self.steps
            .push_back(Step::Launch(shape.launch(module, args)));
        Ok(())
    }

    fn push_transforms(&mut self, strips: Strips, module: ModuleId, size: Size) {
        for &(input, output) in &self.buffers {
            for (level, (width, height)) in levels(size).enumerate() {
                if level > 0 {
                    let words = (width * height) as usize;
                    self.steps.push_back(Step::Copy(output, input, words));
                }
                let args = vec![
                    Arg::Pointer(input),
                    Arg::Pointer(output),
                    Arg::U32(width),
                    Arg::U32(height),
                    Arg::U32(strips.steps(height)),
                ];
                let launch = strips.shape((width, height)).launch(module, args);
                self.steps.push_back(Step::Launch(launch));
            }
        }
    }

    /// Number of levels of a component that were transformed. Components follow each other.
    fn levels(&self, device: &Device, number: usize) -> usize {
        let made = device.launches_of(self.launches) as usize;
        let before = self.launches as usize - COMPONENTS as usize * self.levels;
        made.saturating_sub(before + number * self.levels)
            .min(self.levels)
    }

    fn checks(&self, device: &Device, request: &Request) -> Result<Vec<Check>, HostError> {
        let mut checks = Vec::new();
        for (number, &(input, output)) in self.buffers.iter().enumerate() {
            let component = self.image.component(number);
            if request.wants(FDWT) {
                let actual = device.last_output(output, self.image.pixels())?;
                let expected = transformed(component, request.size, self.levels(device, number));
                checks.push(equal("coefficients", &actual, &expected.values));
            } else {
                let actual = device.output(input, self.image.pixels())?;
                checks.push(equal("component", &actual, &component.values));
            }
        }
        Ok(checks)
    }
}

/// The component after `count` levels, each of the previous level's low band.
fn transformed(component: Component, size: Size, count: usize) -> Component {
    let mut all = component.transformed();
    for (width, height) in levels(size).take(count).skip(1) {
        let words = (width * height) as usize;
        let band = Component {
            width: width as usize,
            values: all.values[..words].to_vec(),
        };
        all.values[..words].copy_from_slice(&band.transformed().values);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_image_takes_these_blocks() {
        assert_eq!(copy_shape(sides(Size::Paper)).grid, Dim3::linear(4096));
        let shapes = |strips: Strips| -> Vec<_> {
            let shapes = levels(Size::Paper).map(|sides| strips.shape(sides));
            shapes.map(|s| (s.grid.x, s.grid.y, s.block.x)).collect()
        };
        let benchmark = [(6, 15, 192), (4, 13, 128), (4, 11, 64)];
        assert_eq!(shapes(BENCHMARK), benchmark);
        assert_eq!(shapes(STRIPS_128)[0], (8, 128, 128));
    }

    #[test]
    fn levels_have_even_sides_and_room_to_turn_round() {
        for size in Size::ALL {
            let fits = |(width, height)| width % 2 == 0 && height % 2 == 0 && height >= 5;
            assert!(levels(size).all(fits));
        }
    }
}
