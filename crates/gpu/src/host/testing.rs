//! SMs and replies for tests.

use super::exchange::Turn;
use warploom_base::{Cycle, SmId};
use warploom_config::preset;
use warploom_mem::{AccessKind, Reply, Request};
use warploom_policy::CustomPolicies;
use warploom_sm::Sm;

/// An SM without blocks.
pub fn idle_sm(number: usize) -> Sm {
    let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    Sm::new(&spec, SmId::new(number), &CustomPolicies::default())
}

/// A reply of a sector, to an SM by number.
pub fn reply_to(number: usize) -> Reply {
    let mut request = Request::new(AccessKind::GlobalRead, 0, 32);
    request.sm = SmId::new(number);
    Reply::from(&request)
}

/// Turns of a step for these SMs.
pub fn turns(sms: &[usize], (from, to): (Cycle, Cycle)) -> Vec<Turn> {
    let turn = |sm: &usize| Turn {
        sm: *sm,
        from,
        to,
        known: from,
    };
    sms.iter().map(turn).collect()
}
