//! Tests of analyses of results.

mod atomics;
mod known;
mod support;
mod verdict;
mod waits;
