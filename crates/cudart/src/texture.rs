//! Textures and surfaces: objects and references.

use crate::ffi::{get, put, put_if};
use crate::process::abi;
use crate::types::{CChannels, CResource, CSampler, CTextureReference};
use warploom_app::{Abi, Channels, Context, Cuda, CudaError, Sampler, Target};

/// `cudaResourceType`
const ARRAY: i32 = 0;
const LINEAR: i32 = 2;
const PITCHED: i32 = 3;

fn target(context: &mut Context, own: &CResource) -> Cuda<Target> {
    Ok(match own.kind {
        ARRAY => Target::Array(own.first),
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
        _ => return Err(context.unsupported("cudaCreateTextureObject of a mipmapped array")),
    })
}

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

/// References are their symbols.
///
/// # Safety
/// `to` is null or a place for an address.
unsafe fn reference(to: *mut u64, symbol: u64, none: CudaError) -> Cuda {
    match symbol {
        0 => Err(none),
        // SAFETY: see above.
        _ => unsafe { put(to, symbol) },
    }
}

/// # Safety
/// The reference is null or one of the program's.
unsafe fn sampler(reference: *const CTextureReference) -> Cuda<(Sampler, CChannels)> {
    // SAFETY: see above.
    let own = unsafe { get(reference) }?;
    let sampler = Sampler {
        address: own.address,
        linear: own.filter != 0,
        normalized_read: false,
        normalized_coordinates: own.normalized != 0,
        others: [0; 7],
    };
    Ok((sampler, own.channels))
}

/// `cudaAddressModeBorder`
const BORDER: i32 = 3;

/// The first six words behind what all samplers have, and the seventh where a release has one.
///
/// # Safety
/// The sampler is null or as the release lays it out.
unsafe fn others(from: *const CSampler, has_last: bool) -> Cuda<[u32; 7]> {
    // SAFETY: see above.
    let own = unsafe { get(from) }?;
    let mut others = [0; 7];
    others[..6].copy_from_slice(&own.others);
    if has_last {
        // SAFETY: see above.
        others[6] = unsafe { get(from.wrapping_add(1).cast()) }?;
    }
    Ok(others)
}

/// Creates a texture object.
///
/// # Safety
/// Pointers are null or as the release lays out what they point to.
unsafe fn create(
    context: &mut Context,
    (resource, sampler, view): (*const CResource, *const CSampler, *const u8),
    has_last: bool,
) -> Cuda<u64> {
    // SAFETY: see above.
    let (resource, own) = unsafe { (get(resource)?, get(sampler)?) };
    if !view.is_null() {
        return Err(context.unsupported("cudaCreateTextureObject with a resource view"));
    }
    if own.srgb != 0 {
        return Err(context.unsupported("cudaCreateTextureObject with sRGB"));
    }
    if own.address.contains(&BORDER) && own.border != [0.0; 4] {
        return Err(context.unsupported("cudaCreateTextureObject with a border's colour"));
    }
    let sampler = Sampler {
        address: own.address,
        linear: own.filter != 0,
        normalized_read: own.read != 0,
        normalized_coordinates: own.normalized != 0,
        // SAFETY: see above.
        others: unsafe { others(sampler, has_last) }?,
    };
    let target = target(context, &resource)?;
    context.create_texture(target, &sampler)
}

/// Tells how a texture object is read.
///
/// # Safety
/// `to` is null or has room for what the release lays out.
unsafe fn describe(context: &Context, to: *mut CSampler, texture: u64, has_last: bool) -> Cuda {
    let own = context.texture_sampler(texture)?;
    let [first @ .., last] = own.others;
    let sampler = CSampler {
        address: own.address,
        filter: own.linear.into(),
        read: own.normalized_read.into(),
        srgb: 0,
        border: [0.0; 4],
        normalized: own.normalized_coordinates.into(),
        others: first,
    };
    // SAFETY: see above.
    unsafe { put(to, sampler) }?;
    match has_last {
        // SAFETY: see above.
        true => unsafe { put(to.wrapping_add(1).cast(), last) },
        false => Ok(()),
    }
}

runtime! {
    fn cudaCreateTextureObject(
        to: *mut u64, resource: *const CResource, sampler: *const CSampler, view: *const u8,
    ) |context| {
        let has_last = abi() >= Abi::V12;
        put(to, create(context, (resource, sampler, view), has_last)?)
    }

    fn cudaCreateTextureObject_v2(
        to: *mut u64, resource: *const CResource, sampler: *const CSampler, view: *const u8,
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

    // None has one.
    fn cudaGetTextureObjectResourceViewDesc(_to: *mut u8, _texture: u64) |_context| {
        Err::<(), CudaError>(CudaError::INVALID_VALUE)
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
