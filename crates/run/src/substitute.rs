//! Runs a host program with other PTX than it loads, such as the output of a compiler.

use crate::device::Device;
use crate::host::{Check, HostAction, HostError, HostProgram, Stopped};
use warploom_base::Cycle;

/// A host program whose modules are replaced.
pub struct Substituted {
    program: Box<dyn HostProgram>,
    /// Texts and their replacements, until the first action.
    texts: Vec<(String, String)>,
}

impl Substituted {
    /// Creates a program that loads the second text of each pair instead of the first.
    pub fn new(program: Box<dyn HostProgram>, texts: Vec<(String, String)>) -> Self {
        Self { program, texts }
    }
}

impl HostProgram for Substituted {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        for (from, to) in self.texts.drain(..) {
            device.substitute(from, to);
        }
        self.program.next(device)
    }

    fn reached(&mut self, mark: u64, device: &mut Device, at: Cycle) -> Result<(), HostError> {
        self.program.reached(mark, device, at)
    }

    fn stopped(&mut self, why: Stopped) {
        self.program.stopped(why);
    }

    fn analysis_start(&self) -> u64 {
        self.program.analysis_start()
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.program.checks(device)
    }
}
