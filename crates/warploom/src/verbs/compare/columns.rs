//! Columns of a comparison that the command line chooses.

use crate::failure::Failure;
use warploom_diag::nearest;
use warploom_report::page::{Column, Table};

/// Refuses names that no column of the comparison has.
pub(super) fn check(names: &[String], columns: &[Column]) -> Result<(), Failure> {
    let known = || columns.iter().map(|column| column.name.as_str());
    let told = |name: &String| {
        let within = || known().find(|column| column.contains(name.as_str()));
        let near = nearest(name, known()).or_else(within);
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let lists = "`warploom compare --help` lists the columns";
        format!("a comparison has no column `{name}`\n  = help: {near}{lists}")
    };
    let unknown = names
        .iter()
        .filter(|name| known().all(|column| column != *name));
    let told: Vec<String> = unknown.map(told).collect();
    match told.is_empty() {
        true => Ok(()),
        false => Err(Failure::Input(told.join("\nerror: "))),
    }
}

/// The table with the columns of its `keys` keys and those of these names; with all if there are no
/// names. A column that is named like a key is not repeated.
pub(super) fn chosen(table: &Table, keys: usize, names: &[String]) -> Table {
    if names.is_empty() {
        return table.clone();
    }
    let places = names.iter().filter_map(|name| {
        let place = table
            .columns
            .iter()
            .position(|column| column.name == *name)?;
        (place >= keys).then_some(place)
    });
    let order: Vec<usize> = (0..keys).chain(places).collect();
    Table {
        columns: order.iter().map(|at| table.columns[*at].clone()).collect(),
        rows: table
            .rows
            .iter()
            .map(|row| order.iter().map(|at| row[*at].clone()).collect())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, chosen};
    use warploom_report::page::{Cell, Column, Table};

    fn table() -> Table {
        let names = ["gpu.sms", "cycles", "ipc", "l1d.hit_rate"];
        Table {
            columns: names.map(|name| Column::new(name, "What it is.")).into(),
            rows: vec![(0..4).map(Cell::Count).collect()],
        }
    }

    #[test]
    fn named_columns_follow_the_keys() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            chosen(&table(), 1, &names).rows[0].clone()
        };
        let cells = |of: &[u64]| of.iter().map(|n| Cell::Count(*n)).collect::<Vec<_>>();
        assert_eq!(of(&["ipc", "cycles"]), cells(&[0, 2, 1]));
        assert_eq!(of(&["gpu.sms", "ipc"]), cells(&[0, 2]));
        assert_eq!(of(&[]), cells(&[0, 1, 2, 3]));
    }

    #[test]
    fn unknown_columns_are_refused_with_the_nearest() {
        let of = |name: &str| check(&[name.to_owned()], &table().columns);
        assert!(of("cycles").is_ok());
        for (name, near) in [("cycle", "cycles"), ("l1d", "l1d.hit_rate"), ("zzz", "")] {
            let told = of(name).unwrap_err().text();
            assert!(told.contains(&format!("no column `{name}`")), "{told}");
            let asks = told.contains(&format!("did you mean `{near}`?"));
            assert_eq!(asks, !near.is_empty(), "{told}");
            assert!(
                told.ends_with("`warploom compare --help` lists the columns\n"),
                "{told}"
            );
        }
    }
}
