//! The study `together`: the five systems in all combinations, on single programs and on pairs. For
//! each combination it compares the speedup with the product of the speedups of its members alone:
//! gains that multiply add up, and gains that fight are less together. A study has no claims.

mod combination;
mod evidence;
mod pairs;
mod single;
#[cfg(test)]
mod tests;

use super::FigureInfo;

pub(super) const FIGURES: [FigureInfo; 2] = [single::FIGURE, pairs::FIGURE];

const STUDY: &str = "together";
