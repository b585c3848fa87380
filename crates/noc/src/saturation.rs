//! Saturation throughput of a network under uniform random traffic, measured on the network itself.

use crate::Network;
use warploom_base::Rng;
use warploom_config::{GpuSpec, NocSpec};
use warploom_mem::{AccessKind, Request};

/// Network cycles of a measurement: the share of the peak repeats within a third of a percent.
const CYCLES: u64 = 20_000;
/// Network cycles before the measurement, in which buffers fill.
const WARM_UP: u64 = 1_000;
/// Bytes of a cache line: the data of most replies.
const LINE_BYTES: u32 = 128;

/// Flits per cycle that cross a network, over the smaller of `inputs` and `outputs`: 1 is the peak.
/// Every input always has packets of `bytes` bytes, with outputs drawn for each packet, and every
/// output is emptied in every cycle.
pub fn saturated_throughput(
    spec: &NocSpec,
    inputs: usize,
    outputs: usize,
    bytes: u32,
    cycles: u64,
    seed: u64,
) -> f64 {
    let mut net = Network::new(spec, inputs, outputs, seed);
    let mut rng = Rng::new(seed.wrapping_add(1));
    let packet = Request::new(AccessKind::GlobalRead, 0, bytes as u16);
    let mut before = 0;
    for cycle in 0..WARM_UP + cycles {
        if cycle == WARM_UP {
            before = net.counters().flits;
        }
        for input in 0..inputs {
            while net.can_inject(input, bytes) {
                let output = rng.below(outputs as u32) as usize;
                net.inject(input, output, packet, bytes);
            }
        }
        net.cycle();
        for output in 0..outputs {
            net.pop(output);
        }
    }
    let flits = net.counters().flits - before;
    flits as f64 / (cycles as f64 * inputs.min(outputs) as f64)
}

/// Share of the peak that a GPU's network towards the SMs sustains with replies of whole lines: the
/// configured value, or else a measurement.
pub fn sustainable(spec: &GpuSpec) -> f64 {
    if let Some(percent) = spec.noc.sustainable_percent {
        return f64::from(percent) / 100.0;
    }
    let (banks, sms) = (spec.l2_banks() as usize, spec.gpu.sms as usize);
    let bytes = Request::HEADER_BYTES + LINE_BYTES;
    saturated_throughput(&spec.noc, banks, sms, bytes, CYCLES, spec.gpu.seed).min(1.0)
}
