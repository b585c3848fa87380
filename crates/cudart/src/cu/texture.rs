//! Texture and surface objects.

use super::array::{channels, format};
use super::driver;
use crate::ffi::{get, put};
use crate::texture::{view, write_view};
use crate::types::CView;
use warploom_app::{Channels, Context, Cuda, CudaError, Sampler, Target};

/// Numbers of the kinds of `CUresourcetype`.
const ARRAY: i32 = 0;
const MIPMAPPED: i32 = 1;
const LINEAR: i32 = 2;
const PITCHED: i32 = 3;

/// Flags of a texture: read integers as such, coordinates from 0 to 1, sRGB, and two options of
/// filtering.
pub const READ_AS_INTEGER: u32 = 0x01;
pub const NORMALIZED_COORDINATES: u32 = 0x02;
pub const SRGB: u32 = 0x10;
const NO_TRILINEAR: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

/// Layout of `CUDA_RESOURCE_DESC` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CResource {
    kind: i32,
    /// Handle of an array, or an address.
    first: u64,
    format: i32,
    channels: u32,
    /// Size in bytes, or number of texels in a row.
    size: usize,
    height: usize,
    pitch: usize,
    reserved: [u64; 11],
    flags: u32,
}

/// Layout of `CUDA_TEXTURE_DESC` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CTexture {
    address: [i32; 3],
    filter: i32,
    flags: u32,
    anisotropy: u32,
    level_filter: i32,
    /// Bias, minimum and maximum of the level of detail, as bits of floats.
    detail: [u32; 3],
    /// Border colour as bits.
    border: [u32; 4],
    reserved: [u32; 12],
}

/// Memory that a description denotes.
fn target(own: &CResource) -> Cuda<Target> {
    let channels = || channels(own.format, own.channels);
    Ok(match own.kind {
        ARRAY => Target::Array(own.first),
        MIPMAPPED => Target::Mipmapped(own.first),
        LINEAR => Target::Linear {
            address: own.first,
            channels: channels()?,
            bytes: own.size as u64,
        },
        PITCHED => Target::Pitched {
            address: own.first,
            channels: channels()?,
            width: own.size as u64,
            height: own.height as u64,
            pitch: own.pitch as u64,
        },
        _ => return Err(CudaError::INVALID_VALUE),
    })
}

/// Description of the memory of a texture.
fn resource(target: Target) -> CResource {
    let (kind, first, own, [size, height, pitch]) = match target {
        Target::Array(first) => (ARRAY, first, None, [0; 3]),
        Target::Mipmapped(first) => (MIPMAPPED, first, None, [0; 3]),
        Target::Linear {
            address,
            channels,
            bytes,
        } => (LINEAR, address, Some(channels), [bytes, 0, 0]),
        Target::Pitched {
            address,
            channels,
            width,
            height,
            pitch,
        } => (PITCHED, address, Some(channels), [width, height, pitch]),
    };
    let (format, channels) = own.map_or((0, 0), |own| format(&own));
    CResource {
        kind,
        first,
        format,
        channels,
        size: size as usize,
        height: height as usize,
        pitch: pitch as usize,
        reserved: [0; 11],
        flags: 0,
    }
}

/// Format of the texels of a texture's memory.
fn texels(context: &Context, target: Target) -> Cuda<Channels> {
    Ok(match target {
        Target::Array(array) => context.array(array)?.channels,
        Target::Mipmapped(array) => context.array(context.mipmap_level(array, 0)?)?.channels,
        Target::Linear { channels, .. } | Target::Pitched { channels, .. } => channels,
    })
}

