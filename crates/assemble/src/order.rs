//! Order of the instructions of each basic block.

use crate::body::Body;
use crate::dependences::Dependences;
use crate::lives::{Lives, Room};
use crate::schedule::{Bounds, Schedule, schedule};
use crate::sizes::sizes;
use crate::{Machine, Timing};
use warploom_ir::class;

/// Registers less than the limit that are tried as bounds, one after the other. Where none of the
/// ready instructions keeps to the bound, one that does not has to issue.
const SPARE: [u32; 6] = [0, 1, 2, 4, 8, 16];

/// Most instructions by which one may come before the first of the text that has not issued, as
/// they are tried. Without such a bound many cheap instructions issue early where others wait, and
/// their results take the registers of loads.
const AHEAD: [usize; 11] = [usize::MAX, 96, 64, 48, 40, 32, 28, 24, 20, 16, 12];

/// Predicates of a thread in machine code (CUDA Binary Utilities).
const PREDICATES: u32 = 7;

/// Reorders every block. The registers in use stay within `registers` and the predicates within
/// [`PREDICATES`], or within what the text needs at most, if that is more.
pub(crate) fn order(body: &mut Body, registers: u32, machine: &Machine) {
    let (cfg, live) = body.flow();
    let sizes = sizes(body);
    let lives = cfg.blocks.iter().enumerate().map(|(nth, block)| {
        let sets = [live.live_in(nth), live.live_out(nth)];
        Lives::new(body, &sizes, block.start..block.end, sets)
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
        let timings: Vec<Timing> = insts
            .iter()
            .map(|inst| (machine.timing)(class(inst.op)))
            .collect();
        let dependences = Dependences::new(&body.code(), range.clone(), machine);
        let fits = |order: &Schedule| lives.peak(order.order.iter().copied()).fits(limit);
        let shortest = SPARE.iter().find_map(|spare| {
            let bounds = AHEAD.map(|ahead| Bounds {
                room: limit.less(*spare),
                ahead,
            });
            let orders = bounds.map(|bounds| schedule(&dependences, lives, &timings, bounds));
            let fitting = orders.into_iter().filter(fits);
            fitting.min_by_key(|order| order.cycles)
        });
        match shortest {
            Some(Schedule { order, .. }) => all.extend(order.iter().map(|at| block.start + at)),
            None => all.extend(range),
        }
    }
    body.arrange(&all);
}
