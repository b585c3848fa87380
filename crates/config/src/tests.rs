//! Whole configurations: presets, overrides, messages, round trips.

mod papers;

use crate::*;
use warploom_diag::Source;

fn with(sets: &[&str]) -> Result<GpuSpec, ConfigErrors> {
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    resolve(&Base::Preset("gtx480".to_owned()), &sets)
}

fn text(toml: &str) -> Result<GpuSpec, ConfigErrors> {
    resolve(&Base::Text(Source::new("my.toml", toml)), &[])
}

#[test]
fn every_preset_resolves_prints_and_describes_itself() {
    assert!(!PRESETS.is_empty());
    for built_in in PRESETS {
        let spec = preset(built_in.name).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(spec.name, built_in.name);
        assert!(built_in.about().len() > 20, "{}", built_in.name);
        let printed = spec.to_toml();
        assert_eq!(
            text(&printed).unwrap_or_else(|errors| panic!("{errors}")),
            spec
        );
        let kept = settings_toml(&spec.settings());
        assert_eq!(
            text(&kept).unwrap_or_else(|errors| panic!("{errors}")),
            spec
        );
    }
}

/// Every value of a preset has a source, beside the value or beside the header of its table.
#[test]
fn every_value_of_a_preset_has_a_source() {
    for built_in in PRESETS {
        let mut table_has_source = false;
        let body = built_in
            .text
            .lines()
            .skip_while(|line| !line.starts_with('['));
        for line in body {
            let has_source = line
                .split_once('#')
                .is_some_and(|(_, source)| source.len() > 3);
            if line.starts_with('[') {
                table_has_source = has_source;
            } else if line.contains(" = ") {
                assert!(has_source || table_has_source, "{}: {line}", built_in.name);
            }
        }
    }
}

#[test]
fn presets_for_calibration_are_gpgpusim_4s_machines() {
    let fermi = preset("gtx480-gpgpusim4").unwrap();
    assert_eq!((fermi.dram.timing.rrd, fermi.dram.timing.rc), (6, 40));
    assert_eq!(fermi.noc.internal_speedup_percent, 200);
    let volta = preset("qv100-volta").unwrap();
    let bytes = |cache: &CacheSpec| cache.sets * cache.ways * cache.line_bytes;
    let banks = volta.gpu.channels * volta.gpu.sub_partitions_per_channel;
    assert_eq!(banks * bytes(&volta.partition.l2), 6 << 20);
    assert_eq!(bytes(&volta.l1d) + volta.sm.shared_bytes, 128 << 10);
    let dram = &volta.dram;
    assert_eq!(
        dram.chips * dram.bus_bytes * dram.burst_length,
        32,
        "one sector a command"
    );
    assert_eq!(volta.sm.warp_scheduler, WarpSchedulerChoice::Lrr);
}

#[test]
fn overrides_change_the_key_they_name_and_the_last_wins() {
    let spec = with(&["gpu.sms=4", "clocks.core_mhz=1417.5", "gpu.sms = 8"]).unwrap();
    assert_eq!((spec.gpu.sms, spec.clocks.core_khz), (8, 1_417_500));
    let spec = with(&["sm.warp_scheduler=two-level", "two-level.active_warps=6"]).unwrap();
    let two_level = TwoLevelSettings {
        active_warps: 6,
        ..TwoLevelSettings::default()
    };
    assert_eq!(
        spec.sm.warp_scheduler,
        WarpSchedulerChoice::TwoLevel(two_level)
    );
    let spec = with(&["gpu.max_blocks_per_sm=3"]).unwrap();
    assert_eq!(spec.gpu.max_blocks_per_sm, Some(3));
    let spec = with(&["sm.warp_scheduler=\"lrr\""]).unwrap();
    assert_eq!(spec.sm.warp_scheduler, WarpSchedulerChoice::Lrr);
}

