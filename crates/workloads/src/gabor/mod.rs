//! `gabor`: a bank of Gabor filters over a pyramid of images.

mod bank;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use bank::{FILTERS, Level, SUM_BLOCK};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "gabor",
    suite: Suite::Vision,
    sentence: "Gabor filters over a pyramid: small convolutions, one filter a launch.",
    source: "Gabor filter bank of computer vision; Gabor in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: FILTER,
            sentence: "One filter over one level, one pixel a thread.",
            entries: &[FILTER],
            alone: true,
        },
        KernelInfo {
            name: ENERGY,
            sentence: "Partial sums of a level's squares.",
            entries: &[ENERGY],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "pyramid",
        sentence: "A picture in levels of half the size; at size paper four from 768 x 768 on, 16 \
                   filters: 68 launches, 49,017 blocks.",
        launches: shapes,
        program,
    }],
};

const FILTER: &str = "gabor";
const ENERGY: &str = "energy";
const BLOCK: Dim3 = Dim3::new(16, 16, 1);

/// Width and height of the largest level, number of levels, number of filters.
#[derive(Clone, Copy)]
struct Run {
    width: usize,
    height: usize,
    levels: u32,
    filters: u32,
}

fn run(size: Size) -> Run {
    let (width, height, levels, filters) = size.pick(
        (36, 24, 2, 4),
        (120, 88, 3, FILTERS as u32),
        (768, 768, 4, FILTERS as u32),
    );
    Run {
        width,
        height,
        levels,
        filters,
    }
}

impl Run {
    /// Extents of each level.
    fn extents(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.levels).map(move |level| (self.width >> level, self.height >> level))
    }
}

/// The launches of a level: its filters, then its energy.
fn level_shapes(request: &Request, run: Run, (width, height): (usize, usize)) -> Vec<LaunchShape> {
    let (across, down) = (width.div_ceil(16) as u32, height.div_ceil(16) as u32);
    let filter = LaunchShape {
        times: Times::Fixed(run.filters),
        ..LaunchShape::once(FILTER, Dim3::new(across, down, 1), BLOCK)
    };
    let sums = Dim3::linear((width * height).div_ceil(SUM_BLOCK) as u32);
    let both = [filter, LaunchShape::once(ENERGY, sums, Dim3::linear(256))];
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let run = run(request.size);
    let levels = run.extents();
    levels
        .flat_map(|extents| level_shapes(request, run, extents))
        .collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// Output of a launch, with its level and filter.
enum Output {
    Response(usize, usize, DevicePtr),
    Energy(usize, DevicePtr),
}

fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let run = run(request.size);
    let levels = Level::pyramid(run.width, run.height, run.levels, request.seed);
    let filters = bank::filters();
    let module = load(device, &WORKLOAD)?;
    let constants = device.variable(module, "filters")?;
    device.write_slice(constants, filters.as_flattened())?;
    let (mut launches, mut outputs) = (Vec::new(), Vec::new());
    for (number, level) in levels.iter().enumerate() {
        let image = device.alloc_slice(&level.pixels)?;
        let (width, height) = (level.width, level.pixels.len() / level.width);
        for shape in level_shapes(request, run, (width, height)) {
            if shape.entry == ENERGY {
                let sums = alloc_output::<f32>(device, shape.grid.x as usize)?;
                let args = [Arg::Pointer(image), Arg::Pointer(sums)].into_iter();
                let args = args.chain([Arg::U32(level.pixels.len() as u32)]).collect();
                launches.push(shape.launch(module, args));
                outputs.push(Output::Energy(number, sums));
                continue;
            }
            for filter in 0..run.filters {
                let response = alloc_output::<f32>(device, level.pixels.len())?;
                let mut args = [image, response].map(Arg::Pointer).to_vec();
                args.extend([width as u32, height as u32, filter].map(Arg::U32));
                launches.push(shape.launch(module, args));
                outputs.push(Output::Response(number, filter as usize, response));
            }
        }
    }
    Ok(Plan::new(launches, move |device| {
        let check = |output: &Output| match *output {
            Output::Response(number, filter, response) => {
                let expected = levels[number].response(&filters[filter]);
                let actual = device.output::<f32>(response, expected.len())?;
                let name = format!("level {number} filter {filter}");
                Ok(equal(&name, &actual, &expected))
            }
            Output::Energy(number, sums) => {
                let expected = levels[number].energies();
                let actual = device.output::<f32>(sums, expected.len())?;
                Ok(equal(&format!("level {number} energy"), &actual, &expected))
            }
        };
        outputs.iter().map(check).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_makes_68_launches_of_49017_blocks() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let count = |shape: &LaunchShape| match shape.times {
            Times::Fixed(times) => (times, u64::from(times) * shape.grid.count()),
            Times::UntilDone => (0, 0),
        };
        let counts: Vec<_> = shapes(&request).iter().map(count).collect();
        let launches: u32 = counts.iter().map(|(launches, _)| launches).sum();
        let blocks: u64 = counts.iter().map(|(_, blocks)| blocks).sum();
        assert_eq!((launches, blocks), (68, 49_017));
    }
}
