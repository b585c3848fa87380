//! Processes: a host program with its address space and its streams.

mod saved;

use crate::checkpoint::CallKind;
use crate::device::{Device, DevicePtr};
use crate::host::{Check, HostAction, HostProgram, Launch};
use crate::mix::{Again, Participant};
use crate::session::{Prepared, RunError, Session};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use warploom_base::{Cycle, Dim3, KernelSlot};
use warploom_gpu::{Held, KernelCounters, KernelEnd};

/// Number of waiting operations in the streams of a process at which its host waits, too. On a GPU,
/// a launch does not return while 1,024 operations wait.
const MOST_WAITING: usize = 1024;

/// An operation that waits in its stream.
enum Operation {
    Launch(Box<Prepared>, Started),
    Write {
        to: DevicePtr,
        bytes: Vec<u8>,
    },
    Copy {
        from: DevicePtr,
        to: DevicePtr,
        bytes: u64,
    },
    Mark(u64),
    WaitFor(u64),
}

/// A launch that can start.
pub(crate) struct Started {
    /// The prepared launch, until it goes to the machine.
    pub launch: Option<Box<Prepared>>,
    pub kernel: String,
    pub grid: Dim3,
    pub block: Dim3,
    pub stream: u32,
    /// Number of earlier launches of the process.
    pub number: u64,
}

/// A stream with its waiting operations, oldest first, and its running operation.
#[derive(Default)]
struct Stream {
    waiting: VecDeque<Operation>,
    running: Option<KernelSlot>,
}

impl Stream {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_none()
    }
}

/// State of the host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Runs,
    /// The host waits for all streams.
    WaitsForAll,
    /// The host waits for one stream.
    WaitsFor(u32),
    /// Somebody ended the program before its end.
    Interrupted,
    /// The program has ended.
    Done,
}

/// A process of a mix.
pub(crate) struct Process<'p> {
    pub name: String,
    pub program: Box<dyn HostProgram + 'p>,
    pub again: Option<Again<'p>>,
    pub arrives_at: Cycle,
    pub target: Option<u64>,
    /// The device. It has the memory only while the process acts.
    pub device: Device,
    host: Host,
    streams: BTreeMap<u32, Stream>,
    /// Marks that have been reached.
    marks: BTreeSet<u64>,
    /// Number of launches of its program, and whether there were any since it last started.
    launches: u64,
    pub launched_this_time: bool,
    /// Number of kernels that have ended, and their counts.
    pub kernels: u64,
    pub counted: KernelCounters,
    /// Resources that its blocks occupied.
    pub held: Held,
    pub l1d: [u64; 2],
    pub l2: [u64; 2],
    /// Number of times that its program ran to its end.
    pub runs: u64,
    /// Comparisons of the last outputs, or of the first outputs with an error.
    pub checks: Vec<Check>,
    /// Cycle in which it ended or was halted, and its instructions at that time.
    pub ended_at: Option<Cycle>,
    pub reached: Option<u64>,
}

