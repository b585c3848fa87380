//! The bytes of saved state, in one of the two directions.

use crate::State;

/// Reason why saved state cannot be restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateError {
    /// The saved state ends early.
    #[error("the saved state ends early")]
    Short,
    /// Bytes are left after the last part.
    #[error("{0} bytes are left after the saved state")]
    Left(usize),
    /// A number that follows from the configuration differs.
    #[error("the machine has {own} where the saved state has {saved}")]
    Shape {
        /// The number of the machine.
        own: u64,
        /// The number of the saved state.
        saved: u64,
    },
    /// A value is none that its type has, or belongs to another policy.
    #[error("the saved state has another variant of `{0}`")]
    Variant(&'static str),
    /// A part was saved by another policy than that of the machine.
    #[error("the machine has the policy {own} where the saved state is of another one")]
    Policy {
        /// The policy of the machine.
        own: &'static str,
    },
    /// Something has state that cannot be saved.
    #[error("{0} cannot be saved")]
    Unsaved(&'static str),
    /// A list has more entries than the saved state has bytes.
    #[error("the saved state has a list of {0} entries, more than its bytes")]
    Long(u64),
}

/// Saved state that is written or read.
#[derive(Debug)]
pub struct Io<'a>(Direction<'a>);

#[derive(Debug)]
enum Direction<'a> {
    Save(Vec<u8>),
    /// Bytes that are left, and whether parts of other policies are left out.
    Restore(&'a [u8], bool),
}

impl<'a> Io<'a> {
    /// Begins to save state.
    pub fn save() -> Io<'static> {
        Io(Direction::Save(Vec::new()))
    }

    /// Restores state from its bytes.
    pub const fn restore(bytes: &'a [u8]) -> Self {
        Self(Direction::Restore(bytes, false))
    }

    /// Restores state, except for the [parts](Self::part) that other policies saved: these begin
    /// anew.
    pub const fn fork(bytes: &'a [u8]) -> Self {
        Self(Direction::Restore(bytes, true))
    }

    /// True if state is restored.
    #[inline]
    pub const fn restores(&self) -> bool {
        matches!(self.0, Direction::Restore(..))
    }

    /// The saved bytes; none while restoring.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.0 {
            Direction::Save(bytes) => bytes,
            Direction::Restore(..) => Vec::new(),
        }
    }

    /// Ends a restoration.
    ///
    /// # Errors
    /// If bytes are left.
    pub fn end(self) -> Result<(), StateError> {
        match self.0 {
            Direction::Restore(left, _) if !left.is_empty() => Err(StateError::Left(left.len())),
            _ => Ok(()),
        }
    }

    /// Saves bytes, or replaces them by the saved ones.
    ///
    /// # Errors
    /// If there are too few.
    #[inline]
    pub fn bytes(&mut self, bytes: &mut [u8]) -> Result<(), StateError> {
        match &mut self.0 {
            Direction::Save(all) => all.extend_from_slice(bytes),
            Direction::Restore(left, _) => {
                let (saved, rest) = left
                    .split_at_checked(bytes.len())
                    .ok_or(StateError::Short)?;
                bytes.copy_from_slice(saved);
                *left = rest;
            }
        }
        Ok(())
    }

    /// Saves a number that follows from the configuration, or compares it with the saved one.
    ///
    /// # Errors
    /// If they differ.
    pub fn same(&mut self, own: u64) -> Result<(), StateError> {
        let mut bytes = own.to_le_bytes();
        self.bytes(&mut bytes)?;
        let saved = u64::from_le_bytes(bytes);
        if saved == own {
            Ok(())
        } else {
            Err(StateError::Shape { own, saved })
        }
    }

    /// Saves the length of a list, or returns the saved one. Each entry takes a byte at least.
    ///
    /// # Errors
    /// If the bytes that are left cannot hold as many entries.
    pub fn length(&mut self, own: usize) -> Result<usize, StateError> {
        let mut bytes = (own as u64).to_le_bytes();
        self.bytes(&mut bytes)?;
        match &self.0 {
            Direction::Save(_) => Ok(own),
            Direction::Restore(left, _) => {
                let saved = u64::from_le_bytes(bytes);
                let fits = usize::try_from(saved).ok().filter(|len| *len <= left.len());
                fits.ok_or(StateError::Long(saved))
            }
        }
    }

    /// Saves or restores the state of the policy `own`. Returns false if the saved state is that of
    /// another policy, which is left out.
    ///
    /// # Errors
    /// Those of `state`; [`StateError::Policy`] for another policy's state, unless the state is
    /// [forked](Self::fork).
    pub fn part(
        &mut self,
        own: &'static str,
        state: impl FnOnce(&mut Io<'_>) -> Result<(), StateError>,
    ) -> Result<bool, StateError> {
        let Direction::Restore(_, forks) = self.0 else {
            let mut part = Io::save();
            state(&mut part)?;
            own.to_owned().state(self)?;
            part.into_bytes().state(self)?;
            return Ok(true);
        };
        let mut saved = String::new();
        saved.state(self)?;
        let len = self.length(0)?;
        let Direction::Restore(left, _) = &mut self.0 else {
            return Ok(false);
        };
        let (part, rest) = left.split_at_checked(len).ok_or(StateError::Short)?;
        *left = rest;
        if saved != own {
            let other = StateError::Policy { own };
            return if forks { Ok(false) } else { Err(other) };
        }
        let mut part = Io(Direction::Restore(part, forks));
        state(&mut part)?;
        part.end()?;
        Ok(true)
    }
}
