//! How a run ended.

use super::Size;
use serde::{Deserialize, Serialize};

/// Way in which a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// The program ran to its end.
    Finished,
    /// `--max-cycles` was reached; outputs were not checked.
    CycleLimit {
        /// Limit in core cycles.
        cycles: u64,
    },
    /// As many launches as `--max-launches` permits were timed, and the program asked for another;
    /// outputs were not checked.
    LaunchLimit {
        /// Number of timed launches.
        launches: u64,
    },
    /// The user ended the run (Ctrl-C); outputs were not checked.
    Interrupted {
        /// Name of the kernel that ran, or names separated by ` + `; empty between launches.
        kernel: String,
        /// Number of blocks of these launches that had ended.
        blocks_ended: u64,
        /// Number of all blocks of these launches.
        blocks: u64,
        /// Places of the first unfinished warps, a line for each; none without timing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waits: Vec<String>,
    },
    /// A kernel did something that no GPU allows.
    Fault {
        /// Description with place and remedy.
        message: String,
    },
    /// An assertion of a kernel failed.
    Assertion(Box<FailedAssertion>),
    /// No part of the machine can make progress.
    Deadlock {
        /// Description of what each part waits for.
        message: String,
    },
    /// Warps spin on values that no running warp can change.
    Livelock {
        /// Description of what each part waits for.
        message: String,
    },
}

/// Assertion of a kernel that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAssertion {
    /// Description with the place.
    pub message: String,
    /// Expression as the program wrote it.
    pub expression: String,
    /// Source file of the assertion.
    pub file: String,
    /// Line of the assertion.
    pub line: u32,
    /// Function of the assertion.
    pub function: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Coordinates of the block.
    pub block: Size,
    /// Coordinates of the thread in its block: the lowest one of its warp.
    pub thread: Size,
}

impl Outcome {
    /// Name of the kind of outcome, as it stands in a result.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::CycleLimit { .. } => "cycle-limit",
            Self::LaunchLimit { .. } => "launch-limit",
            Self::Interrupted { .. } => "interrupted",
            Self::Fault { .. } => "fault",
            Self::Assertion(_) => "assertion",
            Self::Deadlock { .. } => "deadlock",
            Self::Livelock { .. } => "livelock",
        }
    }

    /// True if the run was ended by a limit that the user requested.
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::CycleLimit { .. } | Self::LaunchLimit { .. })
    }

    /// Prefixes the message with the name of the program.
    #[must_use]
    pub fn of_program(mut self, name: &str) -> Self {
        let message = match &mut self {
            Self::Finished
            | Self::CycleLimit { .. }
            | Self::LaunchLimit { .. }
            | Self::Interrupted { .. } => return self,
            Self::Fault { message } | Self::Deadlock { message } | Self::Livelock { message } => {
                message
            }
            Self::Assertion(assertion) => &mut assertion.message,
        };
        *message = format!("program `{name}`: {message}");
        self
    }

    /// Description of what went wrong in the simulated program, if anything did.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Finished
            | Self::CycleLimit { .. }
            | Self::LaunchLimit { .. }
            | Self::Interrupted { .. } => None,
            Self::Assertion(failed) => Some(&failed.message),
            Self::Fault { message } | Self::Deadlock { message } | Self::Livelock { message } => {
                Some(message)
            }
        }
    }
}
