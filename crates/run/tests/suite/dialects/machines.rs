//! Runs a kernel `k(p)` with one thread on every machine. `p` points to a few words.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};

struct Program<'a> {
    text: &'a str,
    words: &'a [u32],
    buffer: Option<DevicePtr>,
    found: Vec<u32>,
}

impl HostProgram for Program<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if let Some(buffer) = self.buffer {
            self.found = device.read_vec(buffer, self.words.len())?;
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("k.ptx", self.text)?;
        let buffer = device.alloc_slice(self.words)?;
        self.buffer = Some(buffer);
        let one = Dim3::linear(1);
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch::new(module, "k", one, one, args)))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Runs the kernel without timing and on three GPUs, and compares the final contents of `words`.
pub fn check(text: &str, words: &[u32], expected: &[u32]) {
    for gpu in ["gtx480", "qv100-volta", "rtx3070-ampere"] {
        for functional in [true, false] {
            let found = run(gpu, functional, text, words);
            assert_eq!(found, expected, "{gpu}, functional: {functional}\n{text}");
        }
    }
}

fn run(gpu: &str, functional: bool, text: &str, words: &[u32]) -> Vec<u32> {
    let mut program = Program {
        text,
        words,
        buffer: None,
        found: Vec::new(),
    };
    let session = Session::new(preset(gpu).expect("a preset"), Options::default());
    if functional {
        session
            .run_functional(&mut program)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
    } else {
        session
            .run(&mut program, &mut |_| ControlFlow::Continue(()))
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
    program.found
}
