//! Links of modules (`cuLink*`). The linked module is the one PTX text that was added, because
//! Warploom loads PTX in the place of machine code.

use super::driver;
use crate::ffi::{bytes, put, put_if};
use std::ffi::c_char;
use warploom_app::CudaError;

/// Kind of an input that is a PTX text.
const PTX: i32 = 1;

driver! {
    // Options of a just-in-time compiler have no effect.
    fn cuLinkCreate_v2(
        _count: u32, _options: *const i32, _values: *const u64, to: *mut u64,
    ) |context| {
        let link = context.create_link();
        put(to, link)
    }

    fn cuLinkAddData_v2(
        link: u64,
        kind: i32,
        data: *const u8,
        size: usize,
        _name: *const c_char,
        _count: u32,
        _options: *const i32,
        _values: *const u64,
    ) |context| {
        if kind != PTX {
            return Err(context.unsupported("cuLinkAddData with other inputs than PTX"));
        }
        context.add_to_link(link, bytes(data, size as u64))
    }

    fn cuLinkAddFile_v2() |context| {
        Err::<(), CudaError>(context.unsupported("cuLinkAddFile"))
    }

    fn cuLinkComplete(link: u64, to: *mut *const u8, size: *mut usize) |context| {
        let image = context.linked(link)?;
        // A text ends with a zero, which is not counted.
        put(to, image.as_ptr())?;
        put_if(size, image.len() - 1);
        Ok(())
    }

    fn cuLinkDestroy(link: u64) |context| { context.destroy_link(link) }
}
