//! Fills of memory: rows of elements with the same value.

use crate::context::Context;
use crate::copy::{Area, CopyExtent, Endpoint};
use crate::error::{Cuda, CudaError};
use crate::operation::Operation;
use warploom_run::{Device, DevicePtr, HostError};

/// Fill of a box with elements of 1, 2 or 4 bytes (`cudaMemsetParams`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Filled box. Its width is in bytes.
    pub area: Area,
    /// Value, of which an element holds the low bytes.
    pub value: u32,
    /// Size of an element in bytes.
    pub element: u32,
}

impl Fill {
    /// Fill of `height` rows of `width` elements of `element` bytes, which begin at `start`.
    ///
    /// # Errors
    /// Fails if elements of that size are not supported, or if rows are longer than their distance.
    pub fn of_rows(
        start: Endpoint,
        value: u32,
        element: u32,
        width: u64,
        height: u64,
    ) -> Cuda<Self> {
        let bytes = width.checked_mul(element.into());
        let bytes = bytes.filter(|_| matches!(element, 1 | 2 | 4));
        let width = bytes.ok_or(CudaError::INVALID_VALUE)?;
        if height > 1 && width > start.pitch {
            return Err(CudaError::INVALID_VALUE);
        }
        let extent = CopyExtent {
            width,
            height,
            depth: 1,
        };
        Ok(Self {
            area: Area { end: start, extent },
            value,
            element,
        })
    }

    /// Bytes of one row of the filled box.
    fn row(&self) -> Vec<u8> {
        let element = &self.value.to_le_bytes()[..self.element as usize];
        let count = self.area.extent.width / u64::from(self.element);
        element.repeat(count as usize)
    }

    /// Writes the fill to device memory.
    fn apply(&self, device: &mut Device) -> Result<(), HostError> {
        let Area { end, extent } = self.area;
        for row in extent.rows() {
            let to = DevicePtr(end.row(row));
            match self.element {
                1 => device.fill(to, self.value as u8, extent.width)?,
                _ => device.write_past_l2(to, &self.row())?,
            }
        }
        Ok(())
    }
}

impl Context {
    /// Fills a box with one byte value in the order of a stream.
    pub fn fill(&mut self, area: Area, byte: u8, stream: u64) -> Cuda {
        let fill = Fill {
            area,
            value: byte.into(),
            element: 1,
        };
        self.fill_elements(fill, stream)
    }

    /// Fills a box with elements of the same value in the order of a stream.
    pub fn fill_elements(&mut self, fill: Fill, stream: u64) -> Cuda {
        if fill.area.extent.is_empty() {
            return Ok(());
        }
        if let Some(stream) = self.capturing(stream)? {
            return self.capture(stream, Operation::Fill(fill));
        }
        let stream = self.busy_stream(stream)?;
        self.perform_fill(&fill, stream)
    }

    /// Checks whether a fill can be executed. Returns true if it concerns memory that only the
    /// device can access.
    pub(crate) fn check_fill(&self, fill: &Fill) -> Cuda<bool> {
        let Area { end, extent } = fill.area;
        match self.is_device(end.address)? {
            true if extent.is_empty() => Ok(true),
            true => self.fits(end, extent).map(|()| true),
            false if self.is_shared(end.address) => Ok(false),
            false => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Executes a fill in the order of a simulated stream.
    pub(crate) fn perform_fill(&mut self, fill: &Fill, stream: u32) -> Cuda {
        let fill = *fill;
        if self.check_fill(&fill)? {
            return self
                .mark(stream, Box::new(move |device, _| fill.apply(device)))
                .map(|_| ());
        }
        self.synchronize()?;
        let (row, Area { end, extent }) = (fill.row(), fill.area);
        extent
            .rows()
            .for_each(|at| self.host.write(end.row(at), &row));
        Ok(())
    }
}
