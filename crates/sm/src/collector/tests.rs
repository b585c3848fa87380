//! Tests of collectors, their ports and banks, step by step.

use super::send::bits;
use super::*;
use crate::flight::FlightId;
use crate::stage::Issued;
use warploom_base::{KernelSlot, Pc, WarpSlot};
use warploom_config::{CollectorSet, UnitSpec, preset};

const NONE: CollectorSet = CollectorSet {
    units: 0,
    in_ports: 0,
    out_ports: 0,
};
const WIDTH: UnitSpec = UnitSpec {
    count: 1,
    issue_width: 2,
    dispatch_width: 2,
};

/// An SM of four banks with collectors for SP alone.
fn collectors(units: u32, ports: u32, style: ModelStyle) -> Collectors {
    let mut sm = preset("gtx480").expect("a preset").sm;
    let set = CollectorSet {
        units,
        in_ports: ports,
        out_ports: ports,
    };
    sm.collectors.banks = 4;
    sm.collectors.sp = set;
    for other in [
        &mut sm.collectors.dp,
        &mut sm.collectors.int,
        &mut sm.collectors.sfu,
        &mut sm.collectors.tensor,
        &mut sm.collectors.mem,
        &mut sm.collectors.general,
    ] {
        *other = NONE;
    }
    Collectors::new(&sm, [&WIDTH; Pipe::COUNT], style)
}

/// Runs one step, in which record n is of an instruction of warp 0 that reads `sources[n]`, or the
/// last of these.
fn step(c: &mut Collectors, nth: u64, sources: &[&[u16]]) -> BankReads {
    let reading = |n: usize| {
        let registers = sources[n.min(sources.len() - 1)];
        let bank = |register: &u16| 1 << c.banks.bank(*register, 0);
        let banks = registers
            .iter()
            .map(bank)
            .fold(0_u64, |all, bank| all | bank);
        Flight {
            latency: 1,
            interval: 1,
            warp: WarpSlot(0),
            kernel: KernelSlot(0),
            pc: Pc(n as u32),
            mem: None,
            banks,
            reads: registers.len() as u8,
            shares_banks: (banks.count_ones() as usize) < registers.len(),
            product: None,
        }
    };
    let mut flights = FlightPool::new(reading(0));
    for n in 0..16 {
        let id = flights.take().expect("a free record");
        flights[id] = reading(n);
    }
    c.step(nth, &flights, |flight| sources[flight.pc.index()])
}

fn issued(order: u64, sub: u8) -> Issued {
    Issued::new(FlightId(order as u16), order, sub)
}

/// Two fill the register behind, two the collectors, two wait before them: a step that moves
/// none of them is the last until something leaves the register.
#[test]
fn settled_collectors_wait_for_a_register() {
    let mut c = collectors(2, 1, ModelStyle::V4);
    let mut steps = 0;
    let mut step = |c: &mut Collectors| {
        steps += 1;
        step(c, steps, &[&[]]);
    };
    for order in 0..6 {
        while c.input.is_full(0, 0) {
            step(&mut c);
        }
        c.input.push(0, issued(order, 0));
    }
    while !c.is_settled() {
        step(&mut c);
    }
    assert_eq!((c.input.len(), c.busy, c.output.len()), (2, 2, 2));
    step(&mut c);
    assert_eq!((c.input.len(), c.busy, c.output.len()), (2, 2, 2));
    let first = c.output.oldest(0).expect("a full register");
    assert_eq!(first, issued(0, 0));
    c.output.take(0, first);
    assert!(!c.is_settled());
    step(&mut c);
    assert_eq!((c.input.len(), c.busy, c.output.len()), (1, 2, 2));
}

