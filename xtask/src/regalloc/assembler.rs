//! NVIDIA's assembler, for comparison.
