//! Latencies and rates of the execution units.

use crate::memory::Chain;
use crate::rate::{Leaves, Repeated, figure, own};
use crate::{Answer, Benchmark, Family, Trouble, short};
use warploom_config::{
    CollectorSet, CollectorSpec, GpuSpec, ModelStyle, OpTiming, Products, UnitSpec, UnitSpecs,
};

const fn latency(
    name: &'static str,
    about: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
) -> Benchmark {
    Benchmark {
        name,
        family: Family::Units,
        about,
        unit: "core cycles",
        measure,
    }
}

pub(crate) const BENCHMARKS: &[Benchmark] = &[
    latency("int-add-latency", "dependent add.s32", |gpu| {
        chain(gpu, R, "add.s32 %r10, %r10, 7", |u| u.int_timing.add)
    }),
    latency("int-mul-latency", "dependent mul.lo.s32", |gpu| {
        chain(gpu, R, "mul.lo.s32 %r10, %r10, 7", |u| u.int_timing.mul)
    }),
    latency("int-mad-latency", "dependent mad.lo.s32", |gpu| {
        chain(gpu, R, "mad.lo.s32 %r10, %r10, 7, 3", |u| u.int_timing.mad)
    }),
    latency("f32-add-latency", "dependent add.f32", |gpu| {
        chain(gpu, F, "add.f32 %f10, %f10, 0f40000000", |u| {
            u.f32_timing.add
        })
    }),
    latency("f32-fma-latency", "dependent fma.rn.f32", |gpu| {
        chain(
            gpu,
            F,
            "fma.rn.f32 %f10, %f10, 0f3F000000, 0f40000000",
            |u| u.f32_timing.mad,
        )
    }),
    latency("f32-div-latency", "dependent div.rn.f32", |gpu| {
        chain(gpu, F, "div.rn.f32 %f10, %f10, 0f40000000", |u| {
            u.f32_timing.div
        })
    }),
    latency("f64-fma-latency", "dependent fma.rn.f64", |gpu| {
        let fma = "fma.rn.f64 %d10, %d10, 0d3FE0000000000000, 0d4000000000000000";
        chain(gpu, D, fma, |u| u.f64_timing.mad)
    }),
    latency("sfu-latency", "dependent sqrt.approx.f32", |gpu| {
        chain(gpu, F, "sqrt.approx.f32 %f10, %f10", |u| u.sfu_timing)
    }),
    latency("shuffle-latency", "dependent shfl.sync.idx.b32", |gpu| {
        let shuffle = "shfl.sync.idx.b32 %r10, %r10, 0, 31, -1";
        chain(gpu, R, shuffle, |u| u.shuffle_timing)
    }),
    rate("int-add-rate", "independent add.s32", |gpu| {
        let add = |i| format!("add.s32 %r{}, %r{}, 7", own(i), own(i));
        repeated(
            gpu,
            &add,
            gpu.int_unit(),
            int_set(gpu),
            Leaves::Integer,
            |u| u.int_timing.add,
        )
    }),
    rate("int-mul-rate", "independent mul.lo.s32", |gpu| {
        let mul = |i| format!("mul.lo.s32 %r{}, %r{}, 7", own(i), own(i));
        repeated(
            gpu,
            &mul,
            product_unit(gpu),
            product_set(gpu),
            Leaves::Integer,
            |u| u.int_timing.mul,
        )
    }),
    rate("int-mad-rate", "independent mad.lo.s32", |gpu| {
        let mad = |i| format!("mad.lo.s32 %r{}, %r{}, 7, 3", own(i), own(i));
        repeated(
            gpu,
            &mad,
            product_unit(gpu),
            product_set(gpu),
            Leaves::Integer,
            |u| u.int_timing.mad,
        )
    }),
    rate("f32-fma-rate", "independent fma.rn.f32", |gpu| {
        let fma = |i| {
            format!(
                "fma.rn.f32 %f{}, %f{}, 0f3F000000, 0f40000000",
                own(i),
                own(i)
            )
        };
        repeated(
            gpu,
            &fma,
            gpu.sm.units.sp,
            |c| c.sp,
            Leaves::Single,
            |u| u.f32_timing.mad,
        )
    }),
    rate("f64-fma-rate", "independent fma.rn.f64", |gpu| {
        let (a, b) = ("0d3FE0000000000000", "0d4000000000000000");
        let fma = |i| format!("fma.rn.f64 %d{}, %d{}, {a}, {b}", own(i), own(i));
        repeated(
            gpu,
            &fma,
            gpu.f64_unit(),
            f64_set(gpu),
            Leaves::Double,
            |u| u.f64_timing.mad,
        )
    }),
    rate("sfu-rate", "independent sqrt.approx.f32", |gpu| {
        let sqrt = |i| format!("sqrt.approx.f32 %f{}, %f{}", own(i), own(i));
        repeated(
            gpu,
            &sqrt,
            gpu.sm.units.sfu,
            |c| c.sfu,
            Leaves::Single,
            |u| u.sfu_timing,
        )
    }),
];

