//! Allocator with one iteration of iSLIP, as BookSim's allocators do it: outputs grant, inputs
//! accept, both in round-robin order, and pointers move where a grant is accepted (N. McKeown,
//! IEEE/ACM Transactions on Networking 7(2), 1999).

use super::ports::{PortSet, PortTable, Ports};
use warploom_state::{State, Value};

/// Number that stands for no port.
const NONE: u32 = u32::MAX;

/// Choice of an arbiter so far: the request that comes first in round-robin order.
#[derive(Clone, Copy, Debug, Value)]
struct Choice {
    distance: u32,
    who: u32,
    channel: u32,
}

/// Choice of an arbiter without requests.
const NOBODY: Choice = Choice {
    distance: NONE,
    who: NONE,
    channel: NONE,
};

/// Allocator: round-robin pointers and choices of both sides.
#[derive(Clone, Debug, State)]
pub(super) struct Islip<P: Ports> {
    inputs: u32,
    outputs: u32,
    grant_turn: P::Table<u32>,
    accept_turn: P::Table<u32>,
    grants: P::Table<Choice>,
    accepts: P::Table<Choice>,
    granting: Vec<u32>,
    accepting: Vec<u32>,
}

impl<P: Ports> Islip<P> {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs: inputs as u32,
            outputs: outputs as u32,
            grant_turn: P::Table::new(outputs, 0),
            accept_turn: P::Table::new(inputs, 0),
            grants: P::Table::new(outputs, NOBODY),
            accepts: P::Table::new(inputs, NOBODY),
            granting: Vec::with_capacity(outputs),
            accepting: Vec::with_capacity(inputs),
        }
    }

    /// Adds a request of `input` for `output` on behalf of `channel`. `before` tells whether that
    /// channel goes before another one of the same input.
    #[inline]
    pub(super) fn request(
        &mut self,
        input: u32,
        output: u32,
        channel: u32,
        before: impl Fn(u32) -> bool,
    ) {
        let inputs = self.inputs;
        let distance = turns(input, self.grant_turn[output as usize], inputs);
        let grant = &mut self.grants[output as usize];
        if grant.who == NONE {
            self.granting.push(output);
        }
        if distance < grant.distance || distance == grant.distance && before(grant.channel) {
            *grant = Choice {
                distance,
                who: input,
                channel,
            };
        }
    }

    /// Adds requests of all of `inputs`, each of which is its own channel, for `output`. There must
    /// be no other requests for it.
    #[inline]
    pub(super) fn request_all(&mut self, inputs: &P::Set, output: u32) {
        if let Some(first) = inputs.in_turn(self.grant_turn[output as usize] as usize) {
            self.granting.push(output);
            self.grants[output as usize] = Choice {
                distance: 0,
                who: first as u32,
                channel: first as u32,
            };
        }
    }

    /// Matches `output` with one of `inputs`, as requests, grant and acceptance would. Requires
    /// that none of them requests another output, so that a granted input accepts.
    #[inline]
    pub(super) fn match_one(&mut self, inputs: &P::Set, output: u32) -> Option<u32> {
        let turn = &mut self.grant_turn[output as usize];
        let first = inputs.in_turn(*turn as usize)? as u32;
        *turn = after(first, self.inputs);
        Some(first)
    }

    /// Lets each input accept one of its grants, and calls `matched` with (channel, output).
    /// Returns the number of matches.
    pub(super) fn allocate(&mut self, mut matched: impl FnMut(u32, u32)) -> u32 {
        let outputs = self.outputs;
        for output in self.granting.drain(..) {
            let Choice { who, channel, .. } =
                std::mem::replace(&mut self.grants[output as usize], NOBODY);
            let distance = turns(output, self.accept_turn[who as usize], outputs);
            let accept = &mut self.accepts[who as usize];
            if accept.who == NONE {
                self.accepting.push(who);
            }
            if distance < accept.distance {
                *accept = Choice {
                    distance,
                    who: output,
                    channel,
                };
            }
        }
        let inputs = self.inputs;
        let count = self.accepting.len() as u32;
        for input in self.accepting.drain(..) {
            let accept = std::mem::replace(&mut self.accepts[input as usize], NOBODY);
            self.grant_turn[accept.who as usize] = after(input, inputs);
            self.accept_turn[input as usize] = after(accept.who, outputs);
            matched(accept.channel, accept.who);
        }
        count
    }
}

/// Port after `port` in round-robin order.
#[inline]
const fn after(port: u32, ports: u32) -> u32 {
    if port + 1 == ports { 0 } else { port + 1 }
}

/// Distance from `first` to `port` in round-robin order.
#[inline]
pub(super) const fn turns(port: u32, first: u32, ports: u32) -> u32 {
    if port >= first {
        port - first
    } else {
        port + ports - first
    }
}

