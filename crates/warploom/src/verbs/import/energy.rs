//! Import of an XML file of AccelWattch or GPUWattch as an energy preset.

use super::Args;
use crate::failure::Failure;
use crate::output::{error_style, note, print, print_json, write_file};
use serde::Serialize;
use std::fmt::Write;
use std::process::ExitCode;
use warploom_energy::{Imported, import};
use warploom_run::launch_file::read;

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    /// Text of the energy preset.
    toml: &'a str,
    /// Number of the file's values in the preset.
    carried: usize,
    notes: &'a [String],
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let others = [
        ("--icnt", args.icnt.is_some()),
        ("--name", args.name.is_some()),
        ("--style", args.style.is_some()),
    ];
    if let Some((option, _)) = others.iter().find(|(_, given)| *given) {
        return Err(Failure::Input(format!(
            "{option} is for a configuration of GPGPU-Sim, and {} is the XML file of its power \
             simulation; leave it out",
            args.config.display()
        )));
    }
    let source = read(&args.config)?;
    let imported =
        import(&source).map_err(|errors| Failure::Input(errors.render(error_style())))?;
    if let Some(path) = &args.output {
        write_file(path, &imported.toml)?;
    }
    match (args.json, &args.output) {
        (true, _) => print_json(&Json {
            name: &imported.preset.name,
            toml: &imported.toml,
            carried: imported.carried,
            notes: &imported.notes,
        })?,
        (false, Some(_)) => print(&text(source.name(), &imported))?,
        (false, None) => {
            print(&imported.toml)?;
            note(&text(source.name(), &imported));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(name: &str, imported: &Imported) -> String {
    let mut text = format!("{name} is imported: {} values\n", imported.carried);
    for line in &imported.notes {
        let _ = writeln!(text, "  {line}");
    }
    text
}
