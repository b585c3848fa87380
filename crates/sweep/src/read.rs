//! Reader of a sweep's file.

mod axes;
mod fields;

use crate::collect::MEASURED;
use crate::pattern::{Pattern, is_called};
use crate::spec::{Limits, Product, ReportSpec, SlurmSpec, Spec, SpecErrors};
use axes::product;
use fields::Fields;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Source, Span, nearest};

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

/// Reads the file of a sweep.
///
/// # Errors
/// All problems in the text, each with its place and a remedy.
pub fn read(source: &Source) -> Result<Spec, SpecErrors> {
    let mut diagnostics = Diagnostics::new();
    let (document, errors) = DeTable::parse_recoverable(source.text());
    for error in errors {
        let place = error.span().map_or(Span::default(), fields::span);
        diagnostics.push(
            Diagnostic::error("bad-toml", place, error.message().to_owned()).help(
                "this must be TOML; names of keys with dots stand in quotes: \"gpu.sms\" = [4, 8]",
            ),
        );
    }
    SpecErrors::check(source, std::mem::take(&mut diagnostics))?;
    let spec = spec(document.get_ref(), &mut diagnostics);
    diagnostics.sort();
    SpecErrors::check(source, diagnostics)?;
    Ok(spec)
}

fn spec(table: &DeTable<'_>, diagnostics: &mut Diagnostics) -> Spec {
    let mut top = Fields::new(table, Span::default(), "a sweep", &KEYS, diagnostics);
    let common = product(&mut top);
    let products = products(&mut top, &common);
    let names: Vec<String> = axis_names(&products);
    let statistics = top.texts("statistics");
    let report = report(&mut top, &names, &statistics);
    let spec = Spec {
        pattern: pattern(&mut top, &names),
        limits: limits(&mut top),
        statistics,
        report,
        slurm: slurm(&mut top),
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

/// The products of the file: those that it lists, each with the common axes that it does not
/// replace, or the common axes alone.
fn products(top: &mut Fields<'_, '_>, common: &Product) -> Vec<Product> {
    let mut products = Vec::new();
    for (table, place) in top.tables("product") {
        let keys = ["axes", "skip", "keep"];
        let mut inner = Fields::new(table, place, "[[product]]", &keys, top.diagnostics());
        let own = product(&mut inner);
        let replaced = |name: &str| own.axes.iter().any(|axis| axis.name == name);
        let inherited = common.axes.iter().filter(|axis| !replaced(&axis.name));
        products.push(Product {
            axes: inherited.chain(&own.axes).cloned().collect(),
            skip: [common.skip.as_slice(), &own.skip].concat(),
            keep: [common.keep.as_slice(), &own.keep].concat(),
        });
    }
    if products.is_empty() {
        products.push(common.clone());
    }
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
        top.problem(Diagnostic::error(
            "unknown-axis",
            place,
            no_axis(names, name),
        ));
    }
    Some(pattern)
}

/// The axis that a short name means.
pub(crate) fn axis<'a>(names: &'a [String], short: &str) -> Option<&'a String> {
    let whole = names.iter().find(|name| *name == short);
    whole.or_else(|| names.iter().find(|name| is_called(name, short)))
}

fn no_axis(names: &[String], name: &str) -> String {
    let short = |name: &'_ String| name.rsplit('.').next().unwrap_or_default().to_owned();
    let shorts: Vec<String> = names.iter().map(short).collect();
    let all = names.iter().chain(&shorts).map(String::as_str);
    match nearest(name, all) {
        Some(near) => format!("there is no axis `{name}`; did you mean `{near}`?"),
        None => format!(
            "there is no axis `{name}`; the axes are {}",
            names.join(", ")
        ),
    }
}

