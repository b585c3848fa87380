//! Sweeps whose processes are killed at random moments end like undisturbed ones.

use super::{folder_of, left_behind, sweep, table};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use warploom_base::Rng;

/// Kills of the usual test. `WARPLOOM_KILLS` asks for another number.
const KILLS: u32 = 10;

fn spec(round: u32) -> String {
    let seeds: Vec<String> = (1..=15)
        .map(|seed| (round * 100 + seed).to_string())
        .collect();
    format!(
        "name = \"{{target}}-{{seed}}-{{sms}}\"\n[axes]\ntarget = [\"vectoradd\", \"nn\"]\n\
         size = \"test\"\n\"gpu.sms\" = [1, 2]\nseed = [{}]\n[limits]\nkills = 1000\n",
        seeds.join(", ")
    )
}

fn begin(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_warploom"))
        .args(["sweep", "study.toml", "--threads", "2"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Processes that a process started.
fn children(of: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    names.filter(|name| parent(name) == Some(of)).collect()
}

/// Parent of a process, which stands in its file after the name in parentheses and the state.
fn parent(process: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    fields.nth(1)?.parse().ok()
}

/// Kills the command, or one of its processes after which it goes on. True if something was killed.
fn kill_some(child: &mut Child, rng: &mut Rng) -> bool {
    if child.try_wait().unwrap().is_some() {
        return false;
    }
    let inner = children(child.id());
    if inner.is_empty() && rng.next_u64() & 3 != 0 {
        // Most kills come while runs are made.
        return false;
    }
    match inner.get(rng.next_u64() as usize % (2 * inner.len().max(1))) {
        Some(process) => Command::new("kill")
            .args(["-9", process])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success(),
        None => {
            child.kill().unwrap();
            child.wait().unwrap();
            true
        }
    }
}

#[test]
#[allow(
    clippy::print_stderr,
    reason = "the tests' log tells how much was tried"
)]
fn kills_at_random_moments_change_no_byte_and_leave_nothing_behind() {
    let wanted = std::env::var("WARPLOOM_KILLS").map_or(KILLS, |n| n.parse().unwrap());
    let (undisturbed, disturbed) = (folder_of(&spec(0)), folder_of(&spec(0)));
    let mut rng = Rng::new(61);
    let (mut kills, mut round) = (0, 0);
    while kills < wanted {
        for folder in [&undisturbed, &disturbed] {
            std::fs::write(folder.path().join("study.toml"), spec(round)).unwrap();
        }
        let began = Instant::now();
        assert_eq!(sweep(undisturbed.path(), &["study.toml"]).status, 0);
        let whole = began.elapsed();
        let mut child = begin(disturbed.path());
        for _ in 0..20 {
            std::thread::sleep(random(whole / 4, &mut rng));
            kills += u32::from(kill_some(&mut child, &mut rng));
            if child.try_wait().unwrap().is_some() {
                child = begin(disturbed.path());
            }
        }
        child.wait().unwrap();
        let last = sweep(disturbed.path(), &["study.toml"]);
        assert_eq!(last.status, 0, "{}", last.err);
        let parquet = |folder: &Path| std::fs::read(folder.join("results/sweep/study.parquet"));
        let same = table(disturbed.path()) == table(undisturbed.path())
            && parquet(disturbed.path()).unwrap() == parquet(undisturbed.path()).unwrap();
        assert!(same, "round {round} after {kills} kills");
        assert_eq!(left_behind(disturbed.path()), 0, "round {round}");
        round += 1;
    }
    eprintln!("{kills} kills in {round} sweeps");
}

fn random(most: Duration, rng: &mut Rng) -> Duration {
    most.mul_f64((rng.next_u64() % 1000) as f64 / 1000.0)
}

/// A command that begins the same sweep may request a run that a worker has claimed meanwhile. Were
/// it made twice by one worker, both would write the same file.
#[test]
fn a_worker_makes_a_run_once_when_it_is_requested_twice() {
    let folder = super::spinning("2000000000", "");
    let mut command = begin(folder.path());
    let state = folder.path().join("results/sweep/study");
    let claimed = wait_for(|| {
        let workers = std::fs::read_dir(state.join("claims")).ok()?;
        let claims = workers.filter_map(|worker| std::fs::read_dir(worker.ok()?.path()).ok());
        claims
            .flatten()
            .find_map(|claim| Some(claim.ok()?.file_name()))
    });
    let again = state.join("todo").join(claimed);
    std::fs::write(&again, "").unwrap();
    wait_for(|| (!again.exists()).then_some(()));
    let made = children(command.id()).len();
    command.kill().unwrap();
    command.wait().unwrap();
    assert_eq!(made, 1);
}

/// Waits for what `find` looks for, at most a minute.
fn wait_for<T>(mut find: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn several_commands_share_the_work() {
    let (one, several) = (folder_of(&spec(0)), folder_of(&spec(0)));
    assert_eq!(
        sweep(one.path(), &["study.toml", "--threads", "1"]).status,
        0
    );
    let commands: Vec<Child> = (0..3).map(|_| begin(several.path())).collect();
    for command in commands {
        let ended = command.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{told}");
    }
    assert!(table(several.path()) == table(one.path()));
    assert_eq!(left_behind(several.path()), 0);
}
