//! Textures and surfaces: objects and references.

use crate::ffi::{get, put, put_if};
use crate::types::{CChannels, CResource, CSampler, CTextureReference};
use warploom_app::{Channels, Context, Cuda, CudaError, Sampler, Target};

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
    };
    Ok((sampler, own.channels))
}

runtime! {
    fn cudaCreateTextureObject / cudaCreateTextureObject_v2 (
        to: *mut u64, resource: *const CResource, sampler: *const CSampler, view: *const u8,
    ) |context| {
        let (resource, own) = (get(resource)?, get(sampler)?);
        if !view.is_null() {
            return Err(context.unsupported("cudaCreateTextureObject with a resource view"));
        }
        let sampler = Sampler {
            address: own.address,
            linear: own.filter != 0,
            normalized_read: own.read != 0,
            normalized_coordinates: own.normalized != 0,
        };
        let target = target(context, &resource)?;
        let texture = context.create_texture(target, &sampler)?;
        put(to, texture)
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
