//! Code of real compilers: every kernel lowers or is refused with a reason, and the estimate of
//! registers is near the numbers of `ptxas`.

use std::path::{Path, PathBuf};
use warploom_diag::Source;
use warploom_ir::ModuleIr;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn lower(path: &Path) -> ModuleIr {
    let bytes = std::fs::read(path).expect("the corpus can be read");
    let source = Source::from_bytes(path.display().to_string(), bytes).expect("PTX is text");
    let (module, diagnostics) = warploom_ptx::parse(&source);
    assert!(
        !diagnostics.has_errors(),
        "{} does not parse",
        path.display()
    );
    warploom_lower::lower(&module, &source).expect("the corpus has no wrong variables")
}

fn ptx_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            ptx_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn the_parsers_corpus_lowers_or_is_refused_by_name() {
    let mut files = Vec::new();
    ptx_files(&folder("../ptx/tests/corpus"), &mut files);
    let mut lowered = 0;
    for file in &files {
        let module = lower(file);
        lowered += module.kernels.len();
        for (kernel, errors) in &module.refused {
            let strange = errors.iter().find(|e| e.code != "not-supported");
            assert_eq!(strange, None, "{kernel} in {}", file.display());
            assert!(errors.has_errors(), "{kernel} is refused without a reason");
        }
    }
    assert!(
        lowered >= 30,
        "only {lowered} kernels of {} files",
        files.len()
    );
}

/// Checks the errors that the documentation of `pressure` states.
#[test]
fn registers_are_near_ptxas() {
    let module = lower(&folder("tests/registers/kernels.ptx"));
    let table = std::fs::read_to_string(folder("tests/registers/ptxas.txt"));
    let table = table.expect("the table of ptxas's figures");
    let (mut count, mut absolute, mut relative) = (0.0, 0.0, 0.0);
    for line in table.lines() {
        let (name, registers) = line.split_once(' ').expect("name and registers");
        let registers: f64 = registers.parse().expect("a number");
        let kernel = module.kernels.iter().find(|k| k.name == name);
        let ours = f64::from(kernel.expect("the kernel lowers").registers_per_thread);
        count += 1.0;
        absolute += (ours - registers).abs();
        relative += (ours - registers).abs() / registers;
    }
    assert!(count >= 30.0, "only {count} kernels");
    let (absolute, relative) = (absolute / count, relative / count);
    assert!(absolute <= 4.5, "mean absolute error {absolute}");
    assert!(relative < 0.18, "mean relative error {relative}");
}
