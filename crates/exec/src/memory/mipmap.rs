//! Mipmaps: textures with several levels, and the choice of the levels that a fetch reads (CUDA C++
//! Programming Guide, "Texture Fetching"; OpenGL's rule for the level of detail of gradients).

use crate::memory::texture::Texture;
use crate::memory::texture::weight;

/// Settings for the choice of mipmap levels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MipmapSettings {
    /// True if the two levels around the level of detail are blended, false if the nearer one is
    /// read.
    pub linear: bool,
    /// Bias that is added to the level of detail.
    pub bias: f32,
    /// Minimum level of detail.
    pub min_level: f32,
    /// Maximum level of detail.
    pub max_level: f32,
}

/// A texture with several levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mipmap {
    /// Levels, of which there is at least one, the largest first.
    pub levels: Vec<Texture>,
    pub detail: MipmapSettings,
}

impl Mipmap {
    /// Level to read, and the weight of the level after it.
    pub fn levels_of(&self, detail: f32) -> (usize, f64) {
        let MipmapSettings {
            linear,
            bias,
            min_level,
            max_level,
        } = self.detail;
        let last = (self.levels.len() - 1) as f32;
        let level = (detail + bias)
            .max(min_level)
            .min(max_level)
            .max(0.0)
            .min(last);
        if !linear {
            return ((level + 0.5).floor().min(last) as usize, 0.0);
        }
        let lower = level.floor();
        (lower as usize, weight(level - lower))
    }

    /// Level of detail for gradients along x and y of the picture, in texture coordinates.
    pub fn detail_of(&self, gradients: [[f32; 3]; 2]) -> f32 {
        let base = &self.levels[0];
        let length = |gradient: [f32; 3]| {
            let texels = |axis: usize| {
                if base.normalized {
                    gradient[axis] * base.extent(axis) as f32
                } else {
                    gradient[axis]
                }
            };
            (0..3).map(|axis| texels(axis).powi(2)).sum::<f32>().sqrt()
        };
        let [x, y] = gradients;
        length(x).max(length(y)).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::{Mipmap, MipmapSettings};
    use crate::memory::texture::{AddressMode, ChannelKind, Texture};

    fn mipmap(detail: MipmapSettings) -> Mipmap {
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

    const PLAIN: MipmapSettings = MipmapSettings {
        linear: false,
        bias: 0.0,
        min_level: 0.0,
        max_level: 99.0,
    };

    #[test]
    fn the_nearer_level_is_read() {
        let levels = |detail: MipmapSettings, at: f32| mipmap(detail).levels_of(at);
        for (at, level) in [(-1.0, 0), (0.0, 0), (0.49, 0), (0.5, 1), (1.4, 1), (9.0, 2)] {
            assert_eq!(levels(PLAIN, at), (level, 0.0), "{at}");
        }
        assert_eq!(levels(PLAIN, f32::NAN), (0, 0.0));
        let biased = MipmapSettings { bias: 1.0, ..PLAIN };
        assert_eq!(levels(biased, 0.0), (1, 0.0));
        let bounded = MipmapSettings {
            min_level: 1.0,
            max_level: 1.0,
            ..PLAIN
        };
        assert_eq!((levels(bounded, 0.0).0, levels(bounded, 5.0).0), (1, 1));
    }

    #[test]
    fn levels_are_mixed_by_parts_of_256() {
        let linear = MipmapSettings {
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
