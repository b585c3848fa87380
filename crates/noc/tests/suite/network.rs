//! Networks as black boxes: latency, throughput, fairness, conservation, order.

use proptest::prelude::*;
use std::collections::VecDeque;
use warploom_base::{Rng, each_member};
use warploom_config::{Base, NocKind, NocSpec, PRESETS, karol, resolve};
use warploom_mem::{AccessKind, Request};
use warploom_noc::{Network, saturated_throughput, sustainable};

const KINDS: [NocKind; 4] = [
    NocKind::RandomCrossbar,
    NocKind::LocalCrossbar,
    NocKind::TurnCrossbar,
    NocKind::Fly,
];

fn spec(kind: NocKind) -> NocSpec {
    NocSpec {
        kind,
        flit_bytes: 32,
        input_buffer: 8,
        output_buffer: 8,
        injection_buffer: 9,
        boundary_buffer: 16,
        virtual_channels: 1,
        input_speedup: 1,
        output_speedup: 1,
        internal_speedup_percent: 200,
        hop_cycles: if kind == NocKind::Fly { 3 } else { 1 },
        sustainable_percent: None,
    }
}

/// A read whose token tells its packet from others.
fn packet(token: u32) -> Request {
    Request {
        token,
        ..Request::new(AccessKind::GlobalRead, 0, 32)
    }
}

/// Cycles from the injection of a lone packet of `bytes` bytes to its arrival at the output.
fn latency(spec: &NocSpec, bytes: u32) -> u64 {
    let mut net = Network::new(spec, 4, 4, 1);
    net.inject(1, 2, packet(7), bytes);
    for cycle in 1..100 {
        net.cycle();
        if net.front(2).is_some() {
            assert_eq!(net.pop(2).map(|p| p.token), Some(7));
            assert!(net.is_idle());
            return cycle;
        }
    }
    panic!("lost");
}

/// Puts waiting packets, given by their flits, into an input while there is room.
fn enter(net: &mut Network, waiting: &mut VecDeque<u32>, output: usize) {
    while let Some(&flits) = waiting.front()
        && net.has_room(0, flits)
    {
        net.inject(0, output, packet(flits), 32 * flits);
        waiting.pop_front();
    }
}

/// Flits for which `stays_full` answers true wait for as many cycles.
#[test]
fn what_stays_full_does() {
    for cycles in [1, 2, 5] {
        let mut net = Network::new(&spec(NocKind::Fly), 4, 4, 1);
        let (mut rng, mut waiting) = (Rng::new(cycles.into()), VecDeque::new());
        let mut said = [0, 0];
        for _ in 0..1_000 {
            if waiting.len() < 4 && rng.below(4) == 0 {
                waiting.push_back(1 + 4 * rng.below(2));
            }
            let stays = net.stays_full(0, waiting.iter().sum(), cycles);
            said[usize::from(stays)] += 1;
            let (mut later, mut left) = (net.clone(), waiting.clone());
            for _ in 0..cycles {
                enter(&mut later, &mut left, 2);
                later.cycle();
            }
            assert!(!(stays && left.is_empty()), "{waiting:?}");
            enter(&mut net, &mut waiting, rng.below(4) as usize);
            net.cycle();
            for output in (0..4).filter(|_| rng.below(3) > 0) {
                net.pop(output);
            }
        }
        assert!(said.iter().all(|times| *times > 20), "{said:?}");
    }
}

/// The outputs at which packets have arrived are those that have a front, after any takes.
#[test]
fn arrived_are_outputs_with_a_front() {
    for kind in KINDS {
        let (mut net, mut rng) = (Network::new(&spec(kind), 70, 70, 1), Rng::new(3));
        let (mut with, mut without) = (0, 0);
        for _ in 0..300 {
            for _ in 0..20 {
                let (input, output) = (rng.below(70) as usize, rng.below(70) as usize);
                let bytes = 32 + 32 * rng.below(3);
                if net.can_inject(input, bytes) {
                    net.inject(input, output, packet(0), bytes);
                }
            }
            net.cycle();
            let mut arrived = Vec::new();
            each_member!(net.arrived(), output => {
                arrived.push(output);
            });
            let fronts = (0..70).filter(|output| net.front(*output).is_some());
            assert_eq!(arrived, fronts.collect::<Vec<_>>(), "{kind:?}");
            (with, without) = (with + arrived.len(), without + 70 - arrived.len());
            for output in arrived.into_iter().filter(|_| rng.below(3) > 0) {
                net.pop(output);
            }
        }
        assert!(with.min(without) > 1_000, "{kind:?}: {with}, {without}");
    }
}

