//! Identity of a process on a computer, by which others find out whether it still runs.

use serde::{Deserialize, Serialize};
use std::fs;

/// A process, identified beyond the reuse of its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Name of the computer.
    pub host: String,
    /// Identity of the computer's last start and of the processes that it can see; empty if
    /// unknown.
    pub system: String,
    /// Number of the process.
    pub pid: u32,
    /// Time of the process's start in ticks since the computer's; empty if unknown.
    pub started: String,
}

impl ProcessIdentity {
    /// Identity of this process.
    pub fn own() -> Self {
        let pid = std::process::id();
        Self {
            host: host(),
            system: system(),
            pid,
            started: started(pid).unwrap_or_default(),
        }
    }

    /// Whether the process runs, if this process can tell: only on the same computer.
    pub fn is_running(&self) -> Option<bool> {
        if self.system.is_empty() || self.system != system() || self.started.is_empty() {
            return None;
        }
        Some(started(self.pid).is_some_and(|started| started == self.started))
    }
}

/// Name of this computer.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

fn system() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        _ => String::new(),
    }
}

/// Start of a process in ticks, or `None` if there is none or it has ended.
fn started(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may contain any character.
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| started.to_owned())
}

/// Resident memory in bytes of a process and of all that it has started.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let own = status_bytes(&format!("/proc/{pid}/status"), "VmRSS:")?;
    let others = children(pid).into_iter().filter_map(resident_bytes);
    Some(own + others.sum::<u64>())
}

/// Processes that a process has started; none where the system does not tell.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let lists = threads.flatten().filter_map(|thread| {
        let children = fs::read_to_string(thread.path().join("children"));
        children.ok()
    });
    let numbers = |list: String| {
        let numbers = list
            .split_whitespace()
            .filter_map(|number| number.parse().ok());
        numbers.collect::<Vec<u32>>()
    };
    lists.flat_map(numbers).collect()
}

/// Sets the largest resident memory of this process back to the current one.
pub fn reset_peak() {
    // Where the system has no such file, the largest memory is that of all runs so far.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Largest resident memory of this process in bytes since [`reset_peak`]; 0 if unknown.
pub fn peak_bytes() -> u64 {
    status_bytes("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// Largest resident memory of another process in bytes, if it runs and the system tells.
pub fn peak_bytes_of(pid: u32) -> Option<u64> {
    status_bytes(&format!("/proc/{pid}/status"), "VmHWM:")
}

fn status_bytes(path: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{ProcessIdentity, peak_bytes, reset_peak, resident_bytes};

    #[test]
    fn a_process_is_known_to_run_until_it_ends() {
        let own = ProcessIdentity::own();
        assert_eq!(own.is_running(), Some(true));
        let later = ProcessIdentity {
            started: "1".to_owned(),
            ..own.clone()
        };
        assert_eq!(
            later.is_running(),
            Some(false),
            "another process of this number"
        );
        let elsewhere = ProcessIdentity {
            system: "other".to_owned(),
            ..own
        };
        assert_eq!(elsewhere.is_running(), None);
    }

    #[test]
    fn the_largest_memory_can_be_set_back() {
        let before = peak_bytes();
        let block = vec![1u8; 64 << 20];
        assert!(std::hint::black_box(&block).iter().all(|byte| *byte == 1));
        let with = peak_bytes();
        assert!(with > before.max(60 << 20), "{before} {with}");
        drop(block);
        reset_peak();
        assert!(peak_bytes() < with);
        assert!(resident_bytes(std::process::id()) > Some(0));
    }

    #[test]
    fn memory_is_counted_with_that_of_started_processes() {
        let sleep = std::process::Command::new("sleep").arg("60").spawn();
        let mut child = sleep.unwrap();
        let (own, of_child) = (std::process::id(), resident_bytes(child.id()).unwrap());
        let alone = super::status_bytes("/proc/self/status", "VmRSS:").unwrap();
        let all = resident_bytes(own).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            of_child > 0 && all > alone / 2 + of_child / 2,
            "{all} {alone} {of_child}"
        );
    }
}
