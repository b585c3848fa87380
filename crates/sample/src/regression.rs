//! Regression of a value on the sizes of launches, with slopes that tend to zero where observations
//! do not determine them (ridge regression: Hoerl and Kennard, Technometrics 12, 1970).
//!
//! Sizes are differences from those of a stratum's first launch, as fractions of them. Slopes are
//! fractions of the mean of the value.

use crate::signature::SIZES;

/// Sizes of a launch.
pub(crate) type Sizes = [f64; SIZES];
type Matrix = [[f64; SIZES]; SIZES];

/// Smallest deviation of a launch as a fraction of the mean, because earlier launches leave
/// different contents in caches.
const RESOLUTION: f64 = 0.002;
/// Smallest relative variance of a launch.
pub(crate) const LEAST_VARIANCE: f64 = RESOLUTION * RESOLUTION;
/// Number of observations for which a variance that was expected counts beside the observed ones.
pub(crate) const PRIOR: f64 = 1.0;
/// Number of times that slopes and variance are computed from each other.
const ROUNDS: usize = 3;

/// Sums of sizes and values of observed launches, of their squares, and of their products
/// (Welford's method).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub count: u64,
    /// Mean of the value.
    pub mean: f64,
    /// Means of the sizes.
    pub sizes: Sizes,
    /// Sum of squared differences of values from their mean.
    squares: f64,
    /// Sums of products of the differences of sizes from their means.
    products: Matrix,
    /// Sums of products of the differences of each size and of the value from their means.
    with_value: Sizes,
}

/// A value as a linear function of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// Change of the value with each size, as a fraction of its mean.
    pub slopes: Sizes,
    /// Sum of squared relative differences of values from the line.
    pub squares: f64,
    /// Number of degrees of freedom of these.
    pub freedom: f64,
}

impl Moments {
    pub fn add(&mut self, sizes: &Sizes, value: f64) {
        let before = self.count as f64;
        self.count += 1;
        let part = 1.0 / self.count as f64;
        let weight = before * part;
        let of_value = value - self.mean;
        let of_sizes: Sizes = std::array::from_fn(|at| sizes[at] - self.sizes[at]);
        self.mean += of_value * part;
        self.squares += weight * of_value * of_value;
        for (row, a) in of_sizes.iter().enumerate() {
            self.sizes[row] += a * part;
            self.with_value[row] += weight * a * of_value;
            for (column, b) in of_sizes.iter().enumerate() {
                self.products[row][column] += weight * a * b;
            }
        }
    }

    /// The line through the observations.
    pub fn line(&self) -> Line {
        if self.count < 2 || self.mean == 0.0 {
            return Line::default();
        }
        let total = self.squares / (self.mean * self.mean);
        let freedom = (self.count - 1) as f64;
        let mut variance = (total / freedom).max(LEAST_VARIANCE);
        let mut line = Line::default();
        for _ in 0..ROUNDS {
            line = self.line_of(total, variance);
            let squares = line.squares + PRIOR * variance;
            variance = (squares / (line.freedom + PRIOR)).max(LEAST_VARIANCE);
        }
        line
    }

    /// The line where values scatter around it with a relative `variance`. `total` is the sum of
    /// squared relative differences from the mean.
    fn line_of(&self, total: f64, variance: f64) -> Line {
        let inverse = self.inverse(variance);
        let with_value = self.with_value.map(|product| product / self.mean);
        let slopes = times(&inverse, &with_value);
        let explained = 2.0 * dot(&slopes, &with_value);
        let squares = total - explained + dot(&slopes, &times(&self.products, &slopes));
        let trace: f64 = (0..SIZES).map(|at| inverse[at][at]).sum();
        let used = SIZES as f64 - variance * trace;
        Line {
            slopes,
            squares: squares.max(0.0),
            freedom: ((self.count - 1) as f64 - used).max(0.0),
        }
    }

    /// Difference of an observation from the line, as a fraction of the mean.
    pub fn residual(&self, line: &Line, sizes: &Sizes, value: f64) -> f64 {
        if self.mean == 0.0 {
            return 0.0;
        }
        let from_mean = std::array::from_fn(|at| sizes[at] - self.sizes[at]);
        value / self.mean - 1.0 - dot(&line.slopes, &from_mean)
    }

    /// Variance of what slopes add for a difference in sizes, as a fraction of the squared mean,
    /// where values scatter around the line with a relative `variance`.
    pub fn of_slopes(&self, difference: &Sizes, variance: f64) -> f64 {
        let inverse = self.inverse(variance);
        variance * dot(difference, &times(&inverse, difference))
    }

