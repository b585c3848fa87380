//! Names of kernels as people read them. C++ compilers mangle a function's name, namespaces,
//! template arguments and parameters into one word, such as `_Z6reduceILi256EEvPf` for
//! `void reduce<256>(float*)` (Itanium C++ ABI, section 5.1). Results contain mangled names; tables
//! and sentences show plain ones.
//!
//! Invariants: no name causes a panic or unbounded work. A name that is not mangled, or not mangled
//! correctly, is its own plain name.

mod shorten;

pub use shorten::shortened;

use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;
use std::fmt;

/// Largest width of a kernel's name in a table or a sentence, in characters.
pub const WIDTH: usize = 40;
/// Longest name in bytes that is demangled.
const LONGEST: usize = 1 << 14;
/// Longest plain name in bytes. Back references let a short mangled name stand for a long one.
const LONGEST_PLAIN: usize = 1 << 14;

/// Text that refuses to grow beyond [`LONGEST_PLAIN`].
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_PLAIN {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Plain name of a kernel with namespaces and template arguments, such as `reduce<256>`.
pub fn plain(name: &str) -> Cow<'_, str> {
    demangled(name, options().no_params())
}

/// Plain name of a kernel with its parameters, such as `reduce<256>(float*)`.
pub fn signature(name: &str) -> Cow<'_, str> {
    demangled(name, options())
}

/// Name of a kernel's function alone, without namespaces and template arguments, such as `reduce`.
pub fn function(name: &str) -> String {
    shorten::function(&plain(name))
}

/// True if a kernel has `part` in its mangled name or, apart from spaces, in its signature.
pub fn has_part(name: &str, part: &str) -> bool {
    name.contains(part) || without_spaces(&signature(name)).contains(&without_spaces(part))
}

/// The only kernel that a user can mean by `name`: the one with this name, else the one with this
/// signature, this plain name or this function's name, apart from spaces. `None` if there is none,
/// or if there are several.
pub fn find<'a>(name: &str, kernels: &[&'a str]) -> Option<&'a str> {
    let wanted = without_spaces(name);
    let forms: [fn(&str) -> String; 4] = [
        str::to_owned,
        |name| without_spaces(&signature(name)),
        |name| without_spaces(&plain(name)),
        |name| without_spaces(&function(name)),
    ];
    for form in forms {
        let mut found = kernels.iter().filter(|kernel| form(kernel) == wanted);
        match (found.next(), found.next()) {
            (Some(one), None) => return Some(one),
            (Some(_), Some(_)) => return None,
            (None, _) => {}
        }
    }
    None
}

/// A text in which plain names, shortened to `width` characters, replace all mangled ones.
pub fn in_text(text: &str, width: usize) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_name) {
        let (before, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !is_of_name(c)).unwrap_or(word.len()));
        shown.push_str(before);
        match word.starts_with("_Z") {
            true => shown.push_str(&shortened(word, width)),
            false => shown.push_str(word),
        }
        rest = after;
    }
    shown + rest
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn options() -> DemangleOptions {
    DemangleOptions::new()
        .no_return_type()
        .hide_expression_literal_types()
}

fn demangled(name: &str, options: DemangleOptions) -> Cow<'_, str> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return Cow::Borrowed(name);
    }
    let mut plain = Bounded::default();
    let symbol = Symbol::new(name);
    let written = symbol.map(|symbol| symbol.structured_demangle(&mut plain, &options));
    match written {
        Ok(Ok(())) if !plain.0.is_empty() => Cow::Owned(joined(plain.0)),
        _ => Cow::Borrowed(name),
    }
}

