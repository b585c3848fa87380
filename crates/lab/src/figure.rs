//! What a figure is: a table, figures of the whole, claims with verdicts, charts.

use crate::claims::Claim;
use crate::figures::FigureInfo;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;
use warploom_report::Chart;

/// How much is simulated for a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As little as shows the effect: seconds.
    Test,
    /// Between the two.
    #[default]
    Small,
    /// The paper's own sizes.
    Paper,
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "test",
            Self::Small => "small",
            Self::Paper => "paper",
        })
    }
}

/// A word that is no scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write test, small or paper")]
pub struct UnknownScale;

impl FromStr for Scale {
    type Err = UnknownScale;

    fn from_str(text: &str) -> Result<Self, UnknownScale> {
        match text {
            "test" => Ok(Self::Test),
            "small" => Ok(Self::Small),
            "paper" => Ok(Self::Paper),
            _ => Err(UnknownScale),
        }
    }
}

/// How a figure is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// How much is simulated.
    pub scale: Scale,
}

/// A figure that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The data.
    pub table: Table,
    /// Figures of the whole, by name.
    pub summary: BTreeMap<&'static str, Cell>,
    /// The paper's claims.
    pub claims: Vec<Verdict>,
    /// The picture, charts below each other.
    pub charts: Vec<Chart>,
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Key in rows; ends in its unit.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
}

/// Rows of values under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: &'static [Column],
    /// Rows, each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The table as CSV (RFC 4180), names first.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let names = self.columns.iter().map(|column| column.name.to_owned());
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
            map.serialize_entry(column.name, cell)?;
        }
        map.end()
    }
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Holds {
    /// Within the tolerance that the note names.
    Yes,
    /// In part, which the note names.
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Measured how, against which tolerance.
    pub note: String,
}

impl Verdict {
    /// A verdict on a claim.
    pub fn new(claim: Claim, ours: Cell, holds: Holds, note: String) -> Self {
        Self {
            id: claim.id,
            claim: claim.text,
            place: claim.place,
            paper: claim.value.map_or(Cell::None, Cell::Number),
            ours,
            kind: claim.kind,
            holds,
            note,
        }
    }
}

/// A figure as its JSON file has it.
#[derive(Serialize)]
pub struct Page<'a> {
    paper: &'static str,
    figure: &'static str,
    title: &'static str,
    scale: Scale,
    version: &'static str,
    columns: &'static [Column],
    rows: Vec<Row<'a>>,
    summary: &'a BTreeMap<&'static str, Cell>,
    claims: &'a [Verdict],
}

impl Figure {
    /// The figure as its JSON file has it.
    pub fn page<'a>(&'a self, info: &FigureInfo, request: &Request) -> Page<'a> {
        let columns = self.table.columns;
        Page {
            paper: info.paper,
            figure: info.name,
            title: info.title,
            scale: request.scale,
            version: env!("CARGO_PKG_VERSION"),
            columns,
            rows: self
                .table
                .rows
                .iter()
                .map(|row| Row(columns, row))
                .collect(),
            summary: &self.summary,
            claims: &self.claims,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Column, Row, Table};

    const COLUMNS: &[Column] = &[
        Column {
            name: "kernel",
            about: "Its name.",
        },
        Column {
            name: "ratio",
            about: "A share.",
        },
    ];

    #[test]
    fn fields_are_quoted_where_csv_needs_it() {
        let table = Table {
            columns: COLUMNS,
            rows: vec![
                vec![Cell::Text("a, \"b\"".to_owned()), Cell::Number(0.5)],
                vec![Cell::Count(7), Cell::None],
            ],
        };
        assert_eq!(
            table.csv(),
            "kernel,ratio\r\n\"a, \"\"b\"\"\",0.5\r\n7,\r\n"
        );
    }

    #[test]
    fn rows_are_objects_in_the_order_of_columns() {
        let cells = [Cell::Text("bfs".to_owned()), Cell::None];
        let json = serde_json::to_string(&Row(COLUMNS, &cells)).unwrap();
        assert_eq!(json, r#"{"kernel":"bfs","ratio":null}"#);
    }
}
