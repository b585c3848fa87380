//! The workload `imagedenoising`: two filters that remove noise from a picture.

mod filters;

use warploom_base::Dim3;
use warploom_run::{
    AddressMode, Arg, ChannelKind, Device, DevicePtr, HostError, HostProgram, Texture,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::picture;
use crate::program::{Plan, Sequence, alloc_output, load};
use filters::{BLEND, Image, KNN_NOISE, NLM_NOISE};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "imagedenoising",
    suite: Suite::CudaSdk,
    sentence: "Weighted means of similar pixels and of similar surroundings, by texture.",
    source: "CUDA SDK, sample imageDenoising; IMG in Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: KNN,
            sentence: "K nearest neighbours: pixels weighed by how much they resemble the centre.",
            entries: &[KNN],
            alone: true,
        },
        KernelInfo {
            name: NLM,
            sentence: "Non-local means: pixels weighed by how much their surroundings do.",
            entries: &[NLM],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "portrait",
        sentence: "A noisy picture; at size paper 320 x 408 pixels, 2,040 blocks of 8 x 8.",
        launches: shapes,
        program,
    }],
};

const KNN: &str = "knn";
const NLM: &str = "nlm";
const BLOCK: Dim3 = Dim3::new(8, 8, 1);

fn extents(size: Size) -> (u32, u32) {
    size.pick((5, 4), (20, 12), (320, 408))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (width, height) = extents(request.size);
    let grid = Dim3::new(width.div_ceil(BLOCK.x), height.div_ceil(BLOCK.y), 1);
    let both = [KNN, NLM].map(|entry| LaunchShape::once(entry, grid, BLOCK));
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let (width, height) = extents(request.size);
    let pixels = picture::colours(width as usize, height as usize, request.seed);
    let module = load(device, &WORKLOAD)?;
    let texture = texture(device.alloc_slice(&pixels)?, width, height);
    let image = device.texture_object(texture);
    let (mut launches, mut results) = (Vec::new(), Vec::new());
    for shape in shapes(request) {
        let result = alloc_output::<u32>(device, pixels.len())?;
        let noise = if shape.entry == KNN {
            KNN_NOISE
        } else {
            NLM_NOISE
        };
        let args = vec![
            Arg::Pointer(result),
            Arg::U32(width),
            Arg::U32(height),
            Arg::F32(noise),
            Arg::F32(BLEND),
            Arg::U64(image),
        ];
        launches.push(shape.launch(module, args));
        results.push((shape.entry, result));
    }
    let image = Image::new(&pixels, width as usize);
    Ok(Plan::new(launches, move |device| {
        let check = |&(entry, result): &(&str, DevicePtr)| {
            let actual = device.output::<u32>(result, image.len())?;
            let wanted = |at: usize| actual.is_computed(at);
            let expected = if entry == KNN {
                image.knn(wanted)
            } else {
                image.nlm(wanted)
            };
            Ok(equal(entry, &actual, &expected))
        };
        results.iter().map(check).collect()
    }))
}

/// Texture of four bytes per pixel, read as fractions. Filtering is linear, although coordinates
/// hit the centres.
fn texture(base: DevicePtr, width: u32, height: u32) -> Texture {
    Texture {
        base: base.0,
        width,
        height,
        depth: 1,
        layers: 1,
        pitch: 4 * width,
        channels: 4,
        channel_bits: 8,
        kind: ChannelKind::UnsignedNormalized,
        normalized: false,
        address: [AddressMode::Wrap; 3],
        linear: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_2040_blocks_of_64() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: Some(KNN),
        };
        let shapes = shapes(&request);
        assert_eq!(shapes.len(), 1);
        assert_eq!(
            (shapes[0].grid.count(), shapes[0].block.count()),
            (2040, 64)
        );
    }
}
