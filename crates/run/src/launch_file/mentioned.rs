//! Names that a launch file with other problems mentions. Buffers, kernels and data files that do
//! not exist are reported together with those problems.

use super::bind::{Limits, bind, unknown_buffer, unknown_kernel};
use super::error::InputErrors;
use super::plan::Plan;
use super::program::load;
use crate::compile::compile;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Source, Span};
use warploom_fields::{entries, span};

/// A name with its place.
type Placed = (String, Span);

/// Names of a launch file.
struct Mentioned {
    module: Option<Placed>,
    kernels: Vec<Placed>,
    /// Names of `[[buffer]]`; `None` if one of them has no name.
    declared: Option<Vec<String>>,
    /// Buffers that arguments, expectations and dumps name.
    buffers: Vec<Placed>,
    /// Data files of buffers and expectations.
    data: Vec<Placed>,
}

/// Adds the names that do not exist, and data files that cannot be read, to the problems of a
/// launch file in `folder`. `module` reads the module of a name at a place; `None` leaves its
/// kernels open.
pub(super) fn with_unknown_names(
    errors: InputErrors,
    folder: &Path,
    module: impl FnOnce(&str, Span) -> Option<Result<Source, Box<Diagnostic>>>,
) -> InputErrors {
    let InputErrors::Located(source, mut diagnostics) = errors else {
        return errors;
    };
    if let Ok(document) = DeTable::parse(source.text()) {
        let mentioned = Mentioned::of(document.get_ref());
        mentioned.check_buffers(&mut diagnostics);
        mentioned.check_kernels(module, &mut diagnostics);
        for (path, place) in &mentioned.data {
            load(path, folder, *place, &mut diagnostics);
        }
        diagnostics.sort();
    }
    InputErrors::Located(source, diagnostics)
}

/// Adds the problems of launches, as far as they do not depend on the GPU, to those of data files.
/// Problems of the module's PTX belong to another file.
pub(super) fn add_problems_of_launches(
    plan: &mut Plan,
    module: &Source,
    diagnostics: &mut Diagnostics,
) {
    let any = Limits {
        shared_bytes: u32::MAX,
        registers_per_thread: u32::MAX,
    };
    if let Ok(ir) = compile(module) {
        let refused = ir.refused.iter().map(|(kernel, _)| kernel.as_str());
        let refused: Vec<&str> = refused.collect();
        plan.name_kernels(&ir, &refused);
        plan.launches
            .retain(|launch| !refused.contains(&launch.kernel.0.as_str()));
        bind(plan, &ir, any, diagnostics);
    }
    diagnostics.sort();
}

impl Mentioned {
    fn of(table: &DeTable<'_>) -> Self {
        let named = tables(table, "buffer").map(|buffer| Some(text(buffer.get("name")?)?.0));
        let args = tables(table, "launch").filter_map(|launch| launch.get("args"));
        let args = args.flat_map(entries).filter_map(text);
        let outputs = ["expect", "dump"].into_iter();
        let outputs = outputs.flat_map(|key| tables(table, key));
        let outputs = outputs.filter_map(|output| text(output.get("buffer")?));
        let contents = tables(table, "buffer").filter_map(|buffer| text(buffer.get("init")?));
        let contents = contents.filter(|(init, _)| init.ends_with(".npy"));
        let expected = tables(table, "expect").filter_map(|expect| text(expect.get("npy")?));
        let kernels = tables(table, "launch").filter_map(|launch| text(launch.get("kernel")?));
        Self {
            module: table.get("module").and_then(text),
            kernels: kernels.collect(),
            declared: named.collect(),
            buffers: args.chain(outputs).collect(),
            data: contents.chain(expected).collect(),
        }
    }

    fn check_buffers(&self, diagnostics: &mut Diagnostics) {
        let Some(declared) = &self.declared else {
            return;
        };
        let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
        let unknown = self.buffers.iter();
        for (name, place) in unknown.filter(|(name, _)| !declared.contains(&name.as_str())) {
            diagnostics.push(unknown_buffer(name, *place, &declared));
        }
    }

    /// Reports a module that cannot be read, and kernels that it does not have. Problems of its PTX
    /// belong to another file.
    fn check_kernels(
        &self,
        module: impl FnOnce(&str, Span) -> Option<Result<Source, Box<Diagnostic>>>,
        diagnostics: &mut Diagnostics,
    ) {
        let Some((name, place)) = &self.module else {
            return;
        };
        let module = match module(name, *place) {
            Some(Ok(module)) => module,
            Some(Err(problem)) => {
                if !diagnostics.iter().any(|told| told.code == problem.code) {
                    diagnostics.push(*problem);
                }
                return;
            }
            None => return,
        };
        let Ok(ir) = compile(&module) else { return };
        let refused = ir.refused.iter().map(|(kernel, _)| kernel.as_str());
        let kernels = ir.kernels.iter().map(|kernel| kernel.name.as_str());
        let kernels: Vec<&str> = kernels.chain(refused).collect();
        for (name, place) in &self.kernels {
            if warploom_names::find(name, &kernels).is_none() {
                diagnostics.push(unknown_kernel(name, *place, &kernels));
            }
        }
    }
}

fn text(value: &Spanned<DeValue<'_>>) -> Option<Placed> {
    match value.get_ref() {
        DeValue::String(text) => Some((text.to_string(), span(value.span()))),
        _ => None,
    }
}

/// Tables of a list.
fn tables<'t>(table: &'t DeTable<'t>, key: &str) -> impl Iterator<Item = &'t DeTable<'t>> {
    let listed = table.get(key).map_or(Vec::new(), entries);
    listed
        .into_iter()
        .filter_map(|entry| entry.get_ref().as_table())
}
