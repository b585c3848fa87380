//! Checkpoints of a program: their files, and the end of a program that cannot go on.
//!
//! The simulation writes its checkpoints, and a program that goes on makes all of its calls again,
//! as `docs/develop/checkpoints.md`, Host programs run again, describes.

use crate::context::Context;
use crate::settings::{Settings, SettingsError};
use std::path::Path;
use warploom_run::{Checkpoint, Checkpoints, Options, io_reason, write_whole};

impl Settings {
    /// The checkpoint from which the program goes on, if there is one.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is no whole checkpoint of this version.
    pub fn resumed(&self) -> Result<Option<Checkpoint>, SettingsError> {
        self.resume.as_deref().map(read).transpose()
    }

    /// Options of the simulation for its checkpoints. `show` shows a message to the user.
    pub(crate) fn checkpoints(&self, resume: Option<Checkpoint>, show: fn(&str)) -> Options {
        let to = self.checkpoint.clone();
        let checkpoints = to.map(|path| {
            Checkpoints::new(self.checkpoint_every, move |bytes| {
                write(&path, bytes, show);
            })
        });
        Options {
            checkpoints,
            resume,
            fork: self.fork,
            prints_again: true,
            ..self.options()
        }
    }
}

/// Writes a checkpoint. The program goes on if that fails, because its result is worth more.
fn write(path: &Path, bytes: &[u8], show: fn(&str)) {
    if let Err(error) = write_whole(path, |file| file.write_all(bytes)) {
        let (shown, reason) = (path.display(), io_reason(&error));
        show(&format!(
            "warploom: warning: cannot write the checkpoint {shown}: {reason}; the program goes on\n"
        ));
    }
}

fn read(path: &Path) -> Result<Checkpoint, SettingsError> {
    let told = |reason: String| SettingsError::Checkpoint {
        path: path.display().to_string(),
        reason,
    };
    let bytes = std::fs::read(path).map_err(|error| told(io_reason(&error)))?;
    Checkpoint::read(&bytes).map_err(|error| told(error.to_string()))
}

impl Context {
    /// Message for the user if the simulation has ended because the program cannot go on from its
    /// checkpoint, or cannot be saved. Results of its kernels are missing then, so the program
    /// cannot go on either.
    pub fn refusal(&mut self) -> Option<String> {
        let reason = self.simulation()?.refusal()?;
        Some(self.refused(&reason))
    }

    /// Message for a reason why the program cannot go on.
    pub(crate) fn refused(&self, reason: &str) -> String {
        match &self.settings.resume {
            Some(path) => format!("cannot go on from {}: {reason}", path.display()),
            None => reason.to_owned(),
        }
    }
}
