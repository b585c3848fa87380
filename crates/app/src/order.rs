//! Known order between streams. It follows from the calls of the program: the events for which
//! streams wait, and everything for which the host has waited.

use std::collections::BTreeMap;

/// The legacy default stream, which is ordered after all earlier operations and for which the host
/// waits.
const LEGACY: u64 = 1;

/// A point in the order of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Stream to which the point belongs.
    pub stream: u64,
    number: u64,
}

/// Number of the last point of each stream that is known to precede.
pub(crate) type Known = BTreeMap<u64, u64>;

/// Known order of all streams.
#[derive(Default)]
pub(crate) struct Order {
    numbers: u64,
    /// For each stream, the points that precede its next operation.
    known: BTreeMap<u64, Known>,
    /// Points for which the host has waited.
    over: Known,
    /// Number of the last point for which the host has waited in all streams.
    all_over: u64,
}

/// Adds the points of one set to another.
fn merge(into: &mut Known, from: &Known) {
    for (stream, number) in from {
        let own = into.entry(*stream).or_default();
        *own = (*own).max(*number);
    }
}

impl Order {
    /// Creates the next point of a stream.
    pub fn now(&mut self, stream: u64) -> Moment {
        self.numbers += 1;
        let number = self.numbers;
        Moment { stream, number }
    }

    /// Creates a point for which the host has already waited.
    pub fn past(&mut self) -> Moment {
        let moment = self.now(LEGACY);
        self.all_over = moment.number;
        moment
    }

    /// Points that precede an event which is now recorded in a stream.
    pub fn recorded(&mut self, stream: u64) -> Known {
        let mut known = self.known.get(&stream).cloned().unwrap_or_default();
        known.insert(stream, self.now(stream).number);
        known
    }

    /// Orders a stream after an event.
    pub fn waits(&mut self, stream: u64, event: &Known) {
        merge(self.known.entry(stream).or_default(), event);
    }

    /// Records that the host has waited for a stream.
    pub fn stream_over(&mut self, stream: u64) {
        let done = self.recorded(stream);
        merge(&mut self.over, &done);
    }

    /// Records that the host has waited for all streams.
    pub fn all_over(&mut self) {
        self.all_over = self.numbers;
    }

    /// True if the host has waited for a point.
    pub fn is_over(&self, moment: Moment) -> bool {
        let over = self.over.get(&moment.stream).copied().unwrap_or(0);
        moment.stream == LEGACY || moment.number <= over.max(self.all_over)
    }

    /// True if the next operation of a stream is ordered after a point.
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
        // The order known to stream 8 is passed on to stream 9.
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
