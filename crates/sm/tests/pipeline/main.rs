//! The SM as a device under test.

mod dut;
mod memory;
mod stages;
