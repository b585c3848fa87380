//! Tests of streams and processes: which operations run at once, in which order, and how results
//! distinguish them.

mod checkpoints;
mod contexts;
mod forged;
mod pairs;
mod processes;
mod script;
mod smk;
mod streams;
