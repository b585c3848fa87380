//! Copies and fills of memory, arrays and symbols.

use crate::device::check_device;
use crate::ffi::get;
use crate::types::{CCopy3, CExtent, CPeerCopy3, CPitched, CPosition};
use warploom_app::{
    Area, Context, Copy3, CopyExtent, Cuda, CudaError, Direction, Endpoint, Place, Submission,
};

/// Number of the direction `cudaMemcpyDeviceToDevice`.
const DEVICE_TO_DEVICE: i32 = 3;

/// Source or destination with several rows.
fn plane(address: u64, pitch: usize) -> Endpoint {
    Endpoint {
        address,
        pitch: pitch as u64,
        slice: 0,
    }
}

/// Extent of several rows.
fn rows(width: usize, height: usize) -> CopyExtent {
    CopyExtent {
        width: width as u64,
        height: height as u64,
        depth: 1,
    }
}

/// Copies several rows of bytes.
fn copy2(
    context: &mut Context,
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    (width, height): (usize, usize),
    kind: i32,
    submission: Submission,
) -> Cuda {
    if height > 0 && (width > to_pitch || width > from_pitch) {
        return Err(CudaError::INVALID_PITCH);
    }
    let (to, from) = (plane(to, to_pitch), plane(from, from_pitch));
    context.copy(
        to,
        from,
        rows(width, height),
        Direction::of(kind)?,
        submission,
    )
}

/// Copies a single row.
fn copy1(
    context: &mut Context,
    (to, from): (u64, u64),
    bytes: usize,
    kind: i32,
    submission: Submission,
) -> Cuda {
    let extent = CopyExtent::linear(bytes as u64);
    let direction = Direction::of(kind)?;
    context.copy(
        Endpoint::linear(to),
        Endpoint::linear(from),
        extent,
        direction,
        submission,
    )
}

/// Directions that are valid for copies to symbols, and for copies from symbols.
pub const TO_SYMBOL: [i32; 3] = [1, DEVICE_TO_DEVICE, 4];
pub const FROM_SYMBOL: [i32; 3] = [2, DEVICE_TO_DEVICE, 4];

