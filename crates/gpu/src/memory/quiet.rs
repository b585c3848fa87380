//! Cycles in which the memory system only counts: every request in it waits for a time that is
//! known. They are counted together instead of being run.
//!
//! Invariant: all state is as if every cycle had been run.

use super::MemorySystem;
use super::backend::Backend;
use warploom_base::Cycle;

/// Result of the last look for quiet cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quiet {
    /// Core cycle of the look.
    looked_at: Cycle,
    /// Core cycle before which nothing happens unless a request comes.
    until: Cycle,
}

impl Default for Quiet {
    fn default() -> Self {
        Self {
            looked_at: Cycle::MAX,
            until: 0,
        }
    }
}

impl MemorySystem {
    /// Core cycle before which nothing happens in memory unless an SM sends a request: `now` if
    /// something may happen in that cycle, `Cycle::MAX` if only a request can change anything.
    #[inline]
    pub fn quiet_until(&mut self, now: Cycle) -> Cycle {
        if self.quiet.until <= now && self.quiet.looked_at != now {
            self.quiet = Quiet {
                looked_at: now,
                until: self.find_quiet(now),
            };
        }
        self.quiet.until.max(now)
    }

    fn find_quiet(&self, now: Cycle) -> Cycle {
        debug_assert!(!self.decoupled.is_pending, "input is pending");
        match self.has_no_requests() && self.backend().has_no_replies() {
            true => self.backend().quiet_until(now),
            false => now,
        }
    }

    /// Notes that a request comes, so that memory may not be quiet any more.
    #[inline]
    pub fn end_quiet(&mut self) {
        self.quiet.until = 0;
    }
}

impl Backend {
    /// Core cycle before which nothing happens in the backend unless the request network gives it a
    /// packet: `now` if something may happen in that cycle. Replies that have left the reply
    /// network do not count.
    pub(crate) fn quiet_until(&self, now: Cycle) -> Cycle {
        if !self.replies.is_idle() {
            return now;
        }
        let mut until = Cycle::MAX;
        for bank in &self.partitions {
            until = until.min(bank.calm_until());
            if until <= now {
                return now;
            }
        }
        let mut commands = u64::MAX;
        for channel in &self.channels {
            let (own, leaves_at) = channel.calm();
            (commands, until) = (commands.min(own), until.min(leaves_at));
            if until <= now || commands == 0 {
                return now;
            }
        }
        match commands {
            u64::MAX => until,
            _ => until.min(now.saturating_add(self.cycles_of_dram(commands))),
        }
    }
}

#[cfg(test)]
mod tests;
