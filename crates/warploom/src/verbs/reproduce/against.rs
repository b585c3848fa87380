//! Comparison of a figure with one that was stored before: the table, and the cycles and digests of
//! the runs. Energy, charts and verdicts follow from these and are not compared.

use crate::failure::Failure;
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use warploom_config::keys;
use warploom_lab::{FigureInfo, Scale};
use warploom_report::page::{Page, RunLine};
use warploom_report::{grouped, wrapped};
use warploom_stats::result::ConfigValue;

/// Refuses figures that the folder does not have, or has at another scale, before any run is made.
pub fn check(folder: &Path, infos: &[&FigureInfo], scale: Scale) -> Result<(), Failure> {
    for info in infos {
        let (path, stored) = stored(folder, &info.full_name())?;
        if stored.scale != scale.to_string() {
            return Err(Failure::Input(format!(
                "{} has scale {}, with which a figure of scale {scale} cannot be compared\n  \
                 = help: add --scale {}",
                path.display(),
                stored.scale,
                stored.scale
            )));
        }
    }
    Ok(())
}

/// The figure `PAPER/FIGURE` in a folder of results, and its file.
fn stored(folder: &Path, name: &str) -> Result<(PathBuf, Page), Failure> {
    let path = folder.join(format!("{name}.json"));
    let shown = path.display();
    let text = read_to_string(&path).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        Failure::Input(format!(
            "--against has no figure to compare with: {shown}: {reason}; name a folder that holds \
             PAPER/FIGURE.json, such as docs/results of the repository"
        ))
    })?;
    let page = serde_json::from_str(&text).map_err(|error| {
        Failure::Input(format!("{shown} is not a figure of `reproduce`: {error}"))
    })?;
    Ok((path, page))
}

/// Compares a figure with that of the same name in a folder of results. Returns the text of the
/// comparison, in lines of at most `width` characters, if it is given, and whether table and runs
/// are equal.
pub fn against(folder: &Path, page: &Page, width: Option<u16>) -> Result<(String, bool), Failure> {
    let (path, stored) = stored(folder, &format!("{}/{}", page.paper, page.figure))?;
    let (told, is_equal) = compared(&stored, page);
    let lines = told
        .lines()
        .map(|line| wrapped("  ", line.trim_start(), width));
    let told: String = lines.collect();
    Ok((
        format!("compared with {}:\n{told}", path.display()),
        is_equal,
    ))
}

fn compared(stored: &Page, page: &Page) -> (String, bool) {
    if stored.scale != page.scale {
        let (old, new) = (&stored.scale, &page.scale);
        let text =
            format!("  it is of scale {old} and this figure of scale {new}: not comparable\n");
        return (text, false);
    }
    let table = table(stored, page);
    let runs = Matched::new(&stored.runs, &page.runs);
    let reasons = [
        ("cells of the table", table.is_some()),
        (
            "cycles or digests of runs",
            runs.differing().next().is_some(),
        ),
        ("the runs that they have", runs.has_others()),
    ];
    let differs = reasons.into_iter().filter(|(_, differs)| *differs);
    let differs: Vec<_> = differs.map(|(what, _)| what).collect();
    let mut lines = vec![table.unwrap_or_else(|| "the table is the same".to_owned())];
    lines.extend(runs.lines());
    lines.extend(keys_only("this build", page, stored));
    lines.extend(keys_only("the stored figure", stored, page));
    lines.push(match differs.is_empty() {
        true => "the figures are the same: this build repeats the stored one; how it agrees with \
                 the paper is in the verdicts"
            .to_owned(),
        false => format!("the figures differ in {}", differs.join(" and in ")),
    });
    let lines = lines.iter().map(|line| format!("  {line}\n"));
    (lines.collect(), differs.is_empty())
}

/// Clause on the difference of two tables, if there is one.
fn table(stored: &Page, page: &Page) -> Option<String> {
    let (old, new) = (&stored.table, &page.table);
    let names = |page: &Page| -> Vec<String> {
        page.table
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect()
    };
    if names(stored) != names(page) || old.rows.len() != new.rows.len() {
        return Some(format!(
            "the tables have other columns or rows: {} x {} instead of {} x {}",
            new.rows.len(),
            new.columns.len(),
            old.rows.len(),
            old.columns.len()
        ));
    }
    let cells = old.rows.iter().zip(&new.rows).enumerate();
    let cells = cells.flat_map(|(row, (old, new))| {
        let pairs = old.iter().zip(new).zip(&page.table.columns);
        pairs.map(move |((old, new), column)| (row, old, new, column))
    });
    let mut differing = cells.filter(|(_, old, new, _)| old != new);
    let (row, old, new, column) = differing.next()?;
    Some(format!(
        "{} of {} cells differ, first `{}` of row {}: {} instead of {}",
        grouped(1 + differing.count() as u64),
        grouped((page.table.rows.len() * page.table.columns.len()) as u64),
        column.name,
        row + 1,
        new,
        old
    ))
}

