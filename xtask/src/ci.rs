//! `cargo xtask ci`: all checks that must pass before a change is merged, in one list.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// Settings of `cargo xtask ci`.
#[derive(clap::Args)]
pub struct Args {
    /// Names of the steps to run
    #[arg(value_name = "STEP")]
    only: Vec<String>,

    /// List the steps and their commands
    #[arg(long)]
    list: bool,
}

/// A command that must succeed.
struct Step {
    name: &'static str,
    /// Environment variables set for it.
    env: &'static [(&'static str, &'static str)],
    /// Arguments for the program `cargo`.
    args: &'static [&'static str],
}

/// Steps in the order of how soon they fail. `cargo deny` does not check advisories here, because
/// that needs the network.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        env: &[],
        args: &["fmt", "--all", "--check"],
    },
    Step {
        name: "licences",
        env: &[],
        args: &["deny", "check", "bans", "licenses", "sources"],
    },
    Step {
        name: "tests",
        env: &[],
        args: &["test", "--workspace", "--locked"],
    },
    Step {
        name: "guide",
        env: &[],
        args: &[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "xtask",
            "--",
            "guide",
        ],
    },
    Step {
        name: "workloads",
        env: &[],
        args: &[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "warploom",
            "--",
            "run",
            "all",
            "--size",
            "test",
        ],
    },
    Step {
        name: "lints",
        env: &[],
        args: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    },
    Step {
        name: "documentation",
        env: &[("RUSTDOCFLAGS", "-D warnings")],
        args: &[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
            "--locked",
        ],
    },
];

impl Step {
    /// The command as a user would type it.
    fn command_line(&self) -> String {
        let assignments = self
            .env
            .iter()
            .map(|(name, value)| format!("{name}='{value}'"));
        let words = self.args.iter().map(|word| (*word).to_owned());
        let all: Vec<_> = assignments
            .chain(["cargo".to_owned()])
            .chain(words)
            .collect();
        all.join(" ")
    }

    fn run(&self, root: &Path) -> Result<()> {
        let mut command = Command::new("cargo");
        command
            .current_dir(root)
            .args(self.args)
            .stdin(Stdio::null());
        let status = command
            .envs(self.env.iter().copied())
            .status()
            .context("cannot start cargo")?;
        ensure!(
            status.success(),
            "step `{}` failed: {}",
            self.name,
            self.command_line()
        );
        Ok(())
    }
}

