//! `cargo xtask bench --programs`: processor time of whole CUDA programs under Warploom and under
//! GPGPU-Sim, in turns on one machine.
//!
//! The programs are those of `cargo xtask fidelity --programs`. GPGPU-Sim is no part of the
//! project: a command of the user runs a program under it. Times are those that the shell's `time`
//! reports: all processes of a run, from their start to their end.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use warploom_report::figures;

use super::summary::{geometric_mean, middle};
use crate::fidelity::{Program, build_programs, preset_of, recorded_programs};

/// Settings of the measurement.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ProgramArgs {
    /// Instead, measure whole programs: a folder as `cargo xtask fidelity --programs` takes it.
    /// Names select some of the programs
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["size", "threads", "growth", "gpu"])]
    programs: Option<PathBuf>,

    /// Command that runs a program under GPGPU-Sim. It is called in the program's folder as
    /// `COMMAND CONFIGURATION PROGRAM ARGUMENTS...`
    #[arg(long, value_name = "COMMAND", requires = "programs")]
    gpgpusim: Option<PathBuf>,

    /// A release build of `warploom` in a folder with `libwarploom_cudart.so`; without this option
    /// both are built
    #[arg(long, value_name = "FILE", requires = "programs")]
    warploom: Option<PathBuf>,
}

impl ProgramArgs {
    /// True if whole programs are measured.
    pub fn given(&self) -> bool {
        self.programs.is_some()
    }
}

/// Processor time of a run in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Seconds {
    user: f64,
    system: f64,
}

impl Seconds {
    fn sum(self) -> f64 {
        self.user + self.system
    }

    /// Reads the line that the shell prints for `TIMEFORMAT='%3U %3S'`.
    fn parse(line: &str) -> Option<Self> {
        let (user, system) = line.split_once(' ')?;
        Some(Self {
            user: user.parse().ok()?,
            system: system.parse().ok()?,
        })
    }
}

/// A program on a configuration.
#[derive(Clone, Debug, Serialize)]
struct Row {
    program: String,
    /// GPGPU-Sim's name of the configuration.
    configuration: String,
    /// Medians of Warploom's runs.
    ours: Seconds,
    /// Medians of GPGPU-Sim's runs, if it ran.
    theirs: Option<Seconds>,
}

impl Row {
    /// GPGPU-Sim's time over ours, user and system time together.
    fn ratio(&self) -> Option<f64> {
        self.theirs.map(|theirs| theirs.sum() / self.ours.sum())
    }
}

/// Times of all programs.
#[derive(Clone, Debug, Serialize)]
pub struct Programs {
    rounds: usize,
    rows: Vec<Row>,
}

/// Commands and folder of the measurement.
struct Bench<'a> {
    folder: &'a Path,
    warploom: &'a Path,
    gpgpusim: Option<&'a Path>,
    rounds: usize,
}

/// Measures the programs with the given names, or all.
pub fn measure(
    args: &ProgramArgs,
    names: &[String],
    rounds: usize,
    root: &Path,
) -> Result<Programs> {
    let folder = args.programs.as_deref().context("no folder")?;
    let warploom = args.warploom.clone();
    let warploom = warploom.map_or_else(|| build_programs(root), Ok)?;
    let absolute = |path: &Path| {
        path.canonicalize()
            .with_context(|| format!("cannot find {}", path.display()))
    };
    let gpgpusim = args.gpgpusim.as_deref().map(absolute).transpose()?;
    let bench = Bench {
        folder: &absolute(folder)?,
        warploom: &absolute(&warploom)?,
        gpgpusim: gpgpusim.as_deref(),
        rounds: rounds.max(1),
    };
    let mut rows = Vec::new();
    for program in recorded_programs()?.programs {
        if !names.is_empty() && !names.contains(&program.name) {
            continue;
        }
        for configuration in program.runs.keys() {
            let name = format!("{} on {configuration}", program.name);
            rows.push(bench.row(&program, configuration).context(name)?);
        }
    }
    ensure!(!rows.is_empty(), "no program has one of these names");
    rows.sort_by(|a, b| a.configuration.cmp(&b.configuration));
    Ok(Programs {
        rounds: bench.rounds,
        rows,
    })
}

