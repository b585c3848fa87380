//! Timing of coalescing, caches, MSHRs, L2 partitions and DRAM channels.
