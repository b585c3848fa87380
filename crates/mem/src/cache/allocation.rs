//! Allocation policies of the data cache (`sm.l1d_allocation`): whether a read that misses takes a
//! line of the cache or goes past it (docs/model/caches.md, Allocation).
//!
//! The load/store unit asks the policy when a read is looked up whose line is neither present nor
//! on its way ([`Cache::access_or_bypass`](super::Cache::access_or_bypass)); reads that hit, and
//! reads that merge with a miss, use the cache under every policy. The policy sees the request, the
//! warp and the instruction, and its own state. A policy is one file, one row of the table in
//! `warploom_config` and one `mod` line.

mod always;
mod warp_tokens;

use super::Facts;
use super::listing::made;
use crate::Request;
use always::Always;
use warp_tokens::WarpTokens;
use warploom_base::{Pc, WarpSlot};
use warploom_config::{GpuSpec, L1dAllocation as Choice};
use warploom_state::{Io, State, StateError};

/// A read that misses, as an allocation policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct MissView<'a> {
    /// The read: address, bytes, kind, kernel and process.
    pub request: &'a Request,
    /// Warp that reads, by its slot of the SM.
    pub warp: WarpSlot,
    /// Instruction that makes the read.
    pub pc: Pc,
}

/// An allocation policy. One object serves the data cache of one SM.
trait Allocate: State {
    /// Description of the policy.
    const FACTS: Facts<GpuSpec>;

    /// True if the read takes a line, false if it goes past the cache.
    fn allocates(&mut self, miss: &MissView<'_>) -> bool;
}

/// A row of the table of allocation policies.
#[derive(Clone, Copy, Debug)]
pub struct AllocationInfo {
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
        /// Policy that `sm.l1d_allocation` names.
        #[derive(Clone, Debug)]
        pub struct AllocationPolicy(Built);

        #[derive(Clone, Debug)]
        enum Built {
            $($Variant($Variant),)+
        }

        /// Every allocation policy, in the order of the table in `warploom_config`.
        pub const ALLOCATIONS: &[AllocationInfo] = &[
            $(AllocationInfo { name: $name, facts: <$Variant as Allocate>::FACTS },)+
        ];

        impl State for AllocationPolicy {
            fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
                match &mut self.0 {
                    $(Built::$Variant(policy) => io.part($name, |io| policy.state(io)),)+
                }
                .map(|_| ())
            }
        }

        impl AllocationPolicy {
            /// The policy that a specification names.
            pub fn new(choice: Choice) -> Self {
                Self(match choice {
                    $(Choice::$Variant $(($bind))? =>
                        Built::$Variant(made!($Variant $($bind)?)),)+
                })
            }

            /// True if the read takes a line, false if it goes past the cache.
            pub fn allocates(&mut self, miss: &MissView<'_>) -> bool {
                match &mut self.0 {
                    $(Built::$Variant(policy) => policy.allocates(miss),)+
                }
            }
        }
    };
}

warploom_config::l1d_allocations!(policies);

impl AllocationPolicy {
    /// True if every read takes a line, so that the policy need not be asked.
    #[inline]
    pub fn always_allocates(&self) -> bool {
        matches!(self.0, Built::Always(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fermi_spec, read};
    use crate::{AccessKind, Request};
    use warploom_config::WarpTokensSettings;

    fn asks(policy: &mut AllocationPolicy, warp: u16, request: &Request) -> bool {
        policy.allocates(&MissView {
            request,
            warp: WarpSlot(warp),
            pc: Pc(8),
        })
    }

    #[test]
    fn every_read_takes_a_line_by_default() {
        let mut policy = AllocationPolicy::new(Choice::Always);
        assert!(policy.always_allocates());
        assert!((0..64).all(|warp| asks(&mut policy, warp, &read(0, 128))));
    }

    /// Three tokens: the warps in the first three slots hold them. Local memory is never bypassed.
    #[test]
    fn warps_without_a_token_go_past_the_cache() {
        let settings = WarpTokensSettings { warps: 3 };
        let mut policy = AllocationPolicy::new(Choice::WarpTokens(settings));
        assert!(!policy.always_allocates());
        let allocates = (0..6).map(|warp| asks(&mut policy, warp, &read(0, 128)));
        let allocates: Vec<_> = allocates.collect();
        assert_eq!(allocates, [true, true, true, false, false, false]);
        let local = Request::new(AccessKind::LocalRead, 0, 128);
        assert!(asks(&mut policy, 5, &local));
    }

    #[test]
    fn every_policy_is_described_in_a_sentence() {
        let spec = fermi_spec();
        for row in ALLOCATIONS {
            let facts = row.facts;
            assert!(
                facts.about.ends_with('.') && facts.about.len() > 20,
                "{}",
                row.name
            );
            for text in [facts.about, facts.source, facts.state] {
                assert!(!text.is_empty() && !text.contains('|'), "{}", row.name);
            }
            assert_eq!((facts.bits)(&spec), facts.example_bits, "{}", row.name);
        }
    }
}
