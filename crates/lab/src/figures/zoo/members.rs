//! The members of the zoo: every row of the tables of policies that act on a single program.

use super::{GPU, machine};
use crate::spec::MachineVariant;
use warploom_config::{Rule, keys};

/// Level at which a policy acts: warps and their loads, or blocks and caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Warps,
    Blocks,
}

/// A configuration with its name.
type Config = (&'static str, &'static [&'static str]);

pub(super) const LRR: Config = ("lrr", &["sm.warp_scheduler=lrr"]);
/// The baseline. Members of other keys also have its warp scheduler.
pub(super) const GTO: Config = ("gto", &["sm.warp_scheduler=gto"]);
/// The baseline with an L1D of 16 times the ways, 256 KiB.
pub(super) const LARGE: Config = (
    "gto, 256 KiB of L1D",
    &["sm.warp_scheduler=gto", "l1d.ways=64"],
);

/// Keys whose policies are members, the word for them in names, and their level. The names of warp
/// schedulers have no word before them.
const KINDS: [(&str, &str, Level); 7] = [
    ("sm.warp_scheduler", "", Level::Warps),
    ("sm.l1d_allocation", "allocation ", Level::Warps),
    ("sm.l1d_victims", "victims ", Level::Warps),
    ("sm.context", "context ", Level::Blocks),
    ("gpu.block_scheduler", "blocks ", Level::Blocks),
    ("gpu.sm_filter", "filter ", Level::Blocks),
    ("l1d.replacement", "L1D ", Level::Blocks),
];

/// Systems of several policies, by their papers: name, settings, level.
const SYSTEMS: [(&str, &[&str], Level); 2] = [
    (
        "locality + blocks locality",
        &["sm.warp_scheduler=locality", "gpu.block_scheduler=locality"],
        Level::Warps,
    ),
    (
        "long-latency-first + filter contention-throttle",
        &[
            "sm.warp_scheduler=long-latency-first",
            "gpu.sm_filter=contention-throttle",
        ],
        Level::Warps,
    ),
];

/// A member of the zoo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Name of the member in figures.
    pub name: String,
    /// Changes of the machine.
    pub sets: Vec<String>,
}

impl Member {
    pub(super) fn machine(&self) -> MachineVariant {
        let sets: Vec<&str> = self.sets.iter().map(String::as_str).collect();
        machine(&self.name, &sets)
    }
}

/// The members at a level, in the order of the tables. Values that the baseline has are no members,
/// except for its warp scheduler.
pub(super) fn members(level: Level) -> Vec<Member> {
    let mut members = Vec::new();
    for (key, word, of) in KINDS {
        if of == level {
            members.extend(
                rows(key)
                    .into_iter()
                    .filter_map(|name| member(key, word, name)),
            );
        }
    }
    let systems = SYSTEMS.iter().filter(|(_, _, of)| *of == level);
    members.extend(systems.map(|(name, sets, _)| Member {
        name: (*name).to_owned(),
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
    }));
    members
}

fn member(key: &str, word: &str, name: &str) -> Option<Member> {
    let set = format!("{key}={name}");
    let sets = match key {
        "sm.warp_scheduler" => vec![set],
        _ if baseline(key) == name => return None,
        _ => vec![scheduler_for(name).to_owned(), set],
    };
    Some(Member {
        name: format!("{word}{name}"),
        sets,
    })
}

/// Warp scheduler under which a policy of another kind is a member: the baseline's, unless the
/// policy needs another.
fn scheduler_for(policy: &str) -> &'static str {
    match policy {
        "cacp" => "sm.warp_scheduler=cawa",
        _ => GTO.1[0],
    }
}

/// Names in the table of a key.
pub(super) fn rows(key: &str) -> Vec<&'static str> {
    let all = keys();
    let found = all.iter().find(|other| other.name == key);
    match found.map(|key| &key.rule) {
        Some(Rule::Names(names)) => names.iter().map(|(name, _)| *name).collect(),
        _ => panic!("`{key}` has no table of names"),
    }
}

/// The value of a key in the baseline.
fn baseline(key: &str) -> String {
    let spec = machine(GPU, GTO.1).spec;
    let settings = spec.settings().into_iter().find(|(name, _)| name == key);
    match settings {
        Some((_, warploom_config::Setting::Text(name))) => name,
        _ => panic!("`{key}` is no key with a name"),
    }
}
