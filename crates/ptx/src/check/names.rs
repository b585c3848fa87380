//! Scopes and the meanings of names (PTX ISA 5.4, 6.4).

use super::Checker;
use crate::ast::{CallPrototype, Function, Name, Variable};
use crate::special;
use crate::tokens::{ScalarType, Space};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use warploom_diag::{Diagnostic, Span, nearest};

/// Meaning of a name in a scope.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol<'m> {
    /// Register, or family of registers `%r<count>`.
    Register {
        ty: ScalarType,
        vector: u32,
        count: Option<u32>,
    },
    /// Variable or parameter in memory.
    Variable(&'m Variable),
    Function(&'m Function),
    Label,
    BranchTable,
    CallTable,
    Prototype(&'m CallPrototype),
    /// Special register such as `%tid.x`.
    Special(special::Special),
}

impl<'m> Symbol<'m> {
    pub(super) fn of_variable(variable: &'m Variable) -> Self {
        match variable.space {
            Space::Reg => Self::Register {
                ty: variable.ty,
                vector: variable.vector,
                count: variable.count,
            },
            _ => Self::Variable(variable),
        }
    }

    /// Description in words with an article.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Register { ty, vector: 1, .. } => format!("a `.{ty}` register"),
            Self::Register { ty, vector, .. } => format!("a `.v{vector} .{ty}` register"),
            Self::Variable(variable) => format!("a variable in `.{}`", variable.space),
            Self::Function(_) => "a function".to_owned(),
            Self::Label => "a label".to_owned(),
            Self::BranchTable => "a list of branch targets".to_owned(),
            Self::CallTable => "a list of call targets".to_owned(),
            Self::Prototype(_) => "a call prototype".to_owned(),
            Self::Special(_) => "a special register".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry<'m> {
    symbol: Symbol<'m>,
    span: Span,
}

type Names<'m> = IndexMap<&'m str, Entry<'m>, FxBuildHasher>;

/// Scopes around a place, outermost first.
#[derive(Default)]
pub(super) struct Scopes<'m> {
    stack: Vec<Names<'m>>,
}

impl<'m> Scopes<'m> {
    pub(super) fn enter(&mut self) {
        self.stack.push(Names::default());
    }

    pub(super) fn leave(&mut self) {
        self.stack.pop();
    }

    /// Meaning of `name` at this place: the innermost declaration, a member of a register family,
    /// or a special register.
    pub(super) fn find(&self, name: &str) -> Option<Symbol<'m>> {
        for names in self.stack.iter().rev() {
            if let Some(entry) = names.get(name)
                && !matches!(entry.symbol, Symbol::Register { count: Some(_), .. })
            {
                return Some(entry.symbol);
            }
            if let Some((entry, index)) = family(names, name)
                && let Symbol::Register {
                    ty,
                    vector,
                    count: Some(count),
                } = entry.symbol
                && index < count
            {
                return Some(Symbol::Register {
                    ty,
                    vector,
                    count: None,
                });
            }
        }
        special::lookup(name).map(Symbol::Special)
    }

    /// Function called `name`, whatever local names hide it.
    pub(super) fn function(&self, name: &str) -> Option<Symbol<'m>> {
        self.stack.first()?.get(name).map(|entry| entry.symbol)
    }

    /// Names of functions, for hints.
    pub(super) fn functions(&self) -> impl Iterator<Item = &'m str> {
        let all = self.stack.first().into_iter().flatten();
        all.filter(|(_, entry)| matches!(entry.symbol, Symbol::Function(_)))
            .map(|(name, _)| *name)
    }

    /// Label that a mistyped name most likely means.
    pub(super) fn nearest_label(&self, name: &str) -> Option<&'m str> {
        let labels = self
            .all()
            .filter(|(_, symbol)| matches!(symbol, Symbol::Label));
        nearest(name, labels.map(|(name, _)| name))
    }

    fn all(&self) -> impl Iterator<Item = (&'m str, Symbol<'m>)> {
        let names = self.stack.iter().rev().flatten();
        names.map(|(name, entry)| (*name, entry.symbol))
    }
}

/// Splits `%r12` into the family `%r` and 12.
fn split_family(name: &str) -> Option<(&str, u32)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[prefix.len()..];
    let canonical = digits == "0" || !digits.starts_with('0');
    digits
        .parse()
        .ok()
        .filter(|_| canonical)
        .map(|index| (prefix, index))
}

/// Looks for the family of a register. A family's prefix may itself end in digits (`x1<3>`), so
/// every split is tried.
fn family<'a, 'm>(names: &'a Names<'m>, name: &str) -> Option<(&'a Entry<'m>, u32)> {
    let (prefix, index) = split_family(name)?;
    let is_family =
        |entry: &&Entry| matches!(entry.symbol, Symbol::Register { count: Some(_), .. });
    if let Some(entry) = names.get(prefix).filter(is_family) {
        return Some((entry, index));
    }
    let splits = prefix.len() + 1..name.len();
    splits
        .filter(|at| &name[*at..*at + 1] != "0" || *at + 1 == name.len())
        .find_map(|at| {
            let entry = names.get(&name[..at]).filter(is_family)?;
            Some((entry, name[at..].parse().ok()?))
        })
}

impl<'m> Checker<'m> {
    /// Adds a name to the innermost scope; a second declaration is an error.
    pub(super) fn declare(&mut self, name: &'m Name, symbol: Symbol<'m>) {
        if name.node == "_" {
            return;
        }
        let Some(names) = self.scopes.stack.last_mut() else {
            return;
        };
        let entry = Entry {
            symbol,
            span: name.span,
        };
        if let Some(first) = names.get(name.node.as_str()) {
            let first = *first;
            if !may_repeat(first.symbol, symbol) {
                self.report_duplicate(name, first.span);
            }
            return;
        }
        names.insert(&name.node, entry);
    }

