//! Arrow's C stream interface: a table as one batch of columns, without a library. The layout of
//! the structs is that of Arrow's specification, "The Arrow C data interface" and "The Arrow C
//! stream interface".
//!
//! Invariants: a struct with a release function owns everything that its pointers reach, in its
//! private data; after its release the function is null. A consumer releases a stream, its schema
//! and its batch by themselves, from any thread.

use crate::errors::input_error;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

type Release<T> = Option<unsafe extern "C" fn(*mut T)>;

/// Schema of a column or of a table.
#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Release<ArrowSchema>,
    private_data: *mut c_void,
}

/// Values of a column or of a table.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Release<ArrowArray>,
    private_data: *mut c_void,
}

/// Stream of batches of the same schema.
#[repr(C)]
struct ArrowArrayStream {
    get_schema: unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int,
    get_next: unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int,
    get_last_error: unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char,
    release: Release<ArrowArrayStream>,
    private_data: *mut c_void,
}

/// Flag of a column whose values may be null.
const NULLABLE: i64 = 2;

/// Values of a column: the format of their type, the number of nulls, and the buffers in Arrow's
/// order, of which the first contains the bits of validity.
struct Column {
    name: CString,
    format: &'static CStr,
    rows: usize,
    nulls: usize,
    buffers: Vec<Vec<u8>>,
}

/// Columns of a stream. The batch takes their buffers.
struct Table {
    columns: Vec<Column>,
    rows: usize,
    was_read: bool,
}

/// Data that a schema points to.
struct SchemaData {
    name: CString,
    children: Vec<*mut ArrowSchema>,
}

/// Data that an array points to.
struct ArrayData {
    _bytes: Vec<Vec<u8>>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

/// Moves values to the heap and returns their addresses.
fn boxed<T>(values: impl IntoIterator<Item = T>) -> Vec<*mut T> {
    let values = values.into_iter();
    values.map(|value| Box::into_raw(Box::new(value))).collect()
}

impl ArrowSchema {
    fn new(format: &'static CStr, name: CString, children: Vec<Self>) -> Self {
        let children = boxed(children);
        let mut data = Box::new(SchemaData { name, children });
        Self {
            format: format.as_ptr(),
            name: data.name.as_ptr(),
            metadata: ptr::null(),
            flags: NULLABLE,
            n_children: data.children.len() as i64,
            children: data.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(data).cast(),
        }
    }
}

impl ArrowArray {
    /// Array without a release function, which ends a stream.
    const END: Self = Self {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: ptr::null_mut(),
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: None,
        private_data: ptr::null_mut(),
    };

    fn new(rows: usize, nulls: usize, bytes: Vec<Vec<u8>>, children: Vec<Self>) -> Self {
        let address = |buffer: &Vec<u8>| match buffer.is_empty() {
            true => ptr::null(),
            false => buffer.as_ptr().cast::<c_void>(),
        };
        let buffers = bytes.iter().map(address).collect();
        let mut data = Box::new(ArrayData {
            _bytes: bytes,
            buffers,
            children: boxed(children),
        });
        Self {
            length: rows as i64,
            null_count: nulls as i64,
            n_buffers: data.buffers.len() as i64,
            n_children: data.children.len() as i64,
            buffers: data.buffers.as_mut_ptr(),
            children: data.children.as_mut_ptr(),
            release: Some(release_array),
            private_data: Box::into_raw(data).cast(),
            ..Self::END
        }
    }
}

/// Frees a schema with its children, except for those that the consumer has released or moved.
#[allow(unsafe_code, reason = "the consumer calls it by the C interface")]
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the consumer passes a struct of `ArrowSchema::new` that was not released.
    unsafe {
        let data = Box::from_raw((*schema).private_data.cast::<SchemaData>());
        for child in data.children {
            let mut child = Box::from_raw(child);
            child.release.inspect(|release| release(&raw mut *child));
        }
        (*schema).release = None;
    }
}

/// Frees an array with its children, except for those that the consumer has released or moved.
#[allow(unsafe_code, reason = "the consumer calls it by the C interface")]
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the consumer passes a struct of `ArrowArray::new` that was not released.
    unsafe {
        let data = Box::from_raw((*array).private_data.cast::<ArrayData>());
        for child in data.children {
            let mut child = Box::from_raw(child);
            child.release.inspect(|release| release(&raw mut *child));
        }
        (*array).release = None;
    }
}

#[allow(unsafe_code, reason = "the consumer calls it by the C interface")]
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer passes a stream of `arrow_stream` and room for a schema.
    unsafe {
        let table = &*(*stream).private_data.cast::<Table>();
        let columns = table.columns.iter();
        let columns = columns.map(|c| ArrowSchema::new(c.format, c.name.clone(), Vec::new()));
        out.write(ArrowSchema::new(
            c"+s",
            CString::default(),
            columns.collect(),
        ));
    }
    0
}

