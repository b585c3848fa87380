//! Tests with whole configurations: those of GPGPU-Sim, broken ones, arbitrary bytes.

use super::options::OPTIONS;
use super::{Class, Imported, Request, import, options_markdown};
use crate::error::ConfigErrors;
use crate::policies::{
    InnerOrder, OuterOrder, StaticLimitSettings, TwoLevelSettings, WarpSchedulerChoice,
};
use crate::resolve::{Base, preset, resolve};
use crate::spec::{GpuSpec, ModelStyle};
use std::fmt::Write;
use warploom_base::Rng;
use warploom_diag::Source;

macro_rules! test_file {
    ($name:literal) => {
        include_str!(concat!("../../testdata/gpgpusim/", $name))
    };
}

/// Configurations of GPGPU-Sim: name, options, and file of the network.
const FILES: [(&str, &str, &str); 7] = [
    (
        "gtx480-3.2.2",
        test_file!("gtx480_3.2.2.config"),
        test_file!("fermi_3.2.2.icnt"),
    ),
    (
        "sm2_gtx480",
        test_file!("sm2_gtx480.config"),
        test_file!("fermi.icnt"),
    ),
    (
        "sm3_kepler_titan",
        test_file!("sm3_kepler_titan.config"),
        test_file!("kepler.icnt"),
    ),
    (
        "sm6_titanx",
        test_file!("sm6_titanx.config"),
        test_file!("pascal.icnt"),
    ),
    ("sm7_qv100", test_file!("sm7_qv100.config"), ""),
    ("sm75_rtx2060", test_file!("sm75_rtx2060.config"), ""),
    ("sm86_rtx3070", test_file!("sm86_rtx3070.config"), ""),
];

/// Imports a text; other files come from `files`, by name.
fn read(
    text: &str,
    style: Option<ModelStyle>,
    files: &[(&str, &str)],
) -> Result<Imported, ConfigErrors> {
    let request = Request {
        config: Source::new("gpgpusim.config", text),
        network: None,
        name: "imported".to_owned(),
        style,
    };
    import(request, &mut |_, path| {
        let file = files.iter().find(|(name, _)| *name == path);
        let file = file.map(|(name, text)| Source::new(*name, *text));
        file.ok_or_else(|| format!("cannot read {path}"))
    })
}

/// Imports one of GPGPU-Sim's configurations.
fn known(name: &str) -> Imported {
    let file = FILES.iter().find(|(known, ..)| *known == name);
    let (_, config, network) = file.unwrap_or_else(|| panic!("{name}"));
    let network = Source::new("network.icnt", *network);
    let request = Request {
        config: Source::new("gpgpusim.config", *config),
        network: Some(network),
        name: name.to_owned(),
        style: None,
    };
    let mut none = |_: &str, path: &str| Err(format!("cannot read {path}"));
    import(request, &mut none).unwrap_or_else(|errors| panic!("{name}\n{errors}"))
}

/// Summary of an import, one line for each option; of options carried over only the count and
/// remarks.
fn summary(imported: &Imported) -> String {
    let report = &imported.report;
    let mut text = format!("GPGPU-Sim {}: {}\n", report.version(), report.evidence);
    let carried = report.of(Class::Carried).count();
    let _ = writeln!(text, "carried {carried}");
    for item in &report.items {
        if item.class == Class::Carried && item.text.is_empty() {
            continue;
        }
        let class = format!("{:?}", item.class);
        let place = match &item.file {
            Some(file) => format!("{file}:{}", item.position),
            None => "default".to_owned(),
        };
        let (option, value) = (&item.option, &item.value);
        let _ = writeln!(text, "{class} {option} {value} ({place}): {}", item.text);
    }
    text
}

#[test]
fn configurations_of_gpgpusim_import() {
    for (name, ..) in FILES {
        let imported = known(name);
        let base = Base::Text(Source::new("again.toml", imported.toml.as_str()));
        let again = resolve(&base, &[]).unwrap_or_else(|errors| panic!("{name}\n{errors}"));
        assert_eq!(again, imported.spec, "{name}");
        insta::assert_snapshot!(format!("report_{name}"), summary(&imported));
    }
}

