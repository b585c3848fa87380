//! Declarations of a file: functions, variables in global and constant memory, textures.

use crate::calls;
use crate::error::{Res, invalid};
use crate::init;
use rustc_hash::{FxHashMap, FxHashSet};
use warploom_diag::{Diagnostics, Span};
use warploom_ir::{FUNCTION_BASE, FUNCTION_BYTES, GlobalVar};
use warploom_ptx::Problems;
use warploom_ptx::ast::{Body, Function, FunctionKind, Item, Linkage, Module, Statement, Variable};
use warploom_ptx::tokens::Space;

/// Names and definitions of a file.
pub(crate) struct Symbols<'a> {
    /// Functions with a body, in order.
    pub functions: Vec<&'a Function>,
    /// Functions by name; `None` for those without a body.
    pub by_name: FxHashMap<&'a str, Option<usize>>,
    /// Variables in global and constant memory, those of functions included.
    pub globals: Vec<GlobalVar>,
    /// Variables that the file declares: index in `globals`, and true if the definition is in
    /// another file.
    pub global_names: FxHashMap<&'a str, (u32, bool)>,
    /// Variables of each function in `functions`, in order of declaration.
    pub function_globals: Vec<Vec<u32>>,
    /// Names of texture, sampler and surface references.
    pub textures: Vec<String>,
    /// Indices by name, and true if the file sets their properties.
    pub texture_names: FxHashMap<&'a str, (u32, bool)>,
    /// Shared variables of the file, in order.
    pub shared: Vec<&'a Variable>,
    /// Local variables of the file, in order.
    pub local: Vec<&'a Variable>,
    /// Names of the file's registers, and prefixes of the names of register families.
    pub registers: FxHashSet<&'a str>,
    /// Functions in `functions` that cannot be used, with the reasons.
    pub broken: FxHashMap<usize, &'a Diagnostics>,
    /// Width of an address in bits.
    pub address_bits: u32,
    /// Device functions in `functions` whose address is taken anywhere.
    pub address_taken: Vec<usize>,
}

impl<'a> Symbols<'a> {
    /// Collects all declarations. Problems with initial values are added to `errors`. `problems`
    /// lists the functions that cannot be used.
    pub(crate) fn new(
        module: &'a Module,
        problems: &'a Problems,
        errors: &mut Diagnostics,
    ) -> Self {
        let mut symbols = Self {
            functions: Vec::new(),
            by_name: FxHashMap::default(),
            globals: Vec::new(),
            global_names: FxHashMap::default(),
            function_globals: Vec::new(),
            textures: Vec::new(),
            texture_names: FxHashMap::default(),
            shared: Vec::new(),
            local: Vec::new(),
            registers: FxHashSet::default(),
            broken: FxHashMap::default(),
            address_bits: module.address_bits,
            address_taken: Vec::new(),
        };
        let mut with_init: Vec<(u32, &Variable)> = Vec::new();
        for (at, item) in module.items.iter().enumerate() {
            match item {
                Item::Variable(variable) => symbols.variable(variable, &mut with_init, errors),
                Item::Function(function) => {
                    symbols.function(function, problems.of(at).filter(|own| own.has_errors()));
                }
                Item::Alias(..) | Item::Kept(_) => {}
            }
        }
        symbols.aliases(module);
        symbols.find_addresses(module);
        symbols.variables_of_functions(&mut with_init, errors);
        for (index, variable) in with_init {
            let result = init::initialise(variable, &symbols);
            match result {
                Ok((bytes, relocations)) => {
                    symbols.globals[index as usize].init = bytes;
                    symbols.globals[index as usize].relocations = relocations;
                }
                Err(error) => errors.push(*error),
            }
        }
        symbols
    }

    fn function(&mut self, function: &'a Function, problems: Option<&'a Diagnostics>) {
        let defined = function.body.is_some().then(|| {
            self.functions.push(function);
            self.functions.len() - 1
        });
        if let (Some(at), Some(problems)) = (defined, problems) {
            self.broken.insert(at, problems);
        }
        let entry = self.by_name.entry(&function.name.node).or_default();
        *entry = entry.or(defined);
    }

    fn find_addresses(&mut self, module: &'a Module) {
        let taken = calls::address_taken(module);
        let found = taken
            .iter()
            .filter_map(|name| self.by_name.get(name).copied());
        let device = |f: &usize| self.functions[*f].kind != FunctionKind::Entry;
        let mut found: Vec<usize> = found.flatten().filter(device).collect();
        found.sort_unstable();
        found.dedup();
        self.address_taken = found;
    }

    /// Address of a function of the file.
    pub(crate) fn function_address(&self, name: &str) -> Option<u64> {
        let function = self.by_name.get(name).copied().flatten()?;
        Some(function_address(function))
    }

    fn aliases(&mut self, module: &'a Module) {
        for item in &module.items {
            if let Item::Alias(alias, target) = item {
                let found = self.by_name.get(target.node.as_str()).copied().flatten();
                self.by_name.insert(&alias.node, found);
            }
        }
    }

