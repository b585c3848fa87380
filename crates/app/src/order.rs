//! Known order between streams. It follows from the calls of the program: the events for which
//! streams wait, and everything for which the host has waited.

use std::collections::BTreeMap;

/// The legacy default stream, which is ordered after all earlier operations and for which the host
/// waits.
const LEGACY: u64 = 1;

/// A point in the order of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamPoint {
    /// Stream to which the point belongs.
    pub stream: u64,
    number: u64,
}

/// Number of the last point of each stream that is known to precede.
pub(crate) type Predecessors = BTreeMap<u64, u64>;

/// Known order of all streams.
#[derive(Default)]
pub(crate) struct Order {
    numbers: u64,
    /// For each stream, the points that precede its next operation.
    known: BTreeMap<u64, Predecessors>,
    /// Points for which the host has waited.
    complete: Predecessors,
    /// Number of the last point for which the host has waited in all streams.
    last_complete: u64,
}

/// Adds the points of one set to another.
fn merge(into: &mut Predecessors, from: &Predecessors) {
    for (stream, number) in from {
        let own = into.entry(*stream).or_default();
        *own = (*own).max(*number);
    }
}

impl Order {
    /// Creates the next point of a stream.
    pub fn next_point(&mut self, stream: u64) -> StreamPoint {
        self.numbers += 1;
        let number = self.numbers;
        StreamPoint { stream, number }
    }

    /// Creates a point for which the host has already waited.
    pub fn completed_point(&mut self) -> StreamPoint {
        let point = self.next_point(LEGACY);
        self.last_complete = point.number;
        point
    }

    /// Points that precede an event which is now recorded in a stream.
    pub fn predecessors_of_event(&mut self, stream: u64) -> Predecessors {
        let mut known = self.known.get(&stream).cloned().unwrap_or_default();
        known.insert(stream, self.next_point(stream).number);
        known
    }

    /// Orders a stream after an event.
    pub fn wait_for_event(&mut self, stream: u64, event: &Predecessors) {
        merge(self.known.entry(stream).or_default(), event);
    }

    /// Records that the host has waited for a stream.
    pub fn complete_stream(&mut self, stream: u64) {
        let done = self.predecessors_of_event(stream);
        merge(&mut self.complete, &done);
    }

    /// Records that the host has waited for all streams.
    pub fn complete_all(&mut self) {
        self.last_complete = self.numbers;
    }

    /// True if the host has waited for a point.
    pub fn is_complete(&self, point: StreamPoint) -> bool {
        let complete = self.complete.get(&point.stream).copied().unwrap_or(0);
        point.stream == LEGACY || point.number <= complete.max(self.last_complete)
    }

    /// True if the next operation of a stream is ordered after a point.
    pub fn follows(&self, stream: u64, point: StreamPoint) -> bool {
        let known = self.known.get(&stream);
        let before = known.and_then(|known| known.get(&point.stream));
        stream == LEGACY || before.is_some_and(|before| point.number <= *before)
    }
}

#[cfg(test)]
mod tests {
    use super::{LEGACY, Order};

    #[test]
    fn streams_come_behind_what_they_wait_for() {
        let mut order = Order::default();
        let freed = order.next_point(7);
        assert!(!order.follows(8, freed) && !order.is_complete(freed));
        let event = order.predecessors_of_event(7);
        let later = order.next_point(7);
        order.wait_for_event(8, &event);
        assert!(order.follows(8, freed) && !order.follows(8, later));
        // The order known to stream 8 is passed on to stream 9.
        let further = order.predecessors_of_event(8);
        order.wait_for_event(9, &further);
        assert!(order.follows(9, freed) && !order.follows(9, later));
        assert!(order.follows(LEGACY, later));
    }

    #[test]
    fn what_the_host_has_waited_for_is_over() {
        let mut order = Order::default();
        let (one, other) = (order.next_point(7), order.next_point(8));
        order.complete_stream(7);
        assert!(order.is_complete(one) && !order.is_complete(other));
        order.complete_all();
        assert!(order.is_complete(other));
        let next = order.next_point(8);
        assert!(!order.is_complete(next));
    }
}
