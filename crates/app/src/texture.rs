//! Texture and surface objects and references. A surface is a texture that is not filtered.

use crate::array::{Array, Channels, Extent};
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::module::{Reference, ReferenceKind};

use warploom_run::{AddressMode, ChannelKind, MipmapSettings, Texture};

/// Settings for reading a texture (`cudaTextureDesc`, `textureReference`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Addressing modes of x, y and z (`cudaTextureAddressMode`).
    pub address: [i32; 3],
    /// True for linear filtering between texels.
    pub linear: bool,
    /// True if integers are read as floats from 0 to 1.
    pub normalized_read: bool,
    /// True if coordinates range from 0 to 1.
    pub normalized_coordinates: bool,
    /// Border colour: bits of floats, or integers if texels are read as integers.
    pub border: [u32; 4],
    /// True if two mipmap levels are blended.
    pub mixes_levels: bool,
    /// Bias, minimum and maximum of the level of detail, as bits of floats.
    pub detail: [u32; 3],
    /// Settings that are stored but have no effect: anisotropy and two options of filtering.
    pub others: [u32; 3],
}

/// Resource view of an array (`cudaResourceViewDesc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Format of the texels. `None` stands for that of the array.
    pub channels: Option<Channels>,
    /// Width, height and depth that the view specifies.
    pub extent: Extent,
    /// First and last mipmap level of the view.
    pub levels: [u32; 2],
    /// First and last layer of the view.
    pub layers: [u32; 2],
}

/// Memory that a texture reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An array, given by its handle.
    Array(u64),
    /// A mipmapped array, given by its handle.
    Mipmapped(u64),
    /// Linear memory with a single row of texels.
    Linear {
        /// Address of the first texel.
        address: u64,
        /// Format of a texel.
        channels: Channels,
        /// Size of the memory in bytes.
        bytes: u64,
    },
    /// Pitched memory with several rows.
    Pitched {
        /// Address of the first texel.
        address: u64,
        /// Format of a texel.
        channels: Channels,
        /// Number of texels in a row.
        width: u64,
        /// Number of rows of texels.
        height: u64,
        /// Distance in bytes between consecutive rows.
        pitch: u64,
    },
}

/// Settings of surfaces: single texels without conversion.
pub(crate) const PLAIN: Sampler = Sampler {
    address: [1; 3],
    linear: false,
    normalized_read: false,
    normalized_coordinates: false,
    border: [0; 4],
    mixes_levels: false,
    detail: [0; 3],
    others: [0; 3],
};

/// A texture object with its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub target: Target,
    pub sampler: Sampler,
    pub view: Option<View>,
}

/// Maximum number of texels in linear memory (CUDA C++ Programming Guide: 2^27, later 2^28).
const LINEAR_TEXELS: u64 = 1 << 28;

/// Number of the channel kind `cudaChannelFormatKindFloat`.
const FLOAT: i32 = 2;

/// Addressing mode with the number that the runtime uses.
fn address_mode(mode: i32) -> Cuda<AddressMode> {
    Ok(match mode {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(CudaError::INVALID_VALUE),
    })
}

/// Representation of the channels for the simulator.
fn kind(channels: &Channels, normalized: bool) -> ChannelKind {
    match (channels.kind, normalized) {
        (0, false) => ChannelKind::Signed,
        (0, true) => ChannelKind::SignedNormalized,
        (1, false) => ChannelKind::Unsigned,
        (1, true) => ChannelKind::UnsignedNormalized,
        _ => ChannelKind::Float,
    }
}

/// Settings for the choice of mipmap levels.
fn detail(sampler: &Sampler) -> MipmapSettings {
    let [bias, min_level, max_level] = sampler.detail.map(f32::from_bits);
    MipmapSettings {
        linear: sampler.mixes_levels,
        bias,
        min_level,
        max_level,
    }
}

/// Texture with the given format and settings, without position and extent.
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

