//! Scopes of a function: the resolution of names to registers, labels and tables.

use crate::body::{Label, Var};
use rustc_hash::FxHashMap;
use warploom_ptx::tokens::ScalarType;

/// The meaning of a name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Symbol {
    Register(ScalarType),
    Label(Label),
    /// A table of branch targets, as the names of its labels.
    Table(Vec<String>),
    /// Any other name: a memory variable, a parameter, or a register that keeps its declaration.
    Other,
}

/// The names that one scope declares.
#[derive(Default)]
struct Scope {
    names: FxHashMap<String, Symbol>,
    /// Register families such as `%r<12>`: the type and the number of registers, by the common
    /// prefix of the names.
    families: FxHashMap<String, (ScalarType, u32)>,
    /// The variables of the registers that the code mentions.
    vars: FxHashMap<String, Var>,
}

impl Scope {
    /// Returns the type of the register `name` if this scope declares it.
    fn register(&self, name: &str) -> Option<ScalarType> {
        if let Some(Symbol::Register(ty)) = self.names.get(name) {
            return Some(*ty);
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // The prefix of a family may itself end in digits, so every split of the name is tried.
        (stem.len().max(1)..name.len())
            .filter(|at| name.is_char_boundary(*at))
            .find_map(|at| {
                let (ty, count) = self.families.get(&name[..at])?;
                let digits = &name[at..];
                let canonical = digits == "0" || !digits.starts_with('0');
                let index: u32 = digits.parse().ok().filter(|_| canonical)?;
                (index < *count).then_some(*ty)
            })
    }
}

/// The open scopes of a function, from the outermost to the innermost.
#[derive(Default)]
pub(crate) struct Resolver {
    scopes: Vec<Scope>,
}

impl Resolver {
    pub fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    pub fn declare(&mut self, name: &str, symbol: Symbol) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name.to_owned(), symbol);
        }
    }

    pub fn declare_family(&mut self, name: &str, ty: ScalarType, count: u32) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.families.insert(name.to_owned(), (ty, count));
        }
    }

    /// Returns the meaning of a name that is not a register, searched from the innermost scope
    /// outwards.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.names.get(name).cloned())
    }

    /// Returns the variable of a register. `make` creates the variable at the first mention.
    pub fn variable(
        &mut self,
        name: &str,
        make: impl FnOnce(&str, ScalarType) -> Var,
    ) -> Option<Var> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(var) = scope.vars.get(name) {
                return Some(*var);
            }
            if let Some(ty) = scope.register(name) {
                let var = make(name, ty);
                scope.vars.insert(name.to_owned(), var);
                return Some(var);
            }
            if scope.names.contains_key(name) {
                return None;
            }
        }
        None
    }
}
