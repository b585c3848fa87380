//! Every file in `tests/listings` is lowered. The `.txt` beside it holds the listing of its kernels
//! (with facts if the file's first line says `// facts`), its variables and the kernels refused.
//! `WARPLOOM_BLESS=1` writes the listings anew.

use std::fmt::Write as _;
use std::path::Path;
use warploom_diag::{Diagnostics, Source, Style};

fn listing(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("the test's input can be read");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let with_facts = text.starts_with("// facts");
    let source = Source::new(name, text);
    let (module, diagnostics) = warploom_ptx::parse(&source);
    assert!(
        !diagnostics.has_errors(),
        "{}",
        render(&diagnostics, &source)
    );
    let module = match warploom_lower::lower(&module, &source) {
        Ok(module) => module,
        Err(errors) => return render(&errors, &source),
    };
    let mut out = String::new();
    for (nth, global) in module.globals.iter().enumerate() {
        let _ = writeln!(out, "g{nth} = {global:?}");
    }
    for (nth, texture) in module.textures.iter().enumerate() {
        let _ = writeln!(out, "t{nth} = {texture}");
    }
    for kernel in &module.kernels {
        let _ = match with_facts {
            true => writeln!(out, "{kernel:#}"),
            false => writeln!(out, "{kernel}"),
        };
    }
    for (kernel, errors) in &module.refused {
        let _ = writeln!(out, "refused {kernel}:\n{}", render(errors, &source));
    }
    out
}

fn render(errors: &Diagnostics, source: &Source) -> String {
    errors.render(source, Style::Plain)
}

#[test]
fn listings_are_as_expected() {
    let bless = std::env::var_os("WARPLOOM_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of inputs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() >= 10, "only {} inputs found", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let found = listing(&file);
        let expected = file.with_extension("txt");
        if bless {
            std::fs::write(&expected, &found).expect("the listing can be written");
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "listings differ\n{}", wrong.join("\n"));
}
