//! Tests of the passes, from PTX to listings.

mod folding;
mod guards;
mod local;
mod logic;
mod loops;
mod ordering;
mod support;
