//! Context systems (`sm.context`): systems that switch out warps which wait long. The rules of each
//! follow from its settings (`ContextChoice::rules`), and the SM's engine obeys them. The number of
//! extra blocks of an SM is the decision of [`ThroughputMonitor`].

mod duet;
mod monitor;
mod resident;
mod virtual_thread;

pub use duet::{Duet, DuetTb, Tables};
pub use monitor::{ContextDecision, ThroughputMonitor};
pub use resident::Resident;
pub use virtual_thread::VirtualThread;

/// Declares the table of context systems.
macro_rules! context_table {
    ($Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        /// Names and facts.
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
