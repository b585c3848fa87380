//! Standard output, files, and properties of the terminal.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use warploom_diag::Style;
use warploom_run::write_whole;

/// Prints to standard output. It is no failure if the reader stops reading (`| head`).
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Prints a note to standard error.
pub fn note(text: &str) {
    // If standard error is closed, nothing can be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&json(value))
}

/// A value as JSON, with a line break at the end.
pub fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("the schema has only string keys");
    text.push('\n');
    text
}

/// Writes a file. It replaces an older file only when it is complete.
pub fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    write_whole(path, |out| out.write_all(text.as_bytes())).map_err(|error| {
        let shown = path.display();
        Failure::Input(format!(
            "cannot write {shown}: {error}; give a path in a folder that exists and is writable"
        ))
    })
}

/// Checks that a file's folder exists, before the work whose result it will contain.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) if !folder.is_dir() => Err(Failure::Input(format!(
            "cannot write {}: there is no folder {}; give a path in a folder that exists and is \
             writable",
            path.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Number of columns of the terminal, or `None` if standard output is not a terminal.
pub fn width() -> Option<u16> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(stdout).map(|(width, _)| width.0)
}

/// Style of problems on standard error: with colours on a terminal, unless `NO_COLOR` is set.
pub fn error_style() -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stderr().is_terminal() && !plain {
        Style::Coloured
    } else {
        Style::Plain
    }
}

/// The command line as a user would type it.
pub fn command_line() -> String {
    let args = std::env::args_os().skip(1);
    let words = args.map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("warploom".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word, quoted so that a shell reads it as one word.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(
            quoted("--set=sm.warp_scheduler=gto"),
            "--set=sm.warp_scheduler=gto"
        );
        assert_eq!(quoted("f32[4]=iota"), "'f32[4]=iota'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