/// Most keys at their defaults that are named.
const NAMED_KEYS: usize = 4;

/// Most runs of one figure alone that are named.
const NAMED_RUNS: usize = 5;

/// Runs of two figures: those that belong together, the stored one first, and those of one alone.
struct Matched<'a> {
    pairs: Vec<(&'a RunLine, &'a RunLine)>,
    only_stored: Vec<&'a RunLine>,
    only_made: Vec<&'a RunLine>,
}

impl<'a> Matched<'a> {
    /// Runs belong together if their commands are equal, and otherwise if they are shown alike.
    fn new(stored: &'a [RunLine], made: &'a [RunLine]) -> Self {
        let mut matched = Self {
            pairs: Vec::new(),
            only_stored: stored.iter().collect(),
            only_made: made.iter().collect(),
        };
        let alike = |a: &RunLine, b: &RunLine| {
            (&a.input, &a.configuration, &a.ended) == (&b.input, &b.configuration, &b.ended)
        };
        matched.pair(&|old, new| alike(old, new) && old.command == new.command);
        matched.pair(&|old, new| old.command == new.command);
        matched.pair(&alike);
        matched
    }

    fn pair(&mut self, belong: &dyn Fn(&RunLine, &RunLine) -> bool) {
        for new in std::mem::take(&mut self.only_made) {
            match self.only_stored.iter().position(|old| belong(old, new)) {
                Some(at) => self.pairs.push((self.only_stored.remove(at), new)),
                None => self.only_made.push(new),
            }
        }
    }

    fn differing(&self) -> impl Iterator<Item = &(&'a RunLine, &'a RunLine)> {
        let pairs = self.pairs.iter();
        pairs.filter(|(old, new)| old.digest != new.digest)
    }

    fn has_others(&self) -> bool {
        !self.only_stored.is_empty() || !self.only_made.is_empty()
    }

    /// Clauses on all runs.
    fn lines(&self) -> Vec<String> {
        let count = self.pairs.len();
        let mut lines = vec![match (self.differing().next(), self.has_others()) {
            (None, false) => format!("all {count} runs have the same cycles and digests"),
            (None, true) => format!("{count} runs are in both, with the same cycles and digests"),
            (Some((old, new)), _) => format!(
                "{count} runs are in both; cycles or digests of {} differ, first: {} cycles \
                 instead of {} of {} on {}",
                self.differing().count(),
                grouped(new.cycles),
                grouped(old.cycles),
                new.input,
                new.configuration,
            ),
        }];
        for (owner, runs) in [
            ("this build", &self.only_made),
            ("the stored figure", &self.only_stored),
        ] {
            let named = runs.iter().take(NAMED_RUNS);
            lines.extend(named.map(|run| format!("only {owner} has the run {}", run.command)));
            if let more @ 1.. = runs.len().saturating_sub(NAMED_RUNS) {
                lines.push(format!("only {owner} has {more} runs more"));
            }
        }
        lines
    }
}

/// Clause on the keys of presets that only the first page has, if there are some. Keys at their
/// defaults are counted, because they change nothing.
fn keys_only(owner: &str, page: &Page, other: &Page) -> Option<String> {
    let beyond = keys_beyond(page, other);
    let all: BTreeSet<&str> = beyond.iter().map(|(key, _)| *key).collect();
    let defaults = keys();
    let is_default = |key: &str, value: &ConfigValue| {
        let known = defaults.iter().find(|known| known.name == key);
        known.and_then(|known| known.default) == Some(value.to_string().as_str())
    };
    let set = beyond.iter().filter(|(key, value)| !is_default(key, value));
    let set: BTreeSet<&str> = set.map(|(key, _)| *key).collect();
    let named = set.iter().copied().collect::<Vec<_>>().join(", ");
    let first = all.iter().copied().take(NAMED_KEYS).collect::<Vec<_>>();
    let first = match all.len() {
        few if few <= NAMED_KEYS => first.join(", "),
        _ => format!("{}, ...", first.join(", ")),
    };
    match (all.len(), set.len()) {
        (0, _) => None,
        (1, 0) => Some(format!(
            "only {owner} has 1 key more, at its default ({first})"
        )),
        (count, 0) => Some(format!(
            "only {owner} has {count} keys more, all at their defaults ({first})"
        )),
        (count, some) if count == some => Some(format!("only {owner} has the keys {named}")),
        (count, _) => Some(format!(
            "only {owner} has {count} keys more, of which these are not at their defaults: {named}"
        )),
    }
}

