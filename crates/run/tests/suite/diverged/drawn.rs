//! Compares Warploom with the reference on random kernels.

use crate::diverged::code::Kernel;
use crate::diverged::draw::draw;
use crate::diverged::lanes::{End, Trap, Unclear, interpret};
use crate::diverged::locks::{Spin, draw_lock};
use crate::diverged::machine::{Named, Seen, run};
use crate::diverged::text::{Text, print};
use std::collections::BTreeSet;
use std::fmt::Write;
use warploom_base::Rng;

/// A difference from the reference.
pub struct Difference {
    pub way: &'static str,
    pub expected: End,
    pub seen: Seen,
}

/// Result of a case.
pub enum Case {
    Unclear(Unclear),
    Alike(End),
    Differs(Difference),
}

/// Share of cases with a spin lock: one in this number.
const LOCKS: u64 = 32;

/// A kernel, and its result on a divergence stack.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub kernel: Kernel,
    pub spin: Spin,
}

/// The kernel of a case.
pub fn kernel(seed: u64) -> Drawn {
    let mut rng = Rng::new(seed);
    if seed % LOCKS == LOCKS - 1 {
        let (kernel, spin) = draw_lock(&mut rng);
        return Drawn { kernel, spin };
    }
    Drawn {
        kernel: draw(&mut rng),
        spin: Spin::Ends,
    }
}

/// Runs a kernel in the given ways and compares.
pub fn compare(drawn: &Drawn, seed: u64, ways: &[&Named]) -> Case {
    let kernel = &drawn.kernel;
    let expected = match interpret(kernel, seed) {
        Ok(expected) => expected,
        Err(why) => return Case::Unclear(why),
    };
    let text = print(kernel);
    for named in ways {
        let spin = if named.progresses {
            Spin::Ends
        } else {
            drawn.spin
        };
        if spin == Spin::Counts {
            continue;
        }
        let seen = run(kernel, &text.ptx, &named.way);
        let is_right = match spin {
            Spin::Ends => agrees(&expected, &seen, &text),
            _ => matches!(seen, Seen::Livelock(_) | Seen::Deadlock(_)),
        };
        if !is_right {
            let way = named.name;
            return Case::Differs(Difference {
                way,
                expected,
                seen,
            });
        }
    }
    Case::Alike(expected)
}

fn agrees(expected: &End, seen: &Seen, text: &Text) -> bool {
    match (expected, seen) {
        (End::Done(expected), Seen::Done(seen)) => expected == seen,
        (End::Deadlock(places), Seen::Deadlock(message)) => {
            let line = |(body, at): &(usize, usize)| text.lines[*body][*at];
            places.iter().any(|place| names_line(message, line(place)))
        }
        (End::Fault(traps), Seen::Fault(message)) => names_one_of(message, traps, text),
        _ => false,
    }
}

fn names_line(message: &str, line: u32) -> bool {
    let name = format!("line {line}");
    let mut found = message.match_indices(&name);
    found.any(|(at, _)| !message[at + name.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

fn names_one_of(message: &str, traps: &BTreeSet<Trap>, text: &Text) -> bool {
    traps.iter().any(|trap| {
        let line = text.lines[trap.at.0][trap.at.1];
        let (block, thread) = (trap.block, trap.thread);
        let place = format!("PTX line {line}, block ({block}, 0, 0), thread ({thread}, 0, 0)");
        message.contains("trap") && message.contains(&place)
    })
}

/// Text of a difference with all details.
pub fn describe(seed: u64, drawn: &Drawn, difference: &Difference) -> String {
    let kernel = &drawn.kernel;
    let text = print(kernel);
    let mut all = format!(
        "case {seed} differs on {}: {} blocks of {} threads, input {:?}\n{}\n",
        difference.way, kernel.blocks, kernel.threads, kernel.input, text.ptx
    );
    let _ = match (&difference.expected, &difference.seen) {
        (End::Done(expected), Seen::Done(seen)) => {
            let pairs = expected.iter().zip(seen).enumerate();
            let wrong = pairs.filter(|(_, (expected, seen))| expected != seen);
            let wrong: Vec<String> = wrong
                .map(|(at, (expected, seen))| format!("word {at} is {seen:#x}, not {expected:#x}"))
                .collect();
            writeln!(all, "{}", wrong.join("\n"))
        }
        (End::Done(_), seen) => writeln!(all, "expected an end, seen {seen:?}"),
        (End::Deadlock(places), seen) => {
            let lines = places.iter().map(|place| text.lines[place.0][place.1]);
            let lines: BTreeSet<u32> = lines.collect();
            writeln!(all, "expected a deadlock at lines {lines:?}, seen {seen:?}")
        }
        (End::Fault(traps), seen) => writeln!(all, "expected one of {traps:?}, seen {seen:?}"),
    };
    all
}
