//! The kernels of today (`xtask/data/kernels`), which `xtask/kernels.py` makes from the examples.
//! Outputs are compared with numpy there, and those of the examples by the tests of the package
//! for Python. Here each module is compiled, and its launch is bound to the machine.

use std::path::{Path, PathBuf};
use warploom_config::preset;
use warploom_run::launch_file::{LaunchFile, Limits};

fn launch_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../xtask/data/kernels");
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect()
}

#[test]
fn launches_of_all_kernels_suit_the_machine() {
    let machine = preset("h200-hopper").expect("a preset");
    let files = launch_files();
    assert!(files.len() >= 12, "{files:?}");
    for path in files {
        let file = LaunchFile::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let program = file.program(Limits::of(&machine));
        assert!(program.is_ok(), "{}: {:?}", path.display(), program.err());
    }
}
