//! Atomics that warps wait for: those on shared memory, or those on global memory.

use warploom_config::GpuSpec;
use warploom_stats::result::Counts;

/// Memory whose atomics warps wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomics {
    Shared,
    Global,
}

impl Atomics {
    /// The atomics that a kernel executes; of both kinds, those that warps wait for longer. `None`
    /// without atomics.
    pub(crate) fn of(spec: &GpuSpec, counts: &Counts) -> Option<Self> {
        let get = |name: &str| counts.get(name).copied().unwrap_or(0);
        // Results of earlier versions count atomics on global memory by lane alone.
        let global = match get("sm.memory_accesses.atomic") {
            0 => get("gpu.atomics"),
            accesses => accesses,
        };
        let mean = get("sm.fetch_cycles") as f64 / get("sm.fetches").max(1) as f64;
        let shared = get("sm.shared_atomics");
        let latency = u64::from(spec.latencies().shared);
        let of_shared = shared * latency + get("sm.shared_atomic_cycles");
        match (shared, global) {
            (0, 0) => None,
            (0, _) => Some(Self::Global),
            (_, 0) => Some(Self::Shared),
            _ if of_shared as f64 >= global as f64 * mean => Some(Self::Shared),
            _ => Some(Self::Global),
        }
    }
}