#[test]
fn an_imported_preset_names_the_source_of_each_value() {
    let toml = known("sm2_gtx480").toml;
    insta::assert_snapshot!(toml);
    let values = toml.lines().skip_while(|line| !line.starts_with('['));
    for line in values.filter(|line| line.contains(" = ")) {
        let tags = ["[imported]", "[default]", "[source]", "[ours]"];
        assert!(tags.iter().any(|tag| line.contains(tag)), "{line}");
    }
}

/// Keys in which two machines differ, one line each, without the name.
fn differences(one: &GpuSpec, other: &GpuSpec) -> Vec<String> {
    let other = other.settings();
    let settings = one.settings().into_iter();
    let differ = settings.filter(|(key, value)| key != "name" && other[key] != *value);
    differ
        .map(|(key, value)| format!("{key}: {value:?}, not {:?}", other[&key]))
        .collect()
}

/// `qv100-volta` starts from a machine whose network is BookSim's.
#[test]
fn imports_equal_the_presets_of_the_same_machine() {
    let unread = ["noc.internal_speedup_percent: Integer(100), not Integer(200)"];
    for (file, name, expected) in [
        ("sm2_gtx480", "gtx480-gpgpusim4", &[][..]),
        ("sm3_kepler_titan", "titan-kepler", &[]),
        ("sm6_titanx", "titanx-pascal", &[]),
        ("sm7_qv100", "qv100-volta", &unread),
        ("sm75_rtx2060", "rtx2060-turing", &[]),
        ("sm86_rtx3070", "rtx3070-ampere", &[]),
    ] {
        let found = differences(&known(file).spec, &preset(name).unwrap());
        assert_eq!(found, expected, "{name}");
    }
}

/// `gtx480` is the machine of the paper. Differences from the configuration of its simulator are
/// stated by the paper (Tables 1 and 2), by the Programming Guide, or, for `sm.products`, in
/// docs/deviations.md.
#[test]
fn the_papers_gtx480_differs_from_3_2_2_where_the_paper_says_so() {
    let found = differences(&known("gtx480-3.2.2").spec, &preset("gtx480").unwrap());
    insta::assert_snapshot!(found.join("\n"));
}

/// File of a small network.
const FLY: (&str, &str) = (
    "mesh",
    "topology = fly; n = 1; routing_function = dest_tag; num_vcs = 1; subnets = 2; use_map = 0;\n\
     read_reply_subnet = 1; write_reply_subnet = 1; read_request_end_vc = 0;\n\
     write_request_begin_vc = 0; write_request_end_vc = 0; read_reply_begin_vc = 0;\n\
     read_reply_end_vc = 0; write_reply_begin_vc = 0; write_reply_end_vc = 0;\n",
);

/// Options without which the defaults are no valid machine: the caches and DRAM of 4.2's defaults
/// do not fit each other.
const LEAST: &str = "-gpgpu_cache:dl2_texture_only 0\n";

fn style_name(style: ModelStyle) -> &'static str {
    match style {
        ModelStyle::V3 => "3",
        ModelStyle::V4 => "4",
    }
}

/// Leaving an option out is the same as writing its default.
#[test]
fn a_default_may_be_written_or_left_out() {
    for style in [ModelStyle::V3, ModelStyle::V4] {
        let name = style_name(style);
        let implied = read(LEAST, Some(style), &[FLY]).unwrap_or_else(|e| panic!("{name}\n{e}"));
        let mut written = String::new();
        for row in OPTIONS {
            let default = match style {
                ModelStyle::V3 => row.v3,
                ModelStyle::V4 => row.v4,
            };
            if let Some(default) = default {
                let _ = writeln!(written, "{} {default}", row.name);
            }
        }
        written.push_str(LEAST);
        let explicit = read(&written, Some(style), &[FLY]).unwrap();
        assert_eq!(explicit.spec, implied.spec, "{name}");
        let lost = |imported: &Imported| imported.report.of(Class::NotModelled).count();
        assert_eq!(lost(&explicit), lost(&implied), "{name}");
        assert!(implied.report.of(Class::Carried).count() < 40, "{name}");
    }
}

