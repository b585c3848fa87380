//! State that the functions of one kernel share: the functions themselves, and the places of their
//! variables in shared memory, in the thread's frame and in parameters.
//!
//! Most frames have one static place, after the frames of all functions that may call them. The
//! frame of a function moves if the function may be called again before it returns, or if it
//! allocates on the stack: the call makes the frame, and offsets count from its start.

use crate::calls::{callees, fitting, names_in, reachable, takes_room};
use crate::error::{Res, unsupported};
use crate::module::{Symbols, declarations, extent, function_address};
use crate::scope::Symbol;
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};
use warploom_diag::Span;
use warploom_ptx::ast::{CallPrototype, Function, FunctionKind, Linkage, Variable};
use warploom_ptx::tokens::Space;

/// Kernel with the functions that it reaches.
pub(crate) struct Kernel<'a> {
    /// Declarations of the file.
    pub symbols: &'a Symbols<'a>,
    /// Functions, callers before callees; the kernel is the first.
    pub functions: Vec<Reached<'a>>,
    /// Static shared memory in bytes.
    pub shared_bytes: u32,
    /// Alignment of dynamic shared memory in bytes, if the kernel declares any.
    pub dynamic_shared_align: Option<u32>,
    /// Size of the thread's frame in bytes.
    pub frame_bytes: u32,
    /// Size of the kernel's parameters in bytes.
    pub param_bytes: u32,
    file_shared: FxHashMap<&'a str, u32>,
    file_local: FxHashMap<&'a str, u32>,
    index: FxHashMap<usize, usize>,
    /// Functions that each function reaches by calls.
    reachable: Vec<FixedBitSet>,
}

/// Function that a kernel reaches.
pub(crate) struct Reached<'a> {
    /// Syntax of the function.
    pub function: &'a Function,
    /// Address of the function.
    pub address: u64,
    /// Functions that it calls, by position in [`Kernel::functions`].
    pub callees: Vec<usize>,
    /// True if the frame of the function moves.
    pub moves: bool,
    /// Size of its frame in bytes, if that moves.
    pub frame_bytes: u32,
    /// Symbols of all declarations of its body except registers, in order.
    pub places: Vec<Symbol>,
    /// Return parameters in order.
    pub returns: Vec<Formal<'a>>,
    /// Parameters in order of declaration.
    pub params: Vec<Formal<'a>>,
}

/// Parameter of a device function or of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Formal<'a> {
    /// Declaration of the parameter.
    pub variable: &'a Variable,
    /// Offset in bytes in the thread's frame, or in the kernel's parameters.
    pub offset: u32,
    /// Size of the parameter in bytes.
    pub bytes: u32,
    /// Alignment of the parameter in bytes.
    pub align: u32,
}

