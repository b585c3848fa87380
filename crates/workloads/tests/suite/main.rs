//! Tests of the built-in workloads: outputs, facts, presets, policies.

mod checkpoints;
mod contexts;
mod facts;
mod locality;
mod network;
mod outputs;
mod presets;
mod schedulers;
mod slices;
