//! Imports of small files.

use super::{FACTORS, Imported, import};
use crate::event::Event;
use crate::preset::{Power, find};
use crate::read::read;
use crate::static_power::UnitMix;
use warploom_diag::Source;

fn file(params: &[(&str, &str)]) -> Source {
    let line = |(name, value): &(&str, &str)| {
        format!("    <param name=\"{name}\" value=\"{value}\" /> <!-- {name} -->\n")
    };
    let params: String = params.iter().map(line).collect();
    let text = format!(
        "<?xml version=\"1.0\" ?>\n<component id=\"root\" name=\"root\">\n  <component \
         id=\"system\" name=\"system\">\n{params}  <component id=\"system.core0\"><param \
         name=\"DC_RH\" value=\"99\"/></component>\n  </component>\n</component>\n"
    );
    Source::new("folder/own.xml", text)
}

fn imported(params: &[(&str, &str)]) -> Imported {
    import(&file(params)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

/// The factors of the original file give the energies of the preset, and other factors scale them.
#[test]
fn factors_multiply_the_energies_of_structures() {
    let qv100 = find("qv100").unwrap();
    let mut all: Vec<(&str, String)> = Vec::new();
    for row in FACTORS {
        all.push((row.accelwattch.0, row.accelwattch.1.to_string()));
    }
    let same: Vec<(&str, &str)> = all.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let own = imported(&same).preset;
    for (at, event) in Event::ALL.iter().enumerate() {
        assert!(near(own.joules[at], qv100.joules[at]), "{}", event.key);
    }
    // Twice the factor of reads that hit: both L1D and the coalescer's tables count them.
    let twice = (2.0 * 7.737353491).to_string();
    let mut other = same.clone();
    other.retain(|(name, _)| *name != "DC_RH");
    other.push(("DC_RH", &twice));
    let own = imported(&other).preset;
    for key in ["l1d_read_hit", "coalescer_read_hit"] {
        let (own, base) = (own.joules_of(key).unwrap(), qv100.joules_of(key).unwrap());
        assert!(near(own, 2.0 * base), "{key}");
    }
    assert!(near(
        own.joules_of("l1d_read_miss").unwrap(),
        qv100.joules_of("l1d_read_miss").unwrap()
    ));
}

#[test]
fn powers_are_taken_and_missing_factors_are_1() {
    let own = imported(&[
        ("INT_ACC", "3.429666768"),
        ("constant_power", "40.5"),
        ("idle_core_power", "0.5"),
        ("static_cat2_flane", "12"),
        ("static_cat2_addlane", "0.25"),
        ("static_l1_flane", "7"),
        ("DC_RHH", "5"),
    ]);
    let qv100 = find("qv100").unwrap();
    assert_eq!(own.preset.name, "own");
    assert_eq!(own.preset.power(Power::Constant), 40.5);
    assert_eq!(own.preset.power(Power::IdleSm), 0.5);
    let int_fp = own.preset.static_power(UnitMix::IntFp);
    assert_eq!((int_fp.first_lane_w, int_fp.added_lane_w), (12.0, 0.25));
    assert_eq!(own.preset.static_power(UnitMix::L1d).first_lane_w, 7.0);
    assert_eq!(
        own.preset.static_power(UnitMix::Int),
        qv100.static_power(UnitMix::Int)
    );
    let [got, base] = [&own.preset, &qv100].map(|of| of.joules_of("flit").unwrap());
    assert!(near(got, base / 83.18977901));
    let notes = own.notes.join("\n");
    assert!(
        notes.contains("`DC_RH` is missing: 1; is `DC_RHH` meant?"),
        "{notes}"
    );
    assert_eq!(own.carried, 6);
    assert!(own.toml.contains("# INT_ACC, line 4"), "{}", own.toml);
}

#[test]
fn a_file_of_gpuwattch_starts_from_the_gtx_480() {
    let own = imported(&[("SP_ACC", "4.76"), ("CONST_DYNAMICN", "22")]);
    let gtx480 = find("gtx480").unwrap();
    let [got, base] = [&own.preset, &gtx480].map(|of| of.joules_of("int_add").unwrap());
    assert!(near(got, 2.0 * base));
    assert_eq!(own.preset.power(Power::Constant), 22.0);
    assert_eq!(own.preset.statics, gtx480.statics);
    assert!(!own.preset.gated_lanes);
}

#[test]
fn the_text_reads_back_as_the_preset() {
    let own = imported(&[("INT_ACC", "1.5"), ("constant_power", "40.5")]);
    let back = read(&Source::new("x.toml", own.toml)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(back.name, own.preset.name);
    assert_eq!(back.watts, own.preset.watts);
    assert_eq!(back.statics, own.preset.statics);
    for (a, b) in back.joules.iter().zip(&own.preset.joules) {
        assert!(near(*a, *b));
    }
}

#[test]
fn mistakes_have_their_places() {
    let told = |source: &Source| import(source).unwrap_err().to_string();
    let wrong = told(&file(&[("INT_ACC", "1,5"), ("DC_RH", "-1")]));
    assert!(wrong.contains("own.xml:4:"), "{wrong}");
    assert!(
        wrong.contains("`DC_RH` is no number of at least 0"),
        "{wrong}"
    );
    // The parameter of the core is none of the power model.
    let none = told(&file(&[("number_of_cores", "3")]));
    assert!(none.contains("no parameter of AccelWattch"), "{none}");
    assert!(none.contains("-accelwattch_xml_file"), "{none}");
    let open = told(&Source::new("own.xml", "<!-- "));
    assert!(open.contains("the comment has no end"), "{open}");
}
