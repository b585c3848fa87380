//! Texture and surface references of modules, and references that the program creates.

use super::array::{CRows, channels, format};
use super::driver;
use super::texture::{NORMALIZED_COORDINATES, READ_AS_INTEGER, SRGB};
use crate::ffi::{get, put, put_if, text};
use std::ffi::c_char;
use warploom_app::{Context, Cuda, CudaError, Target, TextureReference};

/// Number of the texture unit for references of modules (`CU_PARAM_TR_DEFAULT`).
const ANY_UNIT: i32 = -1;

/// Changes the settings of a reference.
fn change(
    context: &mut Context,
    reference: u64,
    action: impl FnOnce(&mut TextureReference) -> Cuda,
) -> Cuda {
    let mut settings = context.texture_reference(reference)?;
    action(&mut settings)?;
    context.set_texture_reference(reference, settings)
}

/// Number of a dimension of coordinates.
fn dimension(number: i32) -> Cuda<usize> {
    let number = usize::try_from(number).ok().filter(|number| *number < 3);
    number.ok_or(CudaError::INVALID_VALUE)
}

driver! {
    fn cuModuleGetTexRef(to: *mut u64, module: u64, name: *const c_char) |context| {
        put(to, context.module_texture(module, &text(name))?)
    }

    fn cuModuleGetSurfRef(to: *mut u64, module: u64, name: *const c_char) |context| {
        put(to, context.module_surface(module, &text(name))?)
    }

    fn cuTexRefCreate(to: *mut u64) |context| { put(to, context.create_texture_reference()) }

    fn cuTexRefDestroy(reference: u64) |context| {
        context.destroy_texture_reference(reference)
    }

    // A kernel reads every reference of its module.
    fn cuParamSetTexRef(function: u64, unit: i32, reference: u64) |context| {
        context.parameters(function)?;
        context.texture_reference(reference)?;
        match unit {
            ANY_UNIT => Ok(()),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuTexRefSetArray / cuSurfRefSetArray (reference: u64, array: u64, _flags: u32) |context| {
        change(context, reference, |own| {
            own.target = Some(Target::Array(array));
            Ok(())
        })
    }

    // Textures may begin at every address, so that the offset is 0.
    fn cuTexRefSetAddress_v2(
        offset: *mut usize, reference: u64, address: u64, bytes: usize,
    ) |context| {
        put_if(offset, 0);
        change(context, reference, |own| {
            let bytes = bytes as u64;
            own.target = Some(Target::Linear { address, channels: own.channels, bytes });
            Ok(())
        })
    }

    fn cuTexRefSetAddress2D_v3(
        reference: u64, rows: *const CRows, address: u64, pitch: usize,
    ) |context| {
        let rows = get(rows)?;
        let channels = channels(rows.format, rows.channels)?;
        change(context, reference, |own| {
            own.target = Some(Target::Pitched {
                address,
                channels,
                width: rows.width as u64,
                height: rows.height as u64,
                pitch: pitch as u64,
            });
            Ok(())
        })
    }

    fn cuTexRefSetFormat(reference: u64, format: i32, count: i32) |context| {
        change(context, reference, |own| {
            own.channels = channels(format, count as u32)?;
            Ok(())
        })
    }

    fn cuTexRefSetAddressMode(reference: u64, number: i32, mode: i32) |context| {
        change(context, reference, |own| {
            own.sampler.address[dimension(number)?] = mode;
            Ok(())
        })
    }

    fn cuTexRefSetFilterMode(reference: u64, mode: i32) |context| {
        change(context, reference, |own| {
            own.sampler.linear = mode != 0;
            Ok(())
        })
    }

    fn cuTexRefSetFlags(reference: u64, flags: u32) |context| {
        if flags & SRGB != 0 {
            return Err(context.unsupported("cuTexRefSetFlags with sRGB"));
        }
        change(context, reference, |own| {
            own.reads_integers = flags & READ_AS_INTEGER != 0;
            own.sampler.normalized_coordinates = flags & NORMALIZED_COORDINATES != 0;
            Ok(())
        })
    }

    fn cuTexRefGetArray / cuSurfRefGetArray (to: *mut u64, reference: u64) |context| {
        match context.texture_reference(reference)?.target {
            Some(Target::Array(array)) => put(to, array),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuTexRefGetAddress_v2(to: *mut u64, reference: u64) |context| {
        match context.texture_reference(reference)?.target {
            Some(Target::Linear { address, .. } | Target::Pitched { address, .. }) => {
                put(to, address)
            }
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuTexRefGetFormat(to: *mut i32, count: *mut i32, reference: u64) |context| {
        let (format, channels) = format(&context.texture_reference(reference)?.channels);
        put_if(to, format);
        put_if(count, channels as i32);
        Ok(())
    }

    fn cuTexRefGetAddressMode(to: *mut i32, reference: u64, number: i32) |context| {
        let own = context.texture_reference(reference)?;
        put(to, own.sampler.address[dimension(number)?])
    }

    fn cuTexRefGetFilterMode(to: *mut i32, reference: u64) |context| {
        put(to, context.texture_reference(reference)?.sampler.linear.into())
    }

    fn cuTexRefGetFlags(to: *mut u32, reference: u64) |context| {
        let own = context.texture_reference(reference)?;
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        put(
            to,
            flag(own.reads_integers, READ_AS_INTEGER)
                | flag(own.sampler.normalized_coordinates, NORMALIZED_COORDINATES),
        )
    }
}
