//! The process's one context: how it begins, who may use it, how it ends.

use crate::host::Memory;
use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use warploom_app::{Abi, Caller, Context, Cuda, CudaError, SETTINGS_VARIABLE, Settings, stub};

/// What the process has.
struct Process {
    /// It alone: the child of a fork has a copy of the memory, but not of the simulation's thread.
    id: u32,
    abi: Abi,
    context: Result<Mutex<Context>, String>,
    /// The thread that uses the context, or 0.
    user: AtomicUsize,
    /// Names and sentences handed out, as C strings that stay.
    texts: Mutex<Vec<&'static CStr>>,
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// Tells the user something. Standard output is the program's.
fn say(text: &str) {
    // Nothing is left to tell if standard error is gone.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn begin() -> Process {
    let context = settings().and_then(|settings| {
        let spec = settings.spec().map_err(|error| error.to_string())?;
        let host = Box::new(Memory::default());
        Ok(Mutex::new(Context::new(settings, spec, host, say)))
    });
    if let Err(message) = &context {
        say(&format!("warploom: {message}\n"));
    }
    // SAFETY: `end` is a function of this library, which stays loaded until it was called, and
    // takes no argument.
    unsafe { on_exit(end, std::ptr::null_mut()) };
    Process {
        id: std::process::id(),
        abi: loaded_abi(),
        context,
        user: AtomicUsize::new(0),
        texts: Mutex::default(),
    }
}

/// A number of the thread, never 0.
fn own_number() -> usize {
    // SAFETY: it only asks who calls.
    unsafe { libc::pthread_self() as usize }
}

/// The context in use by one thread.
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

fn settings() -> Result<Settings, String> {
    let value = std::env::var_os(SETTINGS_VARIABLE);
    let value = value.map(|value| value.to_string_lossy().into_owned());
    Settings::read(value.as_deref()).map_err(|error| error.to_string())
}

/// The release whose library the program has loaded; the newest of several.
fn loaded_abi() -> Abi {
    let is_loaded = |name: &str| {
        let Ok(name) = CString::new(name) else {
            return false;
        };
        // SAFETY: the name is a C string; the library is not loaded by this, and the handle of one
        // that is there may be kept.
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
    /// As `atexit`; the function is told the exit status (of the C library of GNU).
    fn on_exit(
        function: extern "C" fn(status: c_int, argument: *mut c_void),
        argument: *mut c_void,
    ) -> c_int;
}

/// What ended the simulation early, if the program's own exit status is success.
const FAULT: c_int = 1;
/// Settings that cannot be used.
const INPUT: c_int = 2;

/// At the process's regular end. A child of a fork ends without a word: its parent reports.
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
        // SAFETY: the C library goes on with the functions that it has not called yet.
        unsafe { libc::exit(own) };
    }
}

/// Ends the simulation. Gives the exit status of a program that has none of its own.
fn finish(context: &Mutex<Context>, user: &AtomicUsize) -> c_int {
    // A handler of a signal may end the process inside a call: that will never be done.
    if user.load(Ordering::Relaxed) == own_number() {
        say("warploom: the program ended inside a call of the runtime: there is no result\n");
        return 0;
    }
    let finish = || InUse::by_us(context, user).context.finish();
    match catch_unwind(AssertUnwindSafe(finish)) {
        Ok(true) => 0,
        _ => FAULT,
    }
}

/// The release that the program was built for.
pub fn abi() -> Abi {
    PROCESS.get_or_init(begin).abi
}

/// Strings that were handed out.
pub fn texts() -> MutexGuard<'static, Vec<&'static CStr>> {
    let texts = &PROCESS.get_or_init(begin).texts;
    texts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uses the context, if this process may.
pub fn with<R>(work: impl FnOnce(&mut Context) -> R) -> Cuda<R> {
    let process = PROCESS.get_or_init(begin);
    if process.id != std::process::id() {
        return Err(CudaError::INITIALIZATION);
    }
    let context = process
        .context
        .as_ref()
        .map_err(|_| CudaError::INITIALIZATION)?;
    let work = || work(&mut InUse::by_us(context, &process.user).context);
    // A panic is our bug: it must not run through the program's frames.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| CudaError::UNKNOWN)
}

/// A call of the runtime: its code, noted as the thread's last error.
pub fn call(work: impl FnOnce(&mut Context) -> Cuda) -> i32 {
    call_with(false, work)
}

/// The same; `own` says that the default stream is the thread's own.
pub fn call_with(own: bool, work: impl FnOnce(&mut Context) -> Cuda) -> i32 {
    let caller = Caller {
        thread: std::thread::current().id(),
        own_stream: own,
    };
    with(|context| context.call(caller, work)).unwrap_or_else(|error| error.0)
}

/// Runs a function of the program that a stream has come to. Nobody waits for the context
/// meanwhile: the function may wait for other threads, or end the process.
pub fn call_function(function: impl FnOnce()) {
    let thread = std::thread::current().id();
    let noted = |called| with(|context| context.runs_function(thread, called));
    if noted(true).is_ok() {
        function();
        let _ = noted(false);
    }
}

/// Defines functions of the runtime, each under one or more names: those that end in `_ptsz` and
/// `_ptds` are for programs whose default stream is a thread's own.
macro_rules! runtime {
    () => {};
    (@ [] $args:tt $cx:ident $body:block) => {};
    (@ [$name:ident $($rest:ident)*] ($($arg:ident: $ty:ty),*) $cx:ident $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // What is for programs whose default stream is a thread's own says so by its name.
            let name = stringify!($name);
            let own = name.ends_with("_ptsz") || name.ends_with("_ptds");
            #[allow(unused_unsafe, reason = "not every call has a pointer")]
            $crate::process::call_with(own, |$cx| {
                // SAFETY: the program keeps the contract of the runtime's header: a pointer is
                // null or points to what the header says.
                unsafe { $body }
            })
        }
        runtime! { @ [$($rest)*] ($($arg: $ty),*) $cx $body }
    };
    (fn $name:ident $(/ $alias:ident)* ($($arg:ident: $ty:ty),* $(,)?) |$cx:ident| $body:block
        $($rest:tt)*) => {
        runtime! { @ [$name $($alias)*] ($($arg: $ty),*) $cx $body }
        runtime! { $($rest)* }
    };
}
