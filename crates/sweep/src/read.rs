//! Reader of a sweep's file.

mod axes;

use crate::collect::{MEASURED, TEXTS};
use crate::pattern::{Pattern, is_called};
use crate::spec::{
    Axis, ChartKind, Cluster, Limits, NAMED_AXES, Product, ReportSpec, SlurmSpec, Spec, SpecErrors,
};
use axes::ProductReader;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Source, Span, nearest, nearest_by_words};
use warploom_fields::{Fields, span};

/// Keys at the top of the file.
const KEYS: [&str; 9] = [
    "name",
    "axes",
    "skip",
    "keep",
    "product",
    "limits",
    "statistics",
    "report",
    "slurm",
];

/// Names and rules that the program of a sweep knows.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "a function has no text")]
pub struct Known<'a> {
    /// Keys of a machine.
    pub keys: &'a [&'a str],
    /// Statistics of a whole run.
    pub statistics: &'a [&'a str],
    /// Checks the value of a setting by itself: a name and a value, to the problem if there is one.
    pub check: &'a dyn Fn(&str, &str) -> Result<(), Refused>,
}

/// Problem of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Reason in a sentence without its end.
    pub reason: String,
    /// Remedies, a line each.
    pub help: Vec<String>,
}

/// Names for tests of this crate.
#[cfg(test)]
pub(crate) const SOME: Known<'static> = Known {
    keys: &["gpu.sms", "sm.warp_scheduler", "l1d.sets"],
    statistics: &[
        "sm.barriers",
        "sm.slots.issued",
        "sm.slots.policy",
        "l1d.fails.global_read.line_alloc",
        "l1d.fails.local_read.line_alloc",
    ],
    check: &|name, value| match (name, value) {
        ("gpu.sms", "0") => Err(Refused {
            reason: "no SM".to_owned(),
            help: Vec::new(),
        }),
        _ => Ok(()),
    },
};

/// Reads the file of a sweep, whose keys and statistics must be known.
///
/// # Errors
/// All problems in the text, each with its place and a remedy.
pub fn read(source: &Source, known: Known<'_>) -> Result<Spec, SpecErrors> {
    document(source, |table, diagnostics| {
        match other_kind(table, source.name()) {
            None => spec(table, known, diagnostics),
            Some(problem) => {
                diagnostics.push(problem);
                spec(table, known, &mut Diagnostics::new())
            }
        }
    })
}

/// Problem of a file that is meant for another command, by the tables that it has.
fn other_kind(table: &DeTable<'_>, name: &str) -> Option<Diagnostic> {
    let has = |key: &&str| table.contains_key(*key);
    if KEYS.iter().any(has) {
        return None;
    }
    let key = ["launch", "module", "process"].into_iter().find(has)?;
    let place = table.get_key_value(key).map(|(key, _)| span(key.span()));
    let message = "this is a launch file, not the file of a sweep";
    let help = format!(
        "`warploom run {name}` runs it; a sweep names it as a target: `[axes]` with \
         `target = [\"{name}\"]`"
    );
    Some(Diagnostic::error("other-kind-of-file", place.unwrap_or_default(), message).help(help))
}

/// Reads a file with the tables `limits` and `slurm` alone.
///
/// # Errors
/// All problems in the text, each with its place and a remedy.
pub fn read_cluster(source: &Source) -> Result<Cluster, SpecErrors> {
    document(source, |table, diagnostics| {
        let (top, keys) = ((table, Span::default()), ["limits", "slurm"]);
        cluster(&mut Fields::new(top, "this file", &keys, diagnostics))
    })
}

