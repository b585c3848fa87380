//! Native part of the Python package `warploom`: machines, PTX modules, runs and results. The
//! classes that a user sees are written in Python (`python/warploom`) and call this module.
//!
//! A run lives on a thread of its own (`live`). The thread that called Python releases the
//! interpreter's lock while it waits, and looks for signals meanwhile.

mod args;
mod arrow;
mod errors;
mod host_buffer;
mod live;
mod machine;
mod policy;
mod ptx_module;
mod report;
mod run;
mod workload;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// An allocator that uses large pages where the system supports them, as the command's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Items of the module `warploom._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrow::arrow_stream;
    #[pymodule_export]
    use crate::host_buffer::buffer_facts;
    #[pymodule_export]
    use crate::live::Stop;
    #[pymodule_export]
    use crate::machine::{Machine, presets};
    #[pymodule_export]
    use crate::ptx_module::PtxModule;
    #[pymodule_export]
    use crate::report::{Report, statistics};
    #[pymodule_export]
    use crate::run::{Pointer, Run};
    #[pymodule_export]
    use crate::workload::{run_workload, workloads};

    /// Version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
