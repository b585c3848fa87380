//! Checkpoints of a timed run: the whole state in one cycle, from which another run goes on with
//! the same results.
//!
//! A checkpoint holds the state of the machine, device memory, the results so far, and records of
//! what the host program did ([`HostLog`]) and asked for ([`Calls`]). The program itself is not
//! saved: when a run goes on, it runs again up to the checkpoint, and has to make the recorded
//! calls. What it reads from the device comes from the record, and none of its launches is
//! simulated. `docs/long-runs.md` says what has to be the same in both runs.

mod calls;
mod file;
mod guard;
mod host_log;
mod identity;

pub(crate) use calls::Calls;
pub use calls::{CallKind, OtherCall};
pub(crate) use guard::guarded;
pub(crate) use host_log::{HostEvent, HostLog};
pub(crate) use identity::{Changes, Identity};

use std::fmt;
use std::sync::Arc;
use warploom_base::Cycle;
use warploom_state::{Io, State, StateError};

/// Checkpoints that a run makes.
#[derive(Clone)]
pub struct Checkpoints {
    /// Core cycles from one checkpoint to the next. Without them there is a checkpoint only when
    /// the caller or the limit of cycles stops the run.
    pub every: Option<Cycle>,
    keep: Arc<Keep>,
}

type Keep = dyn Fn(&[u8]) + Send + Sync;

impl Checkpoints {
    /// Passes the bytes of each checkpoint to `keep`, of which the last ones suffice.
    pub fn new(every: Option<Cycle>, keep: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self {
            every,
            keep: Arc::new(keep),
        }
    }

    /// The first cycle after `now` in which a checkpoint is due.
    pub(crate) fn next(&self, now: Cycle) -> Cycle {
        let every = self.every.filter(|cycles| *cycles > 0);
        every.map_or(Cycle::MAX, |cycles| {
            (now / cycles + 1).saturating_mul(cycles)
        })
    }

    pub(crate) fn keep(&self, bytes: &[u8]) {
        (self.keep)(bytes);
    }
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checkpoints({:?})", self.every)
    }
}

/// A checkpoint that has been read: whole and undamaged, and from this version of Warploom.
#[derive(Clone)]
pub struct Checkpoint {
    identity: Identity,
    state: Arc<[u8]>,
}

impl Checkpoint {
    /// Reads the bytes of a checkpoint.
    ///
    /// # Errors
    /// If they are no checkpoint, cut off or damaged, or were written by another version.
    pub fn read(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let (identity, state) = file::read(bytes)?;
        let mut io = Io::restore(&identity);
        let mut identity = Identity::default();
        identity.state(&mut io)?;
        io.end()?;
        Ok(Self {
            identity,
            state: state.into(),
        })
    }

    /// Core cycle in which the run goes on.
    pub fn cycle(&self) -> Cycle {
        self.identity.cycle
    }

    /// Bytes of a checkpoint with this state.
    pub(crate) fn write(mut identity: Identity, state: &[u8]) -> Result<Vec<u8>, CheckpointError> {
        let mut io = Io::save();
        identity.state(&mut io)?;
        Ok(file::write(&io.into_bytes(), state))
    }

    /// The saved state, once its run is known to be one like `own`.
    pub(crate) fn state_for(&self, own: &Identity) -> Result<Io<'_>, CheckpointError> {
        own.check(&self.identity)?;
        Ok(Io::restore(&self.state))
    }

    /// The saved state for a fork, and what it changes.
    pub(crate) fn state_for_fork(
        &self,
        own: &Identity,
    ) -> Result<(Io<'_>, Changes), CheckpointError> {
        let changes = own.check_fork(&self.identity)?;
        Ok((Io::fork(&self.state), changes))
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checkpoint(cycle {})", self.cycle())
    }
}

/// Reason why a run cannot go on from a checkpoint, or cannot make one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes do not begin like a checkpoint.
    #[error(
        "the file is no checkpoint of Warploom; `--checkpoint FILE` of `warploom run` writes one"
    )]
    Foreign,
    /// Bytes are missing at the end.
    #[error(
        "the checkpoint is cut off: {bytes} of {whole} bytes are there; take an earlier checkpoint"
    )]
    CutOff {
        /// Number of bytes that are there.
        bytes: u64,
        /// Number of bytes of the whole checkpoint.
        whole: u64,
    },
    /// The checksum differs from that of the bytes.
    #[error("the checkpoint is damaged: its checksum is wrong; take an earlier checkpoint")]
    Damaged,
    /// Another version of Warploom wrote it.
    #[error(
        "Warploom {written} wrote the checkpoint in format {format}, and this is Warploom {} with format {}; \
         go on with the program that wrote it",
        env!("CARGO_PKG_VERSION"),
        file::FORMAT
    )]
    Version {
        /// Version that wrote the checkpoint.
        written: String,
        /// Format of the checkpoint.
        format: u32,
    },
    /// Another build of the same version wrote it, whose machine has other state.
    #[error("another build of Warploom wrote the checkpoint; go on with the program that wrote it")]
    Build,
    /// Keys or options differ from those of the run that was saved.
    #[error("the run differs from that of the checkpoint: {}; give the same values", .0.join("; "))]
    Keys(Vec<String>),
    /// Keys or options differ that a fork may not change.
    #[error(
        "a fork may change `sm.warp_scheduler`, `sm.block_limit` and `sm.l1d_allocation`, except to \
         or from `locality`, and here {}; give the other values of the checkpoint's run",
        .0.join("; ")
    )]
    Unforkable(Vec<String>),
    /// The host program made another call than in the run that was saved.
    #[error(
        "the program or its input differs from that of the checkpoint: {0}; give the same target \
         or program, size, seed, arguments and files"
    )]
    OtherCall(OtherCall),
    /// The host program did something else than in the run that was saved.
    #[error(
        "the program or its input differs from that of the checkpoint; give the same target or \
         program, size, seed, arguments and files"
    )]
    Program,
    /// The host program was ended while it ran again.
    #[error(
        "the program was ended before it had come to the checkpoint, which is still there; go on \
         from it again"
    )]
    Ended,
    /// The run has something that checkpoints cannot save.
    #[error("{0} cannot be saved in checkpoints; leave it out")]
    Unsaved(&'static str),
    /// The saved state contradicts itself, so that the run cannot go on.
    #[error(
        "the state in the checkpoint contradicts itself: {0}; take an earlier checkpoint, or \
         report it if Warploom wrote this one"
    )]
    Contradicts(String),
    /// The saved state does not fit the machine.
    #[error("the checkpoint does not fit the machine: {0}; go on with the program that wrote it")]
    State(#[from] StateError),
}
