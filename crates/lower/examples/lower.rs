//! Lists the kernels of PTX files: `cargo run -p warploom-lower --example lower -- FILE.ptx...`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints what it shows"
)]

use warploom_diag::{Source, Style};

fn main() {
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else {
            eprintln!("{path}: cannot be read");
            continue;
        };
        let source = match Source::from_bytes(path, bytes) {
            Ok(source) => source,
            Err(error) => {
                eprintln!("{error}");
                continue;
            }
        };
        let (module, diagnostics) = warploom_ptx::parse(&source);
        if diagnostics.has_errors() {
            eprintln!("{}", diagnostics.render(&source, Style::Plain));
            continue;
        }
        match warploom_lower::lower(&module, &source) {
            Err(errors) => eprintln!("{}", errors.render(&source, Style::Plain)),
            Ok(module) => {
                module
                    .kernels
                    .iter()
                    .for_each(|kernel| println!("{kernel}"));
                for (name, errors) in &module.refused {
                    println!("refused {name}:\n{}", errors.render(&source, Style::Plain));
                }
            }
        }
    }
}
