//! The verb `warploom import`.

mod energy;

use crate::energy_args::is_xml;
use crate::failure::Failure;
use crate::gpu::{file_beside, name_of};
use crate::output::{note, print, print_json, write_file};
use clap::ValueEnum;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use warploom_config::ModelStyle;
use warploom_config::gpgpusim::{Class, Imported, Item, Report, Request, import};
use warploom_run::launch_file::read;

const EXAMPLES: &str = "\
Examples:
  warploom import SM7_QV100/gpgpusim.config -o qv100.toml    write a preset, report on it
  warploom import gpgpusim.config > my-gpu.toml              the same, the report on standard error
  warploom import gpgpusim.config --icnt mesh.icnt --name my-gpu --json
  warploom import accelwattch_ptx_sim.xml -o my-energy.toml  write an energy preset
  warploom run vectoradd --gpu gpgpusim.config               import and run at once
  warploom run vectoradd --gpu qv100-volta --energy=accelwattch_ptx_sim.xml";

/// Convert a GPGPU-Sim configuration to a preset, and name all options that could not be converted
///
/// Reads the options of GPGPU-Sim 3.x and 4.x and the network's file that they name. Options that
/// the file omits take GPGPU-Sim's defaults. Unknown options are reported and skipped. A value that
/// cannot be parsed is an error. An XML file of AccelWattch or GPUWattch becomes an energy preset.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// GPGPU-Sim's configuration, usually gpgpusim.config, or the XML file of its power simulation
    config: PathBuf,
    /// Network's file, instead of the one that -inter_config_file names
    #[arg(long, value_name = "FILE")]
    icnt: Option<PathBuf>,
    /// Write the preset to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Name of the machine [default: that of the file, or of its folder for gpgpusim.config]
    #[arg(long)]
    name: Option<String>,
    /// Interpret the options as those of this version of GPGPU-Sim [default: determined from the
    /// options]
    #[arg(long, value_name = "VERSION")]
    style: Option<Style>,
    /// Print preset and report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Style {
    /// GPGPU-Sim 3.x, with the defaults of 3.2.2
    #[value(name = "3")]
    V3,
    /// GPGPU-Sim 4.x, with the defaults of 4.2
    #[value(name = "4")]
    V4,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if is_xml(&args.config) {
        return energy::run(args);
    }
    let config = read(&args.config)?;
    if let Some(refused) = no_configuration(&args.config.to_string_lossy(), config.text()) {
        return Err(Failure::Input(refused));
    }
    let network = args.icnt.as_deref().map(read).transpose()?;
    let request = Request {
        config,
        network,
        name: args.name.clone().unwrap_or_else(|| name_of(&args.config)),
        style: args.style.map(|style| match style {
            Style::V3 => ModelStyle::V3,
            Style::V4 => ModelStyle::V4,
        }),
    };
    let imported = import(request, &mut file_beside)?;
    if let Some(path) = &args.output {
        write_file(path, &imported.toml)?;
    }
    match (args.json, &args.output) {
        (true, _) => print_json(&json(&imported))?,
        (false, Some(_)) => print(&text(&imported.report))?,
        (false, None) => {
            print(&imported.toml)?;
            note(&text(&imported.report));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Message about a file without any option of GPGPU-Sim, which all begin with a hyphen.
fn no_configuration(shown: &str, text: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim_start);
    if lines().any(|line| line.starts_with('-')) {
        return None;
    }
    let has = |heading: &str| lines().any(|line| line.starts_with(heading));
    let help = if has("[[launch]]") {
        format!("it is a launch file: `warploom run {shown}` runs it")
    } else if has("[axes") {
        format!("it is the file of a sweep: `warploom sweep {shown}` runs it")
    } else if shown.ends_with(".toml") {
        format!("a machine as TOML needs no import: `--gpu {shown}`")
    } else {
        "give a file such as gpgpusim.config, whose lines are options, for example \
         `-gpgpu_n_clusters 15`"
            .to_owned()
    };
    Some(format!(
        "{shown} has no option of GPGPU-Sim\n  = help: {help}"
    ))
}

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    config: &'a str,
    network: Option<&'a str>,
    /// Detected version of GPGPU-Sim.
    version: &'a str,
    evidence: &'a str,
    /// Text of the preset.
    toml: &'a str,
    options: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    option: &'a str,
    value: &'a str,
    class: &'a str,
    text: &'a str,
    /// File of the option; `None` for a default.
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
}

