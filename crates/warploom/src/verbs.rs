//! The verbs, with one file for each.

pub mod analyze;
pub mod app;
pub mod check;
pub mod compare;
pub mod completions;
pub mod crat;
pub mod import;
pub mod install_docs;
pub mod list;
pub mod microbench;
pub mod oracle;
pub mod python;
pub mod report;
pub mod reproduce;
pub mod resources;
pub mod run;
pub mod show;
pub mod slices;
pub mod sweep;
pub mod trace;
