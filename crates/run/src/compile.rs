//! Compilation of PTX text to a lowered module.

use crate::checkpoint::CallKind;
use crate::device::{Device, DeviceError, ModuleId};
use warploom_diag::{Diagnostics, Source, Style};
use warploom_ir::ModuleIr;

/// PTX file whose kernels were lowered, for devices that load it without compiling it again.
#[derive(Clone, Debug)]
pub struct CompiledPtx {
    /// Name and text of the file.
    pub source: Source,
    /// Kernels and variables of the file.
    pub ir: ModuleIr,
    /// Kernels that cannot run, each with its rendered diagnostics.
    pub refused: Vec<(String, String)>,
}

impl CompiledPtx {
    /// Parses, checks and lowers a PTX file. Kernels that are wrong or not supported are refused
    /// one by one.
    ///
    /// # Errors
    /// The file is not PTX. The error contains all diagnostics, rendered.
    pub fn new(source: Source) -> Result<Self, DeviceError> {
        let ir = compile(&source)?;
        let refused = ir
            .refused
            .iter()
            .map(|(kernel, why)| (kernel.clone(), why.render(&source, Style::Plain)));
        let refused = refused.collect();
        Ok(Self {
            source,
            ir,
            refused,
        })
    }
}

impl Device {
    /// Parses, lowers and loads a PTX file. `name` is the file's name in messages.
    pub fn load_ptx(&mut self, name: &str, text: &str) -> Result<ModuleId, DeviceError> {
        let replaced = self.substitute_for(text);
        let text = replaced.as_deref().unwrap_or(text);
        self.note_input(CallKind::Module, text);
        let compiled = CompiledPtx::new(Source::new(name, text))?;
        self.load(name, compiled.ir, compiled.refused)
    }

    /// Loads a file that was compiled before. The device is then as after `load_ptx` with the same
    /// name and text, except that the text is not replaced.
    pub fn load_compiled(&mut self, file: &CompiledPtx) -> Result<ModuleId, DeviceError> {
        self.note_input(CallKind::Module, file.source.text());
        self.load(file.source.name(), file.ir.clone(), file.refused.clone())
    }
}

/// Parses, checks and lowers a PTX file. The error contains all diagnostics of the file, rendered.
/// Kernels that are wrong or not supported are refused one by one.
pub fn compile(source: &Source) -> Result<ModuleIr, DeviceError> {
    let refused = |problems: Diagnostics| DeviceError::Ptx(problems.render(source, Style::Plain));
    let (ir, _warnings) = warploom_lower::compile(source).map_err(refused)?;
    Ok(ir)
}

#[cfg(test)]
mod tests {
    use super::CompiledPtx;
    use crate::device::Device;
    use warploom_diag::Source;

    const TEXT: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
                        .global .u32 seven = 7;\n\
                        .visible .entry right() { ret; }\n\
                        .visible .entry wrong() { .reg .f32 %f; fma.rx.f32 %f, %f, %f, %f; ret; }\n";

    #[test]
    fn a_compiled_file_loads_like_its_text() {
        let file = CompiledPtx::new(Source::new("k.ptx", TEXT)).unwrap();
        let mut by_text = Device::new(1 << 20, 0);
        let expected = by_text.load_ptx("k.ptx", TEXT).unwrap();
        for _ in 0..2 {
            let mut device = Device::new(1 << 20, 0);
            let module = device.load_compiled(&file).unwrap();
            assert_eq!(device.input_digest(), by_text.input_digest());
            assert!(device.kernel(module, "right").is_ok());
            let refusals = [(&device, module), (&by_text, expected)];
            let [one, other] = refusals.map(|(device, id)| device.kernel(id, "wrong").unwrap_err());
            assert_eq!(one.to_string(), other.to_string());
            let mut bytes = [0; 4];
            let seven = device.variable(module, "seven").unwrap();
            device.read(seven, &mut bytes).unwrap();
            assert_eq!(bytes, [7, 0, 0, 0]);
        }
    }
}
