//! Parser from the text of a launch file to a [`Plan`].

use super::element::Element;
use super::error::InputErrors;
use super::initial::init;
use super::plan::*;
use crate::files::io_reason;
use std::io::Read as _;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_base::Dim3;
use warploom_diag::{Diagnostic, Diagnostics, Source, Span};
use warploom_fields::{Fields, Number, PlacedTable, number, span};

/// Longest text in bytes that [`read`] accepts. A device such as `/dev/zero` has no end.
const MAX_TEXT: u64 = 1 << 30;

/// Reads a file as text; `-` is standard input. A byte order mark at the start is left out.
///
/// # Errors
/// If the file cannot be read, is not text, or has more than 1 GiB.
pub fn read(path: &Path) -> Result<Source, InputErrors> {
    let shown = if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut bytes = read_bytes(path).map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path",
            std::io::ErrorKind::IsADirectory => "give a file, not a folder",
            _ => "check that it may be read",
        };
        let reason = io_reason(&error);
        InputErrors::Unreadable(format!("cannot read {shown}: {reason}; {remedy}"))
    })?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(InputErrors::Unreadable(format!(
            "cannot read {shown}: it has more than 1 GiB; give a file of text"
        )));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Source::from_bytes(shown, bytes).map_err(|error| InputErrors::Unreadable(error.to_string()))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// At most one byte more than [`MAX_TEXT`] of a file or of standard input.
fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if is_stdin(path) {
        std::io::stdin()
            .take(MAX_TEXT + 1)
            .read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?
            .take(MAX_TEXT + 1)
            .read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Parses a launch file.
///
/// # Errors
/// All errors in the text, each with its place and a remedy. Other files are not considered.
pub fn parse(source: &Source) -> Result<Plan, InputErrors> {
    let mut diagnostics = Diagnostics::new();
    let (document, errors) = DeTable::parse_recoverable(source.text());
    for error in errors {
        let place = error.span().map_or(Span::default(), span);
        let problem = Diagnostic::error("bad-toml", place, error.message().to_owned());
        diagnostics
            .push(problem.help("this must be TOML: `key = value` lines under `[[table]]` headers"));
    }
    InputErrors::check(source, std::mem::take(&mut diagnostics))?;
    if let Some(other) = other_kind(document.get_ref(), source.name()) {
        return Err(InputErrors::one(source, other));
    }
    let plan = plan(document.get_ref(), &mut diagnostics);
    diagnostics.sort();
    InputErrors::check(source, diagnostics)?;
    Ok(plan.expect("a plan without problems is complete"))
}

/// Problem of a file that is meant for another command or option, by the tables that it has.
fn other_kind(table: &DeTable<'_>, name: &str) -> Option<Diagnostic> {
    let has = |key: &&str| table.contains_key(*key);
    if ["module", "launch", "buffer"].iter().any(has) {
        return None;
    }
    let (key, what, help) = match [["axes", "product"], ["process"; 2], ["base", "sm"]]
        .map(|keys| keys.into_iter().find(has))
    {
        [Some(key), ..] => (
            key,
            "the file of a sweep",
            format!("`warploom sweep {name}`"),
        ),
        [_, Some(key), _] => (
            key,
            "a list of programs that run at once",
            format!("`warploom run {name}` runs it; other commands take one program"),
        ),
        [.., Some(key)] => (
            key,
            "the file of a machine",
            format!("`--gpu {name}` with a workload or a launch file"),
        ),
        [None, None, None] => return None,
    };
    let place = table.get_key_value(key).map(|(key, _)| span(key.span()));
    let message = format!("this is {what}, not a launch file");
    Some(Diagnostic::error("other-kind-of-file", place.unwrap_or_default(), message).help(help))
}

fn plan(table: &DeTable<'_>, diagnostics: &mut Diagnostics) -> Option<Plan> {
    let allowed = ["module", "buffer", "launch", "expect", "dump"];
    let top = Span::default();
    let mut fields = Fields::new((table, top), "a launch file", &allowed, diagnostics);
    let module_place = fields.place("module");
    let module = fields.text("module", "\"kernel.ptx\"");
    let example = "[{ kernel = \"name\", grid = 1, block = 32 }]";
    let has_launches = fields.required("launch", example).is_some();
    let buffers = each(&mut fields, "buffer", buffer);
    report_duplicates(&buffers, fields.diagnostics());
    let launches = each(&mut fields, "launch", launch);
    let expects = each(&mut fields, "expect", expect);
    let dumps = each(&mut fields, "dump", dump);
    has_launches.then_some(())?;
    Some(Plan {
        module: (module?, module_place),
        buffers,
        launches,
        expects,
        dumps,
    })
}

/// Applies `read` to each table of the list `key`, and returns the results.
pub(super) fn each<'t, T>(
    fields: &mut Fields<'t, '_>,
    key: &str,
    read: fn(PlacedTable<'t>, &mut Diagnostics) -> Option<T>,
) -> Vec<T> {
    let entries = fields.tables(key).into_iter();
    entries
        .filter_map(|entry| read(entry, fields.diagnostics()))
        .collect()
}

fn report_duplicates(buffers: &[BufferPlan], diagnostics: &mut Diagnostics) {
    for (i, buffer) in buffers.iter().enumerate() {
        if let Some(first) = buffers[..i].iter().find(|other| other.name == buffer.name) {
            let message = format!("a second buffer `{}`", buffer.name);
            let problem = Diagnostic::error("duplicate-name", buffer.place, message)
                .and(first.place, "the first one")
                .help("give each buffer a name of its own");
            diagnostics.push(problem);
        }
    }
}

const BUFFER_KEYS: [&str; 10] = [
    "name",
    "type",
    "shape",
    "init",
    "value",
    "low",
    "high",
    "mean",
    "deviation",
    "seed",
];

fn buffer(entry: PlacedTable<'_>, diagnostics: &mut Diagnostics) -> Option<BufferPlan> {
    let (table, _) = entry;
    let unknown = |key: &Spanned<_>| !BUFFER_KEYS.contains(&AsRef::<str>::as_ref(key.get_ref()));
    // A misspelt `init` is one problem, not a second one for each of its settings.
    let misspelt = !table.contains_key("init") && table.keys().any(unknown);
    let mut fields = Fields::new(entry, "[[buffer]]", &BUFFER_KEYS, diagnostics);
    let name = fields.text("name", "\"x\"");
    let element = element(&mut fields);
    let shape = fields
        .get("shape")
        .and_then(|value| shape(&mut fields, value));
    let init = match misspelt {
        true => Some(Init::Zeros),
        false => init(&mut fields, element),
    };
    if !matches!(init, Some(Init::Npy(_)) | None) {
        fields.required("type", "\"f32\"");
        fields.required("shape", "[1024]");
    }
    Some(BufferPlan {
        name: name?,
        place: fields.place("name"),
        element,
        shape,
        init: init?,
        init_place: fields.place("init"),
        accesses: Vec::new(),
    })
}

fn element(fields: &mut Fields<'_, '_>) -> Option<Element> {
    let name = fields.optional_text("type")?;
    let element = Element::find(&name);
    if element.is_none() {
        let message = format!("there is no element type `{name}`");
        let problem = Diagnostic::error("unknown-type", fields.place("type"), message);
        fields.problem(problem.help(Element::hint(&name)));
    }
    element
}

/// Extents of at least 1 whose product fits the limit of elements.
fn shape(fields: &mut Fields<'_, '_>, value: &Spanned<DeValue<'_>>) -> Option<Vec<u64>> {
    let extent = |value: &DeValue<'_>| match number(value) {
        Some(Number::Int(int)) => u64::try_from(int).ok().filter(|&int| int > 0),
        _ => None,
    };
    let extents: Option<Vec<u64>> = match value.get_ref() {
        DeValue::Array(list) => list.iter().map(|value| extent(value.get_ref())).collect(),
        single => extent(single).map(|extent| vec![extent]),
    };
    let extents = extents.filter(|extents| !extents.is_empty());
    let product = extents.as_ref().and_then(|extents| product(extents));
    if product.is_none_or(|elements| elements > MOST_ELEMENTS) {
        let message = "not a shape of 1 to 4,294,967,296 elements";
        let problem = Diagnostic::error("bad-shape", span(value.span()), message);
        let help =
            "write extents of at least 1, for example `[64, 64]`, with a product within this";
        fields.problem(problem.help(help));
        return None;
    }
    extents
}

