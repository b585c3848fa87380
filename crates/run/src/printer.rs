//! Where what kernels print goes.

use std::fmt;
use std::sync::Arc;

/// Takes what kernels print (`printf`), when a kernel has ended; texts of one kernel are in the
/// order in which they were printed. Without one they are dropped.
#[derive(Clone, Default)]
pub struct Printer(Option<Arc<Take>>);

type Take = dyn Fn(&[u8]) + Send + Sync;

impl Printer {
    /// One that gives texts to `take`.
    pub fn new(take: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(take)))
    }

    pub(crate) fn print(&self, text: &[u8]) {
        if let Some(take) = &self.0
            && !text.is_empty()
        {
            take(text);
        }
    }
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.0.is_some() { "prints" } else { "drops" };
        write!(f, "Printer({what})")
    }
}
