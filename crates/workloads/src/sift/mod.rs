//! The workload `sift`: scale-invariant features of a picture.

mod features;

use warploom_base::Dim3;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{alloc_output, alloc_zeroed, load};
use features::{BINS, Keypoint, SCALES, ScaleSpace, THRESHOLD, turns};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "sift",
    suite: Suite::Vision,
    sentence: "SIFT: extrema of differences of Gaussians, then orientations and descriptors.",
    source: "Lowe, IJCV 2004; SIFT in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: DETECT,
            sentence: "Extrema among 26 neighbours in space and scale, one pixel a thread.",
            entries: &[DETECT],
            alone: true,
        },
        KernelInfo {
            name: DESCRIBE,
            sentence: "Orientation and descriptor of one keypoint a block.",
            entries: &[DESCRIBE],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "A picture; at size paper 2,048 x 2,048 pixels at four scales and 1,020 keypoints: \
                   263,164 blocks.",
        launches: shapes,
        program,
    }],
};

const DETECT: &str = "detect";
const DESCRIBE: &str = "describe";
/// Side of a block of pixels.
const SIDE: u32 = 8;

fn extents(size: Size) -> (u32, u32) {
    size.pick((44, 28), (180, 150), (2048, 2048))
}

/// Number of keypoints that are described.
fn keypoints(size: Size) -> usize {
    size.pick(6, 120, 1020)
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (width, height) = extents(request.size);
    let pixels = Dim3::new(width.div_ceil(SIDE), height.div_ceil(SIDE), SCALES as u32);
    let points = Dim3::linear(keypoints(request.size) as u32);
    let both = [
        LaunchShape::once(DETECT, pixels, Dim3::new(SIDE, SIDE, 1)),
        LaunchShape::once(DESCRIBE, points, Dim3::linear(256)),
    ];
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    Box::new(Program {
        request: *request,
        shapes: shapes(request).into_iter(),
        run: None,
    })
}

/// The host program, which picks the strongest extrema between the kernels.
struct Program {
    request: Request,
    shapes: std::vec::IntoIter<LaunchShape>,
    run: Option<Run>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => Run::new(device, &self.request)?,
        };
        let run = self.run.insert(run);
        let Some(shape) = self.shapes.next() else {
            return Ok(HostAction::Done);
        };
        let launch = match shape.entry {
            DETECT => run.detect(&shape),
            _ => run.describe(device, &shape)?,
        };
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.run
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |run| run.checks(device))
    }
}

/// A scale space with its buffers on the device.
struct Run {
    request: Request,
    space: ScaleSpace,
    module: ModuleId,
    levels: DevicePtr,
    strength: DevicePtr,
    descriptors: DevicePtr,
    orientations: DevicePtr,
    /// Keypoints that were described.
    chosen: Vec<Keypoint>,
}

impl Run {
    fn new(device: &mut Device, request: &Request) -> Result<Self, HostError> {
        let (width, height) = extents(request.size);
        let space = ScaleSpace::generate(width as usize, height as usize, request.seed);
        let module = load(device, &WORKLOAD)?;
        for (name, values) in ["cosines", "sines"].into_iter().zip(turns()) {
            let variable = device.variable(module, name)?;
            device.write_slice(variable, &values)?;
        }
        let count = keypoints(request.size);
        Ok(Self {
            request: *request,
            module,
            levels: device.alloc_slice(&space.levels)?,
            strength: alloc_zeroed::<f32>(device, space.strength_count())?,
            descriptors: alloc_output::<f32>(device, count * BINS)?,
            orientations: alloc_output::<u32>(device, count)?,
            chosen: Vec::new(),
            space,
        })
    }

    fn detect(&self, shape: &LaunchShape) -> Launch {
        let (width, height) = extents(self.request.size);
        let mut args = [self.levels, self.strength].map(Arg::Pointer).to_vec();
        args.extend([Arg::U32(width), Arg::U32(height), Arg::F32(THRESHOLD)]);
        shape.launch(self.module, args)
    }

    /// Describes the strongest extrema, which the first kernel found, or else the host.
    fn describe(&mut self, device: &mut Device, shape: &LaunchShape) -> Result<Launch, HostError> {
        let strength = if self.request.wants(DETECT) {
            device.read_vec(self.strength, self.space.strength_count())?
        } else {
            self.space.strengths()
        };
        self.chosen = self
            .space
            .strongest(&strength, keypoints(self.request.size));
        let words: Vec<u32> = self.chosen.iter().flat_map(Keypoint::words).collect();
        let points = device.alloc_slice(&words)?;
        let (width, height) = extents(self.request.size);
        let pointers = [self.levels, points, self.descriptors, self.orientations];
        let mut args = pointers.map(Arg::Pointer).to_vec();
        args.extend([width, height].map(Arg::U32));
        Ok(shape.launch(self.module, args))
    }

    fn checks(&self, device: &Device) -> Result<Vec<Check>, HostError> {
        let mut checks = Vec::new();
        if self.request.wants(DETECT) {
            let count = self.space.strength_count();
            let actual = device.output::<f32>(self.strength, count)?;
            checks.push(equal("strength", &actual, &self.space.strengths()));
        }
        if self.request.wants(DESCRIBE) {
            let described = self.chosen.iter().map(|point| self.space.describe(point));
            let (orientations, bins): (Vec<u32>, Vec<[f32; BINS]>) = described.unzip();
            let actual = device.output::<u32>(self.orientations, orientations.len())?;
            checks.push(equal("orientations", &actual, &orientations));
            let actual = device.output::<f32>(self.descriptors, bins.len() * BINS)?;
            checks.push(equal("descriptors", &actual, bins.as_flattened()));
        }
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_makes_2_launches_of_263164_blocks() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let blocks = shapes(&request)
            .iter()
            .map(|shape| shape.grid.count())
            .sum::<u64>();
        assert_eq!((shapes(&request).len(), blocks), (2, 263_164));
    }
}
