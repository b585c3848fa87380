//! Whole configurations: those of GPGPU-Sim, broken ones, any bytes.

use super::{Class, Imported, Request, import};
use crate::error::ConfigErrors;
use crate::resolve::{Base, preset, resolve};
use crate::spec::{GpuSpec, ModelStyle};
use std::fmt::Write;
use warploom_diag::Source;

macro_rules! test_file {
    ($name:literal) => {
        include_str!(concat!("../../testdata/gpgpusim/", $name))
    };
}

/// A configuration of GPGPU-Sim: its name, options, and network's file.
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

/// One of GPGPU-Sim's configurations.
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

/// What an import says, a line an option; of what was carried only the number and what is special.
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

/// Keys in which two machines differ, a line each, without the name.
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
        ("sm7_qv100", "qv100-volta", &unread),
    ] {
        let found = differences(&known(file).spec, &preset(name).unwrap());
        assert_eq!(found, expected, "{name}");
    }
}

/// `gtx480` is the paper's machine: where it differs from the configuration of the simulator that
/// the paper used, the paper says so (Tables 1 and 2), or the Programming Guide.
#[test]
fn the_papers_gtx480_differs_from_3_2_2_where_the_paper_says_so() {
    let found = differences(&known("gtx480-3.2.2").spec, &preset("gtx480").unwrap());
    insta::assert_snapshot!(found.join("\n"));
}
