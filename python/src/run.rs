//! Runs: a device with its memory, launches and their result.

use crate::args::convert;
use crate::errors::input_error;
use crate::host_buffer::HostBuffer;
use crate::live::{Live, Simulation, Stop, StopFlag, fault};
use crate::machine::Machine;
use crate::policy::make_scheduler;
use crate::ptx_module::PtxModule;
use crate::report::Report;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use warploom_base::Dim3;
use warploom_config::GpuSpec;
use warploom_energy::{attach, named};
use warploom_run::{
    Checks, CustomPolicies, DeviceError, DevicePtr, HostAction, HostProgram, Launch, ModuleId,
    Options, Printer,
};
use warploom_stats::result::RunReport;

/// Address of simulated memory as an argument of a launch.
#[pyclass(frozen)]
pub struct Pointer(#[pyo3(get, name = "address")] pub u64);

#[pymethods]
impl Pointer {
    #[new]
    fn new(address: u64) -> Self {
        Self(address)
    }
}

/// Options of a run as Python states them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RunOptions {
    functional: bool,
    threads: usize,
    max_cycles: Option<u64>,
    window: Option<u64>,
    parts: bool,
    checks: Vec<String>,
    energy: Option<String>,
    memory_bytes: u64,
    command: String,
    timeline: bool,
    warp_scheduler: Option<Py<PyAny>>,
    stop: Option<Py<Stop>>,
}

impl RunOptions {
    /// Stop of the runs with these options: a shared one, or one of its own.
    fn stop_flag(&self) -> StopFlag {
        let shared = self.stop.as_ref().map(|stop| stop.get().0.clone());
        shared.unwrap_or_default()
    }

    /// Options of a session, which stops when `stop` is set.
    pub fn options(&self, py: Python<'_>, stop: &StopFlag) -> Options {
        let has = |name: &str| self.checks.iter().any(|check| check == name);
        let scheduler = self
            .warp_scheduler
            .as_ref()
            .map(|class| class.clone_ref(py));
        Options {
            functional: self.functional,
            threads: self.threads.max(1),
            max_cycles: self.max_cycles,
            window_cycles: self.window.map(|cycles| cycles.max(1)),
            parts: self.parts,
            checks: Checks {
                uninitialised: has("uninitialised"),
                shared_races: has("shared-races"),
                barrier_divergence: has("barriers"),
                bounds: has("bounds"),
            },
            memory_bytes: self.memory_bytes,
            command: self.command.clone(),
            printer: Printer::new(print),
            policies: CustomPolicies {
                warp: scheduler.map(|class| make_scheduler(class, stop.clone())),
                ..CustomPolicies::default()
            },
            ..Options::default()
        }
    }

    /// Adds energy to a result, if it was asked for.
    pub fn finish(&self, py: Python<'_>, spec: &GpuSpec, report: &mut RunReport) -> PyResult<()> {
        let Some(name) = &self.energy else {
            return Ok(());
        };
        let preset = named(name, &spec.name).map_err(|message| input_error(py, &message))?;
        attach(&preset, spec, report);
        Ok(())
    }
}

/// Prints the output of kernels to Python's standard output.
fn print(text: &[u8]) {
    let text = String::from_utf8_lossy(text).into_owned();
    Python::attach(|py| {
        let stdout = py.import("sys").and_then(|sys| sys.getattr("stdout"));
        // Output that Python does not accept is lost, as with a closed terminal.
        let _ = stdout.and_then(|stdout| stdout.call_method1("write", (text,)));
    });
}

/// Runs a host program to its end on a thread of its own.
pub fn run_program(
    py: Python<'_>,
    machine: &Machine,
    options: &RunOptions,
    program: Box<dyn HostProgram>,
) -> PyResult<Report> {
    let stop = options.stop_flag();
    let session = options.options(py, &stop);
    let traced = options.timeline;
    let simulation = Simulation::start(machine.spec.clone(), session, program, stop, traced)?;
    let (mut report, trace) = simulation.finish(py)?;
    options.finish(py, &machine.spec, &mut report)?;
    Ok(Report { report, trace })
}

