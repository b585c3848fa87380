//! Figures whose runs workers make are those of one process, byte for byte.

use super::left_behind;
use crate::support::warploom_in;
use std::path::Path;

fn pages(folder: &Path) -> Vec<String> {
    let read = |ending| {
        let path = folder.join(format!("results/cooperative/fig3.{ending}"));
        std::fs::read_to_string(path).unwrap()
    };
    ["json", "csv", "svg"].map(read).to_vec()
}

#[test]
fn workers_make_a_figure_as_one_process_does() {
    let figure = ["reproduce", "cooperative/fig3", "--scale", "test"];
    let (alone, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(warploom_in(alone.path(), &figure).status, 0);
    let engine = [
        figure.as_slice(),
        &["--engine", "local", "--cluster", "cluster.toml"],
    ]
    .concat();
    std::fs::write(
        shared.path().join("cluster.toml"),
        "[limits]\ntime = \"9m\"\n",
    )
    .unwrap();
    let ran = warploom_in(shared.path(), &engine);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(pages(shared.path()) == pages(alone.path()));
    let state = shared.path().join("results/sweep/cooperative-fig3-test");
    assert!(state.join("plan.jsonl").is_file());
    std::fs::rename(&state, shared.path().join("results/sweep/study")).unwrap();
    assert_eq!(left_behind(shared.path()), 0);
    // The runs are in the store: one process makes the page from them alone.
    std::fs::remove_dir_all(shared.path().join("results/runs")).unwrap();
    let again = warploom_in(shared.path(), &figure);
    assert_eq!(again.status, 0);
    assert!(pages(shared.path()) == pages(alone.path()));
}

#[test]
fn a_cluster_s_file_has_nothing_but_limits_and_slurm() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.toml"), "[axes]\ntarget = \"bfs\"\n").unwrap();
    let figure = [
        "reproduce",
        "cooperative/fig3",
        "--engine",
        "slurm",
        "--cluster",
        "c.toml",
    ];
    let ran = warploom_in(folder.path(), &figure);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("c.toml:1:2") && ran.err.contains("has no key `axes`"),
        "{}",
        ran.err
    );
}
