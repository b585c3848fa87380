//! Tests of analyses of results.

mod atomics;
mod behind;
mod close;
mod difference;
mod growth;
mod hot_banks;
mod issued;
mod known;
mod launch;
mod measured;
mod memories;
mod memory;
mod mix;
mod phases;
mod shape;
mod shared;
mod support;
mod verdict;
mod waits;
