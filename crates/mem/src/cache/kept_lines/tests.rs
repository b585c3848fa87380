//! Kept lines beside a data cache of two sets of one line.

use super::*;
use crate::cache::{Level, Sent};
use crate::testing::{cache_spec, fermi_spec, read, write};
use warploom_config::{LinebackerSettings, ModelStyle};

/// Bytes from a line to the next of its set.
const SET: u64 = 2 * 128;
/// Latency of a read of a kept line.
const LATENCY: Cycle = 4;

struct Bench {
    l1d: Cache,
    kept: KeptLines,
    /// Lines moved and dropped so far.
    moved: Moved,
}

impl Bench {
    /// Registers of 32 threads for `lines` lines, so for half as many ways.
    fn new(lines: u32, sectored: bool) -> Self {
        let settings = LinebackerSettings {
            latency_cycles: LATENCY as u32,
            ..LinebackerSettings::default()
        };
        Self::with(settings, lines, sectored)
    }

    fn with(settings: LinebackerSettings, lines: u32, sectored: bool) -> Self {
        let mut spec = fermi_spec();
        spec.l1d = cache_spec(2, 1);
        spec.l1d.sectored = sectored;
        spec.sm.registers = 32 * lines;
        spec.sm.l1d_victims = L1dVictims::Linebacker(settings);
        let l1d = Cache::new(&spec.l1d, Level::L1, ModelStyle::V4);
        let kept = KeptLines::new(&spec, Some(&l1d)).expect("a policy keeps lines");
        Self {
            l1d,
            kept,
            moved: Moved::default(),
        }
    }

    /// `access_by` of the load at 7.
    fn access(&mut self, now: Cycle, request: &Request) -> Option<Cycle> {
        self.access_by(Pc(7), now, request)
    }

    /// Offers an access of a load as the load/store unit does, and answers a miss. Returns the
    /// cycle in which the data have been read from a kept line, if one has them.
    fn access_by(&mut self, pc: Pc, now: Cycle, request: &Request) -> Option<Cycle> {
        let found = self.kept.find(now, &self.l1d, request);
        let access = match found {
            Some(_) => Access {
                outcome: AccessOutcome::Miss,
                sent: Sent::Nothing,
            },
            None => self.l1d.access(now, request),
        };
        let placed = self.l1d.take_placed();
        let by = (request, Some(pc));
        let taken = (access, found.is_some());
        let moved = self.kept.accessed(now, &self.l1d, by, taken, placed);
        self.moved.kept += moved.kept;
        self.moved.dropped += moved.dropped;
        while let Some(down) = self.l1d.pop_miss() {
            if !down.kind.is_write() {
                self.l1d.fill(now, down.entry, down.bytes);
            }
        }
        while self.l1d.next_ready().is_some() {}
        found
    }

    fn counts(&self) -> (u64, u64) {
        (self.moved.kept, self.moved.dropped)
    }
}

fn line(number: u64) -> Request {
    read(number * SET, 128)
}

/// Line 1 replaces line 0 in cycle 10, in which the port moves line 0. So a read of it can begin in
/// cycle 11 at the earliest, also if it comes in cycle 10, and the port takes one line a cycle.
#[test]
fn a_replaced_line_is_read_from_the_registers() {
    let mut bench = Bench::new(8, false);
    assert_eq!(bench.access(0, &line(0)), None);
    assert_eq!(bench.access(9, &line(0)), None, "the data cache has it");
    assert_eq!(bench.access(10, &line(1)), None);
    assert_eq!(bench.counts(), (1, 0));
    let reads = [(10, 11), (11, 12), (20, 20), (20, 21), (21, 22), (23, 23)];
    for (now, begins) in reads {
        let expected = Some(begins + LATENCY);
        assert_eq!(bench.access(now, &line(0)), expected, "read in cycle {now}");
    }
    assert_eq!(bench.l1d.counters().misses(), 2, "none of these");
    assert_eq!(bench.access(30, &read(SET + 128, 128)), None, "another set");
}

