//! Settings of policies that no machine has chosen: keys that were set and that nothing reads.

use crate::keys::keys;
use crate::print::{Setting, table_of};
use crate::section::Key;
use crate::spec::GpuSpec;
use crate::value::Rule;
use std::collections::{BTreeMap, BTreeSet};

/// A policy: the key that chooses it, and its name.
type Policy = (String, String);

/// Collects keys that were set, beside the machines for which they were set.
#[derive(Clone, Debug, Default)]
pub struct UnreadKeys {
    /// The policy of each setting, by the setting's key.
    policies: BTreeMap<String, Policy>,
    /// Keys that no machine has read so far, each with the policies that the machines have.
    unread: BTreeMap<String, BTreeSet<String>>,
    /// Keys that some machine has read.
    read: BTreeSet<String>,
}

impl UnreadKeys {
    /// A collection without machines.
    pub fn new() -> Self {
        Self {
            policies: policies(&keys()),
            ..Self::default()
        }
    }

    /// The keys of changes in the form `KEY=VALUE` that `machine` does not read.
    pub fn of_sets(sets: &[String], machine: &GpuSpec) -> Self {
        let mut all = Self::new();
        let names = sets.iter().filter_map(|set| Some(set.split_once('=')?.0));
        all.add(names.map(str::trim), machine);
        all
    }

    /// Adds a machine for which the keys `set` were set.
    pub fn add<'k>(&mut self, set: impl IntoIterator<Item = &'k str>, machine: &GpuSpec) {
        let open = |key: &&str| self.policies.contains_key(*key) && !self.read.contains(*key);
        let open: Vec<&str> = set.into_iter().filter(open).collect();
        if open.is_empty() {
            return;
        }
        let settings = machine.settings();
        for key in open {
            if settings.contains_key(key) {
                self.unread.remove(key);
                self.read.insert(key.to_owned());
            } else if let Some(Setting::Text(chosen)) = settings.get(&self.policies[key].0) {
                let seen = self.unread.entry(key.to_owned()).or_default();
                seen.insert(chosen.clone());
            }
        }
    }

    /// For each policy whose settings were set and never read: a sentence, and the assignment that
    /// chooses the policy.
    pub fn told(&self) -> Vec<(String, String)> {
        let mut groups: BTreeMap<&Policy, (Vec<String>, BTreeSet<&str>)> = BTreeMap::new();
        for (key, chosen) in &self.unread {
            let (keys, seen) = groups.entry(&self.policies[key]).or_default();
            keys.push(format!("`{key}`"));
            seen.extend(chosen.iter().map(String::as_str));
        }
        let told = |(policy, (keys, seen)): (&Policy, (Vec<String>, BTreeSet<&str>))| {
            let (chooser, name) = policy;
            let (verb, noun) = match keys.len() {
                1 => ("changes nothing: it is a setting", "key"),
                _ => ("change nothing: they are settings", "keys"),
            };
            let seen: Vec<&str> = seen.into_iter().collect();
            let told = format!(
                "the {noun} {} {verb} of the policy `{chooser}={name}`, and `{chooser}` is {}",
                keys.join(", "),
                seen.join(" or ")
            );
            (told, format!("{chooser}={name}"))
        };
        groups.into_iter().map(told).collect()
    }
}

/// The key that chooses the policy of which `key` is a setting, such as `sm.warp_scheduler` of
/// `static-limit.warps`. `None` if it is no policy's setting.
pub fn chooser_of(key: &str) -> Option<String> {
    policies(&keys()).remove(key).map(|(chooser, _)| chooser)
}

/// The policy of each key that is a setting of one. Settings are declared after the key that
/// chooses their policy, in a table with the policy's name.
fn policies(keys: &[Key]) -> BTreeMap<String, Policy> {
    let policy = |(at, key): (usize, &Key)| {
        let table = table_of(&key.name);
        let has_it = |key: &&Key| match key.rule {
            Rule::Names(names) => names.iter().any(|(name, _)| *name == table),
            _ => false,
        };
        let chooser = keys[..at].iter().rev().find(has_it)?;
        Some((key.name.clone(), (chooser.name.clone(), table.to_owned())))
    };
    keys.iter().enumerate().filter_map(policy).collect()
}

#[cfg(test)]
mod tests {
    use super::{UnreadKeys, chooser_of, policies};
    use crate::keys::keys;
    use crate::resolve::{Base, preset, resolve};

    fn gtx480(sets: &[&str]) -> crate::GpuSpec {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        resolve(&Base::Preset("gtx480".to_owned()), &sets).unwrap()
    }

    #[test]
    fn a_setting_is_read_where_its_policy_is_chosen() {
        let machine = preset("gtx480").unwrap();
        let policies = policies(&keys());
        let shown = machine.settings();
        for key in keys().iter().filter(|key| !shown.contains_key(&key.name)) {
            let (chooser, name) = &policies[&key.name];
            let set = format!("{chooser}={name}");
            // Some policies contradict the preset; those settings were found all the same.
            if let Ok(machine) = resolve(
                &Base::Preset("gtx480".to_owned()),
                std::slice::from_ref(&set),
            ) {
                assert!(machine.settings().contains_key(&key.name), "{set} {key:?}");
            }
        }
        assert_eq!(
            chooser_of("static-limit.warps").as_deref(),
            Some("sm.warp_scheduler")
        );
        assert_eq!(chooser_of("l1d.sets"), None);
        let (chooser, name) = &policies["static-limit.warps"];
        assert_eq!((&**chooser, &**name), ("sm.warp_scheduler", "static-limit"));
        assert!(!policies.contains_key("l1d.sets"));
    }

    #[test]
    fn keys_that_no_machine_reads_are_told_with_what_would_choose_their_policy() {
        let sets = ["duet.port_bytes=64", "duet.l1d=never", "l1d.sets=64"];
        let unread = UnreadKeys::of_sets(&sets.map(str::to_owned), &gtx480(&sets));
        let told = "the keys `duet.l1d`, `duet.port_bytes` change nothing: they are settings of the \
                    policy `sm.context=duet`, and `sm.context` is none";
        let expected = vec![(told.to_owned(), "sm.context=duet".to_owned())];
        assert_eq!(unread.told(), expected);
    }

    #[test]
    fn a_key_that_one_of_the_machines_reads_is_not_told() {
        let mut unread = UnreadKeys::new();
        let key = ["static-limit.warps"];
        unread.add(key, &gtx480(&["sm.warp_scheduler=lrr"]));
        unread.add(key, &gtx480(&["sm.warp_scheduler=gto"]));
        let told = "the key `static-limit.warps` changes nothing: it is a setting of the policy \
                    `sm.warp_scheduler=static-limit`, and `sm.warp_scheduler` is gto or lrr";
        assert_eq!(unread.told()[0].0, told);
        unread.add(key, &gtx480(&["sm.warp_scheduler=static-limit"]));
        assert_eq!(unread.told(), []);
    }
}
