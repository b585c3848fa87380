//! Copies and fills: every kind comes down to rows of bytes between two places.

use crate::context::{Arrival, Context};
use crate::error::{Cuda, CudaError};
use warploom_run::DevicePtr;

/// `cudaMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Host to host.
    HostToHost,
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Device to device.
    DeviceToDevice,
    /// As the addresses say.
    Default,
}

impl Direction {
    /// From the runtime's number.
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

/// One end of a copy: first byte, bytes from one row to the next, and from one slice to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// First byte.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
}

impl End {
    /// Bytes in one row.
    pub const fn linear(address: u64) -> Self {
        Self {
            address,
            pitch: 0,
            slice: 0,
        }
    }

    fn row(&self, row: (u64, u64)) -> u64 {
        let offset = row.0 * self.pitch + row.1 * self.slice;
        self.address.wrapping_add(offset)
    }
}

/// Bytes of a row, rows of a slice, slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Box3 {
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

impl Box3 {
    /// One row.
    pub const fn linear(bytes: u64) -> Self {
        Self {
            width: bytes,
            height: 1,
            depth: 1,
        }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    fn rows(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.depth).flat_map(move |z| (0..self.height).map(move |y| (y, z)))
    }
}

/// A box of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Where.
    pub end: End,
    /// How large.
    pub extent: Box3,
}

impl Context {
    /// Copies a box of bytes in the order of a stream; `wait` says that the host waits for it.
    pub fn copy(
        &mut self,
        to: End,
        from: End,
        extent: Box3,
        direction: Direction,
        (stream, wait): (u64, bool),
    ) -> Cuda {
        if extent.is_empty() {
            return Ok(());
        }
        let stream = self.busy_stream(stream)?;
        if to.address == 0 || from.address == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let sides = (self.is_device(to.address)?, self.is_device(from.address)?);
        let fits = |side: bool, wants: bool| !wants || side;
        let wanted = match direction {
            Direction::HostToDevice => fits(sides.0, true),
            Direction::DeviceToHost => fits(sides.1, true),
            Direction::DeviceToDevice => fits(sides.0, true) && fits(sides.1, true),
            Direction::HostToHost | Direction::Default => true,
        };
        // Memory that both sides see fits either word.
        if !wanted && !self.is_shared(to.address) && !self.is_shared(from.address) {
            return Err(CudaError::INVALID_VALUE);
        }
        for (end, device) in [(to, sides.0), (from, sides.1)] {
            if device {
                self.fits(end, extent)?;
            }
        }
        match sides {
            (true, true) => self.copy_inside(to, from, extent, stream),
            (true, false) => self.copy_in(to, from, extent, stream),
            (false, true) => self.copy_out(to, from, extent, stream),
            (false, false) => self.copy_outside(to, from, extent),
        }?;
        match (wait, stream) {
            (false, _) => Ok(()),
            (true, 0) => self.wait(warploom_run::HostAction::Synchronize),
            (true, own) => self.wait(warploom_run::HostAction::SynchronizeStream(own)),
        }
    }

    fn is_shared(&self, address: u64) -> bool {
        self.block(address).is_some() || self.registered(address).is_some()
    }

    /// All rows of a box are inside one block.
    fn fits(&self, end: End, extent: Box3) -> Cuda {
        let last = end.row((extent.height - 1, extent.depth - 1));
        let bytes = last
            .checked_sub(end.address)
            .and_then(|b| b.checked_add(extent.width));
        self.inside(end.address, bytes.ok_or(CudaError::INVALID_VALUE)?)
    }

    fn copy_inside(&mut self, to: End, from: End, extent: Box3, stream: u32) -> Cuda {
        let work = move |device: &mut warploom_run::Device, _| {
            for row in extent.rows() {
                let (to, from) = (DevicePtr(to.row(row)), DevicePtr(from.row(row)));
                device.copy(from, to, extent.width)?;
            }
            Ok(())
        };
        self.mark(stream, Box::new(work)).map(|_| ())
    }

    fn copy_in(&mut self, to: End, from: End, extent: Box3, stream: u32) -> Cuda {
        // Bytes are as they are now, as with memory that is not pinned.
        let rows = extent.rows();
        let rows: Vec<Vec<u8>> = rows
            .map(|row| self.host.read(from.row(row), extent.width))
            .collect();
        let work = move |device: &mut warploom_run::Device, _| {
            for (row, bytes) in extent.rows().zip(rows) {
                device.write(DevicePtr(to.row(row)), &bytes)?;
            }
            Ok(())
        };
        self.mark(stream, Box::new(work)).map(|_| ())
    }

    fn copy_out(&mut self, to: End, from: End, extent: Box3, stream: u32) -> Cuda {
        let arrivals = self.arrivals.0.clone();
        let work = move |device: &mut warploom_run::Device, _| {
            for row in extent.rows() {
                let mut bytes = vec![0; extent.width as usize];
                device.read(DevicePtr(from.row(row)), &mut bytes)?;
                let to = to.row(row);
                // Whoever waits for it may be gone with its process.
                let _ = arrivals.send(Arrival { to, bytes });
            }
            Ok(())
        };
        self.mark(stream, Box::new(work)).map(|_| ())
    }

    fn copy_outside(&mut self, to: End, from: End, extent: Box3) -> Cuda {
        self.synchronize()?;
        for row in extent.rows() {
            let bytes = self.host.read(from.row(row), extent.width);
            self.host.write(to.row(row), &bytes);
        }
        Ok(())
    }

    /// Fills a box with one byte in the order of a stream.
    pub fn fill(&mut self, area: Area, byte: u8, stream: u64) -> Cuda {
        let Area { end, extent } = area;
        if extent.is_empty() {
            return Ok(());
        }
        let stream = self.busy_stream(stream)?;
        if !self.is_device(end.address)? {
            if !self.is_shared(end.address) {
                return Err(CudaError::INVALID_VALUE);
            }
            self.synchronize()?;
            let bytes = vec![byte; extent.width as usize];
            extent
                .rows()
                .for_each(|row| self.host.write(end.row(row), &bytes));
            return Ok(());
        }
        self.fits(end, extent)?;
        let work = move |device: &mut warploom_run::Device, _| {
            for row in extent.rows() {
                device.fill(DevicePtr(end.row(row)), byte, extent.width)?;
            }
            Ok(())
        };
        self.mark(stream, Box::new(work)).map(|_| ())
    }
}
