//! Scopes of one function: which register, label or table a name means.

use crate::body::{Label, Var};
use rustc_hash::FxHashMap;
use warploom_ptx::tokens::ScalarType;

/// What a name stands for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Symbol {
    Register(ScalarType),
    Label(Label),
    /// Names of the labels.
    Table(Vec<String>),
    /// A variable, a parameter, a register that stays as it is.
    Other,
}

#[derive(Default)]
struct Scope {
    names: FxHashMap<String, Symbol>,
    /// `%r<12>`: the type and how many.
    families: FxHashMap<String, (ScalarType, u32)>,
    /// Registers that the code has mentioned.
    vars: FxHashMap<String, Var>,
}

impl Scope {
    /// The type of the register called `name`, if this scope declares it.
    fn register(&self, name: &str) -> Option<ScalarType> {
        if let Some(Symbol::Register(ty)) = self.names.get(name) {
            return Some(*ty);
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // A family's own name may end in digits: every split counts.
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

/// Scopes from the outermost to the innermost.
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

    /// What a name that is no register means, innermost scope first.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.names.get(name).cloned())
    }

    /// The variable of a register; `make` gives a number to one that is mentioned first.
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
