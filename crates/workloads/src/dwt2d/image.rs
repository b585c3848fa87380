//! An image that looks like a photograph, and the 5/3 transform of its components (ITU-T Rec.
//! T.800, annex F).

use warploom_base::Rng;

/// Number of bright and dark objects in the picture.
const THINGS: usize = 20;

/// An image as RGB bytes, row major.
pub(super) struct Image {
    width: usize,
    height: usize,
    pub(super) bytes: Vec<u8>,
}

/// A colour component, row major. After the transform, it contains the bands one after the other:
/// low in both directions, high in x, high in y, high in both.
pub(super) struct Component {
    pub(super) width: usize,
    pub(super) values: Vec<i32>,
}

struct Thing {
    left: u32,
    right: u32,
    top: u32,
    bottom: u32,
    colour: [f32; 3],
}

impl Image {
    /// A sky that darkens, objects with sharp edges and texture, and noise everywhere.
    pub(super) fn generate((width, height): (u32, u32), seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let things: Vec<_> = (0..THINGS)
            .map(|_| {
                let (left, top) = (rng.below(width), rng.below(height));
                Thing {
                    left,
                    right: left + 1 + rng.below(width / 4),
                    top,
                    bottom: top + 1 + rng.below(height / 2),
                    colour: std::array::from_fn(|_| 40.0 + 180.0 * rng.unit_f32()),
                }
            })
            .collect();
        let mut bytes = Vec::with_capacity(3 * (width * height) as usize);
        for y in 0..height {
            let fade = 60.0 * y as f32 / height as f32;
            for x in 0..width {
                let covers = |thing: &&Thing| {
                    (thing.left..thing.right).contains(&x) && (thing.top..thing.bottom).contains(&y)
                };
                let top = things.iter().rev().find(covers);
                let texture = if (x / 3 + y / 5) % 2 == 0 { 12.0 } else { 0.0 };
                let colour = top.map_or([150.0 - fade, 180.0 - fade, 230.0 - fade], |thing| {
                    thing.colour.map(|channel| channel + texture)
                });
                let noise = 8.0 * rng.unit_f32();
                bytes.extend(colour.map(|channel| (channel + noise) as u8));
            }
        }
        Self {
            width: width as usize,
            height: height as usize,
            bytes,
        }
    }

    pub(super) fn pixels(&self) -> usize {
        self.width * self.height
    }

    /// A colour component, shifted to be around 0.
    pub(super) fn component(&self, number: usize) -> Component {
        let channel = self.bytes[number..].iter().step_by(3);
        Component {
            width: self.width,
            values: channel.map(|&byte| i32::from(byte) - 128).collect(),
        }
    }
}

/// Applies the lifting steps to a line in place, mirrored at its ends. Divisions round towards
/// zero.
fn lift(line: &mut [i32]) {
    let last = line.len() - 1;
    for i in (1..line.len()).step_by(2) {
        let after = if i == last { i - 1 } else { i + 1 };
        line[i] -= (line[i - 1] + line[after]) / 2;
    }
    for i in (0..line.len()).step_by(2) {
        let before = if i == 0 { 1 } else { i - 1 };
        line[i] += (line[before] + line[i + 1] + 2) / 4;
    }
}

impl Component {
    /// Applies one level of the transform: columns, then rows.
    pub(super) fn transformed(mut self) -> Self {
        for x in 0..self.width {
            let mut column: Vec<i32> = self.values[x..]
                .iter()
                .step_by(self.width)
                .copied()
                .collect();
            lift(&mut column);
            let places = self.values[x..].iter_mut().step_by(self.width);
            places.zip(column).for_each(|(place, value)| *place = value);
        }
        self.values.chunks_exact_mut(self.width).for_each(lift);
        let bands = [(0, 0), (1, 0), (0, 1), (1, 1)]
            .into_iter()
            .flat_map(|(x, y)| {
                let rows = self.values.chunks_exact(self.width).skip(y).step_by(2);
                rows.flat_map(move |row| row[x..].iter().step_by(2).copied())
            });
        Self {
            values: bands.collect(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back() {
        let mut rng = Rng::new(2);
        let first: Vec<i32> = (0..64).map(|_| rng.below(256) as i32 - 128).collect();
        let mut line = first.clone();
        lift(&mut line);
        for i in (0..64).step_by(2) {
            let before = if i == 0 { 1 } else { i - 1 };
            line[i] -= (line[before] + line[i + 1] + 2) / 4;
        }
        for i in (1..64).step_by(2) {
            let after = if i == 63 { 62 } else { i + 1 };
            line[i] += (line[i - 1] + line[after]) / 2;
        }
        assert_eq!(line, first);
    }

    #[test]
    fn a_uniform_component_is_all_in_the_low_band() {
        let component = Component {
            width: 8,
            values: vec![40; 48],
        };
        let values = component.transformed().values;
        assert_eq!(values[..12], [40; 12]);
        assert_eq!(values[12..], [0; 36]);
    }

    #[test]
    fn the_high_bands_of_a_picture_are_small() {
        let component = Image::generate((256, 128), 1).component(1);
        let values = component.transformed().values;
        let energy = |band: &[i32]| -> i64 { band.iter().map(|&v| i64::from(v).pow(2)).sum() };
        let quarter = values.len() / 4;
        assert!(energy(&values[..quarter]) > 5 * energy(&values[quarter..]));
    }
}