/// Value that `read` makes of a document, if there are no problems.
fn document<T>(
    source: &Source,
    read: impl FnOnce(&DeTable<'_>, &mut Diagnostics) -> T,
) -> Result<T, SpecErrors> {
    let mut diagnostics = Diagnostics::new();
    let (document, errors) = DeTable::parse_recoverable(source.text());
    for error in errors {
        let place = error.span().map_or(Span::default(), span);
        diagnostics.push(
            Diagnostic::error("bad-toml", place, error.message().to_owned()).help(
                "this must be TOML; names of keys with dots stand in quotes: \"gpu.sms\" = [4, 8]",
            ),
        );
    }
    SpecErrors::check(source, std::mem::take(&mut diagnostics))?;
    let made = read(document.get_ref(), &mut diagnostics);
    diagnostics.sort();
    SpecErrors::check(source, diagnostics)?;
    Ok(made)
}

fn cluster(top: &mut Fields<'_, '_>) -> Cluster {
    Cluster {
        limits: limits(top),
        slurm: slurm(top),
    }
}

fn spec(table: &DeTable<'_>, known: Known<'_>, diagnostics: &mut Diagnostics) -> Spec {
    let mut top = Fields::new((table, Span::default()), "a sweep", &KEYS, diagnostics);
    let products = products(&mut top, known);
    let names: Vec<String> = axis_names(&products);
    let statistics = statistics(&mut top, known);
    let report = report(&mut top, &products, &names, &statistics);
    let spec = Spec {
        pattern: pattern(&mut top, &names),
        cluster: cluster(&mut top),
        statistics,
        report,
        products,
    };
    if spec.products.iter().all(|product| product.axes.is_empty()) {
        top.problem(
            Diagnostic::error("missing-key", Span::default(), "the sweep has no axes")
                .help("write `[axes]` and below it `target = [\"vectoradd\", \"spmv\"]`"),
        );
    }
    spec
}

/// Names of further columns of the table.
fn statistics(top: &mut Fields<'_, '_>, known: Known<'_>) -> Vec<String> {
    let named = top.texts("statistics");
    for (name, place) in &named {
        if known.statistics.contains(&name.as_str()) {
            continue;
        }
        let (message, help) = match MEASURED.iter().any(|(column, _)| column == name) {
            true => (
                format!("`{name}` is a column of every table"),
                "leave it out".to_owned(),
            ),
            false => (
                format!("there is no statistic `{name}`"),
                statistic_meant(name, known),
            ),
        };
        top.problem(Diagnostic::error("unknown-statistic", *place, message).help(help));
    }
    named.into_iter().map(|(name, _)| name).collect()
}

/// Remedy for a name that is no statistic.
fn statistic_meant(name: &str, known: Known<'_>) -> String {
    let names = || known.statistics.iter().copied();
    let array = format!("{name}.");
    if let Some(element) = names().find(|known| known.starts_with(&array)) {
        return format!("it is an array; write one of its elements, such as `{element}`");
    }
    if let Some(near) = nearest(name, names()) {
        return format!("did you mean `{near}`?");
    }
    let near: Vec<String> = nearest_by_words(name, names())
        .iter()
        .map(|near| format!("`{near}`"))
        .collect();
    match near.is_empty() {
        true => "`warploom list stats` shows all names".to_owned(),
        false => format!(
            "did you mean {}? `warploom list stats` shows all names",
            near.join(" or ")
        ),
    }
}

/// The products of the file: those that it lists, each with the common axes that it does not
/// replace, or the common axes alone.
fn products(top: &mut Fields<'_, '_>, known: Known<'_>) -> Vec<Product> {
    let mut reader = ProductReader::new(known);
    let common = reader.product(top);
    let mut products = Vec::new();
    for table in top.tables("product") {
        let keys = ["axes", "skip", "keep"];
        let mut inner = Fields::new(table, "[[product]]", &keys, top.diagnostics());
        let own = reader.product(&mut inner);
        let replaced = |name: &str| own.axes.iter().any(|axis| axis.name == name);
        let inherited = common.axes.iter().filter(|axis| !replaced(&axis.name));
        products.push(Product {
            axes: inherited.chain(&own.axes).cloned().collect(),
            skip: [common.skip.as_slice(), &own.skip].concat(),
            keep: [common.keep.as_slice(), &own.keep].concat(),
        });
    }
    if products.is_empty() {
        products.push(common);
    }
    reader.check_filters(&products, top);
    products
}

/// Names of all axes, each once, in the order of their first appearance.
pub(crate) fn axis_names(products: &[Product]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for axis in products.iter().flat_map(|product| &product.axes) {
        if !names.contains(&axis.name) {
            names.push(axis.name.clone());
        }
    }
    names
}

fn pattern(top: &mut Fields<'_, '_>, names: &[String]) -> Option<Pattern> {
    let text = top.optional_text("name")?;
    let place = top.place("name");
    let pattern = match Pattern::read(&text) {
        Ok(pattern) => pattern,
        Err(reason) => {
            let help = "write `{axis}` for a value, and a brace twice for itself";
            top.problem(Diagnostic::error("bad-name", place, reason).help(help));
            return None;
        }
    };
    for name in pattern.names().filter(|name| axis(names, name).is_none()) {
        top.problem(no_axis(names, name, place));
    }
    Some(pattern)
}

/// The axis that a short name means.
pub(crate) fn axis<'a>(names: &'a [String], short: &str) -> Option<&'a String> {
    let whole = names.iter().find(|name| *name == short);
    whole.or_else(|| names.iter().find(|name| is_called(name, short)))
}

