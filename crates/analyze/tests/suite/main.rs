//! Tests of analyses of results.

mod known;
mod support;
mod verdict;
mod waits;
