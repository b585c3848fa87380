//! Vector clocks, which show whether accesses to shared memory are ordered, so that a kernel's
//! result does not depend on the order of its lanes (Lamport 1978; Flanagan and Freund, PLDI 2009).

/// Knowledge of a thread about the others.
#[derive(Clone, Debug)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// Initial clock of thread `own` of `threads`.
    pub fn new(own: usize, threads: usize) -> Self {
        let mut clock = vec![0; threads];
        clock[own] = 1;
        Self(clock)
    }

    /// Adds the knowledge of another thread.
    pub fn join(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    /// Begins a new period of thread `own`.
    pub fn tick(&mut self, own: usize) {
        self.0[own] += 1;
    }

    fn event(&self, own: usize) -> Event {
        Event(own, self.0[own])
    }

    fn knows(&self, event: Event) -> bool {
        self.0[event.0] >= event.1
    }

    fn knows_all(&self, events: &[Event]) -> bool {
        events.iter().all(|event| self.knows(*event))
    }
}

/// A period of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Event(usize, u32);

/// Kinds of access to a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
    /// An atomic whose order among atomics has no effect.
    Atomic,
}

/// Accesses to a word since it was last written.
#[derive(Clone, Debug, Default)]
pub struct History {
    written: Vec<Event>,
    read: Vec<Event>,
    atomic: Vec<Event>,
}

impl History {
    /// Notes an access by thread `own`. Returns whether it is ordered after all conflicting
    /// accesses.
    pub fn note(&mut self, access: Access, own: usize, clock: &Clock) -> bool {
        let after_reads = access == Access::Read || clock.knows_all(&self.read);
        let after_atomics = access == Access::Atomic || clock.knows_all(&self.atomic);
        let is_ordered = clock.knows_all(&self.written) && after_reads && after_atomics;
        let event = clock.event(own);
        let list = match access {
            Access::Read => &mut self.read,
            Access::Atomic => &mut self.atomic,
            Access::Write => {
                *self = Self::default();
                &mut self.written
            }
        };
        if !list.contains(&event) {
            list.push(event);
        }
        is_ordered
    }
}
