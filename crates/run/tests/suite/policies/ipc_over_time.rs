//! IPC over time: an observer that writes one line for every window of core cycles. It shows how an
//! observer is written (`docs/develop/observers.md`).

use std::io::Write;
use warploom_run::{KernelEnd, MachineObserver, MachineView};

/// Writes `end of window, thread instructions per cycle` as CSV, and a comment for every kernel.
pub struct IpcOverTime<W> {
    out: W,
    window_cycles: u64,
    /// End of the last window, and thread instructions until then.
    last: (u64, u64),
}

impl<W: Write> IpcOverTime<W> {
    /// An observer of windows of at least one core cycle, which writes to `out`.
    pub fn new(out: W, window_cycles: u64) -> Self {
        Self {
            out,
            window_cycles,
            last: (0, 0),
        }
    }

    fn write(&mut self, line: &str) {
        // A run does not stop for a full disk; the file is then shorter than the run.
        let _ = writeln!(self.out, "{line}");
    }
}

impl<W: Write + Send> MachineObserver for IpcOverTime<W> {
    fn next_sample(&self) -> u64 {
        self.last.0 + self.window_cycles
    }

    fn sample(&mut self, view: &MachineView<'_>) {
        let counted = view.counters.sum().sm.thread_instructions;
        let (start, before) = self.last;
        let ipc = (counted - before) as f64 / (view.now - start) as f64;
        self.write(&format!("{},{ipc:.3}", view.now));
        self.last = (view.now, counted);
    }

    fn kernel_ended(&mut self, end: &KernelEnd) {
        self.write(&format!(
            "# a kernel ran from {} to {}",
            end.launched_at, end.ended_at
        ));
    }

    fn run_ended(&mut self, view: &MachineView<'_>) {
        if view.now > self.last.0 {
            self.sample(view);
        }
        let _ = self.out.flush();
    }
}
