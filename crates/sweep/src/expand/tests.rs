//! Products, filters and names of sweeps.

use super::{ExpandError, Expanded, expand};
use crate::read::{SOME, read};
use warploom_diag::{Source, Style};

fn expanded(text: &str) -> Result<Expanded, ExpandError> {
    let spec = read(&Source::new("s.toml", text), SOME);
    expand(&spec.unwrap_or_else(|errors| panic!("{}", errors.render(Style::Plain))))
}

fn names(text: &str) -> Vec<String> {
    let points = expanded(text).unwrap().points;
    points.into_iter().map(|point| point.name).collect()
}

#[test]
fn a_product_has_every_combination_and_the_first_axis_varies_slowest() {
    let text = r#"[axes]
        target = ["a", "b"]
        size = "test"
        "gpu.sms" = [1, 2, 4]"#;
    assert_eq!(names(text), ["a-1", "a-2", "a-4", "b-1", "b-2", "b-4"]);
    let found = expanded(text).unwrap();
    assert_eq!(found.axes, ["target", "size", "gpu.sms"]);
    assert_eq!(found.points[4].values, ["b", "test", "2"]);
    let setting = |at: usize| {
        let (name, value) = &found.points[4].settings[at];
        (name.as_str(), value.as_str())
    };
    assert_eq!(setting(2), ("gpu.sms", "2"));
}

#[test]
fn names_follow_the_pattern_and_must_differ() {
    let axes = "[axes]\ntarget = [\"a\"]\ngpu = [\"x\", \"y\"]\n\"sm.warp_scheduler\" = [\"lrr\", \"gto\"]";
    let named = |pattern: &str| format!("name = \"{pattern}\"\n{axes}");
    assert_eq!(
        names(&named("{gpu}-{warp_scheduler}")),
        ["x-lrr", "x-gto", "y-lrr", "y-gto"]
    );
    let error = expanded(&named("{target}-{gpu}")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("write {warp_scheduler} into `name`"),
        "{error}"
    );
}

/// Files are named as in charts, unless two would have one name.
#[test]
fn runs_of_files_are_named_without_folder_and_ending() {
    let of = |targets: &str, pattern: &str| {
        names(&format!(
            "{pattern}[axes]\ntarget = [{targets}]\n\"gpu.sms\" = [1, 2]"
        ))
    };
    let files = "\"mine/ema.toml\", \"spmv\"";
    assert_eq!(of(files, ""), ["ema-1", "ema-2", "spmv-1", "spmv-2"]);
    let pattern = "name = \"{sms}_{target}\"\n";
    assert_eq!(of(files, pattern), ["1_ema", "2_ema", "1_spmv", "2_spmv"]);
    let two = "\"a/k.toml\", \"b/k.toml\"";
    assert_eq!(of(two, "")[0], "a/k.toml-1");
}

#[test]
fn named_alternatives_set_several_keys_at_once() {
    let text = r#"[axes]
        target = "a"
        machine = [
            { name = "small", gpu = "x", "gpu.sms" = 4 },
            { name = "big", gpu = "y" },
        ]"#;
    let found = expanded(text).unwrap();
    assert_eq!(names(text), ["small", "big"]);
    assert_eq!(found.axes, ["target", "machine"]);
    let settings: Vec<_> = found.points[0]
        .settings
        .iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(settings, ["target", "gpu", "gpu.sms"]);
}

#[test]
fn filters_remove_and_keep_combinations() {
    let filtered =
        |filter: &str| format!("[axes]\ntarget = [\"a\", \"b\"]\ngpu.sms = [1, 2, 4]\n{filter}");
    let skip = "[[skip]]\ntarget = \"a\"\n\"gpu.sms\" = \">1\"";
    assert_eq!(names(&filtered(skip)), ["a-1", "b-1", "b-2", "b-4"]);
    assert_eq!(expanded(&filtered(skip)).unwrap().skipped, 2);
    let keep = "[[keep]]\ntarget = \"a\"\n[[keep]]\n\"gpu.sms\" = [2]";
    assert_eq!(names(&filtered(keep)), ["a-1", "a-2", "a-4", "b-2"]);
    let none = expanded(&filtered("[[keep]]\ntarget = \"c\"")).unwrap_err();
    assert_eq!(none, ExpandError::Nothing(6));
}

