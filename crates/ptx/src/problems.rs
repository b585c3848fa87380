//! Problems of a file, listed by function.
//!
//! A function with an error does not affect others: a user of another function can go on.
//! Invariant: a problem belongs to the function in whose text it was found, or to the file.

use warploom_diag::Diagnostics;

/// Problems of a file and of its functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// Problems of the file, which concern all of its functions.
    pub file: Diagnostics,
    /// Problems by function: its position in [`Module::items`](crate::ast::Module::items),
    /// ascending, with the diagnostics. Functions without problems are left out.
    pub functions: Vec<(usize, Diagnostics)>,
}

impl Problems {
    /// Returns all problems in the order of the text.
    pub fn together(self) -> Diagnostics {
        let mut all = self.file;
        for (_, own) in self.functions {
            all.append(own);
        }
        all.sort();
        all
    }

    /// True if the function at a position in the module's items has an error.
    pub fn is_broken(&self, item: usize) -> bool {
        self.of(item).is_some_and(Diagnostics::has_errors)
    }

    /// True if the file or one of its functions has an error.
    pub fn has_errors(&self) -> bool {
        self.file.has_errors() || self.functions.iter().any(|(_, own)| own.has_errors())
    }

    /// Problems of the function at a position in the module's items.
    pub fn of(&self, item: usize) -> Option<&Diagnostics> {
        let at = self.functions.binary_search_by_key(&item, |(at, _)| *at);
        at.ok().map(|at| &self.functions[at].1)
    }

    /// Adds problems of a function.
    pub(crate) fn add(&mut self, item: usize, found: Diagnostics) {
        if found.is_empty() {
            return;
        }
        match self.functions.binary_search_by_key(&item, |(at, _)| *at) {
            Ok(at) => self.functions[at].1.append(found),
            Err(at) => self.functions.insert(at, (item, found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::read;
    use warploom_diag::Source;

    const TEXT: &str = ".version 8.0\n.target sm_75\n\
        .func a() { .reg .b32 r; mov.b32 r, 1; ret; }\n\
        .func b() { mov.b32 r, 1; ret; }\n\
        .func c() { ad.b32; ret; }\n";

    /// Positions of functions with errors, and codes in the order of the text.
    fn check(text: &str, broken: &[usize], codes: &[&str]) {
        let (_, problems) = read(&Source::new("t", text));
        let found: Vec<usize> = problems.functions.iter().map(|(at, _)| *at).collect();
        assert_eq!(found, broken, "{text}");
        let all = problems.together();
        let found: Vec<&str> = all.iter().map(|problem| problem.code).collect();
        assert_eq!(found, codes, "{text}");
    }

    #[test]
    fn problems_stay_with_their_functions() {
        check(TEXT, &[1, 2], &["undefined-name", "unknown-instruction"]);
        check(&TEXT.replace("ad.b32;", ""), &[1], &["undefined-name"]);
        let twice = TEXT.replace(".func b", ".func a");
        check(
            &twice,
            &[1, 2],
            &["duplicate-name", "undefined-name", "unknown-instruction"],
        );
    }

    /// Words, forms and shapes may be right in a file of a later version than the vocabulary.
    #[test]
    fn later_versions_may_have_more() {
        for body in [
            "frob.s32 r;",
            "add.frob.s32 r, r, r;",
            "add.rn.s32 r, r, r;",
            "add.s32 r, r, r, r, r;",
            "ld.red.sp::2:4.f32 r, [r];",
        ] {
            let text = |version: &str| {
                format!(
                    ".version {version}\n.target sm_100\n.func a() {{ .reg .b32 r; {body} ret; }}"
                )
            };
            let (_, problems) = read(&Source::new("t", text("9.5")));
            let codes: Vec<_> = problems.together().iter().map(|p| p.code).collect();
            assert_eq!(codes, ["not-supported"], "{body}");
            let (_, problems) = read(&Source::new("t", text("9.0")));
            let known = problems.together();
            assert!(known.has_errors(), "{body}");
            assert!(known.iter().all(|p| p.code != "not-supported"), "{body}");
        }
    }
}
