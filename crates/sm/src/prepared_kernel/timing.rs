//! Pipe, latency and interval of an instruction by its class.

use crate::pipe::Pipe;
use crate::units::HORIZON;
use warploom_config::{GpuSpec, Latencies, ModelStyle, OpTiming, Products, SmSpec, TypeTiming};
use warploom_ir::{InstClass, MemClass};

/// Issue's choice of a pipe (docs/model/sm.md, Instruction classes).
pub(super) fn pipe_of(class: InstClass, spec: &SmSpec, style: ModelStyle) -> Pipe {
    use InstClass as C;
    let units = &spec.units;
    let sfu_multiplies = spec.products == Products::Sfu;
    match class {
        C::Load(_) | C::Store(_) | C::Atomic(_) | C::CopyAsync | C::Bulk | C::Membar => Pipe::Mem,
        // 4.2 calls every division an SFU operation, with double-precision units too.
        C::Sfu | C::SfuScaled | C::SfuRounded | C::SfuF64 => Pipe::Sfu,
        C::IntDiv | C::F32Div | C::F32DivFast | C::F64Div => Pipe::Sfu,
        C::F64Add | C::F64MinMax | C::F64Mul | C::F64Mad if style == ModelStyle::V4 => {
            if units.dp.count > 0 {
                Pipe::Dp
            } else {
                Pipe::Sfu
            }
        }
        C::IntMul | C::IntMad if sfu_multiplies => Pipe::Sfu,
        C::F32Mul | C::F64Mul if sfu_multiplies => Pipe::SpOrSfu,
        C::F32Add | C::F32MinMax | C::F32Mul | C::F32Mad => Pipe::Sp,
        C::Tensor(_) | C::WarpGroup(_) => Pipe::Tensor,
        _ if units.int.count > 0 => Pipe::Int,
        _ => Pipe::Sp,
    }
}

/// Time of a class of instructions as an assembler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTiming {
    /// Pipe to which the class issues.
    pub pipe: Pipe,
    /// Cycles from its issue to that of an instruction that needs the result: of loads, if they hit
    /// L2.
    pub latency_cycles: u32,
    /// Cycles until the pipe takes another instruction of the same scheduler.
    pub interval_cycles: u32,
}

/// Time of a class of instructions on a GPU whose loads have the latencies `loads`.
pub fn class_timing(class: InstClass, spec: &GpuSpec, loads: &Latencies) -> ClassTiming {
    let sm = &spec.sm;
    let pipe = match pipe_of(class, sm, spec.gpu.style) {
        Pipe::SpOrSfu => Pipe::Sp,
        pipe => pipe,
    };
    let timing = timing_of(class, sm);
    let latency_cycles = match class {
        InstClass::Load(MemClass::Shared) | InstClass::Atomic(MemClass::Shared) => loads.shared,
        InstClass::Load(MemClass::Const | MemClass::Param) => loads.constant,
        InstClass::Load(_) | InstClass::Atomic(_) => loads.l2,
        InstClass::WarpGroup(_) => timing.latency_cycles,
        _ => timing.latency_cycles + sm.cycles_around_units(),
    };
    // All schedulers of an SM share its load/store unit.
    let interval_cycles = match pipe {
        Pipe::Mem => sm.schedulers,
        _ => timing.interval_cycles,
    };
    ClassTiming {
        pipe,
        latency_cycles,
        interval_cycles,
    }
}

/// Timing of a product of matrices that has `eighths` eighths of the size to which `timing`
/// applies.
fn in_proportion(timing: OpTiming, eighths: u8) -> OpTiming {
    let of = |cycles: u32| (cycles * u32::from(eighths)).div_ceil(8);
    OpTiming {
        latency_cycles: of(timing.latency_cycles),
        interval_cycles: of(timing.interval_cycles),
    }
}

/// Timing of a warp's part of a product of a warp group.
fn of_warp_group(spec: &SmSpec, eighths: u8) -> OpTiming {
    let single = spec.units.tensor_timing;
    let busy = match spec.warp_group_cycles {
        0 => in_proportion(single, eighths).interval_cycles,
        // Eight columns are four eighths.
        cycles => cycles * u32::from(eighths) / 4,
    };
    let then = match spec.warp_group_latency_cycles {
        0 => single.latency_cycles,
        cycles => cycles,
    };
    OpTiming {
        latency_cycles: (busy + then).min(HORIZON as u32 - 3),
        interval_cycles: busy,
    }
}

