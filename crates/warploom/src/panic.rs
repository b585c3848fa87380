//! Message for bugs of Warploom itself.

use crate::output::command_line;
use std::io::Write;
use std::panic::PanicHookInfo;

/// Replaces the default message of a panic by one that attributes the bug to Warploom and says what
/// to report. `RUST_BACKTRACE=1` adds the place.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        let _ = std::io::stderr().write_all(message(info).as_bytes());
    }));
}

/// Replaces the message of a panic where a run goes on from a checkpoint: what contradicts itself
/// in its state is told as an error of the run, and only the place of the failure before it.
pub fn install_for_checkpoint() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), ToString::to_string);
        let text = format!("note: the run stopped at {place}\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("a panic without a message");
    let place = info
        .location()
        .map_or(String::new(), |place| format!(" ({place})"));
    let backtrace = std::backtrace::Backtrace::capture();
    let trace = match backtrace.status() {
        std::backtrace::BacktraceStatus::Captured => format!("\n{backtrace}"),
        _ => String::new(),
    };
    format!(
        "\nThis is a bug in Warploom {version}, not in your input or kernel.\n\
         Please report it at {repository}/issues with this text and the files you ran:\n\n  \
         {command}\n  {what}{place}\n{trace}",
        version = env!("CARGO_PKG_VERSION"),
        repository = env!("CARGO_PKG_REPOSITORY"),
        command = command_line(),
    )
}
