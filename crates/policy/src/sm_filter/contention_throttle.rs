//! Fewer SMs take blocks while contention grows (Do et al. 2017, Algorithm 2).
//!
//! Contention is the change of DRAM-full stalls and of stalls of replies on their way into the
//! network, over the change of core cycles since the last check. Greater than at the last check:
//! one SM fewer takes blocks, down to a bound; smaller: one more, up to all; equal, or at a bound:
//! as before. The listing's line 5 repeats line 4, and lines 15 and 16 decrement where the prose
//! increments, and only while all SMs take blocks. The prose decides by default; the setting
//! `listing = "literal"` follows the listing and checks whenever a block is assigned, so that the
//! number of SMs can only fall. Running blocks stay.

use super::{Check, DeviceView, Ratio, SmFilter, SmFilterCounters, Turn};
use crate::{Facts, Part, PolicyFacts, bits_for};
use std::cmp::Ordering;
use warploom_base::Cycle;
use warploom_config::{ContentionThrottleSettings, ThrottleListing, ThrottleOrder};
use warploom_state::State;
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of the filter `contention-throttle`.
    pub struct ThrottleCounters in "sm_filter" {
        /// Looks at the machine's contention (contention-throttle).
        pub checks: u64 = Events;
        /// Looks after which one SM fewer took blocks.
        pub steps_down: u64 = Events;
        /// Looks after which one SM more took blocks; the SMs that take blocks at a moment are all,
        /// less steps_down, plus steps_up.
        pub steps_up: u64 = Events;
        /// SMs that might take blocks after a look, summed over looks.
        pub sms_allowed: u64 = Sms;
    }
}

/// Steps of one SM by the trend of the contention.
#[derive(Clone, Debug, State)]
pub struct ContentionThrottle {
    #[state(fixed)]
    settings: ContentionThrottleSettings,
    /// Number of SMs that may take blocks; `None` before the first check, when all may.
    sms: Option<u32>,
    last_at: Cycle,
    last_dram_full_stalls: u64,
    last_reply_stalls: u64,
    last_contention: Ratio,
    counters: ThrottleCounters,
    trace: Vec<Check>,
}

impl PolicyFacts for ContentionThrottle {
    const FACTS: Facts = Facts {
        about: "One SM fewer takes blocks when stalls of DRAM and network have grown, else more.",
        source: "Do et al. 2017, Algorithm 2",
        state: "5 x 64 + log2(SMs + 1): cycle and stalls of the last check, its contention as a \
                fraction, the limit",
        bits: |spec| 5 * 64 + bits_for(u64::from(spec.gpu.sms) + 1),
        // Five numbers of 64 bits, and up to 15 SMs.
        bits_on_gtx480: 5 * 64 + 4,
        part: Part::Gpu,
        complexity: "constant",
    };
}

impl ContentionThrottle {
    /// A throttle that lets every SM take blocks.
    pub fn new(settings: ContentionThrottleSettings) -> Self {
        Self {
            settings,
            sms: None,
            last_at: 0,
            last_dram_full_stalls: 0,
            last_reply_stalls: 0,
            last_contention: Ratio { above: 0, below: 1 },
            counters: ThrottleCounters::default(),
            trace: Vec::new(),
        }
    }

    /// Number of SMs among `all` that may take blocks from now on.
    fn step(&mut self, contention: Ratio, all: u32) -> u32 {
        let sms = self.sms.unwrap_or(all);
        let order = contention.order(self.last_contention);
        let literal = self.settings.listing == ThrottleListing::Literal;
        match order {
            Ordering::Greater if sms > self.settings.min_sms => self.down(sms),
            // Lines 15 and 16 as printed. A machine of one SM keeps it.
            Ordering::Less if literal && sms == all && all > 1 => self.down(sms),
            Ordering::Less if !literal && sms < all => {
                self.counters.steps_up += 1;
                sms + 1
            }
            _ => sms,
        }
    }

    fn down(&mut self, sms: u32) -> u32 {
        self.counters.steps_down += 1;
        sms - 1
    }
}

impl SmFilter for ContentionThrottle {
    fn next_check(&self) -> Cycle {
        self.last_at
            + match self.settings.listing {
                ThrottleListing::Prose => Cycle::from(self.settings.interval_cycles),
                ThrottleListing::Literal => 1,
            }
    }

    fn check(&mut self, view: &DeviceView) {
        let dram_full = view.dram_full_stalls - self.last_dram_full_stalls;
        let contention = Ratio {
            above: dram_full + (view.reply_stalls - self.last_reply_stalls),
            below: view.now - self.last_at,
        };
        let before = self.sms.unwrap_or(view.sms);
        let sms = self.step(contention, view.sms);
        self.sms = Some(sms);
        self.last_at = view.now;
        self.last_dram_full_stalls = view.dram_full_stalls;
        self.last_reply_stalls = view.reply_stalls;
        self.last_contention = contention;
        self.counters.checks += 1;
        self.counters.sms_allowed += u64::from(sms);
        // The listing may check in every cycle, and a trace of that would fill the memory.
        if self.settings.listing == ThrottleListing::Prose || sms != before {
            self.trace.push(Check {
                at: view.now,
                contention,
                sms,
            });
        }
    }

    fn allows(&self, turn: &Turn) -> bool {
        let Some(sms) = self.sms else { return true };
        match self.settings.order {
            ThrottleOrder::RoundRobin => turn.place < sms,
            ThrottleOrder::Lowest => u32::from(turn.sm.0) < sms,
        }
    }

