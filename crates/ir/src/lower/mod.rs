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
mod scalar_video;
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
use calls::call_order;
use kernel::Kernel;
use module::Symbols;
use pools::Pools;
use warploom_diag::{Diagnostic, Diagnostics, Source};
use warploom_ptx::Problems;
use warploom_ptx::ast::Module;

/// Reads, checks and lowers a file. Kernels that are wrong, or that use what is not supported, are
/// listed in [`ModuleIr::refused`]. Besides, what the file says oddly.
///
/// # Errors
/// What is wrong with the file, whatever kernel is asked for.
pub fn compile(source: &Source) -> Result<(ModuleIr, Diagnostics), Diagnostics> {
    let (module, problems) = warploom_ptx::read(source);
    if problems.file.has_errors() {
        return Err(problems.together());
    }
    let ir = lower_but(&module, &problems, source)?;
    let mut warnings = problems.file;
    for (_, own) in problems.functions {
        if !own.has_errors() {
            warnings.append(own);
        }
    }
    warnings.sort();
    Ok((ir, warnings))
}

/// Lowers every kernel of a file that was read without errors. Kernels that use what is not
/// supported are listed in [`ModuleIr::refused`]. `source` is the text that the file was parsed
/// from.
///
/// # Errors
/// When the file's variables are wrong, whatever kernel is asked for.
pub fn lower(module: &Module, source: &Source) -> Result<ModuleIr, Diagnostics> {
    lower_but(module, &Problems::default(), source)
}

/// Lowers every kernel that reaches no function with an error.
fn lower_but(
    module: &Module,
    problems: &Problems,
    source: &Source,
) -> Result<ModuleIr, Diagnostics> {
    let mut errors = Diagnostics::new();
    let symbols = Symbols::new(module, problems, &mut errors);
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
    let one = |error: Box<Diagnostic>| Diagnostics::from_iter([*error]);
    let order = call_order(symbols, entry).map_err(one)?;
    let broken = order.iter().filter_map(|f| symbols.broken.get(f).copied());
    let mut errors = Diagnostics::new();
    broken.for_each(|own| errors.append(own.clone()));
    if errors.has_errors() {
        return Err(errors);
    }
    let kernel = Kernel::new(symbols, order).map_err(one)?;
    let mut pools = Pools::default();
    let mut functions = Vec::with_capacity(kernel.functions.len());
    for nth in 0..kernel.functions.len() {
        functions.push(function::lower(&kernel, nth, &mut pools, &mut errors));
    }
    if errors.has_errors() {
        return Err(errors);
    }
    flatten::flatten(&kernel, functions, pools, source).map_err(one)
}
