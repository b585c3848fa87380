//! Assignments of blocks to SMs, derived by hand: a grid of 4 x 4 blocks on two SMs with four slots
//! each (Chen 2016, Fig. 2.3). The SMs take blocks in turn, one per cycle, until both are full.
//! Then the oldest block of each SM ends in turn.

use super::{Bcs, BlockQueueView, BlockScheduler, Locality, RoundRobin};
use crate::range::{ArrayRect, Footprint};
use std::collections::VecDeque;
use std::fmt::Write as _;
use warploom_base::{KernelSlot, Rect, SmId};
use warploom_config::BlockLocalitySettings;

const SIDE: u64 = 4;
const SLOTS: usize = 4;

/// A kernel of 16 blocks and the blocks that two SMs hold.
struct Scene {
    touches: fn(u64) -> Footprint,
    window: VecDeque<u64>,
    next: u64,
    running: [Vec<u64>; 2],
    given: [Vec<u64>; 2],
}

impl Scene {
    fn new(touches: fn(u64) -> Footprint) -> Self {
        Self {
            touches,
            window: VecDeque::new(),
            next: 0,
            running: [Vec::new(), Vec::new()],
            given: [Vec::new(), Vec::new()],
        }
    }

    /// Offers a block to one SM. Returns whether the SM took one.
    fn offer(&mut self, policy: &mut dyn BlockScheduler, sm: usize) -> bool {
        while self.window.len() < policy.look_ahead() && self.next < SIDE * SIDE {
            self.window.push_back(self.next);
            self.next += 1;
        }
        let room = SLOTS - self.running[sm].len();
        if room == 0 || self.window.is_empty() {
            return false;
        }
        let touches = |ranks: &Vec<u64>| -> Vec<Footprint> {
            ranks.iter().map(|rank| (self.touches)(*rank)).collect()
        };
        let waiting: Vec<u64> = self.window.iter().copied().collect();
        let view = BlockQueueView {
            kernel: KernelSlot(0),
            blocks_per_sm: SLOTS as u32,
            room: room as u32,
            waiting_touches: &touches(&waiting),
            waiting: &waiting,
            running_touches: &self.running.iter().map(touches).collect::<Vec<_>>(),
            running: &self.running,
        };
        let Some(at) = policy.pick(SmId::new(sm), &view) else {
            return false;
        };
        let rank = self.window.remove(at).expect("a position in the window");
        self.running[sm].push(rank);
        self.given[sm].push(rank);
        true
    }

    /// Offers to both SMs, cycle by cycle, until neither takes a block.
    fn fill(&mut self, policy: &mut dyn BlockScheduler) {
        while self.offer(policy, 0) | self.offer(policy, 1) {}
    }

    fn run(mut self, policy: &mut dyn BlockScheduler) -> String {
        self.fill(policy);
        while self.running.iter().any(|running| !running.is_empty()) {
            for sm in 0..2 {
                if !self.running[sm].is_empty() {
                    self.running[sm].remove(0);
                    self.fill(policy);
                }
            }
        }
        let mut text = String::new();
        for (sm, given) in self.given.iter().enumerate() {
            let _ = writeln!(text, "SM {sm}: {given:?}");
        }
        text
    }
}

/// Footprints where the blocks of one row of the grid share a row of eight lines.
fn rows(rank: u64) -> Footprint {
    one(Rect {
        x: 0,
        y: (rank / SIDE) as i32,
        width: 8,
        height: 1,
    })
}

/// Footprints where the blocks of one column of the grid share a column of eight lines.
fn columns(rank: u64) -> Footprint {
    one(Rect {
        x: (rank % SIDE) as i32,
        y: 0,
        width: 1,
        height: 8,
    })
}

fn nothing(_: u64) -> Footprint {
    Footprint::default()
}

fn one(rect: Rect) -> Footprint {
    let mut footprint = Footprint::default();
    footprint[0] = Some(ArrayRect { array: 0, rect });
    footprint
}

fn locality() -> Locality {
    Locality::new(BlockLocalitySettings::default())
}

#[test]
fn rr_alternates() {
    let text = "SM 0: [0, 2, 4, 6, 8, 10, 12, 14]\nSM 1: [1, 3, 5, 7, 9, 11, 13, 15]\n";
    assert_eq!(Scene::new(rows).run(&mut RoundRobin), text);
}

/// A free slot stays empty until there is a second one on the SM.
#[test]
fn bcs_gives_consecutive_pairs() {
    let text = "SM 0: [0, 1, 4, 5, 8, 9, 12, 13]\nSM 1: [2, 3, 6, 7, 10, 11, 14, 15]\n";
    assert_eq!(Scene::new(rows).run(&mut Bcs::default()), text);
}

