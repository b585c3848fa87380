//! Parts of an SM that serve the host alone. They decide when the host computes a cycle, and never
//! its result: cycles, counters and memory are as if every SM ran every cycle together with all
//! others (`docs/develop/host-execution.md`).
//!
//! | file | content |
//! |---|---|
//! | `idle` | cycles in which nothing can happen, or only in the load/store unit |
//! | `window` | a run of several cycles before others have run them |
//! | `replay` | buffer of loads that such a run executes early |
//! | `repeat` | loads of the buffer are repeated where other SMs stored meanwhile |
//! | `outcome` | outcome of a run, for the host's scheduler |

mod idle;
mod outcome;
mod repeat;
mod replay;
mod window;

pub use outcome::{Outcome, Reason, SmEvents};
pub(crate) use replay::ReplayBuffer;
pub use replay::SettledUpTo;
