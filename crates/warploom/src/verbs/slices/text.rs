//! Text report of address slices.

use super::{AccessRow, ArrayRow, BlockRow, Kernel, Launch, RectRow, Report};
use crate::output::width;
use std::fmt::Write;
use warploom_report::{grouped, listing};

pub fn text(report: &Report) -> String {
    if report.kernels.is_empty() {
        return "no kernels\n".to_owned();
    }
    let mut text = String::new();
    for (nth, kernel) in report.kernels.iter().enumerate() {
        if nth > 0 {
            text.push('\n');
        }
        one(&mut text, kernel);
    }
    text
}

/// Text of a block's position, with z only if the grid has several planes.
pub fn point([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (y, 0) => format!("{x},{y}"),
        (y, z) => format!("{x},{y},{z}"),
    }
}

fn one(text: &mut String, kernel: &Kernel) {
    let regular = kernel.accesses.iter().filter(|row| row.regular).count();
    let _ = writeln!(
        text,
        "kernel {}: {regular} of {} accesses of global memory are regular\n",
        kernel.kernel,
        kernel.accesses.len()
    );
    if !kernel.accesses.is_empty() {
        let header = ["line", "access", "bytes", "array", "address", "slice"];
        let rows: Vec<_> = kernel.accesses.iter().map(cells).collect();
        text.push_str(&listing(&header, &rows, width()));
    }
    if regular > 0 {
        text.push_str("\naddress binary\n");
        for line in &kernel.program {
            let _ = writeln!(text, "{line}");
        }
    }
    if let Some(launch) = &kernel.launch {
        launched(text, launch);
    }
}

fn cells(row: &AccessRow) -> Vec<String> {
    let address = match &row.why {
        Some(why) => format!("{}: {why}", row.coverage),
        None => row.coverage.clone(),
    };
    vec![
        row.line.to_string(),
        row.kind.to_owned(),
        row.bytes.to_string(),
        row.array.clone().unwrap_or_else(|| "-".to_owned()),
        address,
        ranges(&row.slice),
    ]
}

/// Numbers in ascending order, with ranges as `4-7`.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let shown: Vec<_> = runs
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    if shown.is_empty() {
        "-".to_owned()
    } else {
        shown.join(" ")
    }
}

fn launched(text: &mut String, launch: &Launch) {
    let size = |size: [u32; 3]| size.map(|n| n.to_string()).join(" x ");
    let _ = writeln!(
        text,
        "\nfirst launch: grid {}, blocks of {}",
        size(launch.grid),
        size(launch.block)
    );
    if launch.arrays.is_empty() {
        text.push_str("no array's addresses can be computed\n");
        return;
    }
    let mut header = vec!["array".to_owned(), "row pitch".to_owned()];
    let blocks = launch.blocks.iter();
    header.extend(blocks.map(|row| format!("block {}", point(row.block))));
    let header: Vec<_> = header.iter().map(String::as_str).collect();
    let arrays = launch.arrays.iter().enumerate();
    let rows: Vec<_> = arrays
        .flat_map(|(index, array)| array_rows(launch, index, array))
        .collect();
    text.push_str(&listing(&header, &rows, width()));
    text.push_str("(first line, first row: lines x rows, in cache lines of 128 bytes)\n");
}

/// Rows of one array: as many as a block has rectangles of it, but at least one.
fn array_rows(launch: &Launch, index: usize, array: &ArrayRow) -> Vec<Vec<String>> {
    let of_block = |row: &BlockRow| row.rectangles[index].len();
    let most = launch.blocks.iter().map(of_block).max().unwrap_or(0);
    let row = |nth: usize| {
        let head = match nth {
            0 => [
                array.array.clone(),
                array.pitch.map_or("linear".to_owned(), grouped),
            ],
            _ => [String::new(), String::new()],
        };
        let blocks = launch.blocks.iter();
        let cells = blocks.map(|row| rectangle(row.rectangles[index].get(nth), nth == 0));
        head.into_iter().chain(cells).collect()
    };
    (0..most.max(1)).map(row).collect()
}

/// Text of a rectangle. A block without rectangles has a dash in the first row.
fn rectangle(rect: Option<&RectRow>, is_first: bool) -> String {
    match rect {
        Some(rect) => format!(
            "{}, {}: {} x {}",
            rect.line, rect.row, rect.lines, rect.rows
        ),
        None if is_first => "-".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn runs_of_instructions_are_short() {
        assert_eq!(ranges(&[]), "-");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2 5 7-8");
    }
}
