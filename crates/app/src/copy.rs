//! Copies of memory. Every kind of copy is reduced to rows of bytes between two places.

use crate::context::{Arrival, Context};
use crate::error::{Cuda, CudaError};
use crate::memory::Kind;
use crate::operation::{CopyOperation, Operation};
use warploom_run::{DevicePtr, HostAction};

/// Direction of a copy (`cudaMemcpyKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From host memory to host memory.
    HostToHost,
    /// From host memory to device memory.
    HostToDevice,
    /// From device memory to host memory.
    DeviceToHost,
    /// From device memory to device memory.
    DeviceToDevice,
    /// Derived from the two addresses.
    Default,
}

impl Direction {
    /// Direction with the number that the runtime uses.
    pub fn of(kind: i32) -> Cuda<Self> {
        Ok(match kind {
            0 => Self::HostToHost,
            1 => Self::HostToDevice,
            2 => Self::DeviceToHost,
            3 => Self::DeviceToDevice,
            4 => Self::Default,
            _ => return Err(CudaError::INVALID_MEMCPY_DIRECTION),
        })
    }
}

impl Direction {
    /// Number that the runtime uses for the direction.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// Stream in which an operation is executed, and whether the host waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Handle of the stream.
    pub stream: u64,
    /// True if the host waits for the end of the operation.
    pub wait: bool,
}

impl Submission {
    /// Submission to the default stream, with the host waiting for the operation.
    pub const BLOCKING: Self = Self {
        stream: 0,
        wait: true,
    };

    /// Submission to a stream without waiting.
    pub fn asynchronous(stream: u64) -> Self {
        Self {
            stream,
            wait: false,
        }
    }
}

/// Source or destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Address of the first byte.
    pub address: u64,
    /// Distance in bytes between consecutive rows.
    pub pitch: u64,
    /// Distance in bytes between consecutive slices.
    pub slice: u64,
}

impl Endpoint {
    /// Source or destination that consists of a single row.
    pub const fn linear(address: u64) -> Self {
        Self {
            address,
            pitch: 0,
            slice: 0,
        }
    }

    /// Address of a row, given as (row, slice).
    pub(crate) fn row(&self, row: (u64, u64)) -> u64 {
        let rows = row.0.wrapping_mul(self.pitch);
        let slices = row.1.wrapping_mul(self.slice);
        self.address.wrapping_add(rows).wrapping_add(slices)
    }
}

/// Extent of a box of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyExtent {
    /// Number of bytes in a row.
    pub width: u64,
    /// Number of rows in a slice.
    pub height: u64,
    /// Number of slices in the box.
    pub depth: u64,
}

impl CopyExtent {
    /// Extent of a single row.
    pub const fn linear(bytes: u64) -> Self {
        Self {
            width: bytes,
            height: 1,
            depth: 1,
        }
    }

    /// True if the box contains no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// All rows of the box as (row, slice).
    pub(crate) fn rows(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.depth).flat_map(move |z| (0..self.height).map(move |y| (y, z)))
    }
}

/// A box of bytes at a place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Position of the box.
    pub end: Endpoint,
    /// Extent of the box.
    pub extent: CopyExtent,
}

impl Context {
    /// Copies a box of bytes in the order of a stream, given by its handle and whether the host
    /// waits for the copy. The host also waits for a copy to host memory that is not pinned (CUDA
    /// Runtime API, "API synchronization behavior"). Bytes of the host are read at once, so that
    /// the host may change them after the call.
    pub fn copy(
        &mut self,
        to: Endpoint,
        from: Endpoint,
        extent: CopyExtent,
        direction: Direction,
        submission: Submission,
    ) -> Cuda {
        let copy = CopyOperation {
            to,
            from,
            extent,
            direction,
            described: None,
        };
        self.request_copy(copy, submission)
    }

    /// Executes or captures a copy.
    pub(crate) fn request_copy(&mut self, copy: CopyOperation, submission: Submission) -> Cuda {
        let Submission { stream, wait } = submission;
        if copy.extent.is_empty() {
            return Ok(());
        }
        if wait {
            self.forbid_in_capture(stream)?;
        } else if let Some(stream) = self.capturing(stream)? {
            return self.capture(stream, Operation::Copy(copy));
        }
        let stream = self.busy_stream(stream)?;
        let comes_out = self.perform_copy(&copy, stream)?;
        match (wait || comes_out, stream) {
            (false, _) => Ok(()),
            (true, 0) => self.wait(HostAction::Synchronize),
            (true, own) => self.wait(HostAction::SynchronizeStream(own)),
        }
    }

    /// Checks whether a copy can be executed. Returns for destination and source whether only the
    /// device can access the memory.
    pub(crate) fn check_copy(&self, copy: &CopyOperation) -> Cuda<(bool, bool)> {
        let CopyOperation { to, from, .. } = copy;
        if to.address == 0 || from.address == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let sides = (self.is_device(to.address)?, self.is_device(from.address)?);
        let fits = |side: bool, wants: bool| !wants || side;
        let wanted = match copy.direction {
            Direction::HostToDevice => fits(sides.0, true),
            Direction::DeviceToHost => fits(sides.1, true),
            Direction::DeviceToDevice => fits(sides.0, true) && fits(sides.1, true),
            Direction::HostToHost | Direction::Default => true,
        };
        // Memory that both sides can access matches either side.
        if !wanted && !self.is_shared(to.address) && !self.is_shared(from.address) {
            return Err(CudaError::INVALID_VALUE);
        }
        for (end, device) in [(to, sides.0), (from, sides.1)] {
            if device && !copy.extent.is_empty() {
                self.fits(*end, copy.extent)?;
            }
        }
        Ok(sides)
    }

