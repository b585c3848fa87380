//! Names inside one function: nested scopes, register families, registers created at first use.

use rustc_hash::FxHashMap;
use warploom_ptx::tokens::ScalarType;

/// Meaning of a name in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Register or vector of registers.
    Reg(RegDecl),
    /// Offset in the block's shared memory.
    Shared(u32),
    /// Offset in the thread's frame: a `.local` variable.
    Local(u32),
    /// Offset in the thread's frame: a parameter of a device function or of a call.
    Frame(u32),
    /// Offset in the kernel's parameters.
    Param(u32),
    /// Variable in global memory, by index in the module.
    Global(u32),
    /// Variable in constant memory, by index in the module.
    Const(u32),
    /// Texture, sampler or surface reference, by index in the module.
    Texture(u32),
    /// Branch target, by index in the function.
    Label(u32),
    /// List of `.branchtargets`, by index in the function.
    Targets(u32),
    /// List of `.calltargets` or `.callprototype`, by index in the function.
    CallInfo(u32),
}

/// Declared register, vector of registers, or member of a register family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegDecl {
    /// Number of the declaration in the function.
    pub id: u32,
    /// Number of the member in its family.
    pub nth: u32,
    /// Type of the declaration.
    pub ty: ScalarType,
    /// Elements of a vector register, else 1.
    pub vector: u32,
    /// Position among all registers declared in the function, from 1.
    pub ordinal: u32,
}

/// Declaration of a register family, such as `%r<n>`.
#[derive(Clone, Copy, Debug)]
struct Range {
    decl: RegDecl,
    count: u32,
}

#[derive(Default, Debug)]
struct Scope<'a> {
    names: FxHashMap<&'a str, Symbol>,
    ranges: FxHashMap<&'a str, Range>,
}

/// Scopes from the outermost to the innermost.
#[derive(Default, Debug)]
pub(crate) struct Scopes<'a> {
    stack: Vec<Scope<'a>>,
    declarations: u32,
    registers: u32,
}

impl<'a> Scopes<'a> {
    pub(crate) fn enter(&mut self) {
        self.stack.push(Scope::default());
    }

    pub(crate) fn leave(&mut self) {
        self.stack.pop();
    }

    /// Declares a name in the innermost scope. Returns false if the scope has it already.
    pub(crate) fn declare(&mut self, name: &'a str, symbol: Symbol) -> bool {
        let scope = self.stack.last_mut().expect("a function has a scope");
        scope.names.insert(name, symbol).is_none()
    }

    /// Declares a register, or a family of `count` registers.
    pub(crate) fn declare_registers(
        &mut self,
        name: &'a str,
        ty: ScalarType,
        vector: u32,
        count: Option<u32>,
    ) -> bool {
        // A register of 128 bits is a vector of two.
        let (ty, vector) = match ty {
            ScalarType::B128 => (ScalarType::B64, 2 * vector),
            _ => (ty, vector),
        };
        let decl = RegDecl {
            id: self.declarations,
            nth: 0,
            ty,
            vector,
            ordinal: self.registers + 1,
        };
        self.declarations += 1;
        self.registers = self.registers.saturating_add(count.unwrap_or(1));
        let Some(count) = count else {
            return self.declare(name, Symbol::Reg(decl));
        };
        let scope = self.stack.last_mut().expect("a function has a scope");
        scope.ranges.insert(name, Range { decl, count }).is_none()
    }

    /// Symbol of a name, searched from the innermost scope outwards.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        self.stack.iter().rev().find_map(|scope| scope.find(name))
    }

    /// All visible names, for hints.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        #[allow(
            clippy::iter_over_hash_type,
            reason = "the caller picks the nearest name whatever the order"
        )]
        self.stack
            .iter()
            .flat_map(|scope| scope.names.keys().copied())
    }
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<Symbol> {
        if let Some(symbol) = self.names.get(name) {
            return Some(*symbol);
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // The name of a family may end in digits (`%v2<4>` does, `%r1_<4>` does not): try every
        // split.
        (stem.len().max(1)..name.len())
            .filter(|at| name.is_char_boundary(*at))
            .find_map(|at| {
                let range = self.ranges.get(&name[..at])?;
                let nth = number(&name[at..]).filter(|nth| *nth < range.count)?;
                Some(Symbol::Reg(RegDecl {
                    nth,
                    ordinal: range.decl.ordinal.saturating_add(nth),
                    ..range.decl
                }))
            })
    }
}

/// Number of a family's member as it is spelled: without leading zeros.
fn number(digits: &str) -> Option<u32> {
    let canonical = digits == "0" || !digits.starts_with('0');
    digits.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use super::{Scopes, Symbol};
    use warploom_ptx::tokens::ScalarType;

    fn scopes() -> Scopes<'static> {
        let mut scopes = Scopes::default();
        scopes.enter();
        scopes.declare_registers("%r", ScalarType::B32, 1, Some(12));
        scopes.declare_registers("%v2", ScalarType::B64, 1, Some(3));
        scopes.declare_registers("x", ScalarType::F32, 1, None);
        scopes
    }

    #[test]
    fn ranges_name_their_members_only() {
        let found = |name: &str| match scopes().find(name) {
            Some(Symbol::Reg(decl)) => Some((decl.id, decl.nth, decl.ordinal)),
            _ => None,
        };
        assert_eq!(found("%r0"), Some((0, 0, 1)));
        assert_eq!(found("%r11"), Some((0, 11, 12)));
        assert_eq!(found("%r12"), None);
        assert_eq!(found("%r"), None);
        assert_eq!(found("%r01"), None);
        assert_eq!(found("%v22"), Some((1, 2, 15)));
        assert_eq!(found("x"), Some((2, 0, 16)));
    }

    #[test]
    fn inner_names_hide_outer_ones() {
        let mut scopes = scopes();
        scopes.enter();
        assert!(scopes.declare("x", Symbol::Shared(8)));
        assert!(!scopes.declare("x", Symbol::Shared(9)));
        assert_eq!(scopes.find("x"), Some(Symbol::Shared(9)));
        scopes.leave();
        assert!(matches!(scopes.find("x"), Some(Symbol::Reg(_))));
    }
}
