//! Lists and checks the tables of statistics that the parts of the program declare.

use crate::{Counters, PEAK_SUFFIX, StatMeta, StatTable};
use std::collections::BTreeSet;

/// Line of the table of `list stats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatRow {
    /// Name; dimensions of an array are shown by their labels: `sm.stalls.{idle,scoreboard}`.
    pub name: String,
    /// Name of the unit.
    pub unit: &'static str,
    /// Sentence that says what is counted.
    pub sentence: &'static str,
    /// Name in GPGPU-Sim, if it has one.
    pub gpgpusim: Option<&'static str>,
}

/// Lines of the tables, in order of declaration.
pub fn rows(tables: &[StatTable]) -> Vec<StatRow> {
    let of = |table: &StatTable| table.stats.iter().map(|meta| row(table, meta)).collect();
    tables.iter().flat_map::<Vec<_>, _>(of).collect()
}

fn row(table: &StatTable, meta: &StatMeta) -> StatRow {
    let mut name = table.name(meta);
    for labels in meta.labels {
        name.push('.');
        name.push_str(&dimension(labels));
    }
    StatRow {
        name,
        unit: meta.unit.name(),
        sentence: meta.sentence(),
        gpgpusim: table.gpgpusim(meta),
    }
}

/// Labels in braces; of a long list only the first and the last one.
fn dimension(labels: &[&str]) -> String {
    match labels {
        [first, .., last] if labels.len() > 8 => format!("{{{first}..{last}}}"),
        _ => format!("{{{}}}", labels.join(",")),
    }
}

/// Checks the tables and returns the problems, one line each: names that are not lower-case words
/// joined by dots, or occur twice, peaks not named as such, missing or incomplete sentences, labels
/// that are not distinct words. Empty if there is no problem.
pub fn audit(tables: &[StatTable]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    if tables.iter().all(|table| table.stats.is_empty()) {
        problems.push("no statistics at all".to_owned());
    }
    for table in tables {
        for meta in table.stats {
            let name = table.name(meta);
            problems.extend(audit_one(&name, meta));
            if !seen.insert(name.clone()) {
                problems.push(format!("{name}: declared twice"));
            }
        }
    }
    problems
}

