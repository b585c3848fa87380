//! Host programs as lists of steps, with a few small kernels.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use warploom_base::{Cycle, Dim3};
use warploom_config::GpuSpec;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId, Options,
    Participant, Session,
};
use warploom_stats::result::RunReport;

/// Number of words in a script's buffer: input of `load`, and a part for each of eight streams.
pub const WORDS: usize = (1 << 14) + 8 * OWN;
/// Number of words that a stream's launches process.
pub const OWN: usize = 1 << 14;

/// Kernels of the scripts. Each of the first `grid x block` words goes through `n` iterations of a
/// loop (`spin` keeps it, `inc` adds one, `double` doubles it). `put` writes `n` there and reads
/// nothing. `load` sums `n` words per thread, scattered over the buffer. `stuck` waits at a barrier
/// that never completes.
const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 buf, .param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
LOOP
st.global.u32 [%rd3], %r4;
ret; }
.visible .entry inc(.param .u64 buf, .param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
LOOP
add.s32 %r4, %r4, 1;
st.global.u32 [%rd3], %r4;
ret; }
.visible .entry double(.param .u64 buf, .param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
LOOP
add.s32 %r4, %r4, %r4;
st.global.u32 [%rd3], %r4;
ret; }
.visible .entry put(.param .u64 buf, .param .u32 n) {
.reg .b32 %r<6>; .reg .b64 %rd<4>;
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r1, %r2, %r3, %r1;
ld.param.u64 %rd1, [buf]; ld.param.u32 %r5, [n];
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r5;
ret; }
.visible .entry load(.param .u64 buf, .param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r1, %r2, %r3, %r1;
ld.param.u64 %rd1, [buf]; ld.param.u32 %r5, [n];
mov.u32 %r7, 0; mov.u32 %r8, 0;
AGAIN:
mad.lo.s32 %r9, %r8, 1999, %r1; mul.lo.u32 %r9, %r9, 37; and.b32 %r9, %r9, 16383;
mul.wide.u32 %rd2, %r9, 4; add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r10, [%rd3]; add.s32 %r7, %r7, %r10;
add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r5; @%p1 bra AGAIN;
and.b32 %r9, %r1, 16383; mul.wide.u32 %rd2, %r9, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r7;
ret; }
.visible .entry stuck(.param .u64 buf, .param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<4>;
mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra W;
bar.sync 1, 64; ret;
W: bar.sync 2, 64; ret; }
";

const LOOP: &str = "\
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r1, %r2, %r3, %r1;
ld.param.u64 %rd1, [buf]; ld.param.u32 %r5, [n];
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r4, [%rd3];
mov.u32 %r6, 0;
AGAIN:
add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r5; @%p1 bra AGAIN;";

