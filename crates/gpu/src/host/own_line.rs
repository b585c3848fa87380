//! A value on cache lines of its own.

use std::ops::{Deref, DerefMut};

/// A value that shares no cache line with others, nor a pair of neighbouring lines, which some
/// processors fetch together. Threads that write neighbours do not take its line away.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub T);

impl<T> Deref for OwnLine<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for OwnLine<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
