//! Saved state of device memory. Pages that are zero take a byte.

use super::{DeviceMemory, PAGE_BYTES, Page};
use warploom_state::{Io, State, StateError, Value};

impl State for Page {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let Self { data, written } = self;
        let mut is_zero = data.iter().all(|byte| *byte == 0);
        is_zero.state(io)?;
        match is_zero {
            true => data.fill(0),
            false => io.bytes(&mut data[..])?,
        }
        written.state(io)
    }
}

impl Value for Page {
    fn blank() -> Self {
        Self {
            data: vec![0; PAGE_BYTES].try_into().expect("it has this length"),
            written: None,
        }
    }
}

/// Contents, allocations, heaps and printed texts. Capacity and checks follow from the run's
/// options, and no launch can be undone where state is saved.
impl State for DeviceMemory {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let Self {
            spaces,
            pages,
            unused,
            capacity: _,
            allocated,
            track: _,
            undo: _,
            watches_writes: _,
            coarse_protection: _,
            apart: _,
        } = self;
        spaces.state(io)?;
        pages.state(io)?;
        unused.state(io)?;
        allocated.state(io)
    }
}
