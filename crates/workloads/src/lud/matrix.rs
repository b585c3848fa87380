//! The matrix and its factors, in the order of tiles.

use warploom_base::Rng;

/// Generates a matrix whose elements decrease with the distance from the diagonal, as in the
/// benchmark. The diagonal depends on the seed.
pub(super) fn generate(side: usize, seed: u64) -> Vec<f32> {
    const DECAY: f32 = 0.999;
    let mut rng = Rng::new(seed);
    let falling = std::iter::successors(Some(10.0_f32), |value| Some(value * DECAY));
    let falling: Vec<f32> = falling.take(side).collect();
    let mut matrix = Vec::with_capacity(side * side);
    for row in 0..side {
        matrix.extend((0..side).map(|column| falling[row.abs_diff(column)]));
        matrix[row * side + row] += rng.unit_f32();
    }
    matrix
}

/// Both factors in place of the matrix after `tiles` tiles of the diagonal, without the unit
/// diagonal of the lower one. Inside a tile's rows and columns each product is subtracted on its
/// own; from the rest of the matrix the sum of a tile's products is subtracted.
pub(super) fn decomposed(mut m: Vec<f32>, side: usize, tile: usize, tiles: usize) -> Vec<f32> {
    for first in (0..side).step_by(tile).take(tiles) {
        let end = first + tile;
        // Computes rows of the upper factor and columns of the lower one, each from the previous
        // ones.
        for k in first..end {
            for row in k + 1..side {
                let mut value = m[row * side + k];
                for j in first..k {
                    value = (-m[row * side + j]).mul_add(m[j * side + k], value);
                }
                m[row * side + k] = value / m[k * side + k];
            }
            let next = k + 1;
            if next < end {
                for column in next..side {
                    let mut value = m[next * side + column];
                    for j in first..next {
                        value = (-m[next * side + j]).mul_add(m[j * side + column], value);
                    }
                    m[next * side + column] = value;
                }
            }
        }
        for row in end..side {
            for column in end..side {
                let products = first..end;
                let sum = products.fold(0.0_f32, |sum, j| {
                    m[row * side + j].mul_add(m[j * side + column], sum)
                });
                m[row * side + column] -= sum;
            }
        }
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_product_is_the_matrix() {
        let side = 48;
        let matrix = generate(side, 4);
        let m = decomposed(matrix.clone(), side, 16, 3);
        let lower = |row: usize, k: usize| match row.cmp(&k) {
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => f64::from(m[row * side + k]),
            std::cmp::Ordering::Less => 0.0,
        };
        for row in 0..side {
            for column in 0..side {
                let terms = (0..=column).map(|k| lower(row, k) * f64::from(m[k * side + column]));
                let error = terms.sum::<f64>() - f64::from(matrix[row * side + column]);
                assert!(error.abs() < 1e-3, "({row}, {column}): {error}");
            }
        }
    }
}
