//! Tests of whole runs: sessions with kernels from PTX text, timed and functional.

mod assembled_loops;
mod clusters;
mod concurrent;
mod contexts;
mod control_flow;
mod dialects;
mod diverged;
mod forms;
mod functional;
mod heap;
mod interrupts;
mod machine_instructions;
mod matrices;
mod own_policy;
mod places;
mod policies;
mod printing;
mod program_faults;
mod results;
mod sampling;
mod statistics;
mod textures;
mod timing;
mod today;
mod together;
mod waits;
