//! Rates of one SM: as many warps as a block may have repeat an instruction that does not depend on
//! itself, once to fill the caches and once between two readings of the clock. The same kernel with
//! more of the instruction takes longer by what the additional ones take, whatever the start and
//! the end cost. Warps take turns, so that none ends much before the others.

use crate::kernel::{Code, Kernel};
use crate::{Figure, Trouble, short};
use warploom_config::{GpuSpec, Stage, WarpScheduler};

/// Threads of the block.
const THREADS: u32 = 512;
/// Warps of the block.
pub(crate) const WARPS: u32 = THREADS / 32;
/// Instructions of the short kernel; the long one has twice as many.
const FEW: usize = 20;

/// What repeats: statements to prepare, and the `i`-th of the instructions.
pub(crate) struct Repeated<'a> {
    pub setup: &'a [&'a str],
    pub instruction: &'a dyn Fn(usize) -> String,
    /// The `i`-th result is in `%r16 + i` and nothing reads it: dead ones would share one register
    /// and wait for each other.
    pub dead: bool,
}

impl Repeated<'_> {
    fn code(&self, count: usize) -> Code {
        let mut code = Code::default();
        code.push("ld.param.u64 %rd0, [out]");
        code.push("mov.u32 %r0, 0");
        code.push("mov.u32 %r5, 0");
        code.push("mov.u32 %r1, %tid.x");
        code.push("shr.u32 %r2, %r1, 5");
        code.push("mul.wide.u32 %rd1, %r2, 8");
        code.push("add.u64 %rd0, %rd0, %rd1");
        code.extend(self.setup);
        code.label("AGAIN");
        code.push("bar.sync 0");
        code.push("mov.u32 %r3, %clock");
        (0..count).for_each(|i| code.push((self.instruction)(i)));
        code.push("mov.u32 %r4, %clock");
        // Nobody fetches what follows, which no cache has yet, while others are measured.
        code.push("bar.sync 0");
        if self.dead {
            (0..count).for_each(|i| code.push(format!("add.u32 %r5, %r5, %r{}", 16 + i)));
        }
        code.push("add.u32 %r0, %r0, 1");
        code.push("setp.lt.u32 %p2, %r0, 2");
        code.push("@%p2 bra AGAIN");
        code.push("st.global.u32 [%rd0], %r3");
        code.push("st.global.u32 [%rd0+4], %r5");
        code.push("st.global.u32 [%rd0+4], %r4");
        code
    }

    /// Core cycles from the first reading of the clock to the last.
    fn cycles(&self, gpu: &GpuSpec, count: usize) -> Result<f64, Trouble> {
        let kernel = Kernel {
            threads: THREADS,
            ..Kernel::warp(self.code(count).text, 2 * WARPS as usize)
        };
        // Which warp goes first is not what is measured, but all should end together.
        let mut gpu = gpu.clone();
        gpu.sm.warp_scheduler = WarpScheduler::Lrr;
        let clocks = kernel.run(&gpu)?.results;
        let first = clocks.iter().step_by(2).min();
        let last = clocks.iter().skip(1).step_by(2).max();
        Ok(f64::from(last.unwrap_or(&0) - first.unwrap_or(&0)))
    }

    /// Core cycles of one instruction of one warp, in the long run.
    pub fn interval(&self, gpu: &GpuSpec) -> Result<f64, Trouble> {
        let more = self.cycles(gpu, 2 * FEW)? - self.cycles(gpu, FEW)?;
        Ok(more / f64::from(WARPS * FEW as u32))
    }
}

/// Instructions by which the two kernels differ.
pub(crate) const MORE: f64 = (WARPS as usize * FEW) as f64;

/// A rate in `amount` per instruction. Where a span begins and where it ends the part that limits
/// may stand idle while a warp waits for one instruction, `wait` long, and for one fetch: the
/// tolerance, twice because there are two runs.
pub(crate) fn figure(
    gpu: &GpuSpec,
    measured_interval: f64,
    implied_interval: f64,
    amount: f64,
    wait: &[Stage],
    how: &str,
) -> Figure {
    let fetch = crate::sync::pair(gpu);
    let slack = (2 * (gpu.walk(wait, 0) + gpu.walk(&fetch, 0))) as f64;
    let span = MORE * implied_interval;
    let implied = amount / implied_interval;
    let arithmetic = format!(
        "{how}; {MORE} instructions in {} cycles, of which start and end may shift {}",
        short(span),
        short(slack)
    );
    let tolerance = implied * slack / span;
    Figure::new(amount / measured_interval, implied, tolerance, arithmetic)
}
