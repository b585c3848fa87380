//! PTX modules: text whose kernels have been checked.

use crate::errors::input_error;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_diag::Source;
use warploom_ir::{Param, ParamKind, Program};
use warploom_run::CompiledPtx;

/// Description of a kernel: parameters as (name, type, bytes), registers per thread, static shared
/// memory in bytes.
type KernelFacts = (Vec<(String, &'static str, u32)>, u32, u32);

/// PTX text that was parsed, checked and lowered.
#[pyclass(frozen)]
pub struct PtxModule {
    /// Shared with the threads of runs, which load it.
    pub(crate) compiled: Arc<CompiledPtx>,
}

#[pymethods]
impl PtxModule {
    /// Parses and checks a text. `name` names it in messages.
    #[new]
    fn new(py: Python<'_>, name: String, text: String) -> PyResult<Self> {
        let compiled = CompiledPtx::new(Source::new(name, text))
            .map_err(|error| input_error(py, &error.to_string()))?;
        let compiled = Arc::new(compiled);
        Ok(Self { compiled })
    }

    /// Name of the module in messages.
    #[getter]
    fn name(&self) -> &str {
        self.compiled.source.name()
    }

    /// Text of the PTX.
    #[getter]
    fn text(&self) -> &str {
        self.compiled.source.text()
    }

    /// Kernels of the module by name.
    fn kernels(&self) -> BTreeMap<&str, KernelFacts> {
        let kernels = self.compiled.ir.kernels.iter();
        kernels
            .map(|kernel| (kernel.name.as_str(), facts(kernel)))
            .collect()
    }

    /// Kernels that cannot run, with all diagnostics.
    fn refused(&self) -> BTreeMap<String, String> {
        self.compiled.refused.iter().cloned().collect()
    }
}

impl PtxModule {
    /// Parameters of a kernel; empty if the module does not have the kernel.
    pub(crate) fn params(&self, kernel: &str) -> &[Param] {
        let mut kernels = self.compiled.ir.kernels.iter();
        let own = kernels.find(|own| own.name == kernel);
        own.map_or(&[], |own| &own.params)
    }
}

fn facts(kernel: &Program) -> KernelFacts {
    let param = |param: &Param| (param.name.clone(), type_name(param.kind), param.bytes);
    let params = kernel.params.iter().map(param).collect();
    (params, kernel.registers_per_thread, kernel.shared_bytes)
}

/// Name of a parameter's type as PTX writes it.
pub(crate) const fn type_name(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Int {
            bytes: 1,
            signed: true,
        } => "s8",
        ParamKind::Int { bytes: 1, .. } => "u8",
        ParamKind::Int {
            bytes: 2,
            signed: true,
        } => "s16",
        ParamKind::Int { bytes: 2, .. } => "u16",
        ParamKind::Int {
            bytes: 4,
            signed: true,
        } => "s32",
        ParamKind::Int { bytes: 4, .. } => "u32",
        ParamKind::Int { signed: true, .. } => "s64",
        ParamKind::Int { .. } => "u64",
        ParamKind::F16 => "f16",
        ParamKind::F32 => "f32",
        ParamKind::F64 => "f64",
        ParamKind::Bytes => "bytes",
    }
}
