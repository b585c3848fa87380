//! Bandwidths that one SM sees.

use crate::kernel::memory_base;
use crate::rate::{COUNT, Leaves, Repeated, figure, own};
use crate::{Answer, Benchmark, Family, Figure, Trouble, short};
use warploom_config::{Coalescing, GpuSpec, NocKind};

/// Bytes that a warp moves with an access of four bytes per lane.
const WARP_BYTES: u32 = 128;
/// Size of a packet's header in bytes.
const HEADER: u32 = 8;
const SECTOR: u32 = 32;

const fn row(
    name: &'static str,
    about: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
) -> Benchmark {
    Benchmark {
        name,
        family: Family::Bandwidth,
        about,
        unit: "bytes per core cycle and SM",
        measure,
    }
}

pub(crate) const BENCHMARKS: &[Benchmark] = &[
    row(
        "shared-bandwidth",
        "four-byte loads from shared memory, no conflicts",
        |gpu| {
            let setup = [
                "mul.wide.u32 %rd2, %r1, 4",
                "mov.u64 %rd3, s",
                "add.u64 %rd2, %rd2, %rd3",
            ];
            let load = |i| format!("ld.shared.u32 %r{}, [%rd2+{}]", own(i), line(i));
            let measured = Repeated {
                setup: &setup,
                instruction: &load,
                leaves: Leaves::Integer,
            }
            .interval(gpu)?;
            let peak = f64::from(gpu.peaks().shared.bytes_per_cycle);
            let interval = f64::from(WARP_BYTES) / peak;
            let how = format!("{peak} bytes a cycle of all banks");
            let figure = figure(
                gpu,
                measured,
                interval,
                WARP_BYTES.into(),
                &gpu.shared_load(1),
                &how,
            );
            Ok(peaked(with_conflicts(gpu, figure), peak))
        },
    ),
    row("l1d-bandwidth", "four-byte loads that hit L1D", |gpu| {
        let Some(wait) = gpu.l1d_hit() else {
            return Ok(Answer::Absent("no L1D for global loads"));
        };
        let measured = global(gpu, "ld.global.nc.u32", 0)?;
        let peak = f64::from(gpu.peaks().l1d.bytes_per_cycle);
        let interval = (f64::from(WARP_BYTES) / peak).max(1.0);
        let how = format!("{peak} bytes a cycle");
        let figure = figure(gpu, measured, interval, WARP_BYTES.into(), &wait, &how);
        Ok(peaked(with_conflicts(gpu, figure), peak))
    }),
    row(
        "l2-read-bandwidth",
        "loads that bypass L1D and hit L2: the port of the network to the SM",
        |gpu| {
            let measured = global(gpu, "ld.global.cg.u32", APART)?;
            let bytes = match gpu.sm.coalescing {
                Coalescing::Segments => WARP_BYTES,
                Coalescing::SegmentsAndSectors | Coalescing::Sectors => SECTOR,
            };
            Ok(through_port(gpu, measured, bytes))
        },
    ),
    row(
        "l2-write-bandwidth",
        "stores that hit L2: the port of the network from the SM",
        |gpu| {
            let measured = global(gpu, "st.global.u32", APART)?;
            let bytes = match gpu.sm.coalescing {
                Coalescing::Sectors => SECTOR,
                _ => WARP_BYTES,
            };
            Ok(through_port(gpu, measured, bytes))
        },
    ),
];

fn peaked(figure: Figure, peak: f64) -> Answer {
    Answer::Figure(Figure {
        peak: Some(peak),
        ..figure
    })
}

/// Adds register-bank conflicts to the tolerance. Two loads in the collectors that read the same
/// bank cost a cycle. For warps in random order that is one load in as many as there are banks.
fn with_conflicts(gpu: &GpuSpec, figure: Figure) -> Figure {
    let split = if gpu.sm.sub_cores {
        gpu.sm.schedulers
    } else {
        1
    };
    let banks = gpu.sm.collectors.banks / split;
    let share = figure.implied / f64::from(banks + 1);
    Figure {
        tolerance: figure.tolerance + share,
        arithmetic: format!(
            "{}, and conflicts in {banks} banks of registers {}",
            figure.arithmetic,
            short(share)
        ),
        ..figure
    }
}

/// Distance of the lines of neighbouring warps in bytes: longer than the lines of a warp, and 256
/// times a number that is prime to usual numbers of channels, so that warps in lockstep use
/// different channels.
const APART: u64 = 23 * 256;

/// Number of lines of a warp.
const LINES: usize = 40;

/// Offset in bytes of the line of a warp's `i`-th access.
fn line(i: usize) -> usize {
    WARP_BYTES as usize * (i % LINES)
}

/// Measures accesses of whole lines; the first lines of warps are `apart` bytes apart.
fn global(gpu: &GpuSpec, operation: &str, apart: u64) -> Result<f64, Trouble> {
    let base = format!("add.u64 %rd2, %rd2, {}", memory_base()?);
    let place = format!("mad.wide.u32 %rd2, %r2, {apart}, %rd2");
    let setup = [
        "and.b32 %r6, %r1, 31",
        "mul.wide.u32 %rd2, %r6, 4",
        &place,
        &base,
    ];
    let stores = operation.starts_with("st");
    let access = |i| match stores {
        true => format!("{operation} [%rd2+{}], %r1", line(i)),
        false => format!("{operation} %r{}, [%rd2+{}]", own(i), line(i)),
    };
    // A load from the line of the last store, so that it takes the same path.
    let behind = || format!("ld.global.cg.u32 %r16, [%rd2+{}]", line(COUNT as usize - 1));
    Repeated {
        setup: &setup,
        instruction: &access,
        leaves: match stores {
            true => Leaves::Stored(behind()),
            false => Leaves::Integer,
        },
    }
    .interval(gpu)
}

/// Compares `measured` with the rate of packets with `bytes` of data each through the port of one
/// SM.
fn through_port(gpu: &GpuSpec, measured: f64, bytes: u32) -> Answer {
    let noc = &gpu.noc;
    let flits = (HEADER + bytes).div_ceil(noc.flit_bytes);
    let (cycles, why) = match noc.kind {
        NocKind::LocalCrossbar | NocKind::TurnCrossbar => {
            (1.0, "a packet a network cycle".to_owned())
        }
        NocKind::RandomCrossbar => (
            f64::from(flits),
            format!("{flits} flits, one a network cycle"),
        ),
        NocKind::Fly => {
            let steps = f64::from((flits + 1) * 100) / f64::from(noc.internal_speedup_percent);
            let cycles = f64::from(flits).max(steps);
            let why = format!(
                "{flits} flits, one a network cycle, and a router step for the next packet's \
                 virtual channel: max({flits}, ({flits} + 1) x 100 / {})",
                noc.internal_speedup_percent
            );
            (cycles, why)
        }
    };
    let ratio = f64::from(gpu.clocks.core_khz) / f64::from(gpu.clocks.noc_khz);
    // An SM sends and receives at most one packet per core cycle.
    let packet = (cycles * ratio).max(1.0);
    let packets = f64::from(WARP_BYTES / bytes);
    let how = format!(
        "{bytes} bytes a packet: {why}, x {ratio:.3} core cycles a network cycle, at least 1"
    );
    let peak = f64::from(noc.flit_bytes) / ratio;
    let interval = packet * packets;
    peaked(
        figure(
            gpu,
            measured,
            interval,
            WARP_BYTES.into(),
            &gpu.l2_hit(),
            &how,
        ),
        peak,
    )
}