/// Settings of a texture whose texels have a format. Integers of 8 and 16 bits are read as floats
/// unless a flag says otherwise, and those of 32 bits are never.
fn sampler(own: &CTexture, texels: &Channels) -> Sampler {
    let has = |flag| own.flags & flag != 0;
    Sampler {
        address: own.address,
        linear: own.filter != 0,
        normalized_read: texels.is_small_integer() && !has(READ_AS_INTEGER),
        normalized_coordinates: has(NORMALIZED_COORDINATES),
        border: own.border,
        mixes_levels: own.level_filter != 0,
        detail: own.detail,
        others: [
            own.anisotropy,
            has(NO_TRILINEAR).into(),
            has(SEAMLESS).into(),
        ],
    }
}

/// Description of the settings of a texture.
fn settings(own: &Sampler, texels: &Channels) -> CTexture {
    let [anisotropy, trilinear, seamless] = own.others;
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let is_integer = texels.kind != 2 && !own.normalized_read;
    CTexture {
        address: own.address,
        filter: own.linear.into(),
        flags: flag(is_integer, READ_AS_INTEGER)
            | flag(own.normalized_coordinates, NORMALIZED_COORDINATES)
            | flag(trilinear != 0, NO_TRILINEAR)
            | flag(seamless != 0, SEAMLESS),
        anisotropy,
        level_filter: own.mixes_levels.into(),
        detail: own.detail,
        border: own.border,
        reserved: [0; 12],
    }
}

driver! {
    fn cuTexObjectCreate(
        to: *mut u64, memory: *const CResource, own: *const CTexture, seen: *const CView,
    ) |context| {
        let (target, own) = (target(&get(memory)?)?, get(own)?);
        if own.flags & SRGB != 0 {
            return Err(context.unsupported("cuTexObjectCreate with sRGB"));
        }
        let sampler = sampler(&own, &texels(context, target)?);
        let view = view(context, seen)?;
        put(to, context.create_texture(target, &sampler, view)?)
    }

    fn cuTexObjectDestroy / cuSurfObjectDestroy (object: u64) |context| {
        context.destroy_texture(object)
    }

    fn cuTexObjectGetResourceDesc / cuSurfObjectGetResourceDesc (
        to: *mut CResource, object: u64,
    ) |context| {
        put(to, resource(context.texture_target(object)?))
    }

    fn cuTexObjectGetTextureDesc(to: *mut CTexture, texture: u64) |context| {
        let texels = texels(context, context.texture_target(texture)?)?;
        put(to, settings(&context.texture_sampler(texture)?, &texels))
    }

    fn cuTexObjectGetResourceViewDesc(to: *mut CView, texture: u64) |context| {
        write_view(context, to, texture)
    }

    fn cuSurfObjectCreate(to: *mut u64, memory: *const CResource) |context| {
        match get(memory)? {
            memory if memory.kind == ARRAY => put(to, context.create_surface(memory.first)?),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CResource, CTexture, READ_AS_INTEGER, sampler, settings};
    use warploom_app::Channels;

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<CResource>(), 144);
        assert_eq!(size_of::<CTexture>(), 104);
    }

    #[test]
    fn small_integers_are_floats_unless_the_flag_is_set() {
        let mut own = CTexture {
            address: [1; 3],
            filter: 0,
            flags: 0,
            anisotropy: 0,
            level_filter: 0,
            detail: [0; 3],
            border: [0; 4],
            reserved: [0; 12],
        };
        let texels = |bits, kind| Channels {
            bits: [bits, 0, 0, 0],
            kind,
        };
        for (flags, bits, kind, normalized) in [
            (0, 8, 1, true),
            (READ_AS_INTEGER, 8, 1, false),
            (0, 16, 0, true),
            (0, 32, 1, false),
            (0, 16, 2, false),
        ] {
            own.flags = flags;
            let texels = texels(bits, kind);
            let sampler = sampler(&own, &texels);
            assert_eq!(sampler.normalized_read, normalized, "{bits} {kind}");
            let told = settings(&sampler, &texels);
            assert_eq!(told.flags & READ_AS_INTEGER != 0, kind != 2 && !normalized);
        }
    }
}
