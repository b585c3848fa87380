//! Values of Table II as the paper prints them.

use crate::samples::Samples;

/// Instructions in billions; registers, shared memory, ALU, SFU and LD/ST in use in per cent; L2
/// misses per thousand warp instructions; a profile over a kernel's time in per cent.
pub(super) const TABLE_2: [(&str, [f64; 8]); 10] = [
    ("BLK", [0.9, 95.0, 0.0, 48.0, 73.0, 84.0, 51.3, 0.7]),
    ("BFS", [0.6, 71.0, 0.0, 14.0, 6.0, 46.0, 84.4, 5.0]),
    ("DXT", [1.2, 56.0, 33.0, 47.0, 11.0, 21.0, 0.03, 0.25]),
    ("HOT", [0.7, 84.0, 19.0, 41.0, 22.0, 75.0, 5.8, 0.36]),
    ("IMG", [1.7, 43.0, 0.0, 81.0, 30.0, 11.0, 0.3, 0.14]),
    ("KNN", [0.4, 37.0, 0.0, 14.0, 26.0, 42.0, 100.0, 6.0]),
    ("LBM", [0.2, 98.0, 0.0, 7.0, 1.0, 100.0, 166.6, 0.25]),
    ("MM", [0.6, 86.0, 5.0, 52.0, 1.0, 34.0, 1.7, 0.25]),
    ("MVP", [0.2, 74.0, 0.0, 9.0, 7.0, 96.0, 89.7, 0.9]),
    ("NN", [0.9, 94.0, 0.0, 43.0, 22.0, 89.0, 3.7, 0.25]),
];

/// A column of the table, by benchmark.
pub(super) fn column(at: usize) -> Samples {
    let pair = |(name, values): &(&str, [f64; 8])| ((*name).to_owned(), values[at]);
    Samples(TABLE_2.iter().map(pair).collect())
}
