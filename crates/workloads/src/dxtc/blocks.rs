//! DXT1 compression on the host, with the kernel's operations in its order.

const FOURS: usize = 992;
const THREES: usize = 160;
const WEIGHTS4: [f32; 4] = [9.0, 0.0, 6.0, 3.0];
const WEIGHTS3: [f32; 4] = [4.0, 0.0, 2.0, 2.0];

type Colour = [f32; 3];

/// Converts a picture from rows to blocks of 4 x 4 pixels.
pub(super) fn by_blocks(pixels: &[u32], width: usize) -> Vec<u32> {
    let across = width / 4;
    let pixel = |i: usize| {
        let (block, x, y) = (i / 16, i % 4, i / 4 % 4);
        pixels[(block / across * 4 + y) * width + block % across * 4 + x]
    };
    (0..pixels.len()).map(pixel).collect()
}

/// All clusterings, with two bits for each colour of the sorted row: 0 and 1 are the end colours, 2
/// and 3 those between, in the order 0, 2, 3, 1 along the row. First come 160 with three clusters
/// (with some repeated for padding), then those with four.
pub(super) fn clusterings() -> Vec<u32> {
    let mut list = Vec::new();
    for first in (0..=15).rev() {
        for second in (first..=last(first)).rev() {
            list.push(clustering([first, second, second]));
        }
    }
    list.resize(THREES, 0x000A_A555);
    for first in (0..=15).rev() {
        for second in (first..=last(first)).rev() {
            for third in (second..=last(second)).rev() {
                if third > second {
                    list.push(clustering([first, second, third]));
                }
            }
        }
    }
    list.resize(1024, 0x00AA_FF55);
    list
}

/// Last start of a cluster: only the first and the last cluster may contain all colours.
fn last(start: u32) -> u32 {
    if start == 0 { 15 } else { 16 }
}

/// A clustering by the starts of the second, third and last clusters.
fn clustering([second, third, fourth]: [u32; 3]) -> u32 {
    let cluster = |colour: u32| match colour {
        c if c < second => 0,
        c if c < third => 2,
        c if c < fourth => 3,
        _ => 1,
    };
    (0..16).fold(0, |bits, colour| bits | cluster(colour) << (2 * colour))
}

/// The two words of a block: end colours, then indices.
pub(super) fn compressed(pixels: &[u32]) -> [u32; 2] {
    let (colours, ranks, sum) = sorted(pixels);
    let list = clusterings();
    let mut choices: Vec<Choice> = (0..64)
        .map(|thread| best_of(thread, &list, &colours, sum))
        .collect();
    // A tree reduction, which keeps the choice of the lower half if two errors are equal.
    while choices.len() > 1 {
        let upper = choices.split_off(choices.len() / 2);
        for (choice, other) in choices.iter_mut().zip(upper) {
            if other.error < choice.error {
                *choice = other;
            }
        }
    }
    let Choice { ends, clusters, .. } = choices[0];
    let clusters = if ends[0] == ends[1] { 0 } else { clusters };
    let index = |i: usize| (clusters >> (2 * ranks[i]) & 3) << (2 * i);
    let indices = (0..16).fold(0, |bits, i| bits | index(i));
    [u32::from(ends[1]) << 16 | u32::from(ends[0]), indices]
}

struct Choice {
    error: f32,
    ends: [u16; 2],
    clusters: u32,
}

/// Best choice of one thread, among its clusterings with four clusters, then with three.
fn best_of(thread: usize, list: &[u32], colours: &[Colour; 16], sum: Colour) -> Choice {
    let mut best = Choice {
        error: f32::MAX,
        ends: [0, 0],
        clusters: 0,
    };
    for &clusters in list[..FOURS].iter().skip(thread).step_by(64) {
        let (error, ends) = fit(colours, clusters, sum, &WEIGHTS4, 9.0, 0.111_111_11);
        if error < best.error {
            best = Choice {
                error,
                ends,
                clusters,
            };
        }
    }
    if best.ends[0] < best.ends[1] {
        best.ends.reverse();
        best.clusters ^= 0x5555_5555;
    }
    for &clusters in list[..THREES].iter().skip(thread).step_by(64) {
        let (error, ends) = fit(colours, clusters, sum, &WEIGHTS3, 4.0, 0.25);
        if error < best.error {
            best = Choice {
                error,
                ends,
                clusters,
            };
            if best.ends[0] > best.ends[1] {
                best.ends.reverse();
                best.clusters ^= (!best.clusters >> 1) & 0x5555_5555;
            }
        }
    }
    best
}

/// Colours along their principal axis, each pixel's rank, and the sum of all colours.
fn sorted(pixels: &[u32]) -> ([Colour; 16], [usize; 16], Colour) {
    let channel = |pixel: u32, at: u32| (pixel >> at & 255) as f32 * (1.0 / 255.0);
    let colours: [Colour; 16] =
        std::array::from_fn(|i| [0, 8, 16].map(|at| channel(pixels[i], at)));
    let sum = [0, 1, 2].map(|axis| butterfly(colours.map(|colour| colour[axis])));
    let axis = principal_axis(&colours, sum);
    let along = colours.map(|c| c[2].mul_add(axis[2], c[0].mul_add(axis[0], c[1] * axis[1])));
    let mut ranks = [0; 16];
    for (i, rank) in ranks.iter_mut().enumerate() {
        *rank = along.iter().filter(|&&value| value < along[i]).count();
    }
    for i in 0..15 {
        for j in i + 1..16 {
            if ranks[j] == ranks[i] {
                ranks[j] += 1;
            }
        }
    }
    let mut ordered = [[0.0; 3]; 16];
    (0..16).for_each(|i| ordered[ranks[i]] = colours[i]);
    (ordered, ranks, sum)
}

