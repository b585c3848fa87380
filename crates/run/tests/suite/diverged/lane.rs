//! One lane: its registers, where it is, and what it waits for.

use crate::diverged::clocks::Clock;
use crate::diverged::code::{Bar, Bin, Cmp, Form, Ins, Opd, PREDS, Pred, Reg, reg};
use crate::diverged::lanes::Place;
use crate::diverged::meet::Given;

/// What a lane does.
#[derive(Clone, Copy, Debug)]
pub enum State {
    Ready,
    /// At an operation of its warp.
    Meets(Form, Given),
    /// At a barrier, for the other lanes of its warp.
    Gathers(Bar),
    /// Its warp has arrived at a barrier.
    Arrived(Bar),
    Exited,
    Trapped,
}

/// Registers of one body of code that runs.
#[derive(Clone, Debug)]
pub struct Frame {
    pub words: [u32; reg::COUNT],
    pub preds: [bool; PREDS],
    /// The next instruction.
    pub at: Place,
}

/// A lane.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its number in its block.
    pub thread: u32,
    /// The innermost call is the last.
    pub frames: Vec<Frame>,
    pub state: State,
    pub clock: Clock,
}

impl Lane {
    pub fn new(thread: u32, threads: u32) -> Self {
        Self {
            thread,
            frames: vec![Frame::new(thread, 0)],
            state: State::Ready,
            clock: Clock::new(thread as usize, threads as usize),
        }
    }

    pub fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a lane is in the kernel")
    }

    pub fn place(&self) -> Place {
        self.frames.last().expect("a lane is in the kernel").at
    }

    pub fn is_exited(&self) -> bool {
        matches!(self.state, State::Exited)
    }
}

impl Frame {
    /// Registers at the beginning of a body.
    pub fn new(thread: u32, body: usize) -> Self {
        let mut words = [0; reg::COUNT];
        words[usize::from(reg::TID)] = thread;
        words[usize::from(reg::LANE)] = thread % 32;
        words[usize::from(reg::WARP)] = thread / 32;
        Self {
            words,
            preds: [false; PREDS],
            at: (body, 0),
        }
    }

    pub fn value(&self, operand: Opd) -> u32 {
        match operand {
            Opd::R(r) => self.words[usize::from(r)],
            Opd::I(value) => value,
        }
    }

    pub fn set(&mut self, r: Reg, value: u32) {
        self.words[usize::from(r)] = value;
    }

    pub fn pred(&self, (p, negated): (Pred, bool)) -> bool {
        self.preds[usize::from(p)] != negated
    }

    pub fn set_pred(&mut self, p: Pred, value: bool) {
        self.preds[usize::from(p)] = value;
    }

    /// The instruction's guard holds.
    pub fn does(&self, ins: &Ins) -> bool {
        ins.guard
            .is_none_or(|(p, value)| self.preds[usize::from(p)] == value)
    }
}

pub fn compute(op: Bin, a: u32, b: u32) -> u32 {
    match op {
        Bin::Add => a.wrapping_add(b),
        Bin::Sub => a.wrapping_sub(b),
        Bin::Mul => a.wrapping_mul(b),
        Bin::And => a & b,
        Bin::Or => a | b,
        Bin::Xor => a ^ b,
        Bin::Shl => a.checked_shl(b).unwrap_or(0),
        Bin::Shr => a.checked_shr(b).unwrap_or(0),
        Bin::Min => a.min(b),
    }
}

pub fn compare(cmp: Cmp, a: u32, b: u32) -> bool {
    match cmp {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Lt => a < b,
        Cmp::Ge => a >= b,
    }
}
