//! What the functions of one kernel share: which functions those are, and where their variables
//! in shared memory, in the thread's frame and in parameters live.
//!
//! Functions are not recursive, so that every frame has one static place: behind the frames of all
//! functions that may call it.

use super::calls::{call_order, calls, name_of, names_in};
use super::error::{Res, unsupported};
use super::module::{Symbols, declarations, extent};
use super::scope::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};
use warploom_diag::Span;
use warploom_ptx::ast::{Function, FunctionKind, Linkage, Variable};
use warploom_ptx::tokens::Space;

/// One kernel with the functions that it reaches.
pub(super) struct Kernel<'a> {
    /// The file.
    pub symbols: &'a Symbols<'a>,
    /// The functions, callers before the functions that they call; the kernel is the first.
    pub functions: Vec<Reached<'a>>,
    /// Static shared memory in bytes.
    pub shared_bytes: u32,
    /// Alignment of dynamic shared memory, if the kernel declares any.
    pub dynamic_shared_align: Option<u32>,
    /// Bytes of the thread's frame.
    pub frame_bytes: u32,
    /// Bytes of the kernel's parameters.
    pub param_bytes: u32,
    file_shared: FxHashMap<&'a str, u32>,
    index: FxHashMap<usize, usize>,
}

/// A function of a kernel.
pub(super) struct Reached<'a> {
    /// Its syntax.
    pub function: &'a Function,
    /// Functions that it calls, by position in [`Kernel::functions`].
    pub callees: Vec<usize>,
    /// What every declaration of its body that is no register stands for, in order.
    pub places: Vec<Symbol>,
    /// Return parameters.
    pub returns: Vec<Formal<'a>>,
    /// Parameters.
    pub params: Vec<Formal<'a>>,
}

/// A parameter of a device function, or of the kernel.
#[derive(Clone, Copy)]
pub(super) struct Formal<'a> {
    /// Its declaration.
    pub variable: &'a Variable,
    /// Offset in the thread's frame, or in the kernel's parameters.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// Assigns consecutive aligned places.
#[derive(Default, Clone, Copy)]
struct Allocator {
    next: u64,
}

impl Allocator {
    fn take(&mut self, bytes: u64, align: u64, what: &str, span: Span) -> Res<u32> {
        let start = self.next.next_multiple_of(align);
        self.next = start + bytes;
        if self.next > i32::MAX as u64 {
            return Err(unsupported(span, &format!("more than 2 GiB of {what}")));
        }
        Ok(start as u32)
    }

    fn take_variable(&mut self, variable: &Variable, what: &str) -> Res<u32> {
        let (bytes, align) = extent(variable)?;
        self.take(bytes, align, what, variable.name.span)
    }
}

impl<'a> Kernel<'a> {
    /// Lays out everything for the kernel at `entry` in the file's functions.
    pub(super) fn new(symbols: &'a Symbols<'a>, entry: usize) -> Res<Self> {
        let order = call_order(symbols, entry)?;
        let index: FxHashMap<usize, usize> =
            order.iter().enumerate().map(|(i, f)| (*f, i)).collect();
        let mut kernel = Self {
            symbols,
            functions: Vec::with_capacity(order.len()),
            shared_bytes: 0,
            dynamic_shared_align: None,
            frame_bytes: 0,
            param_bytes: 0,
            file_shared: FxHashMap::default(),
            index,
        };
        for &function in &order {
            let function = symbols.functions[function];
            let named = calls(function).into_iter().filter_map(name_of);
            let mut callees: Vec<usize> = named.filter_map(|name| kernel.defined(name)).collect();
            callees.sort_unstable();
            callees.dedup();
            kernel.functions.push(Reached {
                function,
                callees,
                places: Vec::new(),
                returns: Vec::new(),
                params: Vec::new(),
            });
        }
        let shared = kernel.lay_out_shared(&order)?;
        kernel.lay_out_frames(&order, &shared)?;
        Ok(kernel)
    }

    /// The position of a function with a body, by its name.
    pub(super) fn defined(&self, name: &str) -> Option<usize> {
        let function = self.symbols.by_name.get(name).copied().flatten()?;
        self.index.get(&function).copied()
    }