/// The problem that there is no axis with a name.
fn no_axis(names: &[String], name: &str, place: Span) -> Diagnostic {
    let short = |name: &'_ String| name.rsplit('.').next().unwrap_or_default().to_owned();
    let shorts: Vec<String> = names.iter().map(short).collect();
    let all = names.iter().chain(&shorts).map(String::as_str);
    let word = |short: &&String| short.split('_').any(|word| word == name);
    let with_word = || shorts.iter().find(word).map(String::as_str);
    let help = match nearest(name, all).or_else(with_word) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the axes are {}", names.join(", ")),
    };
    let message = format!("there is no axis `{name}`");
    Diagnostic::error("unknown-axis", place, message).help(help)
}

fn limits(top: &mut Fields<'_, '_>) -> Limits {
    let Some(table) = top.table("limits") else {
        return Limits::default();
    };
    let keys = ["time", "memory", "kills"];
    let misplaced = table.0.keys().map(|key| (key.get_ref().as_ref(), key));
    let is_axis = |name: &str| NAMED_AXES.iter().any(|(axis, _)| *axis == name);
    let misplaced: Vec<(&str, _)> = misplaced.filter(|(name, _)| is_axis(name)).collect();
    for (name, key) in &misplaced {
        let message = format!(
            "`{name}` is an axis, and [limits] takes {}",
            keys.join(", ")
        );
        let help = format!("write `{name}` below `[axes]`; one value applies to all runs");
        top.problem(Diagnostic::error("unknown-key", span(key.span()), message).help(help));
    }
    let misplaced = misplaced.into_iter().map(|(name, _)| name);
    let allowed: Vec<&str> = keys.into_iter().chain(misplaced).collect();
    let mut inner = Fields::new(table, "[limits]", &allowed, top.diagnostics());
    Limits {
        seconds: inner.measured("time", "\"10m\"", &[("s", 1), ("m", 60), ("h", 3600)]),
        memory_bytes: inner.measured(
            "memory",
            "\"4GiB\"",
            &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
        ),
        kills: inner
            .integer("kills", 1, 1_000_000)
            .map_or(Limits::default().kills, |kills| kills as u32),
    }
}

