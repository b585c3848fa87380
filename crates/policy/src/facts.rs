//! Facts that every built-in policy states of itself: source, state and cost. The lists of policies
//! and the documentation are made from these facts and from the tables of `warploom_config`.

use warploom_config::GpuSpec;

/// Part of the machine that holds one copy of a policy's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every SM holds a copy.
    Sm,
    /// The GPU holds one copy.
    Gpu,
}

impl Part {
    /// Name of the part in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm => "SM",
            Self::Gpu => "GPU",
        }
    }
}

/// Facts that the file of a policy states.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Summary of the policy in one sentence.
    pub about: &'static str,
    /// Publication of the policy, or its author.
    pub source: &'static str,
    /// Formula of the state beyond what every SM keeps (ages of warps, for example); `none` for a
    /// policy without state.
    pub state: &'static str,
    /// Bits of state of one `part` of a machine, with the policy's settings on that machine, or
    /// with the default settings if the machine has chosen another policy.
    pub bits: fn(&GpuSpec) -> u64,
    /// Bits on the preset `gtx480`, worked out by hand. A test compares them with `bits`. That
    /// machine has 15 SMs of 8 blocks and 48 warps, with two schedulers of 24 warps (5 bits name
    /// one), and 16 concurrent kernels.
    pub bits_on_gtx480: u64,
    /// Part of the machine that holds the state.
    pub part: Part,
    /// Work of one decision, in terms of warps, SMs or blocks.
    pub complexity: &'static str,
}

/// Facts about a built-in policy.
pub trait PolicyFacts {
    /// Facts that the policy states of itself.
    const FACTS: Facts;

    /// True for a warp scheduler whose `pick` is a few operations on masks: it is then compiled
    /// into the issue stage, which all other policies call. Larger ones would cost registers of the
    /// host there, so this needs a measurement (`benches/README.md`).
    const INLINED: bool = false;
}

/// A row of a table of policies.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Configuration key that chooses the policy.
    pub key: &'static str,
    /// Name of the policy as the key's value.
    pub name: &'static str,
    /// Facts that the policy states of itself.
    pub facts: Facts,
}

impl PolicyInfo {
    /// State of the policy on a machine, as `1536 per SM`.
    pub fn storage(&self, spec: &GpuSpec) -> String {
        let Facts { bits, part, .. } = self.facts;
        match bits(spec) {
            0 => "0".to_owned(),
            bits => format!("{bits} per {}", part.name()),
        }
    }
}

/// Bits that distinguish a number of values; 0 for one value.
pub const fn bits_for(values: u64) -> u64 {
    match values {
        0 | 1 => 0,
        _ => (values - 1).ilog2() as u64 + 1,
    }
}

/// Warp slots of an SM.
pub(crate) fn warps(spec: &GpuSpec) -> u64 {
    u64::from(spec.sm.max_threads / 32)
}

/// Most warp slots of a scheduler.
pub(crate) fn warps_a_scheduler(spec: &GpuSpec) -> u64 {
    warps(spec).div_ceil(schedulers(spec))
}

/// Warp schedulers of an SM.
pub(crate) fn schedulers(spec: &GpuSpec) -> u64 {
    u64::from(spec.sm.schedulers.max(1))
}

