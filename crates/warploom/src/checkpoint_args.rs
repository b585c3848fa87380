//! Options of `run` and `app` for checkpoints.

use crate::failure::Failure;
use crate::output::note;
use std::path::{Path, PathBuf};
use warploom_run::{Checkpoint, Checkpoints, Options, io_reason, probe_output, write_whole};

/// Checkpoints that a run makes, and the one from which it goes on.
#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct CheckpointArgs {
    /// Write the state of the run to FILE when a signal or --max-cycles stops it, so that `--resume
    /// FILE` goes on with the same results
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["functional", "sample_error"]
    )]
    checkpoint: Option<PathBuf>,
    /// Also write FILE every N core cycles; each checkpoint replaces the last one
    #[arg(
        long,
        value_name = "N",
        requires = "checkpoint",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    checkpoint_every: Option<u64>,
    /// Go on from the checkpoint FILE of a run with the same target or program, GPU and options
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["functional", "sample_error"]
    )]
    resume: Option<PathBuf>,
    /// Go on from the checkpoint FILE with another sm.warp_scheduler, sm.block_limit or
    /// sm.l1d_allocation, whose state begins anew
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["functional", "sample_error", "resume"]
    )]
    fork: Option<PathBuf>,
}

impl CheckpointArgs {
    /// The first of the options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let checkpoint = self.checkpoint.as_ref().map(|_| "--checkpoint");
        let resume = self.resume.as_ref().map(|_| "--resume");
        let fork = self.fork.as_ref().map(|_| "--fork");
        checkpoint.or(resume).or(fork)
    }

    /// The options of a run with its checkpoints. Reads the one from which it goes on.
    pub fn add_to(&self, options: Options) -> Result<Options, Failure> {
        Ok(Options {
            checkpoints: self
                .checkpoint
                .as_deref()
                .map(|path| self.to(path))
                .transpose()?,
            resume: self
                .resume
                .as_ref()
                .or(self.fork.as_ref())
                .map(|path| read(path))
                .transpose()?,
            fork: self.fork.is_some(),
            ..options
        })
    }

    /// The files to which checkpoints go, and from which the run goes on. The first can be written,
    /// and the second is a checkpoint.
    pub fn files(&self) -> Result<[Option<PathBuf>; 2], Failure> {
        let resume = self.resume.as_ref().or(self.fork.as_ref());
        self.checkpoint.as_deref().map(probe).transpose()?;
        resume.map(|path| read(path)).transpose()?;
        Ok([self.checkpoint.clone(), resume.cloned()])
    }

    /// Core cycles from one checkpoint to the next.
    pub const fn every(&self) -> Option<u64> {
        self.checkpoint_every
    }

    /// True if the run goes on with other policies.
    pub const fn forks(&self) -> bool {
        self.fork.is_some()
    }

    fn to(&self, path: &Path) -> Result<Checkpoints, Failure> {
        probe(path)?;
        let path = path.to_owned();
        Ok(Checkpoints::new(self.checkpoint_every, move |bytes| {
            write(&path, bytes);
        }))
    }
}

/// Checks that a checkpoint can be written.
fn probe(path: &Path) -> Result<(), Failure> {
    probe_output(path).map_err(|error| {
        let (shown, reason) = (path.display(), io_reason(&error));
        Failure::Input(format!("cannot write the checkpoint {shown}: {reason}"))
    })
}

/// Writes a checkpoint. The run goes on if that fails, because its result is worth more.
fn write(path: &Path, bytes: &[u8]) {
    if let Err(error) = write_whole(path, |file| file.write_all(bytes)) {
        let (shown, reason) = (path.display(), io_reason(&error));
        note(&format!(
            "warning: cannot write the checkpoint {shown}: {reason}; the run goes on\n"
        ));
    }
}

fn read(path: &Path) -> Result<Checkpoint, Failure> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| {
        let reason = io_reason(&error);
        Failure::Input(format!("cannot read the checkpoint {shown}: {reason}"))
    })?;
    let checkpoint = Checkpoint::read(&bytes);
    crate::panic::install_for_checkpoint();
    checkpoint.map_err(|error| Failure::Input(format!("cannot go on from {shown}: {error}")))
}
