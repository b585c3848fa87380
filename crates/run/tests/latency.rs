//! Chains of loads, each needing the one before, on every preset: what a load waits for on an idle
//! machine is what `GpuSpec::latencies` works out.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{GpuSpec, PRESETS, preset};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

/// One warp that follows pointers.
struct Chain {
    ptx: String,
    /// Offsets of the buffer's pointers: each leads to the next, the last to the first.
    offsets: Vec<u64>,
    launched: bool,
}

/// Every offset is added to an address with this many low bits zero.
const ALIGNED_BITS: u32 = 26;

impl HostProgram for Chain {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if std::mem::replace(&mut self.launched, true) {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("chain.ptx", &self.ptx)?;
        let start = device
            .alloc(2 << ALIGNED_BITS)?
            .0
            .next_multiple_of(1 << ALIGNED_BITS);
        let next = self.offsets.iter().cycle().skip(1);
        for (from, to) in self.offsets.iter().zip(next) {
            device.write_slice(DevicePtr(start + from), &[start + to])?;
        }
        let constant = device.variable(module, "c")?;
        device.write_slice(constant, &[constant.0])?;
        let args = vec![Arg::Pointer(DevicePtr(start))];
        let one = Dim3::linear(1);
        Ok(HostAction::Launch(Launch::new(module, "k", one, one, args)))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Cycles of a kernel that makes the loads `start`, then `load` `count` times.
fn cycles(spec: &GpuSpec, offsets: &[u64], load: &str, count: usize) -> u64 {
    let ptx = format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n.const .align 8 .u64 c;\n\
         .visible .entry k(.param .u64 buf) {{\n.reg .b64 %rd<4>;\n\
         .shared .align 8 .b8 s[64];\nld.param.u64 %rd1, [buf];\nmov.u64 %rd2, c;\n\
         mov.u64 %rd3, s;\nst.shared.u64 [%rd3], %rd3;\n{}st.shared.u64 [%rd3], %rd1;\n\
         st.shared.u64 [%rd3+8], %rd2;\nret;\n}}\n",
        load.repeat(count)
    );
    let mut program = Chain {
        ptx,
        offsets: offsets.to_vec(),
        launched: false,
    };
    let run = Session::new(spec.clone(), Options::default())
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("the kernel is sound");
    assert_eq!(run.outcome, Outcome::Finished);
    run.totals.figures.cycles
}

/// Core cycles of one more load, over the last half of `count`.
fn latency(spec: &GpuSpec, offsets: &[u64], load: &str, count: usize) -> f64 {
    let (half, whole) = (count / 2, count);
    let more = cycles(spec, offsets, load, whole) - cycles(spec, offsets, load, half);
    more as f64 / (whole - half) as f64
}

/// One address in every bank of the first channel, each in a row of its own.
fn first_touches(spec: &GpuSpec) -> Vec<u64> {
    let map = &spec.partition.address_map;
    let low = (1 << map.channel_bit) - 1;
    let deposit = |mut bank: u64| {
        let mut bits = 0;
        for bit in (0..64).filter(|bit| map.bank_mask >> bit & 1 == 1) {
            bits |= (bank & 1) << bit;
            bank >>= 1;
        }
        bits
    };
    (0..u64::from(spec.dram.banks))
        .map(deposit)
        .map(|at| ((at & !low) * u64::from(spec.gpu.channels)) | (at & low))
        .collect()
}

fn idle(name: &str) -> GpuSpec {
    let mut spec = preset(name).unwrap_or_else(|errors| panic!("{errors}"));
    // Not what is measured: fetch, the launch, and copies that leave the pointers in L2.
    spec.sm.perfect_inst_const_cache = true;
    spec.gpu.kernel_launch_cycles = 0;
    spec.gpu.copies_warm_l2 = false;
    spec
}

#[test]
fn an_idle_machines_loads_take_what_the_specification_implies() {
    for preset in PRESETS {
        let spec = idle(preset.name);
        let derived = spec.latencies();
        let clocks = spec.clocks;
        let one_clock = [clocks.noc_khz, clocks.l2_khz] == [clocks.core_khz; 2];
        let check = |level: &str, measured: f64, derived: u32, exact: bool| {
            // The first loads may meet what the kernel did before.
            let allowed = if exact { 0.1 } else { 2.0 };
            assert!(
                (measured - f64::from(derived)).abs() < allowed,
                "{} {level}: {measured} instead of {derived}",
                preset.name
            );
        };
        let load = |load: &str| format!("ld.{load};\n");
        let cached = load("global.ca.u64 %rd1, [%rd1]");
        let past_l1d = load("global.cg.u64 %rd1, [%rd1]");
        if let Some(l1d) = derived.l1d {
            check("l1d", latency(&spec, &[0], &cached, 64), l1d, true);
        }
        let shared = load("shared.u64 %rd3, [%rd3]");
        check(
            "shared",
            latency(&spec, &[0], &shared, 64),
            derived.shared,
            true,
        );
        let constant = load("const.u64 %rd2, [%rd2]");
        check(
            "constant",
            latency(&spec, &[0], &constant, 64),
            derived.constant,
            true,
        );
        check(
            "l2",
            latency(&spec, &[0], &past_l1d, 64),
            derived.l2,
            one_clock,
        );
        let touches = first_touches(&spec);
        check(
            "dram",
            latency(&spec, &touches, &past_l1d, touches.len()),
            derived.dram,
            false,
        );
    }
}
