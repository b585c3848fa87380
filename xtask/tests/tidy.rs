//! House rules that neither rustfmt nor clippy knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest file. Longer ones are tables, each with its reason.
const MAX_LINES: usize = 800;
const LONG_FILES: &[(&str, &str)] = &[];
const MAX_COLUMNS: usize = 100;

/// Crates that know neither files nor clocks: all below `run`, and those that only compute.
const PURE: &[&str] = &[
    "base", "diag", "stats", "config", "ptx", "ir", "lower", "regalloc", "exec", "policy", "mem",
    "noc", "sm", "gpu", "report",
];
/// The one file of `lab` that reads and writes.
const STORE: &str = "crates/lab/src/store.rs";
/// The one file with a global: C functions have nothing else to find their context by.
const PROCESS: &str = "crates/cudart/src/process.rs";
/// The one file with a clock: threads that wait for long. It decides who runs an SM, not how.
const WAITS: &str = "crates/gpu/src/host/wait.rs";
const IMPURE_WORDS: &[&str] = &["std::fs", "std::io", "std::net", "std::env", "std::process"];
const CLOCK_WORDS: &[&str] = &["std::time", "Instant::now"];
const GLOBAL_WORDS: &[&str] = &[
    "thread_local!",
    "static mut ",
    "Rc<RefCell",
    "Arc<Mutex",
    "LazyLock<",
    "OnceLock<",
];

/// A text file of the repository.
struct Source {
    /// Path from the repository's root, with `/`.
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The crate whose library or program it belongs to.
    fn crate_of_src(&self) -> Option<&str> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        rest.starts_with("src/").then_some(name)
    }

    /// Unit tests in a file of their own, or helpers of tests.
    fn is_test_file(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.ends_with("/testing.rs")
    }

    /// Lines with their numbers up to the unit tests at the end.
    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        lines.take_while(|(_, line)| !line.starts_with("mod tests {"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every text file but those that tools write.
fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.sort();
    let sources = paths.into_iter().filter_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let path = path.strip_prefix(root()).expect("below the root");
        let path = path.to_string_lossy().replace('\\', "/");
        Some(Source { path, text })
    });
    let sources: Vec<_> = sources.collect();
    assert!(sources.iter().filter(|s| s.is_rust()).count() > 100);
    sources
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let made_by_tools = ["target", ".git", "Cargo.lock"]
            .iter()
            .any(|skip| name == *skip);
        if made_by_tools {
            continue;
        } else if path.is_dir() {
            walk(&path, paths);
        } else {
            paths.push(path);
        }
    }
}

