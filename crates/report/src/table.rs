//! Layout of text tables.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::ops::Range;
use warploom_names::{WIDTH, shortened};

/// A table without lines. Columns are left-aligned, and the last is wrapped so that rows keep to
/// `width` characters, if it is given.
pub fn listing(header: &[&str], rows: &[Vec<String>], width: Option<u16>) -> String {
    let mut table = plain(width);
    table.set_header(header);
    table.add_rows(rows);
    finish(&table)
}

/// A list for a terminal of `width` columns, or else for another program: a line for each row, with
/// tabs between the cells and without blanks for alignment.
pub fn list(header: &[&str], rows: &[Vec<String>], width: Option<u16>) -> String {
    if width.is_some() {
        return listing(header, rows, width);
    }
    let line = |cells: Vec<&str>| cells.join("\t").replace('\n', " ") + "\n";
    let rows = rows
        .iter()
        .map(|row| line(row.iter().map(String::as_str).collect()));
    std::iter::once(line(header.to_vec())).chain(rows).collect()
}

/// A table of numbers. The first column is left-aligned, and the others are right-aligned. If it is
/// wider than `width`, the columns after the first are divided into several tables, each with it.
pub fn figures(header: &[&str], rows: &[Vec<String>], width: Option<u16>) -> String {
    labelled(header, rows, 1, width)
}

