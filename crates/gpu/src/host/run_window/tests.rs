//! Blocks that are given out within a window.

use crate::{Gpu, KernelLaunch, Probe};
use std::sync::Arc;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_diag::Source;
use warploom_exec::{DeviceMemory, LaunchContext, LaunchSpec};

const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry k() { ret; }
";

fn launch(blocks: u32) -> KernelLaunch {
    let source = Source::new("k.ptx", PTX);
    let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
    let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
    let program = Arc::new(ir.kernels.into_iter().next().expect("one kernel"));
    let spec = LaunchSpec {
        grid: Dim3::linear(blocks),
        block: Dim3::linear(32),
        ..LaunchSpec::default()
    };
    let context = LaunchContext::new(Arc::clone(&program), spec);
    KernelLaunch {
        context: context.unwrap_or_else(|error| panic!("{error}")),
        program,
        registers_per_thread: 16,
    }
}

/// Some SMs wait for a cycle to begin, or in it, while others come to it: its blocks have been
/// given out then.
#[test]
fn an_sm_takes_a_block_a_cycle_however_often_it_waits_in_it() {
    let mut spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    spec.gpu.kernel_launch_cycles = 0;
    let mut gpu = Gpu::new(spec, 1, Probe::default());
    gpu.launch(launch(100), &DeviceMemory::new(1 << 16));
    let now = gpu.now();
    gpu.window.begin(now, &mut gpu.sms);
    let mut waiting = |cycle| {
        gpu.give_blocks(cycle);
        let kernel = gpu.dispatcher.in_flight().next();
        kernel.expect("it is in flight").waiting()
    };
    let left = [now, now, now + 1, now + 1, now + 3].map(&mut waiting);
    assert_eq!(left, [85, 85, 70, 70, 55]);
}
