//! Mipmaps: which levels of a texture a fetch reads, and how they are mixed (CUDA C++ Programming
//! Guide, "Texture Fetching"; OpenGL's rule for the level of gradients).

use crate::inst::{Exec, InstExec};
use crate::memory::mipmap::Mipmap;
use crate::memory::texture::Texel;
use crate::ops::texture::{Coordinates, Lanes, texel_bits};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{Src, TexGeom, TexLod, TexTy};

/// What an instruction says of the level of detail.
enum Asked {
    Level(Lanes<f32>),
    Gradients(Box<[[Lanes<f32>; 3]; 2]>),
}

/// Elements of a gradient.
fn gradient_elements(geom: TexGeom) -> usize {
    match geom {
        TexGeom::D1 | TexGeom::A1 => 1,
        TexGeom::D2 | TexGeom::A2 => 2,
        TexGeom::D3 | TexGeom::Cube | TexGeom::ACube => 4,
    }
}

impl<'a> InstExec<'a, '_> {
    fn asked(&self, geom: TexGeom, lod: TexLod, srcs: &[Src]) -> Asked {
        let floats = |src: Option<&Src>| self.words(src).map(f32::from_bits);
        match lod {
            TexLod::Base => Asked::Level([0.0; WARP_SIZE]),
            TexLod::Level => Asked::Level(floats(srcs.last())),
            TexLod::Grad => {
                let elements = gradient_elements(geom);
                let from = srcs.len().saturating_sub(2 * elements);
                Asked::Gradients(Box::new([0, 1].map(|which| {
                    let first = from + which * elements;
                    std::array::from_fn(|axis| match axis < elements {
                        true => floats(srcs.get(first + axis)),
                        false => [0.0; WARP_SIZE],
                    })
                })))
            }
        }
    }

    /// `tex` where some texture has levels.
    #[cold]
    #[inline(never)]
    pub(crate) fn mipmapped(
        &mut self,
        (geom, lod): (TexGeom, TexLod),
        (texel, coord): (TexTy, TexTy),
    ) -> Exec {
        let extra = self.extra()?;
        let c = self.coordinates(geom, coord, &extra.srcs);
        let asked = self.asked(geom, lod, &extra.srcs);
        let mut d = [[0; WARP_SIZE]; 4];
        let (mut bytes, mut left) = (0, self.mask);
        while left != 0 {
            let fetch = self.fetch(left, c.fetched.is_some())?;
            let (lanes, kind) = (fetch.lanes, fetch.texture.kind);
            let texels = self.levelled(lanes, &c, &asked)?;
            for lane in lanes_of(lanes) {
                let channels = d.iter_mut().zip(texels[lane]);
                channels.for_each(|(d, x)| d[lane] = texel_bits(x, kind, texel));
            }
            bytes = bytes.max(fetch.texel_bytes);
            left &= !lanes;
        }
        self.finish_texture(texel, (bytes, d), &extra.dsts);
        Ok(())
    }

    /// What the lanes of one texture fetch, of its levels if it has several.
    fn levelled(&mut self, lanes: LaneMask, c: &Coordinates, asked: &Asked) -> Exec<Lanes<Texel>> {
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
            mipmap.levels_of(match asked {
                Asked::Level(levels) => levels[lane],
                Asked::Gradients(both) => {
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
            self.mixed(mipmap, level, (same, c), (&found, &mut texels))?;
            left &= !same;
        }
        Ok(texels)
    }

    /// The texels of lanes that read one level and, where they mix, the one behind it. Timing sees
    /// the addresses of the first.
    fn mixed(
        &mut self,
        mipmap: &'a Mipmap,
        level: usize,
        (lanes, c): (LaneMask, &Coordinates),
        (found, texels): (&Lanes<(usize, f64)>, &mut Lanes<Texel>),
    ) -> Exec {
        let mixes = lanes_of(lanes).filter(|lane| found[*lane].1 > 0.0);
        let mixes = mixes.fold(0, |mask, lane| mask | 1 << lane);
        let mut behind = [[0.0; 4]; WARP_SIZE];
        if let Some(texture) = mipmap.levels.get(level + 1).filter(|_| mixes != 0) {
            self.sample_level(texture, mixes, c, |lane, texel| behind[lane] = texel)?;
        }
        self.sample_level(&mipmap.levels[level], lanes, c, |lane, texel| {
            let weight = found[lane].1;
            let both = texel.iter().zip(behind[lane]);
            let mut mixed = both.map(|(here, there)| (1.0 - weight) * here + weight * there);
            texels[lane] = match weight > 0.0 {
                true => std::array::from_fn(|_| mixed.next().unwrap_or(0.0)),
                false => texel,
            };
        })
    }
}
