//! Streams and processes: what runs at once, in which order, and what is told apart.

mod processes;
mod script;
mod streams;
