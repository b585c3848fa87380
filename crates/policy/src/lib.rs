//! Policies: what the five systems change. A policy sees a read-only view and answers a question;
//! mechanism (`sm`, `gpu`) acts.
//!
//! Invariants: a policy cannot see `sm` or `gpu`; it owns its state and nothing else; it is
//! deterministic. Each built-in policy is one file; the table in [`warp`] or [`block`] is the only
//! list of names. To add one: write the file, add the row.

pub mod block;
pub mod sm_filter;
pub mod warp;

pub use block::{BlockPolicy, BlockQueueView};
pub use sm_filter::{DeviceView, SmFilterPolicy};
pub use warp::{WarpMask, WarpPolicy, WarpScheduler, WarpView, warps_of};

/// A row of a policy table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Configuration key that chooses it.
    pub key: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What it does, and where it comes from.
    pub about: &'static str,
}

/// Every built-in policy, by key.
pub fn all() -> impl Iterator<Item = PolicyInfo> {
    warp::TABLE
        .iter()
        .chain(block::TABLE)
        .chain(sm_filter::TABLE)
        .copied()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_policy_is_named_and_described_once() {
        let rows: Vec<_> = super::all().collect();
        assert!(rows.len() >= 8, "the table must not pass by being empty");
        for (i, row) in rows.iter().enumerate() {
            assert!(
                row.about.len() > 20 && row.about.ends_with('.'),
                "{}: {}",
                row.name,
                row.about
            );
            assert!(
                rows[..i]
                    .iter()
                    .all(|other| (other.key, other.name) != (row.key, row.name)),
                "{} twice",
                row.name
            );
        }
    }
}