/// Imports `LEAST` followed by options.
fn with(options: &str) -> Result<Imported, ConfigErrors> {
    read(&format!("{LEAST}{options}"), Some(ModelStyle::V4), &[FLY])
}

#[test]
fn broken_values_are_located() {
    let message = |options: &str| with(options).unwrap_err().to_string();
    let all = [
        "-gpgpu_n_mem many",
        "-gpgpu_n_mem",
        "-gpgpu_n_mem -gpgpu_n_clusters 3",
        "-gpgpu_flush_l1_cache 2",
        "-gpgpu_clock_domains 700:700:700",
        "-gpgpu_cache:dl1 N:32:128:4,L:L:m:N:H,Q:64:8,8",
        "-gpgpu_cache:dl1 N:48:128:4,L:L:m:N:L,A:64:8,8",
        "-gpgpu_dram_timing_opt \"nbk=16:CCD=2:\n  RRT=6\"",
        "-gpgpu_dram_timing_opt \"nbk=16",
        "-gpgpu_mem_addr_mapping dramid@8;RRRR",
        "-gpgpu_scheduler fair",
        "-gpgpu_shader_core_pipeline 1024:64",
        "-gpgpu_pipeline_widths 1,1,1,1,1",
        "-ptx_opcode_latency_fp 1,1,1,1,x",
        "-gpgpu_coalesce_arch 7",
        "-gpgpu_num_sp_units 0",
        "-network_mode 3",
        "-inter_config_file nowhere.icnt",
        "-config nowhere.config",
    ];
    insta::assert_snapshot!(all.map(message).join("\n\n"));
}

#[test]
fn broken_networks_are_located() {
    let message = |network: &str| {
        let files = [("mesh", network)];
        let imported = read(LEAST, Some(ModelStyle::V4), &files);
        imported.unwrap_err().to_string()
    };
    let all = [
        "flit_size = wide;",
        "flit_size = 40",
        "internal_speedup = fast;",
        "flit_size 40;",
    ];
    insta::assert_snapshot!(all.map(message).join("\n\n"));
}

#[test]
fn what_is_not_modelled_or_unknown_is_said() {
    let options = "-gpgpu_perfect_mem -gpgpu_scheduler rrr -gpgpu_l1latency 4\n\
                   -gpgpu_n_cores_per_cluster 2 -frobnicate 1 2 stray\n\
                   -gpgpu_memory_partition_indexing 5 -specialized_unit_1 1,4,4,4,4,BRA\n\
                   -trace kernelslist.g";
    let network = "topology = mesh; k = 8; n = 2; num_vcz = 3;";
    let text = format!("{LEAST}{options}");
    let imported = read(&text, Some(ModelStyle::V4), &[("mesh", network)]).unwrap();
    insta::assert_snapshot!(summary(&imported));
    let header = imported.toml.lines().take_while(|line| !line.is_empty());
    insta::assert_snapshot!(header.collect::<Vec<_>>().join("\n"));
}

/// All problems are reported at once, so that one import is enough to find them.
#[test]
fn what_is_unknown_is_said_beside_what_is_wrong() {
    let options = "-gpgpu_l1latency 4 -gpgpu_scheduler fair\n-frobnicate 1 2";
    let network = "topology = mesh; num_vcz = 3; flit_size = wide;";
    let text = format!("{LEAST}{options}");
    let imported = read(&text, Some(ModelStyle::V4), &[("mesh", network)]);
    insta::assert_snapshot!(imported.unwrap_err().to_string());
}

