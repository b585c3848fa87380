//! Comparison of a figure with one that was stored before: the table, and the cycles and digests of
//! the runs. Energy, charts and verdicts follow from these and are not compared.

use crate::failure::Failure;
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use warploom_lab::{FigureInfo, Scale};
use warploom_report::page::{Page, RunLine};
use warploom_report::{grouped, wrapped};

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
    let (table, runs) = (table(stored, page), runs(&stored.runs, &page.runs));
    let is_equal = table.is_none() && runs.1;
    let table = table.unwrap_or_else(|| "the table is the same".to_owned());
    let mut text = format!("  {table}\n  {}\n", runs.0);
    for (what, keys) in [
        ("only this build has the keys", keys_beyond(page, stored)),
        (
            "only the stored figure has the keys",
            keys_beyond(stored, page),
        ),
    ] {
        if !keys.is_empty() {
            let keys: Vec<_> = keys.into_iter().collect();
            text += &format!("  {what} {}\n", keys.join(", "));
        }
    }
    (text, is_equal)
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

/// Clause on the runs that both figures have, and whether all of them are equal.
fn runs(stored: &[RunLine], made: &[RunLine]) -> (String, bool) {
    let same_place = |a: &RunLine, b: &RunLine| {
        (&a.input, &a.configuration, &a.ended) == (&b.input, &b.configuration, &b.ended)
    };
    let pairs = made.iter().filter_map(|new| {
        // Runs that differ in registers alone are shown alike.
        let mut alike = stored.iter().filter(|old| same_place(old, new));
        let first = alike.clone().next()?;
        let old = alike.find(|old| old.command == new.command);
        Some((old.unwrap_or(first), new))
    });
    let pairs: Vec<_> = pairs.collect();
    let mut differing = pairs.iter().filter(|(old, new)| old.digest != new.digest);
    let of = match pairs.len() == made.len() {
        true => format!("all {} runs are in both", made.len()),
        false => format!("{} of {} runs are in both", pairs.len(), made.len()),
    };
    match differing.next() {
        None if pairs.len() == made.len() => {
            let all = format!("all {} runs have the same cycles and digests", made.len());
            (all, true)
        }
        None => (format!("{of}, and have the same cycles and digests"), false),
        Some((old, new)) => (
            format!(
                "{of}; cycles or digests of {} differ, first: {} cycles instead of {} of {} on {}",
                1 + differing.count(),
                grouped(new.cycles),
                grouped(old.cycles),
                new.input,
                new.configuration,
            ),
            false,
        ),
    }
}

/// Keys of presets that only the first page has.
fn keys_beyond<'a>(page: &'a Page, other: &Page) -> BTreeSet<&'a str> {
    let presets = page.presets.iter();
    let keys = presets.flat_map(|(preset, keys)| {
        let known = other.presets.get(preset);
        let beyond = keys
            .keys()
            .filter(move |key| known.is_some_and(|of| !of.contains_key(*key)));
        beyond.map(String::as_str)
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
             only this build has the keys sm.new\n"
        );
        assert_eq!((told, is_equal), (expected, true));
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
        let smaller = Page {
            scale: "test".to_owned(),
            ..stored()
        };
        assert!(compared(&old, &smaller).0.contains("not comparable"));
    }
}
