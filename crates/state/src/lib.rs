//! State that is saved and restored exactly.
//!
//! A checkpoint does not hold a machine, only its state: the machine is built again from its
//! configuration, and the saved state is put in its place. One method does both, so that saving and
//! restoring cannot get out of step. The derive macros implement it for all fields of a type, and
//! an attribute marks the fields that are no state, so a new field is state unless somebody decides
//! otherwise.
//!
//! ```
//! use warploom_state::{Io, State, Value};
//!
//! #[derive(Clone, Copy, PartialEq, Debug, Value)]
//! struct Packet {
//!     address: u64,
//!     bytes: u16,
//! }
//!
//! #[derive(State)]
//! struct Port {
//!     #[state(fixed)]
//!     width: u32,
//!     waiting: Vec<Packet>,
//! }
//!
//! let packet = Packet { address: 64, bytes: 32 };
//! let mut port = Port { width: 4, waiting: vec![packet; 3] };
//! let mut io = Io::save();
//! port.state(&mut io)?;
//! let saved = io.into_bytes();
//!
//! let mut other = Port { width: 4, waiting: Vec::new() };
//! let mut io = Io::restore(&saved);
//! other.state(&mut io)?;
//! io.end()?;
//! assert_eq!(other.waiting, port.waiting);
//! # Ok::<(), warploom_state::StateError>(())
//! ```
//!
//! Invariants: the bytes depend on the state alone, not on the host; a restored list has no more
//! entries than there are bytes; wrong bytes are an error, not a panic.

// The macros name this crate from outside.
#[cfg(test)]
extern crate self as warploom_state;

mod implementations;
mod io;

pub use io::{Io, StateError};
pub use warploom_state_derive::{State, Value};

/// Something whose state can be saved, and restored in place.
pub trait State {
    /// Saves the state, or replaces it by the saved one.
    ///
    /// # Errors
    /// Only while restoring: if the saved state ends early, or is that of another machine. The
    /// state is then undefined.
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError>;
}

/// Plain data, all of which is saved, and of which a list can therefore have any number.
pub trait Value: State {
    /// Any value, to be overwritten by a saved one.
    fn blank() -> Self
    where
        Self: Sized;
}

/// Saves or restores the elements of a list whose length is fixed, in place.
///
/// # Errors
/// If the saved list has another length, and those of the elements.
pub fn each<'a, T: State + 'a>(
    all: impl ExactSizeIterator<Item = &'a mut T>,
    io: &mut Io<'_>,
) -> Result<(), StateError> {
    io.same(all.len() as u64)?;
    for one in all {
        one.state(io)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
