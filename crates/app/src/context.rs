//! State that a process has on the GPU.

use crate::array::Array;
use crate::attributes::Attributes;
use crate::capture::CaptureMode;
use crate::engine::Engine;
use crate::error::{Cuda, CudaError};
use crate::graph::Graphs;
use crate::host::HostMemory;
use crate::link::Link;
use crate::memory::Block;
use crate::mipmap::Mipmapped;
use crate::module::{Function, Module, Reference, Variable};
use crate::order::Order;
use crate::pool::Pools;
use crate::result::{of_a_program, shows_report, write_results};
use crate::settings::Settings;
use crate::shadow::Shadow;
use crate::stream::{Event, Stream};
use crate::texture::Bound;
use crate::texture_reference::ModuleReference;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;
use warploom_base::Dim3;
use warploom_config::GpuSpec;
use warploom_energy::attach;
use warploom_report::outcome_told;
use warploom_run::{Checkpoint, DevicePtr, HostAction, Options, Printer};
use warploom_stats::result::Outcome;

/// Identifier of a thread of the process.
pub type ThreadKey = ThreadId;

/// Launch configuration given by `<<<...>>>`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configuration {
    /// Extents of the grid in blocks.
    pub grid: Dim3,
    /// Extents of a block in threads.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u64,
    /// Handle of the stream.
    pub stream: u64,
}

/// Caller of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Thread that makes the call.
    pub thread: ThreadKey,
    /// True if the default stream of the thread is its own, and not that of the process.
    pub own_stream: bool,
}

/// State of a thread of the process.
#[derive(Default)]
pub(crate) struct Thread {
    last_error: i32,
    configurations: Vec<Configuration>,
    /// True while the thread runs a function that a stream called.
    called: bool,
    /// Handle of the thread's own default stream, once it was used.
    pub(crate) stream: Option<u64>,
    /// Current contexts of the thread, the innermost last (`cuCtxPushCurrent`).
    pub(crate) contexts: Vec<u64>,
    /// Calls that the thread may make while streams are captured.
    pub(crate) capture_mode: CaptureMode,
}

/// Bytes that a copy from the device writes to the host.
pub(crate) struct Arrival {
    pub to: u64,
    pub bytes: Vec<u8>,
}

/// State that a process has on the GPU: modules, memory, streams, events, graphs and textures.
pub struct Context {
    pub(crate) settings: Settings,
    pub(crate) spec: GpuSpec,
    pub(crate) host: Box<dyn HostMemory>,
    show: fn(&str),
    engine: Option<Engine>,
    /// Checkpoint from which the simulation goes on.
    resumes: Option<Checkpoint>,
    /// True if the program could not go on from its checkpoint.
    refused: bool,
    failed: Option<CudaError>,
    pub(crate) threads: HashMap<ThreadKey, Thread>,
    /// Caller of the last call.
    pub(crate) caller: Option<Caller>,
    shown: BTreeSet<String>,
    pub(crate) modules: Vec<Module>,
    /// Functions, by the address that the host uses to launch them.
    pub(crate) functions: BTreeMap<u64, Function>,
    pub(crate) variables: BTreeMap<u64, Variable>,
    /// References to textures and surfaces, by their address in the host program.
    pub(crate) references: BTreeMap<u64, Reference>,
    /// References to textures and surfaces of modules that the driver loaded, by their handles.
    pub(crate) module_references: BTreeMap<u64, ModuleReference>,
    /// Allocations by their address.
    pub(crate) memory: BTreeMap<u64, Block>,
    pub(crate) used_bytes: u64,
    pub(crate) shadows: Vec<Shadow>,
    /// True if kernels may have written memory that the host can access.
    pub(crate) copy_back_pending: bool,
    /// Channel through which copies from the device reach the host.
    pub(crate) arrivals: (Sender<Arrival>, Receiver<Arrival>),
    /// Pending writes to host memory: address and number of bytes.
    pub(crate) outstanding: Vec<(u64, u64)>,
    /// Channel through which printed text of completed kernels reaches the host.
    printed: (Sender<Vec<u8>>, Receiver<Vec<u8>>),
    pub(crate) links: BTreeMap<u64, Link>,
    pub(crate) arrays: BTreeMap<u64, Array>,
    pub(crate) mipmapped: BTreeMap<u64, Mipmapped>,
    pub(crate) texture_objects: BTreeMap<u64, Bound>,
    pub(crate) streams: BTreeMap<u64, Stream>,
    /// Attributes that were set for streams.
    pub(crate) stream_attributes: BTreeMap<u64, Attributes>,
    pub(crate) graphs: Graphs,
    pub(crate) pools: Pools,
    /// Known order between streams.
    pub(crate) order: Order,
    pub(crate) events: BTreeMap<u64, Event>,
    /// Workspaces of cooperative launches, by number of the simulated stream.
    pub(crate) workspaces: BTreeMap<u32, DevicePtr>,
    pub(crate) limits: BTreeMap<i32, u64>,
    pub(crate) flags: u32,
    handles: u64,
    stream_numbers: u32,
}

