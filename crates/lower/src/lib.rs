//! Lowering: from the syntax tree of a file to flat programs, one for each kernel.
//!
//! A kernel is lowered with all functions that it calls. `kernel` resolves names and lays out
//! variables. `function` lowers every function by itself, with one file for each family of
//! instructions. `flatten` assigns slots to registers, after those of the callers, and concatenates
//! the functions. A kernel that reaches something that the simulator does not execute is refused,
//! with the place and the instruction's name; other kernels of the file stay usable.

mod address;
mod arith;
mod asynchronous;
mod bits;
mod builder;
mod bulk;
mod cache;
mod calls;
mod cluster;
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
mod locations;
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
mod tensor_map;
mod texture;
mod types;
mod video;
mod warp;
mod warp_group;

use calls::call_order;
use kernel::Kernel;
use locations::Locations;
use module::Symbols;
use pools::Pools;
use rustc_hash::FxHashSet;
use warploom_diag::{Diagnostic, Diagnostics, Source};
use warploom_ir::{ModuleIr, Program};
use warploom_ptx::Problems;
use warploom_ptx::ast::Module;

/// Parses, checks and lowers a file. Kernels that have errors or that cannot be executed are listed
/// in [`ModuleIr::refused`]. The diagnostics are warnings, and problems of functions that no kernel
/// reaches.
///
/// # Errors
/// Returns the problems that concern the file as a whole.
pub fn compile(source: &Source) -> Result<(ModuleIr, Diagnostics), Diagnostics> {
    let (module, problems) = warploom_ptx::read(source);
    if problems.file.has_errors() {
        return Err(problems.together());
    }
    let (ir, unreached) = lower_but(&module, &problems, source)?;
    let mut others = problems.file;
    others.append(unreached);
    for (_, own) in problems.functions {
        if !own.has_errors() {
            others.append(own);
        }
    }
    others.sort();
    Ok((ir, others))
}

/// Lowers every kernel of a file that was parsed without errors. Kernels that cannot be executed
/// are listed in [`ModuleIr::refused`]. `source` is the text of the file.
///
/// # Errors
/// Fails if the variables of the file are wrong, which concerns every kernel.
pub fn lower(module: &Module, source: &Source) -> Result<ModuleIr, Diagnostics> {
    let (ir, _) = lower_but(module, &Problems::default(), source)?;
    Ok(ir)
}

/// Lowers every kernel that reaches no function with an error. The diagnostics are problems of
/// functions that no kernel reaches.
fn lower_but(
    module: &Module,
    problems: &Problems,
    source: &Source,
) -> Result<(ModuleIr, Diagnostics), Diagnostics> {
    let mut errors = Diagnostics::new();
    let symbols = Symbols::new(module, problems, &mut errors);
    if errors.has_errors() {
        return Err(errors);
    }
    let mut kernels = Vec::new();
    let mut refused = Vec::new();
    let unreached = unreached(&symbols);
    let locations = Locations::of(module, source);
    for entry in symbols.entries() {
        match lower_kernel(&symbols, entry, source) {
            Ok(mut program) => {
                locations.add_to(&mut program);
                kernels.push(program);
            }
            Err(mut errors) => {
                errors.sort();
                refused.push((symbols.functions[entry].name.node.clone(), errors));
            }
        }
    }
    let ir = ModuleIr {
        kernels,
        refused,
        globals: symbols.globals,
        textures: symbols.textures,
        address_bits: module.address_bits,
    };
    Ok((ir, unreached))
}

/// Problems of the functions that no kernel reaches.
fn unreached(symbols: &Symbols) -> Diagnostics {
    let mut found = Diagnostics::new();
    if symbols.broken.is_empty() {
        return found;
    }
    let orders = symbols.entries().map(|entry| call_order(symbols, entry));
    let reached: FxHashSet<usize> = orders.filter_map(Result::ok).flatten().collect();
    let lost = (0..symbols.functions.len()).filter(|function| !reached.contains(function));
    let problems = lost.filter_map(|function| symbols.broken.get(&function).copied());
    problems.for_each(|own| found.append(own.clone()));
    found
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