    fn counters(&self) -> SmFilterCounters {
        SmFilterCounters {
            throttle: self.counters.clone(),
        }
    }

    fn trace(&self) -> &[Check] {
        &self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;
    use warploom_base::SmId;

    /// Runs a table of `cycle dram-full-stalls reply-stalls` through a throttle of `all` SMs; a
    /// line a check: the cycle, its contention, the SMs that may take blocks.
    fn checks(settings: ContentionThrottleSettings, all: u32, table: &str) -> String {
        let mut throttle = ContentionThrottle::new(settings);
        for line in table.lines() {
            let mut numbers = line
                .split_whitespace()
                .map(|n| n.parse().expect("a number"));
            let mut next = || numbers.next().expect("three numbers a line");
            throttle.check(&DeviceView {
                now: next(),
                sms: all,
                dram_full_stalls: next(),
                reply_stalls: next(),
            });
        }
        let mut out = String::new();
        for check in throttle.trace() {
            let Ratio { above, below } = check.contention;
            let _ = writeln!(out, "{} {above}/{below} {}", check.at, check.sms);
        }
        out
    }

    /// Greater than 0 at first, greater again, equal (as a fraction), smaller, smaller and at all.
    #[test]
    fn the_trend_decides() {
        let table = "\
            1000 100 50\n\
            2000 300 50\n\
            4000 600 150\n\
            5000 700 150\n\
            6000 700 150\n\
            7000 700 150\n\
            8000 700 151";
        assert_eq!(
            checks(ContentionThrottleSettings::default(), 4, table),
            "1000 150/1000 3\n\
             2000 200/1000 2\n\
             4000 400/2000 2\n\
             5000 100/1000 3\n\
             6000 0/1000 4\n\
             7000 0/1000 4\n\
             8000 1/1000 3\n"
        );
    }

    /// The listing as printed: greater contention and, while all SMs take blocks, smaller
    /// contention take one SM away. Nothing gives one back, and only steps are traced.
    #[test]
    fn the_listing_as_printed_only_takes_away() {
        let literal = ContentionThrottleSettings {
            listing: ThrottleListing::Literal,
            ..ContentionThrottleSettings::default()
        };
        let equal_then_less = "\
            10 0 0\n\
            20 10 0\n\
            21 10 0";
        assert_eq!(checks(literal, 4, equal_then_less), "20 10/10 3\n",);
        let mut falling = ContentionThrottle {
            last_contention: Ratio { above: 1, below: 1 },
            ..ContentionThrottle::new(literal)
        };
        let less = Ratio { above: 0, below: 1 };
        assert_eq!(falling.step(less, 4), 3, "all took blocks");
        falling.sms = Some(3);
        assert_eq!(falling.step(less, 4), 3, "line 15 does not hold any more");
        falling.sms = Some(1);
        assert_eq!(falling.step(less, 1), 1);
        assert_eq!(ContentionThrottle::new(literal).next_check(), 1);
    }

    /// Contention that grows for ever stops at two SMs, or where it is told to; one that falls at
    /// all. A machine of one SM keeps it.
    #[test]
    fn it_keeps_to_its_bounds() {
        let growing = (1..=6u64)
            .map(|i| format!("{} {} 0\n", 1000 * i, i * i))
            .collect::<String>();
        let last = |settings, all| {
            let text = checks(settings, all, &growing);
            text.trim_end().rsplit(' ').next().map(str::to_owned)
        };
        let default = ContentionThrottleSettings::default();
        assert_eq!(last(default, 5).as_deref(), Some("2"));
        assert_eq!(last(default, 1).as_deref(), Some("1"));
        let three = ContentionThrottleSettings {
            min_sms: 3,
            ..default
        };
        assert_eq!(last(three, 5).as_deref(), Some("3"));
    }

    #[test]
    fn the_first_places_or_the_lowest_numbers_take_blocks() {
        let allowed = |order| {
            let settings = ContentionThrottleSettings {
                order,
                ..ContentionThrottleSettings::default()
            };
            let mut throttle = ContentionThrottle::new(settings);
            // The SM after number 1 is the first in turn.
            let turns = [2, 3, 0, 1].into_iter().enumerate();
            let turns: Vec<_> = turns
                .map(|(place, sm)| Turn {
                    sm: SmId(sm),
                    place: place as u32,
                })
                .collect();
            let all = turns.iter().all(|turn| throttle.allows(turn));
            assert!(all, "before the first check");
            throttle.check(&DeviceView {
                now: 1000,
                sms: 4,
                dram_full_stalls: 1,
                reply_stalls: 0,
            });
            let taken = turns.iter().filter(|turn| throttle.allows(turn));
            taken.map(|turn| turn.sm.0).collect::<Vec<_>>()
        };
        assert_eq!(allowed(ThrottleOrder::RoundRobin), [2, 3, 0]);
        assert_eq!(allowed(ThrottleOrder::Lowest), [2, 0, 1]);
    }

    #[test]
    fn a_check_is_due_an_interval_after_the_last() {
        let mut throttle = ContentionThrottle::new(ContentionThrottleSettings::default());
        assert_eq!(throttle.next_check(), 1000);
        throttle.check(&DeviceView {
            now: 1234,
            sms: 4,
            dram_full_stalls: 0,
            reply_stalls: 0,
        });
        assert_eq!(throttle.next_check(), 2234);
    }
}
