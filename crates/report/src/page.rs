//! The page of a figure, a table or a comparison: the contents of its JSON file, which the HTML
//! page shows. Equal pages give equal bytes; no field depends on the time or speed of the runs.

mod verdicts;

pub use verdicts::{
    Agreement, Judgement, Kind, NEAR_POINTS, Origin, POINTS, REMARKS, Range, Remark, Statement,
    Verdict, is_none, points, reproduced_effects, share_of_effect,
};

use crate::figure::Chart;
use serde::de::Error;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use warploom_stats::energy::EnergyReport;
use warploom_stats::result::ConfigValue;

/// A figure, table or comparison with its data, claims and runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Short name of the paper, or `compare`.
    pub paper: String,
    /// Name of the figure in its paper.
    pub figure: String,
    /// Title of the figure.
    pub title: String,
    /// Size of the simulations: `test`, `small` or `paper`; empty if it does not apply.
    pub scale: String,
    /// Version of the program that made the page.
    pub version: String,
    /// Command that makes the page again.
    pub command: String,
    /// Data in columns and rows.
    #[serde(flatten)]
    pub table: Table,
    /// Summary values by name.
    pub summary: BTreeMap<String, Cell>,
    /// Sentences on why a row is faster than another one, if they were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<String>,
    /// Sentences without which the data would be misread, such as that runs were cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Verdicts on the paper's claims. They follow from the data above and can be made again from
    /// them.
    #[serde(default)]
    pub verdicts: Vec<Verdict>,
    /// Charts of the picture, one below the other.
    pub charts: Vec<Chart>,
    /// Charts that only the HTML page shows, below the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_charts: Vec<Chart>,
    /// Simulated machines in the order of their first run.
    #[serde(default)]
    pub configurations: Vec<Configuration>,
    /// All keys of the presets from which configurations start, by the presets' names.
    #[serde(default)]
    pub presets: BTreeMap<String, BTreeMap<String, ConfigValue>>,
    /// Runs on which the data are based.
    #[serde(default)]
    pub runs: Vec<RunLine>,
    /// Runs without a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureLine>,
}

impl Page {
    /// Paper and figure, such as `duet/fig3b`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.paper, self.figure)
    }

    /// Names and values of the summary. A mean has the range of the means that leave one benchmark
    /// out in its line.
    pub fn summary_lines(&self) -> Vec<(String, String)> {
        let bound = |name: &str, end: &str| self.summary.get(&format!("{name}.{end}"));
        let is_bound = |name: &str| {
            let stem = [".least", ".most"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            stem.is_some_and(|stem| self.summary.contains_key(stem))
        };
        let lines = self.summary.iter().filter(|(name, _)| !is_bound(name));
        lines
            .map(|(name, value)| {
                let range = bound(name, "least").zip(bound(name, "most"));
                let range = range.map(|(least, most)| (least.shown(), most.shown()));
                let range = range.filter(|(least, most)| least != most);
                let range = range.map(|(least, most)| {
                    format!(" ({least} to {most} without one of the benchmarks)")
                });
                let told = value.shown() + &range.unwrap_or_default();
                (name.clone(), told)
            })
            .collect()
    }

    /// Sentence on claims that were measured with other data sets than the paper's.
    pub fn caveat(&self) -> Option<String> {
        let smaller = !matches!(self.scale.as_str(), "" | "paper");
        (smaller && !self.verdicts.is_empty()).then(|| {
            format!(
                "At scale {} the data sets are smaller than the paper's: what follows shows how \
                 claims are judged, and is no verdict on them. `--scale paper` gives one.",
                self.scale
            )
        })
    }
}

/// A machine: a preset and its changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Name of the machine in the figure.
    pub name: String,
    /// Preset or file from which it starts.
    pub gpu: String,
    /// Changes in the form `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Digest of the whole configuration.
    pub digest: String,
}