/// Largest number of elements of a buffer.
const MOST_ELEMENTS: u64 = 1 << 32;

/// Number of elements, if it fits 64 bits.
pub(super) fn product(extents: &[u64]) -> Option<u64> {
    extents
        .iter()
        .try_fold(1u64, |product, &extent| product.checked_mul(extent))
}

const LAUNCH_KEYS: [&str; 8] = [
    "kernel",
    "grid",
    "block",
    "cluster",
    "dynamic_shared_bytes",
    "stream",
    "registers_per_thread",
    "args",
];

fn launch(entry: PlacedTable<'_>, diagnostics: &mut Diagnostics) -> Option<LaunchPlan> {
    let mut fields = Fields::new(entry, "[[launch]]", &LAUNCH_KEYS, diagnostics);
    let kernel = fields.text("kernel", "\"name\"");
    let grid = dim(&mut fields, "grid", "[4, 1, 1]");
    let block = dim(&mut fields, "block", "[256, 1, 1]");
    let cluster = match fields.get("cluster") {
        Some(_) => Some(dim(&mut fields, "cluster", "[2, 1, 1]")?),
        None => None,
    };
    let cluster = cluster.map(|cluster| (cluster, fields.place("cluster")));
    let most = i128::from(u32::MAX);
    let shared = fields.integer("dynamic_shared_bytes", 0, most).unwrap_or(0) as u32;
    let stream = fields.integer("stream", 0, most).unwrap_or(0) as u32;
    let registers = fields.integer("registers_per_thread", 1, 255);
    let args = args(&mut fields);
    Some(LaunchPlan {
        kernel: (kernel?, fields.place("kernel")),
        grid: (grid?, fields.place("grid")),
        block: (block?, fields.place("block")),
        cluster,
        dynamic_shared_bytes: (shared, fields.place("dynamic_shared_bytes")),
        stream,
        registers_per_thread: registers.map(|n| (n as u32, fields.place("registers_per_thread"))),
        args,
        args_place: fields.place("args"),
    })
}

/// Up to three extents. A single extent may be written without brackets.
fn dim(fields: &mut Fields<'_, '_>, key: &str, example: &str) -> Option<Dim3> {
    let value = fields.required(key, example)?;
    let extent = |value: &DeValue<'_>| match number(value) {
        Some(Number::Int(int)) => u32::try_from(int).ok(),
        _ => None,
    };
    let extents: Option<Vec<u32>> = match value.get_ref() {
        DeValue::Array(list) => list.iter().map(|value| extent(value.get_ref())).collect(),
        single => extent(single).map(|extent| vec![extent]),
    };
    match extents.as_deref() {
        Some([x]) => Some(Dim3::linear(*x)),
        Some([x, y]) => Some(Dim3::new(*x, *y, 1)),
        Some([x, y, z]) => Some(Dim3::new(*x, *y, *z)),
        _ => {
            let message = format!("`{key}` is not one to three whole numbers of at least 1");
            let problem = Diagnostic::error("bad-extent", span(value.span()), message);
            fields.problem(problem.help(format!("write `{key} = {example}`")));
            None
        }
    }
}

fn args(fields: &mut Fields<'_, '_>) -> Vec<(ArgPlan, Span)> {
    let Some(value) = fields.get("args") else {
        return Vec::new();
    };
    let Some(list) = value.get_ref().as_array() else {
        fields.wrong(value, "args", "a list such as `[\"x\", 1024, 2.0]`");
        return Vec::new();
    };
    let read = |value: &Spanned<DeValue<'_>>| (arg(fields, value), span(value.span()));
    let args: Vec<_> = list.iter().map(read).collect();
    args.into_iter()
        .filter_map(|(arg, place)| Some((arg?, place)))
        .collect()
}

