//! Why a row of a comparison is faster or slower than the first one.

use super::held::{Judged, judged};
use super::{Comparison, Shown, speedup};
use crate::runs::UsedRun;
use std::sync::Arc;
use warploom_analyze::{ComparedRun, Machine, explain_difference};

impl Comparison {
    /// Sentences on why the fastest row is faster than the first one, or why the slowest is slower
    /// if none is faster. They are empty where no row differs. Only for comparisons of one program
    /// whose runs are timed in full.
    pub(super) fn explained(&self, used: &[UsedRun]) -> Vec<String> {
        let specs = self.runs().unwrap_or_default();
        let report = |key| {
            let known = used.iter().find(|(spec, _)| spec.key() == key);
            known.map(|(_, report)| Arc::clone(report))
        };
        let reports: Vec<_> = specs.iter().map(|spec| report(spec.key())).collect();
        let shown = self.fastest(&reports);
        let rows = self.combinations().into_iter().zip(&shown);
        let rows = rows.filter_map(|(values, row)| Some((self.row_name(&values), row.as_ref()?)));
        let rows: Vec<Row<'_>> = rows.collect();
        let Some((base, other)) = most_different(&rows) else {
            return Vec::new();
        };
        let pairs = specs.iter().zip(&reports);
        let pairs = pairs.map(|(spec, report)| (spec, report.as_deref()));
        let judged = judged(&pairs.collect::<Vec<_>>());
        let machines = [base, other].map(|(_, row)| {
            let spec = &*specs[row.run].machine.spec;
            Machine::new(spec, warploom_noc::sustainable(spec))
        });
        let base = compared(base, &machines[0], &judged);
        explain_difference(base, compared(other, &machines[1], &judged)).unwrap_or_default()
    }
}

/// A row for its explanation, with the bound that the comparison has found for its run.
fn compared<'a>(
    (name, row): &'a Row<'_>,
    machine: &'a Machine<'a>,
    judged: &'a [Judged],
) -> ComparedRun<'a> {
    ComparedRun {
        name,
        machine,
        run: &row.report,
        bound: judged[row.run].bound.as_deref(),
    }
}

/// A row of a comparison with its name.
type Row<'a> = (String, &'a Shown);

/// The first row, and the fastest one, or the slowest if none is faster; `None` where no row
/// differs.
fn most_different<'a, 'b>(rows: &'a [Row<'b>]) -> Option<(&'a Row<'b>, &'a Row<'b>)> {
    let (base, others) = rows.split_first()?;
    let speeds = others.iter().map(|row| {
        let speed = speedup(&row.1.report, &base.1.report);
        (row, speed)
    });
    let differ = speeds.filter(|(_, speed)| speed.is_finite() && *speed != 1.0);
    let mut differ: Vec<_> = differ.collect();
    differ.sort_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = differ.last().filter(|(_, speed)| *speed > 1.0);
    let (other, _) = fastest.or(differ.first())?;
    Some((base, *other))
}

#[cfg(test)]
mod tests {
    use crate::compare::tests::{comparison, page_of};
    use crate::compare::{Comparison, Vary};

    /// The explanation of `vectoradd` on machines that differ in a key.
    fn told(key: &str, values: &[&str], best: Vec<Vary>) -> Vec<String> {
        let vary = vec![Vary {
            key: key.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }];
        let explain = true;
        let page = page_of(&Comparison {
            vary,
            best,
            explain,
            ..comparison()
        });
        page.explanation
    }

    /// The fastest row is compared with the first one, or the slowest if none is faster.
    #[test]
    fn the_row_that_differs_most_is_explained() {
        let faster = told("gpu.max_blocks_per_sm", &["1", "2", "4"], Vec::new());
        assert!(
            faster[0].starts_with("`max_blocks_per_sm 4` is ")
                && faster[0].contains(" times faster than `max_blocks_per_sm 1`: "),
            "{faster:#?}"
        );
        assert!(
            faster[1].starts_with("For each warp instruction"),
            "{faster:#?}"
        );
        assert!(
            faster
                .iter()
                .any(|told| told.contains("(room for 4 blocks instead of 1)")),
            "{faster:#?}"
        );
        assert!(faster.last().unwrap().starts_with("Next"), "{faster:#?}");
        let slower = told("gpu.max_blocks_per_sm", &["4", "2", "1"], Vec::new());
        let first = "times slower than `max_blocks_per_sm 4`: ";
        assert!(
            slower[0].starts_with("`max_blocks_per_sm 1` is ") && slower[0].contains(first),
            "{slower:#?}"
        );
    }

    #[test]
    fn rows_that_are_equal_have_nothing_to_explain() {
        assert_eq!(
            told("gpu.max_blocks_per_sm", &["6", "7"], Vec::new()),
            Vec::<String>::new()
        );
        assert!(
            page_of(&comparison()).explanation.is_empty(),
            "not requested"
        );
    }

    /// The fastest of several values stands for its row.
    #[test]
    fn searched_values_are_explained_by_the_fastest() {
        let best = vec![Vary {
            key: "gpu.max_blocks_per_sm".to_owned(),
            values: vec!["1".to_owned(), "4".to_owned()],
        }];
        let told = told("clocks.dram_mhz", &["500", "924"], best);
        assert!(told[0].starts_with("`dram_mhz 924` is "), "{told:#?}");
        assert!(!told.join("").contains("(room for"), "{told:#?}");
    }
}
