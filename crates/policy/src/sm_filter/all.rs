//! No filter. State: none.

use super::SmFilter;
use warploom_base::SmId;

/// Every SM takes blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;

impl SmFilter for All {
    #[inline]
    fn allows(&self, _sm: SmId) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_every_sm() {
        assert!((0..200).all(|sm| All.allows(SmId(sm))));
    }
}
