//! What instructions do: warp-wide values, memory images, atomics. Knows no cycle.
