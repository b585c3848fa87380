//! Runs of CUDA programs: each is a process of `warploom app` with a folder of its own.

use super::runs::{number, text};
use crate::output::quoted;
use crate::verbs::app::library;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use warploom_app::program::inspect;
use warploom_base::Digest;
use warploom_lab::MachineVariant;
use warploom_run::io_reason;
use warploom_stats::result::{Outcome, RunReport};
use warploom_sweep::{Settings, peak_bytes_of, setting};

/// Word in arguments that stands for an empty folder of the run.
const SCRATCH: &str = "{scratch}";

/// Number of bytes at the end of a program's messages that tell why it failed.
const LAST_WORDS: usize = 2000;

/// Longest time between two looks at a program that runs.
const POLL: Duration = Duration::from_millis(50);

/// A program with its arguments, on a machine.
pub struct ProgramRun {
    program: PathBuf,
    words: Vec<String>,
    /// Folder in which the program runs.
    folder: PathBuf,
    /// Options of `warploom app`.
    options: Vec<String>,
    /// Everything on which the run depends, as far as it is known before.
    pub identity: String,
    /// Command that makes the run alone.
    pub command: String,
}

/// Digests of files by their path, kept while the files do not change.
#[derive(Default)]
pub struct FileDigests {
    known: HashMap<PathBuf, (SystemTime, u64, String)>,
    /// Digests of programs that can run.
    runnable: HashSet<String>,
}

impl FileDigests {
    fn of(&mut self, path: &Path) -> Result<String, String> {
        let failed = |error| format!("cannot read {}: {}", path.display(), io_reason(&error));
        let meta = fs::metadata(path).map_err(failed)?;
        let state = (meta.modified().map_err(failed)?, meta.len());
        match self.known.get(path) {
            Some((time, length, digest)) if (*time, *length) == state => Ok(digest.clone()),
            _ => {
                let digest = Digest::new().bytes(&fs::read(path).map_err(failed)?).hex();
                let known = (state.0, state.1, digest.clone());
                self.known.insert(path.to_owned(), known);
                Ok(digest)
            }
        }
    }

    /// Digest of a program that can run.
    fn of_program(&mut self, path: &Path) -> Result<String, String> {
        let digest = self.of(path)?;
        if !self.runnable.contains(&digest) {
            let shown = path.display();
            let file = fs::read(path)
                .map_err(|error| format!("cannot read {shown}: {}", io_reason(&error)))?;
            inspect(&file).map_err(|why| format!("{shown} cannot run under Warploom: {why}"))?;
            self.runnable.insert(digest.clone());
        }
        Ok(digest)
    }
}

impl ProgramRun {
    /// The run of the program that the setting `app` names.
    pub fn find(
        app: &str,
        settings: &Settings,
        machine: &MachineVariant,
        digests: &mut FileDigests,
    ) -> Result<Self, String> {
        let words = shlex::split(app).filter(|words| !words.is_empty());
        let mut words = words.ok_or_else(|| {
            format!("`{app}` is no command\n  = help: write a program and its arguments; close all quotes")
        })?;
        let folder = PathBuf::from(setting(settings, "folder").unwrap_or("."));
        let name = words.remove(0);
        let program = folder.join(&name);
        if !program.is_file() {
            return Err(format!(
                "there is no program {}\n  = help: its path is relative to the file of the sweep",
                program.display()
            ));
        }
        let options = options(settings, machine)?;
        let mut digest = Digest::new();
        digest
            .str(&digests.of(&library().map_err(text)?)?)
            .str(&digests.of_program(&program)?)
            .str(&machine.spec.digest())
            .str(&options[options_of_machine(machine)..].join("\n"));
        for word in &words {
            digest.str(word);
            let path = folder.join(word);
            if path.is_file() {
                digest.str(&digests.of(&path)?);
            }
        }
        let command = command(&folder, &options, &name, &words);
        Ok(Self {
            program: std::path::absolute(&program).map_err(|error| error.to_string())?,
            words,
            folder,
            options,
            identity: format!("app/{}", digest.hex()),
            command,
        })
    }

    /// Runs the program, with files in the folder `temporary`. `running` has its number meanwhile.
    /// Gives the result, and the program's largest resident memory in bytes.
    pub fn simulate(
        &self,
        temporary: &Path,
        running: &RunningProgram,
    ) -> Result<(RunReport, u64), String> {
        let failed =
            |error: std::io::Error| format!("cannot run {}: {error}", self.program.display());
        let own = temporary.join(format!("program-{}", std::process::id()));
        fs::create_dir_all(own.join("scratch")).map_err(failed)?;
        let made = self.run(&own, running).map_err(failed);
        // What the program wrote is not kept; its worker's folder is removed in the end.
        let _ = fs::remove_dir_all(&own);
        made?
    }

