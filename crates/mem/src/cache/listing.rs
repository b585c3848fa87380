//! Policies of caches as lists and documentation print them.

use super::{ALLOCATIONS, REPLACEMENTS, VICTIMS};
use warploom_config::GpuSpec;

/// Description of a policy of a cache, as lists and documentation print it. `S` is the part of the
/// specification that its storage depends on.
#[derive(Debug)]
pub struct Facts<S: 'static> {
    /// Effect of the policy, in a sentence.
    pub about: &'static str,
    /// Publication of the policy.
    pub source: &'static str,
    /// State that the policy needs in hardware, as a formula.
    pub state: &'static str,
    /// Bits of that state, for one cache.
    pub bits: fn(&S) -> u64,
    /// The same for an example, worked out by hand; a test compares them. The example of a
    /// replacement policy is a cache of 64 sets of 8 ways, that of the other policies an SM of 48
    /// warp slots.
    pub example_bits: u64,
}

impl<S> Clone for Facts<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Facts<S> {}

/// A policy of caches.
#[derive(Clone, Debug)]
pub struct CachePolicyInfo {
    /// Configuration key that chooses the policy. Replacement policies are listed under
    /// `l1d.replacement`; every other cache has the same key under its own name.
    pub key: &'static str,
    /// Name of the policy under that key.
    pub name: &'static str,
    /// Effect of the policy, in a sentence.
    pub about: &'static str,
    /// Publication of the policy.
    pub source: &'static str,
    /// State that the policy needs, as a formula.
    pub state: &'static str,
    /// Size of the state for the data cache of a machine: `1536 per SM`.
    pub storage: String,
    /// Work of a choice.
    pub complexity: &'static str,
}

/// Every policy of caches, with the storage that the L1D of `gpu` needs.
pub fn cache_policies(gpu: &GpuSpec) -> Vec<CachePolicyInfo> {
    let replacement = REPLACEMENTS.iter().map(|row| {
        let bits = (row.facts.bits)(&gpu.l1d);
        info(
            "l1d.replacement",
            row.name,
            &row.facts,
            bits,
            "linear in ways",
        )
    });
    let allocation = ALLOCATIONS.iter().map(|row| {
        let bits = (row.facts.bits)(gpu);
        info("sm.l1d_allocation", row.name, &row.facts, bits, "constant")
    });
    let victims = VICTIMS.iter().map(|row| {
        let bits = (row.facts.bits)(gpu);
        let complexity = if bits == 0 {
            "constant"
        } else {
            "linear in ways"
        };
        info("sm.l1d_victims", row.name, &row.facts, bits, complexity)
    });
    replacement.chain(allocation).chain(victims).collect()
}

fn info<S>(
    key: &'static str,
    name: &'static str,
    facts: &Facts<S>,
    bits: u64,
    complexity: &'static str,
) -> CachePolicyInfo {
    CachePolicyInfo {
        key,
        name,
        about: facts.about,
        source: facts.source,
        state: facts.state,
        storage: match bits {
            0 => "0".to_owned(),
            bits => format!("{bits} per SM"),
        },
        complexity,
    }
}

/// Makes a policy from its settings, or without.
macro_rules! made {
    ($Policy:ident) => {
        $Policy
    };
    ($Policy:ident $settings:ident) => {
        $Policy::new($settings)
    };
}
pub(super) use made;

#[cfg(test)]
mod tests {
    use super::cache_policies;
    use warploom_config::preset;

    /// L1D of the GTX480: 32 sets of 4 ways.
    #[test]
    fn policies_are_listed_with_their_storage() {
        let gpu = preset("gtx480").expect("a built-in preset");
        let rows = cache_policies(&gpu);
        let row = |name: &str| rows.iter().find(|row| row.name == name).expect("a row");
        assert_eq!(row("lru").key, "l1d.replacement");
        assert_eq!(row("lru").storage, "256 per SM");
        assert_eq!(row("always").storage, "0");
        assert_eq!(row("warp-tokens").key, "sm.l1d_allocation");
    }
}
