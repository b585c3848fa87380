//! Tables as Apache Parquet, written group by group so that memory stays bounded.
//!
//! The file follows the Parquet format, version 1: optional columns of one level, plain encoding,
//! definition levels as bit-packed runs, no compression. The metadata are in Thrift's compact
//! protocol. Sources: "Apache Parquet file format" (`parquet.thrift`, `Encodings.md`) and "Thrift
//! Compact protocol encoding".

mod thrift;

use crate::page::Cell;
use thrift::Record;

/// Rows in a group, which are in memory until the group is complete.
const GROUP: usize = 20_000;
const MAGIC: &[u8; 4] = b"PAR1";
/// Numbers of the encodings in metadata.
const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Column of texts in UTF-8.
    Text,
    /// Column of whole numbers from 0, as `INT64`.
    Count,
    /// Column of numbers, as `DOUBLE`.
    Number,
}

impl ColumnType {
    /// Number of the physical type.
    const fn physical(self) -> i64 {
        match self {
            Self::Count => 2,
            Self::Number => 5,
            Self::Text => 6,
        }
    }

    /// Number of the converted type, if the physical one does not say all.
    const fn converted(self) -> Option<i64> {
        match self {
            Self::Text => Some(0),
            Self::Count | Self::Number => None,
        }
    }

    /// Adds a value to a page. False if the value has another type and is left out.
    fn put(self, cell: &Cell, page: &mut Vec<u8>) -> bool {
        match (self, cell) {
            (_, Cell::None) => return false,
            (Self::Text, cell) => {
                let text = cell.to_string();
                page.extend((text.len() as u32).to_le_bytes());
                page.extend(text.as_bytes());
            }
            (Self::Count, Cell::Count(count)) => {
                let Ok(count) = i64::try_from(*count) else {
                    return false;
                };
                page.extend(count.to_le_bytes());
            }
            (Self::Number, cell) => match cell.number() {
                Some(number) => page.extend(number.to_le_bytes()),
                None => return false,
            },
            (Self::Count, _) => return false,
        }
        true
    }
}

/// Encoder of a table, which gives its bytes in pieces.
pub struct ParquetEncoder {
    bytes: Vec<u8>,
    offset: usize,
    columns: Vec<(String, ColumnType)>,
    rows: Vec<Vec<Cell>>,
    /// Metadata of the groups, and their numbers of rows.
    groups: Vec<(Record, usize)>,
}

impl ParquetEncoder {
    /// Begins a file with these columns.
    pub fn new(columns: Vec<(String, ColumnType)>) -> Self {
        Self {
            bytes: MAGIC.to_vec(),
            offset: MAGIC.len(),
            columns,
            rows: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// The bytes of the file that were made since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Adds a row, with a cell for each column. A cell of another type than its column is left
    /// empty.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
        if self.rows.len() >= GROUP {
            self.end_group();
        }
    }

    /// Completes the file, and gives its last bytes.
    pub fn finish(mut self) -> Vec<u8> {
        if !self.rows.is_empty() {
            self.end_group();
        }
        let metadata = self.metadata().bytes();
        self.bytes.extend(&metadata);
        self.bytes.extend((metadata.len() as u32).to_le_bytes());
        self.bytes.extend(MAGIC);
        self.bytes
    }

    fn end_group(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let begin = self.offset;
        let mut chunks = Vec::new();
        for at in 0..self.columns.len() {
            let (name, kind) = self.columns[at].clone();
            let page = page(rows.iter().map(|row| &row[at]), kind);
            let header = page_header(rows.len(), page.len()).bytes();
            let size = header.len() + page.len();
            chunks.push(chunk(&name, kind, rows.len(), size, self.offset));
            self.bytes.extend(header);
            self.bytes.extend(page);
            self.offset += size;
        }
        let mut group = Record::default();
        group.list(1, chunks);
        group.whole(2, (self.offset - begin) as i64);
        group.whole(3, rows.len() as i64);
        self.groups.push((group, rows.len()));
    }

    fn metadata(&mut self) -> Record {
        let groups = std::mem::take(&mut self.groups);
        let rows: usize = groups.iter().map(|(_, rows)| rows).sum();
        let mut root = Record::default();
        root.text(4, "table");
        root.small(5, self.columns.len() as i64);
        let mut schema = vec![root];
        for (name, kind) in &self.columns {
            let mut column = Record::default();
            column.small(1, kind.physical());
            column.small(3, 1);
            column.text(4, name);
            if let Some(converted) = kind.converted() {
                column.small(6, converted);
            }
            schema.push(column);
        }
        let mut file = Record::default();
        file.small(1, 1);
        file.list(2, schema);
        file.whole(3, rows as i64);
        file.list(4, groups.into_iter().map(|(group, _)| group).collect());
        file.text(6, concat!("warploom ", env!("CARGO_PKG_VERSION")));
        file
    }
}

/// Contents of a column's page: definition levels, then the values that exist.
fn page<'a>(cells: impl ExactSizeIterator<Item = &'a Cell>, kind: ColumnType) -> Vec<u8> {
    let groups = cells.len().div_ceil(8);
    let mut levels = vec![0; groups];
    let mut values = Vec::new();
    for (at, cell) in cells.enumerate() {
        levels[at / 8] |= u8::from(kind.put(cell, &mut values)) << (at % 8);
    }
    let mut run = Vec::new();
    thrift::varint(&mut run, (groups as u64) << 1 | 1);
    run.extend(levels);
    let mut page = (run.len() as u32).to_le_bytes().to_vec();
    page.extend(run);
    page.extend(values);
    page
}

