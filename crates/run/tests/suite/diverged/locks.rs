//! Kernels in which lanes of a warp take a lock one after the other.
//!
//! On a divergence stack, a lane with the lock waits for those that spin if the loop's exit is
//! their reconvergence point. If the lock is released inside of the loop, all lanes get it.

use crate::diverged::code::{Bin, Cmp, Form, INPUTS, Kernel, Op, Opd, WarpOp, reg};
use crate::diverged::draw::{BRANCH, Draw, GUARD, HASH, LANE, RESULT};
use warploom_base::Rng;

/// Behaviour of a kernel where lanes make no progress while others of their warp spin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spin {
    /// The kernel ends normally.
    Ends,
    /// Lanes spin for ever and return to the same state.
    Stays,
    /// Lanes spin for ever and count their iterations, which cannot be detected as a loop.
    Counts,
}

/// Generates a kernel with a lock.
pub fn draw_lock(rng: &mut Rng) -> (Kernel, Spin) {
    let spin = match rng.below(8) {
        0 => Spin::Counts,
        1..=3 => Spin::Ends,
        _ => Spin::Stays,
    };
    // Lanes that count yield late, so there are fewer of them.
    let warps = if spin == Spin::Counts {
        1
    } else {
        1 + rng.below(2)
    };
    let threads = 32 * warps - rng.below(8);
    let lanes = match rng.below(3) {
        0 => u32::MAX,
        1 => 1 << rng.below(24),
        _ => rng.next_u32(),
    };
    let mut draw = Draw::new(Rng::new(rng.next_u64()), warps, threads);
    draw.begin();
    draw.filler();
    let end = draw.label();
    draw.bin(Bin::Shr, reg::TEMP[0], Opd::I(lanes), LANE);
    draw.bin(Bin::And, reg::TEMP[0], Opd::R(reg::TEMP[0]), Opd::I(1));
    draw.compare(Cmp::Eq, BRANCH, Opd::R(reg::TEMP[0]), Opd::I(0));
    draw.put_if(BRANCH, true, Op::Bra(end));
    match spin {
        Spin::Ends => within(&mut draw),
        _ => behind(&mut draw, spin == Spin::Counts),
    }
    draw.place(end);
    vote(&mut draw);
    draw.put(Op::Output);
    draw.put(Op::Exit);
    let kernel = Kernel {
        input: (0..INPUTS).map(|_| rng.below(1000)).collect(),
        ..Kernel::of(draw.code, 1, threads)
    };
    let spin = if several(lanes, threads) {
        spin
    } else {
        Spin::Ends
    };
    (kernel, spin)
}

/// True if some warp has several of these lanes.
fn several(lanes: u32, threads: u32) -> bool {
    let of_warp = |first: u32| match (threads - first).min(32) {
        32 => lanes,
        left => lanes & ((1 << left) - 1),
    };
    (0..threads)
        .step_by(32)
        .any(|first| of_warp(first).count_ones() > 1)
}

/// Writes the code of a thread that holds the lock.
fn section(draw: &mut Draw) {
    let data = Opd::R(draw.data());
    draw.put(Op::Guarded(data));
    draw.filler();
    draw.put(Op::Release);
}

/// The lock is taken and released inside of the loop.
fn within(draw: &mut Draw) {
    let (head, next, done) = (draw.label(), draw.label(), reg::COUNTERS[0]);
    draw.place(head);
    draw.put(Op::Acquire(reg::TEMP[1]));
    draw.compare(Cmp::Ne, BRANCH, Opd::R(reg::TEMP[1]), Opd::I(0));
    draw.put_if(BRANCH, true, Op::Bra(next));
    section(draw);
    draw.bin(Bin::Add, done, Opd::I(1), Opd::I(0));
    draw.place(next);
    draw.compare(Cmp::Eq, BRANCH, Opd::R(done), Opd::I(0));
    draw.put_if(BRANCH, true, Op::Bra(head));
}

/// Lanes leave the loop with the lock.
fn behind(draw: &mut Draw, counts: bool) {
    let (head, out, rounds) = (draw.label(), draw.label(), reg::COUNTERS[1]);
    draw.place(head);
    draw.put(Op::Acquire(reg::TEMP[1]));
    if counts || draw.chance(2) {
        draw.compare(Cmp::Eq, BRANCH, Opd::R(reg::TEMP[1]), Opd::I(0));
        draw.put_if(BRANCH, true, Op::Bra(out));
        if counts {
            draw.bin(Bin::Add, rounds, Opd::R(rounds), Opd::I(1));
        }
        draw.put(Op::Bra(head));
    } else {
        draw.compare(Cmp::Ne, BRANCH, Opd::R(reg::TEMP[1]), Opd::I(0));
        draw.put_if(BRANCH, true, Op::Bra(head));
    }
    draw.place(out);
    section(draw);
}

/// Writes a vote at which all lanes of a warp meet.
fn vote(draw: &mut Draw) {
    draw.compare(Cmp::Lt, GUARD, LANE, Opd::I(20));
    draw.put(Op::Warp(WarpOp {
        form: Form::Ballot,
        d: reg::TEMP[3],
        p: RESULT,
        a: HASH,
        q: (GUARD, false),
        b: Opd::I(0),
        c: 31,
        mask: Opd::I(u32::MAX),
    }));
    draw.fold(Opd::R(reg::TEMP[3]));
}