impl Bench<'_> {
    /// Runs a program by turns. The first round, without GPGPU-Sim, warms the file cache.
    fn row(&self, program: &Program, configuration: &str) -> Result<Row> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=self.rounds {
            show_progress(round, &program.name, configuration)?;
            let run = self.time(self.ours(program, configuration)?, program)?;
            if round == 0 {
                continue;
            }
            ours.push(run);
            if let Some(gpgpusim) = self.gpgpusim {
                let command = [gpgpusim.display().to_string(), configuration.to_owned()];
                theirs.push(self.time(command.into(), program)?);
            }
        }
        Ok(Row {
            program: program.name.clone(),
            configuration: configuration.to_owned(),
            ours: medians(&ours),
            theirs: (!theirs.is_empty()).then(|| medians(&theirs)),
        })
    }

    /// Begin of the command line that runs a program under Warploom.
    fn ours(&self, program: &Program, configuration: &str) -> Result<Vec<String>> {
        let preset = preset_of(configuration);
        let preset = preset.with_context(|| format!("no preset for {}", program.name))?;
        let warploom = self.warploom.display().to_string();
        let options = ["app", "--quiet", "--page-protection", "--gpu", preset, "--"];
        Ok([warploom]
            .into_iter()
            .chain(options.map(str::to_owned))
            .collect())
    }

    /// Processor time of a command that runs a program in its folder.
    fn time(&self, command: Vec<String>, program: &Program) -> Result<Seconds> {
        let at = self.folder.join(&program.name);
        let script = "TIMEFORMAT='%3U %3S'; time \"$@\" >/dev/null 2>&1";
        let output = Command::new("bash")
            .args(["-c", script, "time"])
            .args(&command)
            .arg(at.join("program"))
            .args(&program.arguments)
            .current_dir(&at)
            .stdin(Stdio::null())
            .output()
            .context("cannot start bash, whose `time` measures")?;
        let status = output.status;
        ensure!(
            status.success(),
            "{} ended with {status}",
            command.join(" ")
        );
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().last().unwrap_or_default();
        Seconds::parse(line).with_context(|| format!("bash printed `{line}` as times"))
    }
}

/// Medians of user and of system time.
fn medians(runs: &[Seconds]) -> Seconds {
    let of = |part: fn(&Seconds) -> f64| middle(runs.iter().map(part).collect());
    Seconds {
        user: of(|run| run.user),
        system: of(|run| run.system),
    }
}

fn show_progress(round: usize, program: &str, configuration: &str) -> Result<()> {
    let mut err = io::stderr();
    if err.is_terminal() {
        writeln!(err, "round {round}: {program} on {configuration}")?;
    }
    Ok(())
}

impl fmt::Display for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "processor seconds, medians of {} rounds\n", self.rounds)?;
        for rows in self
            .rows
            .chunk_by(|a, b| a.configuration == b.configuration)
        {
            write_table(f, rows)?;
        }
        Ok(())
    }
}

/// Writes the table of a configuration, and the mean of its ratios.
fn write_table(f: &mut fmt::Formatter<'_>, rows: &[Row]) -> fmt::Result {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let line = |row: &Row| {
        vec![
            row.program.clone(),
            number(Some(row.ours.user), 3),
            number(Some(row.ours.sum()), 3),
            number(row.theirs.map(|theirs| theirs.user), 2),
            number(row.theirs.map(Seconds::sum), 2),
            number(row.ratio(), 0),
        ]
    };
    let lines: Vec<_> = rows.iter().map(line).collect();
    let header = [
        rows[0].configuration.as_str(),
        "user",
        "with system",
        "GPGPU-Sim: user",
        "with system",
        "ratio",
    ];
    f.write_str(&figures(&header, &lines, None))?;
    match geometric_mean(rows.iter().filter_map(Row::ratio)) {
        Some(mean) => writeln!(f, "geometric mean of the ratios: {mean:.0}\n"),
        None => writeln!(f),
    }
}

#[cfg(test)]
mod tests {
    use super::{Programs, Row, Seconds, medians};

    fn seconds(user: f64, system: f64) -> Seconds {
        Seconds { user, system }
    }

    #[test]
    fn times_are_read_as_the_shell_prints_them() {
        assert_eq!(Seconds::parse("1.250 0.031"), Some(seconds(1.25, 0.031)));
        assert_eq!(Seconds::parse("bash: nothing"), None);
    }

    #[test]
    fn each_configuration_has_a_table_and_a_mean() {
        let row = |program: &str, configuration: &str, theirs| Row {
            program: program.to_owned(),
            configuration: configuration.to_owned(),
            ours: medians(&[seconds(0.1, 0.0), seconds(0.2, 0.05), seconds(0.9, 0.1)]),
            theirs,
        };
        let programs = Programs {
            rounds: 3,
            rows: vec![
                row("bfs", "A", Some(seconds(24.0, 1.0))),
                row("nw", "A", Some(seconds(99.0, 1.0))),
                row("nw", "B", None),
            ],
        };
        let text = programs.to_string();
        assert!(text.contains("0.250"), "{text}");
        assert!(
            text.contains("geometric mean of the ratios: 200\n"),
            "{text}"
        );
        assert_eq!(text.matches("geometric mean").count(), 1, "{text}");
    }
}
