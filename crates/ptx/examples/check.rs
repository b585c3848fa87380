//! Checks PTX files and prints what is wrong with them: `cargo run --example check -- a.ptx b.ptx`.
#![allow(
    clippy::print_stdout,
    reason = "an example is a program of its own, and printing is its purpose"
)]

use std::time::Instant;
use warploom_diag::{Source, Style};
use warploom_ptx::{check, parse, print};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let source = Source::from_bytes(&path, std::fs::read(&path)?)?;
        let start = Instant::now();
        let (module, mut diagnostics) = parse(&source);
        let parsed = start.elapsed();
        if !diagnostics.has_errors() {
            diagnostics.append(check(&module));
        }
        let checked = start.elapsed() - parsed;
        print!("{}", diagnostics.render(&source, Style::Plain));
        println!(
            "{path}: {} bytes, parsed in {parsed:?}, checked in {checked:?}, {} errors, prints as {} bytes",
            source.text().len(),
            diagnostics.error_count(),
            print(&module).len()
        );
    }
    Ok(())
}
