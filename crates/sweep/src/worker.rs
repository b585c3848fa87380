//! A worker: claims runs, has them made by processes of its own, and enforces the limits.

mod slot;

use crate::child::Reply;
use crate::claims::{Claim, HEARTBEAT, Job, Worker, waiting, withdraw, workers};
use crate::folder::{Folder, FolderError};
use crate::plan::{PlanIndex, PlannedRun, Sweep};
use crate::record::{Cost, Failure, FailureKind, Record, failure, store_failure};
use slot::{Died, Message, Slot};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Time between two looks at limits and at the display.
const TICK: Duration = Duration::from_millis(100);

/// Time between two searches for dead workers while runs are being made.
const BURIAL: Duration = Duration::from_secs(20);

/// How a worker works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkOptions {
    /// Number of simultaneous runs.
    pub jobs: usize,
    /// True to wait for runs that other workers make, in case these die.
    pub wait: bool,
    /// Time at which the worker must have stopped, if there is one.
    pub until: Option<Instant>,
    /// Job of a cluster's queue in which the worker runs.
    pub job: Option<Job>,
    /// Number by which the worker chooses where in the list of runs it begins; 0 for the longest.
    pub start: u64,
}

/// Reason why a worker has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// No run waits for a worker.
    Done,
    /// The sweep is cancelled.
    Cancelled,
    /// The time is over, and runs remain.
    Time,
}

/// State of a worker, for a display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkProgress {
    /// Number of runs that this worker has finished.
    pub finished: usize,
    /// Number of runs that failed here.
    pub failed: usize,
    /// Number of runs that waited when the worker looked last.
    pub waiting: usize,
    /// Names of the runs that are being made.
    pub running: Vec<String>,
}

/// Reason why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The process for runs does not start.
    #[error(
        "cannot start {program}: {error}\n  = help: check that the file exists and may be executed"
    )]
    Start {
        /// Path of the program.
        program: String,
        /// Reason of the error.
        error: std::io::Error,
    },
    /// A result could not be stored.
    #[error("{0}")]
    Unstored(String),
    /// A file of the sweep cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Function that gives the command of a process for runs, which is told its worker's temporary
/// folder.
pub type Start<'a> = &'a dyn Fn(&Path) -> Command;

/// Works on a sweep until nothing waits any more. `observer` learns of the progress.
///
/// # Errors
/// If a file cannot be read or written. Claims are given back, and finished runs stay.
pub fn work(
    folder: &Folder,
    sweep: &Sweep,
    options: &WorkOptions,
    start: Start<'_>,
    observer: &mut dyn FnMut(&WorkProgress),
) -> Result<(Stopped, WorkProgress), WorkError> {
    let worker = Worker::register(folder, options.job.clone())?;
    let (sender, messages) = channel();
    let mut team = Team {
        folder,
        sweep,
        options,
        start,
        plan: PlanIndex::read(folder)?,
        queue: Vec::new(),
        slots: (0..options.jobs).map(Slot::new).collect(),
        sender,
        progress: WorkProgress::default(),
        began: Instant::now(),
        worker: &worker,
    };
    let stopped = worker
        .bury_dead()
        .map_err(WorkError::from)
        .and_then(|()| team.run(&messages, observer));
    team.slots.iter_mut().for_each(Slot::dismiss);
    let progress = team.progress;
    let left = worker.bury_dead().and_then(|()| worker.leave());
    let stopped = stopped?;
    left?;
    Ok((stopped, progress))
}

struct Team<'a> {
    folder: &'a Folder,
    sweep: &'a Sweep,
    options: &'a WorkOptions,
    start: Start<'a>,
    worker: &'a Worker,
    plan: PlanIndex,
    /// Keys of runs that wait, the next one last.
    queue: Vec<String>,
    slots: Vec<Slot>,
    sender: Sender<Message>,
    progress: WorkProgress,
    began: Instant,
}

/// A run that is being made.
struct Running {
    claim: Claim,
    run: PlannedRun,
    since: Instant,
    /// Limit for which the process was stopped.
    exceeded: Option<FailureKind>,
}

