//! A process that makes runs for a worker, replaced when it ends.

use super::{Running, WorkError};
use crate::child::Reply;
use crate::host::resident_bytes;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Number of bytes at the end of a process's messages that tell why it ended.
const LAST_WORDS: usize = 2000;

/// Time in which a process ends by itself at the end of its input.
const PATIENCE: Duration = Duration::from_secs(1);

/// Place for one process.
pub struct Slot {
    number: usize,
    /// Number of processes that have been in this place.
    pub generation: u64,
    process: Option<(Child, Option<ChildStdin>)>,
    /// Run that the process makes.
    pub running: Option<Running>,
}

/// Reply of a process, or the message that it has ended.
pub struct Message {
    /// Number of the slot.
    pub slot: usize,
    /// Generation of the slot's process.
    pub generation: u64,
    /// Reply of the process; `None` at its end.
    pub reply: Option<Reply>,
}

/// How a process has ended.
pub struct Died {
    /// True if a signal from outside has ended it, and not its own fault.
    pub from_outside: bool,
    /// Description of the end, with the last messages of the process.
    pub how: String,
}

impl Slot {
    /// A place without a process.
    pub fn new(number: usize) -> Self {
        Self {
            number,
            generation: 0,
            process: None,
            running: None,
        }
    }

    /// True if no run is being made here.
    pub fn is_idle(&self) -> bool {
        self.running.is_none()
    }

    /// Lets the process make a run. A missing process is started.
    pub fn give(
        &mut self,
        running: Running,
        command: impl FnOnce() -> Command,
        temporary: &Path,
        sender: &Sender<Message>,
    ) -> Result<(), WorkError> {
        if self.process.is_none() {
            self.start(command(), temporary, sender)?;
        }
        let line = serde_json::to_string(&running.run).expect("plain data");
        self.running = Some(running);
        if let Some((_, Some(input))) = &mut self.process {
            // If the process has ended, its message says so, and the run is given to the next one.
            let _ = input.write_all(format!("{line}\n").as_bytes());
        }
        Ok(())
    }

    fn start(
        &mut self,
        mut command: Command,
        temporary: &Path,
        sender: &Sender<Message>,
    ) -> Result<(), WorkError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |error| WorkError::Start { program, error };
        let messages =
            File::create(self.messages(temporary)).map_err(|error| failed_at(temporary, error))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(messages);
        let mut child = command.spawn().map_err(failed)?;
        self.generation += 1;
        let (slot, generation, sender) = (self.number, self.generation, sender.clone());
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.expect("it is a pipe"));
        self.process = Some((child, input));
        std::thread::spawn(move || {
            let replies = output.lines().map_while(Result::ok);
            for line in replies {
                // A line that was cut by the end of the process is no reply.
                let Ok(reply) = serde_json::from_str(&line) else {
                    break;
                };
                let reply = Some(reply);
                let _ = sender.send(Message {
                    slot,
                    generation,
                    reply,
                });
            }
            let reply = None;
            let _ = sender.send(Message {
                slot,
                generation,
                reply,
            });
        });
        Ok(())
    }

    fn messages(&self, temporary: &Path) -> PathBuf {
        temporary.join(format!("messages-{}", self.number))
    }

    /// Resident memory of the process in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let process = self.process.as_ref();
        process
            .and_then(|(child, _)| resident_bytes(child.id()))
            .unwrap_or(0)
    }

    /// Ends the process, whose end arrives as a message. At the end of its input it ends by itself
    /// with the programs that it has started; at the next call it is killed.
    pub fn kill(&mut self) {
        if let Some((child, input)) = &mut self.process
            && input.take().is_none()
        {
            // A process that has ended already cannot be killed.
            let _ = child.kill();
        }
    }

    /// Removes the ended process and tells how it ended.
    pub fn bury(&mut self, temporary: &Path) -> Died {
        let Some((mut child, _)) = self.process.take() else {
            return Died {
                from_outside: true,
                how: "it was stopped".to_owned(),
            };
        };
        // A process that closed its output and lives on has lost its way.
        let _ = child.kill();
        let words = std::fs::read(self.messages(temporary)).unwrap_or_default();
        let last = &words[words.len().saturating_sub(LAST_WORDS)..];
        let last = String::from_utf8_lossy(last);
        match child.wait() {
            Ok(status) => died(status, last.trim()),
            Err(error) => Died {
                from_outside: false,
                how: error.to_string(),
            },
        }
    }

    /// Ends the process and what it does. The claim of a run that it was making stays.
    pub fn dismiss(&mut self) {
        if let Some((mut child, input)) = self.process.take() {
            drop(input);
            let asked = Instant::now();
            while asked.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        self.generation += 1;
    }
}

fn failed_at(path: &Path, error: std::io::Error) -> WorkError {
    crate::folder::FolderError::at(path)(error).into()
}

/// Signals that others send: hang-up, interrupt, kill and terminate. The others tell a fault of the
/// program.
#[cfg(unix)]
const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15];

#[cfg(unix)]
fn died(status: ExitStatus, words: &str) -> Died {
    use std::os::unix::process::ExitStatusExt;
    Died {
        from_outside: status
            .signal()
            .is_some_and(|signal| FROM_OUTSIDE.contains(&signal)),
        how: describe(status, words),
    }
}

#[cfg(not(unix))]
fn died(status: ExitStatus, words: &str) -> Died {
    Died {
        from_outside: false,
        how: describe(status, words),
    }
}

fn describe(status: ExitStatus, words: &str) -> String {
    match words {
        "" => format!("the process ended with {status}"),
        words => format!("the process ended with {status}: {words}"),
    }
}