#[test]
fn latency_without_contention() {
    // Crossbars: flits, then hop_cycles - 1 more.
    assert_eq!(latency(&spec(NocKind::LocalCrossbar), 136), 1);
    assert_eq!(latency(&spec(NocKind::TurnCrossbar), 136), 1);
    assert_eq!(latency(&spec(NocKind::RandomCrossbar), 32), 1);
    assert_eq!(latency(&spec(NocKind::RandomCrossbar), 136), 5);
    // Fly: cycle 1 injects; the channel takes 2; in cycle 3 the router gives a virtual channel and
    // the switch (two steps a cycle), in cycle 4 the flit crosses; the channel takes 2.
    let fast = spec(NocKind::Fly);
    assert_eq!(latency(&fast, 32), 6);
    assert_eq!(latency(&fast, 136), 10);
    // One step a cycle: virtual channel, switch, traversal in cycles 3, 4, 5.
    let slow = NocSpec {
        internal_speedup_percent: 100,
        ..fast
    };
    assert_eq!(latency(&slow, 32), 7);
    let longer = NocSpec {
        hop_cycles: 5,
        ..slow
    };
    assert_eq!(latency(&longer, 32), 9);
}

/// Flits per port and cycle of a saturated network.
fn throughput(spec: &NocSpec, ports: usize, bytes: u32) -> f64 {
    saturated_throughput(spec, ports, ports, bytes, 20_000, 5)
}

#[test]
fn head_of_line_blocking_follows_karol() {
    // Karol, Hluchyj and Morgan 1987, table I; 0.5858 for infinitely many ports.
    let table = [
        (2, 0.75),
        (3, 0.6825),
        (4, 0.6553),
        (5, 0.6399),
        (8, 0.6184),
        (64, 0.5858),
    ];
    for (ports, expected) in table {
        let found = throughput(&spec(NocKind::RandomCrossbar), ports, 32);
        assert!(
            (found - expected).abs() < 0.015,
            "{ports}: {found} {expected}"
        );
    }
}

#[test]
fn long_packets_keep_their_output() {
    // 136 bytes are 5 flits; the law holds per flit.
    let found = throughput(&spec(NocKind::RandomCrossbar), 4, 136);
    assert!((found - 0.6553).abs() < 0.015, "{found}");
}

#[test]
fn what_a_gpu_sustains_is_its_setting_or_measured() {
    let gpu = |name: &str, sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        resolve(&Base::Preset(name.to_owned()), &sets).unwrap_or_else(|e| panic!("{e}"))
    };
    let maxwell = gpu("maxwell-duet", &[]);
    assert_eq!(sustainable(&maxwell), 0.6, "the paper's figure");
    let measured = sustainable(&gpu("maxwell-duet", &["noc.sustainable_percent=none"]));
    assert!((measured - karol(16)).abs() < 0.015, "{measured}");
    for preset in PRESETS {
        let found = sustainable(&gpu(preset.name, &[]));
        assert!((0.5..=1.0).contains(&found), "{}: {found}", preset.name);
    }
}

#[test]
fn one_output_takes_one_flit_a_cycle_and_shares_it_fairly() {
    for kind in [
        NocKind::RandomCrossbar,
        NocKind::LocalCrossbar,
        NocKind::Fly,
    ] {
        let mut net = Network::new(&spec(kind), 4, 2, 3);
        let mut got = [0_u32; 4];
        for _ in 0..2000 {
            for input in 0..4 {
                if net.can_inject(input, 32) {
                    net.inject(input, 1, packet(input as u32), 32);
                }
            }
            net.cycle();
            if let Some(p) = net.pop(1) {
                got[p.token as usize] += 1;
            }
        }
        let all: u32 = got.iter().sum();
        assert!((1990..=2000).contains(&all), "{kind:?}: {all}");
        assert!(
            got.iter().all(|n| n.abs_diff(all / 4) < 60),
            "{kind:?}: {got:?}"
        );
        assert!(net.counters().conflicts > 0);
    }
}

