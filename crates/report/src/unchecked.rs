//! Line on a run whose outputs nobody compared.

use crate::wrap::wrapped;
use warploom_stats::result::{Outcome, RunReport};

/// Line that says that nobody compared the outputs of a run that finished, or nothing if somebody
/// did. A run that ended early says so itself. The line is divided to keep to `width` characters,
/// if it is given.
pub fn unchecked(run: &RunReport, width: Option<u16>) -> String {
    let is_unchecked = run.checks.is_empty() && run.outcome == Outcome::Finished;
    match is_unchecked && !run.kernels.is_empty() {
        false => String::new(),
        true => wrapped(
            "",
            "outputs were not checked: `[[expect]]` in a launch file compares them with yours, and \
             --check looks for races, overruns and uninitialised memory",
            width,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::unchecked;
    use crate::run::tests::run;
    use warploom_stats::result::Outcome;

    #[test]
    fn outputs_that_nobody_compared_are_named() {
        let mut one = run(1);
        assert_eq!(unchecked(&one, None), "");
        one.checks.clear();
        assert!(unchecked(&one, None).starts_with("outputs were not checked: `[[expect]]`"));
        one.outcome = Outcome::CycleLimit { cycles: 5 };
        assert_eq!(unchecked(&one, None), "");
    }
}