fn audit_one(name: &str, meta: &StatMeta) -> Vec<String> {
    let mut problems = Vec::new();
    if !name.split('.').all(is_word) {
        problems.push(format!("{name}: not lower-case words joined by dots"));
    }
    if name.ends_with(PEAK_SUFFIX) != meta.is_peak {
        problems.push(format!(
            "{name}: peaks, and only they, end in {PEAK_SUFFIX}"
        ));
    }
    let sentence = meta.sentence();
    if !sentence.ends_with('.') || !sentence.starts_with(char::is_uppercase) {
        problems.push(format!("{name}: `{sentence}` is not a sentence"));
    }
    for labels in meta.labels {
        let distinct: BTreeSet<_> = labels.iter().collect();
        if distinct.len() != labels.len() || !labels.iter().all(|label| is_word(label)) {
            problems.push(format!("{name}: labels are not distinct words"));
        }
    }
    problems
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Checks what the table of a struct of counters does not show: whether each dimension has as many
/// labels as elements. Returns the problems, one line each.
pub fn audit_shapes<C: Counters>() -> Vec<String> {
    let shapes = C::shapes();
    let stats = C::TABLE.stats.iter().zip(shapes);
    let wrong = stats.filter(|(meta, shape)| {
        let labelled: Vec<usize> = meta.labels.iter().map(|labels| labels.len()).collect();
        labelled != *shape
    });
    wrong
        .map(|(meta, shape)| format!("{}: labels do not fit {shape:?}", meta.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{audit, audit_shapes, rows};
    use crate::{
        Counters, LOG2_BINS, METRICS, Peak, StatMeta, StatTable, Unit, declare_stats, log2_bin,
    };

    const LANES: &[&str] = &["one", "two"];
    const KINDS: &[&str] = &["load", "store", "atomic"];

    declare_stats! {
        /// Counters for the tests below.
        pub struct Sample in "sample" {
            /// Cycles that passed
            /// in the core domain.
            pub cycles: u64 = Cycles, as "gpu_sim_cycle";
            /// Accesses by kind and outcome.
            pub accesses: [[u64; 2]; 3] = Accesses, by [KINDS, LANES];
        }
    }

    declare_stats! {
        /// Three elements, two labels.
        struct Misfit in "misfit" {
            /// Accesses by kind of access.
            accesses: [u64; 3] = Accesses, by [LANES];
        }
    }

    #[test]
    fn merge_and_since_are_inverse() {
        let a = Sample {
            cycles: 5,
            accesses: [[0, 0], [0, 0], [0, 7]],
        };
        let mut b = a.clone();
        b.merge(&a);
        assert_eq!(b.accesses[2][1], 14);
        assert_eq!(b.since(&a), a);
    }

    #[test]
    fn a_peak_is_the_largest_value_up_to_then() {
        let (mut low, mut high) = (Peak(3), Peak(9));
        crate::Counter::add(&mut low, &high);
        assert_eq!(low, Peak(9));
        crate::Counter::subtract(&mut high, &Peak(4));
        assert_eq!(high, Peak(9));
    }

    #[test]
    fn bins_begin_at_the_powers_of_two_that_name_them() {
        for (i, label) in LOG2_BINS.iter().enumerate() {
            let first: u64 = label["from_".len()..].parse().unwrap();
            assert_eq!(log2_bin(first), i, "{label}");
            assert_eq!(
                log2_bin(first.saturating_sub(1)),
                i.saturating_sub(1),
                "{label}"
            );
        }
        assert_eq!(log2_bin(u64::MAX), LOG2_BINS.len() - 1);
    }

    #[test]
    fn elements_are_named_in_order_of_declaration() {
        let mut sample = Sample::default();
        sample.accesses[2][0] = 9;
        let named = sample.named();
        assert_eq!(named.len(), 7);
        assert_eq!(named[0].0, "sample.cycles");
        assert_eq!(named[5], ("sample.accesses.atomic.one".to_owned(), 9));
    }

    declare_stats! {
        /// Counted by two parts of the machine.
        struct Twice in "near", "far" {
            /// Cycles that passed in the core domain.
            cycles: u64 = Cycles, as "n_cycles" | "f_cycles";
            /// Accesses by kind of access.
            accesses: [u64; 3] = Accesses, by [KINDS];
        }
    }

    /// A struct of several groups: one declaration, a table and names for each group.
    #[test]
    fn a_struct_may_be_counted_in_several_groups() {
        let rows = rows(Twice::TABLES);
        let shown = rows.iter().map(|row| (row.name.as_str(), row.gpgpusim));
        let shown: Vec<_> = shown.collect();
        let accesses = |group: &str| format!("{group}.accesses.{{load,store,atomic}}");
        assert_eq!(
            shown,
            [
                ("near.cycles", Some("n_cycles")),
                (&accesses("near"), None),
                ("far.cycles", Some("f_cycles")),
                (&accesses("far"), None),
            ]
        );
        let counted = Twice {
            cycles: 7,
            accesses: [0, 0, 2],
        };
        let far = counted.named_in(&Twice::TABLES[1]);
        assert_eq!(far[0], ("far.cycles".to_owned(), 7));
        assert_eq!(far[3], ("far.accesses.atomic".to_owned(), 2));
        assert_eq!(audit(Twice::TABLES), Vec::<String>::new());
    }

    #[test]
    fn rows_show_dimensions_and_sentences() {
        let rows = rows(&[Sample::TABLE]);
        assert_eq!(rows[0].sentence, "Cycles that passed in the core domain.");
        assert_eq!(rows[0].gpgpusim, Some("gpu_sim_cycle"));
        assert_eq!(
            rows[1].name,
            "sample.accesses.{load,store,atomic}.{one,two}"
        );
    }

    #[test]
    fn audit_accepts_the_good_and_names_the_bad() {
        assert_eq!(audit(&[Sample::TABLE, METRICS]), Vec::<String>::new());
        assert_eq!(audit_shapes::<Sample>(), Vec::<String>::new());
        assert_eq!(audit_shapes::<Misfit>().len(), 1);
        const BAD: StatTable = StatTable {
            group: "sm",
            nth: 0,
            stats: &[StatMeta {
                name: "SM.Issued",
                unit: Unit::Cycles,
                raw_sentence: "no sentence",
                gpgpusim: &[],
                labels: &[&["x", "x"]],
                is_peak: true,
            }],
        };
        assert_eq!(audit(&[BAD]).len(), 4);
        assert_eq!(audit(&[Sample::TABLE, Sample::TABLE]).len(), 2);
        assert_eq!(audit(&[]).len(), 1);
    }
}
