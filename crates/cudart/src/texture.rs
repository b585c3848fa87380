//! Textures and surfaces: objects and references.

use crate::ffi::{get, put, put_if};
use crate::process::abi;
use crate::types::{CChannels, CExtent, CResource, CSampler, CTextureReference, CView};
use warploom_app::{Abi, Channels, Context, Cuda, CudaError, Sampler, Target, View};

/// Numbers of `cudaResourceType` for kinds of resources.
const ARRAY: i32 = 0;
const MIPMAPPED: i32 = 1;
const LINEAR: i32 = 2;
const PITCHED: i32 = 3;

/// Memory that a resource description denotes.
fn target(own: &CResource) -> Cuda<Target> {
    Ok(match own.kind {
        ARRAY => Target::Array(own.first),
        MIPMAPPED => Target::Mipmapped(own.first),
        LINEAR => Target::Linear {
            address: own.first,
            channels: own.channels.into(),
            bytes: own.size as u64,
        },
        PITCHED => Target::Pitched {
            address: own.first,
            channels: own.channels.into(),
            width: own.size as u64,
            height: own.height as u64,
            pitch: own.pitch as u64,
        },
        _ => return Err(CudaError::INVALID_VALUE),
    })
}

/// Description of a texture's memory.
fn described(target: Target) -> CResource {
    let none = CResource {
        kind: ARRAY,
        first: 0,
        channels: Channels::default().into(),
        size: 0,
        height: 0,
        pitch: 0,
    };
    match target {
        Target::Array(first) => CResource { first, ..none },
        Target::Mipmapped(first) => CResource {
            kind: MIPMAPPED,
            first,
            ..none
        },
        Target::Linear {
            address,
            channels,
            bytes,
        } => CResource {
            kind: LINEAR,
            first: address,
            channels: channels.into(),
            size: bytes as usize,
            ..none
        },
        Target::Pitched {
            address,
            channels,
            width,
            height,
            pitch,
        } => CResource {
            kind: PITCHED,
            first: address,
            channels: channels.into(),
            size: width as usize,
            height: height as usize,
            pitch: pitch as usize,
        },
    }
}

/// Writes the address of a reference, which is that of its symbol.
///
/// # Safety
/// `to` is null or valid for an address.
unsafe fn reference(to: *mut u64, symbol: u64, none: CudaError) -> Cuda {
    match symbol {
        0 => Err(none),
        // SAFETY: the caller fulfils the requirements of this function.
        _ => unsafe { put(to, symbol) },
    }
}

/// Settings of a texture reference.
///
/// # Safety
/// The reference is null or one of the program's.
unsafe fn sampler(reference: *const CTextureReference) -> Cuda<(Sampler, CChannels)> {
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(reference) }?;
    let sampler = Sampler {
        address: own.address,
        linear: own.filter != 0,
        normalized_read: false,
        normalized_coordinates: own.normalized != 0,
        border: [0; 4],
        mixes_levels: false,
        detail: [0; 3],
        others: [0; 3],
    };
    Ok((sampler, own.channels))
}

/// Word that follows the common part of texture settings, if the release has one.
///
/// # Safety
/// The pointer is null or points to settings in the layout of the release.
unsafe fn last(from: *const CSampler, has_last: bool) -> Cuda<u32> {
    match has_last {
        // SAFETY: the caller fulfils the requirements of this function.
        true => unsafe { get(from.wrapping_add(1).cast()) },
        false => Ok(0),
    }
}

/// Kinds and bits of channels in the order of `cudaResourceViewFormat`. Each has three formats,
/// with one, two and four channels. Numbers start at 1.
const VIEWED: [(i32, i32); 8] = [
    (1, 8),
    (0, 8),
    (1, 16),
    (0, 16),
    (1, 32),
    (0, 32),
    (2, 16),
    (2, 32),
];

/// Channels of a view's format.
fn channels_of(format: i32) -> Option<Channels> {
    let number = usize::try_from(format).ok()?.checked_sub(1)?;
    let (kind, bits) = *VIEWED.get(number / 3)?;
    let count = [1, 2, 4][number % 3];
    let bits = std::array::from_fn(|channel| if channel < count { bits } else { 0 });
    Some(Channels { bits, kind })
}

/// Number of the format of given channels.
fn format_of(channels: Channels) -> i32 {
    let all = 1..=VIEWED.len() as i32 * 3;
    let mut same = all.filter(|format| channels_of(*format) == Some(channels));
    same.next().unwrap_or(0)
}

/// Resource view that the program requests.
///
/// # Safety
/// `from` is null or points to a view of the program.
pub unsafe fn view(context: &mut Context, from: *const CView) -> Cuda<Option<View>> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(from) }?;
    let channels = channels_of(own.format);
    if own.format != 0 && channels.is_none() {
        return Err(context.unsupported("a view of a resource as compressed blocks"));
    }
    Ok(Some(View {
        channels,
        extent: own.extent.into(),
        levels: own.levels,
        layers: own.layers,
    }))
}

/// Creates a texture object and writes its handle.
///
/// # Safety
/// Pointers are null or point to structures in the layout of the release.
unsafe fn create(
    context: &mut Context,
    (resource, sampler, looked): (*const CResource, *const CSampler, *const CView),
    has_last: bool,
) -> Cuda<u64> {
    // SAFETY: the caller fulfils the requirements of this function.
    let (resource, own) = unsafe { (get(resource)?, get(sampler)?) };
    if own.srgb != 0 {
        return Err(context.unsupported("cudaCreateTextureObject with sRGB"));
    }
    let [anisotropy, mixes, bias, least, most, trilinear] = own.others;
    // SAFETY: the caller fulfils the requirements of this function.
    let seamless = unsafe { last(sampler, has_last) }?;
    let sampler = Sampler {
        address: own.address,
        linear: own.filter != 0,
        normalized_read: own.read != 0,
        normalized_coordinates: own.normalized != 0,
        border: own.border,
        mixes_levels: mixes != 0,
        detail: [bias, least, most],
        others: [anisotropy, trilinear, seamless],
    };
    // SAFETY: the caller fulfils the requirements of this function.
    let view = unsafe { view(context, looked) }?;
    context.create_texture(target(&resource)?, &sampler, view)
}

