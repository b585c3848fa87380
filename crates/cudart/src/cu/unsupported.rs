//! Functions of the driver that programs link and that are not supported. A call reports this once
//! on standard error and returns `CUDA_ERROR_NOT_SUPPORTED`. Its arguments are not changed. (The
//! calling convention permits calls with arguments that a function does not declare.)

use super::driver;
use crate::ffi::{get, put};
use warploom_app::CudaError;

/// Defines functions that are not supported.
macro_rules! unsupported {
    ($($name:ident)+) => { unsupported! { because ""; $($name)+ } };
    (because $why:literal; $($name:ident)+) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> i32 {
            let call = concat!(stringify!($name), $why);
            super::call(false, |context| Err(context.unsupported(call)))
        }
    )+};
}

/// Identifier of the table that CUDA's runtime asks for where it is linked statically. The runtime
/// does not run without it (ZLUDA's `dark_api` names the table).
const RUNTIME_TABLE: [u8; 16] = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

driver! {
    // There are no tables. NVRTC crashes if this function is missing.
    fn cuGetExportTable(to: *mut u64, table: *const [u8; 16]) |context| {
        put(to, 0)?;
        if get(table)? == RUNTIME_TABLE {
            context.show_once(
                "a library contains CUDA's runtime and asks for functions of NVIDIA's driver that \
                 are not documented, which Warploom does not have (cuGetExportTable); build the \
                 library with `nvcc -cudart shared`",
            );
        }
        Err::<(), CudaError>(CudaError::SYMBOL_NOT_FOUND)
    }
}

unsupported! {
    cuGLCtxCreate_v2
    cuGLInit
    cuGLMapBufferObject_v2
    cuGLRegisterBufferObject
    cuGLUnmapBufferObject
    cuGLUnregisterBufferObject
    cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode
    cuGraphConditionalHandleCreate
    cuGraphDebugDotPrint
    cuGraphicsGLRegisterBuffer
    cuGraphicsGLRegisterImage
    cuGraphicsMapResources
    cuGraphicsResourceGetMappedPointer_v2
    cuGraphicsSubResourceGetMappedArray
    cuGraphicsUnmapResources
    cuGraphicsUnregisterResource
    cuTexRefCreate
    cuTexRefDestroy
}

unsupported! {
    because " (each process has a GPU of its own)";
    cuIpcCloseMemHandle
    cuIpcGetEventHandle
    cuIpcGetMemHandle
    cuIpcOpenEventHandle
    cuIpcOpenMemHandle_v2
}
