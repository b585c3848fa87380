//! What an SM has for the host's sake. It decides only when the host computes what, never what
//! comes of it: cycles, counters and memory are as if every SM ran every cycle together with all
//! others (`docs/develop/host-execution.md`).
//!
//! | file | content |
//! |---|---|
//! | `idle` | cycles in which nothing can happen, or only in the load/store unit |
//! | `window` | a run of several cycles before others have run them |
//! | `replay` | buffer of loads that such a run executes early |
//! | `repeat` | loads of the buffer are repeated where other SMs stored meanwhile |
//! | `status` | what an SM tells its scheduler at the end of a run |

mod idle;
mod repeat;
mod replay;
mod status;
mod window;

pub(crate) use replay::ReplayBuffer;
pub use replay::SettledUpTo;
pub use status::{SmEvents, SmStatus};
pub use window::{Outcome, WindowRun};
