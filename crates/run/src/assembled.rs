//! Kernels as an assembler makes them for the machine, where its specification asks for it.

use crate::device::Device;
use std::sync::Arc;
use warploom_assemble::{Machine, Passes, Timing, assemble};
use warploom_config::{GpuSpec, InstructionOrder};
use warploom_ir::Program;
use warploom_sm::class_timing;

/// Assembled form of a kernel that a device keeps.
pub(crate) struct Assembled {
    text: Arc<Program>,
    passes: Passes,
    registers: u32,
    program: Arc<Program>,
}

/// Program that runs for a kernel whose threads have `registers`: the one of its text, or what an
/// assembler makes of it for the machine. The device keeps it for further launches.
pub(crate) fn assembled(
    device: &mut Device,
    text: &Arc<Program>,
    registers: u32,
    spec: &GpuSpec,
) -> Arc<Program> {
    let passes = Passes {
        fold: spec.sm.folds_instructions,
        order: spec.sm.instruction_order == InstructionOrder::Assembler,
    };
    if !passes.fold && !passes.order {
        return Arc::clone(text);
    }
    let same = |known: &&Assembled| {
        let key = (known.registers, known.passes) == (registers, passes);
        key && Arc::ptr_eq(&known.text, text)
    };
    if let Some(known) = device.assembled.iter().find(same) {
        return Arc::clone(&known.program);
    }
    let loads = spec.latencies();
    let timing = |class| {
        let timing = class_timing(class, spec, &loads);
        Timing {
            unit: timing.pipe as u8,
            latency: timing.latency_cycles,
            interval: timing.interval_cycles,
        }
    };
    let machine = Machine {
        timing: &timing,
        guard_latency: spec.sm.guard_latency_cycles,
    };
    let program = match assemble(text, passes, registers, &machine) {
        Some(program) => Arc::new(program),
        None => Arc::clone(text),
    };
    device.assembled.push(Assembled {
        text: Arc::clone(text),
        passes,
        registers,
        program: Arc::clone(&program),
    });
    program
}
