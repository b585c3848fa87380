//! Modules, libraries and their kernels and variables. A library of the driver is a module here:
//! there is one context in which it could be loaded.

use super::driver;
use crate::error::lasting;
use crate::ffi::{bytes, get, list, put, put_bytes, put_if, text};
use crate::function::put_parameter;
use crate::register::container;
use std::ffi::c_char;
use warploom_app::{Context, Cuda, CudaError, FunctionAttributes, PixelWalk, TiledTensor, fatbin};

/// First number of the wrapper of a fat binary in a program.
const WRAPPER: u32 = 0x4662_43b1;
/// First bytes of machine code as a file.
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");
/// Mode `CU_MODULE_EAGER_LOADING`, in which modules are loaded with all their functions.
const EAGER: i32 = 1;

/// Code at an address: a PTX text that ends with a zero, a fat binary, or the wrapper of one.
///
/// # Safety
/// The pointer is null or points to such code.
unsafe fn code(context: &mut Context, image: *const u8) -> Cuda<Vec<u8>> {
    if image.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: every kind of code has at least four bytes, of which a text may end earlier.
    let first = unsafe { start(image) };
    match u32::from_le_bytes(first) {
        // SAFETY: a compiler generates wrappers.
        WRAPPER => Ok(unsafe { container(image.cast()) }),
        fatbin::MAGIC => {
            // SAFETY: the header of a container has 16 bytes, and states the size of the whole.
            let size = unsafe { fatbin::container_bytes(&bytes(image, 16)) };
            let size = size.map_err(|_| CudaError::INVALID_KERNEL_IMAGE)?;
            // SAFETY: as above.
            Ok(unsafe { bytes(image, size) })
        }
        ELF => Err(context.refuse_machine_code()),
        // SAFETY: all other code is a text that ends with a zero.
        _ => Ok(unsafe { text(image.cast()) }.into_bytes()),
    }
}

/// First four bytes of code, or zeros after the end of a text.
///
/// # Safety
/// The pointer points to four bytes or to a text that ends with a zero.
unsafe fn start(image: *const u8) -> [u8; 4] {
    let mut first = [0; 4];
    for (at, byte) in first.iter_mut().enumerate() {
        // SAFETY: the text has not ended before this byte.
        *byte = unsafe { get(image.wrapping_add(at)) }.unwrap_or(0);
        if *byte == 0 {
            break;
        }
    }
    first
}

/// Loads code and writes the handle of its module.
///
/// # Safety
/// The first pointer is null or valid for a write. The second one is null or points to code.
pub unsafe fn load(context: &mut Context, to: *mut u64, image: *const u8) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let code = unsafe { code(context, image) }?;
    let module = context.load_module(code)?;
    // SAFETY: as above.
    unsafe { put(to, module) }
}

/// Loads code from a file and writes the handle of its module.
///
/// # Safety
/// The first pointer is null or valid for a write. The second one is null or points to a C string.
unsafe fn load_file(context: &mut Context, to: *mut u64, path: *const c_char) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let module = context.load_file(&unsafe { text(path) })?;
    // SAFETY: as above.
    unsafe { put(to, module) }
}

/// Writes the handle of a module's kernel.
///
/// # Safety
/// The first pointer is null or valid for a write. The second one is null or points to a C string.
unsafe fn find_kernel(
    context: &mut Context,
    to: *mut u64,
    module: u64,
    name: *const c_char,
) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let function = context.module_function(module, &unsafe { text(name) })?;
    // SAFETY: as above.
    unsafe { put(to, function) }
}

/// Writes the address and the size of a module's variable.
///
/// # Safety
/// The pointers of `to` are null or valid for a write, and `name` is null or points to a C string.
unsafe fn find_variable(
    context: &mut Context,
    to: (*mut u64, *mut usize),
    module: u64,
    name: *const c_char,
) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let (address, size) = context.module_variable(module, &unsafe { text(name) })?;
    // SAFETY: as above.
    unsafe {
        put_if(to.0, address);
        put_if(to.1, size as usize);
    }
    Ok(())
}

/// Attribute of a kernel by the driver's number.
fn function_attribute(own: &FunctionAttributes, number: i32) -> Cuda<i32> {
    Ok(match number {
        0 => own.max_threads,
        1 => own.shared_bytes as i32,
        2 => own.constant_bytes as i32,
        3 => own.local_bytes as i32,
        4 => own.registers,
        5 => own.ptx_version,
        6 => own.binary_version,
        8 => own.max_dynamic_shared,
        7 | 9..=16 => 0,
        _ => return Err(CudaError::INVALID_VALUE),
    })
}