impl Context {
    /// Creates a context on the GPU of the settings. `show` shows a message to the user.
    pub fn new(
        settings: Settings,
        spec: GpuSpec,
        host: Box<dyn HostMemory>,
        show: fn(&str),
    ) -> Self {
        Self {
            settings,
            spec,
            host,
            show,
            engine: None,
            resumes: None,
            refused: false,
            failed: None,
            threads: HashMap::new(),
            caller: None,
            shown: BTreeSet::new(),
            modules: Vec::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            references: BTreeMap::new(),
            module_references: BTreeMap::new(),
            memory: BTreeMap::new(),
            used_bytes: 0,
            shadows: Vec::new(),
            copy_back_pending: false,
            arrivals: channel(),
            outstanding: Vec::new(),
            printed: channel(),
            links: BTreeMap::new(),
            arrays: BTreeMap::new(),
            mipmapped: BTreeMap::new(),
            texture_objects: BTreeMap::new(),
            streams: BTreeMap::new(),
            stream_attributes: BTreeMap::new(),
            graphs: Graphs::default(),
            pools: Pools::default(),
            order: Order::default(),
            events: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            limits: BTreeMap::new(),
            flags: 0,
            handles: 0,
            stream_numbers: 0,
        }
    }

    /// The same context, whose simulation goes on from a checkpoint, if there is one.
    #[must_use]
    pub fn resuming(self, resumes: Option<Checkpoint>) -> Self {
        Self { resumes, ..self }
    }

    /// The simulation, if it has started.
    pub(crate) fn simulation(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// True if the program could not go on from its checkpoint, or could not be saved.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// Shows a message to the user on a line of its own.
    pub fn show(&self, text: &str) {
        (self.show)(&format!("warploom: {text}\n"));
    }

    /// Shows a message to the user unless it was shown before.
    pub fn show_once(&mut self, text: &str) {
        if self.shown.insert(text.to_owned()) {
            self.show(text);
        }
    }

    /// Reports a call that is not supported, and returns its error.
    pub fn unsupported(&mut self, call: &str) -> CudaError {
        self.show_once(&format!(
            "{call} is not supported: it returns cudaErrorNotSupported"
        ));
        CudaError::NOT_SUPPORTED
    }

    /// Executes a call of the runtime and stores its error for the thread. After a fault, every
    /// call returns the error of the fault.
    pub fn call(&mut self, caller: Caller, action: impl FnOnce(&mut Self) -> Cuda) -> i32 {
        let thread = caller.thread;
        if self.thread(thread).called {
            return CudaError::NOT_PERMITTED.0;
        }
        let code = self.call_driver(caller, action);
        // A query whose result is not ready is not an error.
        if code != 0 && code != CudaError::NOT_READY.0 {
            self.thread(thread).last_error = code;
        }
        code
    }

    /// Executes a call of the driver, which stores no error. After a fault, every call returns the
    /// error of the fault.
    pub fn call_driver(&mut self, caller: Caller, action: impl FnOnce(&mut Self) -> Cuda) -> i32 {
        if self.thread(caller.thread).called {
            return CudaError::NOT_PERMITTED.0;
        }
        self.caller = Some(caller);
        let result = match self.failed {
            Some(failed) => Err(failed),
            None => action(self),
        };
        result.map_or_else(|error| error.0, |()| 0)
    }

    /// State of a thread, which is created if necessary.
    pub(crate) fn thread(&mut self, thread: ThreadKey) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    /// Last error of a thread (`cudaPeekAtLastError`).
    pub fn last_error(&mut self, thread: ThreadKey) -> i32 {
        match self.failed {
            Some(failed) => failed.0,
            None => self.thread(thread).last_error,
        }
    }

    /// Last error of a thread, which is cleared unless it is persistent (`cudaGetLastError`).
    pub fn take_last_error(&mut self, thread: ThreadKey) -> i32 {
        let error = self.last_error(thread);
        self.thread(thread).last_error = 0;
        error
    }

    /// Records whether a thread runs a function that a stream called. Calls of the runtime are not
    /// permitted meanwhile (`cudaLaunchHostFunc`).
    pub fn runs_function(&mut self, thread: ThreadKey, called: bool) {
        self.thread(thread).called = called;
    }

    /// Stores the configuration given by `<<<...>>>` for the launch that follows in this thread.
    pub fn push_configuration(&mut self, thread: ThreadKey, configuration: Configuration) {
        self.thread(thread).configurations.push(configuration);
    }

    /// Removes and returns the last stored configuration.
    pub fn pop_configuration(&mut self, thread: ThreadKey) -> Cuda<Configuration> {
        let configuration = self.thread(thread).configurations.pop();
        configuration.ok_or(CudaError::MISSING_CONFIGURATION)
    }

    /// Creates a handle that was never used before. Handles differ from small numbers and from
    /// addresses of simulated memory.
    pub(crate) fn handle(&mut self) -> u64 {
        self.handles += 1;
        0x1_0000 + 64 * self.handles
    }

    /// Creates a number for a stream of the simulation.
    pub(crate) fn stream_number(&mut self) -> u32 {
        self.stream_numbers += 1;
        self.stream_numbers
    }

    /// Simulation, which is started when it is first needed.
    pub(crate) fn engine(&mut self) -> Cuda<&mut Engine> {
        if self.engine.is_none() {
            let printed = self.printed.0.clone();
            let options = Options {
                // The receiver may have ended with its process.
                printer: Printer::new(move |text| drop(printed.send(text.to_vec()))),
                ..self.settings.checkpoints(self.resumes.take(), self.show)
            };
            let traced = self.settings.trace.is_some();
            let interrupted = self.host.interrupted();
            let started = Engine::start(self.spec.clone(), options, traced, interrupted);
            self.engine = Some(started.map_err(|_| CudaError::INITIALIZATION)?);
        }
        self.engine.as_mut().ok_or(CudaError::INITIALIZATION)
    }

    /// Records an error of the simulation, which every later call returns.
    pub(crate) fn record_failure<T>(&mut self, answer: Cuda<T>) -> Cuda<T> {
        if let Err(error) = &answer
            && self.failed.is_none()
        {
            self.failed = Some(*error);
        }
        answer
    }

    /// Executes a function with the device.
    pub(crate) fn with<R: Send + 'static>(
        &mut self,
        action: impl FnOnce(&mut warploom_run::Device) -> R + Send + 'static,
    ) -> Cuda<R> {
        let answer = self.engine()?.with(action);
        self.record_failure(answer)
    }