/// Declares, from a table of `warploom_config`, an enum of policies that is dispatched without a
/// virtual call, and the table of their facts.
macro_rules! policies {
    ($Policy:ident, $Trait:ident:
     $Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        #[doc = concat!("The policy that `", $key, "` names, or one from outside this crate.")]
        #[allow(
            clippy::large_enum_variant,
            reason = "made once for each part of the machine and never moved: a box costs more"
        )]
        // The tag comes first, where the small policies are.
        #[repr(u8)]
        pub enum $Policy {
            $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $Variant($Variant),)+
            /// A policy from outside this crate.
            Custom(Box<dyn $Trait>),
        }

        /// Names and facts of the policies.
        pub const TABLE: &[$crate::PolicyInfo] = &[
            $($crate::PolicyInfo {
                key: $key,
                name: $name,
                facts: <$Variant as $crate::PolicyFacts>::FACTS,
            },)+
        ];

        impl ::warploom_state::State for $Policy {
            fn state(
                &mut self,
                io: &mut ::warploom_state::Io<'_>,
            ) -> Result<(), ::warploom_state::StateError> {
                self.state_or_anew(io).map(|_| ())
            }
        }

        impl $Policy {
            /// Saves or restores the policy's state. Returns false if the saved state is that of
            /// another policy, and this one begins anew.
            ///
            /// # Errors
            /// As [`State::state`](::warploom_state::State::state).
            pub fn state_or_anew(
                &mut self,
                io: &mut ::warploom_state::Io<'_>,
            ) -> Result<bool, ::warploom_state::StateError> {
                match self {
                    $(Self::$Variant(policy) =>
                        io.part($name, |io| ::warploom_state::State::state(policy, io)),)+
                    Self::Custom(policy) =>
                        io.part("custom", |io| ::warploom_state::State::state(policy, io)),
                }
            }

            /// The policy that a configuration asks for.
            pub fn new(choice: Choice) -> Self {
                match choice {
                    $(Choice::$Variant $(($bind))? =>
                        Self::$Variant($crate::facts::made!($Variant $($bind)?)),)+
                }
            }
        }

        /// Calls a method of the policy, whichever it is.
        macro_rules! of_policy {
            ($policy:expr, $p:ident => $call:expr) => {
                match $policy {
                    $($Policy::$Variant($p) => $call,)+
                    $Policy::Custom($p) => $call,
                }
            };
        }

        /// Calls a method of the policy if the policy is declared as inlined, else does `$other`.
        #[allow(unused_macros, reason = "only the choice of warps is inlined")]
        macro_rules! of_inlined_policy {
            ($policy:expr, $p:ident => $call:expr; else $other:expr) => {
                match $policy {
                    $($Policy::$Variant($p)
                        if <$Variant as $crate::PolicyFacts>::INLINED => $call,)+
                    _ => $other,
                }
            };
        }
    };
}
pub(crate) use policies;

/// Creates a policy from its settings, or by default if it has none.
macro_rules! made {
    ($Policy:ident) => {
        $Policy::default()
    };
    ($Policy:ident $settings:ident) => {
        $Policy::new($settings)
    };
}
pub(crate) use made;

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::{PRESETS, preset};

    fn machine(name: &str) -> GpuSpec {
        preset(name).unwrap_or_else(|errors| panic!("{errors}"))
    }

    #[test]
    fn bits_tell_values_apart() {
        let bits: Vec<_> = [0, 1, 2, 3, 4, 5, 24, 32, 33].map(bits_for).into();
        assert_eq!(bits, [0, 0, 1, 2, 2, 3, 5, 5, 6]);
    }

    #[test]
    fn every_policy_is_named_and_described_once() {
        let rows: Vec<_> = crate::all().collect();
        assert!(rows.len() >= 10, "the table must not pass by being empty");
        for (i, row) in rows.iter().enumerate() {
            let facts = &row.facts;
            let sentence = facts.about.len() > 20 && facts.about.ends_with('.');
            assert!(sentence, "{}: {}", row.name, facts.about);
            for text in [facts.source, facts.state, facts.complexity] {
                assert!(!text.is_empty() && !text.contains('|'), "{}", row.name);
            }
            let same = |other: &PolicyInfo| (other.key, other.name) == (row.key, row.name);
            assert!(!rows[..i].iter().any(same), "{} twice", row.name);
        }
    }

    /// The formula of every policy gives the bits that its file states for the paper's GTX480. A
    /// policy without state has no bits on any machine, and one with state has some on every
    /// machine.
    #[test]
    fn storage_follows_from_the_machine() {
        let gtx480 = machine("gtx480");
        for row in crate::all() {
            let PolicyInfo { key, name, facts } = row;
            assert_eq!((facts.bits)(&gtx480), facts.bits_on_gtx480, "{key}={name}");
            for preset in PRESETS {
                let has_state = (facts.bits)(&machine(preset.name)) > 0;
                let on = preset.name;
                assert_eq!(has_state, facts.state != "none", "{key}={name} on {on}");
            }
        }
    }

    /// The paper counts 32 counters an SM, for 1024 threads (its Table 1).
    #[test]
    fn storage_of_the_papers_own_machine() {
        let mut gpu = machine("gtx480");
        gpu.sm.max_threads = 1024;
        let row = crate::all().find(|row| row.name == "long-latency-first");
        let facts = row.expect("it is in the table").facts;
        assert_eq!((facts.bits)(&gpu), 32 * 32);
    }
}
