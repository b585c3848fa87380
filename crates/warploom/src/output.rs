//! Standard output, files, and properties of the terminal.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use warploom_diag::Style;
use warploom_run::{is_same_file, probe_output, write_whole};

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
    let written = write_whole(path, |out| out.write_all(text.as_bytes()));
    written.map_err(|error| Failure::Output(cannot_write(path, &error)))
}

/// Says on standard error that a file was written.
pub fn wrote(path: &Path) {
    note(&format!("wrote {}\n", path.display()));
}

/// Output file that an option names, or `None` if the option is absent.
pub type OutputFile<'a> = (&'static str, Option<&'a Path>);

/// Refuses output files that cannot be written, that the command reads, or that another option
/// also writes. Commands call it before the work whose result the files will contain.
pub fn check_outputs(outputs: &[OutputFile], inputs: &[PathBuf]) -> Result<(), Failure> {
    let given = outputs.iter();
    let given: Vec<_> = given
        .filter_map(|(option, path)| Some((option, (*path)?)))
        .collect();
    for (at, (option, path)) in given.iter().enumerate() {
        let shown = path.display();
        if path.as_os_str() == "-" {
            return Err(Failure::Input(format!(
                "{option} writes a file, and `-` is none; use --json, or give /dev/stdout"
            )));
        }
        if let Some(format) = other_picture(option, path) {
            return Err(Failure::Input(format!(
                "{option} writes SVG, and {shown} is named as {format}; give a name that ends in \
                 .svg, which browsers and Inkscape convert"
            )));
        }
        if inputs.iter().any(|input| is_same_file(input, path)) {
            return Err(Failure::Input(format!(
                "{option} would overwrite {shown}, which this command reads; give another path"
            )));
        }
        let is_special = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        let earlier = given[..at].iter();
        let mut twice = earlier.filter(|(_, other)| !is_special && is_same_file(other, path));
        if let Some((other, _)) = twice.next() {
            return Err(Failure::Input(format!(
                "{other} and {option} would both write {shown}; give each a separate path"
            )));
        }
        probe_output(path).map_err(|error| Failure::Input(cannot_write(path, &error)))?;
    }
    Ok(())
}

/// The format that a file's name promises, if it is a picture other than the option writes.
fn other_picture(option: &str, path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_lowercase();
    let formats = [
        ("png", "PNG"),
        ("jpg", "JPEG"),
        ("jpeg", "JPEG"),
        ("pdf", "PDF"),
        ("eps", "EPS"),
        ("gif", "GIF"),
    ];
    let named = formats.iter().find(|(known, _)| *known == ending);
    named
        .filter(|_| option == "--svg")
        .map(|(_, format)| *format)
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!(
        "cannot write {}: {error}; give a path in a folder that exists and is writable",
        path.display()
    )
}

/// Columns of a terminal that states no size, as those of recorders and of some editors do.
const UNSTATED: u16 = 80;

/// Number of columns that the environment variable COLUMNS asks for, or else those of the terminal.
/// `None` if standard output is not a terminal and nobody asks.
pub fn width() -> Option<u16> {
    let asked = std::env::var("COLUMNS").ok();
    let stated = terminal_size::terminal_size_of(std::io::stdout());
    let of_terminal = columns(
        std::io::stdout().is_terminal(),
        stated.map(|(width, _)| width.0),
    );
    asked_columns(asked.as_deref()).or(of_terminal)
}

/// A number of columns that was asked for, if it is one.
fn asked_columns(text: Option<&str>) -> Option<u16> {
    text?.trim().parse().ok().filter(|columns| *columns > 0)
}

/// Number of columns of the terminal, or `None` if standard error is not a terminal.
pub fn error_width() -> Option<u16> {
    let stated = terminal_size::terminal_size_of(std::io::stderr());
    columns(
        std::io::stderr().is_terminal(),
        stated.map(|(width, _)| width.0),
    )
}

/// Number of columns for notes: those that COLUMNS asks for, or else those of the terminal of
/// standard error. `None` if it is not a terminal and nobody asks.
pub fn error_columns() -> Option<u16> {
    let asked = std::env::var("COLUMNS").ok();
    asked_columns(asked.as_deref()).or_else(error_width)
}

fn columns(is_terminal: bool, stated: Option<u16>) -> Option<u16> {
    is_terminal.then(|| stated.unwrap_or(UNSTATED))
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

/// A command in lines of at most `width` characters, if it is given, which a shell reads as one. It
/// is divided before options.
pub fn continued(indent: &str, command: &str, width: Option<u16>) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let length = |text: &str| text.chars().count();
    let mut options = command.split(" --");
    let mut line = format!("{indent}{}", options.next().unwrap_or_default());
    let mut text = String::new();
    let mut left = options.clone().count();
    for option in options {
        left -= 1;
        // A line that goes on ends with ` \`.
        let end = if left > 0 { 2 } else { 0 };
        if length(&line) + " --".len() + length(option) + end > width {
            text += &format!("{line} \\\n");
            line = format!("{indent}    --{option}");
        } else {
            line += &format!(" --{option}");
        }
    }
    text + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::{asked_columns, columns, continued, other_picture, quoted};
    use std::path::Path;

    #[test]
    fn pictures_of_other_formats_are_known_by_their_names() {
        let of = |option: &str, name: &str| other_picture(option, Path::new(name));
        assert_eq!(of("--svg", "x.PNG"), Some("PNG"));
        assert_eq!(of("--svg", "x.svg"), None);
        assert_eq!(of("--svg", "png"), None);
        assert_eq!(of("--csv", "x.png"), None);
    }

    #[test]
    fn columns_are_those_that_were_asked_for() {
        assert_eq!(asked_columns(Some("72")), Some(72));
        for none in [None, Some(""), Some("0"), Some("wide"), Some("-1")] {
            assert_eq!(asked_columns(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_terminal_without_a_size_has_80_columns() {
        assert_eq!(columns(true, None), Some(80));
        assert_eq!(columns(true, Some(120)), Some(120));
        assert_eq!(columns(false, None), None);
    }

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
    fn a_long_command_is_divided_before_options() {
        let command = "warploom run k.ptx --grid 4 --block 256 --arg 'f32[1024]=normal(0, 1)'";
        assert_eq!(continued("  ", command, None), format!("  {command}\n"));
        let lines = "  warploom run k.ptx --grid 4 \\\n      --block 256 \\\n      \
                     --arg 'f32[1024]=normal(0, 1)'\n";
        assert_eq!(continued("  ", command, Some(36)), lines);
        assert_eq!(continued("  ", command, Some(72)), format!("  {command}\n"));
        let divided = continued("  ", command, Some(71));
        assert!(divided.lines().all(|line| line.len() <= 71) && divided.contains(" \\\n"));
    }
}
