//! Line on a run whose outputs nobody compared.

use crate::wrap::wrapped;
use warploom_stats::result::{Outcome, RunReport};

/// Line that says that nobody compared the outputs of a run that finished, or nothing if somebody
/// did. A run that ended early says so itself. `searched` names the kinds of errors that the run
/// looked for. The line is divided to keep to `width` characters, if it is given.
pub fn unchecked(run: &RunReport, searched: &[&str], width: Option<u16>) -> String {
    let is_unchecked = run.checks.is_empty() && run.outcome == Outcome::Finished;
    if !is_unchecked || run.kernels.is_empty() {
        return String::new();
    }
    let rest = match (searched, run.findings.is_empty()) {
        ([], _) => ", and --check looks for races, overruns and uninitialised memory".to_owned(),
        (kinds, true) => format!("; --check {} found nothing", kinds.join(",")),
        (_, false) => String::new(),
    };
    let told = "outputs were not checked: `[[expect]]` in a launch file compares them with yours";
    wrapped("", &(told.to_owned() + &rest), width)
}

#[cfg(test)]
mod tests {
    use super::unchecked;
    use crate::run::tests::run;
    use warploom_stats::result::Outcome;

    #[test]
    fn outputs_that_nobody_compared_are_named() {
        let mut one = run(1);
        let told = |run: &_, searched: &[&str]| unchecked(run, searched, None);
        assert_eq!(told(&one, &[]), "");
        one.checks.clear();
        assert!(told(&one, &[]).starts_with("outputs were not checked: `[[expect]]`"));
        assert!(told(&one, &[]).contains("and --check looks for races"));
        assert!(told(&one, &["bounds"]).ends_with("with yours; --check bounds found nothing\n"));
        one.findings.push("a race".to_owned());
        assert!(told(&one, &["bounds"]).ends_with("with yours\n"));
        one.outcome = Outcome::CycleLimit { cycles: 5 };
        assert_eq!(told(&one, &[]), "");
    }
}