/// A line on its way is awaited, not looked for.
#[test]
fn the_data_cache_comes_first() {
    let mut bench = Bench::new(8, false);
    bench.access(0, &line(0));
    bench.access(1, &line(1));
    let down = Request::new(AccessKind::LocalRead, 0, 128);
    assert_eq!(bench.access(10, &down), None, "only global reads look here");
    assert_eq!(bench.access(11, &line(0)), None, "it is in the data cache");
    assert_eq!(bench.access(12, &line(1)), Some(12 + LATENCY));
    assert_eq!(bench.counts(), (2, 0));
    // The line that a read of local memory brought in is not kept.
    bench.access(13, &line(2));
    assert_eq!(bench.counts(), (2, 0));
}

/// Two ways a set: the line that was moved or read longest ago makes room.
#[test]
fn the_line_used_longest_ago_makes_room() {
    let mut bench = Bench::new(4, false);
    for number in 0..=2 {
        bench.access(10 * number, &line(number));
    }
    // Lines 0 and 1 are kept; line 0 is read, so that line 2 takes the place of line 1.
    assert!(bench.access(30, &line(0)).is_some());
    assert_eq!(bench.access(40, &line(3)), None);
    assert_eq!(bench.counts(), (3, 1));
    assert!(bench.access(50, &line(0)).is_some());
    assert!(bench.access(51, &line(2)).is_some());
    assert_eq!(bench.access(52, &line(1)), None);
}

/// In a window of 20 cycles load 7 finds nothing, and load 8 finds one of its two reads. From cycle
/// 20 on, the lines of load 8 are kept, and those of load 7 are not.
#[test]
fn lines_of_chosen_loads_are_kept() {
    let settings = LinebackerSettings {
        window_cycles: 20,
        hit_percent: 50,
        ..LinebackerSettings::default()
    };
    let mut bench = Bench::with(settings, 8, false);
    bench.access_by(Pc(7), 0, &line(0));
    bench.access_by(Pc(8), 10, &line(1));
    bench.access_by(Pc(8), 11, &line(1));
    assert_eq!(bench.counts(), (1, 0), "all lines are kept");
    bench.access_by(Pc(7), 20, &line(2));
    assert_eq!(bench.counts(), (2, 0), "line 1 is of load 8");
    bench.access_by(Pc(8), 30, &line(3));
    assert_eq!(bench.counts(), (2, 0), "line 2 is of load 7");
}

#[test]
fn a_write_drops_the_line() {
    let mut bench = Bench::new(8, false);
    bench.access(0, &line(0));
    bench.access(10, &line(1));
    bench.access(20, &write(64, 4));
    assert_eq!(bench.counts(), (1, 1));
    assert_eq!(bench.access(30, &line(0)), None);
}

/// Registers for 5 lines are two ways of two sets; for 3 lines one, and for 1 line none. The lines
/// of the ways that go are dropped, and those that come back are empty.
#[test]
fn blocks_take_registers_from_lines() {
    let mut bench = Bench::new(8, false);
    for number in 0..=4 {
        bench.access(10 * number, &line(number));
    }
    assert_eq!(bench.counts(), (4, 0), "four ways are full");
    let dropped = [5, 3, 1, 8].map(|lines| bench.kept.set_registers(32 * lines));
    assert_eq!(dropped, [2, 1, 1, 0]);
    assert_eq!(bench.access(50, &line(0)), None);
    assert_eq!(bench.counts(), (5, 0), "line 4 is kept");
    bench.kept.set_registers(32);
    bench.access(60, &line(1));
    assert_eq!(bench.counts(), (5, 0), "no way is left");
}

/// Only the sectors that the data cache had are kept, until it replaces the line with others.
#[test]
fn sectors_that_were_there_are_kept() {
    let mut bench = Bench::new(8, true);
    bench.access(0, &read(32, 32));
    bench.access(10, &read(SET, 32));
    assert_eq!(bench.access(20, &read(32, 32)), Some(20 + LATENCY));
    assert_eq!(bench.access(21, &read(64, 32)), None);
    assert_eq!(bench.access(30, &read(SET, 32)), Some(30 + LATENCY));
    assert_eq!(bench.access(40, &read(2 * SET, 32)), None);
    let both = [32, 64].map(|addr| bench.access(50 + addr, &read(addr, 32)));
    assert_eq!(both, [82, 114].map(|at| Some(at + LATENCY)));
    assert_eq!(bench.counts(), (3, 0));
}