/// Applies a rule to every line of every Rust file that it concerns.
fn check_lines(concerns: impl Fn(&Source) -> bool, broken: impl Fn(&str) -> bool) {
    let mut found = Vec::new();
    for source in sources().iter().filter(|s| s.is_rust() && concerns(s)) {
        let lines = source.code_lines().filter(|(_, line)| broken(line));
        found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", source.path)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn has_any(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}

fn is_this_file(source: &Source) -> bool {
    source.path == "xtask/tests/tidy.rs"
}

#[test]
fn files_are_short() {
    let long = |source: &&Source| {
        let excused = LONG_FILES.iter().any(|(path, _)| *path == source.path);
        source.is_rust() && !excused && source.text.lines().count() > MAX_LINES
    };
    let sources = sources();
    let found: Vec<_> = sources.iter().filter(long).map(|s| &s.path).collect();
    assert!(found.is_empty(), "over {MAX_LINES} lines: {found:?}");
    for (path, reason) in LONG_FILES {
        let source = sources.iter().find(|source| source.path == *path);
        let lines = source.map_or(0, |source| source.text.lines().count());
        assert!(
            lines > MAX_LINES && !reason.is_empty(),
            "{path} needs no excuse"
        );
    }
}

#[test]
fn lines_are_short() {
    // rustfmt cannot break a string.
    check_lines(
        |_| true,
        |line| line.chars().count() > MAX_COLUMNS && !line.contains('"'),
    );
}

#[test]
fn every_file_says_what_it_is_for() {
    let sources = sources();
    let silent = |source: &&Source| source.is_rust() && !source.text.starts_with("//! ");
    let found: Vec<_> = sources.iter().filter(silent).map(|s| &s.path).collect();
    assert!(found.is_empty(), "no `//!` at the top: {found:#?}");
}

#[test]
fn no_code_is_commented_out() {
    check_lines(|_| true, is_commented_out);
}

/// A comment that ends as statements and blocks end and sentences do not.
fn is_commented_out(line: &str) -> bool {
    let Some(comment) = line.trim_start().strip_prefix("//") else {
        return false;
    };
    let is_doc = comment.starts_with(['/', '!']);
    let text = comment.trim();
    let ends_as_code = text.ends_with([';', '{', '}']) && text.contains(['(', '=', '{', '}', ':']);
    let ends_as_code = ends_as_code && !text.contains('`');
    !is_doc
        && (ends_as_code
            || ["let ", "pub fn ", "use crate"]
                .iter()
                .any(|w| text.starts_with(w)))
}

#[test]
fn no_work_is_left_for_later() {
    let words = ["TODO", "FIXME", "XXX", "HACK"];
    check_lines(|source| !is_this_file(source), |line| has_any(line, &words));
}

#[test]
fn pure_crates_know_neither_files_nor_clocks() {
    let pure = |source: &Source| {
        let name = source.crate_of_src();
        let is_store = source.path == STORE;
        let is_pure = |name| PURE.contains(&name) || (name == "lab" && !is_store);
        name.is_some_and(is_pure) && !source.is_test_file()
    };
    check_lines(pure, |line| has_any(line, IMPURE_WORDS));
    let timeless = |source: &Source| pure(source) && source.path != WAITS;
    check_lines(timeless, |line| has_any(line, CLOCK_WORDS));
}

#[test]
fn no_crate_has_global_or_shared_mutable_state() {
    check_lines(
        |s| s.crate_of_src().is_some() && s.path != PROCESS,
        |line| has_any(line, GLOBAL_WORDS),
    );
}

#[test]
fn nothing_names_the_machine_that_it_was_written_on() {
    let words = ["/root/", "/home/", "/Users/", "C:\\Users"];
    for source in sources().iter().filter(|source| !is_this_file(source)) {
        let mut lines = source.text.lines().enumerate();
        let found = lines.find(|(_, line)| has_any(line, &words));
        assert!(found.is_none(), "{}: {found:?}", source.path);
    }
}

#[test]
fn no_file_is_dead() {
    let sources = sources();
    let rust: BTreeSet<_> = sources
        .iter()
        .filter(|s| s.is_rust())
        .map(|s| s.path.as_str())
        .collect();
    let mut reached = BTreeSet::new();
    for source in sources.iter().filter(|source| is_crate_root(&source.path)) {
        follow_modules(source, &sources, &mut reached);
    }
    let dead: Vec<_> = rust.difference(&reached).collect();
    assert!(dead.is_empty(), "in no module tree: {dead:#?}");
}

/// What Cargo compiles by itself: `src/lib.rs`, `src/main.rs`, `build.rs`, tests, examples,
/// benches. `tests/NAME/main.rs` is a root too.
fn is_crate_root(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let mut part = || parts.next().unwrap_or("");
    let (file, folder, above) = (part(), part(), part());
    let in_folder = ["tests", "examples", "benches", "bin", "fuzz_targets"].contains(&folder);
    (folder == "src" && ["lib.rs", "main.rs"].contains(&file))
        || file == "build.rs"
        || (above == "tests" && file == "main.rs" && !path.contains("/src/"))
        || (in_folder && !path.contains("/src/") && path.ends_with(".rs"))
}

/// Notes `source` and the files of its `mod name;` lines.
fn follow_modules<'a>(source: &'a Source, all: &'a [Source], reached: &mut BTreeSet<&'a str>) {
    if !reached.insert(&source.path) {
        return;
    }
    let folder = module_folder(&source.path);
    for name in source.text.lines().filter_map(declared_module) {
        let candidates = [
            format!("{folder}/{name}.rs"),
            format!("{folder}/{name}/mod.rs"),
        ];
        let found = all.iter().find(|other| candidates.contains(&other.path));
        if let Some(module) = found {
            follow_modules(module, all, reached);
        }
    }
}

/// Where a file's modules lie.
fn module_folder(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file == "mod.rs" || is_crate_root(path) {
        folder.to_owned()
    } else {
        path.trim_end_matches(".rs").to_owned()
    }
}

/// `name` of a line `mod name;`.
fn declared_module(line: &str) -> Option<&str> {
    let declaration = line.trim().strip_suffix(';')?;
    let (before, name) = declaration.rsplit_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

#[test]
fn commented_out_code_is_told_from_prose() {
    for code in [
        "// let x = 5;",
        "    // foo(bar);",
        "// if x == 1 {",
        "// }",
        "// use crate::x;",
    ] {
        assert!(is_commented_out(code), "{code}");
    }
    for prose in [
        "// Stores come first; atomics then.",
        "/// let x = 5;",
        "let x = 5; // as in the paper;",
        "// the list:",
        "// `let x = 5;`",
    ] {
        assert!(!is_commented_out(prose), "{prose}");
    }
}

#[test]
fn module_trees_are_followed_in_both_layouts() {
    let file = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let all = [
        file("crates/a/src/lib.rs", "pub mod b;\nmod c;"),
        file("crates/a/src/b/mod.rs", "mod d;"),
        file("crates/a/src/b/d.rs", ""),
        file("crates/a/src/c.rs", "    pub(crate) mod e;"),
        file("crates/a/src/c/e.rs", ""),
        file("crates/a/src/f.rs", ""),
    ];
    let mut reached = BTreeSet::new();
    follow_modules(&all[0], &all, &mut reached);
    assert_eq!(reached.len(), 5);
    assert!(!reached.contains("crates/a/src/f.rs"));
}