    /// Span of a name's declaration in the innermost scope.
    pub(super) fn declared_here(&self, name: &str) -> Option<(Symbol<'m>, Span)> {
        let entry = self.scopes.stack.last()?.get(name)?;
        Some((entry.symbol, entry.span))
    }

    pub(super) fn replace(&mut self, name: &'m Name, symbol: Symbol<'m>) {
        if let Some(names) = self.scopes.stack.last_mut() {
            names.insert(
                &name.node,
                Entry {
                    symbol,
                    span: name.span,
                },
            );
        }
    }

    pub(super) fn report_duplicate(&mut self, name: &Name, first: Span) {
        self.report(
            Diagnostic::error(
                "duplicate-name",
                name.span,
                format!("`{}` is declared twice", name.node),
            )
            .label("again here")
            .and(first, "first here")
            .help("rename one of them"),
        );
    }

    /// Meaning of a name; reports an unknown one.
    pub(super) fn resolve(&mut self, name: &str, span: Span) -> Option<Symbol<'m>> {
        let found = self.scopes.find(name);
        if found.is_none() {
            let help = if self.is_full() {
                String::new()
            } else {
                self.hint(name)
            };
            self.report(
                Diagnostic::error("undefined-name", span, format!("`{name}` is not declared"))
                    .label("unknown name")
                    .help(help),
            );
        }
        found
    }

    /// Remedy for an unknown name: the family that is too small, the nearest name, or a
    /// declaration.
    fn hint(&self, name: &str) -> String {
        let families = self.scopes.stack.iter().rev();
        if let Some((entry, _)) = families.filter_map(|names| family(names, name)).next()
            && let Symbol::Register {
                count: Some(count),
                ty,
                ..
            } = entry.symbol
            && let Some((prefix, index)) = split_family(name)
        {
            let wanted = u64::from(index) + 1;
            return match count {
                0 => format!(
                    "`{prefix}<0>` declares no register; declare `.reg .{ty} {prefix}<{wanted}>;`"
                ),
                _ => format!(
                    "`{prefix}<{count}>` declares {prefix}0 to {prefix}{}; declare `{prefix}<{wanted}>`",
                    count - 1
                ),
            };
        }
        let mut candidates: Vec<String> = Vec::new();
        for (known, symbol) in self.scopes.all() {
            match (symbol, split_family(name)) {
                (
                    Symbol::Register {
                        count: Some(count), ..
                    },
                    Some((_, index)),
                ) if index < count => {
                    candidates.push(format!("{known}{index}"));
                }
                (Symbol::Register { count: Some(_), .. }, _) => {}
                _ => candidates.push(known.to_owned()),
            }
        }
        candidates.extend(special::names().map(str::to_owned));
        match nearest(name, candidates.iter().map(String::as_str)) {
            Some(near) if special::is_vector(near) => format!("did you mean `{near}.x`?"),
            Some(near) => format!("did you mean `{near}`?"),
            None if name.starts_with('%') => {
                format!("declare it before this line, e.g. `.reg .b32 {name};`")
            }
            None => "declare it before this line".to_owned(),
        }
    }
}

/// True if two declarations may share a name. A forward declaration of a function and its
/// definition do, and the check of functions compares them; so do an `.extern` variable and its
/// definition.
fn may_repeat(first: Symbol<'_>, second: Symbol<'_>) -> bool {
    use crate::ast::Linkage;
    match (first, second) {
        (Symbol::Function(_), Symbol::Function(_)) => true,
        (Symbol::Variable(a), Symbol::Variable(b)) => {
            a.linkage == Linkage::Extern || b.linkage == Linkage::Extern
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::{check, parse};
    use warploom_diag::Source;

    /// Codes of the problems of a body.
    fn codes(body: &str) -> Vec<&'static str> {
        let text =
            format!(".version 8.0\n.target sm_75\n.global .u32 g;\n.func f() {{ {body} ret; }}");
        let (module, diagnostics) = parse(&Source::new("t", text));
        assert!(diagnostics.is_empty());
        check(&module)
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect()
    }

    #[test]
    fn families_end_at_their_count() {
        assert!(codes(".reg .b32 %r<3>; mov.b32 %r0, %r2;").is_empty());
        assert_eq!(
            codes(".reg .b32 %r<3>; mov.b32 %r0, %r3;"),
            ["undefined-name"]
        );
        assert_eq!(
            codes(".reg .b32 %r<3>; mov.b32 %r0, %r;"),
            ["undefined-name"]
        );
        assert_eq!(
            codes(".reg .b32 %r<3>; mov.b32 %r0, %r01;"),
            ["undefined-name"]
        );
        assert!(codes(".reg .b32 x1<3>; mov.b32 x10, x12;").is_empty());
    }

    #[test]
    fn inner_scopes_hide_outer_ones_and_end() {
        assert!(codes(".reg .b32 x; { .reg .b64 x; mov.b64 x, 1; } mov.b32 x, 1;").is_empty());
        assert!(codes(".reg .b32 g; mov.b32 g, 1;").is_empty());
        assert_eq!(codes("{ .reg .b32 x; } mov.b32 x, 1;"), ["undefined-name"]);
        assert_eq!(codes("mov.b32 x, 1; .reg .b32 x;"), ["undefined-name"]);
        assert_eq!(codes(".reg .b32 x; .reg .b32 x;"), ["duplicate-name"]);
    }

    #[test]
    fn labels_are_seen_from_inside_and_before() {
        assert!(codes("bra done; { bra done; } done:").is_empty());
        assert_eq!(codes("{ inner: } bra inner;"), ["undefined-name"]);
        assert_eq!(codes("a: a:"), ["duplicate-name"]);
    }
}