#[test]
fn several_products_are_united_and_share_the_axes_at_the_top() {
    let text = r#"
        [axes]
        size = "test"
        target = ["a", "b"]
        [[product]]
        axes.seed = [1, 2]
        [[product]]
        axes = { target = "c", "gpu.sms" = [4, 8] }
        [[product]]
        axes.seed = [2]
        "#;
    assert_eq!(names(text), ["a-1", "a-2", "b-1", "b-2", "c-4", "c-8"]);
    let found = expanded(text).unwrap();
    assert_eq!(found.axes, ["size", "target", "seed", "gpu.sms"]);
    assert_eq!(found.points[4].values, ["test", "c", "", "4"]);
}

/// Problems of a file.
fn problems(text: &str) -> String {
    let refused = read(&Source::new("s.toml", text), SOME).unwrap_err();
    refused.render(Style::Plain)
}

#[test]
fn a_misspelt_key_is_reported_once_where_it_stands() {
    let told = problems(
        "name = \"{warp_scheduler}\"\n[axes]\ntarget = \"a\"\n\"sm.warp_sheduler\" = \"lrr\"\n\
         [report]\nrows = \"warp_scheduler\"\nbaseline = { warp_scheduler = \"lrr\" }",
    );
    assert!(told.contains("s.toml:4:1"), "{told}");
    assert!(told.contains("did you mean `sm.warp_scheduler`?"), "{told}");
    assert_eq!(told.matches("error").count(), 1, "{told}");
}

#[test]
fn a_refused_value_is_reported_where_it_stands() {
    let told = problems("[axes]\ntarget = \"a\"\n\"gpu.sms\" = [4, 0]");
    assert!(
        told.contains("s.toml:3:17") && told.contains("no SM"),
        "{told}"
    );
    let told = problems("[axes]\nbig = [{ name = \"none\", \"gpu.sms\" = 0 }]\ntarget = \"a\"");
    assert!(told.contains("s.toml:2:37"), "{told}");
}

#[test]
fn statistics_must_be_known() {
    let of = |names: &str| problems(&format!("statistics = [{names}]\n[axes]\ntarget = \"a\""));
    let told = of("\"sm.barriers\", \"sm.bariers\"");
    assert!(told.contains("s.toml:1:30"), "{told}");
    assert!(told.contains("did you mean `sm.barriers`?"), "{told}");
    assert!(of("\"nothing\"").contains("`warploom list stats`"));
    for (name, near) in [
        ("sm.scheduler_cycles.policy", "`sm.slots.policy`?"),
        (
            "l1d.fails.line_alloc.global_read",
            "`l1d.fails.global_read.line_alloc`?",
        ),
        (
            "l1d.fails.line_alloc",
            "`l1d.fails.global_read.line_alloc` or ",
        ),
    ] {
        let told = of(&format!("{name:?}"));
        assert!(told.contains(&format!("did you mean {near}")), "{told}");
    }
    assert!(
        of("\"sm.slots\"").contains("it is an array")
            && of("\"sm.slots\"").contains("`sm.slots.issued`")
    );
    assert!(of("\"cycles\"").contains("is a column of every table"));
}

#[test]
fn filters_and_baselines_name_what_runs_have() {
    let told = problems(
        "[axes]\ntarget = \"a\"\n\"gpu.sms\" = [2, 4]\n[[skip]]\n\"gpu.smss\" = 2\n\
         [report]\nbaseline = { sms = 3 }",
    );
    assert!(
        told.contains("s.toml:5:1") && told.contains("no run has `gpu.smss`"),
        "{told}"
    );
    assert!(told.contains("did you mean `gpu.sms`?"), "{told}");
    assert!(
        told.contains("the axis `gpu.sms` has no value `3`"),
        "{told}"
    );
}
