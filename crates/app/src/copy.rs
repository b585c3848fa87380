//! Copies and fills: every kind comes down to rows of bytes between two places.

use crate::context::{Arrival, Context};
use crate::error::{Cuda, CudaError};
use crate::memory::Kind;
use crate::work::{CopyWork, Work};
use warploom_run::{DevicePtr, HostAction};

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

impl Direction {
    /// Number of the kind in the runtime's interface.
    pub fn number(self) -> i32 {
        self as i32
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

    pub(crate) fn row(&self, row: (u64, u64)) -> u64 {
        let rows = row.0.wrapping_mul(self.pitch);
        let slices = row.1.wrapping_mul(self.slice);
        self.address.wrapping_add(rows).wrapping_add(slices)
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

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    pub(crate) fn rows(self) -> impl Iterator<Item = (u64, u64)> {
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
    /// Copies a box of bytes in the order of a stream; `wait` says that the host waits for it. It
    /// does so in any case where bytes come to memory that is not pinned (CUDA Runtime API, "API
    /// synchronization behavior"). Bytes of the host are taken now: it may change its own at once.
    pub fn copy(
        &mut self,
        to: End,
        from: End,
        extent: Box3,
        direction: Direction,
        stream: (u64, bool),
    ) -> Cuda {
        let copy = CopyWork {
            to,
            from,
            extent,
            direction,
            described: None,
        };
        self.ask_copy(copy, stream)
    }

    pub(crate) fn ask_copy(&mut self, copy: CopyWork, (stream, wait): (u64, bool)) -> Cuda {
        if copy.extent.is_empty() {
            return Ok(());
        }
        if wait {
            self.forbid_in_capture(stream)?;
        } else if let Some(stream) = self.capturing(stream)? {
            return self.capture(stream, Work::Copy(copy));
        }
        let stream = self.busy_stream(stream)?;
        let comes_out = self.perform_copy(&copy, stream)?;
        match (wait || comes_out, stream) {
            (false, _) => Ok(()),
            (true, 0) => self.wait(HostAction::Synchronize),
            (true, own) => self.wait(HostAction::SynchronizeStream(own)),
        }
    }

    /// Looks whether a copy can be made; gives on which sides its ends are, where it goes first:
    /// true for memory that only the device has.
    pub(crate) fn check_copy(&self, copy: &CopyWork) -> Cuda<(bool, bool)> {
        let CopyWork { to, from, .. } = copy;
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
        // Memory that both sides see fits either word.
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

    /// Copies in the order of a stream of the simulation. Returns whether bytes come to memory of
    /// the host that is not pinned.
    pub(crate) fn perform_copy(&mut self, copy: &CopyWork, stream: u32) -> Cuda<bool> {
        let sides = self.check_copy(copy)?;
        let CopyWork {
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

    pub(crate) fn is_shared(&self, address: u64) -> bool {
        self.block(address).is_some() || self.registered(address).is_some()
    }

    /// The address is of a module's variable: copies to and from one leave L2 as it is.
    fn is_variable(&self, address: u64) -> bool {
        let block = self.block(address).map(|(_, block)| block.kind);
        block == Some(Kind::Variable)
    }

    /// All rows of a box are inside one block.
    pub(crate) fn fits(&self, end: End, extent: Box3) -> Cuda {
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
        self.await_arrivals(from, extent)?;
        let rows = extent.rows();
        let rows: Vec<Vec<u8>> = rows
            .map(|row| self.host.read(from.row(row), extent.width))
            .collect();
        let to_variable = self.is_variable(to.address);
        let work = move |device: &mut warploom_run::Device, _| {
            for (row, bytes) in extent.rows().zip(rows) {
                let to = DevicePtr(to.row(row));
                match to_variable {
                    true => device.write_past_l2(to, &bytes)?,
                    false => device.write(to, &bytes)?,
                }
            }
            Ok(())
        };
        self.mark(stream, Box::new(work)).map(|_| ())
    }

    fn copy_out(&mut self, to: End, from: End, extent: Box3, stream: u32) -> Cuda {
        let arrivals = self.arrivals.0.clone();
        let ends = extent.rows().map(|row| (to.row(row), extent.width));
        self.outstanding.extend(ends);
        let from_variable = self.is_variable(from.address);
        let work = move |device: &mut warploom_run::Device, _| {
            for row in extent.rows() {
                let mut bytes = vec![0; extent.width as usize];
                let from = DevicePtr(from.row(row));
                device.read(from, &mut bytes)?;
                if !from_variable {
                    device.note_copy(from, extent.width);
                }
                let to = to.row(row);
                // Whoever waits for it may be gone with its process.
                let _ = arrivals.send(Arrival { to, bytes });
            }
            Ok(())
        };
        self.mark(stream, Box::new(work)).map(|_| ())
    }

    /// Waits where bytes of the host are still on their way from the device.
    fn await_arrivals(&mut self, from: End, extent: Box3) -> Cuda {
        let meets = |(to, bytes): &(u64, u64)| {
            let mut rows = extent.rows().map(|row| from.row(row));
            rows.any(|row| {
                row < to.saturating_add(*bytes) && *to < row.saturating_add(extent.width)
            })
        };
        match self.outstanding.iter().any(meets) {
            true => self.synchronize(),
            false => Ok(()),
        }
    }

    fn copy_outside(&mut self, to: End, from: End, extent: Box3) -> Cuda {
        self.synchronize()?;
        for row in extent.rows() {
            let bytes = self.host.read(from.row(row), extent.width);
            self.host.write(to.row(row), &bytes);
        }
        Ok(())
    }
}
