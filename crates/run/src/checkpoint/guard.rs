//! Runs that go on from a checkpoint whose state contradicts itself.
//!
//! A checksum tells that a file is whole, not that Warploom wrote it. Restoring checks the lengths
//! and the variants of what it reads, but not how all numbers of a machine belong together. Where
//! the machine finds that they do not, its assertions fail. Such a failure is an error of the input
//! here, and not a bug.

use super::CheckpointError;
use crate::session::RunError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a run that goes on from a checkpoint, all of which is dropped if an assertion fails.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let what = text.unwrap_or("an assertion failed").to_owned();
        Err(CheckpointError::Contradicts(what).into())
    })
}
