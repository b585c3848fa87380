//! Keys of all parts of the specification, one file for each part, and the list of all keys.

mod cache;
mod device;
mod dram;
mod noc;
mod partition;
mod sm;
mod units;

use crate::section::{Key, Reader, Section, section};
use crate::spec::GpuSpec;
use crate::value::Rule;

section! {
    GpuSpec {
        name: "name", Rule::Text, "", "Name of the machine.", "this program";
    }
    within {
        clocks: "clocks";
        gpu: "gpu";
        sm: "sm";
        l1d: "l1d";
        l1i: "l1i";
        l1c: "l1c";
        l1t: "l1t";
        noc: "noc";
        partition: "partition";
        dram: "dram";
        sim: "sim";
    }
}

/// Returns all keys in order of declaration.
pub fn keys() -> Vec<Key> {
    let mut reader = Reader::new(None);
    // Without values the specification is meaningless; only the reader's list of keys is used.
    let _ = GpuSpec::read(&mut reader);
    reader.keys
}

#[cfg(test)]
mod tests {
    use super::keys;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_is_documented_and_named_once() {
        let keys = keys();
        assert!(keys.len() > 250, "only {} keys", keys.len());
        let names: BTreeSet<_> = keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names.len(), keys.len(), "a name is declared twice");
        for key in &keys {
            let word = |part: &str| {
                part.starts_with(|c: char| c.is_ascii_lowercase())
                    && part
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
            };
            assert!(key.name.split('.').all(word), "{}", key.name);
            assert!(
                key.about.ends_with('.') && key.about.len() >= 5,
                "{}",
                key.name
            );
            assert!(!key.source.is_empty(), "{} has no source", key.name);
        }
    }
}
