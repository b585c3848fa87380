//! Claims, dead workers, and what they leave behind.

use super::{Job, Worker, WorkerIdentity, known, request, waiting, workers};
use crate::folder::Folder;
use crate::host::ProcessIdentity;
use std::path::Path;

fn folder() -> (tempfile::TempDir, Folder) {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path(), "s");
    (place, folder)
}

/// Makes the file of a worker tell another identity.
fn disguise(folder: &Folder, worker: &Worker, process: ProcessIdentity, job: Option<Job>) {
    let identity = WorkerIdentity { process, job };
    let path = folder.inside("workers").join(&worker.id);
    std::fs::write(path, serde_json::to_string(&identity).unwrap()).unwrap();
}

fn count(path: &Path) -> usize {
    std::fs::read_dir(path).map_or(0, Iterator::count)
}

#[test]
fn only_one_worker_gets_a_run() {
    let (_place, folder) = folder();
    let (a, b) = (
        Worker::register(&folder, None).unwrap(),
        Worker::register(&folder, None).unwrap(),
    );
    request(&folder, "k").unwrap();
    let claim = a.claim("k").unwrap().unwrap();
    assert_eq!(b.claim("k").unwrap(), None);
    assert!(known(&folder).unwrap().contains("k"));
    a.give_back(&claim).unwrap();
    assert_eq!(waiting(&folder).unwrap(), ["k"]);
    let claim = b.claim("k").unwrap().unwrap();
    assert_eq!(
        (b.count_kill(&claim).unwrap(), b.count_kill(&claim).unwrap()),
        (1, 2)
    );
    b.complete(&claim).unwrap();
    assert!(known(&folder).unwrap().is_empty());
    a.leave().unwrap();
    b.leave().unwrap();
    for inside in ["claims", "workers", "tmp", "todo"] {
        assert_eq!(count(&folder.inside(inside)), 0, "{inside}");
    }
}

#[test]
fn claims_of_a_dead_process_return_and_its_files_go() {
    let (_place, folder) = folder();
    let (dead, own) = (
        Worker::register(&folder, None).unwrap(),
        Worker::register(&folder, None).unwrap(),
    );
    request(&folder, "k").unwrap();
    dead.claim("k").unwrap().unwrap();
    std::fs::write(dead.temporary().join("half"), "").unwrap();
    own.bury_dead().unwrap();
    assert_eq!(waiting(&folder).unwrap().len(), 0, "the worker still lives");
    let process = ProcessIdentity {
        started: "1".to_owned(),
        ..ProcessIdentity::own()
    };
    disguise(&folder, &dead, process, None);
    own.bury_dead().unwrap();
    assert_eq!(waiting(&folder).unwrap(), ["k"]);
    assert_eq!(count(&folder.inside("tmp")), 1);
    assert_eq!(workers(&folder, Some(&own)).unwrap().len(), 1);
}

#[test]
fn a_worker_elsewhere_lives_as_long_as_it_shows_life() {
    let (_place, folder) = folder();
    let (other, own) = (
        Worker::register(&folder, None).unwrap(),
        Worker::register(&folder, None).unwrap(),
    );
    let elsewhere = ProcessIdentity {
        system: "elsewhere".to_owned(),
        ..ProcessIdentity::own()
    };
    disguise(&folder, &other, elsewhere, None);
    own.bury_dead().unwrap();
    assert_eq!(workers(&folder, Some(&own)).unwrap().len(), 2);
    let file = std::fs::File::open(folder.inside("workers").join(&other.id)).unwrap();
    let long_ago = std::time::SystemTime::now() - super::LEASE * 2;
    file.set_modified(long_ago).unwrap();
    own.bury_dead().unwrap();
    assert_eq!(workers(&folder, Some(&own)).unwrap().len(), 1);
}

#[test]
fn an_earlier_start_of_the_own_job_is_dead() {
    let (_place, folder) = folder();
    let job = |restart| {
        Some(Job {
            id: "7_1".to_owned(),
            restart,
        })
    };
    let (earlier, own) = (
        Worker::register(&folder, job(0)).unwrap(),
        Worker::register(&folder, job(1)).unwrap(),
    );
    request(&folder, "k").unwrap();
    earlier.claim("k").unwrap().unwrap();
    let elsewhere = ProcessIdentity {
        system: "elsewhere".to_owned(),
        ..ProcessIdentity::own()
    };
    disguise(&folder, &earlier, elsewhere, job(0));
    own.bury_dead().unwrap();
    assert_eq!(waiting(&folder).unwrap(), ["k"]);
}

#[test]
fn a_file_that_was_not_completed_is_removed_at_once() {
    let (_place, folder) = folder();
    let own = Worker::register(&folder, None).unwrap();
    std::fs::write(folder.inside("workers").join(".dead"), "{").unwrap();
    own.bury_dead().unwrap();
    assert_eq!(count(&folder.inside("workers")), 1);
    own.leave().unwrap();
    for inside in ["claims", "workers", "tmp"] {
        assert_eq!(count(&folder.inside(inside)), 0, "{inside}");
    }
}
