//! A lane of the reference: its registers, its place in the code, and its state.

use crate::diverged::clocks::Clock;
use crate::diverged::code::{Bar, Bin, Cmp, Form, Ins, Opd, PREDS, Pred, Reg, reg};
use crate::diverged::lanes::Place;
use crate::diverged::meet::Given;

/// State of a lane.
#[derive(Clone, Copy, Debug)]
pub enum State {
    Ready,
    /// The lane waits at an operation of its warp.
    Meets(Form, Given),
    /// The lane waits at a barrier for the other lanes of its warp.
    Gathers(Bar),
    /// The warp of the lane has arrived at a barrier.
    Arrived(Bar),
    Exited,
    Trapped,
}

/// Registers and place of a body of code in execution.
#[derive(Clone, Debug)]
pub struct Frame {
    pub words: [u32; reg::COUNT],
    pub preds: [bool; PREDS],
    /// Place of the next instruction.
    pub at: Place,
}

/// A lane of a block.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Number of the thread in its block.
    pub thread: u32,
    /// Frames of calls; the innermost is the last.
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

    /// True if the instruction's guard holds.
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
