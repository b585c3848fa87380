//! Damaged files: a file that still parses is lowered or refused, without a panic.

use std::path::Path;
use warploom_base::Rng;
use warploom_diag::Source;

/// Splits a text into words, numbers and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = |c: char| c.is_alphanumeric() || "_%$".contains(c);
        let end = match in_word(first) {
            true => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// Deletes, repeats or exchanges one to four tokens.
fn damage(text: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    for _ in 0..=rng.below(3) {
        let at = rng.below(tokens.len() as u32) as usize;
        let other = rng.below(tokens.len() as u32) as usize;
        match rng.below(4) {
            0 => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, tokens[other]),
            2 => tokens[at] = tokens[other],
            _ => tokens.swap(at, other),
        }
    }
    tokens.concat()
}

#[test]
fn damaged_files_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the inputs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    let mut rng = Rng::new(20);
    let (mut lowered, mut refused) = (0, 0);
    for file in &files {
        let text = std::fs::read_to_string(file).expect("an input");
        for _ in 0..300 {
            let source = Source::new("damaged.ptx", damage(&text, &mut rng));
            let (module, diagnostics) = warploom_ptx::parse(&source);
            let result = warploom_lower::lower(&module, &source);
            if let (false, Ok(module)) = (diagnostics.has_errors(), result) {
                lowered += module.kernels.len();
                refused += module.refused.len();
            }
        }
    }
    assert!(
        lowered > 500 && refused > 200,
        "{lowered} lowered, {refused} refused"
    );
}
