//! The SM as a device under test.

mod dut;
mod image;
mod memory;
mod stages;
