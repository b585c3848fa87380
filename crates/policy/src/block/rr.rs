//! Round robin, GPGPU-Sim's order: an SM with room takes the oldest waiting block. Blocks are in
//! grid order, x fastest.

use super::{BlockQueueView, BlockScheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::SmId;
use warploom_state::State;

/// Block scheduler that follows the order of the grid.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct RoundRobin;

impl PolicyFacts for RoundRobin {
    const FACTS: Facts = Facts {
        about: "Blocks in grid order, one at a time, to SMs in turn.",
        source: "GPGPU-Sim",
        state: "log2(SMs): the SM that took a block last",
        bits: |spec| bits_for(u64::from(spec.gpu.sms)),
        bits_on_gtx480: 4,
        part: Part::Gpu,
        complexity: "constant",
    };
}

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
    use warploom_base::KernelSlot;

    #[test]
    fn takes_the_oldest() {
        let view = |waiting| BlockQueueView {
            kernel: KernelSlot(0),
            blocks_per_sm: 8,
            room: 1,
            waiting,
            running: &[],
            waiting_touches: &[],
            running_touches: &[],
        };
        assert_eq!(RoundRobin.pick(SmId(3), &view(&[4, 5, 6])), Some(0));
        assert_eq!(RoundRobin.pick(SmId(3), &view(&[])), None);
    }
}
