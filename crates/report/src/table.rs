//! Layout of text tables.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table without lines. Columns are left-aligned, and the last is wrapped so that rows keep to
/// `width` characters, if it is given.
pub fn listing(header: &[&str], rows: &[Vec<String>], width: Option<u16>) -> String {
    let mut table = plain(width);
    table.set_header(header);
    table.add_rows(rows);
    finish(&table)
}

/// A table of numbers. The first column is left-aligned, and the others are right-aligned.
pub fn figures(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = plain(None);
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    finish(&table)
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
    use super::listing;

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
}
