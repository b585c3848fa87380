//! Short names of the values of an axis, for runs, charts and notes.

use std::path::Path;

/// Labels of an axis' values by their names. Files are named without folder and ending. A value
/// whose label another one has, too, is its own label.
pub(crate) fn labels(names: &[String], values: &[String]) -> Vec<String> {
    let stem = |value: &String| {
        let path = Path::new(value);
        let is_file = path
            .extension()
            .is_some_and(|ending| ["toml", "ptx", "cu"].iter().any(|known| ending == *known));
        let stem = path
            .file_stem()
            .filter(|_| is_file && !value.contains(" + "));
        stem.map_or_else(|| value.clone(), |stem| stem.to_string_lossy().into_owned())
    };
    let stems: Vec<_> = names.iter().map(stem).collect();
    let alone = |name: &String| stems.iter().filter(|other| *other == name).count() == 1;
    let pairs = values.iter().zip(&stems);
    let label = |(value, stem): (&String, &String)| if alone(stem) { stem } else { value }.clone();
    pairs.map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn files_are_named_shortly_unless_two_would_have_one_name() {
        let of = |values: &[&str]| {
            let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
            labels(&values, &values)
        };
        assert_eq!(of(&["spmv", "../mine/knn.toml"]), ["spmv", "knn"]);
        assert_eq!(of(&["a/k.toml", "b/k.toml"]), ["a/k.toml", "b/k.toml"]);
        assert_eq!(of(&["bfs", "bfs.ptx"]), ["bfs", "bfs.ptx"]);
        assert_eq!(of(&["0.5", "slicer/IMG"]), ["0.5", "slicer/IMG"]);
        assert_eq!(of(&["a.toml + b.toml"]), ["a.toml + b.toml"]);
    }

    #[test]
    fn machines_have_names_of_their_own_unless_two_have_the_same() {
        let of = |names: [&str; 2]| {
            let values = ["a/big.toml", "gtx480"].map(str::to_owned);
            labels(&names.map(str::to_owned), &values)
        };
        assert_eq!(of(["big-l1", "gtx480"]), ["big-l1", "gtx480"]);
        assert_eq!(of(["gtx480", "gtx480"]), ["a/big.toml", "gtx480"]);
    }
}