/// Allocator of consecutive aligned places.
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
    /// Lays out all variables of a kernel. `order` has the positions in the file of the kernel and
    /// of the functions that it reaches.
    pub(crate) fn new(symbols: &'a Symbols<'a>, order: Vec<usize>) -> Res<Self> {
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
            file_local: FxHashMap::default(),
            index,
            reachable: Vec::new(),
        };
        let graph: Vec<Vec<usize>> = order.iter().map(|f| kernel.callees_of(*f)).collect();
        kernel.reachable = reachable(&graph);
        for (nth, (&function, callees)) in order.iter().zip(graph).enumerate() {
            let address = function_address(function);
            let function = symbols.functions[function];
            let device = function.kind != FunctionKind::Entry;
            let moves =
                kernel.reachable[nth].contains(nth) || device && takes_room(function.body.as_ref());
            if moves && symbols.address_bits != 64 {
                let what = "recursion and `alloca` with addresses of 32 bits";
                return Err(unsupported(function.name.span, what));
            }
            kernel.functions.push(Reached {
                function,
                address,
                callees,
                moves,
                frame_bytes: 0,
                places: Vec::new(),
                returns: Vec::new(),
                params: Vec::new(),
            });
        }
        let mut named: FxHashSet<&str> = FxHashSet::default();
        for &function in &order {
            names_in(symbols.functions[function].body.as_ref(), &mut named);
        }
        let shared = kernel.lay_out_shared(&order, &named)?;
        kernel.lay_out_local(&named)?;
        kernel.lay_out_frames(&order, &shared)?;
        Ok(kernel)
    }

    fn callees_of(&self, function: usize) -> Vec<usize> {
        let found = callees(self.symbols, function).into_iter();
        let mut found: Vec<usize> = found.map(|(function, _)| self.index[&function]).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// True if two functions may call each other recursively.
    pub(crate) fn in_one_cycle(&self, a: usize, b: usize) -> bool {
        self.reachable[a].contains(b) && self.reachable[b].contains(a)
    }

    /// True if some frame moves or some function allocates on the stack.
    pub(crate) fn has_stack(&self) -> bool {
        let kernel = self.functions[0].function.body.as_ref();
        takes_room(kernel) || self.functions.iter().any(|f| f.moves)
    }

    /// Positions of the functions that a call through a register may reach.
    pub(crate) fn fitting(&self, prototype: &CallPrototype) -> Vec<usize> {
        let found = fitting(self.symbols, prototype).into_iter();
        found.filter_map(|f| self.index.get(&f).copied()).collect()
    }

    /// Other functions that a function may call recursively and that may call it. All of them are
    /// placed after the callers of any of them.
    pub(crate) fn cycle_of(&self, nth: usize) -> impl Iterator<Item = usize> + '_ {
        let all = 0..self.functions.len();
        all.filter(move |other| *other != nth && self.in_one_cycle(nth, *other))
    }

    /// Position of a function with a body, by its name.
    pub(crate) fn defined(&self, name: &str) -> Option<usize> {
        let function = self.symbols.by_name.get(name).copied().flatten()?;
        self.index.get(&function).copied()
    }

    /// True if the file declares a function with the name.
    pub(crate) fn is_function(&self, name: &str) -> bool {
        self.symbols.by_name.contains_key(name)
    }

    /// Symbol of a name at file level.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
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
        if let Some(&at) = self.file_local.get(name) {
            return Some(Symbol::Local(at));
        }
        let (texture, _) = self.symbols.texture_names.get(name)?;
        Some(Symbol::Texture(*texture))
    }

    /// True if the variable with a name at file level has its definition in another file.
    pub(crate) fn is_external(&self, name: &str) -> bool {
        (self.symbols.global_names.get(name)).is_some_and(|(_, external)| *external)
    }

    /// True if the file sets properties of the texture or sampler reference with the name.
    pub(crate) fn sets_properties(&self, name: &str) -> bool {
        (self.symbols.texture_names.get(name)).is_some_and(|(_, set)| *set)
    }

    /// Places static variables in shared memory, then dynamic ones after them. Returns the offsets
    /// of the functions' own variables in order.
    fn lay_out_shared(&mut self, order: &[usize], named: &FxHashSet<&str>) -> Res<Vec<Vec<u32>>> {
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

    /// Places the file's `.local` variables that the functions name before all frames.
    fn lay_out_local(&mut self, named: &FxHashSet<&str>) -> Res<()> {
        let mut frame = Allocator::default();
        let file = self.symbols.local.iter();
        for variable in file.filter(|v| named.contains(v.name.node.as_str())) {
            if self.has_stack() {
                let what = "`.local` variables of the file beside recursion or `alloca`";
                return Err(unsupported(variable.name.span, what));
            }
            let at = frame.take_variable(variable, "local memory")?;
            self.file_local.insert(&variable.name.node, at);
        }
        self.frame_bytes = frame.next as u32;
        Ok(())
    }

    /// Places parameters and `.local` variables of every function.
    fn lay_out_frames(&mut self, order: &[usize], shared: &[Vec<u32>]) -> Res<()> {
        let mut bases = vec![u64::from(self.frame_bytes); order.len()];
        for (nth, &function) in order.iter().enumerate() {
            let callers = self.cycle_of(nth).fold(bases[nth], |b, o| b.max(bases[o]));
            bases[nth] = callers;
            let moves = self.functions[nth].moves;
            let start = if moves { 0 } else { callers };
            let mut frame = Allocator {
                next: start.next_multiple_of(16),
            };
            self.lay_out_function(nth, function, &shared[nth], &mut frame)?;
            let end = if moves { callers } else { frame.next };
            if moves {
                self.functions[nth].frame_bytes = frame.next as u32;
            }
            for &callee in &self.functions[nth].callees {
                bases[callee] = bases[callee].max(end);
            }
            self.frame_bytes = self.frame_bytes.max(end as u32);
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

/// True if a launch gives the size of the variable.
fn is_dynamic(variable: &Variable) -> bool {
    variable.linkage == Linkage::Extern
}
