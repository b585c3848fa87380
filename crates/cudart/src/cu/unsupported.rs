//! Functions of the driver that programs link and that are not supported. A call reports this once
//! on standard error and returns `CUDA_ERROR_NOT_SUPPORTED`. Its arguments are not changed. (The
//! calling convention permits calls with arguments that a function does not declare.)

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
}

unsupported! {
    because " (each process has a GPU of its own)";
    cuIpcCloseMemHandle
    cuIpcGetEventHandle
    cuIpcGetMemHandle
    cuIpcOpenEventHandle
    cuIpcOpenMemHandle_v2
}
