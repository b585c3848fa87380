//! `estimatepi`: pi by throwing darts.

mod xorwow;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, alloc_zeroed, load};
use xorwow::{Generator, Jumps};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "estimatepi",
    suite: Suite::CudaSdk,
    sentence: "Pi by throwing darts: generators set 2^67 steps apart, then hits added up.",
    source: "CUDA SDK, sample MC_EstimatePiInlineP; ESP in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: INIT,
            sentence: "Gives every thread a generator of its own by matrices over bits.",
            entries: &[INIT],
            alone: true,
        },
        KernelInfo {
            name: COMPUTE,
            sentence: "Throws the darts and adds up a block's hits.",
            entries: &[COMPUTE],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "A seed; at size paper 100,000 darts, 195 blocks of 128.",
        launches: shapes,
        program,
    }],
};

const INIT: &str = "init_rng";
const COMPUTE: &str = "compute_value";
const BLOCK: u32 = 128;

fn darts(size: Size) -> u32 {
    size.pick(1_000, 9_000, 100_000)
}

/// Number of blocks: one dart per thread, halved until an SM of 15 has at most 20 blocks; fewer in
/// smaller sizes.
fn blocks(size: Size) -> u32 {
    let mut blocks = darts(size).div_ceil(BLOCK);
    while blocks > size.pick(1, 20, 2 * 10 * 15) {
        blocks /= 2;
    }
    blocks
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let grid = Dim3::linear(blocks(request.size));
    let once = |entry| LaunchShape::once(entry, grid, Dim3::linear(BLOCK));
    let compute = LaunchShape {
        dynamic_shared_bytes: 4 * BLOCK,
        ..once(COMPUTE)
    };
    let both = [once(INIT), compute];
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// Without the first kernel, the host provides the generators.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let (request, darts) = (*request, darts(request.size));
    let (seed, blocks) = (request.seed as u32, blocks(request.size));
    let threads = blocks * BLOCK;
    let jumps = Jumps::new();
    let module = load(device, &WORKLOAD)?;
    let matrices = device.alloc_slice(&jumps.words())?;
    let count = threads as usize * Generator::WORDS;
    let states = alloc_zeroed::<u32>(device, count)?;
    let results = alloc_output::<u32>(device, blocks as usize)?;
    let generator = move |thread| Generator::new(seed, thread, &jumps);
    if !request.wants(INIT) {
        let words: Vec<u32> = (0..threads).flat_map(|i| generator(i).words()).collect();
        device.write_slice(states, &words)?;
    }
    let launches = shapes(&request).into_iter().map(|shape| {
        if shape.entry == INIT {
            let args = [Arg::Pointer(states), Arg::U32(seed), Arg::Pointer(matrices)];
            return shape.launch(module, args.to_vec());
        }
        let args = [Arg::Pointer(results), Arg::Pointer(states), Arg::U32(darts)];
        shape.launch(module, args.to_vec())
    });
    let launches = launches.collect();
    Ok(Plan::new(launches, move |device| {
        let words: Vec<u32> = (0..threads).flat_map(|i| generator(i).words()).collect();
        let mut checks = vec![equal("generators", &device.output(states, count)?, &words)];
        if request.wants(COMPUTE) {
            let mut hits = vec![0u32; blocks as usize];
            for (thread, mut generator) in (0..threads).map(|i| (i, generator(i))) {
                let throws = (thread..darts).step_by(threads as usize);
                hits[(thread / BLOCK) as usize] +=
                    throws.filter(|_| generator.hits()).count() as u32;
            }
            checks.push(equal("hits", &device.output(results, hits.len())?, &hits));
        }
        Ok(checks)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_launches_195_blocks_on_15_sms() {
        assert_eq!(blocks(Size::Paper), 195);
    }

    #[test]
    fn hits_make_pi() {
        let jumps = Jumps::new();
        let mut hits = 0;
        for thread in 0..100 {
            let mut generator = Generator::new(7, thread, &jumps);
            hits += (0..200).filter(|_| generator.hits()).count();
        }
        let pi = 4.0 * hits as f64 / 20_000.0;
        assert!((pi - std::f64::consts::PI).abs() < 0.05, "{pi}");
    }
}
