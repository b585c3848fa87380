//! Rates of one SM: as many warps as a block may have repeat an instruction that does not depend on
//! the ones shortly before, once to fill the caches and once between two readings of the clock.
//!
//! What is counted has passed the part that limits between the first reading and the last: a warp
//! reads the clock before its first instruction issues and after the result of its last has
//! arrived. No rate can therefore exceed the part's peak, and start and end, in which the part
//! stands idle, make it less.

use crate::kernel::{Code, Kernel};
use crate::{Figure, Trouble, short};
use warploom_config::{GpuSpec, Stage, WarpScheduler};

/// Threads of the block.
const THREADS: u32 = 512;
/// Warps of the block.
const WARPS: u32 = THREADS / 32;
/// Instructions of a warp: many, and their code fits into 2 KiB, the smallest instruction cache of
/// the presets.
pub(crate) const COUNT: u32 = 192;
/// Results of a warp under way.
const AHEAD: u32 = 24;
/// First of the registers of results.
const FIRST: u32 = 16;
/// Statements of a warp between its readings of the clock and around them that are not counted: the
/// readings, and one that waits for the last result.
const OTHERS: u32 = 3;

/// Register of the `i`-th result: an instruction waits for the one that wrote it last.
pub(crate) fn own(i: usize) -> u32 {
    FIRST + i as u32 % AHEAD
}

/// What an instruction leaves.
pub(crate) enum Leaves {
    /// `%r` and the number that [`own`] gives.
    Integer,
    /// `%f` and that number.
    Single,
    /// `%d` and that number.
    Double,
    /// Something in memory. A load that follows the store on its way and gives `%r16`.
    Stored(String),
}

impl Leaves {
    /// A statement that waits for the register and keeps what is in it.
    fn read(&self, register: u32) -> String {
        match self {
            Self::Integer | Self::Stored(_) => format!("add.u32 %r5, %r5, %r{register}"),
            Self::Single => format!("add.f32 %f5, %f5, %f{register}"),
            Self::Double => format!("add.f64 %d5, %d5, %d{register}"),
        }
    }

    /// Statements that wait for the last instruction.
    fn wait(&self) -> Vec<String> {
        match self {
            Self::Stored(load) => vec![load.clone(), self.read(FIRST)],
            _ => vec![self.read(own(COUNT as usize - 1))],
        }
    }

    /// Registers that are read in the end: results that nothing reads would share one register and
    /// wait for each other.
    fn registers(&self) -> std::ops::Range<u32> {
        match self {
            Self::Stored(_) => FIRST..FIRST + 1,
            _ => FIRST..FIRST + AHEAD,
        }
    }
}

/// What repeats: statements to prepare, the `i`-th of the instructions, and what that leaves.
pub(crate) struct Repeated<'a> {
    pub setup: &'a [&'a str],
    pub instruction: &'a dyn Fn(usize) -> String,
    pub leaves: Leaves,
}

impl Repeated<'_> {
    fn code(&self) -> Code {
        let mut code = Code::default();
        code.push("ld.param.u64 %rd0, [out]");
        code.push("mov.u32 %r0, 0");
        code.push("mov.u32 %r5, 0");
        code.push("mov.f32 %f5, 0f00000000");
        code.push("mov.f64 %d5, 0d0000000000000000");
        code.push("mov.u32 %r1, %tid.x");
        code.push("shr.u32 %r2, %r1, 5");
        code.push("mul.wide.u32 %rd1, %r2, 8");
        code.push("add.u64 %rd0, %rd0, %rd1");
        code.extend(self.setup);
        code.label("AGAIN");
        code.push("bar.sync 0");
        code.push("mov.u32 %r3, %clock");
        (0..COUNT as usize).for_each(|i| code.push((self.instruction)(i)));
        code.extend(self.leaves.wait());
        code.push("mov.u32 %r4, %clock");
        // Nobody fetches what follows, which no cache has yet, while others are measured.
        code.push("bar.sync 0");
        code.push("add.u32 %r0, %r0, 1");
        code.push("setp.lt.u32 %p2, %r0, 2");
        code.push("@%p2 bra AGAIN");
        code.extend(self.leaves.registers().map(|r| self.leaves.read(r)));
        code.push("st.global.u32 [%rd0], %r5");
        code.push("st.global.f32 [%rd0], %f5");
        code.push("st.global.f64 [%rd0], %d5");
        code.push("st.global.u32 [%rd0], %r3");
        code.push("st.global.u32 [%rd0+4], %r4");
        code
    }

    /// Core cycles of one instruction of one warp.
    pub fn interval(&self, gpu: &GpuSpec) -> Result<f64, Trouble> {
        let kernel = Kernel {
            threads: THREADS,
            ..Kernel::warp(self.code().text, 2 * WARPS as usize)
        };
        // Which warp goes first is not what is measured, but all should end together.
        let mut gpu = gpu.clone();
        gpu.sm.warp_scheduler = WarpScheduler::Lrr;
        let clocks = kernel.run(&gpu)?.results;
        let first = clocks.iter().step_by(2).min();
        let last = clocks.iter().skip(1).step_by(2).max();
        let cycles = f64::from(last.unwrap_or(&0) - first.unwrap_or(&0));
        Ok(cycles / f64::from(WARPS * COUNT))
    }
}

/// A rate in `amount` per instruction, of which each takes `implied_interval` of the part that
/// limits, and its warp `wait` until the next may depend on it.
pub(crate) fn figure(
    gpu: &GpuSpec,
    measured_interval: f64,
    implied_interval: f64,
    amount: f64,
    wait: &[Stage],
    how: &str,
) -> Figure {
    let edges = edges(gpu, wait);
    let (alone, why) = left_alone(gpu, gpu.walk(wait, 0) as f64);
    let span = f64::from(WARPS * COUNT) * implied_interval;
    let implied = amount / implied_interval;
    let least = implied * span / (span + edges + alone);
    let arithmetic = format!(
        "{how}; {} instructions in {} cycles, to which start and end add {}, {why}",
        WARPS * COUNT,
        short(span),
        short(edges)
    );
    Figure::new(
        amount / measured_interval,
        implied,
        implied - least,
        arithmetic,
    )
}

/// Core cycles in which the part stands idle at the start and at the end: one instruction's way,
/// the fetch of the next, and all warps' statements that are not counted.
fn edges(gpu: &GpuSpec, wait: &[Stage]) -> f64 {
    let fetch = crate::sync::pair(gpu);
    let others = gpu.instructions_per_cycle(gpu.int_unit(), gpu.sm.units.int_timing.add);
    (gpu.walk(wait, 0) + gpu.walk(&fetch, 0)) as f64 + f64::from(WARPS * OTHERS) / others
}

/// Core cycles in which the part waits for warps that are left alone at the end, and why.
///
/// Of the collectors with their operands the one behind that which was sent last goes first, where
/// sub-cores have their own the first one (docs/model/sm.md, Operand collectors): an instruction
/// may wait until no other comes, and its warp with it. In the worst case one warp of each
/// scheduler does all of its work after the others, and the part stands idle for one wait in every
/// [`AHEAD`] of them.
fn left_alone(gpu: &GpuSpec, wait: f64) -> (f64, String) {
    let schedulers = gpu.sm.schedulers.min(WARPS);
    let turns = f64::from(COUNT / AHEAD);
    let why = format!("{schedulers} warps left alone {turns} x {}", short(wait));
    (turns * wait, why)
}