    /// Executes a copy in the order of a simulated stream. Returns whether it writes host memory
    /// that is not pinned.
    pub(crate) fn perform_copy(&mut self, copy: &CopyOperation, stream: u32) -> Cuda<bool> {
        let sides = self.check_copy(copy)?;
        let CopyOperation {
            to, from, extent, ..
        } = *copy;
        match sides {
            (true, true) => self.copy_inside(to, from, extent, stream),
            (true, false) => self.copy_in(to, from, extent, stream),
            (false, true) => self.copy_out(to, from, extent, stream),
            (false, false) => self.copy_outside(to, from, extent),
        }?;
        Ok(sides == (false, true) && !self.is_shared(to.address))
    }

    /// True if host and device can access the memory at an address.
    pub(crate) fn is_shared(&self, address: u64) -> bool {
        self.block(address).is_some() || self.registered(address).is_some()
    }

    /// True if an address belongs to a variable of a module. Copies to and from variables bypass
    /// L2.
    fn is_variable(&self, address: u64) -> bool {
        let block = self.block(address).map(|(_, block)| block.kind);
        block == Some(Kind::Variable)
    }

    /// Checks that all rows of a box are inside one allocation.
    pub(crate) fn fits(&self, end: Endpoint, extent: CopyExtent) -> Cuda {
        let last = end.row((extent.height - 1, extent.depth - 1));
        let bytes = last
            .checked_sub(end.address)
            .and_then(|b| b.checked_add(extent.width));
        self.check_inside(end.address, bytes.ok_or(CudaError::INVALID_VALUE)?)
    }

    /// Copies from device memory to device memory.
    fn copy_inside(
        &mut self,
        to: Endpoint,
        from: Endpoint,
        extent: CopyExtent,
        stream: u32,
    ) -> Cuda {
        let action = move |device: &mut warploom_run::Device, _| {
            for row in extent.rows() {
                let (to, from) = (DevicePtr(to.row(row)), DevicePtr(from.row(row)));
                device.copy(from, to, extent.width)?;
            }
            Ok(())
        };
        self.mark(stream, Box::new(action)).map(|_| ())
    }

    /// Copies from host memory to device memory.
    fn copy_in(&mut self, to: Endpoint, from: Endpoint, extent: CopyExtent, stream: u32) -> Cuda {
        // The bytes are read now, as for memory that is not pinned.
        self.await_arrivals(from, extent)?;
        let rows = extent.rows();
        let rows: Vec<Vec<u8>> = rows
            .map(|row| self.host.read(from.row(row), extent.width))
            .collect();
        let to_variable = self.is_variable(to.address);
        let action = move |device: &mut warploom_run::Device, _| {
            for (row, bytes) in extent.rows().zip(rows) {
                let to = DevicePtr(to.row(row));
                if to_variable {
                    device.write_past_l2(to, &bytes)?
                } else {
                    device.write(to, &bytes)?
                }
            }
            Ok(())
        };
        self.mark(stream, Box::new(action)).map(|_| ())
    }

    /// Copies from device memory to host memory.
    fn copy_out(&mut self, to: Endpoint, from: Endpoint, extent: CopyExtent, stream: u32) -> Cuda {
        let arrivals = self.arrivals.0.clone();
        let ends = extent.rows().map(|row| (to.row(row), extent.width));
        self.outstanding.extend(ends);
        let from_variable = self.is_variable(from.address);
        let action = move |device: &mut warploom_run::Device, _| {
            for row in extent.rows() {
                let mut bytes = vec![0; extent.width as usize];
                let from = DevicePtr(from.row(row));
                device.read(from, &mut bytes)?;
                if !from_variable {
                    device.note_copy(from, extent.width);
                }
                let to = to.row(row);
                // The receiver may have ended with its process.
                let _ = arrivals.send(Arrival { to, bytes });
            }
            Ok(())
        };
        self.mark(stream, Box::new(action)).map(|_| ())
    }

    /// Waits if copies to the given host memory are still pending.
    fn await_arrivals(&mut self, from: Endpoint, extent: CopyExtent) -> Cuda {
        let meets = |(to, bytes): &(u64, u64)| {
            let mut rows = extent.rows().map(|row| from.row(row));
            rows.any(|row| {
                row < to.saturating_add(*bytes) && *to < row.saturating_add(extent.width)
            })
        };
        if self.outstanding.iter().any(meets) {
            self.synchronize()
        } else {
            Ok(())
        }
    }

    /// Copies between two places that the host can access.
    fn copy_outside(&mut self, to: Endpoint, from: Endpoint, extent: CopyExtent) -> Cuda {
        self.synchronize()?;
        for row in extent.rows() {
            let bytes = self.host.read(from.row(row), extent.width);
            self.host.write(to.row(row), &bytes);
        }
        Ok(())
    }
}
