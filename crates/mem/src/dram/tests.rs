//! A channel driven cycle by cycle: a command is absent in cycle t-1 and issued in cycle t.

use super::*;
use crate::testing::{fermi_spec, volta_spec};
use crate::{AccessKind, Request};
use warploom_base::{ChannelId, SubPartitionId};
use warploom_config::ModelStyle;

/// A channel without the fixed delay, and L2 banks that only pass requests on.
struct Bench {
    channel: DramChannel,
    l2_banks: Vec<SubPartition>,
    sent: usize,
    answered: Vec<(u64, u64)>,
}

impl Bench {
    fn new(mut spec: GpuSpec) -> Self {
        spec.partition.dram_latency_cycles = 0;
        spec.partition.l2.enabled = false;
        let l2_bank = |id| SubPartition::new(&spec, SubPartitionId::new(id), 0);
        Self {
            channel: DramChannel::new(&spec),
            l2_banks: vec![l2_bank(0), l2_bank(1)],
            sent: 0,
            answered: Vec::new(),
        }
    }

    /// Hands a request to the scheduler, past all queues.
    fn send(&mut self, kind: AccessKind, addr: u64, bytes: u16) {
        // The only channel's L2 banks have the first numbers.
        let l2_bank = self.channel.decoder.sub_partition(addr).index();
        let request = Request::new(kind, addr, bytes);
        let ticket = self.channel.requests.add(&request, l2_bank as u8);
        self.channel.arbiter.borrow(l2_bank);
        let pending = self.channel.place(addr, ticket, 0);
        self.channel.device.enter(pending);
        self.channel.device.wake();
        self.sent += 1;
    }

    fn counters(&self) -> DramCounters {
        self.channel.counters()
    }

    /// Runs cycles up to `last`, noting which command cycles had a command.
    fn run(&mut self, last: u64) -> Vec<u64> {
        let mut commands = Vec::new();
        while self.channel.device.now() < last {
            let before = self.counters();
            self.channel.cycle(before.cycles, &mut self.l2_banks);
            if self.counters().idle_commands == before.idle_commands {
                commands.push(before.cycles);
            }
            for l2_bank in &mut self.l2_banks {
                while l2_bank.next_event(0).is_some() {
                    l2_bank.cycle(0);
                }
                while let Some(reply) = l2_bank.pop_reply() {
                    self.answered.push((before.cycles, reply.addr));
                }
            }
        }
        commands
    }
}

/// An address of channel 0 of the Fermi map.
fn at(bank: u64, row: u64, column: u64) -> u64 {
    let rest = row << 16 | bank >> 1 << 13 | column >> 8 << 9 | (bank & 1) << 8 | column & 0xff;
    ((rest >> 8) * 6) << 8 | rest & 0xff
}

#[test]
fn addresses_of_the_bench_decode_back() {
    let decoder = AddressDecoder::new(&fermi_spec());
    let place = decoder.decode(at(13, 5, 0x3c0));
    assert_eq!((place.channel, place.bank), (ChannelId(0), 13));
    assert_eq!((place.row, place.column), (5, 0x3c0));
}

#[test]
fn one_read_takes_activate_rcd_cl() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    // Activate in cycle 0, read at tRCD = 12, data CL = 12 after that, returned a cycle later.
    assert_eq!(bench.run(25), [0, 12]);
    assert_eq!(bench.answered, []);
    bench.run(26);
    assert_eq!(bench.answered, [(25, at(0, 1, 0))]);
    let c = bench.counters();
    assert_eq!((c.activates, c.precharges, c.reads, c.writes), (1, 0, 1, 0));
    assert_eq!((c.cycles, c.idle_commands, c.data_cycles), (26, 24, 2));
}

#[test]
fn a_line_takes_two_columns_ccdl_apart() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 128);
    assert_eq!(bench.run(30), [0, 12, 15], "64-byte atoms, tCCDL = 3");
    assert_eq!(bench.answered, [(28, at(0, 1, 0))]);
}

