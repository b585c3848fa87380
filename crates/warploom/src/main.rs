//! Warploom command line.
fn main() {}