/// A run on which a figure is based.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// Name of the target.
    pub input: String,
    /// Name of the configuration.
    pub configuration: String,
    /// Command that makes the run again.
    pub command: String,
    /// Number of core cycles, estimated if the run is sampled.
    pub cycles: u64,
    /// Thread instructions per core cycle.
    pub ipc: f64,
    /// End of the run: `finished`, `sampled`, `cut` at the cycle that the figure specifies, or
    /// `stopped` after a number of launches.
    pub ended: String,
    /// Digest of the run's input.
    pub input_digest: String,
    /// Digest of the run's outputs, cycles and statistics.
    pub digest: String,
    /// Energy of the run, where it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyReport>,
}

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureLine {
    /// Name of the run.
    pub name: String,
    /// Kind of the failure.
    pub status: String,
    /// Description of the failure with a remedy.
    pub reason: String,
    /// Command that makes the run alone.
    pub command: String,
}

/// A value of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// No value was measured.
    None,
    /// A number of events.
    Count(u64),
    /// A finite measured value.
    Number(f64),
    /// A text without further meaning.
    Text(String),
}

impl Cell {
    /// The value with at most four decimals, as in tables for people.
    pub fn shown(&self) -> String {
        match self {
            Self::None => "-".to_owned(),
            Self::Number(number) => {
                let text = format!("{number:.4}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Count(count) => crate::grouped(*count),
            Self::Text(text) => text.clone(),
        }
    }

    /// The value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Number(number) => Some(*number),
            Self::None | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Key in rows, which ends in the unit.
    pub name: String,
    /// Description of the column.
    pub about: String,
}

impl Column {
    /// Creates a column with a description.
    pub fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
        }
    }
}

/// Rows of values in named columns. In JSON, rows are objects with keys in the order of the
/// columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Rows with one value per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The table as CSV (RFC 4180), with a header.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let names = self.columns.iter().map(|column| column.name.clone());
        csv_line(&mut text, names);
        for row in &self.rows {
            csv_line(&mut text, row.iter().map(Cell::to_string));
        }
        text
    }
}

/// Adds a line of CSV (RFC 4180).
pub fn csv_line(text: &mut String, fields: impl Iterator<Item = String>) {
    let quoted = |field: String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    };
    let fields: Vec<_> = fields.map(quoted).collect();
    let _ = write!(text, "{}\r\n", fields.join(","));
}

/// A row as a JSON object.
struct Row<'a>(&'a [Column], &'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            map.serialize_entry(&column.name, cell)?;
        }
        map.end()
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| Row(&self.columns, row))
            .collect();
        let mut table = serializer.serialize_struct("Table", 2)?;
        table.serialize_field("columns", &self.columns)?;
        table.serialize_field("rows", &rows)?;
        table.end()
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            columns: Vec<Column>,
            rows: Vec<BTreeMap<String, Cell>>,
        }
        let Written { columns, rows } = Written::deserialize(deserializer)?;
        let row = |mut cells: BTreeMap<String, Cell>| {
            let cell = |column: &Column| cells.remove(&column.name).unwrap_or(Cell::None);
            let row: Vec<_> = columns.iter().map(cell).collect();
            match cells.keys().next() {
                Some(name) => Err(D::Error::custom(format!("`{name}` is not a column"))),
                None => Ok(row),
            }
        };
        let rows = rows.into_iter().map(row).collect::<Result<_, _>>()?;
        Ok(Self { columns, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Column, Row, Table};

    fn columns() -> Vec<Column> {
        vec![
            Column::new("kernel", "Its name."),
            Column::new("ratio", "A share."),
        ]
    }

    fn table() -> Table {
        Table {
            columns: columns(),
            rows: vec![
                vec![Cell::from("a, \"b\""), Cell::Number(0.5)],
                vec![Cell::Count(7), Cell::None],
            ],
        }
    }

    #[test]
    fn fields_are_quoted_where_csv_needs_it() {
        assert_eq!(
            table().csv(),
            "kernel,ratio\r\n\"a, \"\"b\"\"\",0.5\r\n7,\r\n"
        );
    }

    #[test]
    fn rows_are_objects_in_the_order_of_columns() {
        let cells = [Cell::from("bfs"), Cell::None];
        let json = serde_json::to_string(&Row(&columns(), &cells)).unwrap();
        assert_eq!(json, r#"{"kernel":"bfs","ratio":null}"#);
    }

    #[test]
    fn a_table_reads_back_as_written() {
        let text = serde_json::to_string(&table()).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table());
        let unknown = text.replace("\"ratio\":0.5", "\"ration\":0.5");
        let error = serde_json::from_str::<Table>(&unknown).unwrap_err();
        assert!(error.to_string().contains("`ration` is not a column"));
    }
}
