//! Calls of a host program: what it asked of the device and of the run, with arguments and data,
//! and what it read. A program that runs again has to make the same calls, and gets the answers
//! that it got.

mod answers;

use answers::Answers;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use warploom_base::Digest;
use warploom_state::{Io, State, StateError, Value};

/// Kind of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum CallKind {
    /// Load of a module.
    Module,
    /// Creation or change of a texture.
    Texture,
    /// Limit of the device that is set.
    Limit,
    /// Allocation of device memory.
    Allocate,
    /// Release of device memory.
    Free,
    /// Copy from the host to the device.
    Write,
    /// Copy from the device to the host.
    Read,
    /// Fill of device memory.
    Fill,
    /// Launch of a kernel.
    Launch,
    /// Copy in the order of a stream.
    Copy,
    /// Place in the order of a stream, for an event or an operation of the program.
    Mark,
    /// Wait of a stream for a mark.
    WaitFor,
    /// Wait of the host for streams.
    Synchronize,
    /// End of the program.
    End,
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Module => "the load of a module",
            Self::Texture => "a call for a texture",
            Self::Limit => "a limit of the device",
            Self::Allocate => "an allocation",
            Self::Free => "the release of memory",
            Self::Write => "a copy to the device",
            Self::Read => "a copy from the device",
            Self::Fill => "a fill of memory",
            Self::Launch => "a launch",
            Self::Copy => "a copy in a stream",
            Self::Mark => "an operation in a stream",
            Self::WaitFor => "the wait of a stream",
            Self::Synchronize => "the wait for a stream",
            Self::End => "the end of the program",
        })
    }
}

/// A call, and the digest of all calls up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
struct Call {
    kind: CallKind,
    digest: u64,
}

/// First call of a program that differs from the recorded one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherCall {
    /// Number of the call, the first being 1.
    pub number: u64,
    /// Kind of the program's call.
    pub is: CallKind,
    /// Kind of the recorded call. If it is the same, arguments or data differ.
    pub was: CallKind,
}

impl fmt::Display for OtherCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, is, was } = self;
        match is == was {
            true => write!(f, "call {number}, {is}, has other arguments or data"),
            false => write!(f, "call {number} is {is} and was {was}"),
        }
    }
}

/// Record of the calls of a process. Behind a lock, because reads do not change the device.
#[derive(Debug)]
pub(crate) struct Calls(Mutex<Record>);

#[derive(Default)]
struct Record {
    calls: Vec<Call>,
    /// Digest of all calls so far.
    running: Digest,
    answers: Answers,
    /// Number of calls that have been made again, while the process runs again.
    again: Option<usize>,
    other: Option<OtherCall>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls", self.calls.len())
    }
}

impl Calls {
    /// Begins to record calls.
    pub fn new() -> Self {
        Self(Mutex::default())
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&mut self) -> &mut Record {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call, whose arguments and data `add` adds to the digest, or compares it with the
    /// recorded one.
    pub fn note(&self, kind: CallKind, add: impl FnOnce(&mut Digest)) {
        self.record().note(kind, add);
    }

    /// Answers a read with what `out` has now, and records it, or with the recorded answer.
    pub fn answer(&self, out: &mut [u8]) {
        let Record { answers, again, .. } = &mut *self.record();
        match again {
            None => answers.add(out),
            // Another call has been noted if this one has no answer.
            Some(_) => answers.take(out),
        }
    }

    /// Begins to run again up to the end of the record, which then goes on.
    pub fn begin_again(&mut self) {
        self.own().again = Some(0);
    }

    /// The first call that differs from the record so far.
    pub fn other(&mut self) -> Option<OtherCall> {
        self.own().other
    }

    /// Ends the run up to the end of the record. Returns whether all calls were the recorded ones.
    pub fn end_again(&mut self) -> bool {
        let own = self.own();
        let made = own.again.take();
        made.is_none_or(|made| made == own.calls.len()) && own.other.is_none()
    }
}

impl Record {
    fn note(&mut self, kind: CallKind, add: impl FnOnce(&mut Digest)) {
        add(self.running.u64(kind as u64));
        let digest = self.running.finish();
        let call = Call { kind, digest };
        let Some(at) = &mut self.again else {
            self.calls.push(call);
            return;
        };
        if let Some(recorded) = self.calls.get(*at)
            && *recorded != call
        {
            self.other.get_or_insert(OtherCall {
                number: *at as u64 + 1,
                is: kind,
                was: recorded.kind,
            });
        }
        *at += 1;
    }
}

/// Calls and answers. The digest follows from the calls that are made again.
impl State for Calls {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let own = self.own();
        own.calls.state(io)?;
        own.answers.state(io)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallKind, Calls, OtherCall};
    use warploom_state::{Io, State};

    /// A record of a launch and of two reads, the second of which repeats the first.
    fn recorded() -> Calls {
        let mut calls = Calls::new();
        program(&calls, 7, |byte| byte as u8);
        let mut io = Io::save();
        calls.state(&mut io).expect("saved");
        let mut restored = Calls::new();
        let bytes = io.into_bytes();
        restored.state(&mut Io::restore(&bytes)).expect("whole");
        restored.begin_again();
        restored
    }

    fn program(calls: &Calls, launch: u64, device: fn(usize) -> u8) -> Vec<u8> {
        calls.note(CallKind::Launch, |digest| {
            digest.u64(launch);
        });
        let mut read = Vec::new();
        for _ in 0..2 {
            calls.note(CallKind::Read, |_| ());
            let mut out: Vec<u8> = (0..9000).map(device).collect();
            calls.answer(&mut out);
            read.extend(out);
        }
        read
    }

    #[test]
    fn a_program_that_runs_again_reads_what_it_read() {
        let mut calls = recorded();
        let read = program(&calls, 7, |_| 0);
        let expected: Vec<u8> = (0..9000).map(|byte| byte as u8).collect();
        assert_eq!(read, [&expected[..], &expected].concat());
        assert_eq!(calls.other(), None);
        assert!(calls.end_again());
        // Then the record goes on.
        assert_eq!(program(&calls, 8, |_| 3), vec![3; 18_000]);
    }

    #[test]
    fn other_calls_are_told() {
        let mut calls = recorded();
        program(&calls, 8, |_| 0);
        let other = calls.other().expect("another launch");
        let told = "call 1, a launch, has other arguments or data";
        assert_eq!(other.to_string(), told);
        assert!(!calls.end_again());
        let mut calls = recorded();
        calls.note(CallKind::End, |_| ());
        let other = OtherCall {
            number: 1,
            is: CallKind::End,
            was: CallKind::Launch,
        };
        assert_eq!(calls.other(), Some(other));
        let told = "call 1 is the end of the program and was a launch";
        assert_eq!(other.to_string(), told);
    }

    #[test]
    fn fewer_and_further_calls_are_others() {
        let mut calls = recorded();
        calls.note(CallKind::Launch, |digest| {
            digest.u64(7);
        });
        assert!(!calls.end_again());
        let mut calls = recorded();
        program(&calls, 7, |_| 0);
        calls.note(CallKind::Free, |_| ());
        assert!(!calls.end_again());
    }
}
