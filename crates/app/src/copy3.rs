//! Copies in three dimensions as the runtime describes them (`cudaMemcpy3DParms`).

use crate::array::Extent;
use crate::context::Context;
use crate::copy::{CopyExtent, Direction, Endpoint, Submission};
use crate::error::Cuda;
use crate::operation::CopyOperation;

/// Source or destination of a three-dimensional copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// Handle of an array, or 0 for other memory.
    pub array: u64,
    /// Start of the box as x, y and z. The unit of x is texels for an array and bytes for other
    /// memory; y counts rows and z slices.
    pub position: [u64; 3],
    /// Address of memory that is not an array.
    pub pointer: u64,
    /// Distance in bytes between consecutive rows of that memory.
    pub pitch: u64,
    /// Bytes of a row without padding.
    pub width: u64,
    /// Number of rows in a slice of that memory.
    pub height: u64,
}

/// Copy of a box between memory or arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy3 {
    /// Destination of the copy.
    pub to: Place,
    /// Source of the copy.
    pub from: Place,
    /// Extent of the box. The width counts texels if an array is involved, and bytes otherwise.
    pub extent: Extent,
    /// Sides on which source and destination must be.
    pub direction: Direction,
}

impl Place {
    /// Describes memory that is not an array.
    fn of(end: Endpoint, extent: CopyExtent) -> Self {
        let pitch = end.pitch.max(extent.width);
        Self {
            pointer: end.address,
            pitch,
            width: extent.width,
            height: (end.slice / pitch).max(extent.height),
            ..Self::default()
        }
    }
}

impl CopyOperation {
    /// Description of the copy, as the program gave it or as the runtime would give it.
    pub fn description(&self) -> Copy3 {
        let extent = Extent {
            width: self.extent.width,
            height: self.extent.height,
            depth: self.extent.depth,
        };
        self.described.unwrap_or(Copy3 {
            to: Place::of(self.to, self.extent),
            from: Place::of(self.from, self.extent),
            extent,
            direction: self.direction,
        })
    }
}

impl Context {
    /// Executes a copy in the order of a stream.
    pub fn copy3(&mut self, copy: &Copy3, submission: Submission) -> Cuda {
        let copy = self.described_copy(copy)?;
        self.request_copy(copy, submission)
    }

    /// Converts a description to the copy that it denotes.
    pub fn described_copy(&self, copy: &Copy3) -> Cuda<CopyOperation> {
        let (to, to_unit) = self.end(&copy.to)?;
        let (from, from_unit) = self.end(&copy.from)?;
        let extent = CopyExtent {
            width: copy.extent.width.saturating_mul(to_unit.max(from_unit)),
            height: copy.extent.height,
            depth: copy.extent.depth,
        };
        Ok(CopyOperation {
            to,
            from,
            extent,
            direction: copy.direction,
            described: Some(*copy),
        })
    }

    /// Resolves one side of a copy. Also returns the number of bytes that one unit of x stands for.
    fn end(&self, place: &Place) -> Cuda<(Endpoint, u64)> {
        let [x, y, z] = place.position;
        if place.array != 0 {
            let own = self.array(place.array)?;
            let texel = own.channels.texel_bytes()?;
            return Ok((own.place(x.saturating_mul(texel), y, z), texel));
        }
        let (pitch, rows) = (place.pitch, place.height.max(1));
        let slice = pitch.saturating_mul(rows);
        let offset = z
            .saturating_mul(slice)
            .saturating_add(y.saturating_mul(pitch))
            .saturating_add(x);
        let end = Endpoint {
            address: place.pointer.wrapping_add(offset),
            pitch,
            slice,
        };
        Ok((end, 1))
    }
}
