//! Instructions leave their collectors.

use super::Collectors;
use super::sets::{COLLECTORS, SETS, Set, WORD, WORDS};

impl Collectors {
    /// Sends instructions that have all operands to the output registers.
    #[inline(always)]
    pub(super) fn send_on<const PLAIN: bool>(&mut self) {
        if PLAIN {
            let mut ready = self.ready[0];
            while ready != 0 {
                let set = self.collectors[ready.trailing_zeros() as usize].set;
                ready &= !self.sets[usize::from(set) % SETS].mask;
                self.send_own::<PLAIN>(set.into());
            }
            return;
        }
        for set in 0..self.used {
            let Set {
                mask, word, mixed, ..
            } = self.sets[set % SETS];
            if self.ready[usize::from(word) % WORDS] & mask == 0 {
                continue;
            }
            if mixed {
                self.send_mixed(set);
            } else {
                self.send_own::<PLAIN>(set);
            }
        }
    }

    /// Each dispatcher of a set that serves one pipe sends one ready instruction: round robin, from
    /// the collector after the last one that it sent.
    #[inline(always)]
    fn send_own<const PLAIN: bool>(&mut self, set: usize) {
        let set = &self.sets[set % SETS];
        let word = if PLAIN {
            0
        } else {
            usize::from(set.word) % WORDS
        };
        let pipe = usize::from(set.pipe);
        let (from, ports) = set.dispatchers;
        let mut ready = self.ready[word] & set.mask;
        for dispatcher in (usize::from(from)..).take(ports.into()) {
            if ready == 0 || self.output.has_no_room(pipe) {
                break;
            }
            let after_last = &mut self.dispatchers[dispatcher % COLLECTORS];
            let after = ready & *after_last;
            let place = if after != 0 { after } else { ready }.trailing_zeros();
            let index = if PLAIN {
                place as usize % WORD
            } else {
                set.at(place)
            };
            let issued = self.collectors[index].issued;
            if PLAIN {
                self.output.push_narrow(pipe, issued);
            } else {
                self.output.push(pipe, issued);
            }
            *after_last = !1 << place;
            let left = !(1 << place);
            ready &= left;
            self.ready[word] &= left;
            self.taken[word] &= left;
            self.busy -= 1;
        }
    }

    /// The same for a set of several pipes or sub-cores. The search begins at the first collector
    /// of the next sub-core (4.2's `find_ready`); if an instruction cannot leave, the next one may.
    #[inline(never)]
    fn send_mixed(&mut self, set: usize) {
        let set = &self.sets[set % SETS];
        let word = usize::from(set.word) % WORDS;
        let (from, ports) = set.dispatchers;
        for after_last in &mut self.dispatchers[usize::from(from)..][..usize::from(ports)] {
            let can_leave = |place: &u32| {
                let c = &self.collectors[set.at(*place)];
                !self.output.is_full(c.pipe.into(), c.issued.sub())
            };
            let ready = self.ready[word] & set.mask;
            let after = ready & *after_last;
            let mut in_turn = bits(after).chain(bits(ready & !after));
            // If one dispatcher finds none that can leave, the others of the set find none either.
            let Some(place) = in_turn.find(can_leave) else {
                break;
            };
            let c = &self.collectors[set.at(place)];
            self.output.push(c.pipe.into(), c.issued);
            *after_last = set.after(place);
            self.ready[word] &= !(1 << place);
            self.taken[word] &= !(1 << place);
            self.busy -= 1;
        }
    }
}

/// Positions of the bits that are set, in ascending order.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}