#[test]
fn locality_gives_whole_rows_where_rows_share_lines() {
    let text = "SM 0: [0, 1, 2, 3, 8, 9, 10, 11]\nSM 1: [4, 5, 6, 7, 12, 13, 14, 15]\n";
    assert_eq!(Scene::new(rows).run(&mut locality()), text);
}

#[test]
fn locality_gives_whole_columns_where_columns_share_lines() {
    let text = "SM 0: [0, 4, 8, 12, 2, 6, 10, 14]\nSM 1: [1, 5, 9, 13, 3, 7, 11, 15]\n";
    let mut policy = locality();
    assert_eq!(Scene::new(columns).run(&mut policy), text);
    assert!(policy.reordered() > 0);
}

#[test]
fn without_locality_blocks_go_in_order() {
    let mut policy = locality();
    let text = Scene::new(nothing).run(&mut policy);
    assert_eq!(text, Scene::new(nothing).run(&mut RoundRobin));
    assert_eq!(policy.reordered(), 0);
}

/// A kernel with unknown footprints runs as under `rr`.
#[test]
fn locality_without_footprints_takes_the_oldest() {
    let view = BlockQueueView {
        kernel: KernelSlot(0),
        blocks_per_sm: 4,
        room: 4,
        waiting: &[7, 8],
        running: &[],
        waiting_touches: &[],
        running_touches: &[],
    };
    assert_eq!(locality().pick(SmId(0), &view), Some(0));
}

/// Blocks that share no line keep their order, however far apart their lines are. A distance of 256
/// would be 0 in a field of one byte, as in Table 5.2 of the thesis.
#[test]
fn blocks_that_share_no_line_have_no_locality() {
    let far = |rank: u64| {
        one(Rect {
            x: 256 * (rank % 2) as i32,
            y: rank as i32 / 2,
            width: 1,
            height: 1,
        })
    };
    let mut policy = locality();
    let text = Scene::new(far).run(&mut policy);
    assert_eq!(text, Scene::new(far).run(&mut RoundRobin));
    assert_eq!(policy.reordered(), 0);
}

/// Blocks 0 and 8 share lines. A queue of 8 blocks does not contain block 8 when the SM of block 0
/// takes its second block.
#[test]
fn the_queue_limits_how_far_blocks_are_found() {
    let pair = |rank: u64| {
        one(Rect {
            x: if rank == 8 { 0 } else { rank as i32 },
            y: 0,
            width: 1,
            height: 1,
        })
    };
    let second = |queue| {
        let mut scene = Scene::new(pair);
        let mut policy = Locality::new(BlockLocalitySettings {
            queue,
            ..BlockLocalitySettings::default()
        });
        scene.offer(&mut policy, 0);
        scene.offer(&mut policy, 0);
        scene.given[0][1]
    };
    assert_eq!([second(7), second(8)], [1, 8]);
    let ideal = Locality::new(BlockLocalitySettings {
        ideal: true,
        ..BlockLocalitySettings::default()
    });
    assert_eq!((locality().look_ahead(), ideal.look_ahead()), (128, 4096));
}

/// The last block of a grid with an odd number of blocks needs one free slot only.
#[test]
fn bcs_lets_a_lone_block_go() {
    let mut scene = Scene::new(nothing);
    scene.next = 15;
    scene.running[0] = vec![90, 91, 92];
    assert!(scene.offer(&mut Bcs::default(), 0));
    assert_eq!(scene.given[0], [15]);
}

/// The second block of a pair is reserved for the SM that took the first one.
#[test]
fn bcs_owes_the_second_block() {
    let mut scene = Scene::new(nothing);
    let mut bcs = Bcs::default();
    let owed = |bcs: &Bcs| [0, 1].map(|sm| bcs.owed(SmId(sm)));
    assert_eq!(owed(&bcs), [None, None]);
    scene.offer(&mut bcs, 1);
    assert_eq!(owed(&bcs), [None, Some(KernelSlot(0))]);
    scene.offer(&mut bcs, 0);
    assert_eq!(owed(&bcs), [Some(KernelSlot(0)); 2]);
    scene.offer(&mut bcs, 1);
    assert_eq!(owed(&bcs), [Some(KernelSlot(0)), None]);
    assert_eq!(scene.given, [vec![2], vec![0, 1]]);
    assert_eq!(RoundRobin.owed(SmId(0)), None);
}