/// Texture that reads an array.
fn of_array(array: &Array, sampler: &Sampler) -> Cuda<Texture> {
    let texel = |extent: u64| u32::try_from(extent.max(1)).map_err(|_| CudaError::INVALID_VALUE);
    let (depth, layers) = if array.is_layered() {
        (1, texel(array.extent.depth)?)
    } else {
        (texel(array.extent.depth)?, 1)
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
    /// Part of an array that the view selects, with the view's format.
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

    /// Checks that width and height are those of the largest level that the view selects.
    fn fits(&self, array: &Array) -> Cuda {
        let same = |said: u64, own: u64| said == own.max(1) || said == own;
        let (said, own) = (self.extent, array.extent);
        if same(said.width, own.width) && same(said.height, own.height) {
            Ok(())
        } else {
            Err(CudaError::INVALID_VALUE)
        }
    }
}

/// Levels of a texture object, the largest first.
type Levels = Vec<Texture>;

impl Context {
    /// Textures for the levels of an array, or a single one for other memory.
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

    /// Texture that reads memory without levels.
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
                self.check_inside(address, last.saturating_add(row))?;
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

    /// Creates a texture object and returns its handle. An array may be read through a view.
    pub fn create_texture(
        &mut self,
        target: Target,
        sampler: &Sampler,
        view: Option<View>,
    ) -> Cuda<u64> {
        let levels = self.levels(target, sampler, view.as_ref())?;
        // Coordinates are independent of the level only if they are normalized.
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

    /// Creates a surface object, which accesses single texels of an array. Every array can be used.
    pub fn create_surface(&mut self, array: u64) -> Cuda<u64> {
        self.create_texture(Target::Array(array), &PLAIN, None)
    }

    /// Destroys a texture or surface object.
    pub fn destroy_texture(&mut self, handle: u64) -> Cuda {
        if handle == 0 {
            return Ok(());
        }
        let known = self.texture_objects.remove(&handle);
        known.map(|_| ()).ok_or(CudaError::INVALID_VALUE)
    }

    /// Memory that a texture or surface object reads.
    pub fn texture_target(&self, handle: u64) -> Cuda<Target> {
        let bound = self.texture_objects.get(&handle);
        bound
            .map(|bound| bound.target)
            .ok_or(CudaError::INVALID_VALUE)
    }

    /// Settings of a texture object.
    pub fn texture_sampler(&self, handle: u64) -> Cuda<Sampler> {
        let bound = self.texture_objects.get(&handle);
        bound
            .map(|bound| bound.sampler)
            .ok_or(CudaError::INVALID_VALUE)
    }

    /// View through which a texture object reads its array.
    pub fn texture_view(&self, handle: u64) -> Cuda<View> {
        let bound = self.texture_objects.get(&handle);
        let view = bound.and_then(|bound| bound.view);
        view.ok_or(CudaError::INVALID_VALUE)
    }

    /// Binds a texture reference, given by its address in the host program. The declaration of the
    /// reference decides whether integers are read as floats. Returns the offset in bytes of the
    /// texture from the requested address, which is always 0 here.
    pub fn bind_texture(&mut self, reference: u64, target: Target, sampler: Sampler) -> Cuda<u64> {
        let own = self.references.get(&reference).cloned();
        let own = own.ok_or(CudaError::INVALID_TEXTURE)?;
        let ReferenceKind::Texture(declaration) = own.kind else {
            return Err(CudaError::INVALID_TEXTURE);
        };
        let sampler = Sampler {
            normalized_read: declaration.normalized_read,
            ..sampler
        };
        self.bind(own, target, &sampler)?;
        Ok(0)
    }

    /// Binds a surface reference to an array.
    pub fn bind_surface(&mut self, reference: u64, array: u64) -> Cuda {
        let own = self.references.get(&reference).cloned();
        let own = own.filter(|own| own.kind == ReferenceKind::Surface);
        let own = own.ok_or(CudaError::INVALID_SURFACE)?;
        self.bind(own, Target::Array(array), &PLAIN)
    }

    /// Binds a texture or surface reference to memory.
    pub(crate) fn bind(&mut self, own: Reference, target: Target, sampler: &Sampler) -> Cuda {
        let texture = self.texture(target, sampler)?;
        let module = self.load(own.module)?;
        let name = own.name.clone();
        // Earlier launches use the earlier binding.
        self.synchronize()?;
        let bound = self.with(move |device| device.bind_texture(module, &name, texture))?;
        // A reference that no kernel uses does not occur in the PTX.
        if bound.is_err() {
            let what = match own.kind {
                ReferenceKind::Texture(_) => "texture",
                ReferenceKind::Surface => "surface",
            };
            let name = own.name;
            self.show_once(&format!("{what} reference {name} is used by no kernel"));
        }
        Ok(())
    }

    /// Unbinds a texture reference. CUDA does not specify the data that kernels read until the next
    /// binding. Here they read the previous data.
    pub fn unbind_texture(&self, reference: u64) -> Cuda {
        let own = self.references.get(&reference);
        match own.map(|own| own.kind) {
            Some(ReferenceKind::Texture(_)) => Ok(()),
            _ => Err(CudaError::INVALID_TEXTURE),
        }
    }
}
