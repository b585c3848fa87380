//! Line on a run whose outputs nobody compared.

use warploom_stats::result::{Outcome, RunReport};

/// Line that says that nobody compared the outputs of a run that finished, or nothing if somebody
/// did. A run that ended early says so itself.
pub fn unchecked(run: &RunReport) -> String {
    let is_unchecked = run.checks.is_empty() && run.outcome == Outcome::Finished;
    match is_unchecked && !run.kernels.is_empty() {
        false => String::new(),
        true => {
            "outputs were not checked: `[[expect]]` in a launch file compares them with yours, \
                 and --check looks for races, overruns and uninitialised memory\n"
                .to_owned()
        }
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
        assert_eq!(unchecked(&one), "");
        one.checks.clear();
        assert!(unchecked(&one).starts_with("outputs were not checked: `[[expect]]`"));
        one.outcome = Outcome::CycleLimit { cycles: 5 };
        assert_eq!(unchecked(&one), "");
    }
}