driver! {
    fn cuModuleLoadData / cuModuleLoadFatBinary (to: *mut u64, image: *const u8) |context| {
        load(context, to, image)
    }

    // Options of a just-in-time compiler have no effect.
    fn cuModuleLoadDataEx(
        to: *mut u64, image: *const u8, _count: u32, _options: *const i32, _values: *const u64,
    ) |context| {
        load(context, to, image)
    }

    fn cuLibraryLoadData(
        to: *mut u64,
        image: *const u8,
        _compiler_options: *const i32,
        _compiler_values: *const u64,
        _compiler_count: u32,
        _options: *const i32,
        _values: *const u64,
        _count: u32,
    ) |context| {
        load(context, to, image)
    }

    fn cuModuleLoad(to: *mut u64, path: *const c_char) |context| {
        load_file(context, to, path)
    }

    fn cuLibraryLoadFromFile(
        to: *mut u64,
        path: *const c_char,
        _compiler_options: *const i32,
        _compiler_values: *const u64,
        _compiler_count: u32,
        _options: *const i32,
        _values: *const u64,
        _count: u32,
    ) |context| {
        load_file(context, to, path)
    }

    fn cuModuleUnload / cuLibraryUnload (module: u64) |context| { context.unload_module(module) }

    fn cuLibraryGetModule(to: *mut u64, library: u64) |context| {
        context.module_kernels(library)?;
        put(to, library)
    }

    fn cuModuleGetFunction / cuLibraryGetKernel (
        to: *mut u64, module: u64, name: *const c_char,
    ) |context| {
        find_kernel(context, to, module, name)
    }

    fn cuKernelGetFunction(to: *mut u64, kernel: u64) |context| {
        context.parameters(kernel)?;
        put(to, kernel)
    }

    fn cuModuleGetFunctionCount / cuLibraryGetKernelCount (to: *mut u32, module: u64) |context| {
        let kernels = context.module_kernels(module)?;
        put(to, kernels.len() as u32)
    }

    fn cuModuleEnumerateFunctions / cuLibraryEnumerateKernels (
        to: *mut u64, count: u32, module: u64,
    ) |context| {
        let kernels = context.module_kernels(module)?;
        for (at, name) in kernels.iter().take(count as usize).enumerate() {
            let function = context.module_function(module, name)?;
            put(to.wrapping_add(at), function)?;
        }
        Ok(())
    }

    fn cuModuleGetGlobal_v2 / cuLibraryGetGlobal (
        to: *mut u64, bytes: *mut usize, module: u64, name: *const c_char,
    ) |context| {
        find_variable(context, (to, bytes), module, name)
    }

    fn cuFuncGetAttribute(to: *mut i32, number: i32, function: u64) |context| {
        let own = context.function_attributes(function)?;
        put(to, function_attribute(&own, number)?)
    }

    fn cuKernelGetAttribute(to: *mut i32, number: i32, kernel: u64, _device: i32) |context| {
        let own = context.function_attributes(kernel)?;
        put(to, function_attribute(&own, number)?)
    }

    fn cuFuncSetAttribute(function: u64, number: i32, value: i32) |context| {
        context.set_function_attribute(function, number, value)
    }

    fn cuKernelSetAttribute(number: i32, value: i32, kernel: u64, _device: i32) |context| {
        context.set_function_attribute(kernel, number, value)
    }

    // The GPU's configuration decides how caches are divided.
    fn cuFuncSetCacheConfig / cuFuncSetSharedMemConfig / cuKernelSetCacheConfig (
        function: u64, _wish: i32,
    ) |context| {
        context.parameters(function).map(|_| ())
    }

    fn cuFuncGetName / cuKernelGetName (to: *mut *const c_char, function: u64) |context| {
        put(to, lasting(context.function_name(function)?))
    }

    fn cuFuncGetModule / cuKernelGetLibrary (to: *mut u64, function: u64) |context| {
        put(to, context.function_module(function)?)
    }

    // Functions are loaded with their modules.
    fn cuFuncIsLoaded(to: *mut i32, function: u64) |context| {
        context.parameters(function)?;
        put(to, 1)
    }

    fn cuFuncLoad(function: u64) |context| { context.parameters(function).map(|_| ()) }

    fn cuModuleGetLoadingMode(to: *mut i32) |_context| { put(to, EAGER) }

    fn cuFuncGetParamCount / cuKernelGetParamCount (function: u64, to: *mut usize) |context| {
        let parameters = context.parameters(function)?;
        put(to, parameters.len())
    }

    fn cuFuncGetParamInfo / cuKernelGetParamInfo (
        function: u64, number: usize, offset: *mut usize, size: *mut usize,
    ) |context| {
        put_parameter(context, function, number, (offset, size))
    }

    fn cuTensorMapEncodeTiled(
        to: *mut u8,
        ty: i32,
        rank: u32,
        address: u64,
        dims: *const u64,
        strides: *const u64,
        box_dims: *const u32,
        element_strides: *const u32,
        interleave: i32,
        swizzle: i32,
        _promotion: i32,
        fill: i32,
    ) |context| {
        // More dimensions than any tensor has are refused before the arrays are read.
        let rank = if rank > 5 { 0 } else { rank as usize };
        let tensor = TiledTensor {
            ty,
            address,
            dims: list(dims, rank)?,
            strides: list(strides, rank.saturating_sub(1))?,
            box_dims: list(box_dims, rank)?,
            element_strides: list(element_strides, rank)?,
            interleave,
            swizzle,
            fill,
            im2col: None,
        };
        put_bytes(to, &context.encode_tiled(&tensor)?)
    }

    fn cuTensorMapEncodeIm2col(
        to: *mut u8,
        ty: i32,
        rank: u32,
        address: u64,
        dims: *const u64,
        strides: *const u64,
        lower: *const i32,
        upper: *const i32,
        channels: u32,
        pixels: u32,
        element_strides: *const u32,
        interleave: i32,
        swizzle: i32,
        _promotion: i32,
        fill: i32,
    ) |context| {
        let rank = if rank > 5 { 0 } else { rank as usize };
        let spatial = rank.saturating_sub(2);
        let tensor = TiledTensor {
            ty,
            address,
            dims: list(dims, rank)?,
            strides: list(strides, rank.saturating_sub(1))?,
            box_dims: Vec::new(),
            element_strides: list(element_strides, rank)?,
            interleave,
            swizzle,
            fill,
            im2col: Some(PixelWalk {
                lower: list(lower, spatial)?,
                upper: list(upper, spatial)?,
                channels,
                pixels,
            }),
        };
        put_bytes(to, &context.encode_tiled(&tensor)?)
    }
}