fn report(
    top: &mut Fields<'_, '_>,
    products: &[Product],
    names: &[String],
    statistics: &[String],
) -> ReportSpec {
    let Some(table) = top.table("report") else {
        return ReportSpec::default();
    };
    let keys = [
        "title", "rows", "columns", "panels", "metric", "chart", "colours", "baseline",
    ];
    let mut inner = Fields::new(table, "[report]", &keys, top.diagnostics());
    let mut of = |key: &str| named_axis(&mut inner, key, names);
    let (rows, columns) = (of("rows"), of("columns"));
    let panels = panels(&mut inner, names, [&rows, &columns]);
    let baseline = baseline(&mut inner, products, names);
    let has_baseline = inner.get("baseline").is_some();
    ReportSpec {
        rows,
        columns,
        panels,
        metric: metric(&mut inner, has_baseline, statistics, products),
        title: inner.optional_text("title"),
        chart: chart(&mut inner),
        shared_colours: shared_colours(&mut inner),
        baseline,
    }
}

fn chart(inner: &mut Fields<'_, '_>) -> Option<ChartKind> {
    match inner.optional_text("chart")?.as_str() {
        "bars" => Some(ChartKind::Bars),
        "map" => Some(ChartKind::Map),
        other => {
            let message = format!("there is no chart `{other}`");
            let problem = Diagnostic::error("unknown-value", inner.place("chart"), message);
            inner.problem(problem.help("write \"bars\" or \"map\""));
            None
        }
    }
}

/// Whether all maps have the same colours and all bars the same axis, if the file chooses.
fn shared_colours(inner: &mut Fields<'_, '_>) -> Option<bool> {
    match inner.optional_text("colours")?.as_str() {
        "own" => Some(false),
        "shared" => Some(true),
        other => {
            let message = format!("there is no choice `{other}` of colours");
            let problem = Diagnostic::error("unknown-value", inner.place("colours"), message);
            inner.problem(problem.help("write \"own\" (those of each map) or \"shared\""));
            None
        }
    }
}

/// The column that the map shows: a headline statistic, the speedup, or a statistic of the sweep.
fn metric(
    inner: &mut Fields<'_, '_>,
    has_baseline: bool,
    statistics: &[String],
    products: &[Product],
) -> Option<String> {
    let metric = inner.optional_text("metric")?;
    let headline = MEASURED.iter().map(|(name, _)| *name);
    let headline = headline.filter(|name| !TEXTS.contains(name));
    let speedup = has_baseline.then_some("speedup");
    let own = statistics.iter().map(String::as_str);
    let known: Vec<&str> = headline.chain(speedup).chain(own).collect();
    if !known.contains(&metric.as_str()) {
        let help = match metric.as_str() {
            "speedup" => baseline_example(products, &DeValue::Boolean(false)) + ", too",
            _ => match near_column(&metric, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the columns are {}; `statistics` adds others",
                    known.join(", ")
                ),
            },
        };
        let message = format!("the table has no column `{metric}`");
        let place = inner.place("metric");
        inner.problem(Diagnostic::error("unknown-column", place, message).help(help));
    }
    Some(metric)
}

/// The column that a wrong name most likely means: a similar one, or the speedup by its beginning.
fn near_column<'a>(metric: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = nearest(metric, known.iter().copied());
    near.or_else(|| ("speedup".starts_with(metric) && metric.len() > 2).then_some("speedup"))
}

fn named_axis(inner: &mut Fields<'_, '_>, key: &str, names: &[String]) -> Option<String> {
    let short = inner.optional_text(key)?;
    let place = inner.place(key);
    let found = axis(names, &short).cloned();
    // Without any axis, that is the problem.
    if found.is_none() && !names.is_empty() {
        inner.problem(no_axis(names, &short, place));
    }
    found
}

/// Axes with a picture for each of their values, if the file has the key.
fn panels(
    inner: &mut Fields<'_, '_>,
    names: &[String],
    of_map: [&Option<String>; 2],
) -> Option<Vec<String>> {
    inner.get("panels")?;
    let mut panels = Vec::new();
    for (short, place) in inner.texts("panels") {
        match axis(names, &short) {
            None if names.is_empty() => {}
            None => inner.problem(no_axis(names, &short, place)),
            Some(name) if of_map.contains(&&Some(name.clone())) => {
                let message = format!("`{short}` is an axis of each picture already");
                let problem = Diagnostic::error("twice", place, message);
                inner.problem(problem.help("name it under `rows`, `columns` or `panels`"));
            }
            Some(name) => panels.push(name.clone()),
        }
    }
    Some(panels)
}

