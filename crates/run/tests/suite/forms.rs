//! Functional tests of PTX instruction forms. The values are in the text files of this folder,
//! which `README.md` describes. This program parses the files, runs the tests and compares the
//! results.
//!
//! The values come from the PTX ISA's definitions, never from this simulator.

mod job;
mod kernel;
mod machine;
mod ptx;
mod table;
mod texture;
mod value;

use job::Job;
use std::collections::BTreeSet;
use std::path::Path;
use warploom_config::InstructionOrder;

/// Smallest number of different forms that the files must cover. They cover many more.
const LEAST_FORMS: usize = 300;

/// Base opcodes that the files must cover.
const OPCODES: &str = include_str!("forms/opcodes.list");

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/suite/forms"))
}

/// Parses a file of forms and kernels. Unindented lines start a test, and indented lines belong to
/// it.
fn read_file(name: &str) -> Vec<Job> {
    let text = std::fs::read_to_string(folder().join(name)).expect("the file exists");
    let numbered = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    let lines: Vec<(usize, &str)> = numbered
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .collect();
    let mut jobs = Vec::new();
    for chunk in lines.chunk_by(|_, next| next.1.starts_with(' ')) {
        let (line, header) = chunk[0];
        let body: Vec<(usize, &str)> = chunk[1..].iter().map(|(n, l)| (*n, l.trim())).collect();
        let job = match header.split_once(' ') {
            Some(("form", form)) => table::read(line, form, &body),
            Some(("kernel", forms)) => kernel::read(line, forms, &body),
            _ => Err(format!("{line}: neither `form` nor `kernel`")),
        };
        jobs.push(job.unwrap_or_else(|error| panic!("{name}:{error}")));
    }
    jobs
}

fn check(name: &str) {
    let jobs = read_file(name);
    expect_none(name, jobs.iter().flat_map(Job::run).collect());
}

/// Runs a file on the timed machine, as text and as an assembler makes it.
fn check_timed(name: &str) {
    let text = warploom_config::preset("gtx480").expect("the preset is sound");
    let mut assembled = text.clone();
    assembled.sm.folds_instructions = true;
    assembled.sm.instruction_order = InstructionOrder::Assembler;
    let jobs = read_file(name);
    for spec in [text, assembled] {
        let wrong = jobs.iter().flat_map(|job| machine::run(job, &spec));
        expect_none(name, wrong.collect());
    }
}

fn expect_none(name: &str, wrong: Vec<String>) {
    let list = wrong.join(&format!("\n{name}:"));
    assert!(
        wrong.is_empty(),
        "{} mismatches\n{name}:{list}",
        wrong.len()
    );
}

macro_rules! files {
    ($($test:ident)*) => {
        const FILES: &[&str] = &[$(concat!(stringify!($test), ".txt")),*];
        $(
            #[test]
            fn $test() {
                check(concat!(stringify!($test), ".txt"));
            }
        )*
        mod timed {
            $(
                #[test]
                fn $test() {
                    super::check_timed(concat!(stringify!($test), ".txt"));
                }
            )*
        }
    };
}

files! {
    address
    approx
    asynchronous
    atomic
    barrier
    bits
    bulk
    carry
    cluster
    compare
    contention
    control
    convert_float
    convert_int
    float16
    float32
    float64
    integer
    memory
    special
    stack
    surfaces
    textures
    video
    warp
}

fn covered() -> BTreeSet<String> {
    FILES
        .iter()
        .flat_map(|name| read_file(name))
        .flat_map(|job| job.covers)
        .collect()
}

#[test]
fn every_file_is_tested() {
    let entries = std::fs::read_dir(folder()).expect("the folder exists");
    let names = entries.map(|entry| entry.expect("a readable entry").file_name());
    let texts: BTreeSet<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".txt"))
        .collect();
    assert_eq!(texts, FILES.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn enough_forms_are_covered() {
    let forms = covered();
    assert!(forms.len() >= LEAST_FORMS, "only {} forms", forms.len());
}

#[test]
fn every_executed_opcode_is_covered() {
    let covered = covered();
    let bases: BTreeSet<&str> = covered
        .iter()
        .filter_map(|form| form.split('.').next())
        .collect();
    let missing: Vec<&str> = OPCODES
        .split_whitespace()
        .filter(|op| !bases.contains(op))
        .collect();
    assert_eq!(missing, [""; 0], "base opcodes without a test");
}

#[test]
fn wrong_values_are_reported_with_their_lines() {
    let rows = [(2, "1, 2 -> 3"), (3, "1, 2 -> 4"), (4, "-1, 1 -> 1")];
    let job = table::read(1, "add.s32 d:s32, a:s32, b:s32", &rows).expect("a correct form");
    let wrong = job.run();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(
        wrong[0].starts_with("3: ") && wrong[0].contains("is 3 (0x3)"),
        "{wrong:?}"
    );
    assert!(
        wrong[1].starts_with("4: ") && wrong[1].contains("a -1"),
        "{wrong:?}"
    );
    let refused = table::read(1, "add.nothing.s32 d:s32, a:s32, b:s32", &rows[..1]);
    let wrong = refused.expect("a readable form").run();
    assert!(
        wrong.len() == 1 && wrong[0].contains("add.nothing"),
        "{wrong:?}"
    );
}