#[test]
fn a_slow_router_gives_a_virtual_channel_every_other_cycle() {
    let slow = NocSpec {
        internal_speedup_percent: 100,
        ..spec(NocKind::Fly)
    };
    let per_cycle = |channels| {
        let spec = NocSpec {
            virtual_channels: channels,
            ..slow
        };
        let mut net = Network::new(&spec, 1, 1, 0);
        let mut got = 0;
        for _ in 0..1000 {
            if net.can_inject(0, 32) {
                net.inject(0, 0, packet(0), 32);
            }
            net.cycle();
            got += u32::from(net.pop(0).is_some());
        }
        got
    };
    assert!((490..=500).contains(&per_cycle(1)));
    assert!((985..=1000).contains(&per_cycle(2)), "two channels hide it");
}

#[test]
fn an_output_that_nobody_empties_stops_its_inputs() {
    for kind in KINDS {
        let mut net = Network::new(&spec(kind), 2, 2, 3);
        for _ in 0..500 {
            if net.can_inject(0, 32) {
                net.inject(0, 0, packet(0), 32);
            }
            net.cycle();
        }
        assert!(!net.can_inject(0, 32) && net.can_inject(1, 32), "{kind:?}");
        let inside = net.counters().packets;
        // Crossbars: 8 + 8 packets. Fly: 9 to inject, 8 at the input, 8 ejected, 16 beyond.
        let most = if kind == NocKind::Fly { 41 } else { 16 };
        assert_eq!(inside, most, "{kind:?}");
    }
}

#[test]
fn skipping_idle_cycles_changes_nothing() {
    for kind in KINDS {
        let mut spec = spec(kind);
        spec.internal_speedup_percent = 150;
        let mut walked = Network::new(&spec, 2, 2, 3);
        let mut skipped = walked.clone();
        let mut out = [Vec::new(), Vec::new()];
        for (net, out) in [&mut walked, &mut skipped].into_iter().zip(&mut out) {
            for round in 0..20 {
                for n in 0..3 {
                    net.inject(n % 2, 0, packet(n as u32), 32);
                }
                for cycle in 0..40 {
                    net.cycle();
                    out.extend(net.pop(0).map(|p| (round, cycle, p.token)));
                }
                assert!(net.is_idle());
                net.cycle();
                net.cycle();
                net.cycle();
            }
        }
        assert_eq!(out[0], out[1], "{kind:?}");
        walked = Network::new(&spec, 2, 2, 3);
        skipped = walked.clone();
        for steps in [1, 2, 7, 1001] {
            (0..steps).for_each(|_| walked.cycle());
            skipped.skip(steps);
            for net in [&mut walked, &mut skipped] {
                net.inject(0, 1, packet(1), 136);
            }
            for _ in 0..40 {
                walked.cycle();
                skipped.cycle();
                assert_eq!(walked.pop(1), skipped.pop(1), "{kind:?} {steps}");
            }
        }
        assert_eq!(walked.counters(), skipped.counters());
    }
}

