//! Objects and references of textures and of surfaces, which are textures that nobody filters.

use crate::array::{Array, Channels, Extent};
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::module::{Reference, Referred};

use warploom_run::{AddressMode, ChannelKind, Detail, Texture};

/// How a texture is read (`cudaTextureDesc`, `textureReference`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// `cudaTextureAddressMode` of x, y and z.
    pub address: [i32; 3],
    /// Linear filtering.
    pub linear: bool,
    /// Integers are read as floats from 0 to 1.
    pub normalized_read: bool,
    /// Coordinates run from 0 to 1.
    pub normalized_coordinates: bool,
    /// Colour outside where that is a border: floats by their bits, or integers where texels are
    /// read as such.
    pub border: [u32; 4],
    /// Two levels are mixed.
    pub mixes_levels: bool,
    /// Added to the level of detail, its least and its largest, as floats by their bits.
    pub detail: [u32; 3],
    /// What else was asked for and is told again, without a meaning here: anisotropy, and two
    /// switches of filtering.
    pub others: [u32; 3],
}

/// Another look at an array (`cudaResourceViewDesc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// What a texel is read as; the array's own if `None`.
    pub channels: Option<Channels>,
    /// Width, height and depth that it is said to have.
    pub extent: Extent,
    /// First and last level.
    pub levels: [u32; 2],
    /// First and last layer.
    pub layers: [u32; 2],
}

/// What a texture reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An array, by its handle.
    Array(u64),
    /// A mipmapped array, by its handle.
    Mipmapped(u64),
    /// Bytes in a row.
    Linear {
        /// First texel.
        address: u64,
        /// What a texel is.
        channels: Channels,
        /// Bytes.
        bytes: u64,
    },
    /// Rows of pitched memory.
    Pitched {
        /// First texel.
        address: u64,
        /// What a texel is.
        channels: Channels,
        /// Texels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from row to row.
        pitch: u64,
    },
}

/// How surfaces are read: texel by texel, as it is.
const PLAIN: Sampler = Sampler {
    address: [1; 3],
    linear: false,
    normalized_read: false,
    normalized_coordinates: false,
    border: [0; 4],
    mixes_levels: false,
    detail: [0; 3],
    others: [0; 3],
};

/// A texture object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub target: Target,
    pub sampler: Sampler,
    pub view: Option<View>,
}

/// Texels in one dimension that linear memory may have (CUDA C++ Programming Guide: 2^27, later
/// 2^28).
const LINEAR_TEXELS: u64 = 1 << 28;

/// `cudaChannelFormatKindFloat`
const FLOAT: i32 = 2;

fn address_mode(mode: i32) -> Cuda<AddressMode> {
    Ok(match mode {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(CudaError::INVALID_VALUE),
    })
}

fn kind(channels: &Channels, normalized: bool) -> ChannelKind {
    match (channels.kind, normalized) {
        (0, false) => ChannelKind::Signed,
        (0, true) => ChannelKind::SignedNormalized,
        (1, false) => ChannelKind::Unsigned,
        (1, true) => ChannelKind::UnsignedNormalized,
        _ => ChannelKind::Float,
    }
}

/// How levels are chosen.
fn detail(sampler: &Sampler) -> Detail {
    let [bias, least, most] = sampler.detail.map(f32::from_bits);
    Detail {
        linear: sampler.mixes_levels,
        bias,
        least,
        most,
    }
}

fn sampled(channels: Channels, sampler: &Sampler) -> Cuda<Texture> {
    let (count, bits) = channels.format()?;
    let [x, y, z] = sampler.address.map(address_mode);
    let is_integer = channels.kind != FLOAT;
    if sampler.normalized_read && is_integer && bits == 32 {
        return Err(CudaError::INVALID_NORM_SETTING);
    }
    if sampler.linear && is_integer && !sampler.normalized_read {
        return Err(CudaError::INVALID_FILTER_SETTING);
    }
    Ok(Texture {
        base: 0,
        width: 1,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 0,
        channels: count,
        channel_bits: bits,
        kind: kind(&channels, sampler.normalized_read),
        normalized: sampler.normalized_coordinates,
        address: [x?, y?, z?],
        linear: sampler.linear,
    })
}

