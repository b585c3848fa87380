//! Requests to end the process: Ctrl-C (SIGINT) and SIGTERM.
//!
//! The first signal sets a flag, at which the simulation stops, and wakes a thread that then ends
//! the process with the results so far. The second one ends the process at once. Signals that the
//! program handles or ignores are left to it.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Exit status of an interrupted program, as shells report a program that Ctrl-C ended.
pub const STATUS: c_int = 130;

/// Flag that the first signal sets.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Semaphore that the first signal raises. It is never freed.
static RAISED: AtomicPtr<libc::sem_t> = AtomicPtr::new(null_mut());
/// Process that notes signals. The child of a fork has its handlers, but not its threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static BEGUN: Once = Once::new();

/// True if a signal has asked the process to end.
pub fn have_come() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Begins to note signals, once in a process. `end` is called in a thread of its own after the
/// first signal. Returns the flag that it sets. Where the system refuses a thread, signals end the
/// process.
pub fn note(end: fn()) -> &'static AtomicBool {
    BEGUN.call_once(|| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: zeroed memory is valid for the call, which initialises it.
        let raised = Box::leak(Box::new(unsafe { std::mem::zeroed::<libc::sem_t>() }));
        // SAFETY: the semaphore is valid for the rest of the process.
        let is_ready = unsafe { libc::sem_init(raised, 0, 0) } == 0;
        RAISED.store(raised, Ordering::Relaxed);
        let thread = std::thread::Builder::new().name("warploom-signals".to_owned());
        if is_ready && thread.spawn(move || wait(end)).is_ok() {
            handle(libc::SIGINT);
            handle(libc::SIGTERM);
        }
    });
    &INTERRUPTED
}

/// Waits for the first signal, and then calls `end`.
fn wait(end: fn()) {
    while !have_come() {
        // SAFETY: the semaphore is initialised. A wait that a signal cuts short is repeated.
        unsafe { libc::sem_wait(RAISED.load(Ordering::Relaxed)) };
    }
    end();
}

/// Notes a signal, unless the program handles or ignores it.
fn handle(signal: c_int) {
    // SAFETY: both structs are valid, and zeroed memory is an empty set of signals. The handler
    // calls only functions that are permitted in handlers.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut old) != 0
            || old.sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
        new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const new, null_mut());
    }
}

extern "C" fn on_signal(signal: c_int) {
    // SAFETY: these functions are permitted in handlers, and the semaphore was initialised before
    // the handler was set.
    unsafe {
        if libc::getpid() as u32 != PROCESS.load(Ordering::Relaxed) {
            // The child of a fork ends as it would without a handler. The signal arrives again when
            // the handler returns.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        } else if INTERRUPTED.swap(true, Ordering::Relaxed) {
            libc::_exit(STATUS);
        } else {
            libc::sem_post(RAISED.load(Ordering::Relaxed));
        }
    }
}