fn baseline(
    inner: &mut Fields<'_, '_>,
    products: &[Product],
    names: &[String],
) -> BTreeMap<String, String> {
    let Some(value) = inner.get("baseline") else {
        return BTreeMap::new();
    };
    let Some(table) = value.get_ref().as_table() else {
        let message = "`baseline` is not a table of axes and values";
        let problem = Diagnostic::error("wrong-type", span(value.span()), message);
        inner.problem(problem.help(baseline_example(products, value.get_ref())));
        return BTreeMap::new();
    };
    let mut values = BTreeMap::new();
    for (short, value) in axes::flat(table) {
        let text = inner.scalar(value.value, &short);
        let Some(name) = axis(names, &short) else {
            if !names.is_empty() {
                inner.problem(no_axis(names, &short, value.place));
            }
            continue;
        };
        let Some(text) = text else { continue };
        let known = values_of(products, name);
        if !known.contains(&text.as_str()) {
            let message = format!("the axis `{name}` has no value `{text}`");
            let help = match nearest(&text, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its values are {}", known.join(", ")),
            };
            let place = span(value.value.span());
            inner.problem(Diagnostic::error("unknown-value", place, message).help(help));
        }
        values.insert(name.clone(), text);
    }
    values
}

/// A baseline as it could be written: of the axis that has the value given alone, or of the first.
fn baseline_example(products: &[Product], alone: &DeValue<'_>) -> String {
    let has = |axis: &&Axis| {
        let mut values = axis.values.iter();
        values.any(|value| Some(value.text.as_str()) == alone.as_str())
    };
    let axes = || products.iter().flat_map(|product| &product.axes);
    // Programs are rarely what is compared.
    let varies = |axis: &&Axis| axis.name != "target" && axis.values.len() > 1;
    match axes()
        .find(has)
        .or_else(|| axes().find(varies))
        .or_else(|| axes().next())
    {
        None => "write `baseline = { warp_scheduler = \"gto\" }`".to_owned(),
        Some(axis) => {
            let value = match alone.as_str().filter(|_| has(&axis)) {
                Some(given) => given,
                None => axis.values.first().map_or("", |value| value.text.as_str()),
            };
            let name = axis.name.rsplit('.').next().unwrap_or_default();
            format!("write `baseline = {{ {name} = \"{value}\" }}`")
        }
    }
}

/// Texts of an axis's values in all products.
fn values_of<'a>(products: &'a [Product], name: &str) -> Vec<&'a str> {
    let axes = products.iter().flat_map(|product| &product.axes);
    let values = axes
        .filter(|axis| axis.name == name)
        .flat_map(|axis| &axis.values);
    values.map(|value| value.text.as_str()).collect()
}

fn slurm(top: &mut Fields<'_, '_>) -> SlurmSpec {
    let Some(table) = top.table("slurm") else {
        return SlurmSpec::default();
    };
    let keys = ["workers", "cores", "options", "before", "wrap"];
    let mut inner = Fields::new(table, "[slurm]", &keys, top.diagnostics());
    let mut number = |key: &str| inner.integer(key, 1, 1_000_000).map(|value| value as u32);
    let (workers, cores) = (number("workers"), number("cores"));
    let mut lines = |key: &str| {
        let texts = inner.texts(key).into_iter();
        texts.map(|(text, _)| text).collect()
    };
    let (options, before) = (lines("options"), lines("before"));
    SlurmSpec {
        workers,
        cores,
        options,
        before,
        wrap: inner.optional_text("wrap").unwrap_or_default(),
    }
}
