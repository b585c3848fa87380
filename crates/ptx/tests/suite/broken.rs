//! Broken files and what is said about them: one snapshot a file, so that a reader can judge
//! whether place, message and remedy are right.

use crate::files::{ptx_files, read};
use std::path::Path;
use warploom_diag::{Source, Style};
use warploom_ptx::load;

/// Messages that a user sees about a file.
fn told(source: &Source) -> String {
    let Err(diagnostics) = load(source) else {
        panic!("{} is not broken", source.name())
    };
    for diagnostic in &diagnostics {
        assert!(
            !diagnostic.help.is_empty(),
            "no remedy: {}",
            diagnostic.message
        );
    }
    diagnostics.render(source, Style::Plain)
}

#[test]
fn every_broken_file_gets_located_and_useful_messages() {
    let files = ptx_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("broken"));
    assert!(files.len() >= 40, "only {} broken files", files.len());
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for path in files {
            let source = read(&path);
            let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
            insta::assert_snapshot!(name, told(&source));
        }
    });
}
