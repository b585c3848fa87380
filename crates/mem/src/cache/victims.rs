//! Policies for lines that the data cache has replaced (`sm.l1d_victims`): which of them the idle
//! registers of the SM keep (docs/model/caches.md, Victim lines). A policy is told of the reads of
//! global memory and answers whether a line is kept; `KeptLines` holds the lines. A policy is one
//! file, one row of the table in `warploom_config`, and a `mod` and a `use` line here.

mod linebacker;
mod nothing;

use super::Facts;
use super::listing::made;
use linebacker::Linebacker;
use nothing::Nothing;
use warploom_base::{Cycle, Pc};
use warploom_config::{GpuSpec, L1dVictims as Choice};
use warploom_state::{Io, State, StateError};

/// Bytes of a register of a warp.
const REGISTER_BYTES: u32 = 128;

/// Room for lines in registers: kept lines have the sets of the data cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) sets: u32,
    /// Registers of warps that a line takes.
    registers_a_line: u32,
}

impl Room {
    pub(super) fn new(spec: &GpuSpec) -> Self {
        Self {
            sets: spec.l1d.sets,
            registers_a_line: spec.l1d.line_bytes.div_ceil(REGISTER_BYTES),
        }
    }

    /// Ways that `registers` registers of threads have room for.
    pub(super) fn ways(&self, registers: u32) -> u32 {
        registers / 32 / self.registers_a_line / self.sets
    }
}

/// A policy for replaced lines. One object serves the data cache of one SM.
trait Keep: State {
    /// Description of the policy.
    const FACTS: Facts<GpuSpec>;

    /// Notes a read of global memory by the load at `pc`, which has found its data in the data
    /// cache or in a kept line, or has not.
    fn on_read(&mut self, now: Cycle, pc: Pc, found: bool);

    /// True if a line that the load at `pc` had brought in is kept now that it is replaced.
    fn keeps(&mut self, now: Cycle, pc: Pc) -> bool;

    /// Forgets what is known of loads, because the kernels that they are of have ended.
    fn forget_loads(&mut self);
}

/// A row of the table of these policies.
#[derive(Clone, Copy, Debug)]
pub struct VictimsInfo {
    /// Name in the configuration.
    pub name: &'static str,
    /// Description of the policy.
    pub facts: Facts<GpuSpec>,
}

/// Makes the policies' enum, which dispatches without a virtual call, and the table of their
/// descriptions.
macro_rules! policies {
    ($Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        /// Policy that `sm.l1d_victims` names.
        #[derive(Clone, Debug)]
        pub(super) enum Policy {
            $($Variant($Variant),)+
        }

        /// Every policy for replaced lines, in the order of the table in `warploom_config`.
        pub const VICTIMS: &[VictimsInfo] = &[
            $(VictimsInfo { name: $name, facts: <$Variant as Keep>::FACTS },)+
        ];

        impl State for Policy {
            fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
                match self {
                    $(Self::$Variant(policy) => io.part($name, |io| policy.state(io)),)+
                }
                .map(|_| ())
            }
        }

        impl Policy {
            /// The policy that a specification names.
            pub(super) fn new(choice: Choice) -> Self {
                match choice {
                    $(Choice::$Variant $(($bind))? =>
                        Self::$Variant(made!($Variant $($bind)?)),)+
                }
            }

            /// Calls [`Keep::on_read`] of the policy.
            pub(super) fn on_read(&mut self, now: Cycle, pc: Pc, found: bool) {
                match self {
                    $(Self::$Variant(policy) => policy.on_read(now, pc, found),)+
                }
            }

            /// Calls [`Keep::keeps`] of the policy.
            pub(super) fn keeps(&mut self, now: Cycle, pc: Pc) -> bool {
                match self {
                    $(Self::$Variant(policy) => policy.keeps(now, pc),)+
                }
            }

            /// Calls [`Keep::forget_loads`] of the policy.
            pub(super) fn forget_loads(&mut self) {
                match self {
                    $(Self::$Variant(policy) => policy.forget_loads(),)+
                }
            }
        }
    };
}

warploom_config::l1d_victims!(policies);

#[cfg(test)]
mod tests;