impl<'p> Process<'p> {
    pub fn new(asid: u8, participant: Participant<'p>) -> Self {
        Self {
            name: participant.name,
            program: participant.program,
            again: participant.again,
            arrives_at: participant.arrives_at,
            target: participant.target,
            device: Device::new(0, asid),
            host: Host::Runs,
            streams: BTreeMap::new(),
            marks: BTreeSet::new(),
            launches: 0,
            launched_this_time: false,
            kernels: 0,
            counted: KernelCounters::default(),
            held: Held::default(),
            l1d: [0; 2],
            l2: [0; 2],
            runs: 0,
            checks: Vec::new(),
            ended_at: None,
            reached: None,
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    pub fn runs_to_target(&self) -> bool {
        self.target.is_some() && !self.has_ended()
    }

    /// True if the program has ended, and all of its operations have.
    pub fn is_done(&self) -> bool {
        self.host == Host::Done && self.is_idle()
    }

    /// True if somebody ended the program before its end.
    pub fn is_interrupted(&self) -> bool {
        self.host == Host::Interrupted
    }

    fn is_idle(&self) -> bool {
        self.streams.values().all(Stream::is_idle)
    }

    /// Lets the host do one action, unless it waits. Returns whether it did.
    pub fn act(&mut self, session: &Session) -> Result<bool, RunError> {
        let free = match self.host {
            Host::Runs => self.waiting() < MOST_WAITING,
            Host::WaitsForAll => self.is_idle(),
            Host::WaitsFor(stream) => self.streams.get(&stream).is_none_or(Stream::is_idle),
            Host::Interrupted | Host::Done => false,
        };
        if !free {
            return Ok(false);
        }
        self.host = Host::Runs;
        let action = self.program.next(&mut self.device)?;
        self.note_action(&action);
        match action {
            HostAction::Nothing => {}
            HostAction::Done => self.host = Host::Done,
            HostAction::Interrupt => self.host = Host::Interrupted,
            HostAction::Synchronize => self.host = Host::WaitsForAll,
            HostAction::SynchronizeStream(stream) => self.host = Host::WaitsFor(stream),
            HostAction::Launch(launch) => self.push_launch(session, launch)?,
            HostAction::Write { stream, to, bytes } => {
                self.push(stream, Operation::Write { to, bytes });
            }
            HostAction::Copy {
                stream,
                from,
                to,
                bytes,
            } => self.push(stream, Operation::Copy { from, to, bytes }),
            HostAction::Mark { stream, mark } => self.push(stream, Operation::Mark(mark)),
            HostAction::WaitFor { stream, mark } => self.push(stream, Operation::WaitFor(mark)),
        }
        Ok(true)
    }

    /// Notes an action that is a call of the program. Launches are noted when they are prepared.
    fn note_action(&self, action: &HostAction) {
        let note = |kind, values: &[u64], bytes: &[u8]| {
            self.device.note_call(kind, |digest| {
                for value in values {
                    digest.u64(*value);
                }
                digest.bytes(bytes);
            });
        };
        match action {
            HostAction::Launch(_) | HostAction::Nothing | HostAction::Interrupt => {}
            HostAction::Write { stream, to, bytes } => {
                note(CallKind::Write, &[(*stream).into(), to.0], bytes);
            }
            HostAction::Copy {
                stream,
                from,
                to,
                bytes,
            } => note(
                CallKind::Copy,
                &[(*stream).into(), from.0, to.0, *bytes],
                &[],
            ),
            HostAction::Mark { stream, mark } => {
                note(CallKind::Mark, &[(*stream).into(), *mark], &[]);
            }
            HostAction::WaitFor { stream, mark } => {
                note(CallKind::WaitFor, &[(*stream).into(), *mark], &[]);
            }
            HostAction::Synchronize => note(CallKind::Synchronize, &[], &[]),
            HostAction::SynchronizeStream(stream) => {
                note(CallKind::Synchronize, &[(*stream).into()], &[]);
            }
            HostAction::Done => note(CallKind::End, &[], &[]),
        }
    }

    fn push_launch(&mut self, session: &Session, launch: Launch) -> Result<(), RunError> {
        let prepared = session.prepare(&mut self.device, &launch, self.launches)?;
        session.check_units(&prepared, &launch.kernel)?;
        let started = Started {
            launch: None,
            kernel: launch.kernel,
            grid: prepared.grid,
            block: launch.block,
            stream: launch.stream,
            number: self.launches,
        };
        self.launches += 1;
        self.launched_this_time = true;
        let stream = started.stream;
        self.push(stream, Operation::Launch(Box::new(prepared), started));
        Ok(())
    }

    /// Appends an operation to a stream. The host waits for the default stream.
    fn push(&mut self, stream: u32, operation: Operation) {
        let own = self.streams.entry(stream).or_default();
        own.waiting.push_back(operation);
        if stream == 0 {
            self.host = Host::WaitsForAll;
        }
    }

    fn waiting(&self) -> usize {
        self.streams.values().map(|s| s.waiting.len()).sum()
    }

    /// The stream whose first operation can start. The default stream can when all others are idle.
    fn startable(&self) -> Option<u32> {
        let others_idle = || self.streams.iter().all(|(s, own)| *s == 0 || own.is_idle());
        let may_start = |own: &Stream| match own.waiting.front() {
            None => false,
            Some(Operation::WaitFor(mark)) => self.marks.contains(mark),
            Some(_) => true,
        };
        let can_start = |stream: u32, own: &Stream| {
            own.running.is_none() && may_start(own) && (stream != 0 || others_idle())
        };
        let mut streams = self.streams.iter();
        streams
            .find(|(s, own)| can_start(**s, own))
            .map(|(s, _)| *s)
    }

    /// True if the next operation that can start is a launch.
    pub fn launches_next(&self) -> bool {
        let first = |stream: u32| self.streams[&stream].waiting.front();
        let next = self.startable().and_then(first);
        matches!(next, Some(Operation::Launch(..)))
    }

    /// True if the next operation that can start is a mark, at which the program may read the time.
    pub fn marks_next(&self) -> bool {
        let first = |stream: u32| self.streams[&stream].waiting.front();
        let next = self.startable().and_then(first);
        matches!(next, Some(Operation::Mark(_)))
    }

    /// Takes the next operation that can start, and its stream, in core cycle `now`. Carries it out
    /// unless it is a launch.
    pub fn start_next(&mut self, now: Cycle) -> Result<Option<(u32, Option<Started>)>, RunError> {
        let Some(stream) = self.startable() else {
            return Ok(None);
        };
        let own = self.streams.get_mut(&stream);
        let operation = own.and_then(|own| own.waiting.pop_front());
        let started = match operation.expect("the stream has an operation") {
            Operation::Launch(launch, mut started) => {
                started.launch = Some(launch);
                Some(started)
            }
            Operation::Write { to, bytes } => {
                self.device.write(to, &bytes)?;
                None
            }
            Operation::Copy { from, to, bytes } => {
                self.device.copy(from, to, bytes)?;
                None
            }
            Operation::Mark(mark) => {
                self.program.reached(mark, &mut self.device, now)?;
                self.marks.insert(mark);
                None
            }
            Operation::WaitFor(_) => None,
        };
        Ok(Some((stream, started)))
    }

    /// Notes that a launch of a stream runs.
    pub fn running(&mut self, stream: u32, slot: KernelSlot) {
        self.streams.entry(stream).or_default().running = Some(slot);
    }

    pub fn kernel_ended(&mut self, end: &KernelEnd) {
        self.counted(end);
        self.kernels += 1;
        self.slot_ended(end.slot);
    }

    /// Notes that the operation of a stream in a slot has ended.
    fn slot_ended(&mut self, slot: KernelSlot) {
        let mut streams = self.streams.values_mut();
        if let Some(stream) = streams.find(|stream| stream.running == Some(slot)) {
            stream.running = None;
        }
    }

    /// Adds the counts of a kernel that ended.
    pub fn counted(&mut self, end: &KernelEnd) {
        self.counted.add(&end.own);
        self.held.add(end.held);
        let sum = &end.counters;
        let add = |into: &mut [u64; 2], hits: u64, accesses: u64| {
            into[0] += hits;
            into[1] += accesses;
        };
        add(&mut self.l1d, sum.l1d.hits(), sum.l1d.accesses());
        add(&mut self.l2, sum.l2.hits(), sum.l2.accesses());
    }

    /// Halts the process at its target: none of its operations start any more.
    pub fn halt(&mut self, now: Cycle, instructions: u64) {
        self.ended_at = Some(now);
        self.reached = Some(instructions);
        self.host = Host::Done;
        self.streams.values_mut().for_each(|s| s.waiting.clear());
    }

    pub fn check_outputs(&mut self) -> Result<(), RunError> {
        // What is read after the program's end does not decide what it does.
        let calls = self.device.calls.take();
        let checks = self.program.checks(&self.device);
        self.device.calls = calls;
        let checks = checks?;
        self.runs += 1;
        if self.checks.iter().all(|check| check.passed) {
            self.checks = checks;
        }
        Ok(())
    }

    /// Restarts its program in an empty address space.
    pub fn begin_again(&mut self) {
        self.device = self.device.anew();
        self.host = Host::Runs;
        self.marks.clear();
        self.launched_this_time = false;
    }
}
