//! House rules that neither rustfmt nor clippy checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of lines in a file. Longer files are tables, each with its reason.
const MAX_LINES: usize = 600;
const LONG_FILES: &[(&str, &str)] = &[];
/// Largest number of lines in a function. Longer functions are tables, each with its reason.
const MAX_FUNCTION_LINES: usize = 80;
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "crates/exec/src/ops.rs",
        "operate",
        "an arm for each operation",
    ),
    (
        "crates/lower/src/instruction.rs",
        "lower",
        "an arm for each opcode",
    ),
    (
        "crates/report/src/gpgpusim/tests.rs",
        "figures",
        "a row for each counter",
    ),
];
const MAX_COLUMNS: usize = 100;
/// Largest number of lines of the code that orders the host's work
/// (`docs/develop/host-execution.md`), tests not counted.
const MAX_HOST_LINES: usize = 4_000;
/// Folders and files of that code.
const HOST: &[&str] = &[
    "crates/gpu/src/host",
    "crates/sm/src/host",
    "crates/exec/src/replay.rs",
    "crates/exec/src/lookahead.rs",
    "crates/exec/src/memory/stored_lines.rs",
];
/// Largest number of columns of prose in the pages of the guide. A link may reach over the margin.
const MAX_PROSE_COLUMNS: usize = 108;
/// Parts of the paths of pages that tools write as a whole.
const GENERATED: &[&str] = &["docs/generated/", "docs/fidelity.md", "/claims.md"];

/// Crates that use neither files nor clocks: all below `run`, and those that only compute.
const PURE: &[&str] = &[
    "base", "diag", "stats", "config", "ptx", "ir", "lower", "assemble", "regalloc", "exec",
    "policy", "mem", "noc", "sm", "gpu", "report",
];
/// The only file of `lab` that accesses files.
const STORE: &str = "crates/lab/src/store.rs";
/// The only file with a global variable, in which C functions find their context.
const PROCESS: &str = "crates/cudart/src/process.rs";
/// The only file with a clock, which detects long waits. It decides which thread runs an SM, but no
/// result.
const WAITS: &str = "crates/gpu/src/host/wait.rs";
/// First words that leave open what a doc comment describes.
const PRONOUNS: &[&str] = &[
    "It", "Its", "They", "Their", "Them", "Those", "These", "This", "That", "One", "Of", "See",
    "What", "Who", "Whose", "Whoever", "Whatever",
];
/// Fewest words of a doc comment.
const MIN_WORDS: usize = 4;
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

    /// The crate that contains the file in its library or program.
    fn crate_of_src(&self) -> Option<&str> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        rest.starts_with("src/").then_some(name)
    }

    /// True for unit tests in a file of their own, and for helpers of tests.
    fn is_test_file(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.ends_with("/testing.rs")
    }

    /// Numbered lines up to the unit tests at the end.
    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        lines.take_while(|(_, line)| !line.starts_with("mod tests {"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All text files except for those that tools write.
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

/// Applies a rule to every line of the Rust files that it concerns.
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
fn host_scheduling_is_short() {
    let sources = sources();
    let is_host = |source: &&Source| {
        HOST.iter().any(|path| source.path.starts_with(path)) && !source.is_test_file()
    };
    let lines = sources
        .iter()
        .filter(is_host)
        .map(|s| s.code_lines().count());
    let lines: usize = lines.sum();
    assert!((2_000..=MAX_HOST_LINES).contains(&lines), "{lines} lines");
}

#[test]
fn functions_are_short() {
    let sources = sources();
    let functions = |source: &Source| -> Vec<(String, String, usize)> {
        let path = source.path.clone();
        let functions = functions(&source.text).into_iter();
        functions
            .map(|(name, lines)| (path.clone(), name, lines))
            .collect()
    };
    let rust = sources.iter().filter(|source| source.is_rust());
    let all: Vec<_> = rust.flat_map(functions).collect();
    assert!(all.len() > 5_000, "only {} functions found", all.len());
    let long = all.iter().filter(|(.., lines)| *lines > MAX_FUNCTION_LINES);
    let mut long: Vec<_> = long.map(|(path, name, _)| (&path[..], &name[..])).collect();
    for (path, name, reason) in LONG_FUNCTIONS {
        let at = long.iter().position(|found| found == &(*path, *name));
        let at = at.unwrap_or_else(|| panic!("{path}: `{name}` needs no excuse"));
        assert!(!reason.is_empty());
        long.remove(at);
    }
    assert!(
        long.is_empty(),
        "over {MAX_FUNCTION_LINES} lines: {long:#?}"
    );
}

/// Names of the functions of a formatted text, with their numbers of lines. A function ends with a
/// brace in the column in which it began, or with its first line.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends = |line: &&str| {
            let rest = line.strip_prefix(indent);
            rest.is_some_and(|rest| rest == "}" || !rest.starts_with(' ') && rest.ends_with(';'))
        };
        let is_one_line = line.ends_with('}') || line.ends_with(';');
        let more = lines[at + 1..].iter().position(ends);
        let more = more.filter(|_| !is_one_line);
        found.push((name.to_owned(), more.map_or(1, |more| more + 2)));
    }
    found
}