fn limits(top: &mut Fields<'_, '_>) -> Limits {
    let Some((table, place)) = top.table("limits") else {
        return Limits::default();
    };
    let keys = ["time", "memory", "kills"];
    let mut inner = Fields::new(table, place, "[limits]", &keys, top.diagnostics());
    Limits {
        seconds: inner.measured("time", "\"10m\"", &[("s", 1), ("m", 60), ("h", 3600)]),
        memory_bytes: inner.measured(
            "memory",
            "\"4GiB\"",
            &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
        ),
        kills: inner
            .whole("kills", 1, 1_000_000)
            .map_or(Limits::default().kills, |kills| kills as u32),
    }
}

fn report(top: &mut Fields<'_, '_>, names: &[String], statistics: &[String]) -> ReportSpec {
    let Some((table, place)) = top.table("report") else {
        return ReportSpec::default();
    };
    let keys = ["rows", "columns", "metric", "baseline"];
    let mut inner = Fields::new(table, place, "[report]", &keys, top.diagnostics());
    let mut of = |key: &str| named_axis(&mut inner, key, names);
    let (rows, columns) = (of("rows"), of("columns"));
    let baseline = baseline(&mut inner, names);
    ReportSpec {
        rows,
        columns,
        metric: metric(&mut inner, !baseline.is_empty(), statistics),
        baseline,
    }
}

/// The column that the map shows: a headline statistic, the speedup, or a statistic of the sweep.
fn metric(inner: &mut Fields<'_, '_>, has_baseline: bool, statistics: &[String]) -> Option<String> {
    let metric = inner.optional_text("metric")?;
    let headline = MEASURED.iter().map(|(name, _)| *name);
    let speedup = has_baseline.then_some("speedup");
    let own = statistics.iter().map(String::as_str);
    let known: Vec<&str> = headline.chain(speedup).chain(own).collect();
    if !known.contains(&metric.as_str()) {
        let help = match metric.as_str() {
            "speedup" => "write `baseline = { \"gpu.sms\" = 4 }`, too".to_owned(),
            _ => format!(
                "the columns are {}; `statistics` adds others",
                known.join(", ")
            ),
        };
        let message = format!("the table has no column `{metric}`");
        let place = inner.place("metric");
        inner.problem(Diagnostic::error("unknown-column", place, message).help(help));
    }
    Some(metric)
}

fn named_axis(inner: &mut Fields<'_, '_>, key: &str, names: &[String]) -> Option<String> {
    let short = inner.optional_text(key)?;
    let place = inner.place(key);
    let found = axis(names, &short).cloned();
    if found.is_none() {
        inner.problem(Diagnostic::error(
            "unknown-axis",
            place,
            no_axis(names, &short),
        ));
    }
    found
}

fn baseline(inner: &mut Fields<'_, '_>, names: &[String]) -> BTreeMap<String, String> {
    let Some((table, _)) = inner.table("baseline") else {
        return BTreeMap::new();
    };
    let mut values = BTreeMap::new();
    for (short, value) in axes::flat(table) {
        let text = inner.scalar(value.value, &short);
        match (axis(names, &short), text) {
            (Some(name), Some(text)) => {
                values.insert(name.clone(), text);
            }
            (None, _) => inner.problem(Diagnostic::error(
                "unknown-axis",
                value.place,
                no_axis(names, &short),
            )),
            (Some(_), None) => {}
        }
    }
    values
}

fn slurm(top: &mut Fields<'_, '_>) -> SlurmSpec {
    let Some((table, place)) = top.table("slurm") else {
        return SlurmSpec::default();
    };
    let keys = ["workers", "cores", "options", "before", "wrap"];
    let mut inner = Fields::new(table, place, "[slurm]", &keys, top.diagnostics());
    let mut number = |key: &str| inner.whole(key, 1, 1_000_000).map(|value| value as u32);
    let (workers, cores) = (number("workers"), number("cores"));
    SlurmSpec {
        workers,
        cores,
        options: inner.texts("options"),
        before: inner.texts("before"),
        wrap: inner.optional_text("wrap").unwrap_or_default(),
    }
}

/// A value as a table, if it is one.
fn as_table<'t>(value: &'t DeValue<'t>) -> Option<&'t DeTable<'t>> {
    value.as_table()
}
