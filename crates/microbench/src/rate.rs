//! Rates of one SM. All warps of a block repeat an instruction that does not depend on the previous
//! ones, once to fill the caches and once between two readings of the clock.
//!
//! A warp reads the clock before its first instruction issues, and again after the result of its
//! last one has arrived. All counted instructions therefore pass the limiting part between the
//! first and the last reading. The rate cannot exceed the peak of the part, and it is lower because
//! the part is idle at the start and at the end.

use crate::kernel::{Code, Kernel};
use crate::{Figure, Trouble, short};
use warploom_config::{GpuSpec, Stage, WarpSchedulerChoice};

/// Number of threads of the block.
const THREADS: u32 = 512;
/// Number of warps of the block.
const WARPS: u32 = THREADS / 32;
/// Number of instructions of a warp. Their code fits into 2 KiB, the smallest instruction cache of
/// the presets.
pub(crate) const COUNT: u32 = 192;
/// Number of results of a warp that may be pending.
const AHEAD: u32 = 24;
/// Number of the first register for results.
const FIRST: u32 = 16;
/// Statements of a warp that are executed but not counted: two readings of the clock, and one that
/// waits for the last result.
const OTHERS: u32 = 3;

/// Register of the `i`-th result. An instruction waits for the one that last wrote its register.
pub(crate) fn own(i: usize) -> u32 {
    FIRST + i as u32 % AHEAD
}

/// Result of a repeated instruction.
pub(crate) enum Leaves {
    /// Integer in `%r` with the number from [`own`].
    Integer,
    /// Number of 32 bits in `%f` with that number.
    Single,
    /// Number of 64 bits in `%d` with that number.
    Double,
    /// Value in memory, with a load into `%r16` that takes the same path as the store.
    Stored(String),
}

impl Leaves {
    /// Statement that waits for the register and uses its value.
    fn read(&self, register: u32) -> String {
        match self {
            Self::Integer | Self::Stored(_) => format!("add.u32 %r5, %r5, %r{register}"),
            Self::Single => format!("add.f32 %f5, %f5, %f{register}"),
            Self::Double => format!("add.f64 %d5, %d5, %d{register}"),
        }
    }

    /// Statements that wait for the last repeated instruction.
    fn wait(&self) -> Vec<String> {
        match self {
            Self::Stored(load) => vec![load.clone(), self.read(FIRST)],
            _ => vec![self.read(own(COUNT as usize - 1))],
        }
    }

    /// Registers that are read at the end. Results that nothing reads would share one register and
    /// wait for each other.
    fn registers(&self) -> std::ops::Range<u32> {
        match self {
            Self::Stored(_) => FIRST..FIRST + 1,
            _ => FIRST..FIRST + AHEAD,
        }
    }
}

/// Repeated instruction: statements that prepare it, the `i`-th instance, and its result.
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
        // No warp fetches the following code, which no cache holds yet, while others are measured.
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

    /// Measures the core cycles of one instruction of one warp.
    pub fn interval(&self, gpu: &GpuSpec) -> Result<f64, Trouble> {
        let kernel = Kernel {
            threads: THREADS,
            ..Kernel::warp(self.code().text, 2 * WARPS as usize)
        };
        // The order of warps is not measured, and all should end together.
        let mut gpu = gpu.clone();
        gpu.sm.warp_scheduler = WarpSchedulerChoice::Lrr;
        let clocks = kernel.run(&gpu)?.results;
        let first = clocks.iter().step_by(2).min();
        let last = clocks.iter().skip(1).step_by(2).max();
        let cycles = f64::from(last.unwrap_or(&0) - first.unwrap_or(&0));
        Ok(cycles / f64::from(WARPS * COUNT))
    }
}

/// Computes the figure of a rate, in `amount` per instruction. An instruction takes
/// `implied_interval` cycles of the limiting part, and its warp waits `wait` for its result.
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

/// Core cycles in which the part is idle at the start and at the end: the latency of one
/// instruction, the fetch of the next one, and the statements of all warps that are not counted.
fn edges(gpu: &GpuSpec, wait: &[Stage]) -> f64 {
    let fetch = crate::sync::pair(gpu);
    let others = gpu.instructions_per_cycle(gpu.int_unit(), gpu.sm.units.int_timing.add);
    (gpu.walk(wait, 0) + gpu.walk(&fetch, 0)) as f64 + f64::from(WARPS * OTHERS) / others
}

/// Core cycles in which the part waits for warps that are left alone at the end, with the reason.
///
/// Of the collectors with all operands, the one after the last that was sent goes first, or with
/// sub-cores the first one (docs/model/sm.md, Operand collectors): an instruction, and with it its
/// warp, may wait until no other instruction arrives. In the worst case one warp of each scheduler
/// does all of its work after the others, and the part is idle for one wait in every
/// [`AHEAD`] instructions.
fn left_alone(gpu: &GpuSpec, wait: f64) -> (f64, String) {
    let schedulers = gpu.sm.schedulers.min(WARPS);
    let turns = f64::from(COUNT / AHEAD);
    let why = format!("{schedulers} warps left alone {turns} x {}", short(wait));
    (turns * wait, why)
}
