//! Texture fetches from mipmaps: the level of detail of each lane, and the blending of two levels
//! (CUDA C++ Programming Guide, "Texture Fetching").

use crate::inst::{Exec, InstExec};
use crate::memory::mipmap::Mipmap;
use crate::memory::texture::Texel;
use crate::ops::texture::{Coordinates, Lanes, texel_bits};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{Src, TexGeom, TexLod, TexTy};

/// Level of detail that an instruction specifies.
enum LevelOfDetail {
    Level(Lanes<f32>),
    Gradients(Box<[[Lanes<f32>; 3]; 2]>),
}

/// Number of elements of a gradient operand.
fn gradient_elements(geom: TexGeom) -> usize {
    match geom {
        TexGeom::D1 | TexGeom::A1 => 1,
        TexGeom::D2 | TexGeom::A2 => 2,
        TexGeom::D3 | TexGeom::Cube | TexGeom::ACube => 4,
    }
}

impl<'a> InstExec<'a, '_> {
    /// Level of detail that an instruction specifies in each lane.
    fn level_of_detail(&self, geom: TexGeom, lod: TexLod, srcs: &[Src]) -> LevelOfDetail {
        let floats = |src: Option<&Src>| self.words(src).map(f32::from_bits);
        match lod {
            TexLod::Base => LevelOfDetail::Level([0.0; WARP_SIZE]),
            TexLod::Level => LevelOfDetail::Level(floats(srcs.last())),
            TexLod::Grad => {
                let elements = gradient_elements(geom);
                let from = srcs.len().saturating_sub(2 * elements);
                LevelOfDetail::Gradients(Box::new([0, 1].map(|which| {
                    let first = from + which * elements;
                    std::array::from_fn(|axis| {
                        if axis < elements {
                            floats(srcs.get(first + axis))
                        } else {
                            [0.0; WARP_SIZE]
                        }
                    })
                })))
            }
        }
    }

    /// Executes `tex` in a launch in which any texture has several levels.
    #[cold]
    #[inline(never)]
    pub(crate) fn texture_with_levels(
        &mut self,
        geom: TexGeom,
        lod: TexLod,
        texel: TexTy,
        coord: TexTy,
    ) -> Exec {
        let extra = self.extra_operands()?;
        let c = self.coordinates(geom, coord, &extra.srcs);
        let detail = self.level_of_detail(geom, lod, &extra.srcs);
        let mut d = [[0; WARP_SIZE]; 4];
        let (mut bytes, mut left) = (0, self.mask);
        while left != 0 {
            let fetch = self.fetch(left, c.fetched.is_some())?;
            let (lanes, kind) = (fetch.lanes, fetch.texture.kind);
            let texels = self.sample_levels(lanes, &c, &detail)?;
            for lane in lanes_of(lanes) {
                let channels = d.iter_mut().zip(texels[lane]);
                channels.for_each(|(d, x)| d[lane] = texel_bits(x, kind, texel));
            }
            bytes = bytes.max(fetch.texel_bytes);
            left &= !lanes;
        }
        self.finish_texture(texel, bytes, d, &extra.dsts);
        Ok(())
    }

    /// Fetches the texels of all lanes that use the same texture, from its levels if it has
    /// several.
    fn sample_levels(
        &mut self,
        lanes: LaneMask,
        c: &Coordinates,
        detail: &LevelOfDetail,
    ) -> Exec<Lanes<Texel>> {
        let first = lanes.trailing_zeros() as usize;
        let ctx: &'a crate::launch::KernelLaunch = self.ctx;
        let handle = self.lane_wide(self.inst.src[0], first);
        let mut texels = [[0.0; 4]; WARP_SIZE];
        let Some(mipmap) = ctx.textures.mipmap(handle) else {
            let texture = self.bound(first)?;
            self.sample_level(texture, lanes, c, |lane, texel| texels[lane] = texel)?;
            return Ok(texels);
        };
        let found: Lanes<(usize, f64)> = std::array::from_fn(|lane| {
            mipmap.levels_of(match detail {
                LevelOfDetail::Level(levels) => levels[lane],
                LevelOfDetail::Gradients(both) => {
                    let gradient = |axes: &[Lanes<f32>; 3]| axes.map(|axis| axis[lane]);
                    mipmap.detail_of([gradient(&both[0]), gradient(&both[1])])
                }
            })
        });
        let mut left = lanes;
        while left != 0 {
            let (level, _) = found[left.trailing_zeros() as usize];
            let same = lanes_of(left).filter(|lane| found[*lane].0 == level);
            let same = same.fold(0, |mask, lane| mask | 1 << lane);
            self.blend_levels(mipmap, level, same, c, &found, &mut texels)?;
            left &= !same;
        }
        Ok(texels)
    }

    /// Fetches texels for lanes that read the same level, and blends them with the next level where
    /// necessary. Timing sees only the addresses in the first level.
    fn blend_levels(
        &mut self,
        mipmap: &'a Mipmap,
        level: usize,
        lanes: LaneMask,
        c: &Coordinates,
        found: &Lanes<(usize, f64)>,
        texels: &mut Lanes<Texel>,
    ) -> Exec {
        let mixes = lanes_of(lanes).filter(|lane| found[*lane].1 > 0.0);
        let mixes = mixes.fold(0, |mask, lane| mask | 1 << lane);
        let mut next = [[0.0; 4]; WARP_SIZE];
        if let Some(texture) = mipmap.levels.get(level + 1).filter(|_| mixes != 0) {
            self.sample_level(texture, mixes, c, |lane, texel| next[lane] = texel)?;
        }
        self.sample_level(&mipmap.levels[level], lanes, c, |lane, texel| {
            let weight = found[lane].1;
            let both = texel.iter().zip(next[lane]);
            let mut mixed = both.map(|(here, there)| (1.0 - weight) * here + weight * there);
            texels[lane] = if weight > 0.0 {
                std::array::from_fn(|_| mixed.next().unwrap_or(0.0))
            } else {
                texel
            };
        })
    }
}
