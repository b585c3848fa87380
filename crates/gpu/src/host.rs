//! The host's scheduler: when which thread of the host runs what. It cannot show in any result
//! (`docs/develop/host-execution.md`).
//!
//! | file | content |
//! |---|---|
//! | `advance` | windows or steps, and how long a window is |
//! | `step` | a step: the reference |
//! | `window`, `run_window`, `settle` | a window: how far everything is, its run, its memory |
//! | `commit` | stores become visible, atomics act |
//! | `memory_windows`, `decoupled`, `backend_trace` | memory backend, then request network |
//! | `sms`, `group`, `exchange` | the SMs of all threads, of one, and what passes between threads |
//! | `sink` | replies that need no exchange |
//! | `own_line` | values alone in a cache line |
//! | `workers`, `channel`, `wait` | threads, calls to them, waiting loops |
//! | `task_slot`, `backend_task`, `untaken` | the memory backend on a worker |
//! | `backoff` | times without workers |

mod advance;
pub(crate) mod backend_task;
pub(crate) mod backend_trace;
mod backoff;
mod channel;
mod commit;
pub(crate) mod decoupled;
pub(crate) mod exchange;
mod group;
mod memory_windows;
mod own_line;
mod run_window;
mod settle;
mod sink;
pub(crate) mod sms;
mod step;
mod task_slot;
#[cfg(test)]
mod testing;
mod untaken;
mod wait;
pub(crate) mod window;
mod workers;
