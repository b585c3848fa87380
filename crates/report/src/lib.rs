//! Reports: tables and charts as text. Data in, text out.
//!
//! Invariants: nothing here starts a simulation, reads a clock or a terminal; equal data gives
//! equal text. Width is a parameter.

mod chart;
mod csv;
mod format;
mod gpgpusim;
mod run;
mod table;

pub use chart::bar;
pub use csv::{Rows, series_csv, statistics_csv};
pub use format::{grouped, percent, rate, seconds};
pub use gpgpusim::gpgpusim_report;
pub use run::run_report;
pub use table::{figures, listing};
