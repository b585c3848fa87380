//! Data of a page by name, from which claims are judged. A page that was stored by another version
//! may lack columns and values; what depends on them is not measured.

use crate::samples::Samples;
use warploom_report::page::{Cell, Page};

/// Rows of a page's table and its summary values.
#[derive(Clone, Debug)]
pub struct Data<'a> {
    page: &'a Page,
    /// Pages among which those of the same paper are.
    others: &'a [Page],
    rows: Vec<&'a [Cell]>,
}

impl<'a> Data<'a> {
    /// All data of a page, beside `others`.
    pub fn new(page: &'a Page, others: &'a [Page]) -> Self {
        let rows = page.table.rows.iter().map(Vec::as_slice);
        Self {
            page,
            others,
            rows: rows.collect(),
        }
    }

    /// Data of another figure of the same paper, scale and machines, if it is known. Runs that both
    /// would need are then made for one of them only.
    pub fn beside(&self, figure: &str) -> Option<Self> {
        let found = self.elsewhere(figure)?;
        is_of_same_machines(found.page, self.page).then_some(found)
    }

    /// Data of another figure of the same paper and scale, if it is known, for statements that need
    /// no data of this one: the other may be of a later machine.
    pub fn elsewhere(&self, figure: &str) -> Option<Self> {
        let is = |other: &&Page| {
            other.figure == figure
                && other.paper == self.page.paper
                && other.scale == self.page.scale
        };
        let found = self.others.iter().find(is)?;
        Some(Self::new(found, self.others))
    }

    /// Name of the figure, such as `fig12`.
    pub fn figure(&self) -> &'a str {
        &self.page.figure
    }

    /// Size of the simulations.
    pub fn scale(&self) -> &'a str {
        &self.page.scale
    }

    /// Number of the figure's runs that were cut at a limit of cycles, and of all of its runs.
    pub fn cut_runs(&self) -> [usize; 2] {
        let runs = &self.page.runs;
        let cut = runs.iter().filter(|run| run.ended == "cut").count();
        [cut, runs.len()]
    }

    /// The rows that have this text in a column.
    pub fn of(&self, column: &str, text: &str) -> Self {
        let column = self.index(column);
        let is = |row: &&&[Cell]| column.is_some_and(|at| row[at].to_string() == text);
        Self {
            page: self.page,
            others: self.others,
            rows: self.rows.iter().filter(is).copied().collect(),
        }
    }

    fn index(&self, column: &str) -> Option<usize> {
        let columns = self.page.table.columns.iter();
        columns
            .map(|column| &column.name)
            .position(|name| name == column)
    }

    /// Numbers of a column, named by another one. Rows without a number are left out.
    pub fn named(&self, names: &str, column: &str) -> Samples {
        let Some((name, value)) = self.index(names).zip(self.index(column)) else {
            return Samples::default();
        };
        let pair = |row: &&[Cell]| Some((row[name].to_string(), row[value].number()?));
        Samples(self.rows.iter().filter_map(pair).collect())
    }

    /// Numbers of a column, named by the first one.
    pub fn column(&self, column: &str) -> Samples {
        let first = self.page.table.columns.first();
        first.map_or_else(Samples::default, |first| self.named(&first.name, column))
    }

    /// The text of a column in the row with this name in the first column.
    pub fn text(&self, name: &str, column: &str) -> Option<String> {
        let at = self.index(column)?;
        let row = self.rows.iter().find(|row| row[0].to_string() == name)?;
        Some(row[at].to_string()).filter(|text| !text.is_empty())
    }

    /// Texts of a column, named by the first one.
    pub fn texts(&self, column: &str) -> Vec<(String, String)> {
        let Some(at) = self.index(column) else {
            return Vec::new();
        };
        let pair = |row: &&[Cell]| (row[0].to_string(), row[at].to_string());
        self.rows.iter().map(pair).collect()
    }

    /// The number of a column in the row with this name in the first column.
    pub fn number(&self, name: &str, column: &str) -> Option<f64> {
        self.column(column).get(name)
    }

    /// A number of the summary.
    pub fn summary(&self, name: &str) -> Option<f64> {
        self.page.summary.get(name)?.number()
    }
}

