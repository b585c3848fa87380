//! The machine of a run and its memory, as the options ask for them.

use super::Session;
use warploom_exec::DeviceMemory;
use warploom_gpu::{Gpu, MachineObserver};

impl Session {
    /// A machine that records what the options say, and a trace if wanted.
    pub(crate) fn machine(&self, traced: bool, observers: Vec<Box<dyn MachineObserver>>) -> Gpu {
        let options = &self.options;
        let (spec, probe) = (self.spec.clone(), options.probe.clone());
        let mut gpu = Gpu::with_policies(spec, options.threads, probe, &options.policies);
        if let Some(cycles) = options.window_cycles {
            gpu.record_windows(cycles, options.parts, options.most_windows);
        }
        if options.parts {
            gpu.count_parts();
        }
        if traced {
            gpu.record_trace();
        }
        for observer in observers {
            gpu.observe(observer);
        }
        gpu
    }

    /// Device memory without allocations.
    pub(crate) fn memory(&self) -> DeviceMemory {
        let mut memory = DeviceMemory::new(self.options.memory_bytes);
        if self.options.checks.uninitialised {
            memory.track_initialised();
        }
        if self.options.page_protection {
            memory.protect_pages();
        }
        if self.options.checks.bounds {
            memory.place_apart();
        }
        memory
    }
}