/// Position in a symbol.
pub fn in_symbol(
    context: &mut Context,
    symbol: u64,
    (bytes, offset): (usize, usize),
    (kind, kinds): (i32, [i32; 3]),
) -> Cuda<u64> {
    if !kinds.contains(&kind) {
        return Err(CudaError::INVALID_MEMCPY_DIRECTION);
    }
    let (address, size) = context.symbol(symbol)?;
    match (bytes as u64).checked_add(offset as u64) {
        Some(end) if end <= size => Ok(address + offset as u64),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// Copies between memory and an array without regard to rows, as CUDA 11 provides them: the bytes
/// of the array are consecutive, row after row.
pub fn along_array(
    context: &mut Context,
    array: u64,
    (x, y): (usize, usize),
    (address, bytes): (u64, usize),
    (kind, into): (i32, bool),
    submission: Submission,
) -> Cuda {
    let own = context.array(array)?;
    let row = own.extent.width * own.channels.texel_bytes()?;
    let (mut x, mut y) = (x as u64, y as u64);
    let (mut done, all) = (0, bytes as u64);
    if x >= row {
        return Err(CudaError::INVALID_VALUE);
    }
    while done < all {
        let (part, height) = match x {
            0 if all - done >= row => (row, (all - done) / row),
            _ => ((row - x).min(all - done), 1),
        };
        let extent = CopyExtent {
            width: part,
            height,
            depth: 1,
        };
        let (inside, outside) = (own.place(x, y, 0), plane(address + done, row as usize));
        let (to, from) = if into {
            (inside, outside)
        } else {
            (outside, inside)
        };
        context.copy(to, from, extent, Direction::of(kind)?, submission)?;
        done += part * height;
        y += height;
        x = 0;
    }
    Ok(())
}

/// Copies between arrays without regard to rows: the bytes of each are consecutive, row after row.
pub fn between_arrays(
    context: &mut Context,
    (to, mut to_x, mut to_y): (u64, usize, usize),
    (from, mut x, mut y): (u64, usize, usize),
    bytes: usize,
) -> Cuda {
    let row = |context: &Context, array| -> Cuda<usize> {
        let own = context.array(array)?;
        Ok((own.extent.width * own.channels.texel_bytes()?) as usize)
    };
    let (to_row, row) = (row(context, to)?, row(context, from)?);
    if to_x >= to_row || x >= row {
        return Err(CudaError::INVALID_VALUE);
    }
    let mut left = bytes;
    while left > 0 {
        let part = left.min(to_row - to_x).min(row - x);
        array_to_array(context, (to, to_x, to_y), (from, x, y), (part, 1))?;
        left -= part;
        (to_x, to_y) = ((to_x + part) % to_row, to_y + (to_x + part) / to_row);
        (x, y) = ((x + part) % row, y + (x + part) / row);
    }
    Ok(())
}

/// Copies a box between two arrays.
fn array_to_array(
    context: &mut Context,
    to: (u64, usize, usize),
    (from, x, y): (u64, usize, usize),
    size: (usize, usize),
) -> Cuda {
    inside_array(context, (from, x, y), size)?;
    let source = context.array(from)?.place(x as u64, y as u64, 0);
    let from = (source.address, source.pitch as usize);
    array2(
        context,
        to,
        from,
        size,
        (DEVICE_TO_DEVICE, true),
        Submission::BLOCKING,
    )
}

/// Checks that a box is inside an array.
fn inside_array(
    context: &Context,
    (array, x, y): (u64, usize, usize),
    (width, height): (usize, usize),
) -> Cuda {
    let own = context.array(array)?;
    let row = own.extent.width * own.channels.texel_bytes()?;
    let fits = |at: usize, bytes: usize, most: u64| {
        at.checked_add(bytes).is_some_and(|end| end as u64 <= most)
    };
    if fits(x, width, row) && fits(y, height, own.rows()) {
        Ok(())
    } else {
        Err(CudaError::INVALID_VALUE)
    }
}

/// Copies several rows between memory and an array.
fn array2(
    context: &mut Context,
    (array, x, y): (u64, usize, usize),
    (address, pitch): (u64, usize),
    (width, height): (usize, usize),
    (kind, into): (i32, bool),
    submission: Submission,
) -> Cuda {
    inside_array(context, (array, x, y), (width, height))?;
    if height > 1 && width > pitch {
        return Err(CudaError::INVALID_PITCH);
    }
    let own = context.array(array)?;
    let (inside, outside) = (own.place(x as u64, y as u64, 0), plane(address, pitch));
    let (to, from) = if into {
        (inside, outside)
    } else {
        (outside, inside)
    };
    context.copy(
        to,
        from,
        rows(width, height),
        Direction::of(kind)?,
        submission,
    )
}

/// Converts a description of a copy from the layout of the header.
pub fn described(own: &CCopy3) -> Cuda<Copy3> {
    let place = |array, at: CPosition, memory: CPitched| Place {
        array,
        position: [at.x, at.y, at.z].map(|n| n as u64),
        pointer: memory.pointer,
        pitch: memory.pitch as u64,
        width: memory.width as u64,
        height: memory.height as u64,
    };
    Ok(Copy3 {
        to: place(own.to_array, own.to_position, own.to),
        from: place(own.from_array, own.from_position, own.from),
        extent: own.extent.into(),
        direction: Direction::of(own.kind)?,
    })
}

/// Copies as described, in the order of a stream.
fn copy3(context: &mut Context, own: CCopy3, submission: Submission) -> Cuda {
    context.copy3(&described(&own)?, submission)
}

/// Copies as described between the devices of two contexts, both of which are the only one.
fn copy3_peer(context: &mut Context, own: CPeerCopy3, submission: Submission) -> Cuda {
    check_device(own.to_device)?;
    check_device(own.from_device)?;
    let own = CCopy3 {
        from_array: own.from_array,
        from_position: own.from_position,
        from: own.from,
        to_array: own.to_array,
        to_position: own.to_position,
        to: own.to,
        extent: own.extent,
        kind: DEVICE_TO_DEVICE,
    };
    copy3(context, own, submission)
}

/// Fills rows of memory with a byte.
fn fill(context: &mut Context, end: Endpoint, value: i32, extent: CopyExtent, stream: u64) -> Cuda {
    context.fill(Area { end, extent }, value as u8, stream)
}

/// Fills a box of pitched memory with a byte.
fn fill3(context: &mut Context, own: CPitched, value: i32, size: CExtent, stream: u64) -> Cuda {
    let (pitch, rows) = (own.pitch as u64, own.height.max(1) as u64);
    let end = Endpoint {
        address: own.pointer,
        pitch,
        slice: pitch.saturating_mul(rows),
    };
    let extent = CopyExtent {
        width: size.width as u64,
        height: size.height as u64,
        depth: size.depth as u64,
    };
    fill(context, end, value, extent, stream)
}

runtime! {
    fn cudaMemcpy / cudaMemcpy_ptds (to: u64, from: u64, bytes: usize, kind: i32) |context| {
        copy1(context, (to, from), bytes, kind, Submission::BLOCKING)
    }

    fn cudaMemcpyAsync / cudaMemcpyAsync_ptsz (
        to: u64, from: u64, bytes: usize, kind: i32, stream: u64,
    ) |context| {
        copy1(context, (to, from), bytes, kind, Submission::asynchronous(stream))
    }

    fn cudaMemcpyPeer(
        to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize,
    ) |context| {
        check_device(to_device)?;
        check_device(from_device)?;
        copy1(context, (to, from), bytes, 4, Submission::BLOCKING)
    }

    fn cudaMemcpyPeerAsync(
        to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: u64,
    ) |context| {
        check_device(to_device)?;
        check_device(from_device)?;
        copy1(context, (to, from), bytes, 4, Submission::asynchronous(stream))
    }

    fn cudaMemcpy2D / cudaMemcpy2D_ptds (
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize,
        kind: i32,
    ) |context| {
        let size = (width, height);
        copy2(context, (to, to_pitch), (from, from_pitch), size, kind, Submission::BLOCKING)
    }

    fn cudaMemcpy2DAsync / cudaMemcpy2DAsync_ptsz (
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize,
        kind: i32,
        stream: u64,
    ) |context| {
        let submission = Submission::asynchronous(stream);
        copy2(context, (to, to_pitch), (from, from_pitch), (width, height), kind, submission)
    }

    fn cudaMemcpy3D / cudaMemcpy3D_ptds (own: *const CCopy3) |context| {
        let own = get(own)?;
        copy3(context, own, Submission::BLOCKING)
    }

    fn cudaMemcpy3DAsync / cudaMemcpy3DAsync_ptsz (own: *const CCopy3, stream: u64) |context| {
        let own = get(own)?;
        copy3(context, own, Submission::asynchronous(stream))
    }

    fn cudaMemcpyToSymbol / cudaMemcpyToSymbol_ptds (
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) |context| {
        let to = in_symbol(context, symbol, (bytes, offset), (kind, TO_SYMBOL))?;
        copy1(context, (to, from), bytes, kind, Submission::BLOCKING)
    }

    fn cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz (
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32, stream: u64,
    ) |context| {
        let to = in_symbol(context, symbol, (bytes, offset), (kind, TO_SYMBOL))?;
        copy1(context, (to, from), bytes, kind, Submission::asynchronous(stream))
    }

    fn cudaMemcpyFromSymbol / cudaMemcpyFromSymbol_ptds (
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) |context| {
        let from = in_symbol(context, symbol, (bytes, offset), (kind, FROM_SYMBOL))?;
        copy1(context, (to, from), bytes, kind, Submission::BLOCKING)
    }

    fn cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz (
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32, stream: u64,
    ) |context| {
        let from = in_symbol(context, symbol, (bytes, offset), (kind, FROM_SYMBOL))?;
        copy1(context, (to, from), bytes, kind, Submission::asynchronous(stream))
    }

    fn cudaMemcpyToArray / cudaMemcpyToArray_ptds (
        array: u64, x: usize, y: usize, from: u64, bytes: usize, kind: i32,
    ) |context| {
        along_array(context, array, (x, y), (from, bytes), (kind, true), Submission::BLOCKING)
    }

    fn cudaMemcpyToArrayAsync / cudaMemcpyToArrayAsync_ptsz (
        array: u64, x: usize, y: usize, from: u64, bytes: usize, kind: i32, stream: u64,
    ) |context| {
        let submission = Submission::asynchronous(stream);
        along_array(context, array, (x, y), (from, bytes), (kind, true), submission)
    }

    fn cudaMemcpyFromArray / cudaMemcpyFromArray_ptds (
        to: u64, array: u64, x: usize, y: usize, bytes: usize, kind: i32,
    ) |context| {
        along_array(context, array, (x, y), (to, bytes), (kind, false), Submission::BLOCKING)
    }

    fn cudaMemcpyFromArrayAsync / cudaMemcpyFromArrayAsync_ptsz (
        to: u64, array: u64, x: usize, y: usize, bytes: usize, kind: i32, stream: u64,
    ) |context| {
        let submission = Submission::asynchronous(stream);
        along_array(context, array, (x, y), (to, bytes), (kind, false), submission)
    }

    fn cudaMemcpy2DToArray / cudaMemcpy2DToArray_ptds (
        array: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize,
        kind: i32,
    ) |context| {
        let size = (width, height);
        array2(context, (array, x, y), (from, pitch), size, (kind, true), Submission::BLOCKING)
    }

    fn cudaMemcpy2DToArrayAsync / cudaMemcpy2DToArrayAsync_ptsz (
        array: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize,
        kind: i32,
        stream: u64,
    ) |context| {
        let (size, submission) = ((width, height), Submission::asynchronous(stream));
        array2(context, (array, x, y), (from, pitch), size, (kind, true), submission)
    }

    fn cudaMemcpy2DFromArray / cudaMemcpy2DFromArray_ptds (
        to: u64, pitch: usize, array: u64, x: usize, y: usize, width: usize, height: usize,
        kind: i32,
    ) |context| {
        let size = (width, height);
        array2(context, (array, x, y), (to, pitch), size, (kind, false), Submission::BLOCKING)
    }

    fn cudaMemcpy2DFromArrayAsync / cudaMemcpy2DFromArrayAsync_ptsz (
        to: u64, pitch: usize, array: u64, x: usize, y: usize, width: usize, height: usize,
        kind: i32,
        stream: u64,
    ) |context| {
        let (size, submission) = ((width, height), Submission::asynchronous(stream));
        array2(context, (array, x, y), (to, pitch), size, (kind, false), submission)
    }

    fn cudaMemcpy2DArrayToArray / cudaMemcpy2DArrayToArray_ptds (
        to: u64, to_x: usize, to_y: usize, from: u64, x: usize, y: usize, width: usize,
        height: usize,
        _kind: i32,
    ) |context| {
        array_to_array(context, (to, to_x, to_y), (from, x, y), (width, height))
    }

    fn cudaMemcpyArrayToArray / cudaMemcpyArrayToArray_ptds (
        to: u64, to_x: usize, to_y: usize, from: u64, x: usize, y: usize, bytes: usize,
        _kind: i32,
    ) |context| {
        between_arrays(context, (to, to_x, to_y), (from, x, y), bytes)
    }

    fn cudaMemcpy3DPeer / cudaMemcpy3DPeer_ptds (own: *const CPeerCopy3) |context| {
        let own = get(own)?;
        copy3_peer(context, own, Submission::BLOCKING)
    }

    fn cudaMemcpy3DPeerAsync / cudaMemcpy3DPeerAsync_ptsz (
        own: *const CPeerCopy3, stream: u64,
    ) |context| {
        let own = get(own)?;
        copy3_peer(context, own, Submission::asynchronous(stream))
    }

    fn cudaMemset / cudaMemset_ptds (to: u64, value: i32, bytes: usize) |context| {
        fill(context, Endpoint::linear(to), value, CopyExtent::linear(bytes as u64), 0)
    }

    fn cudaMemsetAsync / cudaMemsetAsync_ptsz (
        to: u64, value: i32, bytes: usize, stream: u64,
    ) |context| {
        fill(context, Endpoint::linear(to), value, CopyExtent::linear(bytes as u64), stream)
    }

    fn cudaMemset2D / cudaMemset2D_ptds (
        to: u64, pitch: usize, value: i32, width: usize, height: usize,
    ) |context| {
        fill(context, plane(to, pitch), value, rows(width, height), 0)
    }

    fn cudaMemset2DAsync / cudaMemset2DAsync_ptsz (
        to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: u64,
    ) |context| {
        fill(context, plane(to, pitch), value, rows(width, height), stream)
    }

    fn cudaMemset3D / cudaMemset3D_ptds (to: CPitched, value: i32, extent: CExtent) |context| {
        fill3(context, to, value, extent, 0)
    }

    fn cudaMemset3DAsync / cudaMemset3DAsync_ptsz (
        to: CPitched, value: i32, extent: CExtent, stream: u64,
    ) |context| {
        fill3(context, to, value, extent, stream)
    }
}
