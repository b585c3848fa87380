//! Every pair of policies of different kinds: two programs run with right outputs, or the
//! configuration is refused with a reason that names both keys.

use crate::concurrent::processes::{adder, loader, sound};
use crate::concurrent::script::{mix, participant};
use warploom_config::{Base, GpuSpec, Rule, keys, resolve};

/// Keys that choose a policy.
const KINDS: [&str; 9] = [
    "sm.warp_scheduler",
    "gpu.block_scheduler",
    "gpu.sm_filter",
    "gpu.multiprogram",
    "sm.context",
    "sm.l1d_allocation",
    "sm.l1d_victims",
    "l1d.replacement",
    "l2.replacement",
];

/// Names that a key accepts.
fn names(key: &str) -> Vec<&'static str> {
    let all = keys();
    let key = all.iter().find(|other| other.name == key);
    let key = key.unwrap_or_else(|| panic!("no such key"));
    match key.rule {
        // L2 does not know the warps, and refuses this policy whatever the other one is.
        Rule::Names(names) if key.name == "l2.replacement" => names
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| *name != "cacp")
            .collect(),
        Rule::Names(names) => names.iter().map(|(name, _)| *name).collect(),
        ref other => panic!("{other:?} has no names"),
    }
}

/// The machine with two policies, or the reason why there is none. Sixteen blocks fill an SM;
/// context systems have extra blocks, and profiles are short, so that every policy acts.
fn machine(pair: [(&str, &str); 2]) -> Result<GpuSpec, String> {
    let mut sets: Vec<String> = [
        "gpu.sms=1",
        "gpu.channels=1",
        "sm.max_threads=1024",
        "sm.max_blocks=24",
        "duet.extra_blocks=2",
        "duet-tb.extra_blocks=2",
        "warped-slicer.warmup_cycles=200",
        "warped-slicer.profile_cycles=150",
    ]
    .map(str::to_owned)
    .to_vec();
    if pair.contains(&("l1d.replacement", "cacp")) {
        // The scheduler that finds critical warps, unless the pair names another one.
        sets.push("sm.warp_scheduler=cawa".to_owned());
    }
    sets.extend(pair.map(|(key, name)| format!("{key}={name}")));
    resolve(&Base::Preset("fermi-slicer".to_owned()), &sets).map_err(|why| why.to_string())
}

/// Runs two programs. Their outputs are checked, and the machine looks for leaks.
fn run(spec: &GpuSpec) {
    let programs = vec![
        participant("adder", &adder(20, 2)),
        participant("loader", &loader(20, 1)),
    ];
    sound(&mix(spec, programs, 1));
}

#[test]
fn every_pair_of_policies_runs_or_is_refused_with_both_keys() {
    let (mut ran, mut refused) = (0, Vec::new());
    for (at, one) in KINDS.iter().enumerate() {
        for other in &KINDS[at + 1..] {
            for first in names(one) {
                for second in names(other) {
                    match machine([(one, first), (other, second)]) {
                        Ok(spec) => {
                            run(&spec);
                            ran += 1;
                        }
                        Err(why) => {
                            let names_both = why.contains(one) && why.contains(other);
                            assert!(names_both, "{first} + {second}: {why}");
                            refused.push(format!("{first} + {second}"));
                        }
                    }
                }
            }
        }
    }
    assert!(ran > 400, "{ran} pairs ran");
    // Of the policies that exist, only those that keep state for each warp slot exclude others, and
    // the one that needs critical warps.
    let excluded: Vec<_> = refused
        .iter()
        .filter(|pair| pair.contains("locality") && !pair.contains("cacp"))
        .collect();
    assert!(excluded.is_empty(), "{excluded:?}");
}