/// Run whose launches and copies Python requests one by one.
#[pyclass]
pub struct Run {
    live: Live,
    spec: GpuSpec,
    options: RunOptions,
    /// Modules by the address of their Python object, which the run keeps.
    modules: HashMap<usize, (ModuleId, Py<PtxModule>)>,
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, machine: &Machine, options: RunOptions) -> PyResult<Self> {
        let stop = options.stop_flag();
        let session = options.options(py, &stop);
        Ok(Self {
            live: Live::start(machine.spec.clone(), session, stop, options.timeline)?,
            spec: machine.spec.clone(),
            options,
            modules: HashMap::new(),
        })
    }

    /// Allocates bytes of device memory.
    fn alloc(&mut self, py: Python<'_>, bytes: u64) -> PyResult<Pointer> {
        let made = self
            .live
            .with(py, move |device| device.alloc(bytes.max(1)))?;
        let pointer = device_result(py, made)?;
        Ok(Pointer(pointer.0))
    }

    /// Frees memory of the device.
    fn free(&mut self, py: Python<'_>, pointer: &Pointer) -> PyResult<()> {
        let pointer = DevicePtr(pointer.0);
        let freed = self.live.with(py, move |device| device.free(pointer))?;
        device_result(py, freed)
    }

    /// Copies an array to the device, directly from its memory.
    fn write(&mut self, pointer: &Pointer, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, pointer) = (array.py(), DevicePtr(pointer.0));
        let buffer = HostBuffer::of(array)?;
        let write = move |device: &mut warploom_run::Device| device.write(pointer, buffer.bytes());
        let written = self.live.with(py, write)?;
        device_result(py, written)
    }

    /// Copies from the device, directly into the memory of an array.
    fn read(&mut self, pointer: &Pointer, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, pointer) = (array.py(), DevicePtr(pointer.0));
        let mut buffer = HostBuffer::writable(array)?;
        let copied = self.live.with(py, move |device| {
            let bytes = buffer.bytes_mut();
            device.note_copy(pointer, bytes.len() as u64);
            device.read(pointer, bytes)
        })?;
        device_result(py, copied)
    }

    /// Fills device memory with one byte.
    fn fill(&mut self, py: Python<'_>, pointer: &Pointer, byte: u8, bytes: u64) -> PyResult<()> {
        let pointer = DevicePtr(pointer.0);
        let filled = self
            .live
            .with(py, move |device| device.fill(pointer, byte, bytes))?;
        device_result(py, filled)
    }

    /// Address of a variable of a module.
    fn variable(&mut self, module: &Bound<'_, PtxModule>, name: String) -> PyResult<Pointer> {
        let (py, id) = (module.py(), self.load(module)?);
        let found = self
            .live
            .with(py, move |device| device.variable(id, &name))?;
        Ok(Pointer(device_result(py, found)?.0))
    }

    /// Launches a kernel. On stream 0 the call returns when the kernel has ended.
    #[allow(clippy::too_many_arguments, reason = "as many as CUDA's launch")]
    fn launch(
        &mut self,
        module: &Bound<'_, PtxModule>,
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        stream: u32,
        registers: Option<u32>,
        args: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = module.py();
        let id = self.load(module)?;
        let args = convert(&kernel, module.get().params(&kernel), &args)
            .map_err(|message| input_error(py, &message))?;
        let (grid, block) = (dim(grid), dim(block));
        let launch = Launch {
            dynamic_shared_bytes: shared,
            stream,
            registers_per_thread: registers,
            ..Launch::new(id, &kernel, grid, block, args)
        };
        self.live.act(py, HostAction::Launch(launch))
    }

    /// Waits for a stream, or for everything.
    #[pyo3(signature = (stream=None))]
    fn synchronize(&mut self, py: Python<'_>, stream: Option<u32>) -> PyResult<()> {
        let action = stream.map_or(HostAction::Synchronize, HostAction::SynchronizeStream);
        self.live.act(py, action)
    }

    /// Ends the run and returns its result, also that of a program that failed.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Report> {
        let (mut report, trace) = self.live.finish(py)?;
        if report.outcome.message().is_some() {
            return Err(fault(py, &report));
        }
        self.options.finish(py, &self.spec, &mut report)?;
        Ok(Report { report, trace })
    }
}

impl Run {
    /// Loads a module once.
    fn load(&mut self, module: &Bound<'_, PtxModule>) -> PyResult<ModuleId> {
        let (py, key) = (module.py(), module.as_ptr() as usize);
        if let Some((id, _)) = self.modules.get(&key) {
            return Ok(*id);
        }
        let compiled = Arc::clone(&module.get().compiled);
        let loaded = self
            .live
            .with(py, move |device| device.load_compiled(&compiled))?;
        let id = device_result(py, loaded)?;
        self.modules.insert(key, (id, module.clone().unbind()));
        Ok(id)
    }
}

fn device_result<T>(py: Python<'_>, result: Result<T, DeviceError>) -> PyResult<T> {
    result.map_err(|error| input_error(py, &error.to_string()))
}

const fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}