    /// Inverse of the matrix of the slopes. Without observations, a slope is expected to be at most
    /// about 1, which means that the value is proportional to a size.
    fn inverse(&self, variance: f64) -> Matrix {
        let mut matrix = self.products;
        (0..SIZES).for_each(|at| matrix[at][at] += variance);
        inverse(matrix)
    }
}

pub(crate) fn dot(a: &Sizes, b: &Sizes) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(matrix: &Matrix, vector: &Sizes) -> Sizes {
    matrix.map(|row| dot(&row, vector))
}

/// Inverse of a symmetric positive definite matrix (Gauss and Jordan's elimination, which needs no
/// exchange of rows for such a matrix).
fn inverse(mut of: Matrix) -> Matrix {
    let mut inverse = [[0.0; SIZES]; SIZES];
    (0..SIZES).for_each(|at| inverse[at][at] = 1.0);
    for column in 0..SIZES {
        let pivot = of[column][column];
        of[column] = of[column].map(|x| x / pivot);
        inverse[column] = inverse[column].map(|x| x / pivot);
        let (left, right) = (of[column], inverse[column]);
        for row in (0..SIZES).filter(|row| *row != column) {
            let factor = of[row][column];
            for at in 0..SIZES {
                of[row][at] -= factor * left[at];
                inverse[row][at] -= factor * right[at];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::{Moments, Sizes, dot, inverse};

    fn observed(values: &[(Sizes, f64)]) -> Moments {
        let mut moments = Moments::default();
        for (sizes, value) in values {
            moments.add(sizes, *value);
        }
        moments
    }

    #[test]
    fn an_inverse_times_its_matrix_is_the_identity() {
        let matrix = [
            [4.0, 1.0, 0.5, 0.0, 0.2],
            [1.0, 3.0, 0.2, 0.1, 0.0],
            [0.5, 0.2, 2.0, 0.3, 0.4],
            [0.0, 0.1, 0.3, 1.0, 0.1],
            [0.2, 0.0, 0.4, 0.1, 5.0],
        ];
        let inverse = inverse(matrix);
        // The inverse of a symmetric matrix is symmetric, so that its rows are its columns.
        for (row, a) in matrix.iter().enumerate() {
            for (column, b) in inverse.iter().enumerate() {
                let expected = if row == column { 1.0 } else { 0.0 };
                assert!((dot(a, b) - expected).abs() < 1e-12);
            }
        }
    }

    /// Values 100 + 40 x + 20 y without scatter: the slopes are 0.4 and 0.2 of the value at the
    /// mean of the sizes, and little is left.
    #[test]
    fn a_line_without_scatter_is_found() {
        let of = |x: f64, y: f64| ([x, y, 0.0, 0.0, 0.0], 100.0 + 40.0 * x + 20.0 * y);
        let points = [(-1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (0.0, 0.0)];
        let moments = observed(&points.map(|(x, y)| of(x, y)));
        let line = moments.line();
        assert_eq!(moments.mean, 100.0);
        for (slope, expected) in line.slopes.iter().zip([0.4, 0.2, 0.0, 0.0, 0.0]) {
            assert!((slope - expected).abs() < 3e-3, "{line:?}");
        }
        assert!(line.squares < 1e-4, "{line:?}");
        // Five observations, a mean and two slopes.
        assert!((line.freedom - 2.0).abs() < 0.02, "{line:?}");
    }

    /// Sizes that do not differ explain nothing: 3, 4 and 5 around 4.
    #[test]
    fn equal_sizes_leave_the_deviation_from_the_mean() {
        let line = observed(&[3.0, 4.0, 5.0].map(|value| ([0.5; 5], value))).line();
        assert_eq!((line.slopes, line.freedom), ([0.0; 5], 2.0));
        assert!((line.squares - 2.0 / 16.0).abs() < 1e-12);
    }

    /// Slopes, about which one observation says nothing, have the variance 1.
    #[test]
    fn unknown_slopes_have_the_expected_variance() {
        let one = observed(&[([0.0; 5], 7.0)]);
        assert!((one.of_slopes(&[3.0, 0.0, 4.0, 0.0, 0.0], 0.01) - 25.0).abs() < 1e-9);
        let many = observed(&[([0.0; 5], 7.0), ([1.0, 0.0, 0.0, 0.0, 0.0], 9.0)]);
        // The difference of two launches that scatter by 0.1 each, and the expected slope.
        let expected = 1.0 / (0.5 / 0.01 + 1.0);
        assert!((many.of_slopes(&[1.0, 0.0, 0.0, 0.0, 0.0], 0.01) - expected).abs() < 1e-9);
    }
}