/// Writes the settings of a texture object.
///
/// # Safety
/// `to` is null or valid for a write in the layout of the release.
unsafe fn describe(context: &Context, to: *mut CSampler, texture: u64, has_last: bool) -> Cuda {
    let own = context.texture_sampler(texture)?;
    let [anisotropy, trilinear, last] = own.others;
    let [bias, least, most] = own.detail;
    let sampler = CSampler {
        address: own.address,
        filter: own.linear.into(),
        read: own.normalized_read.into(),
        srgb: 0,
        border: own.border,
        normalized: own.normalized_coordinates.into(),
        others: [
            anisotropy,
            own.mixes_levels.into(),
            bias,
            least,
            most,
            trilinear,
        ],
    };
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(to, sampler) }?;
    match has_last {
        // SAFETY: the caller fulfils the requirements of this function.
        true => unsafe { put(to.wrapping_add(1).cast(), last) },
        false => Ok(()),
    }
}

/// Writes the view through which a texture object reads its array.
///
/// # Safety
/// `to` is null or valid for a write.
pub unsafe fn write_view(context: &Context, to: *mut CView, texture: u64) -> Cuda {
    let own = context.texture_view(texture)?;
    let view = CView {
        format: own.channels.map_or(0, format_of),
        extent: CExtent {
            width: own.extent.width as usize,
            height: own.extent.height as usize,
            depth: own.extent.depth as usize,
        },
        levels: own.levels,
        layers: own.layers,
    };
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(to, view) }
}

runtime! {
    fn cudaCreateTextureObject(
        to: *mut u64, resource: *const CResource, sampler: *const CSampler, view: *const CView,
    ) |context| {
        let has_last = abi() >= Abi::V12;
        put(to, create(context, (resource, sampler, view), has_last)?)
    }

    fn cudaCreateTextureObject_v2(
        to: *mut u64, resource: *const CResource, sampler: *const CSampler, view: *const CView,
    ) |context| {
        put(to, create(context, (resource, sampler, view), true)?)
    }

    fn cudaDestroyTextureObject(texture: u64) |context| { context.destroy_texture(texture) }

    fn cudaCreateSurfaceObject(to: *mut u64, resource: *const CResource) |context| {
        match get(resource)? {
            resource if resource.kind == ARRAY => put(to, context.create_surface(resource.first)?),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cudaDestroySurfaceObject(surface: u64) |context| { context.destroy_texture(surface) }

    fn cudaGetTextureObjectResourceDesc(to: *mut CResource, texture: u64) |context| {
        put(to, described(context.texture_target(texture)?))
    }

    fn cudaGetTextureObjectTextureDesc(to: *mut CSampler, texture: u64) |context| {
        describe(context, to, texture, abi() >= Abi::V12)
    }

    fn cudaGetTextureObjectTextureDesc_v2(to: *mut CSampler, texture: u64) |context| {
        describe(context, to, texture, true)
    }

    fn cudaGetTextureObjectResourceViewDesc(to: *mut CView, texture: u64) |context| {
        write_view(context, to, texture)
    }

    fn cudaGetSurfaceObjectResourceDesc(to: *mut CResource, surface: u64) |context| {
        put(to, described(context.texture_target(surface)?))
    }

    fn cudaBindTexture(
        offset: *mut usize, reference: *const CTextureReference, address: u64,
        channels: *const CChannels, bytes: usize,
    ) |context| {
        let (sampler, _) = sampler(reference)?;
        let target = Target::Linear {
            address,
            channels: get(channels)?.into(),
            bytes: bytes as u64,
        };
        let skipped = context.bind_texture(reference as u64, target, sampler)?;
        put_if(offset, skipped as usize);
        Ok(())
    }

    fn cudaBindTexture2D(
        offset: *mut usize, reference: *const CTextureReference, address: u64,
        channels: *const CChannels, width: usize, height: usize, pitch: usize,
    ) |context| {
        let (sampler, _) = sampler(reference)?;
        let target = Target::Pitched {
            address,
            channels: get(channels)?.into(),
            width: width as u64,
            height: height as u64,
            pitch: pitch as u64,
        };
        let skipped = context.bind_texture(reference as u64, target, sampler)?;
        put_if(offset, skipped as usize);
        Ok(())
    }

    fn cudaBindTextureToArray(
        reference: *const CTextureReference, array: u64, _channels: *const CChannels,
    ) |context| {
        let (sampler, _) = sampler(reference)?;
        context.bind_texture(reference as u64, Target::Array(array), sampler).map(|_| ())
    }

    fn cudaUnbindTexture(reference: u64) |context| { context.unbind_texture(reference) }

    fn cudaGetTextureAlignmentOffset(offset: *mut usize, _reference: u64) |_context| {
        put(offset, 0)
    }

    fn cudaGetTextureReference(to: *mut u64, symbol: u64) |_context| {
        reference(to, symbol, CudaError::INVALID_TEXTURE)
    }

    fn cudaBindSurfaceToArray(surface: u64, array: u64, _channels: *const CChannels) |context| {
        context.bind_surface(surface, array)
    }

    fn cudaGetSurfaceReference(to: *mut u64, symbol: u64) |_context| {
        reference(to, symbol, CudaError::INVALID_SURFACE)
    }
}