#[test]
fn a_setting_of_a_policy_shows_only_when_the_policy_is_chosen() {
    assert!(!preset("gtx480").unwrap().to_toml().contains("two-level"));
    let spec = with(&["sm.warp_scheduler=two-level"]).unwrap();
    assert!(spec.to_toml().contains("[two-level]\nactive_warps = 8"));
    assert_eq!(text(&spec.to_toml()).unwrap(), spec);
    let spec = with(&[
        "sm.warp_scheduler=long-latency-first",
        "long-latency-first.scope=sm",
        "long-latency-first.count=examined",
        "gpu.sm_filter=contention-throttle",
        "contention-throttle.interval_cycles=500",
        "contention-throttle.order=lowest",
        "contention-throttle.listing=literal",
    ])
    .unwrap();
    let first = LongLatencyFirstSettings {
        scope: SortScope::Sm,
        count: StallCount::Examined,
        ..LongLatencyFirstSettings::default()
    };
    let throttle = ContentionThrottleSettings {
        interval_cycles: 500,
        min_sms: 2,
        order: ThrottleOrder::Lowest,
        listing: ThrottleListing::Literal,
    };
    let chosen = WarpSchedulerChoice::LongLatencyFirst(first);
    assert_eq!(spec.sm.warp_scheduler, chosen);
    assert_eq!(
        spec.gpu.sm_filter,
        SmFilterChoice::ContentionThrottle(throttle)
    );
    assert_eq!(text(&spec.to_toml()).unwrap(), spec);
}

/// A key that is younger than stored runs changes no digest while it has its default, so that the
/// keys of those runs stay what they were.
#[test]
fn younger_keys_at_their_defaults_are_in_no_digest() {
    let spec = with(&[]).unwrap();
    let mut digest = warploom_base::Digest::new();
    let younger = [
        "sm.block_limit",
        "gpu.gpcs",
        "sm.cluster_latency_cycles",
        "sm.cluster_bytes_per_cycle",
        "sm.warp_group_cycles",
        "sm.warp_group_latency_cycles",
        "sm.latency_from",
        "sm.bulk_interval_cycles",
        "sm.bulk_requests",
        "sm.bulk_issue_cycles",
        "gpu.compute_capability",
        "partition.far_cycles",
        "sm.l1d_victims",
        "partition.fetch_bytes",
        "partition.write_cycles",
        "partition.partial_write_cycles",
        "sm.machine_instructions",
        "sm.root_latency_cycles",
        "sm.l1d_one_line",
        "sm.shared_phases",
        "sm.guard_latency_cycles",
        "sm.memory_issue_cycles",
        "sm.branch_cycles",
        "sm.instruction_bytes",
        "sm.prefetched_code_lines",
        "sm.code_latency_cycles",
        "sm.perfect_const_cache",
    ];
    let older = |name: &str| name != "name" && !younger.contains(&name);
    let entries = crate::print::entries(&spec);
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert!(younger.iter().all(|name| names.contains(name)));
    for entry in entries.iter().filter(|entry| older(&entry.name)) {
        let value = entry.info.rule.print(&entry.value);
        digest.str(&entry.name).str(&value);
    }
    assert_eq!(spec.digest(), digest.hex());
    let limited = with(&["sm.block_limit=dyncta"]).unwrap();
    assert_ne!(limited.digest(), spec.digest());
    let timed = with(&["sm.warp_group_cycles=4"]).unwrap();
    assert_ne!(timed.digest(), spec.digest());
}

/// Collectors with two steps a cycle, acceptance and write-back take 2 + 1 + 2 cycles.
#[test]
fn latencies_from_issue_hold_the_stages() {
    let volta = |sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        resolve(&Base::Preset("qv100-volta".to_owned()), &sets)
    };
    let refused = volta(&["sm.latency_from=issue"]).unwrap_err().to_string();
    assert!(
        refused.contains("`int_timing.add`: 4 cycles from issue, of which collectors, acceptance")
            && refused.contains("take 5"),
        "{refused}"
    );
    let more = ["sm.latency_from=issue", "sm.collectors.steps_per_cycle=3"];
    assert_eq!(volta(&more).unwrap().sm.cycles_in_unit(13), 9);
    let old = with(&["sm.latency_from=issue"]).unwrap_err().to_string();
    assert!(old.contains("in style `gpgpu-sim-3`"), "{old}");
}