/// Leaves out the spaces that older C++ needed between the ends of argument lists.
fn joined(mut plain: String) -> String {
    while plain.contains("> >") {
        plain = plain.replace("> >", ">>");
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{find, function, has_part, in_text, plain, signature};

    #[test]
    fn mangled_names_in_a_text_become_plain() {
        let told = |text: &str| in_text(text, 40);
        assert_eq!(
            told("fault in kernel `_Z6reduceILi256EEvPf`, PTX line 3 (_Z.cu:7)"),
            "fault in kernel `reduce<256>`, PTX line 3 (_Z.cu:7)"
        );
        assert_eq!(told("_Z1kPfi"), "k");
        assert_eq!(
            told("x_Z1kPfi, a\u{e4}_Z1kPfi."),
            "x_Z1kPfi, a\u{e4}_Z1kPfi."
        );
        assert_eq!(told(""), "");
    }

    /// Expected names are those of `c++filt` 2.40, without the return type, the letters behind
    /// numbers, and the space in `> >`.
    #[test]
    fn names_are_demangled() {
        for (name, expected) in [
            ("vectorAdd", "vectorAdd"),
            ("_Z9transposePfS_ii", "transpose(float*, float*, int, int)"),
            ("_Z6reduceILi256EEvPf", "reduce<256>(float*)"),
            ("_Z6reduceILj512ELb1EEvPf", "reduce<512, true>(float*)"),
            (
                "_ZN2ns4copyIfEEvPT_PKS1_",
                "ns::copy<float>(float*, float const*)",
            ),
            ("_ZN12_GLOBAL__N_14spinEv", "(anonymous namespace)::spin()"),
            ("_Z1fI1pI1qIiEEEvT_", "f<p<q<int>>>(p<q<int>>)"),
        ] {
            assert_eq!(signature(name), expected);
        }
        assert_eq!(plain("_Z6reduceILi256EEvPf"), "reduce<256>");
        assert_eq!(plain("_ZN2ns4copyIfEEvPT_PKS1_"), "ns::copy<float>");
        assert_eq!(function("_ZN2ns4copyIfEEvPT_PKS1_"), "copy");
        assert_eq!(function("vectorAdd"), "vectorAdd");
    }

    #[test]
    fn a_name_that_is_not_mangled_correctly_stays() {
        let long = format!("_Z{}", "P".repeat(100_000));
        for name in [
            "", "_Z", "_Z9short", "_Zzzzz", "_ZN", "Z1f", "_Z1fILi", &long,
        ] {
            assert_eq!(plain(name), name);
        }
    }

    /// Pairs of pairs of pairs: each level doubles the plain name.
    #[test]
    fn a_name_that_would_grow_without_bounds_stays() {
        let mut name = "_Z1f".to_owned() + "1pIiiE";
        for level in 0..30 {
            let digit = char::from_digit(level, 36).unwrap().to_ascii_uppercase();
            name += &format!("1pIS{digit}_S{digit}_E");
        }
        assert!(signature(&name).len() <= super::LONGEST_PLAIN);
    }

    #[test]
    fn a_kernel_is_found_by_each_of_its_names() {
        let names = [
            "_Z9transposePfS_ii",
            "_Z4copyPf",
            "_Z4copyPd",
            "plain",
            "_Z6reduceILi256EEvPf",
            "_Z6reduceILi512EEvPf",
        ];
        let of = |name: &str| find(name, &names);
        assert_eq!(of("transpose"), Some("_Z9transposePfS_ii"));
        assert_eq!(of("_Z4copyPd"), Some("_Z4copyPd"));
        assert_eq!(of("copy"), None);
        assert_eq!(of("copy(double *)"), Some("_Z4copyPd"));
        assert_eq!(of("plain"), Some("plain"));
        assert_eq!(of("reduce<512>"), Some("_Z6reduceILi512EEvPf"));
        assert_eq!(of("reduce"), None);
        assert_eq!(of("pose"), None);
    }

    #[test]
    fn parts_are_of_either_name() {
        let kernel = "_Z6reduceILi256ELb1EEvPf";
        for part in [
            "reduce",
            "ILi256",
            "reduce<256,",
            "256, true",
            "(float*)",
            "",
        ] {
            assert!(has_part(kernel, part), "{part}");
        }
        assert!(!has_part(kernel, "reduce<512"));
        assert!(has_part("plain", "lai") && !has_part("plain", "x"));
    }
}
