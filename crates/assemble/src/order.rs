//! Order of the instructions of each basic block.

use crate::Timing;
use crate::body::Body;
use crate::dependences::Dependences;
use crate::lives::{Lives, Room};
use crate::schedule::schedule;
use warploom_ir::{InstClass, class};

/// Shares of the limit, in eighths, that are tried one after the other.
const SHARES: [u32; 6] = [8, 7, 6, 5, 4, 3];

/// Predicates of a thread in machine code (CUDA Binary Utilities).
const PREDICATES: u32 = 7;

/// Reorders every block. The registers in use stay within `registers` and the predicates within
/// [`PREDICATES`], or within what the text needs at most, if that is more.
pub(crate) fn order(body: &mut Body, registers: u32, timing: &impl Fn(InstClass) -> Timing) {
    let (cfg, live) = body.flow();
    let lives = cfg.blocks.iter().enumerate().map(|(nth, block)| {
        let sets = [live.live_in(nth), live.live_out(nth)];
        Lives::new(body, block.start..block.end, sets)
    });
    let lives: Vec<Lives> = lives.collect();
    let peaks = cfg.blocks.iter().zip(&lives);
    let most = peaks.map(|(block, lives)| lives.peak(0..block.end - block.start));
    let room = Room {
        registers,
        predicates: PREDICATES,
    };
    let limit = most.fold(room, Room::max);
    let mut all = Vec::with_capacity(body.insts.len());
    for (block, lives) in cfg.blocks.iter().zip(&lives) {
        let range = block.start..block.end;
        let insts = &body.insts[range.clone()];
        let timings: Vec<Timing> = insts.iter().map(|inst| timing(class(inst.op))).collect();
        let dependences = Dependences::new(&body.code(), range.clone(), timing);
        let orders = SHARES.iter().map(|share| {
            let registers = limit.registers * share / 8;
            let limit = Room { registers, ..limit };
            schedule(&dependences, lives, &timings, limit)
        });
        let mut fitting = orders.filter(|order| lives.peak(order.iter().copied()).fits(limit));
        match fitting.next() {
            Some(order) => all.extend(order.into_iter().map(|at| block.start + at)),
            None => all.extend(range),
        }
    }
    body.arrange(&all);
}