impl Team<'_> {
    fn run(
        &mut self,
        messages: &Receiver<Message>,
        observer: &mut dyn FnMut(&WorkProgress),
    ) -> Result<Stopped, WorkError> {
        let (mut beat, mut burial, mut tick) = (Instant::now(), Instant::now(), Instant::now());
        loop {
            if self.fill()? == Filled::Nothing && self.slots.iter().all(Slot::is_idle) {
                if !(self.options.wait && self.others_work()?) {
                    return Ok(Stopped::Done);
                }
                self.worker.bury_dead()?;
            }
            match messages.recv_timeout(TICK) {
                Ok(message) => self.hear(message)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if tick.elapsed() < TICK {
                continue;
            }
            tick = Instant::now();
            self.enforce_limits();
            self.tell(observer);
            if self.folder.is_cancelled() {
                return Ok(Stopped::Cancelled);
            }
            if self.options.until.is_some_and(|until| until <= tick) {
                self.stop_at_time()?;
                return Ok(Stopped::Time);
            }
            if beat.elapsed() > HEARTBEAT {
                beat = tick;
                self.worker.show_life()?;
            }
            if burial.elapsed() > BURIAL {
                burial = tick;
                self.worker.bury_dead()?;
            }
        }
    }

    fn tell(&mut self, observer: &mut dyn FnMut(&WorkProgress)) {
        let running = self.slots.iter().filter_map(|slot| slot.running.as_ref());
        self.progress.running = running.map(|running| running.run.name.clone()).collect();
        self.progress.waiting = self.queue.len();
        observer(&self.progress);
    }

    /// Gives runs to idle processes.
    fn fill(&mut self) -> Result<Filled, WorkError> {
        for at in 0..self.slots.len() {
            if !self.slots[at].is_idle() {
                continue;
            }
            let Some((claim, run)) = self.next_run()? else {
                return Ok(Filled::Nothing);
            };
            let running = Running {
                claim,
                run,
                since: Instant::now(),
                exceeded: None,
            };
            let temporary = self.worker.temporary();
            let command = || (self.start)(&temporary);
            self.slots[at].give(running, command, &temporary, &self.sender)?;
        }
        Ok(Filled::All)
    }

    /// Claims the next run that has no result yet.
    fn next_run(&mut self) -> Result<Option<(Claim, PlannedRun)>, WorkError> {
        let mut looked = false;
        loop {
            let Some(key) = self.queue.pop() else {
                if std::mem::replace(&mut looked, true) {
                    return Ok(None);
                }
                self.look()?;
                continue;
            };
            if self.makes(&key) {
                // Another command requested the run when this worker had just claimed it.
                withdraw(self.folder, &key)?;
                continue;
            }
            let Some(claim) = self.worker.claim(&key)? else {
                continue;
            };
            let is_done =
                Record::open(self.folder, &key)?.is_some() || failure(self.folder, &key)?.is_some();
            match self.planned(&key)? {
                Some(run) if !is_done => return Ok(Some((claim, run))),
                // Its worker died after the result was stored, or the plan no longer has it.
                _ => self.worker.complete(&claim)?,
            }
        }
    }

    /// True if one of the processes makes the run with this key.
    fn makes(&self, key: &str) -> bool {
        let mut running = self.slots.iter().filter_map(|slot| slot.running.as_ref());
        running.any(|running| running.claim.key == key)
    }

    /// Reads which runs wait.
    fn look(&mut self) -> Result<(), WorkError> {
        let mut keys = waiting(self.folder)?;
        self.plan.sort(&mut keys);
        if !keys.is_empty() {
            let length = keys.len() as u64;
            keys.rotate_left((self.options.start % length) as usize);
        }
        keys.reverse();
        self.queue = keys;
        Ok(())
    }

    /// The run of a key. A plan that has changed is read again.
    fn planned(&mut self, key: &str) -> Result<Option<PlannedRun>, WorkError> {
        if let Some(run) = self.plan.get(key)? {
            return Ok(Some(run));
        }
        self.plan = PlanIndex::read(self.folder)?;
        Ok(self.plan.get(key)?)
    }

    /// True if other workers have claims.
    fn others_work(&self) -> Result<bool, WorkError> {
        let all = workers(self.folder, Some(self.worker))?;
        Ok(all.iter().any(|(_, state)| !state.claims.is_empty()))
    }

    fn hear(&mut self, message: Message) -> Result<(), WorkError> {
        let slot = &mut self.slots[message.slot];
        if slot.generation != message.generation {
            return Ok(());
        }
        match message.reply {
            Some(reply) => match slot.running.take() {
                Some(running) => self.answered(&running, reply),
                None => Ok(()),
            },
            None => {
                let died = slot.bury(&self.worker.temporary());
                match slot.running.take() {
                    Some(running) => self.died(&running, died),
                    None => Ok(()),
                }
            }
        }
    }

    fn answered(&mut self, running: &Running, reply: Reply) -> Result<(), WorkError> {
        match reply {
            Reply::Finished => {
                self.progress.finished += 1;
                Ok(self.worker.complete(&running.claim)?)
            }
            Reply::Failed { reason, cost } => {
                let kind = FailureKind::Failed;
                self.fail(running, Failure { kind, reason, cost })
            }
            Reply::Lost => Ok(self.worker.give_back(&running.claim)?),
            Reply::Unstored { reason } => {
                self.worker.give_back(&running.claim)?;
                Err(WorkError::Unstored(reason))
            }
        }
    }

    /// The process of a run has ended: because of a limit, by its own fault, or from outside.
    fn died(&mut self, running: &Running, died: Died) -> Result<(), WorkError> {
        let limits = &self.sweep.limits;
        let (kind, reason) = match running.exceeded {
            Some(FailureKind::Time) => {
                let seconds = limits.seconds.unwrap_or(0);
                let help = "raise `time` under [limits] of the sweep, then `warploom sweep retry`";
                (
                    FailureKind::Time,
                    format!("stopped after {seconds} s\n  = help: {help}"),
                )
            }
            Some(kind) => {
                let mib = limits.memory_bytes.unwrap_or(0) >> 20;
                let help =
                    "raise `memory` under [limits] of the sweep, then `warploom sweep retry`";
                (
                    kind,
                    format!("stopped with more than {mib} MiB\n  = help: {help}"),
                )
            }
            None if died.from_outside => {
                let kills = self.worker.count_kill(&running.claim)?;
                if kills < limits.kills {
                    return Ok(self.worker.give_back(&running.claim)?);
                }
                let how = died.how;
                (
                    FailureKind::Crashed,
                    format!("killed {kills} times from outside: {how}"),
                )
            }
            None => (FailureKind::Crashed, died.how),
        };
        let cost = Cost {
            seconds: running.since.elapsed().as_secs_f64(),
            memory_bytes: 0,
            host: crate::host::host(),
        };
        self.fail(running, Failure { kind, reason, cost })
    }

    fn fail(&mut self, running: &Running, failure: Failure) -> Result<(), WorkError> {
        self.progress.failed += 1;
        store_failure(
            self.folder,
            &self.worker.temporary(),
            &running.run.key,
            &failure,
        )?;
        Ok(self.worker.complete(&running.claim)?)
    }

    fn enforce_limits(&mut self) {
        let limits = &self.sweep.limits;
        for slot in &mut self.slots {
            let memory = slot.resident_bytes();
            let Some(running) = &mut slot.running else {
                continue;
            };
            let over_time = limits
                .seconds
                .is_some_and(|most| running.since.elapsed().as_secs() >= most);
            let over_memory = limits.memory_bytes.is_some_and(|most| memory > most);
            running.exceeded = match (running.exceeded, over_time, over_memory) {
                (Some(kind), _, _) => Some(kind),
                (None, _, true) => Some(FailureKind::Memory),
                (None, true, _) => Some(FailureKind::Time),
                (None, false, false) => continue,
            };
            slot.kill();
        }
    }

    /// A run that had the whole time of this worker and did not end needs a longer job; other runs
    /// are given back when the worker leaves.
    fn stop_at_time(&mut self) -> Result<(), WorkError> {
        let all = self.began.elapsed();
        for at in 0..self.slots.len() {
            let Some(running) = self.slots[at]
                .running
                .take_if(|r| r.since.elapsed() > all / 10 * 9)
            else {
                continue;
            };
            self.slots[at].dismiss();
            let seconds = running.since.elapsed().as_secs();
            let failure = Failure {
                kind: FailureKind::Time,
                reason: format!(
                    "not finished after {seconds} s: the time of the whole job was over\n  = \
                     help: ask for a longer job (`--time`), then `warploom sweep retry`"
                ),
                cost: Cost {
                    seconds: running.since.elapsed().as_secs_f64(),
                    memory_bytes: 0,
                    host: crate::host::host(),
                },
            };
            self.fail(&running, failure)?;
        }
        Ok(())
    }
}

/// Whether every process got a run.
#[derive(PartialEq, Eq)]
enum Filled {
    All,
    Nothing,
}
