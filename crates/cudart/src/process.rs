//! The context of the process: its creation, access to it by threads, and its end.

use crate::host::{Memory, leave};
use crate::launch::call_host;
use crate::signals;
use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use warploom_app::{Abi, Caller, Context, Cuda, CudaError, SETTINGS_VARIABLE, Settings, stub};

/// State of the process.
struct Process {
    /// Process that created the state. The child of a fork has a copy of the memory, but not of the
    /// simulation's thread.
    id: u32,
    abi: Abi,
    context: Result<Mutex<Context>, String>,
    /// Identifier of the thread that uses the context, or 0.
    user: AtomicUsize,
    /// Names and texts that were returned as C strings. They are valid until the process ends.
    texts: Mutex<Vec<&'static CStr>>,
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// Shows a message to the user on standard error, since standard output belongs to the program.
fn show(text: &str) {
    // A failure to write to standard error cannot be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Creates the state at the first call of the runtime.
fn begin() -> Process {
    let context = settings().and_then(|settings| {
        let spec = settings.spec().map_err(|error| error.to_string())?;
        if let Some(parent) = settings.ends_with {
            end_with(parent);
        }
        let energy = settings.energy_preset(&spec);
        energy.map_err(|error| error.to_string())?;
        let resumed = settings.resumed().map_err(|error| error.to_string())?;
        let host = Box::new(Memory::default());
        let context = Context::new(settings, spec, host, show);
        Ok(Mutex::new(context.resuming(resumed)))
    });
    if let Err(message) = &context {
        show(&format!("warploom: {message}\n"));
    }
    // SAFETY: `end` is a function of this library, which stays loaded until `end` was called. The
    // function does not use its argument.
    unsafe { on_exit(end, std::ptr::null_mut()) };
    Process {
        id: std::process::id(),
        abi: loaded_abi(),
        context,
        user: AtomicUsize::new(0),
        texts: Mutex::default(),
    }
}

/// Lets this process end when its parent ends, if that is the process of this number.
fn end_with(parent: u32) {
    if std::os::unix::process::parent_id() != parent {
        return;
    }
    // SAFETY: the call sets the signal that this process gets at the end of its parent.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if std::os::unix::process::parent_id() != parent {
        // The parent has ended before the call.
        std::process::abort();
    }
}

/// Identifier of the calling thread, which is never 0.
fn own_number() -> usize {
    // SAFETY: the call only returns the identity of the caller.
    unsafe { libc::pthread_self() as usize }
}

/// The context while one thread uses it.
struct InUse<'a> {
    context: MutexGuard<'a, Context>,
    user: &'a AtomicUsize,
}

impl<'a> InUse<'a> {
    fn by_us(context: &'a Mutex<Context>, user: &'a AtomicUsize) -> Self {
        let context = context.lock().unwrap_or_else(PoisonError::into_inner);
        user.store(own_number(), Ordering::Relaxed);
        Self { context, user }
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.user.store(0, Ordering::Relaxed);
    }
}

/// Settings from the environment of the process.
fn settings() -> Result<Settings, String> {
    let value = std::env::var_os(SETTINGS_VARIABLE);
    let value = value.map(|value| value.to_string_lossy().into_owned());
    Settings::read(value.as_deref()).map_err(|error| error.to_string())
}

/// Release whose library the program has loaded, the newest one if there are several.
fn loaded_abi() -> Abi {
    let is_loaded = |name: &str| {
        let Ok(name) = CString::new(name) else {
            return false;
        };
        // SAFETY: the name is a C string. The call does not load a library, and the handle of a
        // loaded one may be kept.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        !handle.is_null()
    };
    match stub::NAMES.map(is_loaded) {
        [_, _, true] => Abi::V13,
        [_, true, _] => Abi::V12,
        [true, ..] => Abi::V11,
        _ => Abi::V13,
    }
}

unsafe extern "C" {
    /// Like `atexit`, but the function receives the exit status (GNU C library).
    fn on_exit(
        function: extern "C" fn(status: c_int, argument: *mut c_void),
        argument: *mut c_void,
    ) -> c_int;
}