#[test]
fn the_last_value_wins_and_included_files_stand_in_place() {
    let sms = |text: &str, files: &[(&str, &str)]| {
        let text = format!("{LEAST}-gpgpu_n_cores_per_cluster 1 {text}");
        let mut all = vec![FLY];
        all.extend(files);
        read(&text, Some(ModelStyle::V4), &all).map(|imported| imported.spec.gpu.sms)
    };
    assert_eq!(
        sms("-gpgpu_n_clusters 3 -gpgpu_n_clusters\n 0x10", &[]).unwrap(),
        16
    );
    let more = ("more.config", "-gpgpu_n_clusters 7");
    let before = "-gpgpu_n_clusters 3 -config more.config";
    assert_eq!(sms(before, &[more]).unwrap(), 7);
    assert_eq!(
        sms("-config more.config -gpgpu_n_clusters 3", &[more]).unwrap(),
        3
    );
    let own = ("own.config", "-config own.config -config own.config");
    let error = sms("-config own.config", &[own]).unwrap_err().to_string();
    assert!(error.contains("include each other"), "{error}");
}

#[test]
fn aliases_and_misspellings_stand_for_their_option() {
    let spec = |options: &str| with(options).unwrap().spec;
    for (alias, option) in [
        ("-smem_latency 24", "-gpgpu_smem_latency 24"),
        ("-rop_latency 33", "-gpgpu_l2_rop_latency 33"),
        ("-gmem_skip_L1D", "-gpgpu_gmem_skip_L1D 1"),
        ("-l1_banks 4", "-gpgpu_l1_banks 4"),
    ] {
        assert_eq!(spec(alias), spec(option), "{alias}");
        assert_ne!(spec(alias), spec(""), "{alias}");
    }
}

#[test]
fn the_version_is_told_by_widths_then_caches_then_options() {
    let style = |text: &str| {
        let text = format!("{LEAST}{text}");
        read(&text, None, &[FLY]).unwrap().report.style
    };
    assert_eq!(
        style("-gpgpu_pipeline_widths 1,1,1,1,1,1,1"),
        ModelStyle::V3
    );
    let widths = "-gpgpu_pipeline_widths 1,0,0,1,1,1,0,0,1,1,1";
    assert_eq!(style(widths), ModelStyle::V4);
    assert_eq!(
        style("-gpgpu_cache:dl1 32:128:4,L:L:m:N,A:32:8,8"),
        ModelStyle::V3
    );
    assert_eq!(
        style("-gpgpu_cache:dl1 N:32:128:4,L:L:m:N:L,A:32:8,8"),
        ModelStyle::V4
    );
    assert_eq!(style("-gpgpu_l1_latency 20"), ModelStyle::V4);
    assert_eq!(style(""), ModelStyle::V4);
}

#[test]
fn schedulers_are_found_in_the_text() {
    let scheduler = |text: &str| with(&format!("-gpgpu_scheduler {text}")).unwrap().spec.sm;
    let of = |text: &str| scheduler(text).warp_scheduler;
    assert_eq!(of("lrr"), WarpSchedulerChoice::Lrr);
    assert_eq!(of("old"), WarpSchedulerChoice::Oldest);
    let two_level = TwoLevelSettings {
        active_warps: 6,
        inner: InnerOrder::Lrr,
        outer: OuterOrder::Queue,
    };
    let of_six = WarpSchedulerChoice::TwoLevel(two_level);
    assert_eq!(of("two_level_active:6:0:1"), of_six);
    let of_five = WarpSchedulerChoice::StaticLimit(StaticLimitSettings { warps: 5 });
    assert_eq!(of("warp_limiting:2:5"), of_five);
}

