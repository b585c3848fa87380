//! Files with `[[process]]` tables: programs that run at once.
//!
//! ```toml
//! [[process]]
//! target = "slicer/IMG"              # a workload, a launch file or another target of `run`
//! arrives_at = 0                     # core cycle in which it starts
//! instructions = 1000000             # thread instructions after which it is halted
//! ```

use super::error::InputErrors;
use super::parse::each;
use toml::de::DeTable;
use warploom_diag::{Diagnostic, Diagnostics, Source, Span};
use warploom_fields::{Fields, PlacedTable};

/// A program of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessPlan {
    /// Name of the target to run.
    pub target: String,
    /// Core cycle in which it starts.
    pub arrives_at: u64,
    /// Thread instructions after which it is halted. A program that ends earlier restarts.
    pub instructions: Option<u64>,
}

/// Parses the programs that a file lists. Returns `None` for a launch file.
///
/// # Errors
/// All errors in the list, each with its place and a remedy.
pub fn processes(source: &Source) -> Result<Option<Vec<ProcessPlan>>, InputErrors> {
    let (document, errors) = DeTable::parse_recoverable(source.text());
    let table = document.get_ref();
    if !errors.is_empty() || table.get("process").is_none() {
        return Ok(None);
    }
    let mut diagnostics = Diagnostics::new();
    let top = (table, Span::default());
    let allowed = ["process"];
    let mut fields = Fields::new(top, "a file of processes", &allowed, &mut diagnostics);
    let plans = each(&mut fields, "process", process);
    let targets = plans.iter().filter(|plan| plan.instructions.is_some());
    if !matches!(targets.count(), 0) && plans.iter().any(|plan| plan.instructions.is_none()) {
        let message = "some processes have `instructions` and some have none";
        let problem = Diagnostic::error("missing-key", Span::default(), message);
        diagnostics.push(problem.help("set it for every process, or for none"));
    }
    diagnostics.sort();
    InputErrors::check(source, diagnostics)?;
    Ok(Some(plans))
}

const KEYS: [&str; 3] = ["target", "arrives_at", "instructions"];

fn process(entry: PlacedTable<'_>, diagnostics: &mut Diagnostics) -> Option<ProcessPlan> {
    let mut fields = Fields::new(entry, "[[process]]", &KEYS, diagnostics);
    let most = i128::from(i64::MAX);
    let target = fields.text("target", "\"bfs\"");
    let arrives_at = fields.integer("arrives_at", 0, most).unwrap_or(0);
    let instructions = fields.integer("instructions", 1, most);
    Some(ProcessPlan {
        target: target?,
        arrives_at: arrives_at as u64,
        instructions: instructions.map(|count| count as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::{ProcessPlan, processes};
    use warploom_diag::Source;

    fn read(text: &str) -> Result<Option<Vec<ProcessPlan>>, String> {
        let source = Source::new("mix.toml", text.to_owned());
        processes(&source).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_list_of_programs() {
        let text =
            "[[process]]\ntarget = \"bfs\"\n[[process]]\ntarget = \"a.toml\"\narrives_at = 500\n";
        let plan = |target: &str, arrives_at| ProcessPlan {
            target: target.to_owned(),
            arrives_at,
            instructions: None,
        };
        assert_eq!(
            read(text),
            Ok(Some(vec![plan("bfs", 0), plan("a.toml", 500)]))
        );
    }

    #[test]
    fn a_launch_file_is_none() {
        assert_eq!(read("module = \"k.ptx\"\n"), Ok(None));
        assert_eq!(
            read("process = \n"),
            Ok(None),
            "the parser of launch files reports it"
        );
    }

    #[test]
    fn problems_have_their_places() {
        let wrong = |text: &str| read(text).expect_err("the list is invalid");
        let error = wrong("[[process]]\ntarget = \"bfs\"\narrive = 3\n");
        assert!(
            error.contains("mix.toml:3:1") && error.contains("arrives_at"),
            "{error}"
        );
        let error = wrong("[[process]]\narrives_at = -1\n");
        assert!(
            error.contains("mix.toml:2") && error.contains("without `target`"),
            "{error}"
        );
        let error =
            wrong("[[process]]\ntarget = \"a\"\ninstructions = 5\n[[process]]\ntarget = \"b\"\n");
        assert!(error.contains("for every process"), "{error}");
    }
}