#[cfg(test)]
mod tests {
    use super::super::ports::Many;
    use super::{Islip, after, turns};
    use warploom_base::BitSet;

    /// Matches (input, output) of one iteration in which every pair of `wants` is a request.
    fn matches(islip: &mut Islip<Many>, wants: &[(u32, u32)]) -> Vec<(u32, u32)> {
        for &(input, output) in wants {
            islip.request(input, output, input, |_| false);
        }
        allocated(islip)
    }

    fn allocated(islip: &mut Islip<Many>) -> Vec<(u32, u32)> {
        let mut matched = Vec::new();
        islip.allocate(|input, output| matched.push((input, output)));
        matched.sort_unstable();
        matched
    }

    /// McKeown 1999, section III: at first all outputs grant the same input, which accepts one.
    /// Pointers move only where a grant is accepted, so they slip apart: from the second iteration
    /// on two of two are matched.
    #[test]
    fn pointers_slip_apart() {
        let mut islip = Islip::<Many>::new(2, 2);
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)];
        assert_eq!(matches(&mut islip, &all), [(0, 0)]);
        for round in 0..4 {
            let expected = if round % 2 == 0 {
                [(0, 1), (1, 0)]
            } else {
                [(0, 0), (1, 1)]
            };
            assert_eq!(matches(&mut islip, &all), expected, "{round}");
        }
    }

    /// An output that was not accepted grants the same input again.
    #[test]
    fn a_refused_output_keeps_its_turn() {
        let mut islip = Islip::<Many>::new(3, 2);
        // Input 0 accepts output 0; output 1 granted it too.
        assert_eq!(matches(&mut islip, &[(0, 0), (0, 1), (2, 1)]), [(0, 0)]);
        assert_eq!(matches(&mut islip, &[(0, 1), (2, 1)]), [(0, 1)]);
        // Now it was accepted: input 1 is first in turn, and 2 comes before 0.
        assert_eq!(matches(&mut islip, &[(0, 1), (2, 1)]), [(2, 1)]);
    }

    /// Requests by sets lead to the same matches as single requests.
    #[test]
    fn inputs_may_ask_together() {
        let (mut single, mut together) = (Islip::<Many>::new(4, 3), Islip::<Many>::new(4, 3));
        for round in 0..200_u32 {
            let mut sets = vec![BitSet::new(4); 3];
            let mut wants = Vec::new();
            for (input, output) in (0..4).flat_map(|input| [(input, 0), (input, 1), (input, 2)]) {
                if (round * (3 * input + output + 1)) % 5 < 2 {
                    sets[output as usize].insert(input as usize);
                    wants.push((input, output));
                }
            }
            (0..3).for_each(|output| together.request_all(&sets[output as usize], output));
            let expected = matches(&mut single, &wants);
            assert_eq!(allocated(&mut together), expected, "{wants:?}");
            assert_eq!(single.grant_turn, together.grant_turn);
            assert_eq!(single.accept_turn, together.accept_turn);
        }
    }

    /// With one request of each input, `match_one` leads to the same matches in every round.
    #[test]
    fn single_requests_need_no_accepting() {
        let (mut long, mut short) = (Islip::<Many>::new(4, 3), Islip::<Many>::new(4, 3));
        for round in 0..200_u32 {
            let mut sets = vec![BitSet::new(4); 3];
            for input in (0..4).filter(|input| round >> input & 1 == 0) {
                sets[(round as usize / 3 + input * round as usize) % 3].insert(input);
            }
            let of = |output: u32| &sets[output as usize];
            (0..3).for_each(|output| long.request_all(of(output), output));
            let matched = (0..3).map(|output| Some((short.match_one(of(output), output)?, output)));
            let mut matched: Vec<_> = matched.flatten().collect();
            matched.sort_unstable();
            assert_eq!(matched, allocated(&mut long), "{sets:?}");
            assert_eq!(short.grant_turn, long.grant_turn);
        }
    }

    /// The channel of an input that goes before the other is granted, in either order of requests.
    #[test]
    fn channels_of_an_input_take_turns() {
        for order in [[4, 5], [5, 4]] {
            let mut islip = Islip::<Many>::new(2, 2);
            for channel in order {
                islip.request(1, 0, channel, |other| (channel, other) == (5, 4));
            }
            let mut granted = Vec::new();
            assert_eq!(islip.allocate(|channel, _| granted.push(channel)), 1);
            assert_eq!(granted, [5]);
        }
    }

    #[test]
    fn turns_go_round() {
        assert_eq!([0, 1, 2].map(|port| after(port, 3)), [1, 2, 0]);
        assert_eq!([0, 1, 2].map(|port| turns(port, 1, 3)), [2, 0, 1]);
    }
}
