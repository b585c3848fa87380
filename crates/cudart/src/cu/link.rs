//! Links of modules (`cuLink*`). The linked module is a PTX text, because Warploom loads PTX in the
//! place of machine code.

use super::driver;
use crate::ffi::{bytes, put, put_if, text};
use std::ffi::c_char;
use warploom_app::{Context, Cuda};

/// Kind of an input that is a PTX text.
const PTX: i32 = 1;

/// Checks that an input is a PTX text.
fn require_text(context: &mut Context, call: &str, kind: i32) -> Cuda {
    match kind {
        PTX => Ok(()),
        _ => Err(context.unsupported(&format!("{call} with other inputs than PTX"))),
    }
}

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
        require_text(context, "cuLinkAddData", kind)?;
        context.add_to_link(link, bytes(data, size as u64))
    }

    fn cuLinkAddFile_v2(
        link: u64,
        kind: i32,
        path: *const c_char,
        _count: u32,
        _options: *const i32,
        _values: *const u64,
    ) |context| {
        require_text(context, "cuLinkAddFile", kind)?;
        context.add_file_to_link(link, &text(path))
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
