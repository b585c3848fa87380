//! What streams are known to come behind, from what the program said: events that they wait for,
//! and what the host has waited for.

use std::collections::BTreeMap;

/// The legacy default stream: it comes behind everything, and the host waits for it.
const LEGACY: u64 = 1;

/// A place in the order of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The stream whose order is meant.
    pub stream: u64,
    number: u64,
}

/// By stream, the number of the last moment that is known to be before.
pub(crate) type Known = BTreeMap<u64, u64>;

/// What is known of all streams.
#[derive(Default)]
pub(crate) struct Order {
    numbers: u64,
    /// By stream: what it comes behind.
    known: BTreeMap<u64, Known>,
    /// What the host has waited for.
    over: Known,
    /// All up to this is over.
    all_over: u64,
}

fn merge(into: &mut Known, from: &Known) {
    for (stream, number) in from {
        let own = into.entry(*stream).or_default();
        *own = (*own).max(*number);
    }
}

impl Order {
    /// The next moment of a stream.
    pub fn now(&mut self, stream: u64) -> Moment {
        self.numbers += 1;
        let number = self.numbers;
        Moment { stream, number }
    }

    /// A moment that is over.
    pub fn past(&mut self) -> Moment {
        let moment = self.now(LEGACY);
        self.all_over = moment.number;
        moment
    }

    /// What an event stands for that is recorded in a stream now.
    pub fn recorded(&mut self, stream: u64) -> Known {
        let mut known = self.known.get(&stream).cloned().unwrap_or_default();
        known.insert(stream, self.now(stream).number);
        known
    }

    /// A stream waits for an event.
    pub fn waits(&mut self, stream: u64, event: &Known) {
        merge(self.known.entry(stream).or_default(), event);
    }

    /// The host has waited for a stream.
    pub fn stream_over(&mut self, stream: u64) {
        let done = self.recorded(stream);
        merge(&mut self.over, &done);
    }

    /// The host has waited for everything.
    pub fn all_over(&mut self) {
        self.all_over = self.numbers;
    }

    /// The host has waited for a moment.
    pub fn is_over(&self, moment: Moment) -> bool {
        let over = self.over.get(&moment.stream).copied().unwrap_or(0);
        moment.stream == LEGACY || moment.number <= over.max(self.all_over)
    }

    /// What is asked of a stream now comes behind a moment.
    pub fn follows(&self, stream: u64, moment: Moment) -> bool {
        let known = self.known.get(&stream);
        let before = known.and_then(|known| known.get(&moment.stream));
        stream == LEGACY || before.is_some_and(|before| moment.number <= *before)
    }
}

#[cfg(test)]
mod tests {
    use super::{LEGACY, Order};

    #[test]
    fn streams_come_behind_what_they_wait_for() {
        let mut order = Order::default();
        let freed = order.now(7);
        assert!(!order.follows(8, freed) && !order.is_over(freed));
        let event = order.recorded(7);
        let later = order.now(7);
        order.waits(8, &event);
        assert!(order.follows(8, freed) && !order.follows(8, later));
        // What 8 knows goes on to 9.
        let further = order.recorded(8);
        order.waits(9, &further);
        assert!(order.follows(9, freed) && !order.follows(9, later));
        assert!(order.follows(LEGACY, later));
    }

    #[test]
    fn what_the_host_has_waited_for_is_over() {
        let mut order = Order::default();
        let (one, other) = (order.now(7), order.now(8));
        order.stream_over(7);
        assert!(order.is_over(one) && !order.is_over(other));
        order.all_over();
        assert!(order.is_over(other));
        let next = order.now(8);
        assert!(!order.is_over(next));
    }
}
