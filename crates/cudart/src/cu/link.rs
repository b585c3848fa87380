//! Links of modules (`cuLink*`). The linked module is a PTX text, because Warploom loads PTX in the
//! place of machine code.

use super::driver;
use crate::ffi::{bytes, put, put_if, text};
use std::ffi::c_char;
use warploom_app::{Context, Cuda};

/// Kinds of inputs: a PTX text, and a library of device code.
const PTX: i32 = 1;
const LIBRARY: i32 = 4;

/// Adds an input of a kind to a link.
fn add(context: &mut Context, link: u64, kind: i32, input: Vec<u8>) -> Cuda {
    match kind {
        PTX => context.add_to_link(link, input),
        LIBRARY => context.add_library_to_link(link, &input),
        _ => Err(context.unsupported("a link with machine code")),
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
        add(context, link, kind, bytes(data, size as u64))
    }

    fn cuLinkAddFile_v2(
        link: u64,
        kind: i32,
        path: *const c_char,
        _count: u32,
        _options: *const i32,
        _values: *const u64,
    ) |context| {
        let input = context.read_code(&text(path))?;
        add(context, link, kind, input)
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