/// Exit status after a simulation that ended early, if the program itself would report success.
const FAULT: c_int = 1;
/// Exit status if the settings are invalid, or the program cannot go on from its checkpoint.
const INPUT: c_int = 2;

/// Called at the regular end of the process. The child of a fork does nothing, since its parent
/// reports.
extern "C" fn end(status: c_int, _argument: *mut c_void) {
    let Some(process) = PROCESS.get() else { return };
    if process.id != std::process::id() {
        return;
    }
    let own = match &process.context {
        Ok(context) => finish(context, &process.user),
        Err(_) => INPUT,
    };
    if status == 0 && own != 0 {
        // SAFETY: the C library continues with the functions that it has not called yet.
        unsafe { libc::exit(own) };
    }
}

/// Ends the simulation. Returns the exit status for a program that would report success.
fn finish(context: &Mutex<Context>, user: &AtomicUsize) -> c_int {
    // A signal handler may end the process inside a call, which can then never complete.
    if user.load(Ordering::Relaxed) == own_number() {
        show("warploom: the program ended inside a call of the runtime: there is no result\n");
        return 0;
    }
    let finish = || {
        let mut used = InUse::by_us(context, user);
        let succeeded = used.context.finish();
        leave_if_interrupted(&mut used.context);
        (succeeded, used.context.is_refused())
    };
    match catch_unwind(AssertUnwindSafe(finish)) {
        Ok((true, _)) => 0,
        Ok((_, true)) => INPUT,
        _ => FAULT,
    }
}

/// Ends the process if a signal has asked for it, after the result so far is written. The program
/// does not go on, because results of its kernels are missing.
fn leave_if_interrupted(context: &mut Context) {
    if signals::have_come() {
        // The process ends in any case.
        let _ = catch_unwind(AssertUnwindSafe(|| context.finish()));
        leave(signals::STATUS);
    }
}

/// Ends the process if its simulation cannot go on from a checkpoint, because results of its
/// kernels are missing.
fn leave_if_refused(context: &mut Context) {
    if let Some(message) = context.refusal() {
        show(&format!("warploom: {message}\n"));
        leave(INPUT);
    }
}

/// Ends the process after a signal. A call of the runtime that another thread makes ends it when
/// the simulation has stopped.
pub fn end_interrupted() {
    let _ = with(|_| ());
    leave(signals::STATUS);
}

/// Release of the runtime for which the program was built.
pub fn abi() -> Abi {
    PROCESS.get_or_init(begin).abi
}

