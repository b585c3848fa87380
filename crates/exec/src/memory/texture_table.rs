//! Table of the textures that are bound to handles.

use crate::memory::mipmap::{Mipmap, MipmapSettings};
use crate::memory::texture::{Texel, Texture};
use std::collections::BTreeMap;

/// Table of bound textures, indexed by handle. Handle 0 names no texture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextureTable {
    textures: Vec<Texture>,
    /// Textures with several levels, by handle.
    mipmaps: BTreeMap<u64, Mipmap>,
    /// Border colours that are not zero, by handle.
    borders: BTreeMap<u64, [u32; 4]>,
}

impl TextureTable {
    /// Binds a texture and returns its handle.
    pub fn bind(&mut self, texture: Texture) -> u64 {
        self.textures.push(texture);
        self.textures.len() as u64
    }

    /// Binds a texture with several levels, the largest first, and returns its handle. Returns 0 if
    /// there are no levels.
    pub fn bind_mipmap(&mut self, levels: Vec<Texture>, detail: MipmapSettings) -> u64 {
        let Some(largest) = levels.first() else {
            return 0;
        };
        let handle = self.bind(*largest);
        self.mipmaps.insert(handle, Mipmap { levels, detail });
        handle
    }

    /// Sets the border colour of a texture. Channels are the bits of floats, or integers if texels
    /// are read as integers.
    pub fn set_border_colour(&mut self, handle: u64, colour: [u32; 4]) {
        self.borders.insert(handle, colour);
    }

    /// True if any bound texture has several levels.
    pub(crate) fn has_mipmaps(&self) -> bool {
        !self.mipmaps.is_empty()
    }

    /// Levels of a texture, if it has several.
    pub(crate) fn mipmap(&self, handle: u64) -> Option<&Mipmap> {
        self.mipmaps.get(&handle)
    }

    /// Number of levels of a texture.
    pub(crate) fn levels(&self, handle: u64) -> u32 {
        let mipmap = self.mipmap(handle);
        mipmap.map_or(1, |mipmap| mipmap.levels.len() as u32)
    }

    /// Texel that is read outside of a texture with a border.
    #[inline]
    pub(crate) fn border(&self, handle: u64, texture: &Texture) -> Texel {
        if self.borders.is_empty() {
            return [0.0; 4];
        }
        let colour = self.borders.get(&handle);
        colour.map_or([0.0; 4], |colour| texture.border(*colour))
    }

    /// Texture with the given handle. `None` if the handle names no texture.
    pub fn get(&self, handle: u64) -> Option<&Texture> {
        self.textures
            .get(usize::try_from(handle).ok()?.checked_sub(1)?)
    }
}
