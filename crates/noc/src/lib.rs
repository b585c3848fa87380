//! Timing of the interconnect between SMs and memory partitions.