const fn rate(
    name: &'static str,
    about: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
) -> Benchmark {
    Benchmark {
        name,
        family: Family::Units,
        about,
        unit: "warp instructions per core cycle and SM",
        measure,
    }
}

/// Measures the rate of an instruction, which issue, stage widths, units and result bus limit.
fn repeated(
    gpu: &GpuSpec,
    instruction: &dyn Fn(usize) -> String,
    unit: UnitSpec,
    set: Set,
    leaves: Leaves,
    timing: fn(&UnitSpecs) -> OpTiming,
) -> Result<Answer, Trouble> {
    let measured = Repeated {
        setup: &[],
        instruction,
        leaves,
    }
    .interval(gpu)?;
    let timing = timing(&gpu.sm.units);
    let ports = collector_ports(gpu, set);
    let peak = gpu
        .instructions_per_cycle(unit, timing)
        .min(f64::from(ports));
    let how = format!(
        "min(issue {}, ID_OC {}, collectors {ports}, OC_EX {}, EX_WB {}, {} units / interval {})",
        gpu.peaks().issue_per_sm_cycle,
        unit.issue_width,
        unit.dispatch_width,
        gpu.sm.writeback_width,
        unit.count,
        timing.interval_cycles
    );
    let slack = gpu.arithmetic(timing.latency_cycles + timing.interval_cycles);
    let mut figure = figure(gpu, measured, 1.0 / peak, 1.0, &slack, &how);
    figure.peak = Some(peak);
    let (least, why) = starved(gpu, peak);
    figure.tolerance += peak - least;
    figure.arithmetic += &why;
    Ok(Answer::Figure(figure))
}

type Set = fn(&CollectorSpec) -> CollectorSet;

/// Set of the collectors of integer instructions.
fn int_set(gpu: &GpuSpec) -> Set {
    match gpu.sm.units.int.count {
        0 => |c| c.sp,
        _ => |c| c.int,
    }
}

/// Units that multiply integers.
fn product_unit(gpu: &GpuSpec) -> UnitSpec {
    match gpu.sm.products {
        Products::ByType => gpu.int_unit(),
        Products::Sfu => gpu.sm.units.sfu,
    }
}

/// Set of the collectors of multiplications of integers.
fn product_set(gpu: &GpuSpec) -> Set {
    match gpu.sm.products {
        Products::ByType => int_set(gpu),
        Products::Sfu => |c| c.sfu,
    }
}

/// Set of the collectors of f64 instructions.
fn f64_set(gpu: &GpuSpec) -> Set {
    match gpu.gpu.style {
        ModelStyle::V3 => int_set(gpu),
        ModelStyle::V4 if gpu.sm.units.dp.count > 0 => |c| c.dp,
        ModelStyle::V4 => |c| c.sfu,
    }
}

/// Instructions per core cycle that the collectors of a pipe and the general ones let pass.
fn collector_ports(gpu: &GpuSpec, set: Set) -> u32 {
    let collectors = &gpu.sm.collectors;
    let sets = [set(collectors), collectors.general];
    let ports = |set: CollectorSet| set.in_ports.min(set.out_ports);
    sets.map(ports).iter().sum::<u32>() * collectors.steps_per_cycle
}

/// Least rate if one scheduler starves, with the reason. 3.x runs the schedulers in a fixed order
/// (docs/model/sm.md, Issue). Where units take less than all schedulers issue, the last scheduler
/// may issue nothing until the others have ended, and then does the same work alone.
fn starved(gpu: &GpuSpec, peak: f64) -> (f64, String) {
    let schedulers = f64::from(gpu.sm.schedulers);
    let alone = peak.min(f64::from(gpu.sm.max_issue_per_warp));
    if gpu.gpu.style == ModelStyle::V4 || peak >= f64::from(gpu.peaks().issue_per_sm_cycle) {
        return (peak, String::new());
    }
    let least = schedulers / ((schedulers - 1.0) / peak + 1.0 / alone);
    let why = format!(
        "; the last of {schedulers} schedulers may be left alone at {}: at least {schedulers} / \
         (({schedulers} - 1) / {} + 1 / {}) = {}",
        short(alone),
        short(peak),
        short(alone),
        short(least)
    );
    (least, why)
}

const R: &str = "mov.u32 %r10, 1";
const F: &str = "mov.f32 %f10, 0f40000000";
const D: &str = "mov.f64 %d10, 0d4000000000000000";

fn chain(
    gpu: &GpuSpec,
    start: &'static str,
    link: &str,
    timing: fn(&UnitSpecs) -> OpTiming,
) -> Result<Answer, Trouble> {
    let latency = timing(&gpu.sm.units).latency_cycles;
    Chain::of(start, link).figure(gpu, &gpu.arithmetic(latency))
}
