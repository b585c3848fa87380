//! Damaged files: whatever is cut, spliced or scribbled into a good file, parser, checker, printer
//! and renderer must not panic; and what still reads without an error must survive printing.

use crate::files::{corpus, ptx_files, read};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;
use std::sync::LazyLock;
use warploom_diag::{Source, Style};
use warploom_ptx::{check, parse, print};

/// Corpus files short enough that thousands of cases take seconds.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let texts = corpus()
        .into_iter()
        .map(|path| read(&path).text().to_owned());
    let short: Vec<String> = texts.filter(|text| text.len() < 16_000).collect();
    assert!(short.len() > 8, "too few short corpus files");
    short
});

/// Reads, checks, draws, prints; asserts what must hold for any text at all.
fn survives(text: &str) {
    let source = Source::new("damaged", text);
    let (module, mut diagnostics) = parse(&source);
    if diagnostics.has_errors() {
        assert!(!diagnostics.render(&source, Style::Plain).is_empty());
        return;
    }
    let printed = Source::new("printed", print(&module));
    let (again, complaints) = parse(&printed);
    assert!(
        !complaints.has_errors(),
        "{}",
        complaints.render(&printed, Style::Plain)
    );
    assert!(again == module, "printing changed the tree of {text:?}");
    diagnostics.append(check(&module));
    diagnostics.render(&source, Style::Plain);
}

/// Way to damage a text.
#[derive(Clone, Debug)]
enum Damage {
    Truncate(Index),
    Remove(Index, usize),
    Insert(Index, String),
    CopyFrom(Index, Index, Index, usize),
}

/// Fragments that lead the parser somewhere: openers, closers, operators, odd characters.
const FRAGMENTS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "-",
    "+",
    "*",
    "/",
    "?",
    "<",
    ">",
    "\"",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    "\r",
    "\0",
    "\u{e9}",
    "_",
    "%",
    "%r1",
    ".",
    ".b32",
    ".v4",
    ".reg",
    ".func",
    ".entry f()",
    "0x",
    "0f",
    "1e999",
    "-9223372036854775808",
    "18446744073709551615",
    "((((((((((",
    "{{{{{{{{{{",
    "- - - - -",
    "!!!!!",
    "? 1 :",
    "generic(",
    "0xFF(",
    ".align 4294967295",
    "WARP_SZ",
    "% 0",
    ">> 99",
    "%tid.x",
    "a[1]",
    "<4294967295>",
    "[18446744073709551615]",
];

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(FRAGMENTS).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::Truncate),
        (any::<Index>(), 1..200_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        (any::<Index>(), fragment()).prop_map(|(at, text)| Damage::Insert(at, text)),
        (any::<Index>(), any::<Index>(), any::<Index>(), 1..400_usize)
            .prop_map(|(file, from, at, len)| Damage::CopyFrom(file, from, at, len)),
    ]
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn place(text: &str, index: &Index) -> usize {
    floor(text, index.index(text.len() + 1))
}

fn apply(text: &mut String, damage: &Damage) {
    match damage {
        Damage::Truncate(at) => text.truncate(place(text, at)),
        Damage::Remove(at, len) => {
            let start = place(text, at);
            text.replace_range(start..floor(text, start + len), "");
        }
        Damage::Insert(at, fragment) => text.insert_str(place(text, at), fragment),
        Damage::CopyFrom(file, from, at, len) => {
            let other = file.get(&TEXTS);
            let start = place(other, from);
            let piece = &other[start..floor(other, start + len)];
            text.insert_str(place(text, at), piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn damaged_files_cause_no_panic(file in any::<Index>(), damages in vec(damage(), 1..8)) {
        let mut text = file.get(&TEXTS).clone();
        damages.iter().for_each(|damage| apply(&mut text, damage));
        survives(&text);
    }

    #[test]
    fn scraps_cause_no_panic(scraps in vec(fragment(), 0..60), glue in "[ \n;,]{0,1}") {
        survives(&scraps.join(&glue));
        survives(&format!(".version 8.0\n.target sm_75\n.func f() {{ {} }}", scraps.join(&glue)));
        survives(&format!(".version 8.0\n.target sm_75\n.global .u32 a[4] = {{ {} }};", scraps.join(&glue)));
    }
}

#[test]
fn every_prefix_of_a_file_is_survived() {
    let text = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/hand/syntax.ptx"));
    let text = text.text();
    (0..=text.len())
        .filter(|at| text.is_char_boundary(*at))
        .for_each(|at| survives(&text[..at]));
}

#[test]
fn inputs_that_fuzzing_found_are_survived() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        ptx_files(&root.join("fuzzed")),
        ptx_files(&root.join("broken")),
    ]
    .concat();
    assert!(files.len() >= 200, "only {} inputs", files.len());
    files.iter().for_each(|path| survives(read(path).text()));
}

#[test]
fn nesting_and_repetition_are_bounded() {
    let many = 100_000;
    for unit in [
        "(",
        "{",
        "[",
        "-",
        "!",
        "~",
        "? 1 : ",
        "1 +",
        "{ .reg .b32 a;",
        "@",
        "{{",
        "0xFF(",
    ] {
        let heap = unit.repeat(many);
        survives(&heap);
        survives(&format!(
            ".version 8.0\n.target sm_75\n.func f() {{ mov.u32 a, {heap}; }}"
        ));
        survives(&format!(
            ".version 8.0\n.target sm_75\n.func f() {{ {heap} }}"
        ));
        survives(&format!(
            ".version 8.0\n.target sm_75\n.global .u32 a = {heap};"
        ));
    }
}
