//! Files that the tests of this crate share.

use std::path::{Path, PathBuf};
use warploom_diag::Source;

/// Every PTX file of the corpus, in order of their paths.
pub fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root)
        .expect("the corpus is checked in")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| ptx_files(&folder))
        .collect();
    files.sort();
    assert!(files.len() >= 14, "only {} corpus files found", files.len());
    files
}

/// The PTX files of one folder, in order of their names.
pub fn ptx_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("folder is checked in")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files
}

/// A file with its bare name, so that messages do not depend on where the project lies.
pub fn read(path: &Path) -> Source {
    let name = path.file_name().expect("a file").to_string_lossy();
    let bytes = std::fs::read(path).expect("readable");
    Source::from_bytes(name, bytes).expect("the corpus is text")
}