    /// The file declares a function of that name.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.symbols.by_name.contains_key(name)
    }

    /// What a name at file level stands for.
    pub(super) fn find(&self, name: &str) -> Option<Symbol> {
        if let Some(&(index, _)) = self.symbols.global_names.get(name) {
            let constant = self.symbols.globals[index as usize].constant;
            return Some(match constant {
                true => Symbol::Const(index),
                false => Symbol::Global(index),
            });
        }
        if let Some(&at) = self.file_shared.get(name) {
            return Some(Symbol::Shared(at));
        }
        let (texture, _) = self.symbols.texture_names.get(name)?;
        Some(Symbol::Texture(*texture))
    }

    /// The variable that a name at file level stands for has its definition in another file.
    pub(super) fn is_external(&self, name: &str) -> bool {
        (self.symbols.global_names.get(name)).is_some_and(|(_, external)| *external)
    }

    /// The file sets properties of the texture or sampler reference with that name.
    pub(super) fn sets_properties(&self, name: &str) -> bool {
        (self.symbols.texture_names.get(name)).is_some_and(|(_, set)| *set)
    }

    /// Places static variables in shared memory, then dynamic ones behind them. Gives the offsets
    /// of the functions' own variables, in order.
    fn lay_out_shared(&mut self, order: &[usize]) -> Res<Vec<Vec<u32>>> {
        let mut named: FxHashSet<&str> = FxHashSet::default();
        for &function in order {
            names_in(self.symbols.functions[function].body.as_ref(), &mut named);
        }
        let file = (self.symbols.shared.iter()).filter(|v| named.contains(v.name.node.as_str()));
        let file: Vec<&Variable> = file.copied().collect();
        let own: Vec<Vec<&Variable>> = (order.iter())
            .map(|f| declarations(self.symbols.functions[*f].body.as_ref()))
            .map(|all| {
                all.into_iter()
                    .filter(|v| v.space == Space::Shared)
                    .collect()
            })
            .collect();
        let mut space = Allocator::default();
        let mut dynamic: Option<u64> = None;
        for variable in file.iter().chain(own.iter().flatten()) {
            if is_dynamic(variable) {
                let align = extent(variable)?.1;
                dynamic = Some(dynamic.unwrap_or(1).max(align));
            }
        }
        let mut file_places = Vec::new();
        for variable in file.iter().filter(|v| !is_dynamic(v)) {
            let at = space.take_variable(variable, "shared memory")?;
            file_places.push((variable.name.node.as_str(), at));
        }
        let mut own_places = Vec::new();
        for list in &own {
            let mut places = Vec::new();
            for variable in list {
                places.push(match is_dynamic(variable) {
                    true => u32::MAX,
                    false => space.take_variable(variable, "shared memory")?,
                });
            }
            own_places.push(places);
        }
        self.shared_bytes = space.next as u32;
        self.dynamic_shared_align = dynamic.map(|align| align as u32);
        let start = self
            .shared_bytes
            .next_multiple_of(dynamic.unwrap_or(1) as u32);
        file_places.extend(
            file.iter()
                .filter(|v| is_dynamic(v))
                .map(|v| (v.name.node.as_str(), start)),
        );
        own_places
            .iter_mut()
            .flatten()
            .filter(|at| **at == u32::MAX)
            .for_each(|at| *at = start);
        self.file_shared = file_places.into_iter().collect();
        Ok(own_places)
    }

    /// Places parameters and `.local` variables of every function.
    fn lay_out_frames(&mut self, order: &[usize], shared: &[Vec<u32>]) -> Res<()> {
        let mut bases = vec![0_u64; order.len()];
        for (nth, &function) in order.iter().enumerate() {
            let mut frame = Allocator {
                next: bases[nth].next_multiple_of(16),
            };
            self.lay_out_function(nth, function, &shared[nth], &mut frame)?;
            for &callee in &self.functions[nth].callees {
                bases[callee] = bases[callee].max(frame.next);
            }
            self.frame_bytes = self.frame_bytes.max(frame.next as u32);
        }
        Ok(())
    }

    fn lay_out_function(
        &mut self,
        nth: usize,
        index: usize,
        shared: &[u32],
        frame: &mut Allocator,
    ) -> Res<()> {
        let function = self.symbols.functions[index];
        if function.kind == FunctionKind::Entry {
            let mut buffer = Allocator::default();
            self.functions[nth].params = formals(&function.params, &mut buffer)?;
            self.param_bytes = buffer.next as u32;
        } else {
            self.functions[nth].returns = formals(&function.returns, frame)?;
            self.functions[nth].params = formals(&function.params, frame)?;
        }
        let mut shared = shared.iter();
        let mut globals = self.symbols.function_globals[index].iter();
        let mut places = Vec::new();
        for variable in declarations(function.body.as_ref()) {
            let next = |found: Option<&u32>| {
                let span = variable.name.span;
                found
                    .copied()
                    .ok_or_else(|| unsupported(span, "this declaration"))
            };
            places.push(match variable.space {
                Space::Shared => Symbol::Shared(next(shared.next())?),
                Space::Global => Symbol::Global(next(globals.next())?),
                Space::Const => Symbol::Const(next(globals.next())?),
                Space::Local => Symbol::Local(frame.take_variable(variable, "local memory")?),
                Space::Param => Symbol::Frame(frame.take_variable(variable, "parameters")?),
                other => {
                    let what = format!("variables in `.{other}` inside a function");
                    return Err(unsupported(variable.name.span, &what));
                }
            });
        }
        self.functions[nth].places = places;
        Ok(())
    }
}

fn formals<'a>(list: &'a [Variable], space: &mut Allocator) -> Res<Vec<Formal<'a>>> {
    let mut found = Vec::with_capacity(list.len());
    for variable in list {
        let (bytes, align) = extent(variable)?;
        found.push(Formal {
            variable,
            offset: space.take(bytes, align, "parameters", variable.name.span)?,
            bytes: bytes as u32,
            align: align as u32,
        });
    }
    Ok(found)
}

/// Its size is given at the launch.
fn is_dynamic(variable: &Variable) -> bool {
    variable.linkage == Linkage::Extern
}
