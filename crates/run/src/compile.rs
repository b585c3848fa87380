//! Compilation of PTX text to a lowered module.

use crate::device::{Device, DeviceError, ModuleId};
use warploom_diag::{Diagnostics, Source, Style};
use warploom_ir::ModuleIr;

impl Device {
    /// Parses, lowers and loads a PTX file. `name` is the file's name in messages.
    pub fn load_ptx(&mut self, name: &str, text: &str) -> Result<ModuleId, DeviceError> {
        let replaced = self.substitute_for(text);
        let text = replaced.as_deref().unwrap_or(text);
        self.note_input(text);
        let source = Source::new(name, text);
        let ir = compile(&source)?;
        let refused = ir
            .refused
            .iter()
            .map(|(kernel, why)| (kernel.clone(), why.render(&source, Style::Plain)));
        let refused = refused.collect();
        self.load(name, ir, refused)
    }
}

/// Parses, checks and lowers a PTX file. The error contains all diagnostics of the file, rendered.
/// Kernels that are wrong or not supported are refused one by one.
pub fn compile(source: &Source) -> Result<ModuleIr, DeviceError> {
    let refused = |problems: Diagnostics| DeviceError::Ptx(problems.render(source, Style::Plain));
    let (ir, _warnings) = warploom_lower::compile(source).map_err(refused)?;
    Ok(ir)
}