fn arg(fields: &mut Fields<'_, '_>, value: &Spanned<DeValue<'_>>) -> Option<ArgPlan> {
    let arg = meant(value.get_ref());
    if arg.is_none() {
        let wanted = "a buffer's name, a number, `{ f32 = 1.0 }`, `{ struct = [1, 0.5, \"x\"] }` or \
                      `{ bytes = [1, 2] }`";
        fields.wrong(value, "argument", wanted);
    }
    arg
}

fn meant(value: &DeValue<'_>) -> Option<ArgPlan> {
    match value {
        DeValue::String(name) => Some(ArgPlan::Buffer(name.to_string())),
        DeValue::Boolean(on) => Some(scalar(Number::Int(i128::from(*on)), None)),
        DeValue::Table(table) => typed(table),
        other => number(other).map(|number| scalar(number, None)),
    }
}

fn scalar(number: Number, element: Option<Element>) -> ArgPlan {
    ArgPlan::Scalar(Scalar { number, element })
}

/// A member of a structure: a buffer's name or a number.
fn member(value: &DeValue<'_>) -> Option<ArgPlan> {
    meant(value).filter(|member| matches!(member, ArgPlan::Buffer(_) | ArgPlan::Scalar(_)))
}

/// An argument such as `{ TYPE = NUMBER }`, `{ struct = [..] }` or `{ bytes = [..] }`.
fn typed(table: &DeTable<'_>) -> Option<ArgPlan> {
    let mut entries = table.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return None;
    };
    match (key.get_ref().as_ref(), value.get_ref()) {
        ("bytes", DeValue::Array(list)) => {
            let byte = |value: &Spanned<DeValue<'_>>| match number(value.get_ref()) {
                Some(Number::Int(int)) => u8::try_from(int).ok(),
                _ => None,
            };
            list.iter()
                .map(byte)
                .collect::<Option<_>>()
                .map(ArgPlan::Bytes)
        }
        ("struct", DeValue::Array(list)) => {
            let members = list.iter().map(|value| member(value.get_ref()));
            members.collect::<Option<_>>().map(ArgPlan::Struct)
        }
        (name, value) => {
            let (element, number) = (Element::find(name)?, number(value)?);
            element.put(number, &mut Vec::new())?;
            Some(scalar(number, Some(element)))
        }
    }
}

fn expect(entry: PlacedTable<'_>, diagnostics: &mut Diagnostics) -> Option<ExpectPlan> {
    let keys = ["buffer", "npy", "constant", "tolerance"];
    let mut fields = Fields::new(entry, "[[expect]]", &keys, diagnostics);
    let buffer = fields.text("buffer", "\"x\"");
    let npy = fields.optional_text("npy");
    let constant = fields.number("constant");
    let tolerance = fields.number("tolerance").map_or(0.0, Number::as_f64);
    if tolerance.is_nan() || tolerance < 0.0 {
        let place = fields.place("tolerance");
        let problem = Diagnostic::error("impossible-value", place, "a tolerance below 0");
        fields.problem(problem.help("write a number of at least 0"));
    }
    let place = fields.place(if npy.is_some() { "npy" } else { "constant" });
    let expected = match (npy, constant) {
        (Some(path), None) => Some(Expected::Npy(path)),
        (None, Some(number)) => Some(Expected::Constant(number)),
        _ => {
            let message = "[[expect]] needs one of `npy` and `constant`";
            let problem = Diagnostic::error("bad-expectation", fields.span(), message);
            fields.problem(problem.help("write `npy = \"expected.npy\"` or `constant = 1`"));
            None
        }
    };
    Some(ExpectPlan {
        buffer: (buffer?, fields.place("buffer")),
        expected: expected?,
        place,
        tolerance,
    })
}

fn dump(entry: PlacedTable<'_>, diagnostics: &mut Diagnostics) -> Option<DumpPlan> {
    let mut fields = Fields::new(entry, "[[dump]]", &["buffer", "npy"], diagnostics);
    let buffer = fields.text("buffer", "\"x\"");
    let path = fields.text("npy", "\"out.npy\"");
    Some(DumpPlan {
        buffer: (buffer?, fields.place("buffer")),
        path: path?,
        place: fields.place("npy"),
    })
}
