//! Initial contents of buffers in a launch file: `init` and its keys.

use super::element::Element;
use super::plan::Init;
use warploom_diag::{Diagnostic, nearest};
use warploom_fields::{Fields, Number};

/// Kinds of initial contents, each with its keys.
const INITS: [(&str, &[&str]); 5] = [
    ("zeros", &[]),
    ("iota", &[]),
    ("constant", &["value"]),
    ("uniform", &["low", "high", "seed"]),
    ("normal", &["mean", "deviation", "seed"]),
];

/// Names of initial contents in NumPy and elsewhere, with those of launch files.
const INITS_ELSEWHERE: [(&str, &str); 12] = [
    ("arange", "iota"),
    ("empty", "zeros"),
    ("fill", "constant"),
    ("full", "constant"),
    ("gauss", "normal"),
    ("gaussian", "normal"),
    ("ones", "constant"),
    ("rand", "uniform"),
    ("randint", "uniform"),
    ("randn", "normal"),
    ("random", "uniform"),
    ("range", "iota"),
];

/// Keys that initial contents of this name take; `None` if there are none of this name.
fn keys_of(init: &str) -> Option<&'static [&'static str]> {
    let known = INITS.iter().find(|(name, _)| *name == init);
    let file = init.ends_with(".npy").then_some(&[] as &[&str]);
    known.map(|(_, keys)| *keys).or(file)
}

/// Adds the remedy for initial contents that do not exist: those that the name has in NumPy, or
/// those of a similar name.
fn with_hint(problem: Diagnostic, name: &str) -> Diagnostic {
    let names = INITS.map(|(name, _)| name);
    let all = format!(
        "write one of {}, or the name of a .npy file",
        names.join(", ")
    );
    let folded = name.to_lowercase();
    let elsewhere = INITS_ELSEWHERE.iter().find(|(other, _)| *other == folded);
    match (elsewhere, nearest(name, names)) {
        (Some((_, meant)), _) => problem.help(did_you_mean(meant)).help(all),
        (None, Some(near)) => problem.help(did_you_mean(near)),
        (None, None) => problem.help(all),
    }
}

fn did_you_mean(init: &str) -> String {
    match keys_of(init).unwrap_or_default() {
        [] => format!("did you mean `{init}`?"),
        keys => format!(
            "did you mean `{init}`, with the keys `{}`?",
            keys.join("`, `")
        ),
    }
}

/// Reads `init` and its keys.
pub(super) fn init(fields: &mut Fields<'_, '_>, element: Option<Element>) -> Option<Init> {
    let name = match fields.get("init") {
        None => "zeros".to_owned(),
        Some(_) => fields.optional_text("init")?,
    };
    let seed = fields.integer("seed", 0, u64::MAX.into()).unwrap_or(0) as u64;
    let Some(taken) = keys_of(&name) else {
        let message = format!("there is no initial content `{name}`");
        let problem = Diagnostic::error("unknown-init", fields.place("init"), message);
        fields.problem(with_hint(problem, &name));
        return None;
    };
    report_unused(fields, &name, taken);
    match name.as_str() {
        "zeros" => Some(Init::Zeros),
        "iota" => Some(Init::Iota),
        "constant" => {
            fields.required("value", "1");
            constant(fields, "value", element).map(Init::Constant)
        }
        "uniform" => uniform(fields, element, seed),
        "normal" => normal(fields, seed),
        _ => Some(Init::Npy(name)),
    }
}

fn report_unused(fields: &mut Fields<'_, '_>, init: &str, taken: &[&str]) {
    let settings = ["value", "low", "high", "mean", "deviation", "seed"];
    let unused = settings.iter().filter(|key| !taken.contains(key));
    for key in unused
        .filter(|key| fields.get(key).is_some())
        .collect::<Vec<_>>()
    {
        let message = format!("`{key}` does not apply to `init = \"{init}\"`");
        let problem = Diagnostic::error("unused-key", fields.place(key), message);
        fields.problem(problem.help("leave it out, or choose an `init` that uses it"));
    }
}

/// A number that the element type can represent.
fn constant(fields: &mut Fields<'_, '_>, key: &str, element: Option<Element>) -> Option<Number> {
    let number = fields.number(key)?;
    let Some(element) = element else {
        return Some(number);
    };
    if element.put(number, &mut Vec::new()).is_none() {
        let message = format!("{number} is no value of type {}", element.name());
        let problem = Diagnostic::error("impossible-value", fields.place(key), message);
        fields.problem(problem.help("write a number in the type's range, or change the type"));
        return None;
    }
    Some(number)
}

/// The bound of whole numbers below it, which is itself no value of them: 256 for bytes.
fn excluded(fields: &mut Fields<'_, '_>, element: Option<Element>) -> Option<Number> {
    let number = fields.number("high")?;
    let whole = element.filter(|element| !element.is_float());
    let (Some(element), Number::Int(high)) = (whole, number) else {
        return constant(fields, "high", element);
    };
    let largest = Number::Int(high.saturating_sub(1));
    if element.put(largest, &mut Vec::new()).is_none() {
        let message = format!(
            "`high` is excluded, and the number below it, {largest}, is no value of type {}",
            element.name()
        );
        let problem = Diagnostic::error("impossible-value", fields.place("high"), message);
        fields.problem(problem.help("lower `high`, or change the type"));
        return None;
    }
    Some(number)
}

fn uniform(fields: &mut Fields<'_, '_>, element: Option<Element>, seed: u64) -> Option<Init> {
    let float = element.is_none_or(Element::is_float);
    if !float && fields.get("high").is_none() {
        let message = "`uniform` of whole numbers has no bounds without `high`";
        let problem = Diagnostic::error("missing-key", fields.place("init"), message);
        fields.problem(problem.help("write `high = 100`, and `low` if it is not 0"));
        return None;
    }
    let (zero, one) = if float {
        (Number::Float(0.0), Number::Float(1.0))
    } else {
        (Number::Int(0), Number::Int(1))
    };
    let low = match fields.get("low") {
        Some(_) => constant(fields, "low", element)?,
        None => zero,
    };
    let high = match fields.get("high") {
        Some(_) => excluded(fields, element)?,
        None => one,
    };
    let (from, to) = (low.as_f64(), high.as_f64());
    if !(from < to && from.is_finite() && to.is_finite()) {
        let message = format!("there is no number from {low} to {high}");
        let place = fields.place(if fields.get("high").is_some() {
            "high"
        } else {
            "low"
        });
        let problem = Diagnostic::error("impossible-value", place, message);
        fields.problem(problem.help("write a finite `low` below a finite `high`"));
        return None;
    }
    Some(Init::Uniform { low, high, seed })
}

fn normal(fields: &mut Fields<'_, '_>, seed: u64) -> Option<Init> {
    let mean = fields.number("mean").map_or(0.0, Number::as_f64);
    let deviation = fields.number("deviation").map_or(1.0, Number::as_f64);
    if !(mean.is_finite() && deviation.is_finite() && deviation >= 0.0) {
        let place = fields.place(if fields.get("deviation").is_some() {
            "deviation"
        } else {
            "mean"
        });
        let problem = Diagnostic::error("impossible-value", place, "no such distribution");
        fields.problem(problem.help("write a finite `mean` and a `deviation` of at least 0"));
        return None;
    }
    Some(Init::Normal {
        mean,
        deviation,
        seed,
    })
}
