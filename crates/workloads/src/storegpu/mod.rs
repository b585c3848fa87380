//! `storegpu`: hashes of overlapping windows.

mod hash;

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "storegpu",
    suite: Suite::Ispass2009,
    sentence: "Hashes of windows that slide over a buffer: one thread a window, in shared memory.",
    source: "ISPASS-2009 benchmarks, STO (S. Al-Kiswany et al., HPDC 2008); StoreGPU in Do et al.",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: SHA1,
            sentence: "First word of the SHA-1 hash of every window.",
            entries: &[SHA1],
            alone: true,
        },
        KernelInfo {
            name: MD5,
            sentence: "First word of the MD5 hash of every window.",
            entries: &[MD5],
            alone: true,
        },
    ],
    variants: &[
        Variant {
            name: "sha1",
            sentence: "SHA-1; at size paper 49,152 windows of 52 bytes, 384 blocks of 128.",
            launches: |request| vec![shape(request, SHA1)],
            program: |request| program(request, SHA1),
        },
        Variant {
            name: "md5",
            sentence: "The same windows with MD5.",
            launches: |request| vec![shape(request, MD5)],
            program: |request| program(request, MD5),
        },
    ],
};

const SHA1: &str = "sha1_windows";
const MD5: &str = "md5_windows";
const BLOCK: u32 = 128;
/// Number of bytes in a window.
const WINDOW: usize = 52;
/// Number of bytes from one window to the next.
const OFFSET: usize = 4;

fn blocks(size: Size) -> u32 {
    size.pick(12, 96, 384)
}

/// The requested kernel, or the variant's.
fn shape(request: &Request, default: &'static str) -> LaunchShape {
    let blocks = Dim3::linear(blocks(request.size));
    LaunchShape::once(request.only.unwrap_or(default), blocks, Dim3::linear(BLOCK))
}

fn program(request: &Request, default: &'static str) -> Box<dyn HostProgram> {
    let (shape, seed) = (shape(request, default), request.seed);
    Sequence::boxed(move |device| plan(device, shape, seed))
}

/// The last window ends with the buffer, so one thread of the grid has no window.
fn plan(device: &mut Device, shape: LaunchShape, seed: u64) -> Result<Plan, HostError> {
    let windows = (shape.grid.count() * shape.block.count()) as usize - 1;
    let buffer = input((windows - 1) * OFFSET + WINDOW, seed);
    let module = load(device, &WORKLOAD)?;
    let buffer_ptr = device.alloc_slice(&buffer)?;
    let hashes_ptr = alloc_output::<u32>(device, windows)?;
    let args = vec![
        Arg::Pointer(hashes_ptr),
        Arg::Pointer(buffer_ptr),
        Arg::U32(WINDOW as u32),
        Arg::U32(OFFSET as u32),
        Arg::U32(windows as u32),
    ];
    let launch = shape.launch(module, args);
    let hash = match shape.entry {
        SHA1 => hash::sha1_word,
        _ => hash::md5_word,
    };
    Ok(Plan::new(vec![launch], move |device| {
        let windows = buffer.windows(WINDOW).step_by(OFFSET);
        let expected: Vec<u32> = windows.map(hash).collect();
        let hashes = device.output(hashes_ptr, expected.len())?;
        Ok(vec![equal("hashes", &hashes, &expected)])
    }))
}

fn input(bytes: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..bytes).map(|_| rng.next_u32() as u8).collect()
}