fn of_array(array: &Array, sampler: &Sampler) -> Cuda<Texture> {
    let texel = |extent: u64| u32::try_from(extent.max(1)).map_err(|_| CudaError::INVALID_VALUE);
    let (depth, layers) = match array.is_layered() {
        true => (1, texel(array.extent.depth)?),
        false => (texel(array.extent.depth)?, 1),
    };
    Ok(Texture {
        base: array.address,
        width: texel(array.extent.width)?,
        height: texel(array.extent.height)?,
        depth,
        layers,
        pitch: array.pitch as u32,
        ..sampled(array.channels, sampler)?
    })
}

impl View {
    /// The array as it is looked at.
    fn of(&self, array: &Array) -> Cuda<Array> {
        let channels = self.channels.unwrap_or(array.channels);
        if channels.format()? != array.channels.format()? {
            return Err(CudaError::INVALID_VALUE);
        }
        let [first, last] = self.layers.map(u64::from);
        if !array.is_layered() || (first, last) == (0, 0) {
            return Ok(Array { channels, ..*array });
        }
        if first > last || last >= array.extent.depth {
            return Err(CudaError::INVALID_VALUE);
        }
        let extent = Extent {
            depth: last - first + 1,
            ..array.extent
        };
        Ok(Array {
            address: array.place(0, 0, first).address,
            channels,
            extent,
            ..*array
        })
    }

    /// Width and height must be those of the largest level that is looked at.
    fn fits(&self, array: &Array) -> Cuda {
        let same = |said: u64, own: u64| said == own.max(1) || said == own;
        let (said, own) = (self.extent, array.extent);
        match same(said.width, own.width) && same(said.height, own.height) {
            true => Ok(()),
            false => Err(CudaError::INVALID_VALUE),
        }
    }
}

/// What a texture object is made of: levels, the largest first.
type Levels = Vec<Texture>;

impl Context {
    /// The textures of an array's levels, or the one of something else.
    fn levels(&self, target: Target, sampler: &Sampler, view: Option<&View>) -> Cuda<Levels> {
        let arrays = match target {
            Target::Array(handle) => vec![handle],
            Target::Mipmapped(handle) => self.mipmap_levels(handle)?.to_vec(),
            _ => {
                let plain = view.is_none().then(|| self.texture(target, sampler));
                return Ok(vec![plain.ok_or(CudaError::INVALID_VALUE)??]);
            }
        };
        let Some(view) = view else {
            let all = arrays
                .into_iter()
                .map(|array| of_array(&self.array(array)?, sampler));
            return all.collect();
        };
        let [first, last] = view.levels.map(|level| level as usize);
        let seen = arrays.get(first..=last.max(first));
        let seen = seen.ok_or(CudaError::INVALID_VALUE)?;
        view.fits(&self.array(arrays[0])?)?;
        let all = seen
            .iter()
            .map(|array| of_array(&view.of(&self.array(*array)?)?, sampler));
        all.collect()
    }

    fn texture(&self, target: Target, sampler: &Sampler) -> Cuda<Texture> {
        match target {
            Target::Array(handle) => of_array(&self.array(handle)?, sampler),
            Target::Mipmapped(_) => Err(CudaError::INVALID_VALUE),
            Target::Linear {
                address,
                channels,
                bytes,
            } => {
                let texel = channels.texel_bytes()?;
                let (base, block) = self.block(address).ok_or(CudaError::INVALID_VALUE)?;
                let inside = block.bytes - (address - base);
                let width = (bytes.min(inside) / texel).min(LINEAR_TEXELS);
                Ok(Texture {
                    base: address,
                    width: width as u32,
                    ..sampled(channels, sampler)?
                })
            }
            Target::Pitched {
                address,
                channels,
                width,
                height,
                pitch,
            } => {
                let fits = |n: u64| u32::try_from(n).map_err(|_| CudaError::INVALID_VALUE);
                let row = width.saturating_mul(channels.texel_bytes()?);
                let last = pitch.saturating_mul(height.saturating_sub(1));
                self.inside(address, last.saturating_add(row))?;
                Ok(Texture {
                    base: address,
                    width: fits(width)?,
                    height: fits(height)?,
                    pitch: fits(pitch)?,
                    ..sampled(channels, sampler)?
                })
            }
        }
    }