#[test]
fn reads_of_two_groups_go_ccd_apart() {
    let mut bench = Bench::new(fermi_spec());
    for bank in [0, 1] {
        bench.send(AccessKind::GlobalRead, at(bank, 1, 0), 32);
        bench.send(AccessKind::GlobalRead, at(bank, 1, 64), 32);
    }
    // Activates tRRD = 6 apart (bank 1 in cycle 6); reads 12 and 15 of bank 0, 18 and 21 of bank 1.
    assert_eq!(bench.run(40), [0, 6, 12, 15, 18, 21]);
}

#[test]
fn another_row_waits_for_ras_and_precharge() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(0, 2, 0), 32);
    // Precharge at tRAS = 28, activate at max(28 + tRP = 40, tRC = 40), read tRCD later.
    assert_eq!(bench.run(60), [0, 12, 28, 40, 52]);
    let c = bench.counters();
    assert_eq!(
        (c.activates, c.precharges, c.row_hits, c.row_misses),
        (2, 1, 0, 2)
    );
}

/// Use of the data bus during those two reads. Up to the first column (12), and from the second
/// activate (40) up to the second column (52), a request to an open row waits for tRCD. A column
/// uses the bus for tCCD = 2 cycles. The second request gets the bank in cycle 13, while the bus is
/// still in use; from 14 to 39 it waits for its row. From 54 on the bus is idle.
#[test]
fn every_cycle_of_the_bus_has_a_use() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(0, 2, 0), 32);
    bench.run(60);
    let detail = bench.channel.detail();
    assert_eq!(detail.bus, [4, 12 + 12, 26, 6], "{BUS_USES:?}");
    assert_eq!(detail.column_waits[0], 12 + 12, "{}", COLUMN_WAITS[0]);
    assert_eq!(detail.column_waits[1..], [0; 8]);
    // Counted before the commands of a cycle: a bank has its request up to its last column.
    assert_eq!((detail.busy_banks, detail.busy_cycles), (53, 53));
    assert_eq!((detail.open_banks, detail.open_cycles), (24, 24));
    assert_eq!((detail.ready_banks, detail.ready_cycles), (2, 2));
    assert_eq!((detail.open_groups, detail.write_shares), (24, 0));
}

/// Counts of those two reads by bank: requests, row changes, and cycles with a request (0 to 12 and
/// 13 to 52). The last row of a bank is 0 at first, so that the first request changes it, too.
#[test]
fn banks_are_told_apart() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(0, 2, 0), 32);
    bench.send(AccessKind::GlobalWrite, at(9, 1, 0), 128);
    bench.run(200);
    let detail = bench.channel.detail();
    let of = |bank: usize| {
        [
            detail.requests[bank],
            detail.reads[bank],
            detail.writes[bank],
            detail.row_changes[bank],
            detail.row_requests_max[bank].0,
        ]
    };
    assert_eq!(of(0), [2, 2, 0, 2, 1]);
    assert_eq!(of(9), [1, 0, 2, 1, 0], "64-byte atoms");
    assert_eq!(of(1), [0; 5]);
    let c = bench.counters();
    assert_eq!(detail.reads.iter().sum::<u64>(), c.reads);
    assert_eq!(detail.writes.iter().sum::<u64>(), c.writes);
    assert_eq!(detail.bus.iter().sum::<u64>(), c.cycles);
    let busy: u64 = detail.request_cycles.iter().sum();
    // The last column's own cycle is one in which the bank has its request, too.
    let requests: u64 = detail.requests.iter().sum();
    assert_eq!(detail.busy_banks, busy + requests);
}

