//! Priority-based cache allocation (Li et al., HPCA 2015): some of the warps that issue hold tokens
//! and take lines of L1D; the others read past it, and keep bandwidth busy that throttling would
//! leave idle.
//!
//! W warps may issue: the oldest that do not wait at a barrier. T <= W warps hold tokens: the
//! oldest that run. Both numbers start equal, which is static limiting (T = W), and are then
//! changed by hill climbing. One period measures the instructions that the scheduler issues, and
//! the next period tries a move, which changes one of the numbers by one. The move is kept if the
//! scheduler issues at least a thirty-second more instructions than in the period before. The moves
//! are tried in this order: more warps, fewer tokens, fewer warps, more tokens. When none of the
//! four gains, the numbers rest for some periods, and the climb begins anew. It also begins anew
//! when no warp is left. Among the warps that may issue, the order is greedy, then oldest.
//!
//! The page `docs/policies-compared.md` lists what the paper leaves open. Each scheduler climbs for
//! itself.

use super::{Gto, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, only};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::{GpuSpec, PcalSettings};
use warploom_state::Value;
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of the scheduler `pcal`.
    pub struct ClimbCounters in "warp_policy" {
        /// Changes of the number of warps or tokens that were tried (pcal).
        pub moves_tried: u64 = Events;
        /// Changes of the number of warps or tokens that stayed (pcal).
        pub moves_kept: u64 = Events;
    }
}

/// Scheduler of `pcal`: a limit of warps, and tokens for L1D.
#[derive(Clone, Debug, warploom_state::State)]
pub struct Pcal {
    order: Gto,
    /// Running warps, the oldest first.
    queue: Vec<WarpSlot>,
    /// Most warps that have run at once since the climb began.
    most: u32,
    /// Warps that hold a token.
    holders: WarpMask,
    /// Warps that waited when those that may issue were last looked for, and these; `None` if they
    /// may have changed since.
    issuers: Option<(WarpMask, WarpMask)>,
    #[state(fixed)]
    settings: PcalSettings,
    climb: Climb,
    /// Instructions issued in this period, and its cycles that have passed.
    issued: u64,
    passed: u64,
    counters: ClimbCounters,
}

/// Warps and tokens, and the climb towards better ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
struct Climb {
    now: Point,
    /// The point before the move that is tried, and the instructions of a period there.
    base: (Point, u64),
    state: State,
}

/// Number of warps that may issue, and of those that hold a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
struct Point {
    warps: u32,
    tokens: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
enum State {
    /// Measurement of the present point, before move `nth` is tried, after `failed` moves in a row
    /// that brought nothing.
    Measures { nth: usize, failed: usize },
    /// Trial of move `nth`.
    Tries { nth: usize, failed: usize },
    /// Rest, with the number of periods that are left.
    Rests(u32),
}

/// The first state of a climb.
const START: State = State::Measures { nth: 0, failed: 0 };

/// Part of the instructions of a period by which a move must raise them.
const LEAST_GAIN: u64 = 32;

/// The moves: changes of warps and tokens.
const MOVES: [(i32, i32); 4] = [(1, 0), (0, -1), (-1, 0), (0, 1)];

impl Point {
    /// The point after a move, if there is one for `most` warps.
    fn moved(self, (warps, tokens): (i32, i32), most: u32) -> Option<Self> {
        let warps = self.warps.checked_add_signed(warps)?;
        let tokens = self.tokens.checked_add_signed(tokens)?;
        let inside = tokens >= 1 && tokens <= warps && warps <= most;
        inside.then_some(Self { warps, tokens })
    }
}

impl Climb {
    /// A climb that begins with as many tokens as warps.
    fn new(warps: u32) -> Self {
        let start = Point {
            warps,
            tokens: warps,
        };
        Self {
            now: start,
            base: (start, 0),
            state: START,
        }
    }

    /// Ends a period in which `issued` instructions issued, on a scheduler of `most` warps. Returns
    /// whether a move was kept.
    fn end_period(&mut self, issued: u64, most: u32, rest: u32) -> bool {
        match self.state {
            State::Rests(0 | 1) => self.state = START,
            State::Rests(left) => self.state = State::Rests(left - 1),
            State::Measures { nth, failed } => {
                self.clamp(most);
                self.base = (self.now, issued);
                self.try_from(nth, failed, most, rest);
            }
            State::Tries { nth, .. } if issued > self.base.1 + self.base.1 / LEAST_GAIN => {
                self.state = State::Measures { nth, failed: 0 };
                return true;
            }
            State::Tries { nth, failed } if failed + 1 < MOVES.len() => {
                self.now = self.base.0;
                let (nth, failed) = (nth + 1, failed + 1);
                self.state = State::Measures { nth, failed };
            }
            State::Tries { .. } => {
                self.now = self.base.0;
                self.state = State::Rests(rest);
            }
        }
        false
    }

    /// Limits the present point to the number of warps that run.
    fn clamp(&mut self, most: u32) {
        self.now.warps = self.now.warps.min(most);
        self.now.tokens = self.now.tokens.min(most);
    }

