//! The examples run, and the pages that show them say what they print.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{json, warploom_in};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Runs `warploom` in the repository's root and gives what it printed.
fn run(args: &[&str]) -> String {
    let ran = warploom_in(&root(), args);
    assert_eq!((ran.status, ran.told().as_str()), (0, ""), "{}", ran.out);
    ran.out
}

#[test]
fn the_saxpy_example_prints_what_its_page_shows() {
    let out = run(&["run", "examples/saxpy/saxpy.toml"]);
    let page = page("your-own-kernel.md");
    let row = out.lines().find(|line| line.starts_with("saxpy "));
    assert!(page.contains(row.expect("a row of the kernel")), "{out}");
    assert!(out.contains("check y passed: 100000 values"), "{out}");
    let kernel =
        "--grid 4 --block 256 --arg 1024 --arg 2.0 --arg f32[1024]=uniform --arg f32[1024]=1.0";
    let mut args = vec!["run", "examples/saxpy/saxpy.ptx"];
    args.extend(kernel.split(' '));
    assert!(run(&args).contains("saxpy"));
}

/// Counts of the example of clusters, for random values and clusters of some sizes, are those of a
/// count on the CPU.
#[test]
fn the_histogram_of_a_cluster_counts_what_the_cpu_counts() {
    let gpu = "h100-hopper";
    let out = run(&["run", "examples/cluster/histogram.toml", "--gpu", gpu]);
    assert!(out.contains("check counts passed: 4096 values"), "{out}");
    let folder = tempfile::tempdir().unwrap();
    let words = |name: &str, count: usize| {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        let data = &bytes[bytes.len() - 4 * count..];
        let words = data.chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        words.collect::<Vec<u32>>()
    };
    let module = root().join("examples/cluster/histogram.ptx");
    for (blocks, threads) in [(2, "1"), (8, "2")] {
        let (n, bins) = (5000, 1024 * blocks);
        let text = format!(
            "module = {module:?}\n[[buffer]]\nname = \"v\"\ntype = \"u32\"\nshape = [{n}]\n\
             init = \"uniform\"\nlow = 0\nhigh = 100000\nseed = {blocks}\n\
             [[buffer]]\nname = \"c\"\ntype = \"u32\"\nshape = [{bins}]\ninit = \"zeros\"\n\
             [[launch]]\nkernel = \"histogram\"\ngrid = {}\nblock = 96\ncluster = {blocks}\n\
             args = [{n}, \"v\", \"c\"]\n\
             [[dump]]\nbuffer = \"v\"\nnpy = \"v.npy\"\n[[dump]]\nbuffer = \"c\"\nnpy = \"c.npy\"\n",
            3 * blocks
        );
        let file = folder.path().join("launch.toml");
        std::fs::write(&file, text).unwrap();
        let file = file.to_string_lossy();
        run(&["run", &file, "--gpu", gpu, "--threads", threads]);
        let mut expected = vec![0; bins];
        for value in words("v.npy", n) {
            expected[value as usize % bins] += 1;
        }
        assert_eq!(words("c.npy", bins), expected);
    }
}

#[test]
fn every_cause_of_a_scheduler_cycle_is_explained() {
    let result = json(&run(&["run", "examples/saxpy/saxpy.toml", "--json"]));
    let stalls = result["totals"]["stalls"].as_object().unwrap();
    assert_eq!(stalls.len(), 9);
    let page = page("reading-a-result.md");
    for cause in stalls.keys() {
        assert!(page.contains(&format!("\n| `{cause}` | ")), "{cause}");
    }
}

/// Environment in which scripts find the command that is tested.
fn with_warploom(command: &mut Command) -> &mut Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_warploom"));
    let folder = bin.parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap();
    command.env("PATH", path).env("WARPLOOM", bin)
}

#[test]
#[cfg(unix)]
fn the_comparison_writes_a_table_and_a_chart() {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(root().join("examples/compare/compare.sh"));
    let ran = with_warploom(command.arg(out.path())).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    let text = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    assert_eq!(text("schedulers.csv").lines().count(), 1 + 9);
    let chart = text("schedulers.svg");
    assert!(chart.starts_with("<svg") && chart.contains("two-level"));
}

/// Runs the notebook's cells in one Python program, as a notebook does. Cells that need pandas run
/// where it is installed.
#[test]
#[cfg(unix)]
#[allow(clippy::print_stderr, reason = "the tests' log says what is skipped")]
fn the_notebook_runs_from_top_to_bottom() {
    let python = |program: &str, folder: &Path| {
        let mut command = Command::new("python3");
        command.args(["-c", program]).current_dir(folder);
        with_warploom(command.env("MPLBACKEND", "agg")).output()
    };
    let Ok(version) = python("print(3)", Path::new(".")) else {
        eprintln!("skipped: there is no python3 to run the notebook");
        return;
    };
    assert!(version.status.success());
    let has_pandas = python("import pandas, matplotlib", Path::new("."));
    let has_pandas = has_pandas.unwrap().status.success();
    if !has_pandas {
        eprintln!("the cells for pandas are skipped: pandas or matplotlib is not installed");
    }
    let book = std::fs::read_to_string(root().join("examples/notebook/results.ipynb")).unwrap();
    let book = json(&book);
    let cells = book["cells"].as_array().unwrap().iter();
    let needs_pandas = |cell: &serde_json::Value| cell["metadata"]["tags"][0] == "pandas";
    let cells: Vec<String> = cells
        .filter(|cell| cell["cell_type"] == "code" && (has_pandas || !needs_pandas(cell)))
        .map(|cell| cell["source"].as_array().unwrap().iter())
        .map(|lines| lines.map(|line| line.as_str().unwrap()).collect())
        .collect();
    assert!(cells.len() >= 3);
    // The notebook writes files beside itself: it runs in a copy of its folder.
    let copy = tempfile::tempdir().unwrap();
    let (saxpy, own) = (copy.path().join("saxpy"), copy.path().join("notebook"));
    std::fs::create_dir(&saxpy).unwrap();
    std::fs::create_dir(&own).unwrap();
    for name in ["saxpy.toml", "saxpy.ptx"] {
        std::fs::copy(root().join("examples/saxpy").join(name), saxpy.join(name)).unwrap();
    }
    let ran = python(&cells.join("\n"), &own).unwrap();
    let (out, told) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{told}");
    assert!(out.contains("gto") && out.contains("cycles, IPC"), "{out}");
    assert!(out.contains("6 rows with "), "{out}");
    assert_eq!(own.join("stalls.png").is_file(), has_pandas);
}

#[test]
fn the_table_of_examples_lists_every_folder() {
    let examples = root().join("examples");
    let page = std::fs::read_to_string(examples.join("README.md")).unwrap();
    for entry in std::fs::read_dir(examples).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let listed = page.contains(&format!("| [`{name}`]({name}) | "));
        assert_eq!(listed, entry.path().is_dir(), "{name}");
    }
}
