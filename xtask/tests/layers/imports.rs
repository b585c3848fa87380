//! Imports between the files of a crate, read from its `use` lines. A file that only declares or
//! re-exports another one does not import from it; a name that was re-exported counts as imported
//! from the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Crates whose files are examined.
const CRATES: [&str; 5] = ["policy", "noc", "sm", "exec", "gpu"];

/// Path of a module from the root of its crate, without `crate`.
type Module = Vec<String>;
/// Texts of a crate's files by module, without tests.
type Files = BTreeMap<Module, String>;
/// Modules from which each module imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// A name in a `use` declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Use {
    /// Path as written, such as `super` and `Sm`.
    path: Vec<String>,
    /// Name under which the importing file knows it.
    name: String,
    is_exported: bool,
}

fn files(name: &str) -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../crates/{name}/src"));
    let mut files = Files::new();
    add_files(&root, &[], &mut files);
    assert!(files.len() > 10, "{name} has {} files", files.len());
    files
}

fn add_files(folder: &Path, above: &[String], files: &mut Files) {
    for entry in fs::read_dir(folder).expect("a folder").map(Result::unwrap) {
        let path = entry.path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let mut module = above.to_vec();
        if stem != "lib" {
            module.push(stem.clone().into_owned());
        }
        if stem == "tests" || stem == "testing" {
            continue;
        } else if path.is_dir() {
            add_files(&path, &module, files);
        } else {
            let text = fs::read_to_string(&path).expect("a text");
            let code = text.split("\nmod tests {").next().unwrap_or_default();
            files.insert(module, code.to_owned());
        }
    }
}

/// All names in the `use` declarations of a text.
fn uses(text: &str) -> Vec<Use> {
    let without_comments = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let lines: Vec<String> = text.lines().map(without_comments).collect();
    let mut found = Vec::new();
    for declaration in lines.join(" ").split(';') {
        let words: Vec<_> = declaration.split_whitespace().collect();
        let Some(at) = words.iter().rposition(|word| *word == "use") else {
            continue;
        };
        let is_exported = at > 0 && words[at - 1].starts_with("pub");
        expand(&words[at + 1..].join(" "), &[], is_exported, &mut found);
    }
    found
}

/// Adds the names of a tree such as `a::{b, c::{d as e}}`.
fn expand(tree: &str, above: &[String], is_exported: bool, found: &mut Vec<Use>) {
    let segments = |path: &str| -> Vec<String> {
        let parts = path.split("::").map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        above
            .iter()
            .cloned()
            .chain(parts.map(str::to_owned))
            .collect()
    };
    let tree = tree.trim();
    if let Some((path, rest)) = tree.split_once('{') {
        let path = segments(path);
        let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
        for part in split_at_commas(inner) {
            expand(part, &path, is_exported, found);
        }
    } else if !tree.is_empty() {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = segments(path);
        let last = path.last().cloned().unwrap_or_default();
        let name = if name.is_empty() {
            last
        } else {
            name.trim().to_owned()
        };
        found.push(Use {
            path,
            name,
            is_exported,
        });
    }
}

/// Parts between commas that are in no braces.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A path from the root of the crate; `None` for a path of another crate.
fn absolute(files: &Files, from: &Module, path: &[String]) -> Option<Vec<String>> {
    let first = path.first()?.as_str();
    let (base, rest) = match first {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            (
                from[..from.len().saturating_sub(ups)].to_vec(),
                &path[ups..],
            )
        }
        _ => {
            let child = [from.as_slice(), &path[..1]].concat();
            (files.contains_key(&child).then(|| from.clone())?, path)
        }
    };
    Some([base.as_slice(), rest].concat())
}

/// Module that defines what an absolute path names, found through re-exports.
fn definition(
    files: &Files,
    names: &BTreeMap<Vec<String>, Vec<String>>,
    path: &[String],
) -> Module {
    let mut path = path.to_vec();
    // A chain of re-exports is short.
    for _ in 0..8 {
        let lengths = (0..=path.len()).rev();
        let mut modules = lengths.filter(|length| files.contains_key(&path[..*length]));
        let length = modules.next().unwrap_or(0);
        let Some(target) = path.get(..=length).and_then(|name| names.get(name)) else {
            return path[..length].to_vec();
        };
        path = [target.as_slice(), &path[length + 1..]].concat();
    }
    panic!("re-exports lead in a circle: {path:?}");
}

fn imports(files: &Files) -> Imports {
    let all: Vec<(&Module, Use)> = files
        .iter()
        .flat_map(|(module, text)| uses(text).into_iter().map(move |name| (module, name)))
        .collect();
    let mut names = BTreeMap::new();
    for (module, name) in &all {
        if let Some(path) = absolute(files, module, &name.path) {
            names.insert(
                [module.as_slice(), std::slice::from_ref(&name.name)].concat(),
                path,
            );
        }
    }
    let mut imports = Imports::new();
    for (module, name) in all.iter().filter(|(_, name)| !name.is_exported) {
        if let Some(path) = absolute(files, module, &name.path) {
            let from = definition(files, &names, &path);
            if from != **module {
                imports.entry((*module).clone()).or_default().insert(from);
            }
        }
    }
    imports
}

/// Modules that a module reaches over at least one import.
fn reach(imports: &Imports, from: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

/// Sets of modules that reach each other.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<_, _> = imports.keys().map(|m| (m, reach(imports, m))).collect();
    let with = |module: &Module| {
        let back = |other: &&Module| reached.get(other).is_some_and(|r| r.contains(module));
        reached[module].iter().filter(back).cloned().collect()
    };
    let all = imports.keys().map(with);
    all.filter(|circle: &BTreeSet<_>| circle.len() > 1)
        .collect()
}

#[test]
fn no_files_import_from_each_other_in_a_circle() {
    for name in CRATES {
        let files = files(name);
        let imports = imports(&files);
        let arrows: usize = imports.values().map(BTreeSet::len).sum();
        assert!(arrows > files.len(), "{name}: only {arrows} imports found");
        let circles = circles(&imports);
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

#[test]
fn imports_are_found_through_re_exports() {
    let module = |path: &str| -> Module { path.split_whitespace().map(str::to_owned).collect() };
    let texts = [
        ("", "mod a;\nmod b;\n"),
        (
            "a",
            "mod c;\npub use c::{C, D as E};\nuse crate::b::B; // use crate::x::Y;\n",
        ),
        ("a c", "use super::super::b::{self, B};\nuse std::fmt;\n"),
        (
            "b",
            "fn f() {\n    use crate::a::{\n        E,\n    };\n}\n",
        ),
    ];
    let files: Files = texts
        .map(|(path, text)| (module(path), text.to_owned()))
        .into();
    let imports = imports(&files);
    let of = |path: &str| imports.get(&module(path)).cloned().unwrap_or_default();
    assert_eq!(of(""), BTreeSet::new());
    assert_eq!(of("a"), [module("b")].into());
    assert_eq!(of("a c"), [module("b")].into());
    assert_eq!(of("b"), [module("a c")].into());
    assert_eq!(
        circles(&imports),
        [[module("a c"), module("b")].into()].into()
    );
}