    /// Makes the next move that is possible, from number `nth` on, or rests.
    fn try_from(&mut self, nth: usize, failed: usize, most: u32, rest: u32) {
        for tried in failed..MOVES.len() {
            let nth = (nth + tried - failed) % MOVES.len();
            if let Some(point) = self.now.moved(MOVES[nth], most) {
                self.now = point;
                self.state = State::Tries { nth, failed: tried };
                return;
            }
        }
        self.state = State::Rests(rest);
    }
}

impl PolicyFacts for Pcal {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest among W warps; T of them take lines of L1D, the others read \
                past it; W and T climb while more issues.",
        source: "PCAL: Li et al., HPCA 2015",
        state: "schedulers x (4 x log2(warps + 1): W and T, now and before; 2 x 32: instructions; \
                log2(period) + log2(rest + 1) + 7: where the climb is; the last warp)",
        bits,
        // 5 bits for up to 24 warps of a scheduler, periods of 4096 cycles, 31 that rest.
        bits_on_gtx480: 2 * (4 * 5 + 2 * 32 + 12 + 5 + 7 + 5 + 1),
        part: Part::Sm,
        complexity: "linear in W",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: PcalSettings = spec.sm.warp_scheduler.settings();
    let own = warps_a_scheduler(spec);
    let place =
        bits_for(settings.period_cycles.into()) + bits_for(u64::from(settings.rest_periods) + 1);
    schedulers(spec) * (4 * bits_for(own + 1) + 2 * 32 + place + 7 + bits_for(own) + 1)
}

impl Pcal {
    /// A scheduler that begins with `pcal.warps` warps, all with a token.
    pub fn new(settings: PcalSettings) -> Self {
        Self {
            order: Gto::default(),
            queue: Vec::with_capacity(WarpMask::BITS as usize),
            most: 0,
            holders: 0,
            issuers: None,
            settings,
            climb: Climb::new(settings.warps),
            issued: 0,
            passed: 0,
            counters: ClimbCounters::default(),
        }
    }

    /// Hands the tokens to the oldest warps. The warps that may issue may have changed, too.
    fn hand_out(&mut self) {
        self.issuers = None;
        let tokens = self.climb.now.tokens as usize;
        let oldest = self.queue.iter().take(tokens);
        self.holders = oldest.fold(0, |mask, slot| mask | only(*slot));
    }

    /// The warps that may issue: the oldest that do not wait.
    fn issuers(&mut self, view: &WarpView<'_>) -> WarpMask {
        match self.issuers {
            Some((waiting, issuers)) if waiting == view.waiting => issuers,
            _ => {
                let issuers = self.find_issuers(view);
                self.issuers = Some((view.waiting, issuers));
                issuers
            }
        }
    }

    fn find_issuers(&self, view: &WarpView<'_>) -> WarpMask {
        let warps = self.climb.now.warps as usize;
        let queue = self.queue.iter();
        let free = queue.filter(|slot| !holds(view.waiting, **slot));
        free.take(warps).fold(0, |mask, slot| mask | only(*slot))
    }

    fn end_period(&mut self) {
        let rest = self.settings.rest_periods;
        let kept = self.climb.end_period(self.issued, self.most.max(1), rest);
        let tries = matches!(self.climb.state, State::Tries { .. });
        self.counters.moves_kept += u64::from(kept);
        self.counters.moves_tried += u64::from(tries);
        (self.issued, self.passed) = (0, 0);
        self.hand_out();
    }
}

impl WarpScheduler for Pcal {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let issuers = self.issuers(view);
        self.order.pick(view, ready & issuers)
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    /// The warps that may issue change with the view, and at the end of a period.
    fn holds_for(&self) -> u64 {
        if self.passed == 0 {
            return 0;
        }
        u64::from(self.settings.period_cycles) - self.passed
    }

    fn decides_allocation(&self) -> bool {
        true
    }

    fn allocates(&self, warp: WarpSlot) -> bool {
        holds(self.holders, warp)
    }

    #[inline]
    fn end_cycles(
        &mut self,
        _view: &WarpView<'_>,
        _stalled: WarpMask,
        picked: Option<WarpSlot>,
        mut cycles: u64,
    ) {
        // Between kernels, nothing could issue that a measurement should count.
        if self.queue.is_empty() {
            return;
        }
        self.issued += u64::from(picked.is_some());
        let period = u64::from(self.settings.period_cycles);
        while self.passed + cycles >= period {
            cycles -= period - self.passed;
            self.end_period();
        }
        self.passed += cycles;
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.order.on_issue(slot);
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.queue.push(slot);
        self.most = self.most.max(self.queue.len() as u32);
        self.hand_out();
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.queue.retain(|other| *other != slot);
        if self.queue.is_empty() {
            self.climb = Climb::new(self.settings.warps);
            (self.most, self.issued, self.passed) = (0, 0, 0);
        }
        self.hand_out();
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            climb: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A climb from two warps of four, with two periods of rest. By period: the instructions issued
    /// in it, and the warps and tokens of the next one.
    #[test]
    fn the_climb_keeps_what_gains() {
        let mut climb = Climb::new(2);
        let periods = [
            // A third warp gains; a fourth one gains less than a thirty-second.
            (100, (3, 2)),
            (120, (3, 2)),
            (118, (4, 2)),
            (121, (3, 2)),
            // Fewer tokens gain. There cannot be fewer than one. All other moves lose.
            (100, (3, 1)),
            (130, (3, 1)),
            (130, (2, 1)),
            (130, (3, 1)),
            (130, (3, 2)),
            (130, (3, 1)),
            (130, (4, 1)),
            (130, (3, 1)),
            // Two periods of rest, and one that measures anew.
            (10, (3, 1)),
            (10, (3, 1)),
            (50, (4, 1)),
        ];
        for (nth, (issued, (warps, tokens))) in periods.into_iter().enumerate() {
            climb.end_period(issued, 4, 2);
            assert_eq!(climb.now, Point { warps, tokens }, "after period {nth}");
        }
    }

    /// A measurement first limits the point to the number of warps that run.
    #[test]
    fn the_climb_stays_within_the_warps_that_run() {
        let mut climb = Climb::new(16);
        climb.end_period(100, 4, 2);
        let (warps, tokens) = (4, 3);
        assert_eq!(climb.now, Point { warps, tokens }, "no warp is left to add");
        assert_eq!(
            climb.base.0,
            Point {
                warps: 4,
                tokens: 4
            }
        );
    }
}
