//! Context systems (`sm.context`), which move the contexts of warps with long waits out of the warp
//! slots. The rules of a system follow from its settings (`ContextChoice::rules`), and the engine
//! of the SM applies them. [`ThroughputMonitor`] decides how many extra blocks an SM takes.

mod duet;
mod finereg;
mod monitor;
mod resident;
mod virtual_thread;

pub use duet::{Duet, DuetTb, Tables};
pub use finereg::FineReg;
pub use monitor::{ContextDecision, MonitorRefusal, ThroughputMonitor};
pub use resident::Resident;
pub use virtual_thread::VirtualThread;

use warploom_config::ContextRefusal;
use warploom_stats::result::ContextDecline;

/// Name in results of a refusal by the plan of a kernel.
pub const fn declined(refusal: ContextRefusal) -> ContextDecline {
    match refusal {
        ContextRefusal::NoMoreBlocks => ContextDecline::NoMoreBlocks,
        ContextRefusal::BlockSlots => ContextDecline::BlockSlots,
        ContextRefusal::BothLimit => ContextDecline::BothLimit,
        ContextRefusal::Capacity => ContextDecline::Capacity,
        ContextRefusal::NoRoom => ContextDecline::NoRoom,
        ContextRefusal::NoSwitchPoint => ContextDecline::NoSwitchPoint,
        ContextRefusal::NoneAsked => ContextDecline::NoneAsked,
        ContextRefusal::NoGain => ContextDecline::NoGain,
    }
}

/// Declares the table of context systems.
macro_rules! context_table {
    ($Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        /// Name and facts of each context system.
        pub const TABLE: &[crate::PolicyInfo] = &[
            $(crate::PolicyInfo {
                key: $key,
                name: $name,
                facts: <$Variant as crate::PolicyFacts>::FACTS,
            },)+
        ];
    };
}
warploom_config::contexts!(context_table);