/// A read after a write waits for the turnaround, and for nothing else once its own row and group
/// are ready.
#[test]
fn turnarounds_are_waited_for() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalWrite, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(1, 1, 0), 32);
    let commands = bench.run(100);
    let timing = bench.channel.device.timing();
    // The write goes out tRCDWR after its activate in 0, the read tWTR after that.
    assert_eq!(commands.last(), Some(&(timing.rcdwr + timing.wtr)));
    let detail = bench.channel.detail();
    let waits = |name: &str| {
        let at = COLUMN_WAITS.iter().position(|label| *label == name);
        detail.column_waits[at.expect("a label")]
    };
    // Its own row opened in tRRD, so that it is ready tRCD later; the bus is in use for tCCD after
    // the write.
    let alone = timing.wtr - timing.ccd;
    assert_eq!(waits("wtr"), alone);
    assert_eq!(waits("wtr_alone"), alone);
    assert_eq!((waits("rtw"), waits("ccdl")), (0, 0));
    // Until the write has gone, the share of writes among banks with an open row is 1 or 1/2.
    assert!(detail.write_shares > 0 && detail.write_shares < detail.open_cycles * WHOLE_SHARE);
}

#[test]
fn rc_holds_the_next_activate() {
    let mut spec = fermi_spec();
    spec.dram.timing.rc = 50;
    let mut bench = Bench::new(spec);
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(0, 2, 0), 32);
    assert_eq!(bench.run(63), [0, 12, 28, 50, 62]);
}

#[test]
fn a_read_after_a_write_waits_for_the_turnaround() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalWrite, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(0, 1, 64), 32);
    // Write at tRCDWR = 12 - (4 + 1) = 7; read tWTR = 4 + 2 + 5 = 11 later.
    assert_eq!(bench.run(40), [0, 7, 18]);
}

#[test]
fn a_write_after_a_read_waits_for_the_turnaround() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalWrite, at(0, 1, 64), 32);
    // tRTW = 12 + 2 + 2 - 4 = 12.
    assert_eq!(bench.run(40), [0, 12, 24]);
}

#[test]
fn precharge_after_a_write_waits_for_recovery() {
    let mut spec = fermi_spec();
    spec.dram.timing.ras = 10;
    spec.dram.timing.rc = 20;
    let mut bench = Bench::new(spec);
    bench.send(AccessKind::GlobalWrite, at(0, 1, 0), 32);
    bench.send(AccessKind::GlobalRead, at(0, 2, 0), 32);
    // tWTP = 4 + 2 + 12 = 18 after the write in cycle 7; activate tRP later; read tRCD later.
    assert_eq!(bench.run(60), [0, 7, 25, 37, 49]);
}

#[test]
fn buses_of_the_two_versions() {
    // Bank 4's row command and bank 0's column command are both possible in cycle 12.
    let commands = |style, dual_bus| {
        let mut spec = fermi_spec();
        (spec.gpu.style, spec.dram.dual_bus) = (style, dual_bus);
        spec.dram.timing.rrd = 12;
        let mut bench = Bench::new(spec);
        bench.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
        bench.send(AccessKind::GlobalRead, at(4, 1, 0), 32);
        bench.run(12);
        let before = bench.counters();
        bench.run(13);
        let after = bench.counters();
        (
            after.reads - before.reads,
            after.activates - before.activates,
        )
    };
    assert_eq!(commands(ModelStyle::V4, true), (1, 1), "a bus each");
    assert_eq!(
        commands(ModelStyle::V3, false),
        (0, 1),
        "bank 4 is first in turn"
    );
    assert_eq!(
        commands(ModelStyle::V4, false),
        (1, 1),
        "the column comes after the row"
    );
}

#[test]
fn hits_reach_the_peak_of_the_data_bus() {
    // Four banks of different groups, all reads to open rows: one column every tCCD = 2 cycles.
    let mut bench = Bench::new(fermi_spec());
    let mut next = 0;
    for _ in 0..4000 {
        while bench.channel.device.scheduler().len() < 60 {
            let (bank, column) = (next % 4, next / 4 * 64 % 2048);
            bench.send(AccessKind::GlobalRead, at(bank, 1, column), 64);
            next += 1;
        }
        let cycle = bench.counters().cycles + 1;
        bench.run(cycle);
    }
    let c = bench.counters();
    let utilisation = c.data_cycles as f64 / c.cycles as f64;
    assert!(utilisation > 0.99, "{utilisation}");
    assert_eq!(c.activates, 4);
}