/// Steps until all instructions came out; the step after which each did, from 1.
fn arrivals(c: &mut Collectors, sources: &[&'static [u16]]) -> Vec<usize> {
    for i in 0..sources.len() {
        c.input.push(0, issued(i as u64, 0));
    }
    let mut out = Vec::new();
    for nth in 1..50 {
        step(c, nth as u64, sources);
        while let Some(issued) = c.output.oldest(0) {
            c.output.take(0, issued);
            out.push(nth);
        }
    }
    assert!(c.is_idle());
    out
}

#[test]
fn sources_take_one_step_more_than_none() {
    assert_eq!(arrivals(&mut collectors(1, 1, ModelStyle::V3), &[&[]]), [2]);
    assert_eq!(
        arrivals(&mut collectors(1, 1, ModelStyle::V3), &[&[1]]),
        [3]
    );
}

#[test]
fn a_collector_receives_one_operand_a_cycle_in_3_and_several_in_4() {
    assert_eq!(
        arrivals(&mut collectors(1, 1, ModelStyle::V3), &[&[0, 1, 2]]),
        [5]
    );
    assert_eq!(
        arrivals(&mut collectors(1, 1, ModelStyle::V4), &[&[0, 1, 2]]),
        [3]
    );
}

#[test]
fn one_bank_serves_one_read_a_cycle() {
    // Registers 0, 4 and 8 share bank 0.
    assert_eq!(
        arrivals(&mut collectors(1, 1, ModelStyle::V4), &[&[0, 4, 8]]),
        [5]
    );
    // Two instructions on one bank: the second waits a cycle.
    assert_eq!(
        arrivals(&mut collectors(2, 2, ModelStyle::V4), &[&[0], &[4]]),
        [3, 4]
    );
}

#[test]
fn writes_block_reads_of_their_bank() {
    let mut c = collectors(1, 1, ModelStyle::V4);
    let step = |c: &mut Collectors, nth| step(c, nth, &[&[3]]);
    c.input.push(0, issued(0, 0));
    step(&mut c, 0);
    assert_eq!(c.try_write(&[3], 0), 1);
    assert_eq!(c.try_write(&[7], 0), 0, "the same bank");
    assert_eq!(c.try_write(&[6], 0), 1, "another bank");
    assert_eq!(c.try_write(&[5, 6, 4], 0), 1, "as far as banks are idle");
    assert_eq!(c.try_write(&[4], 0), 1, "register 6's bank was busy");
    let reads = |served, waited| BankReads { served, waited };
    assert_eq!(step(&mut c, 1), reads(0, 1), "the read waited");
    assert_eq!(step(&mut c, 2), reads(1, 0));
    assert!((c.output.occupied() == 0));
    step(&mut c, 3);
    assert!(c.output.occupied() != 0);
}

#[test]
fn ports_limit_what_enters_and_leaves() {
    assert_eq!(
        arrivals(&mut collectors(2, 1, ModelStyle::V4), &[&[0], &[1]]),
        [3, 4]
    );
    assert_eq!(
        arrivals(&mut collectors(2, 2, ModelStyle::V4), &[&[0], &[1]]),
        [3, 3]
    );
}

#[test]
fn the_warp_moves_registers_to_other_banks() {
    let c = collectors(1, 1, ModelStyle::V3);
    assert_eq!((c.banks.bank(5, 0), c.banks.bank(5, 2)), (1, 3));
}

/// Volta: 4 schedulers, 16 banks, 8 general collectors, so 4 banks and 2 collectors each.
fn sub_cores() -> Collectors {
    let sm = preset("qv100-volta").expect("a preset").sm;
    let u = &sm.units;
    let widths = [&u.sp, &u.dp, &u.int, &u.sfu, &u.tensor, &u.mem];
    Collectors::new(&sm, widths, ModelStyle::V4)
}

#[test]
fn a_sub_core_has_banks_of_its_own() {
    let c = sub_cores();
    for warp in 0..64 {
        let own = u32::from(warp % 4) * 4;
        let banks: Vec<u32> = (0..8)
            .map(|register| c.banks.bank(register, warp))
            .collect();
        let expected = (0..8).map(|register| own + (register + u32::from(warp)) % 4);
        assert_eq!(banks, expected.collect::<Vec<_>>(), "warp {warp}");
    }
}

#[test]
fn a_sub_core_never_uses_collectors_of_another() {
    let mut c = sub_cores();
    let step = |c: &mut Collectors, nth| step(c, nth, &[&[1]]);
    // Three instructions of sub-core 0: the third waits for one of its two collectors.
    for order in 0..3 {
        let pipe = [Pipe::Sp, Pipe::Int, Pipe::Sfu][order as usize];
        c.input.push(pipe as usize, issued(order, 0));
    }
    step(&mut c, 0);
    assert_eq!(c.taken[0], 0b11);
    assert_eq!(c.input.len(), 1);
    // One of sub-core 3 takes one of the last two.
    c.input.push(Pipe::Dp as usize, issued(3, 3));
    step(&mut c, 1);
    assert_eq!(c.taken[0], 0b0100_0011);
}

#[test]
fn a_blocked_sub_core_holds_back_those_behind_it_in_the_same_register() {
    let mut c = sub_cores();
    let step = |c: &mut Collectors, nth| step(c, nth, &[&[]]);
    let mem = Pipe::Mem as usize;
    // Sub-core 0 fills its collectors and its output; then its next one waits in the input.
    for order in 0..4 {
        c.input.push(mem, issued(order, 0));
        step(&mut c, order);
    }
    c.input.push(mem, issued(9, 1));
    step(&mut c, 9);
    assert_eq!(c.input.len(), 2, "4.2 looks at the oldest alone");
    let out = c.output.oldest(mem).expect("the first is out");
    c.output.take(mem, out);
    step(&mut c, 10);
    step(&mut c, 11);
    assert!(c.input.for_unit(mem, 1).is_none(), "the way is free again");
}

#[test]
fn several_pipes_enter_a_general_set_in_one_cycle() {
    let mut c = sub_cores();
    for (order, pipe) in Pipe::ALL.into_iter().enumerate() {
        c.input
            .push(pipe as usize, issued(order as u64, order as u8 % 4));
    }
    step(&mut c, 0, &[&[]]);
    assert_eq!(c.input.occupied(), 0);
}

#[test]
fn dispatchers_go_on_with_the_next_sub_core() {
    let mut c = sub_cores();
    assert_eq!(c.counts.0, 8);
    c.sets[0].dispatchers = (0, 1);
    // Two ready instructions a sub-core, each of its own pipe, sub-cores 0 and 1.
    for (order, (sub, pipe)) in [(0, 0), (0, 1), (1, 2), (1, 3)].into_iter().enumerate() {
        c.input.push(pipe, issued(order as u64, sub));
    }
    let step = |c: &mut Collectors, nth| step(c, nth, &[&[]]);
    let mut sent = Vec::new();
    for nth in 0..5 {
        let before = c.ready[0];
        step(&mut c, nth);
        sent.extend(bits(before & !c.ready[0]));
    }
    assert_eq!(sent, [2, 0, 3, 1]);
}

/// Sets lie side by side in a word as long as they fit, and no collector belongs to two.
#[test]
fn every_collector_has_a_place_of_its_own() {
    let mut sm = preset("gtx480").expect("a preset").sm;
    for (sp, words) in [(6, 1), (54, 1), (55, 2), (64, 2)] {
        sm.collectors.sp.units = sp;
        let c = Collectors::new(&sm, [&WIDTH; Pipe::COUNT], ModelStyle::V3);
        assert_eq!((c.words, c.plain), (words, words == 1), "{sp} units");
        let mut number = 0;
        let mut seen = [0; WORDS];
        for (index, set) in c.sets[..c.used].iter().enumerate() {
            assert_eq!(set.mask.count_ones(), u32::from(set.units));
            assert_eq!(seen[usize::from(set.word)] & set.mask, 0);
            seen[usize::from(set.word)] |= set.mask;
            for place in bits(set.mask) {
                let collector = &c.collectors[set.at(place)];
                assert_eq!(usize::from(collector.set), index);
                assert_eq!(collector.number, number);
                number += 1;
            }
        }
        assert_eq!(usize::from(number), c.counts.1);
    }
}
