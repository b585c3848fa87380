//! `sad`: sums of absolute differences for motion estimation.

mod motion;

use warploom_base::Dim3;
use warploom_run::{
    AddressMode, Arg, ChannelKind, Device, DevicePtr, HostError, HostProgram, Texture,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};
use motion::{Frames, TYPES};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "sad",
    suite: Suite::Parboil,
    sentence: "Differences between blocks of two frames at all displacements, by texture.",
    source: "Parboil, sad; SAD_1 and SAD_2 in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: SMALL,
            sentence: "Sums of one block of 4 x 4 pixels at 1,089 displacements.",
            entries: &[SMALL],
            alone: true,
        },
        KernelInfo {
            name: MIDDLE,
            sentence: "Sums of blocks up to 8 x 8 from those of 4 x 4.",
            entries: &[MIDDLE],
            alone: true,
        },
        KernelInfo {
            name: LARGE,
            sentence: "Sums of blocks up to 16 x 16 from those of 8 x 8.",
            entries: &[LARGE],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "qcif",
        sentence: "A picture that moved; at size paper 176 x 144 pixels, 1,584 blocks of 61.",
        launches: shapes,
        program,
    }],
};

const SMALL: &str = "mb_sad_calc";
const MIDDLE: &str = "larger_sad_calc_8";
const LARGE: &str = "larger_sad_calc_16";

/// Number of macroblocks in each direction.
fn macroblocks(size: Size) -> (u32, u32) {
    size.pick((2, 1), (5, 4), (11, 9))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (across, down) = macroblocks(request.size);
    let each = Dim3::new(across, down, 1);
    let all = [
        LaunchShape::once(SMALL, Dim3::new(4 * across, 4 * down, 1), Dim3::linear(61)),
        LaunchShape::once(MIDDLE, each, Dim3::new(32, 4, 1)),
        LaunchShape::once(LARGE, each, Dim3::linear(32)),
    ];
    let wanted = all.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// When a kernel runs alone, its input sums are already in memory.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let request = *request;
    let (across, down) = macroblocks(request.size);
    let frames = Frames::generate(across as usize, down as usize, request.seed);
    let module = load(device, &WORKLOAD)?;
    let frame = device.alloc_slice(&frames.current)?;
    let texture = reference_texture(device.alloc_slice(&frames.reference)?, across, down);
    let reference = device.texture_object(texture);
    let sums = alloc_zeroed::<u16>(device, frames.count())?;
    match request.only {
        Some(MIDDLE) => device.write_slice(sums, &frames.sums(&[6]))?,
        Some(LARGE) => device.write_slice(sums, &frames.sums(&[3]))?,
        _ => {}
    }
    let launches = shapes(&request).into_iter().map(|shape| {
        let mut args = vec![Arg::Pointer(sums)];
        if shape.entry == SMALL {
            args.push(Arg::Pointer(frame));
        }
        args.extend([Arg::U32(across), Arg::U32(down)]);
        if shape.entry == SMALL {
            args.push(Arg::U64(reference));
        }
        shape.launch(module, args)
    });
    let launches = launches.collect();
    Ok(Plan::new(launches, move |device| {
        let types: &[usize] = match request.only {
            Some(SMALL) => &[6],
            Some(MIDDLE) => &[3, 4, 5, 6],
            Some(_) => &[0, 1, 2, 3],
            None => &[0, 1, 2, 3, 4, 5, 6],
        };
        let (actual, expected) = (
            device.output::<u16>(sums, frames.count())?,
            frames.sums(types),
        );
        let check = |kind: &usize| {
            let (width, height) = TYPES[*kind];
            let places = frames.places(*kind);
            let expected: Vec<_> = places.iter().map(|at| expected[*at]).collect();
            equal(
                &format!("{width} x {height}"),
                &actual.pick(&places),
                &expected,
            )
        };
        Ok(types.iter().map(check).collect())
    }))
}

/// Texture of the reference frame, which repeats its last pixels beyond the border.
fn reference_texture(base: DevicePtr, across: u32, down: u32) -> Texture {
    Texture {
        base: base.0,
        width: 16 * across,
        height: 16 * down,
        depth: 1,
        layers: 1,
        pitch: 2 * 16 * across,
        channels: 1,
        channel_bits: 16,
        kind: ChannelKind::Unsigned,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_data_set_has_1584_blocks_of_61_threads() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let shapes = shapes(&request);
        assert_eq!(
            (shapes[0].grid.count(), shapes[0].block.count()),
            (1584, 61)
        );
        assert_eq!((shapes[1].grid.count(), shapes[2].grid.count()), (99, 99));
    }
}
