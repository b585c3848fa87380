//! Figures and tables of the papers, made again: data, a chart, and the paper's claims beside what
//! was measured.
//!
//! A figure is one file in `figures/` and one row of the table there. Making one is a pure function
//! of a request: equal requests give equal bytes. Nothing here prints or writes files.

mod claims;
mod figure;
mod figures;

pub use claims::{Claim, claim, claims};
pub use figure::{Cell, Column, Figure, Holds, Page, Request, Scale, Table, UnknownScale, Verdict};
pub use figures::{FigureInfo, UnknownFigure, all, find};
