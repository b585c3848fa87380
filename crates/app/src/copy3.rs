//! Copies in three dimensions as the runtime describes them (`cudaMemcpy3DParms`).

use crate::array::Extent;
use crate::context::Context;
use crate::copy::{Box3, Direction, End};
use crate::error::Cuda;
use crate::work::CopyWork;

/// Source or destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// An array's handle, or 0.
    pub array: u64,
    /// Where the box begins: texels of an array, bytes of other memory; rows; slices.
    pub position: [u64; 3],
    /// First byte of memory that is no array.
    pub pointer: u64,
    /// Bytes from one row of that memory to the next.
    pub pitch: u64,
    /// Bytes of a row without padding.
    pub width: u64,
    /// Rows of one slice of that memory.
    pub height: u64,
}

/// A copy of a box of memory or of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy3 {
    /// Place to which the box is copied.
    pub to: Place,
    /// Place from which the box is copied.
    pub from: Place,
    /// How much: texels of an array if one is concerned, else bytes; rows; slices.
    pub extent: Extent,
    /// Which sides the ends must be on.
    pub direction: Direction,
}

impl Place {
    /// Memory that is no array.
    fn of(end: End, extent: Box3) -> Self {
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

impl CopyWork {
    /// The copy as the runtime would describe it.
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
    /// Copies as described, in the order of a stream, for which the host may wait.
    pub fn copy3(&mut self, copy: &Copy3, stream: (u64, bool)) -> Cuda {
        let copy = self.described_copy(copy)?;
        self.ask_copy(copy, stream)
    }

    /// What is to be done for a description.
    pub fn described_copy(&self, copy: &Copy3) -> Cuda<CopyWork> {
        let (to, to_unit) = self.end(&copy.to)?;
        let (from, from_unit) = self.end(&copy.from)?;
        let extent = Box3 {
            width: copy.extent.width.saturating_mul(to_unit.max(from_unit)),
            height: copy.extent.height,
            depth: copy.extent.depth,
        };
        Ok(CopyWork {
            to,
            from,
            extent,
            direction: copy.direction,
            described: Some(*copy),
        })
    }

    /// One end, and bytes of what its positions and extents count.
    fn end(&self, place: &Place) -> Cuda<(End, u64)> {
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
        let end = End {
            address: place.pointer.wrapping_add(offset),
            pitch,
            slice,
        };
        Ok((end, 1))
    }
}
