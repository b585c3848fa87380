//! Crossbar with random arbitration under saturation: head-of-line blocking as Karol, Hluchyj and
//! Morgan derived it (Input versus output queueing on a space-division packet switch, 1987).

use warploom_base::Rng;
use warploom_config::{NocKind, NocSpec};
use warploom_mem::{AccessKind, Request};
use warploom_noc::Network;

/// Table I of the paper: (ports, throughput); the last row is the limit for many ports.
const TABLE_I: [(usize, f64); 7] = [
    (2, 0.7500),
    (3, 0.6825),
    (4, 0.6553),
    (5, 0.6399),
    (6, 0.6302),
    (7, 0.6234),
    (8, 0.6184),
];
/// Limit of the throughput for many ports: 2 - sqrt(2).
const WITHOUT_BOUND: f64 = 0.5858;
/// Tolerance of the comparison.
const TOLERANCE: f64 = 0.015;
const CYCLES: usize = 20_000;

/// Throughput of the crossbar in packets of one flit per port and cycle. Every input always has
/// packets, with outputs drawn for each.
fn crossbar(ports: usize) -> f64 {
    let spec = NocSpec {
        kind: NocKind::RandomCrossbar,
        ..warploom_config::preset("gtx480")
            .unwrap_or_else(|errors| panic!("{errors}"))
            .noc
    };
    let mut net = Network::new(&spec, ports, ports, 5);
    let mut rng = Rng::new(11);
    let bytes = spec.flit_bytes;
    let packet = Request::new(AccessKind::GlobalRead, 0, bytes as u16);
    let mut delivered = 0;
    for _ in 0..CYCLES {
        for input in 0..ports {
            while net.can_inject(input, bytes) {
                let output = rng.below(ports as u32) as usize;
                net.inject(input, output, packet, bytes);
            }
        }
        net.cycle();
        delivered += (0..ports)
            .filter(|&output| net.pop(output).is_some())
            .count();
    }
    delivered as f64 / (CYCLES * ports) as f64
}

/// The paper's model by itself: every input has a head packet; in each slot every wanted output takes
/// one of the heads that want it, at random, and a packet for an output drawn at random becomes the
/// new head.
fn model(ports: usize) -> f64 {
    let mut rng = Rng::new(3);
    let mut draw = |below: usize| rng.below(below as u32) as usize;
    let mut heads: Vec<_> = (0..ports).map(|_| draw(ports)).collect();
    let mut served = 0;
    for _ in 0..CYCLES {
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); ports];
        for (input, &output) in heads.iter().enumerate() {
            wanted[output].push(input);
        }
        for inputs in wanted.iter().filter(|inputs| !inputs.is_empty()) {
            heads[inputs[draw(inputs.len())]] = draw(ports);
            served += 1;
        }
    }
    served as f64 / (CYCLES * ports) as f64
}

fn demand(ports: usize, expected: f64) {
    let found = crossbar(ports);
    assert!(
        (found - expected).abs() < TOLERANCE,
        "{ports} ports: {found}, not {expected}"
    );
}

#[test]
fn small_crossbars_sustain_what_the_paper_prints() {
    for (ports, expected) in TABLE_I {
        demand(ports, expected);
        let model = model(ports);
        assert!((model - expected).abs() < 0.005, "{ports}: {model}");
    }
}

#[test]
fn large_crossbars_sustain_what_the_papers_model_does() {
    for ports in [12, 16, 24, 27, 32, 48, 64] {
        let expected = model(ports);
        // Between eight ports and any number, and falling.
        assert!(
            (WITHOUT_BOUND - 0.005..TABLE_I[6].1).contains(&expected),
            "{ports}: {expected}"
        );
        demand(ports, expected);
    }
    demand(64, WITHOUT_BOUND);
}
