//! Errors of commands, and their exit statuses.

use crate::interrupt::INTERRUPTED;
use crate::output::error_style;
use crate::places;
use std::io::Write;
use std::process::ExitCode;
use warploom_config::ConfigErrors;
use warploom_lab::StoreError;
use warploom_run::RunError;
use warploom_run::launch_file::InputErrors;
use warploom_sweep::{FolderError, PlanError, WorkError};

/// Reason why a command ended early. Each contains the problem, its place and a remedy.
pub enum Failure {
    /// Invalid usage or input. The text is complete except for `error:`.
    Input(String),
    /// Errors in the configuration.
    Config(ConfigErrors),
    /// Errors in a launch file or in the files that it names.
    Files(InputErrors),
    /// Errors in PTX. The text contains all problems with their places.
    Ptx(String),
    /// The output could not be written.
    Output(String),
    /// A signal ended the command before it had a result.
    Interrupted(String),
}

impl Failure {
    /// Text of the error, which ends with a line break.
    pub fn text(&self) -> String {
        match self {
            // Problems with places are already rendered.
            Self::Input(drawn) if drawn.starts_with("error[") => drawn.clone(),
            Self::Input(message) | Self::Output(message) => format!("error: {message}\n"),
            Self::Interrupted(message) => format!("interrupted: {message}\n"),
            Self::Config(errors) => errors.render(error_style()),
            Self::Files(errors) => places::render(errors, error_style()),
            Self::Ptx(problems) => format!("{}\n", problems.trim_end()),
        }
    }

    /// Prints the error to standard error and returns the exit status.
    pub fn report(self) -> ExitCode {
        let status = match self {
            Self::Output(_) => 1,
            Self::Interrupted(_) => INTERRUPTED,
            _ => 2,
        };
        let text = self.text();
        // If standard error is closed, nothing can be reported.
        let _ = std::io::stderr().write_all(text.as_bytes());
        ExitCode::from(status)
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self::Config(errors)
    }
}

impl From<InputErrors> for Failure {
    fn from(errors: InputErrors) -> Self {
        Self::Files(errors)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        Self::Output(error.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Folder(error) => error.into(),
            other => Self::Input(other.to_string()),
        }
    }
}

impl From<WorkError> for Failure {
    fn from(error: WorkError) -> Self {
        Self::Output(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Input(error.to_string())
    }
}