    /// Requests an action without waiting.
    pub(crate) fn act(&mut self, action: HostAction) -> Cuda {
        let answer = self.engine()?.act(action);
        self.record_failure(answer)
    }

    /// Requests the execution of a function in the order of a stream.
    pub(crate) fn mark(&mut self, stream: u32, action: warploom_run::MarkAction) -> Cuda<u64> {
        let answer = self.engine()?.mark(stream, action);
        self.record_failure(answer)
    }

    /// Requests an action, waits for it, and delivers the data that reached the host meanwhile.
    pub(crate) fn wait(&mut self, action: HostAction) -> Cuda {
        let answer = self.engine()?.wait(action);
        for text in self.printed.1.try_iter() {
            self.host.print(&text);
        }
        self.record_failure(answer)?;
        self.take_arrivals();
        self.copy_back_changes()
    }

    /// Waits for all operations (`cudaDeviceSynchronize`).
    pub fn synchronize_device(&mut self) -> Cuda {
        self.forbid_in_any_capture()?;
        self.synchronize()?;
        self.order.complete_all();
        self.release_free_blocks()
    }

    /// Waits for all operations if the simulation has started.
    pub(crate) fn synchronize(&mut self) -> Cuda {
        match self.engine {
            None => Ok(()),
            Some(_) => self.wait(HostAction::Synchronize),
        }
    }

    /// Writes the data of completed copies to host memory.
    fn take_arrivals(&mut self) {
        for Arrival { to, bytes } in self.arrivals.1.try_iter() {
            let here = (to, bytes.len() as u64);
            let found = self.outstanding.iter().position(|coming| *coming == here);
            found.map(|at| self.outstanding.swap_remove(at));
            self.host.write(to, &bytes);
        }
    }

    /// Ends the simulation after all requested operations, or at once after an interruption, and
    /// writes the result and the report. The last message describes an abnormal end of the run.
    /// Returns true if the run succeeded. Further calls have no effect.
    pub fn finish(&mut self) -> bool {
        let Some(mut engine) = self.engine.take() else {
            if self.failed.is_none() && !self.settings.quiet {
                self.show("the program asked nothing of the GPU: there is no result");
            }
            return true;
        };
        self.failed.get_or_insert(CudaError(4));
        match engine.finish() {
            Some(Ok((mut run, trace))) => {
                // The settings were checked when the process began.
                if let Ok(Some(preset)) = self.settings.energy_preset(&self.spec) {
                    attach(&preset, &self.spec, &mut run);
                }
                (self.show)(&write_results(&self.settings, &run, trace.as_ref()));
                let cut = matches!(run.outcome, Outcome::CycleLimit { .. });
                // The report tells an interruption. A fault is told again below the report.
                let interrupted = matches!(run.outcome, Outcome::Interrupted { .. });
                let told = interrupted && shows_report(&self.settings);
                let outcome = outcome_told(&run.outcome).filter(|_| !cut && !told);
                if let Some(told) = outcome {
                    self.show(&of_a_program(&told));
                }
                run.succeeded()
            }
            Some(Err(why)) => {
                let refusal = why.refusal();
                self.refused = refusal.is_some();
                let refusal = refusal.map(|reason| self.refused(&reason));
                self.show(&refusal.unwrap_or_else(|| why.to_string()));
                false
            }
            None => true,
        }
    }
}