/// After random damage to GPGPU-Sim's own files, an import is refused with a message, or its preset
/// resolves to the imported machine.
#[test]
fn no_text_panics() {
    let mut rng = Rng::new(7);
    let mut pick = |n: usize| rng.below(n.max(1) as u32) as usize;
    let scraps = [
        "-config self",
        "\"",
        "#",
        ",",
        ":",
        "-1",
        "0x",
        "none",
        "=",
        ";",
        "99999999999",
    ];
    let mut imported = 0;
    for round in 0..600 {
        let (_, config, network) = FILES[round % FILES.len()];
        let mut texts = [config.to_owned(), network.to_owned()];
        for _ in 0..1 + pick(3) {
            let text = &mut texts[usize::from(pick(4) == 0)];
            let words: Vec<_> = text.split_inclusive([' ', ',', ':', '\n', ';']).collect();
            let (at, from) = (pick(words.len()), pick(words.len()));
            let mut words: Vec<_> = words.into_iter().map(str::to_owned).collect();
            match pick(4) {
                0 if !words.is_empty() => drop(words.remove(at)),
                1 if !words.is_empty() => words[at] = words[from].clone(),
                2 if !words.is_empty() => words[at] = scraps[pick(scraps.len())].to_owned(),
                _ => words.insert(at, scraps[pick(scraps.len())].to_owned()),
            }
            *text = words.concat();
        }
        let request = Request {
            config: Source::new("gpgpusim.config", texts[0].as_str()),
            network: Some(Source::new("network.icnt", texts[1].as_str())),
            name: "damaged".to_owned(),
            style: None,
        };
        let mut files = |_: &str, path: &str| match path {
            "self" => Ok(Source::new("gpgpusim.config", texts[0].as_str())),
            _ => Err("no such file".to_owned()),
        };
        match import(request, &mut files) {
            Ok(machine) => {
                imported += 1;
                let base = Base::Text(Source::new("again.toml", machine.toml));
                assert_eq!(resolve(&base, &[]).unwrap(), machine.spec);
            }
            Err(errors) => assert!(errors.to_string().contains("-->"), "{errors}"),
        }
    }
    assert!(imported > 50, "only {imported} of 600 were imported");
}

/// The generated documentation is up to date; `WARPLOOM_BLESS=1` renews it.
#[test]
fn documentation_of_the_options_is_current() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/generated/gpgpusim-options.md"
    );
    if std::env::var_os("WARPLOOM_BLESS").is_some() {
        std::fs::write(path, options_markdown()).unwrap();
    }
    let current = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        current == options_markdown(),
        "run `WARPLOOM_BLESS=1 cargo test -p warploom-config-tests`"
    );
}

/// GPGPU-Sim 4.0.0 has no option for the sizes of an adaptive L1D. They are in its source and in a
/// comment of its SM7_QV100 (all of 128 KiB without shared memory).
#[test]
fn an_l1d_that_adapts_has_4_0_0s_sizes() {
    let text = "-gpgpu_n_clusters 4\n-gpgpu_n_cores_per_cluster 1\n-gpgpu_n_mem 4\n\
        -gpgpu_n_sub_partition_per_mchannel 2\n-gpgpu_pipeline_widths 4,4,4,4,4,4,4,4,4,4,8,4,4\n\
        -gpgpu_num_sched_per_core 4\n-gpgpu_adaptive_cache_config 1\n\
        -gpgpu_cache:dl1 S:1:128:256,L:L:s:N:L,A:256:8,16:0,32\n-gpgpu_shmem_size 98304\n\
        -gpgpu_shmem_sizeDefault 98304\n-gpgpu_shmem_per_block 65536\n\
        -gpgpu_cache:dl2 S:32:128:24,L:B:m:L:P,A:192:4,32:0,32\n-network_mode 2\n";
    let imported = read(text, None, &[]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let sm = &imported.spec.sm;
    assert!(sm.adaptive_l1d);
    assert_eq!(sm.unified_kib, 128);
    assert_eq!(sm.shared_options_kib.0, [0, 8, 16, 32, 64, 96]);
    assert_eq!(sm.shared_bytes, 98_304);
    let given = format!("{text}-gpgpu_shmem_option 0,96\n-gpgpu_unified_l1d_size 128\n");
    let imported = read(&given, None, &[]).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(imported.spec.sm.shared_options_kib.0, [0, 96]);
}
