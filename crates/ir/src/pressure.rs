//! How many registers per thread a compiler such as `ptxas` would need.

use crate::cfg::Cfg;
use crate::liveness::Liveness;
use crate::operands::Code;

/// Highest number of 32-bit registers whose values are needed at one time in a function.
pub fn estimate(code: &Code, cfg: &Cfg, live: &Liveness, wide: &[bool]) -> u32 {
    let mut highest = 0;
    live.for_each(code, cfg, |_, after| {
        let regs = after.ones().take_while(|v| *v < wide.len());
        highest = highest.max(regs.map(|v| 1 + u32::from(wide[v])).sum());
    });
    highest
}

/// Registers per thread for a pressure.
pub fn registers_per_thread(pressure: u32) -> u32 {
    pressure.max(4)
}
