//! Tests with random structured kernels: regular addresses must equal the issued addresses,
//! whatever the data.

use super::kernels::ptx;
use super::truth::{Bench, compare, kernel};
use std::fmt::Write as _;
use warploom_base::{Dim3, Rng};

/// The number of variables, which are the registers from r20. Loop counters use other registers.
const VARS: u64 = 6;

/// A generator of random kernels.
struct Author {
    rng: Rng,
    text: String,
    labels: u32,
    counters: u32,
}

impl Author {
    fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n
    }

    fn var(&mut self) -> u64 {
        20 + self.below(VARS)
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{text}");
    }

    /// Sets p1 to a comparison of a variable that may or may not depend on data.
    fn condition(&mut self) {
        let (a, n) = (self.var(), self.below(4));
        self.line(format_args!(
            "and.b32 %r40, %r{a}, 7; setp.gt.u32 %p1, %r40, {n};"
        ));
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..1 + self.below(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => {
                let (d, a, b) = (self.var(), self.var(), self.var());
                self.line(format_args!("add.u32 %r{d}, %r{a}, %r{b};"));
            }
            1 => {
                let (d, n) = (self.var(), self.below(100));
                self.line(format_args!("mad.lo.u32 %r{d}, %r4, {n}, %r5;"));
            }
            2 => {
                let (d, a) = (self.var(), self.var());
                self.condition();
                self.line(format_args!("@%p1 xor.b32 %r{d}, %r{a}, %r{d};"));
            }
            3 => self.load(),
            4 => self.store(),
            5 | 6 => self.choice(depth - 1),
            _ => self.repeat(depth - 1),
        }
    }

    fn load(&mut self) {
        let (d, a) = (self.var(), self.var());
        self.line(format_args!(
            "and.b32 %r41, %r{a}, 1023; mul.wide.u32 %rd20, %r41, 4; add.s64 %rd21, %rd1, %rd20; \
             ld.global.u32 %r{d}, [%rd21];"
        ));
    }

    fn store(&mut self) {
        let a = self.var();
        self.condition();
        let guard = if self.below(3) == 0 { "@%p1 " } else { "" };
        self.line(format_args!(
            "and.b32 %r41, %r{a}, 65535; mul.wide.u32 %rd20, %r41, 4; add.s64 %rd21, %rd2, %rd20; \
             {guard}st.global.u32 [%rd21], %r41;"
        ));
    }

    fn choice(&mut self, depth: u32) {
        let (other, end) = (self.label(), self.label());
        let two_sided = self.below(2) == 0;
        self.condition();
        self.line(format_args!("@%p1 bra L{other};"));
        self.block(depth);
        if two_sided {
            self.line(format_args!("bra L{end};"));
        }
        self.line(format_args!("L{other}:"));
        if two_sided {
            self.block(depth);
        }
        self.line(format_args!("L{end}:"));
    }

    /// Writes a loop with a constant number of iterations, from which data may exit early or skip
    /// the rest of an iteration.
    fn repeat(&mut self, depth: u32) {
        let (head, next, end) = (self.label(), self.label(), self.label());
        self.counters += 1;
        let counter = 60 + self.counters;
        let most = 1 + self.below(4);
        self.line(format_args!("mov.u32 %r{counter}, 0;\nL{head}:"));
        self.block(depth);
        match self.below(4) {
            0 => {
                self.condition();
                self.line(format_args!("@%p1 bra L{end};"));
                self.block(depth);
            }
            1 => {
                self.condition();
                self.line(format_args!("@%p1 bra L{next};"));
                self.block(depth);
            }
            _ => {}
        }
        self.line(format_args!(
            "L{next}: add.u32 %r{counter}, %r{counter}, 1; setp.lt.u32 %p2, %r{counter}, {most}; \
             @%p2 bra L{head};\nL{end}:"
        ));
    }
}

fn kernel_text(seed: u64) -> String {
    let mut author = Author {
        rng: Rng::new(seed),
        text: String::new(),
        labels: 0,
        counters: 0,
    };
    for var in 20..20 + VARS {
        let n = author.below(50);
        author.line(format_args!(
            "mad.lo.u32 %r{var}, %r4, {n}, %r{};",
            var % 4 + 4
        ));
    }
    author.block(3);
    ptx(&author.text)
}

#[test]
fn predictions_of_random_kernels_are_what_they_issue() {
    let (mut predicted, mut issued) = (0, 0);
    for seed in 0..600 {
        let program = kernel(&kernel_text(seed));
        let mut bench = Bench::new(
            &program,
            Dim3::new(2, 1, 1),
            Dim3::new(32, 1, 1),
            &[0; 3],
            seed,
        );
        let (said, real) = compare(&program, &mut bench);
        predicted += said;
        issued += real;
    }
    let share = predicted * 100 / issued;
    assert!(
        (20..90).contains(&share),
        "{share} % of {issued} addresses predicted"
    );
}
