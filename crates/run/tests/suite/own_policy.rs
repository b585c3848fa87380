//! The example of a policy in a crate of its own: its code compiles against these crates and runs.

#[allow(clippy::print_stdout, reason = "the example is a program")]
#[path = "../../../../examples/policy/src/main.rs"]
mod example;

use std::path::Path;

#[test]
fn the_example_of_a_policy_runs_and_its_policy_acts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let runs = example::compare(&root.join("examples/saxpy/saxpy.toml"));
    let [gto, own] = runs.unwrap_or_else(|why| panic!("{why}"));
    assert!(gto.succeeded() && own.succeeded());
    assert_ne!(gto.totals.figures.cycles, own.totals.figures.cycles);
}

/// The manifest of the example names crates that exist, so that it builds outside of the workspace.
#[test]
fn the_example_names_crates_that_exist() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/policy");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let dependencies = manifest["dependencies"].as_table().expect("dependencies");
    let code = ["main.rs", "fewest_issues.rs"];
    let code = code.map(|name| std::fs::read_to_string(folder.join("src").join(name)).unwrap());
    for (name, dependency) in dependencies {
        let own = folder
            .join(dependency["path"].as_str().expect("a path"))
            .join("Cargo.toml");
        let own: toml::Table = std::fs::read_to_string(own)
            .expect("a crate")
            .parse()
            .unwrap();
        assert_eq!(own["package"]["name"].as_str(), Some(name.as_str()));
        let used = format!("use {}::", name.replace('-', "_"));
        assert!(
            code.iter().any(|text| text.contains(&used)),
            "{name} is not used"
        );
    }
    assert_eq!(
        manifest["workspace"].as_table().map(toml::Table::len),
        Some(0)
    );
}