    fn run(
        &self,
        own: &Path,
        running: &RunningProgram,
    ) -> std::io::Result<Result<(RunReport, u64), String>> {
        let (stats, messages) = (own.join("result.json"), own.join("messages"));
        let scratch = own.join("scratch");
        let scratch = scratch.to_string_lossy();
        let words = self
            .words
            .iter()
            .map(|word| word.replace(SCRATCH, &scratch));
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("app").args(&self.options);
        command.args(["--quiet", "--ends-with", &std::process::id().to_string()]);
        command.arg("--stats").arg(&stats).arg("--");
        command.arg(&self.program).args(words);
        command.current_dir(&self.folder);
        group(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(File::create(&messages)?).spawn()?;
        running.0.store(child.id(), Ordering::SeqCst);
        let waited = wait(&mut child);
        running.0.store(0, Ordering::SeqCst);
        let (status, memory) = waited?;
        let words = fs::read(&messages).unwrap_or_default();
        let result = fs::read(&stats).ok();
        let result = result.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(self
            .judged(result, status, &words)
            .map(|report| (report, memory)))
    }

    /// The result of a program that ended with this status and these messages.
    fn judged(
        &self,
        result: Option<RunReport>,
        status: ExitStatus,
        words: &[u8],
    ) -> Result<RunReport, String> {
        let last = String::from_utf8_lossy(&words[words.len().saturating_sub(LAST_WORDS)..]);
        let is_cut = |report: &RunReport| matches!(report.outcome, Outcome::CycleLimit { .. });
        match result {
            // A program whose GPU was stopped usually reports an error.
            Some(report) if status.success() || is_cut(&report) => Ok(RunReport {
                command: self.command.clone(),
                ..report
            }),
            None if status.success() && last.trim().is_empty() => Err(
                "the program asked nothing of the GPU\n  = help: check its arguments".to_owned(),
            ),
            None if status.success() => Err(format!("there is no result: {}", last.trim())),
            _ => Err(format!("the program ended with {status}: {}", last.trim())),
        }
    }
}

/// Lets a program be the first of a group of processes, which ends as a whole.
#[cfg(unix)]
fn group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn group(_: &mut Command) {}

/// Waits for the end of a program, and gives its largest resident memory in bytes.
fn wait(child: &mut Child) -> std::io::Result<(ExitStatus, u64)> {
    let (mut pause, mut memory) = (Duration::from_millis(2), 0);
    loop {
        memory = peak_bytes_of(child.id()).unwrap_or(0).max(memory);
        if let Some(status) = child.try_wait()? {
            return Ok((status, memory));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(POLL);
    }
}

/// Number of the program that runs now, 0 if none does.
#[derive(Clone, Default)]
pub struct RunningProgram(Arc<AtomicU32>);

impl RunningProgram {
    /// Ends the program with all processes that it has started.
    pub fn end(&self) {
        let process = self.0.load(Ordering::SeqCst);
        if process != 0 {
            let mut kill = Command::new("sh");
            kill.args(["-c", "kill -9 -\"$0\"", &process.to_string()]);
            // A program that has ended by itself cannot be ended.
            let _ = kill.stderr(Stdio::null()).status();
        }
    }
}

/// Options of `warploom app`: first those of the machine.
fn options(settings: &Settings, machine: &MachineVariant) -> Result<Vec<String>, String> {
    let mut options = vec!["--gpu".to_owned(), machine.gpu.clone()];
    for set in &machine.sets {
        options.extend(["--set".to_owned(), set.clone()]);
    }
    number(settings, "max_cycles")?;
    let named = [
        ("max_cycles", "--max-cycles"),
        ("launches", "--launches"),
        ("kernel", "--kernel"),
        ("sample_error", "--sample-error"),
    ];
    for (name, option) in named {
        if let Some(value) = setting(settings, name) {
            options.extend([option.to_owned(), value.to_owned()]);
        }
    }
    Ok(options)
}

/// Number of words with which [`options`] describe the machine.
fn options_of_machine(machine: &MachineVariant) -> usize {
    2 + 2 * machine.sets.len()
}

/// Command that a user would type to make the run alone.
fn command(folder: &Path, options: &[String], name: &str, words: &[String]) -> String {
    let word = |word: &String| match word.contains(SCRATCH) {
        true => format!("\"{}\"", word.replace(SCRATCH, "$(mktemp -d)")),
        false => quoted(word),
    };
    let options: Vec<String> = options.iter().map(|option| quoted(option)).collect();
    let words: Vec<String> = words.iter().map(word).collect();
    let line = format!(
        "cd {} && warploom app {} -- {} {}",
        quoted(&folder.to_string_lossy()),
        options.join(" "),
        quoted(name),
        words.join(" ")
    );
    line.trim_end().to_owned()
}
