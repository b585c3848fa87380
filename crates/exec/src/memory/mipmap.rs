//! Mipmaps: which levels of a texture a fetch reads, and how they are mixed (CUDA C++ Programming
//! Guide, "Texture Fetching"; OpenGL's rule for the level of gradients).

use crate::memory::texture::Texture;
use crate::memory::texture::weight;

/// How levels are chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Detail {
    /// The two levels around the level of detail are mixed; else the nearer one is read.
    pub linear: bool,
    /// Added to the level of detail.
    pub bias: f32,
    /// Least level of detail.
    pub least: f32,
    /// Largest level of detail.
    pub most: f32,
}

/// A texture in several sizes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mipmap {
    /// The largest first; at least one.
    pub levels: Vec<Texture>,
    pub detail: Detail,
}

impl Mipmap {
    /// The level to read, and the weight of the one behind it.
    pub fn levels_of(&self, detail: f32) -> (usize, f64) {
        let Detail {
            linear,
            bias,
            least,
            most,
        } = self.detail;
        let last = (self.levels.len() - 1) as f32;
        let level = (detail + bias).max(least).min(most).max(0.0).min(last);
        if !linear {
            return ((level + 0.5).floor().min(last) as usize, 0.0);
        }
        let lower = level.floor();
        (lower as usize, weight(level - lower))
    }

    /// The level of detail of gradients along x and y of the picture, in texture coordinates.
    pub fn detail_of(&self, gradients: [[f32; 3]; 2]) -> f32 {
        let base = &self.levels[0];
        let length = |gradient: [f32; 3]| {
            let texels = |axis: usize| match base.normalized {
                true => gradient[axis] * base.extent(axis) as f32,
                false => gradient[axis],
            };
            (0..3).map(|axis| texels(axis).powi(2)).sum::<f32>().sqrt()
        };
        let [x, y] = gradients;
        length(x).max(length(y)).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::{Detail, Mipmap};
    use crate::memory::texture::{AddressMode, ChannelKind, Texture};

    fn mipmap(detail: Detail) -> Mipmap {
        let level = |width: u32| Texture {
            base: 0,
            width,
            height: width,
            depth: 1,
            layers: 1,
            pitch: 4 * width,
            channels: 1,
            channel_bits: 32,
            kind: ChannelKind::Float,
            normalized: true,
            address: [AddressMode::Clamp; 3],
            linear: false,
        };
        Mipmap {
            levels: [8, 4, 2].map(level).to_vec(),
            detail,
        }
    }

    const PLAIN: Detail = Detail {
        linear: false,
        bias: 0.0,
        least: 0.0,
        most: 99.0,
    };

    #[test]
    fn the_nearer_level_is_read() {
        let levels = |detail: Detail, at: f32| mipmap(detail).levels_of(at);
        for (at, level) in [(-1.0, 0), (0.0, 0), (0.49, 0), (0.5, 1), (1.4, 1), (9.0, 2)] {
            assert_eq!(levels(PLAIN, at), (level, 0.0), "{at}");
        }
        assert_eq!(levels(PLAIN, f32::NAN), (0, 0.0));
        let biased = Detail { bias: 1.0, ..PLAIN };
        assert_eq!(levels(biased, 0.0), (1, 0.0));
        let bounded = Detail {
            least: 1.0,
            most: 1.0,
            ..PLAIN
        };
        assert_eq!((levels(bounded, 0.0).0, levels(bounded, 5.0).0), (1, 1));
    }

    #[test]
    fn levels_are_mixed_by_parts_of_256() {
        let linear = Detail {
            linear: true,
            ..PLAIN
        };
        let levels = |at: f32| mipmap(linear).levels_of(at);
        assert_eq!(levels(0.5), (0, 0.5));
        assert_eq!(levels(1.25), (1, 0.25));
        assert_eq!(levels(0.001), (0, 0.0));
        assert_eq!(levels(2.0), (2, 0.0));
        assert_eq!(levels(7.5), (2, 0.0));
    }

    #[test]
    fn gradients_count_in_texels() {
        let detail = |x: [f32; 3], y: [f32; 3]| mipmap(PLAIN).detail_of([x, y]);
        assert_eq!(detail([0.125, 0.0, 0.0], [0.0, 0.125, 0.0]), 0.0);
        assert_eq!(detail([0.25, 0.0, 0.0], [0.0; 3]), 1.0);
        assert_eq!(detail([0.0; 3], [0.3, 0.4, 0.0]), 2.0);
    }
}
