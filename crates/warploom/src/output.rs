//! Standard output, files, and what is known of the terminal.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use warploom_diag::Style;

/// Prints to standard output. A reader that stops reading (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Tells something on standard error.
pub fn note(text: &str) {
    // Nothing is left to tell if standard error is gone.
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

/// Writes a file. It replaces an older one only when it is complete.
pub fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> std::io::Result<()> {
        let mut file = temporary(folder.unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
        let shown = path.display();
        Failure::Input(format!(
            "cannot write {shown}: {error}; give a path in a folder that exists and is writable"
        ))
    })
}

/// A new file with the permissions that a plain one would have.
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Columns of the terminal that standard output goes to; `None` when it goes elsewhere.
pub fn width() -> Option<u16> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(stdout).map(|(width, _)| width.0)
}

/// How problems are drawn on standard error: with colours on a terminal, unless `NO_COLOR` is set.
pub fn error_style() -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match std::io::stderr().is_terminal() && !plain {
        true => Style::Coloured,
        false => Style::Plain,
    }
}

/// The command line as one would type it again.
pub fn command_line() -> String {
    let args = std::env::args_os().skip(1);
    let words = args.map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("warploom".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word in the form that a shell reads as one word.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::{quoted, write_file};

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

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        assert!(write_file(&path, "one").is_ok() && write_file(&path, "two").is_ok());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_file(&folder.path().join("no/out.json"), "").is_err());
    }
}