/// A table of numbers whose first `labels` columns name the rows. If it is wider than `width`, the
/// other columns are divided into several tables, each with the labels.
pub(crate) fn labelled(
    header: &[&str],
    rows: &[Vec<String>],
    labels: usize,
    width: Option<u16>,
) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let all: Vec<_> = (0..header.len()).collect();
    let (names, numbers) = all.split_at(labels.min(header.len()));
    let room = width.saturating_sub(columns_width(header, rows, &(0..names.len())).max(2) - 2);
    let mut parts: Vec<Vec<usize>> = vec![names.to_vec()];
    let mut used = 0;
    for &column in numbers {
        let wide = columns_width(header, rows, &(column..column + 1));
        if used > 0 && used + wide > room {
            parts.push(names.to_vec());
            used = 0;
        }
        used += wide;
        parts.last_mut().expect("one part").push(column);
    }
    // A later part omits the rows that are empty there.
    let is_told = |row: &&Vec<String>, columns: &[usize]| {
        let mut cells = columns.iter().skip(names.len());
        cells.any(|column| !row[*column].is_empty())
    };
    let tables = parts.iter().enumerate().map(|(part, columns)| {
        let rows = rows.iter().filter(|row| part == 0 || is_told(row, columns));
        of_columns(header, &rows.cloned().collect::<Vec<_>>(), columns)
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// A table of some columns, of which the first is left-aligned.
fn of_columns(header: &[&str], rows: &[Vec<String>], columns: &[usize]) -> String {
    let mut table = plain(None);
    table.set_header(columns.iter().map(|column| header[*column]));
    let cells = |row: &Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
    table.add_rows(rows.iter().map(|row| -> Vec<String> { cells(row) }));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    finish(&table)
}

/// Smallest width of names in a table that is not divided.
const LEAST_NAME: usize = 16;

/// A table of numbers on kernels, by their names in the first column, which are shown plain. If it
/// is wider than `width`, names are shortened. If that is not enough, the columns after the first
/// are divided into `parts`, each a table with the names. In the second and later parts rows that
/// repeat an earlier one, and rows without figures, are left out.
pub(crate) fn kernel_figures(
    header: &[&str],
    rows: &[Vec<String>],
    parts: &[Range<usize>],
    width: Option<u16>,
) -> String {
    let all = 1..header.len();
    let longest = rows
        .iter()
        .map(|row| shortened(&row[0], WIDTH).chars().count());
    let longest = longest.max().unwrap_or(0);
    let width = width.map_or(usize::MAX, usize::from);
    let room = |columns: &Range<usize>| width.saturating_sub(columns_width(header, rows, columns));
    if room(&all) >= longest.min(LEAST_NAME) {
        return selected(header, rows, &all, room(&all));
    }
    let room = parts
        .iter()
        .map(room)
        .min()
        .unwrap_or(0)
        .max(LEAST_NAME / 2);
    let tables = parts.iter().enumerate().map(|(nth, columns)| match nth {
        0 => selected(header, rows, columns, room),
        _ => selected(header, &distinct(rows, columns), columns, room),
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// Rows whose names and cells of some columns differ from all earlier ones, and that have figures
/// there.
fn distinct(rows: &[Vec<String>], columns: &Range<usize>) -> Vec<Vec<String>> {
    let mut distinct: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let cells = &row[columns.clone()];
        let same = |other: &Vec<String>| other[0] == row[0] && &other[columns.clone()] == cells;
        if !cells.iter().all(String::is_empty) && !distinct.iter().any(same) {
            distinct.push(row.clone());
        }
    }
    distinct
}

/// Width of some columns with the gaps before them.
fn columns_width(header: &[&str], rows: &[Vec<String>], columns: &Range<usize>) -> usize {
    let cells = |at: usize| rows.iter().map(move |row| row[at].as_str());
    let width = |at: usize| {
        let texts = cells(at).chain([header[at]]);
        2 + texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    columns.clone().map(width).sum()
}

/// A table of names in at most `room` characters, and of some columns.
fn selected(header: &[&str], rows: &[Vec<String>], columns: &Range<usize>, room: usize) -> String {
    let header: Vec<_> = std::iter::once(header[0])
        .chain(header[columns.clone()].iter().copied())
        .collect();
    let row = |row: &Vec<String>| {
        let name = shortened(&row[0], room.min(WIDTH));
        std::iter::once(name)
            .chain(row[columns.clone()].iter().cloned())
            .collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    figures(&header, &rows, None)
}

fn plain(width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    // Without a width the library would query the terminal, which only the caller may do.
    table.set_width(width.unwrap_or(u16::MAX));
    table
}

fn finish(table: &Table) -> String {
    let lines = table.lines();
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end().strip_prefix(' ').unwrap_or(&line));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{kernel_figures, labelled, list, listing};

    /// Columns that do not fit go into further tables with the labels.
    #[test]
    fn wide_tables_are_divided() {
        let header = ["policy", "sms", "cycles", "ipc", "l1d.hit_rate", "speedup"];
        let row = |cells: [&str; 6]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["lrr", "4", "123,456", "31.9", "0.5", "1"]),
            row(["static-limit", "8", "93,456", "41.9", "0.25", "1.321"]),
        ];
        let table = |width| labelled(&header, &rows, 2, width);
        assert_eq!(table(None), table(Some(56)));
        for width in [55, 40, 32] {
            let text = table(Some(width));
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width.into()), "{text}");
        }
        insta::assert_snapshot!(table(Some(40)));
    }

    #[test]
    fn long_cells_wrap_under_themselves() {
        let rows = vec![
            vec!["a".to_owned(), "short".to_owned()],
            vec![
                "bb".to_owned(),
                "a sentence that does not fit one line".to_owned(),
            ],
        ];
        insta::assert_snapshot!(listing(&["name", "about"], &rows, Some(30)));
    }

    #[test]
    fn lists_have_tabs_where_no_terminal_shows_them() {
        let rows = [["a", "a short\nsentence"], ["bb", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let header = ["name", "about"];
        let piped = "name\tabout\na\ta short sentence\nbb\t\n";
        assert_eq!(list(&header, &rows, None), piped);
        assert_eq!(
            list(&header, &rows, Some(30)),
            listing(&header, &rows, Some(30))
        );
    }

    /// A table that is too wide becomes two, with names in the room that is left.
    #[test]
    fn tables_of_kernels_keep_to_a_width() {
        let header = ["kernel", "grid", "limit", "cycles", "IPC"];
        let row = |name: &str, cells: [&str; 4]| {
            let cells = std::iter::once(name).chain(cells).map(str::to_owned);
            cells.collect::<Vec<_>>()
        };
        let rows = [
            row(
                "_Z6reduceILi256EEvPf",
                ["22x21", "registers", "43,465", "488.0"],
            ),
            row(
                "_Z6reduceILi256EEvPf",
                ["22x21", "registers", "40,604", "522.4"],
            ),
            row(
                "_ZN2at6native3mapILi4ENS_3AddIfEESt5arrayIPcLm3EEEEvT0_",
                ["1", "threads", "7", "1"],
            ),
            row("all 3 launches", ["", "", "111,866", "525.4"]),
        ];
        let table = |width| kernel_figures(&header, &rows, &[3..5, 1..3], width);
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        for width in [70, 60, 40, 30] {
            let text = table(Some(width));
            assert!(widest(&text) <= Some(width.into()), "{text}");
        }
        insta::assert_snapshot!([None, Some(50), Some(30)].map(table).join("---\n"));
    }
}
