//! Every file of the corpus is read without a diagnostic, and printing loses nothing.

use crate::files::{corpus, read};
use warploom_diag::Style;
use warploom_ptx::{check, parse, print};

#[test]
fn every_file_parses_and_survives_printing() {
    for path in corpus() {
        let source = read(&path);
        let (module, diagnostics) = parse(&source);
        assert!(
            diagnostics.is_empty(),
            "{}",
            diagnostics.render(&source, Style::Plain)
        );
        let printed = print(&module);
        let again = warploom_diag::Source::new("printed", printed.clone());
        let (reread, diagnostics) = parse(&again);
        assert!(
            diagnostics.is_empty(),
            "{}",
            diagnostics.render(&again, Style::Plain)
        );
        assert!(
            reread == module,
            "{}: printing changed the tree",
            path.display()
        );
        assert_eq!(
            print(&reread),
            printed,
            "{}: printing is not stable",
            path.display()
        );
    }
}

#[test]
fn every_file_passes_the_checks() {
    for path in corpus() {
        let source = read(&path);
        let diagnostics = check(&parse(&source).0);
        assert!(
            diagnostics.is_empty(),
            "{}",
            diagnostics.render(&source, Style::Plain)
        );
    }
}
