//! Forks: runs that go on from the checkpoint of another run with other policies.

use serde::{Deserialize, Serialize};

/// Fork of a run, which has all of that run before a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkReport {
    /// First core cycle with the policies of this run.
    pub cycle: u64,
    /// Keys that have changed, with the new and the old value.
    pub changes: Vec<String>,
}
