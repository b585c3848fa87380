//! Tests that crates use only what their row of the table in `ARCHITECTURE.md` names, and that the
//! files of a crate do not import from each other in circles.

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// Names of crates with the crates that each may use, in the order of the table.
type Layers = Vec<(String, BTreeSet<String>)>;

/// Rows `| crate | purpose | may use |` of the section "Crates".
fn layers(architecture: &str) -> Layers {
    let mut sections = architecture.split("\n## ");
    let section = sections.find(|section| section.starts_with("Crates\n"));
    let lines = section.unwrap_or_default().lines();
    let rows = lines.filter(|line| line.starts_with("| "));
    rows.skip(1).map(layer).collect()
}

fn layer(row: &str) -> (String, BTreeSet<String>) {
    let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [name, _purpose, uses] = cells[..] else {
        panic!("not three cells: {row}");
    };
    let uses = uses.split(", ").filter(|name| *name != "-");
    (name.to_owned(), uses.map(str::to_owned).collect())
}

fn uses<'a>(layers: &'a Layers, of: &str) -> &'a BTreeSet<String> {
    let row = layers.iter().find(|(name, _)| name == of);
    &row.unwrap_or_else(|| panic!("{of} has no row")).1
}

/// All crates that a crate reaches through the table.
fn reach(layers: &Layers, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for used in uses(layers, name) {
            if reached.insert(used.clone()) {
                open.push(used);
            }
        }
    }
    reached
}

/// Everything that the tests of a crate may use: what the crate itself reaches, and, where that
/// includes `ir`, what is needed to make its programs from text.
fn reach_of_tests(layers: &Layers, from: &str) -> BTreeSet<String> {
    let mut reached = reach(layers, from);
    if reached.contains("ir") {
        reached.extend(reach(layers, "lower"));
        reached.insert("lower".to_owned());
    }
    reached
}

/// A dependency between two crates of the workspace.
struct Edge {
    from: String,
    to: String,
    only_in_tests: bool,
}

/// The fields of `cargo metadata` that this test reads. The crate `cargo_metadata` would enable a
/// feature of serde_json that no other crate needs, and everything would be built twice.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Present only for dependencies within the workspace.
    path: Option<String>,
    /// `dev` or `build`; `None` for a dependency of the library itself.
    kind: Option<String>,
}

fn metadata() -> Metadata {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--no-deps"]);
    let output = command.arg("--manifest-path").arg(manifest).output();
    let output = output.expect("cargo metadata");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).expect("what cargo documents")
}

/// Ending of the name of a package that has only the tests of a crate.
const TESTS: &str = "-tests";

/// The crate that a package is or tests, without the prefix of all names.
fn short(name: &str) -> String {
    let name = name.strip_prefix("warploom-").unwrap_or(name);
    name.strip_suffix(TESTS).unwrap_or(name).to_owned()
}

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let packages = metadata.packages.iter();
    packages
        .flat_map(|package| {
            let inside = package.dependencies.iter().filter(|d| d.path.is_some());
            inside.map(|dependency| Edge {
                from: short(&package.name),
                to: short(&dependency.name),
                only_in_tests: dependency.kind.as_deref() == Some("dev"),
            })
        })
        .filter(|edge| edge.from != edge.to)
        .collect()
}

fn table() -> Layers {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    layers(&fs::read_to_string(path).expect("ARCHITECTURE.md"))
}

#[test]
fn the_table_names_every_crate_and_no_other() {
    let packages = metadata().packages;
    let crates: BTreeSet<_> = packages.iter().map(|p| short(&p.name)).collect();
    let named: BTreeSet<_> = table().into_iter().map(|(name, _)| name).collect();
    assert!(crates.len() >= 17, "{crates:?}");
    assert_eq!(named, crates);
}

#[test]
fn a_crate_uses_only_what_stands_above_it() {
    let mut above = BTreeSet::new();
    for (name, uses) in table() {
        let below: Vec<_> = uses.difference(&above).collect();
        assert!(below.is_empty(), "{name} uses {below:?}");
        above.insert(name);
    }
}

#[test]
fn no_crate_uses_what_its_row_does_not_name() {
    let table = table();
    let edges = edges(&metadata());
    assert!(edges.len() >= 40, "only {} edges", edges.len());
    let forbidden = |edge: &&Edge| {
        let allowed = if edge.only_in_tests {
            reach_of_tests(&table, &edge.from)
        } else {
            uses(&table, &edge.from).clone()
        };
        !allowed.contains(&edge.to)
    };
    let found = edges.iter().filter(forbidden);
    let found: Vec<_> = found.map(|e| format!("{} -> {}", e.from, e.to)).collect();
    assert_eq!(found, Vec::<String>::new());
}

/// Tests of what is optimised take several times as long to compile where they are optimised, too.
#[test]
fn packages_of_tests_have_all_tests_of_their_crates_and_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut seen = 0;
    for package in metadata().packages {
        let name = package.name.strip_prefix("warploom-");
        let Some(name) = name.and_then(|name| name.strip_suffix(TESTS)) else {
            continue;
        };
        seen += 1;
        let kinds = package.dependencies.iter().map(|d| d.kind.as_deref());
        assert!(
            kinds.into_iter().all(|kind| kind == Some("dev")),
            "{}",
            package.name
        );
        let folder = root.join(name);
        let manifest = |path: &str| fs::read_to_string(folder.join(path)).expect("a manifest");
        let crate_itself = manifest("Cargo.toml");
        assert!(
            crate_itself.contains("[lib]\ntest = false\n"),
            "{}",
            package.name
        );
        assert!(
            !crate_itself.contains("[dev-dependencies]"),
            "{}",
            package.name
        );
        let tests = manifest("tests/Cargo.toml");
        for entry in fs::read_dir(folder.join("tests")).expect("a folder of tests") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name");
            let root = if path.join("main.rs").exists() {
                format!("path = \"{name}/main.rs\"\n")
            } else if name.ends_with(".rs") {
                format!("path = \"{name}\"\n")
            } else {
                continue;
            };
            assert!(tests.contains(&root), "{} lacks {root}", package.name);
        }
        assert!(
            tests.contains("path = \"../src/lib.rs\"\n"),
            "{}",
            package.name
        );
    }
    assert!(seen >= 12, "only {seen}");
}

#[test]
fn the_reader_sees_rows_and_what_they_reach() {
    let text = "# A\n\n## Crates\n\n| crate | purpose | may use |\n|---|---|---|\n\
        | a | x | - |\n| b | x | a |\n| c | x | b |\n\n## Next\n\n| z | x | y |\n";
    let layers = layers(text);
    let names: Vec<_> = layers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(uses(&layers, "a").is_empty());
    let reached = reach(&layers, "c");
    assert_eq!(reached.into_iter().collect::<Vec<_>>(), ["a", "b"]);
}
