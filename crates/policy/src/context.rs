//! Context systems (`sm.context`): what each may do with warps that wait long, as rules that the
//! SM's engine follows, and how many extra blocks an SM takes.

mod duet;
mod resident;
mod virtual_thread;

pub use duet::{Duet, DuetTb, ExtraBlocksMonitor, Load, Tables};
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
                facts: <$Variant as crate::Policy>::FACTS,
            },)+
        ];
    };
}
warploom_config::contexts!(context_table);