/// A butterfly sum as lane 0 computes it.
fn butterfly(mut values: [f32; 16]) -> f32 {
    for distance in [8, 4, 2, 1] {
        values = std::array::from_fn(|lane| values[lane] + values[lane ^ distance]);
    }
    values[0]
}

fn principal_axis(colours: &[Colour; 16], sum: Colour) -> Colour {
    let difference = |c: &Colour| [0, 1, 2].map(|axis| c[axis] - sum[axis] * (1.0 / 16.0));
    let mut products = [[0.0f32; 16]; 6];
    for (i, colour) in colours.iter().enumerate() {
        let [x, y, z] = difference(colour);
        let all = [x * x, x * y, x * z, y * y, y * z, z * z];
        (0..6).for_each(|k| products[k][i] = all[k]);
    }
    let m = products.map(|mut column| {
        for distance in [8, 4, 2, 1] {
            for i in 0..distance {
                column[i] += column[i + distance];
            }
        }
        column[0]
    });
    let mut v = [1.0f32; 3];
    for _ in 0..8 {
        let row = |a: f32, b: f32, c: f32| v[2].mul_add(c, v[0].mul_add(a, v[1] * b));
        let next = [
            row(m[0], m[1], m[2]),
            row(m[1], m[3], m[4]),
            row(m[2], m[4], m[5]),
        ];
        let inverse = 1.0 / next[0].max(next[1]).max(next[2]);
        v = next.map(|component| component * inverse);
    }
    v
}

/// Error and packed end colours of a clustering.
fn fit(
    colours: &[Colour; 16],
    clusters: u32,
    sum: Colour,
    weights: &[f32; 4],
    total: f32,
    scale: f32,
) -> (f32, [u16; 2]) {
    let weight = |i: usize| weights[(clusters >> (2 * i) & 3) as usize];
    let mut alphax = [0.0f32; 3];
    for (i, colour) in colours.iter().enumerate() {
        alphax = [0, 1, 2].map(|axis| colour[axis].mul_add(weight(i), alphax[axis]));
    }
    // Sums of squares and products of small integers are exact, divided by the total.
    let products = |product: fn(f32, f32) -> f32| -> f32 {
        (0..16)
            .map(|i| product(weight(i), total - weight(i)))
            .sum::<f32>()
            / total
    };
    let (alpha2, beta2) = (products(|a, _| a * a), products(|_, b| b * b));
    let alphabeta = products(|a, b| a * b);
    let betax = [0, 1, 2].map(|axis| sum[axis] * total - alphax[axis]);
    let factor = 1.0 / (alpha2 * beta2 - alphabeta * alphabeta);
    let start = [0, 1, 2].map(|i| (alphax[i] * beta2 - betax[i] * alphabeta) * factor);
    let end = [0, 1, 2].map(|i| (betax[i] * alpha2 - alphax[i] * alphabeta) * factor);
    let ((a, start), (b, end)) = (to_565(start), to_565(end));
    let error = [0, 1, 2].map(|i| {
        let mixed = a[i] * b[i] * alphabeta - alphax[i] * a[i] - betax[i] * b[i];
        mixed.mul_add(2.0, (a[i] * a[i]).mul_add(alpha2, b[i] * b[i] * beta2))
    });
    (scale * (error[0] + error[1] + error[2]), [start, end])
}

/// A colour rounded to 5, 6 and 5 bits, expanded and packed.
fn to_565(colour: Colour) -> (Colour, u16) {
    const LEVELS: Colour = [31.0, 63.0, 31.0];
    const EXPAND: Colour = [0.032_277_53, 0.015_831_517, 0.032_277_53];
    let saturated = colour.map(|c| if c.is_nan() { 0.0 } else { c.clamp(0.0, 1.0) });
    let levels = [0, 1, 2].map(|i| (saturated[i] * LEVELS[i]).round_ties_even());
    let [r, g, b] = levels.map(|level| level as u16);
    (
        [0, 1, 2].map(|i| levels[i] * EXPAND[i]),
        r << 11 | g << 5 | b,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusterings_are_those_of_the_benchmark_in_number() {
        let list = clusterings();
        assert_eq!(list.len(), 1024);
        let filled = |word: u32| list.iter().filter(|&&entry| entry == word).count();
        // There are 151 and 815 different clusterings.
        assert_eq!((filled(0x000A_A555), filled(0x00AA_FF55)), (9, 49));
        assert_eq!(
            list.iter().collect::<std::collections::BTreeSet<_>>().len(),
            151 + 815 + 2
        );
    }

    #[test]
    fn two_colours_become_the_ends() {
        // Half of the pixels are black and half are white.
        let pixels: Vec<u32> = (0..16)
            .map(|i| if i < 8 { 0 } else { 0x00ff_ffff })
            .collect();
        let [ends, indices] = compressed(&pixels);
        assert_eq!(ends, 0x0000_ffff);
        assert_eq!(indices, 0x0000_5555);
    }

    #[test]
    fn one_colour_needs_no_indices() {
        let [ends, indices] = compressed(&[0; 16]);
        assert_eq!((ends >> 16, indices), (ends & 0xffff, 0));
    }
}