/// A step of a program.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Launches a kernel on the stream's own words: stream, kernel, blocks, iterations.
    Launch(u32, &'static str, u32, u32),
    /// Writes a word: stream, index, value.
    Write(u32, usize, u32),
    /// Copies a word: stream, source, destination.
    Copy(u32, usize, usize),
    /// Sets a mark: stream, mark.
    Mark(u32, u64),
    /// Waits for a mark: stream, mark.
    WaitFor(u32, u64),
    Synchronize,
    SynchronizeStream(u32),
    /// Checks the current value of a word.
    Expect(usize, u32),
    /// Launches a kernel on memory this many bytes after the buffer.
    LaunchBeyond(&'static str, u64),
    /// Allocates another buffer of this many bytes.
    Alloc(u64),
}

/// Number of threads in a block.
pub const BLOCK: u32 = 64;

/// A host program that consists of steps.
#[derive(Clone)]
pub struct Script {
    pub steps: Vec<Step>,
    /// Expected values of words at the end.
    pub outputs: Vec<(usize, u32)>,
    /// Marks that were reached, with their cycles.
    pub reached: Arc<Mutex<Vec<(u64, Cycle)>>>,
    at: usize,
    loaded: Option<(ModuleId, DevicePtr)>,
}

impl Script {
    pub fn new(steps: &[Step], outputs: &[(usize, u32)]) -> Self {
        Self {
            steps: steps.to_vec(),
            outputs: outputs.to_vec(),
            reached: Arc::default(),
            at: 0,
            loaded: None,
        }
    }

    fn launch(module: ModuleId, buffer: DevicePtr, step: (u32, &str, u32, u32)) -> HostAction {
        let (stream, kernel, blocks, turns) = step;
        let args = vec![Arg::Pointer(buffer), Arg::U32(turns)];
        let grid = Dim3::linear(blocks);
        HostAction::Launch(Launch {
            stream,
            ..Launch::new(module, kernel, grid, Dim3::linear(BLOCK), args)
        })
    }
}

fn word(buffer: DevicePtr, at: usize) -> DevicePtr {
    buffer.offset(4 * at as u64)
}

impl HostProgram for Script {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let (module, buffer) = match self.loaded {
            Some(loaded) => loaded,
            None => {
                let module = device.load_ptx("script.ptx", &PTX.replace("LOOP", LOOP))?;
                *self
                    .loaded
                    .insert((module, device.alloc_slice(&vec![0u32; WORDS])?))
            }
        };
        loop {
            let Some(step) = self.steps.get(self.at).copied() else {
                return Ok(HostAction::Done);
            };
            self.at += 1;
            return Ok(match step {
                Step::Launch(stream, kernel, blocks, turns) => {
                    let own = word(buffer, stream as usize * OWN);
                    Self::launch(module, own, (stream, kernel, blocks, turns))
                }
                Step::LaunchBeyond(kernel, bytes) => {
                    Self::launch(module, buffer.offset(bytes), (0, kernel, 1, 1))
                }
                Step::Write(stream, at, value) => HostAction::Write {
                    stream,
                    to: word(buffer, at),
                    bytes: value.to_le_bytes().to_vec(),
                },
                Step::Copy(stream, from, to) => HostAction::Copy {
                    stream,
                    from: word(buffer, from),
                    to: word(buffer, to),
                    bytes: 4,
                },
                Step::Mark(stream, mark) => HostAction::Mark { stream, mark },
                Step::WaitFor(stream, mark) => HostAction::WaitFor { stream, mark },
                Step::Synchronize => HostAction::Synchronize,
                Step::SynchronizeStream(stream) => HostAction::SynchronizeStream(stream),
                Step::Expect(at, value) => {
                    let found = device.read_vec::<u32>(word(buffer, at), 1)?[0];
                    assert_eq!(found, value, "word {at} before step {}", self.at);
                    continue;
                }
                Step::Alloc(bytes) => {
                    device.alloc(bytes)?;
                    continue;
                }
            });
        }
    }

    fn reached(&mut self, mark: u64, _: &mut Device, at: Cycle) -> Result<(), HostError> {
        self.reached.lock().expect("nobody panics").push((mark, at));
        Ok(())
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let (_, buffer) = self.loaded.expect("it ran");
        let check = |(at, value): &(usize, u32)| {
            let found = device.read_vec::<u32>(word(buffer, *at), 1)?[0];
            Ok(Check {
                name: format!("word {at}"),
                passed: found == *value,
                detail: format!("{found}, and {value} is right"),
                compared: 1,
            })
        };
        self.outputs.iter().map(check).collect()
    }
}

/// Runs one script on its own.
pub fn run(spec: &GpuSpec, script: &Script, threads: usize) -> RunReport {
    let options = Options {
        threads,
        ..Options::default()
    };
    Session::new(spec.clone(), options)
        .run(&mut script.clone(), &mut |_| ControlFlow::Continue(()))
        .expect("the script is sound")
}

/// A script as a program of a mix.
pub fn participant(name: &str, script: &Script) -> Participant<'static> {
    Participant::new(name, Box::new(script.clone()))
}

/// A script that restarts until it has executed `target` thread instructions.
pub fn until(name: &str, script: &Script, target: u64) -> Participant<'static> {
    let again = script.clone();
    Participant {
        again: Some(Box::new(move || Ok(Box::new(again.clone())))),
        target: Some(target),
        ..participant(name, script)
    }
}

/// Runs several programs at once.
pub fn mix(spec: &GpuSpec, programs: Vec<Participant<'_>>, threads: usize) -> RunReport {
    let options = Options {
        threads,
        ..Options::default()
    };
    Session::new(spec.clone(), options)
        .run_mix(programs, &mut |_| ControlFlow::Continue(()))
        .expect("the scripts are sound")
}
