//! PTX modules: text whose kernels have been checked.

use crate::errors::input_error;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_diag::{Source, Style};
use warploom_ir::{Param, ParamKind, Program};

/// Description of a kernel: parameters as (name, type, bytes), registers per thread, static shared
/// memory in bytes.
type KernelFacts = (Vec<(String, &'static str, u32)>, u32, u32);

/// PTX text that was parsed, checked and lowered.
#[pyclass(frozen)]
pub struct PtxModule {
    pub(crate) name: String,
    pub(crate) text: String,
    kernels: BTreeMap<String, Arc<Program>>,
    refused: BTreeMap<String, String>,
}

#[pymethods]
impl PtxModule {
    /// Parses and checks a text. `name` names it in messages.
    #[new]
    fn new(py: Python<'_>, name: String, text: String) -> PyResult<Self> {
        let source = Source::new(name.clone(), text.clone());
        let ir =
            warploom_run::compile(&source).map_err(|error| input_error(py, &error.to_string()))?;
        let refused = ir.refused.iter();
        let refused =
            refused.map(|(kernel, why)| (kernel.clone(), why.render(&source, Style::Plain)));
        let refused = refused.collect();
        let kernels = ir.kernels.into_iter();
        let kernels = kernels.map(|kernel| (kernel.name.clone(), Arc::new(kernel)));
        Ok(Self {
            name,
            text,
            kernels: kernels.collect(),
            refused,
        })
    }

    /// Name of the module in messages.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Text of the PTX.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Kernels of the module by name.
    fn kernels(&self) -> BTreeMap<&str, KernelFacts> {
        let kernels = self.kernels.iter();
        kernels
            .map(|(name, kernel)| (name.as_str(), facts(kernel)))
            .collect()
    }

    /// Kernels that cannot run, with all diagnostics.
    fn refused(&self) -> BTreeMap<String, String> {
        self.refused.clone()
    }
}

impl PtxModule {
    /// Parameters of a kernel; empty if the module does not have the kernel.
    pub(crate) fn params(&self, kernel: &str) -> &[Param] {
        self.kernels
            .get(kernel)
            .map_or(&[], |kernel| &kernel.params)
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
