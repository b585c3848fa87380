//! Receiver for the output of kernels.

use std::fmt;
use std::sync::Arc;

/// Receives the output of kernels (`printf`) at each kernel's end, in the order in which the kernel
/// printed it. Without a receiver, the output is dropped.
#[derive(Clone, Default)]
pub struct Printer(Option<Arc<Take>>);

type Take = dyn Fn(&[u8]) + Send + Sync;

impl Printer {
    /// A printer that passes texts to `take`.
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