fn page_header(values: usize, bytes: usize) -> Record {
    let mut data = Record::default();
    data.small(1, values as i64);
    data.small(2, PLAIN);
    data.small(3, RLE);
    data.small(4, RLE);
    let mut header = Record::default();
    header.small(1, 0);
    header.small(2, bytes as i64);
    header.small(3, bytes as i64);
    header.record(5, data);
    header
}

fn chunk(name: &str, kind: ColumnType, values: usize, bytes: usize, offset: usize) -> Record {
    let mut column = Record::default();
    column.small(1, kind.physical());
    column.numbers(2, &[PLAIN, RLE]);
    column.texts(3, &[name]);
    column.small(4, 0);
    column.whole(5, values as i64);
    column.whole(6, bytes as i64);
    column.whole(7, bytes as i64);
    column.whole(9, offset as i64);
    let mut chunk = Record::default();
    chunk.whole(2, offset as i64);
    chunk.record(3, column);
    chunk
}

#[cfg(test)]
mod tests {
    use super::{ColumnType, ParquetEncoder};
    use crate::page::Cell;

    fn table(rows: &[[Cell; 3]]) -> Vec<u8> {
        let columns = [
            ("name", ColumnType::Text),
            ("cycles", ColumnType::Count),
            ("ipc", ColumnType::Number),
        ];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind));
        let mut encoder = ParquetEncoder::new(columns.to_vec());
        rows.iter().for_each(|row| encoder.row(row.to_vec()));
        let mut bytes = encoder.take();
        bytes.extend(encoder.finish());
        bytes
    }

    /// The bytes of a page as the format's documents define them, written by hand.
    #[test]
    fn a_page_has_levels_then_values() {
        let bytes = table(&[
            [Cell::from("ab"), Cell::Count(7), Cell::Number(0.5)],
            [Cell::None, Cell::None, Cell::Count(2)],
        ]);
        assert_eq!(&bytes[..4], b"PAR1");
        // type 0, two sizes of 12 in zigzag form, and a record: 2 values, encodings 0, 3 and 3.
        let header = [
            0x15, 0, 0x15, 24, 0x15, 24, 0x2c, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0,
        ];
        assert_eq!(&bytes[4..21], header);
        // Two bytes of levels: one group of eight, of which the first value exists; then the text.
        assert_eq!(&bytes[21..33], [2, 0, 0, 0, 3, 1, 2, 0, 0, 0, b'a', b'b']);
        let (length, magic) = bytes[bytes.len() - 8..].split_at(4);
        assert_eq!(magic, b"PAR1");
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        assert!(
            length < bytes.len() - 12,
            "the metadata lie before their length"
        );
        assert_eq!(
            bytes[bytes.len() - 8 - length],
            0x15,
            "they begin with the version"
        );
    }

    #[test]
    fn cells_of_another_type_are_empty() {
        let bytes = table(&[[Cell::from("a"), Cell::from("many"), Cell::from("half")]]);
        let empty = table(&[[Cell::from("a"), Cell::None, Cell::None]]);
        assert!(bytes == empty);
    }
}