/// Runs the steps that `args` asks for in the workspace at `root`; stops at the first failure.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let steps = chosen(&args.only)?;
    let mut out = io::stdout();
    for step in steps {
        writeln!(out, "== {}: {}", step.name, step.command_line())?;
        if !args.list {
            let started = Instant::now();
            step.run(root)?;
            writeln!(
                out,
                "== {}: passed in {:.0} s",
                step.name,
                started.elapsed().as_secs_f64()
            )?;
        }
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Step>> {
    for name in names {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        ensure!(
            known.contains(&name.as_str()),
            "no step `{name}`; there are: {}",
            known.join(", ")
        );
    }
    let wanted = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::{STEPS, chosen};
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn all_steps_run_unless_some_are_named() {
        assert_eq!(chosen(&[]).unwrap().len(), STEPS.len());
        let named = chosen(&["lints".to_owned(), "format".to_owned()]).unwrap();
        let names: Vec<_> = named.iter().map(|step| step.name).collect();
        assert_eq!(names, ["format", "lints"], "in the order of the list");
        let Err(error) = chosen(&["lint".to_owned()]) else {
            panic!("`lint` is no step");
        };
        let message = error.to_string();
        assert!(
            message.starts_with("no step `lint`; there are: format,"),
            "{message}"
        );
    }

    #[test]
    fn the_readme_tells_the_tests_command() {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        let readme = fs::read_to_string(readme).unwrap();
        let tests = STEPS.iter().find(|step| step.name == "tests").unwrap();
        let command = tests.command_line();
        let command = command.trim_end_matches(" --locked");
        assert!(
            readme.lines().any(|line| line.trim() == command),
            "{command}"
        );
    }

    /// Packages that are built for `selection`, each with its version and features.
    fn packages(selection: &[&str]) -> BTreeSet<String> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let mut command = Command::new(env!("CARGO"));
        command.args(["tree", "--locked", "--offline", "--prefix", "none"]);
        command.args(["--format", "{p} {f}", "--manifest-path"]);
        let output = command.arg(manifest).args(selection).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn the_first_run_builds_the_program_alone() {
        let built = packages(&["--edges", "normal,build"]);
        let names: BTreeSet<_> = built.iter().filter_map(|p| p.split(' ').next()).collect();
        assert!(names.contains("warploom"));
        for apart in ["warploom-cudart", "xtask", "insta", "proptest"] {
            assert!(
                !names.contains(apart),
                "`cargo build`, which the first run uses, builds {apart}: see `cargo tree --edges \
                 normal,build`"
            );
        }
    }

    /// Names of the packages that a profile optimises with `level`, from its table in `Cargo.toml`.
    fn optimised(manifest: &str, profile: &str, level: u8) -> BTreeSet<String> {
        let header = format!("[profile.{profile}.package]");
        let table = manifest.split(header.as_str()).nth(1).unwrap();
        let table = table.split("\n[").next().unwrap();
        let has_level = |row: &&str| row.contains(&format!("opt-level = {level}"));
        let rows = table.lines().filter(has_level);
        let names = rows.filter_map(|row| Some(row.split_once(" = {")?.0.to_owned()));
        names.collect()
    }

    /// The packages that simulate in tests are optimised in the profile of first results, too.
    #[test]
    fn both_quick_profiles_optimise_the_simulator() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let tests = optimised(&manifest, "dev", 2);
        let first = optimised(&manifest, "release", 3);
        let ours = |name: &&String| name.starts_with("warploom-");
        let slow: Vec<_> = tests.difference(&first).filter(ours).collect();
        assert!(slow.is_empty(), "{slow:?} are slow in release");
        assert!(first.contains("libmimalloc-sys"), "the allocator is slow");
    }

    /// Packages that CI builds apart: programs of its steps, and the module of `.ci/python`.
    fn built_apart() -> Vec<&'static str> {
        let runs = STEPS.iter().filter(|step| step.args[0] == "run");
        let programs = runs.map(|step| {
            let name = step.args.iter().position(|arg| *arg == "--package");
            step.args[name.unwrap() + 1]
        });
        programs.chain(["warploom-python"]).collect()
    }

    /// Cargo enables for a dependency all features that any of the selected packages needs. Where a
    /// selection enables other features than the tests do, all crates that depend on it are built
    /// again.
    #[test]
    fn programs_and_the_module_have_the_features_of_tests() {
        let tested = packages(&["--workspace"]);
        let mut seen = 0;
        for name in built_apart() {
            let own = packages(&["--package", name, "--edges", "normal,build"]);
            let apart: Vec<_> = own.difference(&tested).collect();
            assert!(apart.is_empty(), "{name} needs {apart:?}");
            seen += own.len();
        }
        assert!(seen > 200, "only {seen}");
    }

    /// Cargo gives rustc other options for dependencies of macros than for those of programs,
    /// unless both use them. Where tests use more dependencies of macros than a program does, all
    /// crates with these macros are built again, unless macros have a profile of their own.
    #[test]
    fn macros_have_a_profile_of_their_own() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let table = |header: &str| {
            let table = manifest.split(&format!("\n{header}\n")).nth(1).unwrap();
            table.split("\n\n").next().unwrap().to_owned()
        };
        let of_programs = table("[profile.dev]");
        let of_macros = table("[profile.dev.build-override]");
        assert!(of_programs.contains("lto = \"off\""), "the reason");
        assert_eq!(of_macros, "codegen-units = 16");
        assert!(!of_programs.contains("codegen-units"));
    }
}