/// Keys of presets that only the first page has, with their values.
fn keys_beyond<'a>(page: &'a Page, other: &'a Page) -> Vec<(&'a str, &'a ConfigValue)> {
    let presets = page.presets.iter();
    let keys = presets.flat_map(|(preset, keys)| {
        let known = other.presets.get(preset);
        let beyond = keys
            .iter()
            .filter(move |(key, _)| known.is_some_and(|of| !of.contains_key(*key)));
        beyond.map(|(key, value)| (key.as_str(), value))
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use super::{check, compared};
    use std::path::Path;
    use warploom_lab::{Scale, find};
    use warploom_report::page::{Cell, Page};

    fn stored() -> Page {
        let text = include_str!("../../../../../docs/results/duet/fig1.json");
        serde_json::from_str(text).expect("a page")
    }

    #[test]
    fn an_equal_figure_is_the_same_and_other_keys_are_named() {
        let (old, mut new) = (stored(), stored());
        for keys in new.presets.values_mut() {
            keys.insert(
                "sm.new".to_owned(),
                serde_json::from_str("1").expect("a value"),
            );
        }
        let (told, is_equal) = compared(&old, &new);
        let runs = old.runs.len();
        let expected = format!(
            "  the table is the same\n  all {runs} runs have the same cycles and digests\n  \
             only this build has the keys sm.new\n  the figures are the same: this build repeats \
             the stored one; how it agrees with the paper is in the verdicts\n"
        );
        assert_eq!((told, is_equal), (expected, true));
    }

    #[test]
    fn keys_at_their_defaults_are_counted() {
        let (mut old, new) = (stored(), stored());
        let lines = |old: &Page| compared(old, &new).0.lines().nth(2).map(str::to_owned);
        for keys in old.presets.values_mut() {
            keys.remove("sm.context");
        }
        let one = "  only this build has 1 key more, at its default (sm.context)";
        assert_eq!(lines(&old).as_deref(), Some(one));
        for keys in old.presets.values_mut() {
            keys.remove("gpu.sms_per_cluster");
            keys.remove("gpu.sms");
        }
        let three = "  only this build has 3 keys more, of which these are not at their defaults: \
                     gpu.sms";
        assert_eq!(lines(&old).as_deref(), Some(three));
    }

    #[test]
    fn runs_of_one_figure_alone_are_named() {
        let (mut old, mut new) = (stored(), stored());
        let gone = old.runs.remove(0).command;
        let (told, is_equal) = compared(&old, &new);
        let common = old.runs.len();
        let expected = format!(
            "  the table is the same\n  {common} runs are in both, with the same cycles and \
             digests\n  only this build has the run {gone}\n  \
             the figures differ in the runs that they have\n"
        );
        assert_eq!((told, is_equal), (expected, false));
        new.runs.remove(0);
        let (told, is_equal) = compared(&stored(), &new);
        let line = format!("only the stored figure has the run {gone}\n");
        assert!(told.contains(&line) && !is_equal, "{told}");
        old.runs.clear();
        let told = compared(&old, &stored()).0;
        let rest = stored().runs.len() - super::NAMED_RUNS;
        let line = format!("only this build has {rest} runs more\n");
        assert!(told.contains(&line), "{told}");
    }

    #[test]
    fn runs_that_are_shown_alike_are_told_apart_by_their_commands() {
        let mut page = stored();
        page.runs[1].input = page.runs[0].input.clone();
        page.runs[1].configuration = page.runs[0].configuration.clone();
        assert_ne!(page.runs[0].digest, page.runs[1].digest);
        assert!(compared(&page, &page).1);
    }

    #[test]
    fn a_run_with_another_name_is_found_by_its_command() {
        let (old, mut new) = (stored(), stored());
        new.runs[0].configuration = "another name".to_owned();
        assert!(compared(&old, &new).1);
    }

    #[test]
    fn a_figure_that_cannot_be_compared_is_refused_before_its_runs() {
        let infos = find("duet/fig1").expect("a figure");
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        assert!(check(&results, &infos, Scale::Paper).is_ok());
        let told = |folder: &Path| check(folder, &infos, Scale::Test).map_err(|why| why.text());
        let scale = told(&results).expect_err("another scale");
        assert!(scale.contains("= help: add --scale paper"), "{scale}");
        let none = told(Path::new("none")).expect_err("no folder");
        assert!(
            none.contains("none/duet/fig1.json: there is no such file"),
            "{none}"
        );
    }

    #[test]
    fn the_first_difference_of_table_and_runs_is_named() {
        let (old, mut new) = (stored(), stored());
        new.table.rows[0][1] = Cell::Text("other".to_owned());
        new.runs[0].digest = "other".to_owned();
        new.runs[0].cycles = 1234;
        let (told, is_equal) = compared(&old, &new);
        let column = &old.table.columns[1].name;
        let cell = format!(" cells differ, first `{column}` of row 1: other instead of ");
        assert!(!is_equal && told.contains(&cell), "{told}");
        assert!(told.contains(": 1,234 cycles instead of "), "{told}");
        let last = "  the figures differ in cells of the table and in cycles or digests of runs\n";
        assert!(told.ends_with(last), "{told}");
        let smaller = Page {
            scale: "test".to_owned(),
            ..stored()
        };
        assert!(compared(&old, &smaller).0.contains("not comparable"));
    }
}
