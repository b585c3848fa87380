//! Tests of the passes, from PTX to listings.

mod folding;
mod ordering;
mod support;
