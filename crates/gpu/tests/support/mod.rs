//! Runs kernels that race, in steps or windows, and returns everything that can be observed.

#![allow(
    dead_code,
    reason = "every test binary uses its own part of this module"
)]

pub mod drawn_kernels;

use std::collections::BTreeMap;
use std::sync::Arc;

use warploom_base::{Cycle, Dim3, KernelSlot};
use warploom_config::{GpuSpec, preset};
use warploom_diag::Source;
use warploom_exec::{
    AddressMode, ChannelKind, Checks, DeviceMemory, FindingReport, LaunchContext, LaunchSpec,
    Texture, TextureTable,
};
use warploom_gpu::{Gpu, KernelLaunch, PartCounters, Probe, Recording, Stretches};
use warploom_ir::{GLOBAL_BASE, Program};
use warploom_state::{Io, State};

/// Bytes of each of the two allocations, one after the other.
const BYTES: u64 = 1 << 16;
const REGISTERS: u32 = 16;
/// Bytes that kernels may take by `malloc`.
const HEAP_BYTES: u64 = 1 << 17;

/// Blocks and threads of each.
pub type Grid = (u32, u32);

/// A kernel of these instructions, with the address of the first allocation as `buf`.
pub fn kernel(body: &str) -> Arc<Program> {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n\
         .extern .func (.param .b64 r) malloc(.param .b64 n);\n\
         .extern .func free(.param .b64 a);\n\
         .visible .entry k(.param .u64 buf) {{\n\
         .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<3>;\n{body}ret;\n}}\n"
    );
    let source = Source::new("ahead.ptx", text);
    let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
    let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(ir.refused.is_empty(), "{:?}", ir.refused);
    Arc::new(ir.kernels.into_iter().next().expect("one kernel"))
}

