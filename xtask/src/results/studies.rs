//! The generated part of a study's page: its figures with their means.

use super::headlines;
use std::fmt::Write as _;
use warploom_report::page::Page;

/// Ends of the names of summary values that are columns of a study's table, with their heads. The
/// rest of a name is its row; the first column orders the rows.
const COLUMNS: [(&str, &[(&str, &str)]); 2] = [
    (
        "zoo",
        &[
            ("over_gto", "over GTO"),
            ("over_gto.high", "high"),
            ("over_gto.moderate", "moderate"),
            ("over_gto.insensitive", "insensitive"),
            ("over_lrr", "over LRR"),
            ("energy_over_gto", "energy over GTO"),
        ],
    ),
    (
        "together",
        &[
            ("speedup", "speedup"),
            ("over_product", "over the product"),
            ("adds", "adds"),
            ("fights", "fights"),
            ("helps", "helps"),
        ],
    ),
];

/// The figures of a study, one after the other.
pub(super) fn head(pages: &[Page], study: &str) -> String {
    let columns = COLUMNS.iter().find(|(name, _)| *name == study);
    let columns = columns.map_or(&[][..], |(_, columns)| *columns);
    let mut text = String::new();
    for page in pages.iter().filter(|page| page.paper == study) {
        let Page {
            figure,
            title,
            scale,
            ..
        } = page;
        let _ = write!(text, "\n## {figure}: {title}\n\n");
        let _ = writeln!(
            text,
            "Scale `{scale}`, {} runs: [data]({study}/{figure}.csv), [everything]({study}/{figure}.json).\n",
            page.runs.len()
        );
        if !page.charts.is_empty() {
            let _ = writeln!(text, "![{title}]({study}/{figure}.svg)\n");
        }
        text += &means(page, columns);
    }
    if study == "zoo" && !text.is_empty() {
        text += "## Headlines: what the papers claim first, and the same here\n\n";
        text += &headlines::table(pages);
    }
    match text.is_empty() {
        true => "No figure of the study is stored here.\n".to_owned(),
        false => text,
    }
}

/// Geometric means and counts of a page: a row for each member of the study.
fn means(page: &Page, columns: &[(&str, &str)]) -> String {
    let Some((first, _)) = columns.first() else {
        return String::new();
    };
    let end = format!(".{first}");
    let rows = page.summary.iter().filter_map(|(name, cell)| {
        let row = name.strip_suffix(&end)?;
        Some((row, cell.number()?))
    });
    let mut rows: Vec<(&str, f64)> = rows.collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    if rows.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> = columns.iter().map(|(_, head)| *head).collect();
    let mut text = format!("| | {} |\n|---|", heads.join(" | "));
    text += &"--:|".repeat(columns.len());
    text.push('\n');
    for (row, _) in rows {
        let cell = |(end, _): &(&str, &str)| {
            let value = page.summary.get(&format!("{row}.{end}"));
            value.map_or("-".to_owned(), warploom_report::page::Cell::shown)
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        let _ = writeln!(text, "| {row} | {} |", cells.join(" | "));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::head;
    use warploom_report::page::Page;

    #[test]
    fn rows_are_the_members_and_the_best_comes_first() {
        let text = r#"{"paper":"together","figure":"single","title":"T","scale":"test","version":"",
            "command":"","columns":[],"rows":[],"charts":[],"summary":{"crat.speedup":1.5,
            "crat+duet.speedup":2.0,"crat+duet.over_product":0.9,"crat+duet.fights":3}}"#;
        let page: Page = serde_json::from_str(text).unwrap();
        let text = head(&[page], "together");
        let rows: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("| crat"))
            .collect();
        assert_eq!(
            rows,
            [
                "| crat+duet | 2 | 0.9 | - | 3 | - |",
                "| crat | 1.5 | - | - | - | - |"
            ]
        );
        assert!(text.contains("Scale `test`, 0 runs"));
        assert_eq!(head(&[], "zoo"), "No figure of the study is stored here.\n");
    }
}