/// True for instructions that decide where, or when, a warp goes on.
pub(super) fn is_control(class: InstClass) -> bool {
    use InstClass::{Barrier, Branch, Call, Return};
    matches!(class, Branch | Call | Return | Barrier)
}

/// Latency and interval by class (docs/model/sm.md, Instruction classes).
pub(super) fn timing_of(class: InstClass, spec: &SmSpec) -> OpTiming {
    let mut timing = given_timing(class, spec);
    if is_control(class) {
        timing.latency_cycles = timing.latency_cycles.max(spec.branch_cycles);
    }
    match class {
        // The result of a product of a warp group passes neither collectors nor write-back.
        InstClass::WarpGroup(_) => timing,
        _ => OpTiming {
            latency_cycles: spec.cycles_in_unit(timing.latency_cycles),
            ..timing
        },
    }
}

/// Latency and interval by class, the latency counted from where the specification says.
fn given_timing(class: InstClass, spec: &SmSpec) -> OpTiming {
    let units = &spec.units;
    use InstClass as C;
    const SIMPLE: OpTiming = OpTiming {
        latency_cycles: 1,
        interval_cycles: 1,
    };
    let plus_one = |t: OpTiming| OpTiming {
        latency_cycles: t.latency_cycles + 1,
        interval_cycles: t.interval_cycles + 1,
    };
    let of = |t: &TypeTiming, class| match class {
        C::IntAdd | C::F32Add | C::F64Add => t.add,
        C::IntMinMax | C::F32MinMax | C::F64MinMax => t.minmax,
        C::IntMul | C::F32Mul | C::F64Mul => t.mul,
        C::IntMad | C::F32Mad | C::F64Mad => t.mad,
        _ => t.div,
    };
    match class {
        C::IntMul24 => plus_one(units.int_timing.mul),
        C::IntMad24 => plus_one(units.int_timing.mad),
        C::IntAdd | C::IntMinMax | C::IntMul | C::IntMad | C::IntDiv => {
            of(&units.int_timing, class)
        }
        C::F32Add | C::F32MinMax | C::F32Mul | C::F32Mad | C::F32Div => {
            of(&units.f32_timing, class)
        }
        C::F64Add | C::F64MinMax | C::F64Mul | C::F64Mad | C::F64Div => {
            of(&units.f64_timing, class)
        }
        C::F32DivFast | C::SfuScaled | C::SfuRounded | C::SfuF64 => function_timing(class, spec),
        C::Sfu => units.sfu_timing,
        C::Tensor(work) => in_proportion(units.tensor_timing, work),
        C::WarpGroup(work) => of_warp_group(spec, work),
        C::Shuffle => units.shuffle_timing,
        _ => SIMPLE,
    }
}

/// Timing of the functions that are several machine instructions, one of them in the SFU.
fn function_timing(class: InstClass, spec: &SmSpec) -> OpTiming {
    use InstClass as C;
    let (sfu, f32) = (spec.units.sfu_timing, spec.units.f32_timing);
    let after = |products: u32| OpTiming {
        latency_cycles: sfu.latency_cycles + products * f32.mul.latency_cycles,
        ..sfu
    };
    let comparison = f32.minmax.latency_cycles.max(spec.guard_latency_cycles);
    match class {
        C::F32DivFast if !spec.machine_instructions => f32.div,
        _ if !spec.machine_instructions => sfu,
        C::F32DivFast => after(1),
        // A comparison that guards a product before and one after.
        C::SfuScaled => {
            let mut timing = after(2);
            timing.latency_cycles += comparison;
            timing
        }
        C::SfuF64 => spec.units.f64_timing.div,
        _ if spec.root_latency_cycles == 0 => sfu,
        _ => OpTiming {
            latency_cycles: spec.root_latency_cycles,
            ..sfu
        },
    }
}
