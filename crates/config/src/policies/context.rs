//! Table of context systems (`sm.context`).

mod duet;
mod finereg;
mod virtual_thread;

pub use duet::*;
pub use finereg::*;
pub use virtual_thread::*;

use crate::policies::choices;

/// Calls the macro `$then` with the rows of `sm.context`.
#[macro_export]
macro_rules! contexts {
    ($then:ident) => {
        $then! {
            ContextChoice of "sm.context", "What is done with warps that wait long.",
                "this program", default "none";
            Resident = "none": "warps and blocks hold what they have until they end";
            Duet(settings: DuetSettings) = "duet":
                "GPUDuet: stalled warps or blocks leave to spare memory on the chip, others come in";
            DuetTb(settings: DuetSettings) = "duet-tb": "GPUDuet with blocks as wholes only";
            VirtualThread(settings: VirtualThreadSettings) = "virtual-thread":
                "warp slots of stalled blocks are lent to blocks that have only registers and \
                 shared memory";
            FineReg(settings: FineRegSettings) = "finereg":
                "stalled blocks keep their live registers in a part of the register file, others \
                 run in the rest";
        }
    };
}

contexts!(choices);