#[test]
fn write_backs_end_here_and_writes_are_acknowledged() {
    let mut bench = Bench::new(fermi_spec());
    bench.send(AccessKind::L2WriteBack, at(0, 1, 0), 128);
    bench.send(AccessKind::GlobalWrite, at(0, 1, 128), 32);
    bench.run(60);
    assert_eq!(bench.answered.len(), 1);
    let c = bench.counters();
    assert_eq!((c.write_backs, c.writes), (2, 1));
    assert!(bench.channel.is_idle());
}

#[test]
fn skipping_idle_cycles_changes_nothing() {
    let mut walked = Bench::new(fermi_spec());
    walked.send(AccessKind::GlobalRead, at(0, 1, 0), 32);
    walked.run(30);
    let mut skipped = walked.channel.clone();
    assert!(skipped.is_idle());
    for step in [3, 1000] {
        walked.run(walked.counters().cycles + step);
        skipped.skip(step);
        assert_eq!(skipped.counters(), walked.counters());
    }
    assert_eq!(
        walked.counters().active_cycles,
        40,
        "tRC = 40 is the longest timer"
    );
}

#[test]
fn both_configurations_drain_random_traffic() {
    for spec in [fermi_spec(), volta_spec()] {
        let mut bench = Bench::new(spec.clone());
        let mut rng = warploom_base::Rng::new(3);
        let decoder = AddressDecoder::new(&spec);
        let mut reads = 0;
        for _ in 0..20_000 {
            let addr = u64::from(rng.next_u32()) & 0x0fff_ffe0;
            let mine = decoder.decode(addr).channel == ChannelId(0);
            if mine && !bench.channel.device.scheduler().is_full(false) {
                let kind = match rng.below(3) {
                    0 => AccessKind::L2WriteBack,
                    _ => AccessKind::GlobalRead,
                };
                reads += usize::from(kind == AccessKind::GlobalRead);
                bench.send(kind, addr, 32);
            }
            bench.run(bench.counters().cycles + 1);
        }
        bench.run(bench.counters().cycles + 20_000);
        assert_eq!(bench.answered.len(), reads);
        assert!(bench.channel.is_idle() && bench.sent > 500);
    }
}

/// A channel that runs every cycle has the same statistics, at any time, as one that skips cycles
/// in which nothing happens.
#[test]
fn rest_changes_nothing() {
    let mut apart = fermi_spec();
    (apart.dram.write_queue.size, apart.dram.write_queue.high) = (8, 6);
    apart.dram.write_queue.low = 3;
    let mut narrow = volta_spec();
    (narrow.dram.queue, narrow.dram.return_queue) = (2, 1);
    for spec in [fermi_spec(), volta_spec(), apart, narrow] {
        let (mut rests, mut works) = (Bench::new(spec.clone()), Bench::new(spec.clone()));
        let decoder = AddressDecoder::new(&spec);
        let mut rng = warploom_base::Rng::new(7);
        for _ in 0..3000 {
            let addr = u64::from(rng.next_u32()) & 0x00ff_ffe0;
            let kind = [AccessKind::GlobalRead, AccessKind::L2WriteBack][rng.below(2) as usize];
            let has_room = !rests.channel.device.scheduler().is_full(kind.is_write());
            if has_room && decoder.decode(addr).channel == ChannelId(0) {
                rests.send(kind, addr, 32);
                works.send(kind, addr, 32);
                rests.channel.device.look_ahead();
            }
            let until = rests.channel.device.now() + u64::from(rng.below(30));
            rests.run(until);
            while works.channel.device.now() < until {
                works.channel.device.wake();
                works.run(works.channel.device.now() + 1);
            }
            assert_eq!(rests.counters(), works.counters());
            assert_eq!(rests.channel.detail(), works.channel.detail());
        }
        assert_eq!(rests.answered, works.answered);
    }
}