/// Specification of a preset.
pub fn spec(gpu: &str) -> GpuSpec {
    preset(gpu).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Everything that can be observed at the end of a run.
#[derive(PartialEq, Debug)]
pub struct Seen {
    /// Reason why the machine stopped, if not at the end.
    pub fault: Option<String>,
    pub at: Cycle,
    pub counters: PartCounters,
    pub memory: Vec<u8>,
    /// Text that kernels printed.
    pub printed: Vec<u8>,
    /// Findings of the launches' checks.
    pub findings: Vec<FindingReport>,
    /// Figures of the kernels that ended.
    pub ends: Vec<String>,
    /// Windows of counters, if they were recorded.
    pub recording: Option<Recording>,
}

/// How launches are made, besides their kernels.
#[derive(Clone, Copy, Default, Debug)]
pub struct Drawn {
    /// Blocks that are timed, if not all. Each gap fills some of what is loaded from with the
    /// number of its first block.
    pub stretches: Option<Stretches>,
    pub checks: Checks,
    /// Cycle in which the run is saved and goes on in another machine, and its number of threads.
    pub saved: Option<(Cycle, usize)>,
    /// Cycles of a window of counters, by part, if they are recorded.
    pub window: Option<Cycle>,
}

/// Cycles of a run that were run in windows.
#[derive(Clone, Copy)]
pub struct InWindows {
    pub in_windows: Cycle,
}

/// Runs two launches of each of several kernels at once, in steps or windows.
pub fn run_together(
    gpu: &GpuSpec,
    kernels: &[(Arc<Program>, Grid)],
    how: (usize, bool),
) -> (Seen, InWindows) {
    run_drawn(gpu, kernels, &Drawn::default(), how)
}

/// Runs kernels with the launch settings of a drawn case.
pub fn run_drawn(
    gpu: &GpuSpec,
    kernels: &[(Arc<Program>, Grid)],
    kind: &Drawn,
    (threads, ahead): (usize, bool),
) -> (Seen, InWindows) {
    let (mut memory, [buffer, second]) = filled_memory(kind);
    let mut gpu = machine(gpu, threads, kind);
    let mut fault = None;
    let mut saved = kind.saved;
    let mut ends = Vec::new();
    for _ in 0..2 {
        let mut launched = BTreeMap::new();
        for (program, grid) in kernels {
            let launch = launch(program, *grid, (gpu.spec(), kind.checks), buffer);
            let slot = gpu.launch(launch.clone(), &memory);
            if let Some(stretches) = kind.stretches {
                gpu.time_only(slot, stretches);
            }
            launched.insert(slot, launch);
        }
        let mut left = kernels.len();
        while left > 0 && fault.is_none() {
            while let Some((slot, gap)) = gpu.gap() {
                let filled = memory.fill(0, buffer, gap.start as u8, BYTES / 2);
                filled.expect("it is there");
                gpu.pass_gap(slot);
            }
            let limit = saved.map_or(Cycle::MAX, |(at, _)| at);
            let done = match ahead {
                true => gpu.advance(&mut memory, limit),
                false => gpu.step(&mut memory, limit),
            };
            match done {
                Ok(()) => {}
                Err(stop) => fault = Some(format!("{stop:?}")),
            }
            let ended = gpu.take_ended();
            left -= ended.len();
            ends.extend(ended.iter().map(|end| format!("{end:?}")));
            if let Some((at, threads)) = saved
                && gpu.now() >= at
            {
                saved = None;
                if gpu.can_be_saved() && fault.is_none() {
                    (gpu, memory) = in_another_machine(gpu, memory, threads, kind, &launched);
                }
            }
        }
    }
    let mut bytes = vec![0; BYTES as usize];
    let mut all = Vec::new();
    for base in [buffer, second] {
        memory.read(0, base, &mut bytes).expect("it is there");
        all.extend_from_slice(&bytes);
    }
    let seen = Seen {
        fault,
        at: gpu.now(),
        counters: gpu.part_counters(),
        memory: all,
        printed: memory.take_printed(0),
        findings: gpu.take_findings(),
        ends,
        recording: gpu.end_observation(),
    };
    let in_windows = gpu.cycles_in_windows();
    (seen, InWindows { in_windows })
}

/// Memory with both allocations and a heap, and the addresses of the allocations.
fn filled_memory(kind: &Drawn) -> (DeviceMemory, [u64; 2]) {
    let mut memory = empty_memory(kind);
    let buffer = memory.alloc(0, BYTES).expect("room");
    assert_eq!(buffer, GLOBAL_BASE);
    let second = memory.alloc(0, BYTES).expect("room");
    assert_eq!(second, buffer + BYTES, "one behind the other");
    let inputs: Vec<u8> = (0..2 * BYTES).map(|i| (i * 7 % 251) as u8).collect();
    let (first, other) = inputs.split_at(BYTES as usize);
    memory.write(0, buffer, first).expect("room");
    memory.write(0, second, other).expect("room");
    memory.limit_heap(0, HEAP_BYTES).expect("it is not there");
    memory.open_heap(0).expect("room");
    (memory, [buffer, second])
}

fn empty_memory(kind: &Drawn) -> DeviceMemory {
    let mut memory = DeviceMemory::new(1 << 20);
    if kind.checks.uninitialised {
        memory.track_initialised();
    }
    memory
}

fn machine(spec: &GpuSpec, threads: usize, kind: &Drawn) -> Gpu {
    let mut gpu = Gpu::new(spec.clone(), threads, Probe::default());
    if let Some(cycles) = kind.window {
        gpu.record_windows(cycles, true, None);
        gpu.count_parts();
    }
    gpu
}

/// Saves a machine and its memory, and restores both into new ones.
fn in_another_machine(
    mut gpu: Gpu,
    mut memory: DeviceMemory,
    threads: usize,
    kind: &Drawn,
    launched: &BTreeMap<KernelSlot, KernelLaunch>,
) -> (Gpu, DeviceMemory) {
    let mut io = Io::save();
    let slots: Vec<_> = gpu.slots_in_flight().collect();
    memory.state(&mut io).expect("saving cannot fail");
    gpu.state(&mut io).expect("saving cannot fail");
    let bytes = io.into_bytes();
    let mut other = machine(gpu.spec(), threads, kind);
    drop((gpu, memory));
    let mut memory = empty_memory(kind);
    let mut io = Io::restore(&bytes);
    memory
        .state(&mut io)
        .unwrap_or_else(|error| panic!("{error}"));
    for slot in slots {
        other.launch_again(slot, launched[&slot].clone(), &memory);
    }
    other
        .state(&mut io)
        .unwrap_or_else(|error| panic!("{error}"));
    io.end().unwrap_or_else(|error| panic!("{error}"));
    (other, memory)
}

/// A surface and texture of the first allocation, which handle 1 names.
fn textures(buffer: u64) -> TextureTable {
    let mut textures = TextureTable::default();
    textures.bind(Texture {
        base: buffer,
        width: BYTES as u32 / 4,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: BYTES as u32,
        channels: 1,
        channel_bits: 32,
        kind: ChannelKind::Unsigned,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    });
    textures
}

fn launch(
    program: &Arc<Program>,
    (blocks, threads): Grid,
    (machine, checks): (&GpuSpec, Checks),
    buffer: u64,
) -> KernelLaunch {
    let spec = LaunchSpec {
        grid: Dim3::linear(blocks),
        block: Dim3::linear(threads),
        max_shared_bytes: machine.sm.max_shared_bytes_per_block,
        barriers: machine.sm.barriers_per_block,
        params: buffer.to_le_bytes().to_vec(),
        textures: Arc::new(textures(buffer)),
        checks,
        ..LaunchSpec::default()
    };
    let context = LaunchContext::new(Arc::clone(program), spec);
    KernelLaunch {
        context: context.unwrap_or_else(|error| panic!("{error}")),
        program: Arc::clone(program),
        registers_per_thread: REGISTERS,
    }
}
