//! The page of a figure, a table or a comparison: what its JSON file holds and what the HTML page
//! shows. Equal pages give equal bytes: nothing in one tells when or how fast it was made.

use crate::figure::Chart;
use serde::de::Error;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use warploom_stats::result::ConfigValue;

/// A figure, table or comparison with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The paper, or `compare`.
    pub paper: String,
    /// The figure's name in its paper.
    pub figure: String,
    /// What it shows.
    pub title: String,
    /// How much was simulated: `test`, `small`, `paper`; empty where that is no question.
    pub scale: String,
    /// Version of the program that made it.
    pub version: String,
    /// The command that makes it again.
    pub command: String,
    /// The data: `columns` and `rows`.
    #[serde(flatten)]
    pub table: Table,
    /// Figures of the whole, by name.
    pub summary: BTreeMap<String, Cell>,
    /// The paper's claims.
    pub claims: Vec<Verdict>,
    /// The picture, charts below each other.
    pub charts: Vec<Chart>,
    /// The machines that were simulated, in order of their first run.
    #[serde(default)]
    pub configurations: Vec<Configuration>,
    /// Every key of the machines that the configurations start from, by name.
    #[serde(default)]
    pub presets: BTreeMap<String, BTreeMap<String, ConfigValue>>,
    /// The runs behind the data.
    #[serde(default)]
    pub runs: Vec<RunLine>,
}

impl Page {
    /// `duet/fig3b`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.paper, self.figure)
    }
}

/// A machine: a preset and what is changed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Its name in the figure.
    pub name: String,
    /// Preset or file that it starts from.
    pub gpu: String,
    /// Changes, `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Digest of the configuration in full.
    pub digest: String,
}

/// A run that a figure rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// What ran.
    pub input: String,
    /// On which of the configurations.
    pub configuration: String,
    /// The command that makes the run again.
    pub command: String,
    /// Core cycles.
    pub cycles: u64,
    /// Thread instructions per core cycle.
    pub ipc: f64,
    /// How it ended: `finished`, or `cut` at the cycle that the figure asks for.
    pub ended: String,
    /// Digest of the run's input.
    pub input_digest: String,
    /// Digest of its outputs, cycles and statistics.
    pub digest: String,
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Nothing was measured.
    None,
    /// A count.
    Count(u64),
    /// A measurement; finite.
    Number(f64),
    /// A name.
    Text(String),
}

impl Cell {
    /// The value with four digits after the point at most, as tables for people show it.
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
    /// Key in rows; ends in its unit.
    pub name: String,
    /// What it is.
    pub about: String,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
        }
    }
}

/// Rows of values under named columns. In JSON, rows are objects in the order of the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// Rows, each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The table as CSV (RFC 4180), names first.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let names = self.columns.iter().map(|column| column.name.clone());
        line(&mut text, names);
        for row in &self.rows {
            line(&mut text, row.iter().map(Cell::to_string));
        }
        text
    }
}

fn line(text: &mut String, fields: impl Iterator<Item = String>) {
    let quoted = |field: String| match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    let fields: Vec<_> = fields.map(quoted).collect();
    let _ = write!(text, "{}\r\n", fields.join(","));
}

/// A row as an object.
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
                Some(name) => Err(D::Error::custom(format!("`{name}` is no column"))),
                None => Ok(row),
            }
        };
        let rows = rows.into_iter().map(row).collect::<Result<_, _>>()?;
        Ok(Self { columns, rows })
    }
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holds {
    /// Within the tolerance that the verdict names.
    Yes,
    /// In part.
    Partly,
    /// It does not.
    No,
}

impl Holds {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
        }
    }
}

/// A claim beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim's id.
    pub id: String,
    /// What the paper says.
    pub claim: String,
    /// Where.
    #[serde(rename = "where")]
    pub place: String,
    /// The paper's figure, if it has one.
    pub paper: Cell,
    /// Ours, in the same unit.
    pub ours: Cell,
    /// The unit.
    pub kind: String,
    /// Whether it holds.
    pub holds: Holds,
    /// How it was measured, and what else is to be known.
    pub note: String,
    /// What makes it hold.
    #[serde(default)]
    pub tolerance: String,
    /// The claim's statements one by one.
    #[serde(default)]
    pub parts: Vec<Part>,
}

/// One statement of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it states.
    pub what: String,
    /// The paper's figure, if it has one.
    pub paper: Cell,
    /// Ours.
    pub ours: Cell,
    /// Whether it holds.
    pub holds: Holds,
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
        assert!(error.to_string().contains("`ration` is no column"));
    }
}