/// True if presets of one name have the same values for the keys that both pages have. A later
/// build may have more keys.
fn is_of_same_machines(one: &Page, other: &Page) -> bool {
    one.presets.iter().all(|(name, keys)| {
        let Some(others) = other.presets.get(name) else {
            return true;
        };
        let is_same = |(key, value)| others.get(key).is_none_or(|other| other == value);
        keys.iter().all(is_same)
    })
}

#[cfg(test)]
mod tests {
    use super::Data;
    use warploom_report::page::{Cell, Column, Page, RunLine};
    use warploom_stats::result::ConfigValue;

    #[test]
    fn other_figures_are_of_the_same_paper_scale_and_machines() {
        let named = |figure: &str, clock: i64| {
            let keys = [("mhz".to_owned(), ConfigValue::Integer(clock))];
            Page {
                figure: figure.to_owned(),
                presets: [("gpu".to_owned(), keys.into())].into(),
                ..page()
            }
        };
        let of = |scale: &str| Page {
            scale: scale.to_owned(),
            ..named("e", 700)
        };
        let own = named("f", 700);
        let beside = |others: &[Page]| Data::new(&own, others).beside("e").is_some();
        assert!(beside(&[named("d", 700), named("e", 700)]));
        assert!(!beside(&[named("d", 700)]));
        assert!(!beside(&[named("e", 1400)]));
        let elsewhere = |others: &[Page]| Data::new(&own, others).elsewhere("e").is_some();
        assert!(elsewhere(&[named("e", 1400)]));
        assert!(!elsewhere(&[of("paper")]) && !elsewhere(&[named("d", 700)]));
        assert!(!beside(&[of("paper")]));
        assert!(beside(&[of("paper"), of("test")]));
    }

    #[test]
    fn runs_that_were_cut_are_counted() {
        let run = |ended: &str| RunLine {
            input: String::new(),
            configuration: String::new(),
            command: String::new(),
            cycles: 9,
            ipc: 1.0,
            ended: ended.to_owned(),
            input_digest: String::new(),
            digest: String::new(),
            energy: None,
        };
        let page = Page {
            runs: ["cut", "finished", "stopped"].map(run).to_vec(),
            ..page()
        };
        assert_eq!(Data::new(&page, &[]).cut_runs(), [1, 3]);
    }

    fn page() -> Page {
        let text = r#"{"paper":"p","figure":"f","title":"","scale":"test","version":"","command":"",
            "columns":[{"name":"workload","about":""},{"name":"policy","about":""},
                       {"name":"ipc","about":""}],
            "rows":[{"workload":"A","policy":"x","ipc":2},{"workload":"B","policy":"y","ipc":null},
                    {"workload":"A","policy":"y","ipc":0.5}],
            "summary":{"mean":1.5,"best":"A"},"charts":[]}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn data_are_found_by_name_and_missing_ones_are_none() {
        let page = page();
        let data = Data::new(&page, &[]);
        assert_eq!((data.figure(), data.scale()), ("f", "test"));
        assert_eq!(
            data.of("policy", "y").column("ipc").0,
            [("A".to_owned(), 0.5)]
        );
        assert_eq!(data.named("policy", "ipc").get("x"), Some(2.0));
        assert_eq!(data.number("A", "ipc"), Some(2.0));
        assert_eq!(data.text("B", "policy").as_deref(), Some("y"));
        assert_eq!(
            (data.text("B", "ipc"), data.number("B", "ipc")),
            (None, None)
        );
        assert_eq!(data.texts("policy").len(), 3);
        assert_eq!(
            (data.summary("mean"), data.summary("best")),
            (Some(1.5), None)
        );
        assert!(data.column("cycles").0.is_empty());
        assert!(
            page.verdicts.is_empty(),
            "a page without verdicts can be read"
        );
        assert_eq!(page.table.columns[2], Column::new("ipc", ""));
        assert_eq!(page.table.rows[1][2], Cell::None);
    }
}
