//! iPAWS (Lee et al., HPCA 2016): greedy or fair, by the pattern of issues at the beginning of a
//! kernel.
//!
//! The scheduler begins with the order greedy, then oldest. When its first warp exits, it compares
//! the numbers of instructions that its warps have issued. Drawn as bars in descending order, they
//! form a triangle if the greedy order suits the kernel: half of the area of the rectangle that all
//! warps would form if they had issued as many as the first one. If the bars fill more of the
//! rectangle, although the first warp had priority, loose round robin follows. The choice holds
//! until the scheduler has no warps left, at the end of the kernel or of its last blocks.

use super::{Gto, Lrr, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, only, warps_of};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::IpawsSettings;
use warploom_state::State;
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of the scheduler `ipaws`.
    pub struct IpawsCounters in "warp_policy" {
        /// Decisions of a scheduler to stay greedy (ipaws).
        pub greedy_decisions: u64 = Events;
        /// Decisions of a scheduler to go on by loose round robin (ipaws).
        pub fair_decisions: u64 = Events;
    }
}

/// Scheduler that chooses between greedy, then oldest, and loose round robin.
#[derive(Clone, Debug, State)]
pub struct Ipaws {
    #[state(fixed)]
    settings: IpawsSettings,
    greedy: Gto,
    fair: Lrr,
    /// True once round robin was chosen.
    is_fair: bool,
    /// True once the pattern was examined.
    has_decided: bool,
    /// Warps that have started and not exited.
    live: WarpMask,
    /// By slot: instructions that its warp has issued.
    issued: Vec<u64>,
    counters: IpawsCounters,
}

impl PolicyFacts for Ipaws {
    const FACTS: Facts = Facts {
        about: "Greedy, then oldest, or loose round robin: by how evenly warps issue at first.",
        source: "iPAWS: Lee et al., HPCA 2016",
        state: "schedulers x (warps of one x 32 + log2(warps of one) + 3): instructions of each \
                warp, the last warp, if there is one, whether and what was decided",
        bits: |spec| {
            let warps = warps_a_scheduler(spec);
            schedulers(spec) * (warps * 32 + bits_for(warps) + 3)
        },
        bits_on_gtx480: 2 * (24 * 32 + 5 + 3),
        part: Part::Sm,
        complexity: "linear in ready warps; linear in warps once a kernel",
    };
}

impl Ipaws {
    /// A scheduler that has no warps.
    pub fn new(settings: IpawsSettings) -> Self {
        Self {
            settings,
            greedy: Gto::default(),
            fair: Lrr::default(),
            is_fair: false,
            has_decided: false,
            live: 0,
            issued: vec![0; WarpMask::BITS as usize],
            counters: IpawsCounters::default(),
        }
    }

    /// Chooses by the pattern of issues when the warp in `first` exits before all others.
    fn decide(&mut self, first: WarpSlot) {
        let issued = |slot: WarpSlot| u128::from(self.issued[slot.index()]);
        let sum: u128 = warps_of(self.live).map(issued).sum();
        let rectangle = issued(first) * u128::from(self.live.count_ones());
        self.is_fair = sum * 100 > rectangle * u128::from(self.settings.fair_percent);
        self.has_decided = true;
        self.counters.fair_decisions += u64::from(self.is_fair);
        self.counters.greedy_decisions += u64::from(!self.is_fair);
    }
}

impl WarpScheduler for Ipaws {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        if self.is_fair {
            self.fair.pick(view, ready)
        } else {
            self.greedy.pick(view, ready)
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.issued[slot.index()] += 1;
        self.greedy.on_issue(slot);
        self.fair.on_issue(slot);
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.live |= only(slot);
        self.issued[slot.index()] = 0;
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        if !self.has_decided {
            self.decide(slot);
        }
        self.live &= !only(slot);
        if self.live == 0 {
            (self.is_fair, self.has_decided) = (false, false);
        }
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            ipaws: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warp::WarpTable;

    /// Starts a warp in each of the first slots and lets them issue these numbers of instructions.
    /// Then the warp in slot 0 exits.
    fn after_first_exit(issued: &[u32]) -> Ipaws {
        let mut policy = Ipaws::new(IpawsSettings::default());
        let slots = || (0..issued.len()).map(WarpSlot::new);
        slots().for_each(|slot| policy.on_start(slot));
        for slot in slots() {
            (0..issued[slot.index()]).for_each(|_| policy.on_issue(slot));
        }
        policy.on_exit(WarpSlot(0));
        policy
    }

    fn decisions(policy: &Ipaws) -> (u64, u64) {
        let counters = policy.counters().ipaws;
        (counters.greedy_decisions, counters.fair_decisions)
    }

    /// A triangle has issued 250 of 4 x 100 instructions (62.5 %), and the even pattern 301. At
    /// 300, which is 75 %, the scheduler stays greedy.
    #[test]
    fn the_pattern_of_issues_decides() {
        assert_eq!(decisions(&after_first_exit(&[100, 75, 50, 25])), (1, 0));
        assert_eq!(decisions(&after_first_exit(&[100, 80, 70, 50])), (1, 0));
        assert_eq!(decisions(&after_first_exit(&[100, 80, 70, 51])), (0, 1));
        assert_eq!(decisions(&after_first_exit(&[0])), (1, 0));
    }

    /// After warp 3 has issued, the greedy order goes on with it, and round robin goes on with
    /// warp 1. A scheduler without warps begins anew, greedy.
    #[test]
    fn the_choice_holds_while_there_are_warps() {
        let mut table = WarpTable::new(4, 4, 8);
        (0..4).for_each(|slot| table.start(slot, slot as u64, 0));
        let view = WarpView {
            own: 0b1111,
            live: 0b1110,
            waiting: 0,
            long_wait: 0,
            held: 0,
            table: &table,
        };
        let next = |policy: &mut Ipaws| {
            policy.on_issue(WarpSlot(3));
            policy.pick(&view, 0b1110)
        };
        let mut greedy = after_first_exit(&[100, 0, 0, 0]);
        assert_eq!(next(&mut greedy), Some(WarpSlot(3)));
        let mut fair = after_first_exit(&[100, 100, 100, 100]);
        assert_eq!(next(&mut fair), Some(WarpSlot(1)));
        fair.on_exit(WarpSlot(1));
        fair.on_start(WarpSlot(1));
        fair.on_exit(WarpSlot(2));
        assert_eq!(next(&mut fair), Some(WarpSlot(1)), "decided once");
        fair.on_exit(WarpSlot(1));
        fair.on_exit(WarpSlot(3));
        fair.on_start(WarpSlot(1));
        fair.on_start(WarpSlot(3));
        assert_eq!(next(&mut fair), Some(WarpSlot(3)));
        fair.on_exit(WarpSlot(3));
        assert_eq!(
            decisions(&fair),
            (1, 1),
            "1 of the 2 instructions of a rectangle"
        );
    }
}
