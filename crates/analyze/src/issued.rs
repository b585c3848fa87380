//! Lines of a program that issue its instructions, by the kind of their work, and the step against
//! instructions that are too many. Results contain no lines: who runs a program counts them.

use crate::advice::percent;
use crate::explain::Subject;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most lines that are named.
const LINES: usize = 2;
/// Share of the issue slots from which a line is named.
const LINE: f64 = 0.1;
/// Share of the slots of what is named from which a kind of work is.
const KIND: f64 = 0.2;
/// Most kinds of work that have a step.
const KINDS: usize = 2;

/// Step against comparisons and branches of lines that are in no loop.
const STRAIGHT: &str = "let warps without work leave by one branch, and check bounds once";
/// Step against exchanges between threads.
const HELD: &str = "let a thread hold several values and reduce them before threads exchange any";
/// Step against comparisons where loops are not to be unrolled.
const INSIDE: &str = "branch less, and check bounds once for all that lies inside";

/// Kind of an instruction's work, as far as another way to write the program changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Divisions and remainders of integers.
    IntegerDivision,
    /// Divisions of floating-point numbers by others.
    Division,
    /// Exponentials, logarithms, roots, reciprocals, sines.
    SpecialFunction,
    /// Additions, products, shifts and logic of integers, most of which compute addresses.
    Integer,
    /// Arithmetic of floats, and products of matrices.
    Float,
    /// Loads, stores and atomics other than those of shared memory.
    Access,
    /// Accesses to shared memory.
    Shared,
    /// Comparisons, selections, branches and calls.
    Control,
    /// Shuffles and votes of warps.
    Exchange,
    /// Barriers of blocks and warps.
    Barrier,
    /// Fences, and waits for asynchronous copies.
    Wait,
    /// Moves and conversions of values.
    Move,
}

impl Work {
    /// Name of the instructions of a kind.
    const fn name(self) -> &'static str {
        match self {
            Self::IntegerDivision => "divisions and remainders of integers",
            Self::Division => "divisions",
            Self::SpecialFunction => "exponentials, roots and other special functions",
            Self::Integer => "integer and address arithmetic",
            Self::Float => "arithmetic of floats",
            Self::Access => "loads and stores",
            Self::Shared => "accesses to shared memory",
            Self::Control => "comparisons and branches",
            Self::Exchange => "shuffles and votes",
            Self::Barrier => "barriers",
            Self::Wait => "fences and waits for copies",
            Self::Move => "moves and conversions",
        }
    }

    /// Step that needs fewer instructions of a kind. `is_large`: the code does not fit L1I, so that
    /// loops are not to be unrolled. `loops`: there are any.
    const fn fewer(self, is_large: bool, loops: bool) -> &'static str {
        match self {
            Self::IntegerDivision => {
                "divide unsigned numbers by constant powers of two, which are shifts, or carry a \
                 counter along instead of dividing"
            }
            Self::Division => "divide once and multiply by the reciprocal, or use `__fdividef`",
            Self::SpecialFunction => {
                "use fast forms (`__expf`, `-use_fast_math`), and compute a value once for all that \
                 need it"
            }
            Self::Integer if !loops => {
                "compute an index once for all that need it, and use indices of 32 bits"
            }
            Self::Integer => {
                "hoist index arithmetic out of loops, advance a pointer instead of computing each \
                 address, and use indices of 32 bits"
            }
            Self::Float => {
                "use fused multiply-adds and smaller or packed types, and compute no value twice"
            }
            Self::Access => {
                "use wider loads (`float4`), and let a thread compute several outputs from a value \
                 that it has loaded"
            }
            Self::Shared => {
                "use wider accesses (`float4`), and let a thread compute several outputs from a value \
                 that it keeps in registers"
            }
            Self::Control if !loops => STRAIGHT,
            Self::Control if is_large => INSIDE,
            Self::Control => {
                "unroll loops, so that they count and branch less often, and check bounds once for \
                 all that lies inside"
            }
            Self::Exchange | Self::Barrier => HELD,
            Self::Wait => "order or copy more at a time, so that fewer fences and waits do",
            Self::Move => "keep one type in an expression, such as `1.0f` beside floats",
        }
    }
}

/// Issue slots that the instructions of a line take, by the kind of their work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IssuedLine {
    /// Name of the kernel.
    pub kernel: String,
    /// Place in the source, such as `saxpy.cu:12`, or in the PTX, such as `PTX line 14`.
    pub line: String,
    /// True if instructions of the line are in a loop: between a branch back and its target.
    pub in_loop: bool,
    /// Slots of each kind of work.
    pub slots: BTreeMap<Work, u64>,
}

/// Sum of all slots.
fn sum(slots: &BTreeMap<Work, u64>) -> f64 {
    slots.values().sum::<u64>() as f64
}

/// Kinds of work that take a large part of some slots, the largest first, with their shares.
fn largest(slots: &BTreeMap<Work, u64>) -> Vec<(Work, f64)> {
    let all = sum(slots).max(1.0);
    let shares = slots
        .iter()
        .map(|(work, slots)| (*work, *slots as f64 / all));
    let mut large: Vec<_> = shares.filter(|(_, share)| *share >= KIND).collect();
    large.sort_by(|a, b| b.1.total_cmp(&a.1));
    large.truncate(KINDS);
    large
}

/// Kinds of work with their shares in words.
fn kinds_in_words(slots: &BTreeMap<Work, u64>) -> String {
    let part = |(work, share): (Work, f64)| format!("{} {}", percent(share), work.name());
    let parts: Vec<String> = largest(slots).into_iter().map(part).collect();
    parts.join(", ")
}

/// Slots of several lines together.
fn together<'a>(lines: impl Iterator<Item = &'a IssuedLine>) -> BTreeMap<Work, u64> {
    let mut all = BTreeMap::new();
    for (work, slots) in lines.flat_map(|line| &line.slots) {
        *all.entry(*work).or_default() += slots;
    }
    all
}

impl Subject<'_> {
    /// Step that names the lines with most instructions, and what needs fewer of them by the kind
    /// of their work; `None` where lines were not counted.
    pub(crate) fn fewer_of_lines(&self) -> Option<String> {
        let lines = &self.analysis.issued;
        let all = together(lines.iter());
        let whole = sum(&all);
        let share = |line: &IssuedLine| sum(&line.slots) / whole;
        let mut named: Vec<&IssuedLine> = lines.iter().filter(|of| share(of) >= LINE).collect();
        named.sort_by(|a, b| share(b).total_cmp(&share(a)));
        named.truncate(LINES);
        let told = if named.is_empty() {
            lines.iter().collect()
        } else {
            named.clone()
        };
        let loops = told.iter().any(|line| line.in_loop);
        let (slots, places) = match named.as_slice() {
            [] => {
                let kinds = kinds_in_words(&all);
                (all, format!("which are spread over many lines ({kinds})"))
            }
            named => {
                let place = |line: &&IssuedLine| {
                    let kinds = kinds_in_words(&line.slots);
                    format!(
                        "{} of them at {} ({kinds})",
                        percent(share(line)),
                        line.line
                    )
                };
                let places: Vec<String> = named.iter().map(place).collect();
                (together(named.iter().copied()), places.join(" and "))
            }
        };
        let is_large = self.lacks_code();
        let fewer = largest(&slots).into_iter();
        let mut fewer: Vec<_> = fewer.map(|(work, _)| work.fewer(is_large, loops)).collect();
        fewer.dedup();
        (whole > 0.0).then(|| {
            format!(
                "execute fewer instructions, {places}: {}",
                fewer.join("; and ")
            )
        })
    }
}