#[allow(unsafe_code, reason = "the consumer calls it by the C interface")]
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the consumer passes a stream of `arrow_stream` and room for an array.
    unsafe {
        let table = &mut *(*stream).private_data.cast::<Table>();
        out.write(table.batch());
    }
    0
}

#[allow(unsafe_code, reason = "the consumer calls it by the C interface")]
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

#[allow(unsafe_code, reason = "the consumer calls it by the C interface")]
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: the consumer passes a stream of `arrow_stream` that was not released.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Table>()));
        (*stream).release = None;
    }
}

impl Table {
    /// The one batch, and then the end.
    fn batch(&mut self) -> ArrowArray {
        if std::mem::replace(&mut self.was_read, true) {
            return ArrowArray::END;
        }
        let columns = self.columns.iter_mut().map(|column| {
            let buffers = std::mem::take(&mut column.buffers);
            ArrowArray::new(column.rows, column.nulls, buffers, Vec::new())
        });
        let columns = columns.collect();
        ArrowArray::new(self.rows, 0, vec![Vec::new()], columns)
    }
}

/// Stream in a capsule, which releases what no consumer has taken over.
struct Stream(ArrowArrayStream);

#[allow(unsafe_code, reason = "the private data may be freed on any thread")]
// SAFETY: the table behind the pointer is plain data.
unsafe impl Send for Stream {}

impl Drop for Stream {
    #[allow(unsafe_code, reason = "the consumer may have changed the function")]
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the stream was neither released nor moved away, which clears the function.
            unsafe { release(&raw mut self.0) };
        }
    }
}

/// A capsule `arrow_array_stream` with a table. Each column has a name and a list of integers,
/// floats, strings or truth values, where `None` is null.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let columns: Vec<_> = columns
        .into_iter()
        .map(|(name, values)| column(&name, &values))
        .collect::<PyResult<_>>()?;
    let rows = columns.first().map_or(0, |column| column.rows);
    if columns.iter().any(|column| column.rows != rows) {
        return Err(input_error(
            py,
            "the columns of a table must have the same length",
        ));
    }
    let table = Table {
        columns,
        rows,
        was_read: false,
    };
    let stream = ArrowArrayStream {
        get_schema,
        get_next,
        get_last_error,
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(table)).cast(),
    };
    PyCapsule::new_with_value(py, Stream(stream), c"arrow_array_stream")
}

fn column(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Column> {
    let named = |column: Column| Column {
        name: CString::new(name).unwrap_or_default(),
        ..column
    };
    if let Ok(bits) = values.extract::<Vec<Option<bool>>>() {
        let data = bitmap(bits.iter().map(|bit| *bit == Some(true)));
        return Ok(named(Column::new(c"b", &bits, vec![data])));
    }
    if let Ok(numbers) = values.extract::<Vec<Option<i64>>>() {
        let data = numbers.iter().flat_map(|n| n.unwrap_or(0).to_le_bytes());
        return Ok(named(Column::new(c"l", &numbers, vec![data.collect()])));
    }
    if let Ok(numbers) = values.extract::<Vec<Option<f64>>>() {
        let data = numbers.iter().flat_map(|n| n.unwrap_or(0.0).to_le_bytes());
        return Ok(named(Column::new(c"g", &numbers, vec![data.collect()])));
    }
    let texts = values.extract::<Vec<Option<String>>>()?;
    let (mut offsets, mut data) = (0_i64.to_le_bytes().to_vec(), Vec::new());
    for text in &texts {
        data.extend_from_slice(text.as_deref().unwrap_or("").as_bytes());
        offsets.extend((data.len() as i64).to_le_bytes());
    }
    Ok(named(Column::new(c"U", &texts, vec![offsets, data])))
}

impl Column {
    /// A column without a name. A column without nulls needs no bits of validity.
    fn new<T>(format: &'static CStr, values: &[Option<T>], data: Vec<Vec<u8>>) -> Self {
        let nulls = values.iter().filter(|value| value.is_none()).count();
        let validity = match nulls {
            0 => Vec::new(),
            _ => bitmap(values.iter().map(Option::is_some)),
        };
        Self {
            name: CString::default(),
            format,
            rows: values.len(),
            nulls,
            buffers: std::iter::once(validity).chain(data).collect(),
        }
    }
}

/// Bits in Arrow's order: the lowest bit of a byte comes first.
fn bitmap(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(bit) << (at % 8);
        }
    }
    bytes
}
