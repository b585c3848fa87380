//! Textures: bindings, addressing, filtering.

/// The textures that handles name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextureTable {}