fn json(imported: &Imported) -> Json<'_> {
    let report = &imported.report;
    let row = |item: &'_ Item| -> (Option<u32>, Option<u32>) {
        let place = item.file.as_ref().map(|_| item.position);
        (place.map(|p| p.line), place.map(|p| p.column))
    };
    let options = report.items.iter().map(|item| Row {
        option: &item.option,
        value: &item.value,
        class: class_name(item.class),
        text: &item.text,
        file: item.file.as_deref(),
        line: row(item).0,
        column: row(item).1,
    });
    Json {
        name: &imported.spec.name,
        config: &report.config,
        network: report.network.as_deref(),
        version: report.version(),
        evidence: &report.evidence,
        toml: &imported.toml,
        options: options.collect(),
    }
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Carried => "carried",
        Class::NoEffect => "no effect",
        Class::NotModelled => "not modelled",
        Class::Unknown => "unknown",
    }
}

/// Text of the report. Carried options are only counted, because the preset names the option next
/// to each value.
fn text(report: &Report) -> String {
    let mut text = format!("{} is imported", report.config);
    if let Some(network) = &report.network {
        let _ = write!(text, " with {network}");
    }
    let (version, evidence) = (report.version(), &report.evidence);
    let _ = writeln!(text, " as options of GPGPU-Sim {version} ({evidence})\n");
    let carried = report.of(Class::Carried);
    let _ = writeln!(text, "carried: {}", options(carried.count()));
    let told = report
        .of(Class::Carried)
        .filter(|item| !item.text.is_empty());
    located(&mut text, told);
    by_reason(&mut text, report);
    for class in [Class::NotModelled, Class::Unknown] {
        let count = report.of(class).count();
        if count > 0 {
            let _ = writeln!(text, "\n{}: {}", class_name(class), options(count));
            located(&mut text, report.of(class));
        }
    }
    text
}

fn options(count: usize) -> String {
    match count {
        1 => "1 option".to_owned(),
        count => format!("{count} options"),
    }
}

/// Writes items with their places. Consecutive items with the same text share it.
fn located<'a>(text: &mut String, items: impl Iterator<Item = &'a Item>) {
    let mut items = items.peekable();
    while let Some(item) = items.next() {
        let place = match &item.file {
            Some(file) => format!("{file}:{}", item.position),
            None => "default".to_owned(),
        };
        let _ = writeln!(text, "  {} {}  ({place})", item.option, item.value);
        if items.peek().is_none_or(|next| next.text != item.text) {
            wrapped(text, item.text.split(' '), " ");
        }
    }
}

/// Writes the options without effect, by reason.
fn by_reason(text: &mut String, report: &Report) {
    let items: Vec<_> = report.of(Class::NoEffect).collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nno effect: {}", options(items.len()));
    let mut reasons: Vec<&str> = Vec::new();
    for item in &items {
        if !reasons.contains(&item.text.as_str()) {
            reasons.push(&item.text);
        }
    }
    for reason in reasons {
        let _ = writeln!(text, "  {reason}");
        let own = items.iter().filter(|item| item.text == reason);
        wrapped(text, own.map(|item| item.option.as_str()), ", ");
    }
}

/// Writes words in indented lines of at most 100 columns.
fn wrapped<'a>(text: &mut String, words: impl Iterator<Item = &'a str>, separator: &str) {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() && line.len() + separator.len() + word.len() > 94 {
            let _ = writeln!(text, "      {}{}", line, separator.trim_end());
            line.clear();
        }
        if !line.is_empty() {
            line.push_str(separator);
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "      {line}");
}

#[cfg(test)]
mod tests {
    use super::no_configuration;

    #[test]
    fn files_of_other_kinds_are_named() {
        let refused = |name: &str, text: &str| no_configuration(name, text).unwrap_or_default();
        let launch = refused("hist.toml", "module = \"h.ptx\"\n[[launch]]\n");
        assert!(
            launch.contains("`warploom run hist.toml` runs it"),
            "{launch}"
        );
        let sweep = refused("study.toml", "[axes]\n");
        assert!(sweep.contains("`warploom sweep study.toml`"), "{sweep}");
        let machine = refused("my.toml", "base = \"gtx480\"\n");
        assert!(machine.contains("`--gpu my.toml`"), "{machine}");
        assert!(refused("notes.txt", "hello\n").contains("gpgpusim.config"));
        assert_eq!(
            no_configuration("g.config", "# a comment\n -gpgpu_n_clusters 1\n"),
            None
        );
    }
}