#[test]
fn digests_name_machines_and_not_names() {
    let digest = |sets: &[&str]| with(sets).unwrap().digest();
    assert_eq!(digest(&[]), digest(&["name=other", "gpu.sms=15"]));
    assert_ne!(digest(&[]), digest(&["gpu.sms=14"]));
}

#[test]
fn a_file_changes_its_base() {
    let spec = text("base = \"gtx480\"\nname = \"half\"\n[gpu]\nsms = 7\n").unwrap();
    assert_eq!(
        (spec.name.as_str(), spec.gpu.sms, spec.gpu.channels),
        ("half", 7, 6)
    );
}

#[test]
fn settings_list_every_key_by_name() {
    let settings = preset("gtx480").unwrap().settings();
    assert_eq!(settings["clocks.dram_mhz"], Setting::Float(924.0));
    assert_eq!(settings["gpu.sms"], Setting::Integer(15));
    assert_eq!(
        settings["gpu.max_blocks_per_sm"],
        Setting::Text("none".to_owned())
    );
}

#[test]
fn all_problems_are_reported_at_their_places() {
    let toml =
        "base = \"gtx480\"\n[sm]\nschedulerz = 2\nmax_threads = \"many\"\n[l1d]\nsets = 33\n";
    insta::assert_snapshot!(text(toml).unwrap_err());
}

#[test]
fn unknown_names_get_the_nearest() {
    let message = |set: &str| with(&[set]).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            message("l1d.allocate=on-fil"),
            message("sm.warp_schedular=gto"),
            message("sm.scheduler=gto"),
            message("warp_scheduler=gto"),
            message("sm=3"),
            message("frobnicate.it=3"),
            message("l2.size=1"),
            message("gpu.sms"),
            message("gpu.sms=99999999999999999999"),
            message("gpu.sms=[1, 2]"),
        ]
        .join("\n\n")
    );
    insta::assert_snapshot!(preset("gtx48").unwrap_err());
}

#[test]
fn contradictions_name_both_keys() {
    let message = |sets: &[&str]| with(sets).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            message(&["sm.max_threads=1000"]),
            message(&["gpu.link_cycles=61"]),
            message(&["partition.far_cycles=150"]),
            message(&["noc.flit_bytes=8"]),
            message(&["sm.shared_bytes=16384"]),
            message(&[
                "l1d.sectored=true",
                "l1d.line_bytes=64",
                "l1d.port_bytes=64"
            ]),
            message(&["l1d.index=fermi-hash", "l1d.sets=16"]),
            message(&["l2.allocate=on-fill"]),
            message(&["dram.banks=8"]),
            message(&["partition.channel_index=xor"]),
            message(&["sm.units.sfu.count=0"]),
            message(&["sm.units.f32_timing.add.interval_cycles=9"]),
            message(&["sm.collectors.mem.in_ports=0"]),
            message(&["sm.sub_cores=true", "sm.units.sfu.count=1"]),
            message(&["sm.adaptive_l1d=true", "sm.unified_kib=40"]),
            message(&[
                "sm.adaptive_l1d=true",
                "sm.unified_kib=64",
                "sm.shared_options_kib=16,32"
            ]),
            message(&[
                "sm.adaptive_l1d=true",
                "sm.unified_kib=64",
                "sm.shared_options_kib=64"
            ]),
            message(&["sm.shared_options_kib=16,8"]),
            message(&[
                "sm.warp_scheduler=two-level",
                "sm.max_threads=64",
                "two-level.active_warps=6"
            ]),
        ]
        .join("\n\n")
    );
}