    fn variable(
        &mut self,
        variable: &'a Variable,
        with_init: &mut Vec<(u32, &'a Variable)>,
        errors: &mut Diagnostics,
    ) {
        if variable.opaque.is_some() || variable.space == Space::Tex {
            let next = self.textures.len() as u32;
            let set = variable.init.is_some();
            self.texture_names.insert(&variable.name.node, (next, set));
            self.textures.push(variable.name.node.clone());
            return;
        }
        match variable.space {
            Space::Shared => self.shared.push(variable),
            Space::Local => self.local.push(variable),
            Space::Reg => {
                self.registers.insert(&variable.name.node);
            }
            Space::Global | Space::Const => match self.add_global(variable) {
                Ok(index) => {
                    self.name_global(variable, index);
                    if variable.init.is_some() {
                        with_init.push((index, variable));
                    }
                }
                Err(error) => errors.push(*error),
            },
            _ => {}
        }
    }

    /// Declares a variable. A definition takes the name from an earlier `.extern` declaration.
    fn name_global(&mut self, variable: &'a Variable, index: u32) {
        let external = variable.linkage == Linkage::Extern;
        let known = self.global_names.get(variable.name.node.as_str());
        if !(external && known.is_some_and(|(_, external)| !external)) {
            let name = variable.name.node.as_str();
            self.global_names.insert(name, (index, external));
        }
    }

    fn add_global(&mut self, variable: &Variable) -> Res<u32> {
        let (bytes, align) = extent(variable)?;
        self.globals.push(GlobalVar {
            name: variable.name.node.clone(),
            constant: variable.space == Space::Const,
            bytes,
            align,
            init: Vec::new(),
            relocations: Vec::new(),
        });
        Ok(self.globals.len() as u32 - 1)
    }

    fn variables_of_functions(
        &mut self,
        with_init: &mut Vec<(u32, &'a Variable)>,
        errors: &mut Diagnostics,
    ) {
        for (nth, function) in self.functions.clone().into_iter().enumerate() {
            let mut found = Vec::new();
            let usable = function
                .body
                .as_ref()
                .filter(|_| !self.broken.contains_key(&nth));
            for variable in declarations(usable) {
                if !matches!(variable.space, Space::Global | Space::Const) {
                    continue;
                }
                match self.add_global(variable) {
                    Ok(index) => {
                        found.push(index);
                        if variable.init.is_some() {
                            with_init.push((index, variable));
                        }
                    }
                    Err(error) => errors.push(*error),
                }
            }
            self.function_globals.push(found);
        }
    }

    /// True if a name is that of a register that the file declares outside of functions.
    pub(crate) fn is_file_register(&self, name: &str) -> bool {
        let family = name.trim_end_matches(|c: char| c.is_ascii_digit());
        self.registers.contains(name) || self.registers.contains(family)
    }

    /// Positions of the kernels in `functions`.
    pub(crate) fn entries(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.functions.len()).filter(|f| self.functions[*f].kind == FunctionKind::Entry)
    }
}

/// Address of a function by its position.
pub(crate) fn function_address(function: usize) -> u64 {
    FUNCTION_BASE + FUNCTION_BYTES * function as u64
}

/// Declarations of a body except registers, outer ones before inner ones in order of the text.
pub(crate) fn declarations(body: Option<&Body>) -> Vec<&Variable> {
    let mut found = Vec::new();
    if let Some(body) = body {
        collect(body, &mut found);
    }
    found
}

fn collect<'a>(body: &'a Body, found: &mut Vec<&'a Variable>) {
    for statement in &body.statements {
        match statement {
            Statement::Variable(variable) if variable.space != Space::Reg => found.push(variable),
            Statement::Block(inner) => collect(inner, found),
            _ => {}
        }
    }
}

/// Size and alignment of a variable in bytes. An array without an extent has the length of its
/// initial value, or none.
pub(crate) fn extent(variable: &Variable) -> Res<(u64, u64)> {
    let span = variable.name.span;
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
    let mut count = Some(1_u64);
    for (nth, dim) in variable.dims.iter().enumerate() {
        let dim = match dim {
            Some(dim) => *dim,
            None if nth == 0 => init::outer_length(variable),
            None => 0,
        };
        count = count.and_then(|count| count.checked_mul(dim));
    }
    let bytes = count.and_then(|count| count.checked_mul(element));
    let bytes = bytes.filter(|bytes| *bytes < 1 << 40).ok_or_else(|| {
        let message = format!("`{}` is larger than 1 TiB", variable.name.node);
        invalid("variable-size", span, message)
    })?;
    Ok((bytes, alignment(variable, span)?))
}

fn alignment(variable: &Variable, span: Span) -> Res<u64> {
    let natural = variable.ty.bytes() * variable.vector;
    let align = variable.align.unwrap_or(natural).max(1);
    if align.is_power_of_two() {
        return Ok(u64::from(align));
    }
    let message = format!(
        "`{}` is aligned to {align}, no power of two",
        variable.name.node
    );
    Err(invalid("alignment", span, message))
}