/// Injects `traffic` (input, output, bytes) as room allows, takes replies only in cycles that
/// `stalls` allows, and checks that every packet comes out once and in order.
fn conserve(
    spec: &NocSpec,
    traffic: &[(usize, usize, u32)],
    stalls: u64,
) -> Result<(), TestCaseError> {
    const PORTS: usize = 5;
    let mut net = Network::new(spec, PORTS, PORTS, 9);
    let mut waiting = vec![VecDeque::new(); PORTS];
    for (n, &(input, output, bytes)) in traffic.iter().enumerate() {
        waiting[input].push_back((n as u32, output, bytes));
    }
    let mut last = std::collections::BTreeMap::new();
    let mut left = traffic.len();
    for cycle in 0..20_000_u64 {
        for (input, queue) in waiting.iter_mut().enumerate() {
            if let Some(&(n, output, bytes)) = queue.front()
                && net.can_inject(input, bytes)
            {
                net.inject(input, output, packet(n), bytes);
                queue.pop_front();
            }
        }
        net.cycle();
        for output in 0..PORTS {
            if stalls >> (cycle % 64) & 1 == 1 {
                continue;
            }
            let Some(p) = net.pop(output) else { continue };
            let (input, wanted, _) = traffic[p.token as usize];
            prop_assert_eq!(wanted, output);
            let before = last.insert((input, output), p.token);
            prop_assert!(before < Some(p.token), "order");
            left -= 1;
        }
        if left == 0 {
            prop_assert!(net.is_idle());
            let bytes: u64 = traffic.iter().map(|t| u64::from(t.2)).sum();
            prop_assert_eq!(net.counters().packets, traffic.len() as u64);
            prop_assert_eq!(net.counters().bytes, bytes);
            return Ok(());
        }
    }
    Err(TestCaseError::fail(format!("{left} packets never came")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_comes_out_once(
        traffic in prop::collection::vec((0_usize..5, 0_usize..5, 8_u32..=136), 1..300),
        stalls in any::<u64>().prop_map(|bits| bits >> 1),
        speedup in 100_u32..300,
    ) {
        for kind in KINDS {
            let spec = NocSpec { internal_speedup_percent: speedup, ..spec(kind) };
            conserve(&spec, &traffic, stalls)?;
        }
    }

    #[test]
    fn virtual_channels_conserve_too(
        traffic in prop::collection::vec((0_usize..5, Just(0_usize), 8_u32..=136), 1..200),
        input_speedup in 1_u32..3,
    ) {
        // With one input in use per output, order holds within a virtual channel only: use one
        // input each.
        let traffic: Vec<_> = traffic.iter().map(|&(i, _, bytes)| (i, i, bytes)).collect();
        let spec = NocSpec {
            virtual_channels: 1,
            input_speedup,
            output_speedup: 2,
            ..spec(NocKind::Fly)
        };
        conserve(&spec, &traffic, 0)?;
    }
}

#[test]
fn several_virtual_channels_lose_nothing() {
    let spec = NocSpec {
        virtual_channels: 3,
        input_speedup: 2,
        output_speedup: 2,
        ..spec(NocKind::Fly)
    };
    let mut net = Network::new(&spec, 4, 4, 0);
    let mut rng = Rng::new(2);
    let mut seen = vec![0_u32; 3000];
    let mut sent = 0;
    for _ in 0..20_000 {
        let (input, output) = (rng.below(4) as usize, rng.below(4) as usize);
        let bytes = 8 + 32 * rng.below(5);
        if sent < seen.len() && net.can_inject(input, bytes) {
            net.inject(input, output, packet(sent as u32), bytes);
            sent += 1;
        }
        net.cycle();
        for output in 0..4 {
            if let Some(p) = net.pop(output) {
                seen[p.token as usize] += 1;
            }
        }
    }
    assert_eq!(sent, seen.len());
    assert!(net.is_idle() && seen.iter().all(|&n| n == 1));
}

/// `arrived` has the outputs at which `front` finds a packet.
#[test]
fn outputs_with_packets_are_found_at_once() {
    let kinds = KINDS.map(|kind| (kind, 1));
    for (kind, virtual_channels) in kinds.into_iter().chain([(NocKind::Fly, 3)]) {
        let spec = NocSpec {
            virtual_channels,
            ..spec(kind)
        };
        let mut net = Network::new(&spec, 70, 70, 0);
        let mut rng = Rng::new(3);
        for cycle in 0..2_000 {
            let (input, output) = (rng.below(70) as usize, rng.below(70) as usize);
            if cycle < 1_500 && net.can_inject(input, 40) {
                net.inject(input, output, packet(cycle), 40);
            }
            net.cycle();
            let mut arrived = Vec::new();
            each_member!(net.arrived(), output => { arrived.push(output); });
            let waiting = (0..70).filter(|output| net.front(*output).is_some());
            assert_eq!(arrived, waiting.collect::<Vec<_>>(), "{kind:?}");
            for output in arrived.into_iter().filter(|_| cycle % 3 == 0) {
                while net.pop(output).is_some() {}
            }
        }
        assert!(net.is_idle());
    }
}