#[test]
fn broken_files_are_located() {
    let message = |toml: &str| text(toml).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            message("[gpu\nsms = 3\n"),
            message("[gpu]\nsms = 3\nsms = 4\n"),
            message("name = \"empty\"\n"),
            message("base = \"gtx481\"\n"),
            message("base = 480\n"),
            message(""),
        ]
        .join("\n\n")
    );
}

#[test]
fn hostile_texts_are_refused_without_a_panic() {
    for toml in [
        "\u{0}",
        "[[sm]]",
        "sm = [",
        "a.b.c.d = 1979-05-27",
        "[sm]\nunits = []",
        "\u{feff}x",
    ] {
        assert!(text(toml).is_err(), "{toml:?}");
    }
    let nested = format!("sm = {}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(text(&nested).is_err());
    for set in [
        "",
        "=",
        "==",
        "gpu.sms=",
        "=3",
        "gpu.sms=0x",
        "gpu.sms=1e400",
        "gpu..sms=3",
    ] {
        assert!(with(&[set]).is_err(), "{set:?}");
    }
}

/// The generated documentation is up to date; `WARPLOOM_BLESS=1` renews it.
#[test]
fn documentation_of_the_keys_is_current() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/generated/keys.md"
    );
    if std::env::var_os("WARPLOOM_BLESS").is_some() {
        std::fs::write(path, keys_markdown()).unwrap();
    }
    let current = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        current == keys_markdown(),
        "docs/generated/keys.md is not current: run \
         `WARPLOOM_BLESS=1 cargo test -p warploom-config-tests`"
    );
}

/// Each limit is what one access needs at once: a miss that evicts; a write that is forwarded,
/// reads and evicts; the five flits of 32 bytes of a reply with a line.
#[test]
fn queues_on_which_nothing_could_move_are_refused_with_what_works() {
    let limits = [
        ("gtx480", "l1d.miss_queue", 2),
        ("gtx480", "l2.miss_queue", 3),
        ("gtx480", "noc.boundary_buffer", 5),
        ("qv100-volta", "l1d.miss_queue", 2),
        ("qv100-volta", "l2.miss_queue", 2),
        ("rtx3070-ampere", "l1d.miss_queue", 2),
    ];
    for (gpu, key, least) in limits {
        let set = |value: u32| resolve(&Base::Preset(gpu.to_owned()), &[format!("{key}={value}")]);
        let refused = set(least - 1).unwrap_err().to_string();
        assert!(
            refused.contains("error[contradiction]")
                && refused.contains(&format!("write at least {least} for `{key}`")),
            "{gpu}: {refused}"
        );
        assert!(set(least).is_ok(), "{gpu}: {key}");
    }
}

#[test]
fn machines_are_suggested_as_vendors_write_them() {
    for (name, meant) in [
        ("RTX 3070", "rtx3070-ampere"),
        ("H100", "h100-hopper"),
        ("h1000", "h100-hopper"),
    ] {
        let told = preset(name).unwrap_err().to_string();
        let help = format!("did you mean `{meant}`?");
        assert!(told.contains(&help), "{told}");
    }
}

#[test]
fn gpus_without_a_preset_are_answered_with_their_relatives() {
    for (name, meant) in [
        (
            "rtx3080",
            "of its generation, Ampere, there is `rtx3070-ampere` and `a100-ampere`",
        ),
        (
            "RTX 4090",
            "none of its generation, Ada; the nearest are `rtx3070-ampere` and `rtx5090-blackwell`",
        ),
    ] {
        let told = preset(name).unwrap_err().to_string();
        let base = "a file with `base = \"rtx3070-ampere\"`";
        assert!(told.contains(meant) && told.contains(base), "{told}");
    }
}

#[test]
fn a_word_of_several_keys_suggests_all_of_them() {
    let told = with(&["scheduler=lrr"]).unwrap_err().to_string();
    let help = "did you mean `gpu.block_scheduler` or `sm.warp_scheduler` or `dram.scheduler`?";
    assert!(told.contains(help), "{told}");
}