/// List of the strings that were returned to the program.
pub fn texts() -> MutexGuard<'static, Vec<&'static CStr>> {
    let texts = &PROCESS.get_or_init(begin).texts;
    texts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a function with the context. Fails in the child of a fork or if the settings are invalid.
pub fn with<R>(action: impl FnOnce(&mut Context) -> R) -> Cuda<R> {
    let process = PROCESS.get_or_init(begin);
    if process.id != std::process::id() {
        return Err(CudaError::INITIALIZATION);
    }
    let context = process
        .context
        .as_ref()
        .map_err(|_| CudaError::INITIALIZATION)?;
    let action = || {
        let mut used = InUse::by_us(context, &process.user);
        leave_if_interrupted(&mut used.context);
        let result = action(&mut used.context);
        leave_if_interrupted(&mut used.context);
        leave_if_refused(&mut used.context);
        result
    };
    // A panic is an error of the simulator and must not unwind through frames of the program.
    catch_unwind(AssertUnwindSafe(action)).map_err(|_| CudaError::UNKNOWN)
}

/// Executes a call of the runtime. Returns its error code, which is stored as the last error of the
/// thread.
pub fn call(action: impl FnOnce(&mut Context) -> Cuda) -> i32 {
    call_with(false, action)
}

/// Executes a call of the driver, which stores no error for the thread. `own` states that the
/// default stream belongs to the thread.
pub fn call_driver(own: bool, action: impl FnOnce(&mut Context) -> Cuda) -> i32 {
    perform(own, |context, caller| context.call_driver(caller, action))
}

/// Executes a call and returns its code. Functions of the program that destroy user objects are
/// called afterwards.
fn perform(own: bool, call: impl FnOnce(&mut Context, Caller) -> i32) -> i32 {
    let caller = Caller {
        thread: std::thread::current().id(),
        own_stream: own,
    };
    let done = with(|context| (call(context, caller), context.take_destructors()));
    match done {
        Ok((code, destructors)) => {
            for destroy in destructors {
                // SAFETY: the program passed the function with its argument.
                unsafe { call_host(destroy) };
            }
            code
        }
        Err(error) => error.0,
    }
}

/// Address of a function that this library exports.
pub fn own_function(name: &str) -> Option<u64> {
    let name = CString::new(name).ok()?;
    let mut own = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let here = own_function as fn(&str) -> Option<u64>;
    // SAFETY: the address is one of this library, and the name of its file lives as long as the
    // library. The library is loaded already, so that its handle may be kept.
    let found = unsafe {
        if libc::dladdr(here as *const c_void, own.as_mut_ptr()) == 0 {
            return None;
        }
        let flags = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        let library = libc::dlopen(own.assume_init().dli_fname, flags);
        libc::dlsym(library, name.as_ptr())
    };
    (!found.is_null()).then_some(found as u64)
}

/// Executes a call of the runtime like [`call`]. `own` states that the default stream belongs to
/// the thread.
pub fn call_with(own: bool, action: impl FnOnce(&mut Context) -> Cuda) -> i32 {
    perform(own, |context, caller| context.call(caller, action))
}

/// Runs a function of the program in the order of a stream. The context is not locked meanwhile,
/// since the function may wait for other threads or end the process.
pub fn call_function(function: impl FnOnce()) {
    let thread = std::thread::current().id();
    let noted = |called| with(|context| context.runs_function(thread, called));
    if noted(true).is_ok() {
        function();
        let _ = noted(false);
    }
}

/// Defines functions of CUDA's C interface, each with one or more names. `$call` executes their
/// bodies with the context; its first argument states that the default stream belongs to the
/// thread. That holds for names that end in `_ptsz` or `_ptds`: they are for programs in which
/// every thread has its own default stream.
macro_rules! c_functions {
    ($call:path; @ [] $args:tt $cx:ident $body:block) => {};
    ($call:path;
        @ [$name:ident $($rest:ident)*] ($($arg:ident: $ty:ty),*) $cx:ident $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            let name = stringify!($name);
            let own = name.ends_with("_ptsz") || name.ends_with("_ptds");
            #[allow(unused_unsafe, reason = "not every call has a pointer")]
            $call(own, |$cx| {
                // SAFETY: the program keeps the contract of CUDA's header: a pointer is null or
                // points to what the header says.
                unsafe { $body }
            })
        }
        c_functions! { $call; @ [$($rest)*] ($($arg: $ty),*) $cx $body }
    };
    ($call:path; $(fn $name:ident $(/ $alias:ident)* ($($arg:ident: $ty:ty),* $(,)?)
        |$cx:ident| $body:block)*) => {
        $(c_functions! { $call; @ [$name $($alias)*] ($($arg: $ty),*) $cx $body })*
    };
}

/// Defines functions that the runtime and the driver have with the same arguments and the same
/// effect: names of the runtime, and after `=` those of the driver.
macro_rules! both {
    ($(fn $name:ident $(/ $alias:ident)* = $other:ident $(/ $further:ident)*
        ($($arg:ident: $ty:ty),* $(,)?) |$cx:ident| $body:block)*) => {$(
        c_functions! {
            $crate::process::call_with; @ [$name $($alias)*] ($($arg: $ty),*) $cx $body
        }
        c_functions! { $crate::cu::call; @ [$other $($further)*] ($($arg: $ty),*) $cx $body }
    )*};
}

/// Defines functions of the runtime, as [`c_functions!`] does.
macro_rules! runtime {
    ($($functions:tt)*) => { c_functions! { $crate::process::call_with; $($functions)* } };
}
