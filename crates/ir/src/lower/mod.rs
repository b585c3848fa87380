//! Lowering: from the syntax tree of a file to flat programs, one for each kernel.
//!
//! A kernel is lowered with all functions that it calls: names are resolved and places laid out
//! (`kernel`), every function is lowered on its own (`function`, with one file for each family of
//! instructions), its registers are given slots behind those of its callers, and the pieces are put
//! one behind the other (`flatten`). What the simulator does not execute refuses the kernels that
//! reach it, with the place and the instruction's name; other kernels of the file stay usable.

mod address;
mod arith;
mod asynchronous;
mod bits;
mod builder;
mod cache;
mod calls;
mod compare;
mod control;
mod convert;
mod data;
mod error;
mod flatten;
mod float;
mod form;
mod function;
mod init;
mod instruction;
mod kernel;
mod literal;
mod matrix;
mod memory;
mod module;
mod operand;
mod pools;
mod scope;
mod special;
mod surface;
mod sync;
mod system;
mod texture;
mod types;
mod video;
mod warp;

use crate::program::{ModuleIr, Program};
use kernel::Kernel;
use module::Symbols;
use pools::Pools;
use warploom_diag::{Diagnostics, Source};
use warploom_ptx::ast::Module;

/// Lowers every kernel of a file. Kernels that use what is not supported are listed in
/// [`ModuleIr::refused`]. `source` is the text that the file was parsed from.
///
/// # Errors
/// When the file's variables are wrong, whatever kernel is asked for.
pub fn lower(module: &Module, source: &Source) -> Result<ModuleIr, Diagnostics> {
    let mut errors = Diagnostics::new();
    let symbols = Symbols::new(module, &mut errors);
    if errors.has_errors() {
        return Err(errors);
    }
    let mut kernels = Vec::new();
    let mut refused = Vec::new();
    for entry in symbols.entries() {
        match lower_kernel(&symbols, entry, source) {
            Ok(program) => kernels.push(program),
            Err(mut errors) => {
                errors.sort();
                refused.push((symbols.functions[entry].name.node.clone(), errors));
            }
        }
    }
    Ok(ModuleIr {
        kernels,
        refused,
        globals: symbols.globals,
        textures: symbols.textures,
        address_bits: module.address_bits,
    })
}

fn lower_kernel(symbols: &Symbols, entry: usize, source: &Source) -> Result<Program, Diagnostics> {
    let kernel = Kernel::new(symbols, entry).map_err(|e| Diagnostics::from_iter([*e]))?;
    let mut pools = Pools::default();
    let mut errors = Diagnostics::new();
    let mut functions = Vec::with_capacity(kernel.functions.len());
    for nth in 0..kernel.functions.len() {
        functions.push(function::lower(&kernel, nth, &mut pools, &mut errors));
    }
    if errors.has_errors() {
        return Err(errors);
    }
    flatten::flatten(&kernel, functions, pools, source)
        .map_err(|error| Diagnostics::from_iter([*error]))
}
