//! Identity of a run, as far as a checkpoint depends on it.

use super::CheckpointError;
use std::collections::{BTreeMap, BTreeSet};
use warploom_base::{Cycle, Digest};
use warploom_state::{Io, State, StateError, Value};

const WARP_SCHEDULER: &str = "sm.warp_scheduler";

/// Keys of policies that a fork may change, because their state can begin anew in any cycle.
const FORKS: [&str; 3] = [WARP_SCHEDULER, "sm.block_limit", "sm.l1d_allocation"];

/// A policy that has to be there when a kernel is launched.
const NEEDS_LAUNCH: &str = "locality";

/// Most keys that a message names.
const NAMED: usize = 6;

/// Changes of a fork.
pub(crate) struct Changes {
    /// True if the warp scheduler is another one.
    pub warp_scheduler: bool,
    /// Keys with their new and old values.
    pub described: Vec<String>,
}

/// Keys and options of a run, and the layout of its machine's state.
#[derive(Clone, Default, Value)]
pub(crate) struct Identity {
    /// Core cycle of the checkpoint.
    pub cycle: Cycle,
    /// Keys of the machine, then options of the run, with their values.
    settings: BTreeMap<String, String>,
    /// Digest of the state of a machine that has run no cycle, which differs if the layout of the
    /// state does.
    layout: u64,
}

impl Identity {
    /// The identity of a run with these keys and options, on a machine that has run no cycle.
    pub fn new(
        settings: BTreeMap<String, String>,
        machine: &mut impl State,
    ) -> Result<Self, StateError> {
        let mut io = Io::save();
        machine.state(&mut io)?;
        let mut layout = Digest::new();
        layout.bytes(&io.into_bytes());
        Ok(Self {
            cycle: 0,
            settings,
            layout: layout.finish(),
        })
    }

    /// Identity of this run in another cycle, for a checkpoint that is made there.
    pub fn at(&self, cycle: Cycle) -> Self {
        Self {
            cycle,
            ..self.clone()
        }
    }

    /// Checks that a saved run is like this one.
    pub fn check(&self, saved: &Self) -> Result<(), CheckpointError> {
        let differences = self.differences(saved);
        match differences.as_slice() {
            [] if self.layout != saved.layout => Err(CheckpointError::Build),
            [] => Ok(()),
            _ => Err(CheckpointError::Keys(self.told(saved, &differences))),
        }
    }

    /// Checks that this run is a fork of a saved one, and says what has changed.
    pub fn check_fork(&self, saved: &Self) -> Result<Changes, CheckpointError> {
        let differences = self.differences(saved);
        let may_change = |key: &&&str| self.may_change(saved, key);
        let (changed, others): (Vec<&str>, _) = differences.iter().partition(may_change);
        if others.is_empty() {
            return Ok(Changes {
                warp_scheduler: changed.contains(&WARP_SCHEDULER),
                described: self.described(saved, &changed),
            });
        }
        Err(CheckpointError::Unforkable(self.told(saved, &others)))
    }

    /// True if a fork may change a key: that of a policy, or a setting of a policy that comes or
    /// goes.
    fn may_change(&self, saved: &Self, key: &str) -> bool {
        let policies = |of: &'static str| {
            let names = [self, saved].map(|run| run.settings.get(of).map(String::as_str));
            (names[0] != names[1] && !names.contains(&Some(NEEDS_LAUNCH))).then_some(names)
        };
        FORKS
            .iter()
            .filter_map(|policy| Some((policy, policies(policy)?)))
            .any(|(policy, names)| {
                let is_setting = |name: &str| {
                    let setting = key.strip_prefix(name);
                    setting.is_some_and(|setting| setting.starts_with('.'))
                };
                key == *policy || names.into_iter().flatten().any(is_setting)
            })
    }

    /// Keys and options with other values than in another run, in order.
    fn differences<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let keys: BTreeSet<&str> = [self, other]
            .into_iter()
            .flat_map(|run| run.settings.keys().map(String::as_str))
            .collect();
        let differs = |key: &&str| self.settings.get(*key) != other.settings.get(*key);
        keys.into_iter().filter(differs).collect()
    }

    /// Differences for a message: the first ones, and how many others there are.
    fn told(&self, saved: &Self, keys: &[&str]) -> Vec<String> {
        let mut told = self.described(saved, &keys[..keys.len().min(NAMED)]);
        if let more @ 1.. = keys.len().saturating_sub(NAMED) {
            told.push(format!("{more} others differ, as for another `--gpu`"));
        }
        told
    }

    fn described(&self, saved: &Self, keys: &[&str]) -> Vec<String> {
        let value = |of: &Self, key: &str| {
            let value = of.settings.get(key);
            value.map_or_else(|| "not there".to_owned(), Clone::clone)
        };
        let described = keys.iter().map(|key| {
            let (own, was) = (value(self, key), value(saved, key));
            format!("{key} is {own} and was {was}")
        });
        described.collect()
    }
}
