//! Kernels of the papers with seeded inputs and CPU references.
