//! What every built-in policy says of itself: source, state, cost. Lists and documentation come
//! from that and from the tables of `warploom_config`.

use warploom_config::GpuSpec;

/// What there is one of for each piece of a policy's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every SM.
    Sm,
    /// The GPU.
    Gpu,
}

impl Part {
    /// The part in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm => "SM",
            Self::Gpu => "GPU",
        }
    }
}

/// What a policy's file says of it.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Where it was published, or whose it is.
    pub source: &'static str,
    /// The state that it keeps beyond what any SM keeps (ages of warps, for example), as a formula.
    pub state: &'static str,
    /// That state in bits: of one `part` of a machine, with the policy's settings there, or their
    /// defaults where it is not chosen.
    pub bits: fn(&GpuSpec) -> u64,
    /// What has that state.
    pub part: Part,
    /// Work of a choice, in warps, SMs or blocks.
    pub complexity: &'static str,
}

/// A built-in policy.
pub trait Policy {
    /// What it says of itself.
    const FACTS: Facts;
}

/// A row of a policy table.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Configuration key that chooses it.
    pub key: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// The rest.
    pub facts: Facts,
}

impl PolicyInfo {
    /// Its state on a machine, as `1536 per SM`.
    pub fn storage(&self, spec: &GpuSpec) -> String {
        let Facts { bits, part, .. } = self.facts;
        match bits(spec) {
            0 => "0".to_owned(),
            bits => format!("{bits} per {}", part.name()),
        }
    }
}

/// Bits that tell `values` values apart: 0 for one.
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

/// Makes an enum of policies, dispatched without a virtual call, and the table of their facts.
macro_rules! policies {
    ($Policy:ident, $Trait:ident:
     $Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        #[doc = concat!("What `", $key, "` names, or a user's own.")]
        #[allow(
            clippy::large_enum_variant,
            reason = "made once for each part of the machine and never moved: a box costs more"
        )]
        pub enum $Policy {
            $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $Variant($Variant),)+
            /// A policy from outside this crate.
            Custom(Box<dyn $Trait>),
        }

        /// Names and facts.
        pub const TABLE: &[$crate::PolicyInfo] = &[
            $($crate::PolicyInfo {
                key: $key,
                name: $name,
                facts: <$Variant as $crate::Policy>::FACTS,
            },)+
        ];

        impl $Policy {
            /// The policy that a configuration asks for.
            pub fn new(choice: Choice) -> Self {
                match choice {
                    $(Choice::$Variant $(($bind))? =>
                        Self::$Variant($crate::facts::made!($Variant $($bind)?)),)+
                }
            }
        }

        /// Calls a method of whichever policy it is.
        macro_rules! of_policy {
            ($policy:expr, $p:ident => $call:expr) => {
                match $policy {
                    $($Policy::$Variant($p) => $call,)+
                    $Policy::Custom($p) => $call,
                }
            };
        }
    };
}
pub(crate) use policies;

/// Makes a policy from its settings, or without.
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
    use warploom_config::preset;

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

    /// Storage on the paper's GTX480: 48 warps and two schedulers of 24 (5 bits name one), worked
    /// out by hand from the formulas that the files state.
    #[test]
    fn storage_follows_from_the_machine() {
        let gpu = preset("gtx480").expect("a built-in preset");
        let bits: Vec<_> = crate::all()
            .map(|row| (row.name, (row.facts.bits)(&gpu)))
            .collect();
        assert_eq!(
            bits,
            [
                ("lrr", 2 * 5),
                ("grr", 2 * 5),
                ("gto", 2 * (5 + 1)),
                ("oldest", 0),
                ("rrr", 2 * 5),
                // 24 bits of membership, a queue of 24 warps, the last one.
                ("two-level", 2 * (24 + 24 * 5 + 5)),
                ("static-limit", 2 * (5 + 1)),
                // Section 4.2: a counter a warp.
                ("long-latency-first", 48 * 32),
                // Table 5.2: a byte a pair, and five arrays of 10 + 16 bits a warp; the group.
                ("locality", 48 * 48 / 2 * 8 + 48 * 5 * 26 + 2 * (6 + 48)),
                ("rr", 4),
                ("bcs", 4 + 15),
                // 128 entries of five rectangles of four bytes.
                ("locality", 128 * 5 * 4 * 8),
                ("all", 0),
                // Five numbers of 64 bits, and up to 15 SMs.
                ("contention-throttle", 5 * 64 + 4),
                ("sequential", 8),
                ("left-over", 0),
                // One of 16 kernels.
                ("exclusive", 4),
                // One of 16 kernels.
                ("fcfs", 4),
                // 0 to 8 blocks of each of 16.
                ("even", 16 * 4),
                ("spatial", 4),
                ("fixed", 16 * 4),
                // Two counters of 32 bits an SM; two kernels' eight points and their quotas.
                ("warped-slicer", 15 * 64 + 2 * 8 * (32 + 4) + 2 * 4),
                ("none", 0),
                // 128 KB of registers, 48 KB of shared memory and 16 KB of L1D in units of 128
                // bytes, addresses of 11 bits; 128 warps, 32 blocks; queues of 7 and 5 bits.
                ("duet", 1536 + 128 * 25 + 32 * 44 + 32 * 7 + 16 * 5),
                ("duet-tb", 1536 + 128 * 25 + 32 * 44 + 32 * 7 + 16 * 5),
                // 7 bits a block, and 48 numbers of 7 bits.
                ("virtual-thread", 32 * 7 + 48 * 7),
            ]
        );
    }

    /// The paper counts 32 counters an SM, for 1024 threads (its Table 1).
    #[test]
    fn storage_of_the_papers_own_machine() {
        let mut gpu = preset("gtx480").expect("a built-in preset");
        gpu.sm.max_threads = 1024;
        let row = crate::all().find(|row| row.name == "long-latency-first");
        let facts = row.expect("it is in the table").facts;
        assert_eq!((facts.bits)(&gpu), 32 * 32);
    }
}
