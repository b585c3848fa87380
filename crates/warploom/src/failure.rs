//! Why a command could not do what was asked, and the exit status of that.

use crate::output::error_style;
use std::io::Write;
use std::process::ExitCode;
use warploom_config::ConfigErrors;
use warploom_lab::StoreError;
use warploom_run::RunError;
use warploom_run::launch_file::InputErrors;

/// Why a command ended early. Each says what, where, and what to do.
pub enum Failure {
    /// Bad usage or input; the text is complete but for its `error:`.
    Input(String),
    /// The configuration.
    Config(ConfigErrors),
    /// A launch file or what it names.
    Files(InputErrors),
    /// PTX; the text holds every problem with its place.
    Ptx(String),
    /// The output could not be written.
    Output(String),
}

impl Failure {
    /// Prints it to standard error and gives the exit status.
    pub fn report(self) -> ExitCode {
        let (text, status) = match self {
            // Problems with places, drawn already.
            Self::Input(drawn) if drawn.starts_with("error[") => (drawn, 2),
            Self::Input(message) => (format!("error: {message}\n"), 2),
            Self::Config(errors) => (errors.render(error_style()), 2),
            Self::Files(errors) => (errors.render(error_style()), 2),
            Self::Ptx(problems) => (format!("{}\n", problems.trim_end()), 2),
            Self::Output(message) => (format!("error: {message}\n"), 1),
        };
        // Nothing is left to tell if standard error is gone.
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Input(error.to_string())
    }
}