    /// Makes a texture object, of an array also by way of a view.
    pub fn create_texture(
        &mut self,
        target: Target,
        sampler: &Sampler,
        view: Option<View>,
    ) -> Cuda<u64> {
        let levels = self.levels(target, sampler, view.as_ref())?;
        // Coordinates of other levels are the same only where they are normalized.
        let is_mipmapped = matches!(target, Target::Mipmapped(_));
        if is_mipmapped && !sampler.normalized_coordinates {
            return Err(CudaError::INVALID_VALUE);
        }
        let sampler = *sampler;
        let handle = self.with(move |device| {
            let handle = match (is_mipmapped, levels.first()) {
                (false, Some(texture)) => device.texture_object(*texture),
                _ => device.mipmap_object(levels, detail(&sampler)),
            };
            if sampler.border != [0; 4] {
                device.colour_border(handle, sampler.border);
            }
            handle
        })?;
        let bound = Bound {
            target,
            sampler,
            view,
        };
        self.texture_objects.insert(handle, bound);
        Ok(handle)
    }

    /// Makes a surface object: the array's texels, without a way to read between them. Any array
    /// can be one here.
    pub fn create_surface(&mut self, array: u64) -> Cuda<u64> {
        self.create_texture(Target::Array(array), &PLAIN, None)
    }

    /// Forgets one.
    pub fn destroy_texture(&mut self, handle: u64) -> Cuda {
        if handle == 0 {
            return Ok(());
        }
        let known = self.texture_objects.remove(&handle);
        known.map(|_| ()).ok_or(CudaError::INVALID_VALUE)
    }

    /// What a texture or surface object reads.
    pub fn texture_target(&self, handle: u64) -> Cuda<Target> {
        let bound = self.texture_objects.get(&handle);
        bound
            .map(|bound| bound.target)
            .ok_or(CudaError::INVALID_VALUE)
    }

    /// How a texture object is read.
    pub fn texture_sampler(&self, handle: u64) -> Cuda<Sampler> {
        let bound = self.texture_objects.get(&handle);
        bound
            .map(|bound| bound.sampler)
            .ok_or(CudaError::INVALID_VALUE)
    }

    /// The view by way of which a texture object reads its array.
    pub fn texture_view(&self, handle: u64) -> Cuda<View> {
        let bound = self.texture_objects.get(&handle);
        let view = bound.and_then(|bound| bound.view);
        view.ok_or(CudaError::INVALID_VALUE)
    }

    /// Binds a texture reference, which the host knows under an address. The sampler's reading of
    /// integers comes from the reference's declaration. Gives bytes between the address asked for
    /// and where the texture begins: none, for any address can begin one here.
    pub fn bind_texture(&mut self, reference: u64, target: Target, sampler: Sampler) -> Cuda<u64> {
        let own = self.references.get(&reference).cloned();
        let own = own.ok_or(CudaError::INVALID_TEXTURE)?;
        let Referred::Texture(texturing) = own.referred else {
            return Err(CudaError::INVALID_TEXTURE);
        };
        let sampler = Sampler {
            normalized_read: texturing.normalized_read,
            ..sampler
        };
        self.bind(own, target, &sampler)?;
        Ok(0)
    }

    /// Binds a surface reference to an array.
    pub fn bind_surface(&mut self, reference: u64, array: u64) -> Cuda {
        let own = self.references.get(&reference).cloned();
        let own = own.filter(|own| own.referred == Referred::Surface);
        let own = own.ok_or(CudaError::INVALID_SURFACE)?;
        self.bind(own, Target::Array(array), &PLAIN)
    }

    fn bind(&mut self, own: Reference, target: Target, sampler: &Sampler) -> Cuda {
        let texture = self.texture(target, sampler)?;
        let module = self.load(own.module)?;
        let name = own.name.clone();
        // Launches before it see what was bound before.
        self.synchronize()?;
        let bound = self.with(move |device| device.bind_texture(module, &name, texture))?;
        // A reference that no kernel uses is not in the PTX.
        if bound.is_err() {
            let what = match own.referred {
                Referred::Texture(_) => "texture",
                Referred::Surface => "surface",
            };
            let name = own.name;
            self.say_once(&format!("{what} reference {name} is used by no kernel"));
        }
        Ok(())
    }

    /// Unbinds one. What kernels read by it before it is bound again, CUDA does not say; here it is
    /// what they read before.
    pub fn unbind_texture(&self, reference: u64) -> Cuda {
        let own = self.references.get(&reference);
        match own.map(|own| own.referred) {
            Some(Referred::Texture(_)) => Ok(()),
            _ => Err(CudaError::INVALID_TEXTURE),
        }
    }
}
