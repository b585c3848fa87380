//! Errors of commands, and their exit statuses.

use crate::interrupt::INTERRUPTED;
use crate::output::{error_columns, error_style};
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
        let text = fitted(&self.text(), error_columns());
        // If standard error is closed, nothing can be reported.
        let _ = std::io::stderr().write_all(text.as_bytes());
        ExitCode::from(status)
    }
}

/// Beginnings of lines of sentences in an error. Other lines show text of the user's files.
const SENTENCES: [&str; 3] = ["error", "interrupted: ", "  = help: "];

/// The text of an error, whose sentences keep to `width` characters, if it is given. A line with a
/// command stays whole, so that it can be copied.
fn fitted(text: &str, width: Option<u16>) -> String {
    let Some(width) = width.map(usize::from) else {
        return text.to_owned();
    };
    let has_command = |line: &str| {
        ["`warploom ", "`nvcc ", "`pip "]
            .iter()
            .any(|of| line.contains(of))
    };
    let mut fitted = String::new();
    for line in text.lines() {
        let plain = without_colours(line);
        let is_sentence = SENTENCES.iter().any(|start| plain.starts_with(start));
        if !is_sentence || plain.chars().count() <= width || has_command(&plain) {
            fitted += &format!("{line}\n");
            continue;
        }
        let indent = match plain.starts_with("  = help: ") {
            true => "  = help: ".len(),
            false => 2,
        };
        let mut used = 0;
        for (nth, word) in line.split(' ').enumerate() {
            let length = without_colours(word).chars().count();
            if nth > 0 && used + 1 + length > width && used > indent {
                fitted += &format!("\n{}", " ".repeat(indent));
                used = indent;
            } else if nth > 0 {
                fitted.push(' ');
                used += 1;
            }
            fitted += word;
            used += length;
        }
        fitted.push('\n');
    }
    fitted
}

/// A text without the sequences that colour it on a terminal.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, rest)| rest)
    })
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

#[cfg(test)]
mod tests {
    use super::{fitted, without_colours};

    #[test]
    fn sentences_of_errors_keep_to_a_width() {
        let text = "error[x]: there is no key of this name\n --> --set:1:1\n  |\n\
                    1 | a line of a file that is as long as it is\n  \
                    = help: did you mean \u{1b}[1msm.warp_scheduler\u{1b}[0m or another one?\n  \
                    = help: `warploom list gpus` lists what there is to choose from\n";
        let narrow = fitted(text, Some(30));
        let expected = "error[x]: there is no key of\n  this name\n --> --set:1:1\n  |\n\
                        1 | a line of a file that is as long as it is\n  \
                        = help: did you mean\n          sm.warp_scheduler or\n          \
                        another one?\n  \
                        = help: `warploom list gpus` lists what there is to choose from\n";
        assert_eq!(without_colours(&narrow), expected);
        assert_eq!(fitted(text, None), text);
    }
}
