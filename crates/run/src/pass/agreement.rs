//! Whether a program does the same on several machines, so that one execution stands for all.

use crate::session::{Prepared, Session};
use warploom_config::{GpuSpec, InstructionOrder};

/// Reason why the same program may do something else on another machine, if it may.
///
/// # Errors
/// The reason.
pub(super) fn agree(one: &Session, other: &Session) -> Result<(), &'static str> {
    let (mine, others) = (one.options(), other.options());
    let options = [
        mine.memory_bytes == others.memory_bytes,
        mine.page_protection == others.page_protection,
        mine.checks == others.checks,
    ];
    if options.contains(&false) {
        return Err("memory is checked in another way");
    }
    let (mine, others) = (one.spec(), other.spec());
    if assembler(mine) != assembler(others) {
        return Err("an assembler makes other instructions for its machine");
    }
    let (mine, others) = (&mine.sm, &others.sm);
    let limits = [
        mine.max_registers_per_thread == others.max_registers_per_thread,
        mine.max_shared_bytes_per_block == others.max_shared_bytes_per_block,
        mine.barriers_per_block == others.barriers_per_block,
    ];
    if limits.contains(&false) {
        return Err("its machine has other limits of a block or thread");
    }
    match mine.branch_order == others.branch_order {
        true => Ok(()),
        false => Err("its machine takes the sides of a branch in another order"),
    }
}

/// Settings that decide which instructions an assembler makes for a machine; `None` if it makes
/// none.
fn assembler(spec: &GpuSpec) -> Option<String> {
    let order = spec.sm.instruction_order == InstructionOrder::Assembler;
    let assembles = spec.sm.folds_instructions || order;
    // Latencies follow from many keys. The SM, and the latencies of loads, have all of them.
    assembles.then(|| format!("{:?} {:?}", spec.sm.units, spec.latencies()))
}

impl Session {
    /// Checks that a launch that was prepared for another machine, which holds `resident` of its
    /// blocks, does the same on this one.
    ///
    /// # Errors
    /// The reason why it may do something else.
    pub(super) fn agrees_on(&self, launch: &Prepared, resident: usize) -> Result<(), String> {
        let kernel = &launch.launch.program.name;
        let own = self.check_units(launch, kernel).and_then(|()| {
            let (blocks_per_sm, _) = self.occupancy(&launch.launch, kernel)?;
            self.check_cluster(&launch.launch, kernel, blocks_per_sm)?;
            Ok(blocks_per_sm as usize * self.spec().gpu.sms as usize)
        });
        let held = |resident: usize| launch.grid.count().min(resident as u64);
        let (other, resident) = (
            held(own.map_err(|error| error.to_string())?),
            held(resident),
        );
        match other == resident {
            true => Ok(()),
            false => Err(format!(
                "its machine holds {other} blocks of `{kernel}` at once, and not {resident}, so that \
                 they run in another order"
            )),
        }
    }
}
