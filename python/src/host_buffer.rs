//! Memory of Python's objects that implement the buffer protocol, such as numpy's arrays.
//!
//! The `unsafe` code reads and writes the memory behind a buffer. Its exporter keeps the memory in
//! place as long as the buffer exists, and the length is the exporter's.

use crate::errors::input_error;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

/// Contiguous memory of a Python object. It may be sent to the thread of a run, which copies the
/// bytes while the caller waits.
pub struct HostBuffer(PyUntypedBuffer);

impl HostBuffer {
    /// The memory of an object.
    ///
    /// # Errors
    /// The object has no buffer, or its elements are not one after the other.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(input_error(
                py,
                "the elements of the array are not one after the other in memory; pass \
                 `numpy.ascontiguousarray(array)`",
            ));
        }
        Ok(Self(buffer))
    }

    /// The memory of an object that may be changed.
    ///
    /// # Errors
    /// Fails as `of` does, or the object is read-only.
    pub fn writable(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = Self::of(object)?;
        if buffer.0.readonly() {
            let message = "the array is read-only; pass a copy (`array.copy()`)";
            return Err(input_error(object.py(), message));
        }
        Ok(buffer)
    }

    /// Bytes of the memory.
    #[allow(unsafe_code, reason = "the exporter of the buffer owns the memory")]
    pub fn bytes(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the exporter guarantees that as many bytes stay valid while the buffer exists.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }

    /// Bytes of the memory of a buffer made by `writable`.
    #[allow(unsafe_code, reason = "the exporter of the buffer owns the memory")]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.0.len_bytes() == 0 {
            return &mut [];
        }
        // SAFETY: as in `bytes`; the exporter allows writing, and the caller of Python waits.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}

/// Address, size in bytes, and whether it is read-only, of an object's memory.
#[pyfunction]
pub fn buffer_facts(object: &Bound<'_, PyAny>) -> PyResult<(usize, usize, bool)> {
    let HostBuffer(buffer) = HostBuffer::of(object)?;
    Ok((
        buffer.buf_ptr() as usize,
        buffer.len_bytes(),
        buffer.readonly(),
    ))
}