/// The name in the first line of a function.
fn function_name(line: &str) -> Option<&str> {
    let (before, rest) = line.trim_start().split_once("fn ")?;
    let is_qualifier = |word: &str| {
        let word = word.split('(').next().unwrap_or_default();
        ["pub", "const", "unsafe", "async", "extern"].contains(&word) || word.starts_with('"')
    };
    let name = rest.split(['(', '<']).next()?;
    (before.split_whitespace().all(is_qualifier) && !name.is_empty()).then_some(name)
}

#[test]
fn functions_are_measured() {
    let text = "fn a() {}
    pub(crate) fn b<T>(
        x: T,
    ) -> T {
        x
    }
    // A line about fn c().
    fn d(&self);
";
    let expected = [("a", 1), ("b", 5), ("d", 1)].map(|(name, lines)| (name.to_owned(), lines));
    assert_eq!(functions(text), expected);
}

#[test]
fn lines_are_short() {
    // rustfmt cannot break a string.
    check_lines(
        |_| true,
        |line| line.chars().count() > MAX_COLUMNS && !line.contains('"'),
    );
}

/// True for a page of prose that is written by hand.
fn is_page(source: &Source) -> bool {
    let is_generated = GENERATED.iter().any(|part| source.path.contains(part));
    source.path.starts_with("docs/") && source.path.ends_with(".md") && !is_generated
}

#[test]
fn lines_of_pages_are_short() {
    let mut long = Vec::new();
    for source in sources().iter().filter(|source| is_page(source)) {
        let mut in_code = false;
        for (number, line) in source.text.lines().enumerate() {
            in_code ^= line.starts_with("```");
            let cannot_wrap = line.starts_with(['|', '#', '!', '<']) || line.starts_with("    ");
            if !in_code && !cannot_wrap && line.chars().count() > MAX_PROSE_COLUMNS {
                long.push(format!("{}:{}", source.path, number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
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

/// True for a comment that ends like a statement or block, and not like a sentence.
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
fn prose_is_plain() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| has_prose(source)) {
        let mut note =
            |line: usize, why: &str| found.push(format!("{}:{line}: {why}", source.path));
        for (index, line) in source.text.lines().enumerate() {
            if line.to_lowercase().contains("so many") {
                note(index + 1, "write a number or its name for `so many`");
            }
        }
        if source.is_rust() {
            for comment in doc_comments(&source.text) {
                if let Some(why) = comment.fault() {
                    note(comment.line, &why);
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn has_prose(source: &Source) -> bool {
    let is_prose = source.is_rust() || source.path.ends_with(".md");
    is_prose && !is_this_file(source)
}

/// Consecutive lines of `///` or of `//!`.
struct DocComment {
    /// Number of the first line.
    line: usize,
    marker: &'static str,
    text: String,
}

impl DocComment {
    /// Reason why a reader cannot understand the comment, if there is one.
    fn fault(&self) -> Option<String> {
        let words: Vec<_> = self.text.split_whitespace().collect();
        let first = words.first()?.trim_end_matches([',', '.', ':']);
        if words.len() < MIN_WORDS {
            Some(format!(
                "fewer than {MIN_WORDS} words: {}",
                self.text.trim()
            ))
        } else if PRONOUNS.contains(&first) {
            Some(format!("`{first}` does not name the thing described"))
        } else {
            None
        }
    }
}

fn doc_comments(text: &str) -> Vec<DocComment> {
    let mut comments: Vec<DocComment> = Vec::new();
    let mut open = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!"].into_iter().find(|m| line.starts_with(m));
        let Some(marker) = marker.filter(|_| !line.starts_with("////")) else {
            open = None;
            continue;
        };
        if open != Some(marker) {
            comments.push(DocComment {
                line: index + 1,
                marker,
                text: String::new(),
            });
        }
        open = Some(marker);
        let comment = comments.last_mut().expect("just added");
        comment.text += &line[comment.marker.len()..];
        comment.text.push('\n');
    }
    comments
}

#[test]
fn riddles_are_told_from_sentences() {
    let fault = |text: &str| {
        let comments = doc_comments(text);
        comments.iter().filter_map(DocComment::fault).count()
    };
    assert_eq!(fault("/// It does.\nfn f() {}\n"), 1);
    assert_eq!(fault("    /// Of each in a round.\n"), 1);
    assert_eq!(fault("//! What comes to the buffer first.\n"), 1);
    assert_eq!(fault("/// Number of\n/// warps.\n/// In a block.\n"), 0);
    assert_eq!(fault("/// Number of warps.\n//! Tests of one warp.\n"), 1);
    assert_eq!(fault("// It is no doc comment.\n"), 0);
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

/// True for files that Cargo compiles directly: `src/lib.rs`, `src/main.rs`, `build.rs`, tests,
/// examples, benches, and `tests/NAME/main.rs`.
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

/// Adds `source` and the files of its `mod name;` lines to `reached`.
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

/// Folder of a file's submodules.
fn module_folder(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file == "mod.rs" || is_crate_root(path) {
        folder.to_owned()
    } else {
        path.trim_end_matches(".rs").to_owned()
    }
}

/// The name in a line `mod name;`.
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

#[test]
fn the_image_is_built_with_the_oldest_rust_that_works() {
    let text = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let manifest = text("Cargo.toml");
    let (_, rest) = manifest.split_once("rust-version = \"").unwrap();
    let (version, _) = rest.split_once('"').unwrap();
    let line = format!("ARG RUST={version}\n");
    assert!(text("Containerfile").contains(&line), "{line}");
}
