//! The whole machine: clock domains, wiring, dispatch, threads, watchdog.
