//! Round robin: the oldest waiting block, x fastest, goes to whichever SM asks. GPGPU-Sim's order.
//! State: none. Cost: constant time.

use super::{BlockQueueView, BlockScheduler};
use warploom_base::SmId;

/// Blocks in grid order.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl BlockScheduler for RoundRobin {
    #[inline]
    fn pick(&mut self, _sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        (!view.waiting.is_empty()).then_some(0)
    }

    fn look_ahead(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_oldest() {
        let view = |waiting| BlockQueueView {
            waiting,
            running: &[],
        };
        assert_eq!(RoundRobin.pick(SmId(3), &view(&[4, 5, 6])), Some(0));
        assert_eq!(RoundRobin.pick(SmId(3), &view(&[])), None);
    }
}
