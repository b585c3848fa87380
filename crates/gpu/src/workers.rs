//! Threads that run SMs beside the stepping one, each its own crew, a step at a time.
//!
//! A cycle of a GPU takes microseconds, and a cache line up to a fifth of one from core to core, so
//! what threads tell each other in a step is little: a call to each worker whose crew has something
//! to do, all of it in one line, and that it is done, in another. Between a call and its end the
//! crew is the worker's; otherwise it is the caller's.

mod desk;

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use warploom_base::Cycle;
use warploom_exec::DeviceMemory;
use warploom_sm::Others;

use crate::crew::{Crew, Step};
use crate::memory::Errand;
use crate::retreat::{Pace, Retreat};
use desk::Desk;

/// Turns of a waiting loop before the thread gives way to others, where each has a core.
const SPINS: u32 = 1 << 12;

/// A worker that is late by more does not have its core: less than systems give a program at a
/// stretch, more than crews differ by in a step. The host's time, which no result can show: it
/// decides only who runs SMs.
const LATE: Duration = Duration::from_millis(1);

/// How often a thread gives way, at most, in a wait that giving way ends: whoever it waited for had
/// no other core. Where that has one, giving way takes no time, and it happens hundreds of times.
const FEW: u32 = 4;

/// A value on cache lines of its own, also where neighbouring lines are fetched in pairs: threads
/// that write neighbours do not take it away.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub T);

impl<T> Deref for OwnLine<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for OwnLine<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A step of one crew. Written before its number.
#[derive(Default)]
struct Call {
    /// From 1; the worker waits for it to change.
    nth: AtomicU64,
    from: AtomicU64,
    to: AtomicU64,
    /// [`Step::round`]: [`NO_ROUND`] for none; `from` is when the spell began.
    settled: AtomicU64,
    /// Lent for the step.
    memory: AtomicPtr<DeviceMemory>,
    crew: AtomicPtr<Crew>,
}

/// No round.
const NO_ROUND: Cycle = Cycle::MAX;

/// What a worker says.
#[derive(Default)]
struct Report {
    /// The last step that it has done.
    done: AtomicU64,
    /// Turns that it has waited for calls, in all.
    waited: AtomicU64,
}

/// A worker's place.
#[derive(Default)]
pub(crate) struct Seat {
    call: OwnLine<Call>,
    report: OwnLine<Report>,
    desk: OwnLine<Desk>,
}

/// What threads share.
struct Shared {
    /// Turns of a waiting loop before the thread gives way to others.
    spins: u32,
    seats: Vec<Seat>,
    quit: AtomicBool,
    /// No call will come for long: workers sleep until they are woken.
    retreat: AtomicBool,
    /// What a worker panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    failed: AtomicBool,
}

impl Shared {
    /// A worker's life.
    fn work(&self, seat: &Seat) {
        let mut seen = 0;
        loop {
            let current = || seat.call.nth.load(Ordering::Acquire);
            let called = || current() != seen || self.quit.load(Ordering::Relaxed);
            let has_errand = || seat.desk.open.load(Ordering::Acquire);
            let needed = || called() || has_errand();
            let turns = wait_until(self.spins, needed, || self.give_way());
            seat.report.add_waited(turns);
            if self.quit.load(Ordering::Relaxed) {
                return;
            }
            if !called() {
                self.attempt(|| seat.report.add_waited(seat.desk.work(self.spins, called)));
                continue;
            }
            seen = current();
            self.attempt(|| {
                seat.call.answer(|step, crew| {
                    crew.run(step);
                    crew.post(step.round.is_some());
                })
            });
            seat.report.done.store(seen, Ordering::Release);
        }
    }

    /// Does something, or keeps what it panics with for the stepping thread.
    fn attempt(&self, job: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            *first = Some(payload);
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Calls workers to a step of their crews, but for those whose crew has nothing to do in it.
    /// Crews and memory are lent to them until what is returned is dropped.
    fn call<'a>(&'a self, step: Step<'a>, crews: &'a mut [Crew], nth: u64) -> Called<'a> {
        for (seat, crew) in self.seats.iter().zip(crews) {
            if !crew.rests() {
                seat.call.set(step, crew, nth);
            }
        }
        Called {
            seats: &self.seats,
            spins: self.spins,
            nth,
        }
    }

    /// A worker that has waited for long leaves its core to others.
    fn give_way(&self) {
        if self.retreat.load(Ordering::Relaxed) {
            std::thread::park();
        } else {
            std::thread::yield_now();
        }
    }
}

impl Call {
    /// Calls the worker to the `nth` step.
    fn set(&self, step: Step<'_>, crew: &mut Crew, nth: u64) {
        self.from.store(step.from, Ordering::Relaxed);
        self.to.store(step.to, Ordering::Relaxed);
        let settled = step.round.map_or(NO_ROUND, |others| others.settled);
        self.settled.store(settled, Ordering::Relaxed);
        let memory = std::ptr::from_ref(step.memory).cast_mut();
        self.memory.store(memory, Ordering::Relaxed);
        self.crew.store(crew, Ordering::Relaxed);
        self.nth.store(nth, Ordering::Release);
    }

    /// Lets `act` do what the step asks for.
    #[allow(unsafe_code, reason = "crew and memory are lent; see `Workers::call`")]
    fn answer(&self, act: impl FnOnce(Step<'_>, &mut Crew)) {
        // SAFETY: both were made in `Workers::call` from references, that of the crew the only one
        // there is, which it holds and does not use before the worker has said that it is done,
        // also if either of them panics. They were written before `nth`, which the worker has
        // read.
        let (crew, memory) = unsafe {
            (
                &mut *self.crew.load(Ordering::Relaxed),
                &*self.memory.load(Ordering::Relaxed),
            )
        };
        let from = self.from.load(Ordering::Relaxed);
        let others = Others {
            began: from,
            settled: self.settled.load(Ordering::Relaxed),
        };
        let step = Step {
            from,
            to: self.to.load(Ordering::Relaxed),
            round: Some(others).filter(|others| others.settled != NO_ROUND),
            memory,
        };
        act(step, crew);
    }
}

impl Report {
    fn add_waited(&self, turns: u32) {
        let waited = self.waited.load(Ordering::Relaxed) + u64::from(turns);
        self.waited.store(waited, Ordering::Relaxed);
    }
}

/// Looks until something is so, after `spins` looks with `give_way` between them. Returns how often
/// it looked in vain.
fn wait_until(spins: u32, ready: impl Fn() -> bool, mut give_way: impl FnMut()) -> u32 {
    let mut turns = 0u32;
    while !ready() {
        turns = turns.saturating_add(1);
        rest(turns < spins, &mut give_way);
    }
    turns
}

/// A turn of a waiting loop: a short one, or one that gives way to others.
#[inline]
fn rest(is_short: bool, give_way: impl FnOnce()) {
    if is_short {
        std::hint::spin_loop()
    } else {
        give_way();
    }
}

/// Workers that were called to a step. Ends when they are done, also when the caller unwinds.
pub(crate) struct Called<'a> {
    seats: &'a [Seat],
    spins: u32,
    nth: u64,
}

impl Called<'_> {
    fn is_done(&self, seat: &Seat) -> bool {
        // One that was not called has nothing to do.
        seat.call.nth.load(Ordering::Relaxed) != self.nth
            || seat.report.done.load(Ordering::Acquire) == self.nth
    }

    /// All are done.
    fn is_over(&self) -> bool {
        self.seats.iter().all(|seat| self.is_done(seat))
    }

    /// What it had to wait.
    fn wait(&self) -> Wait {
        self.wait_for(|seat| self.is_done(seat))
    }

    fn wait_for(&self, ready: impl Fn(&Seat) -> bool) -> Wait {
        let mut all = Wait::default();
        for seat in self.seats {
            all.add(&Wait::until(self.spins, || ready(seat)));
        }
        all
    }
}

/// How long the stepping thread waited for workers.
#[derive(Default)]
pub(crate) struct Wait {
    /// Turns.
    turns: u32,
    /// So long that it gave way to others.
    gave_way: bool,
    /// That was what ended it.
    took_turns: bool,
    /// For longer than [`LATE`] from then on.
    late: bool,
}

impl Wait {
    /// Waits until something is so.
    fn until(spins: u32, ready: impl Fn() -> bool) -> Self {
        let (mut since, mut ways) = (None, 0u32);
        let turns = wait_until(spins, ready, || {
            since.get_or_insert_with(Instant::now);
            ways = ways.saturating_add(1);
            std::thread::yield_now();
        });
        Self {
            turns,
            gave_way: since.is_some(),
            took_turns: (1..=FEW).contains(&ways),
            late: since.is_some_and(|since| since.elapsed() > LATE),
        }
    }

    /// Another wait, after this one.
    fn add(&mut self, other: &Self) {
        self.turns = self.turns.saturating_add(other.turns);
        self.gave_way |= other.gave_way;
        self.took_turns |= other.took_turns;
        self.late |= other.late;
    }

    /// At all.
    fn any(&self) -> bool {
        self.turns > 0
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.wait();
    }
}

/// The threads.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The step, from 1.
    nth: u64,
    retreat: Retreat,
    /// What the stepping thread has waited for in the spell.
    waits: Wait,
}

impl Workers {
    /// So many threads beside the caller's.
    pub fn new(threads: usize) -> Self {
        // A thread that waits for one without a core must leave it its own.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            spins: if threads < cores { SPINS } else { 0 },
            seats: (0..threads).map(|_| Seat::default()).collect(),
            quit: AtomicBool::new(false),
            retreat: AtomicBool::new(false),
            panic: Mutex::new(None),
            failed: AtomicBool::new(false),
        });
        let spawn = |seat: usize| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work(&shared.seats[seat]))
        };
        Self {
            threads: (0..threads).map(spawn).collect(),
            nth: 0,
            retreat: Retreat::new(),
            waits: Wait::default(),
            shared,
        }
    }

    /// There are workers, and they have cores.
    #[inline]
    pub fn are_awake(&self) -> bool {
        !self.threads.is_empty() && self.retreat.is_over()
    }

    /// One step: the first crew runs on this thread, after `beside` and before `behind`, each other
    /// one that does not rest on its worker's. Returns whether this thread waited for one of them;
    /// `None` where it ran all crews itself, because workers had no cores.
    pub fn run(
        &mut self,
        step: Step<'_>,
        crews: &mut [Crew],
        beside: impl FnOnce(),
        behind: impl FnOnce(&mut Crew),
    ) -> Option<bool> {
        let alone = match step.round {
            Some(_) => !self.retreat.is_over(),
            None => self.retreat.begin_step(),
        };
        if alone {
            beside();
            self.run_alone(step, crews, behind);
            return None;
        }
        self.nth += 1;
        let Some((own, others)) = crews.split_first_mut() else {
            unreachable!("the stepping thread has a crew");
        };
        let called = self.shared.call(step, others, self.nth);
        beside();
        own.run(step);
        behind(own);
        if let Some(seat) = self.shared.seats.first() {
            seat.desk.help(|| called.is_over());
        }
        let wait = called.wait();
        drop(called);
        self.rethrow();
        let any = wait.any();
        match step.round {
            Some(_) => self.waits.add(&wait),
            None => drop(retreats(&mut self.retreat, &self.shared, &wait)),
        }
        Some(any)
    }

    /// The first worker does this beside steps. Requires that there is one that does not sleep, and
    /// that it has none to do.
    pub fn send(&mut self, errand: Errand) {
        debug_assert!(self.are_awake(), "workers sleep");
        self.shared.seats[0].desk.put(errand);
    }

    /// It is done, or as much of it as can be now that all SMs have run.
    pub fn get(&mut self) -> Errand {
        let desk = &self.shared.seats[0].desk;
        desk.wanted.store(true, Ordering::Release);
        let is_done =
            || !desk.open.load(Ordering::Acquire) || self.shared.failed.load(Ordering::Acquire);
        self.waits.add(&Wait::until(self.shared.spins, is_done));
        self.rethrow();
        let Some(errand) = desk.take() else {
            unreachable!("it was put there");
        };
        errand
    }

    /// A step of all crews on this thread. What they have for it lies where workers leave it.
    #[cold]
    fn run_alone(&mut self, step: Step<'_>, crews: &mut [Crew], behind: impl FnOnce(&mut Crew)) {
        let Some((own, others)) = crews.split_first_mut() else {
            unreachable!("the stepping thread has a crew");
        };
        own.run(step);
        behind(own);
        for crew in others.iter_mut().filter(|crew| !crew.rests()) {
            crew.run(step);
            crew.post(step.round.is_some());
        }
        self.look_again();
    }

    /// Workers are called again, if a retreat is over.
    fn look_again(&self) {
        if self.retreat.is_over() {
            self.shared.retreat.store(false, Ordering::Relaxed);
            self.wake();
        }
    }

    /// Workers that sleep look for calls again.
    fn wake(&self) {
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }

    fn rethrow(&self) {
        if self.shared.failed.load(Ordering::Relaxed) {
            let mut first = self
                .shared
                .panic
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(payload) = first.take() {
                drop(first);
                resume_unwind(payload);
            }
        }
    }

    /// A spell of so many cycles is over. Returns the turns that this thread has waited in its
    /// rounds and for what it sent, if there were workers.
    pub fn end_spell(&mut self, cycles: u32) -> Option<u32> {
        let wait = std::mem::take(&mut self.waits);
        if self.retreat.pass(cycles) {
            self.look_again();
            return None;
        }
        retreats(&mut self.retreat, &self.shared, &wait);
        Some(wait.turns)
    }

    /// Turns that each worker has waited for calls, in all.
    pub fn waited(&self) -> impl Iterator<Item = u64> {
        let seats = self.shared.seats.iter();
        seats.map(|seat| seat.report.waited.load(Ordering::Relaxed))
    }
}

/// Workers sleep for some steps, if the wait for them was too long. Returns whether they do.
fn retreats(retreat: &mut Retreat, shared: &Shared, wait: &Wait) -> bool {
    // Threads without a core each give way at once.
    let pace = match wait {
        _ if shared.spins == 0 => Pace::Even,
        Wait {
            took_turns: true, ..
        } => Pace::InTurns,
        Wait { gave_way: true, .. } => Pace::Slow,
        _ => Pace::Even,
    };
    let begins = retreat.end_step(pace, wait.late);
    if begins {
        shared.retreat.store(true, Ordering::Relaxed);
    }
    begins
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::Release);
        self.wake();
        for thread in self.threads.drain(..) {
            // A worker's panic has been passed on by `run` already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backlog::Backlogs;
    use crate::memory::MemorySystem;
    use warploom_base::SmId;
    use warploom_config::preset;
    use warploom_policy::OwnPolicies;
    use warploom_sm::Sm;

    /// A wait that ends as soon as a thread gives way is told from shorter and longer ones.
    #[test]
    fn waits_that_giving_way_ends_are_known() {
        let spins = 8;
        let wait = |looks: u32| {
            let left = std::cell::Cell::new(looks);
            let is_over = || left.replace(left.get().saturating_sub(1)) == 0;
            let wait = Wait::until(spins, is_over);
            (wait.gave_way, wait.took_turns)
        };
        assert_eq!(wait(0), (false, false));
        assert_eq!(wait(spins - 1), (false, false));
        assert_eq!(wait(spins), (true, true));
        assert_eq!(wait(spins - 1 + FEW), (true, true));
        assert_eq!(wait(spins + FEW), (true, false));
    }

    /// Whoever runs the crews, all that do not rest have run when a step is over; workers that have
    /// slept are there again.
    #[test]
    fn crews_run_while_workers_sleep_and_after() {
        let count = 3;
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let sm = |id| Sm::new(&spec, SmId::new(id), &OwnPolicies::default());
        let backlogs = Arc::new(Backlogs::new(count + 1));
        let crew = |id| Crew::new(id, vec![sm(id)], Arc::clone(&backlogs));
        let mut crews: Vec<Crew> = (0..=count).map(crew).collect();
        let mut workers = Workers::new(count);
        let memory = DeviceMemory::new(1 << 16);
        let wait = Wait {
            turns: 1,
            gave_way: true,
            took_turns: false,
            late: true,
        };
        retreats(&mut workers.retreat, &workers.shared, &wait);
        for from in 0..1100 {
            let resting = from as usize % crews.len();
            for (number, crew) in (0..).zip(&mut crews) {
                let awake = [number];
                crew.order(if number as usize == resting {
                    &[]
                } else {
                    &awake
                });
            }
            let step = Step {
                from,
                to: from + 1,
                round: None,
                memory: &memory,
            };
            let waited = workers.run(step, &mut crews, || (), |_| ());
            match from {
                0..1024 => assert_eq!(waited, None),
                1024 => assert!(waited.is_some()),
                // A worker that was not scheduled may have led to another retreat.
                _ => {}
            }
            let ran = crews.iter_mut().flat_map(Crew::end_step);
            assert_eq!(ran.count(), count);
        }
    }

    /// Whether a worker is called meanwhile or not, what was sent comes back done.
    #[test]
    fn errands_are_done_beside_steps() {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut system = MemorySystem::new(&spec);
        let sm = |id| Sm::new(&spec, SmId::new(id), &OwnPolicies::default());
        let backlogs = Arc::new(Backlogs::new(2));
        let mut crews = [0, 1].map(|id| Crew::new(id, vec![sm(id)], Arc::clone(&backlogs)));
        let mut workers = Workers::new(1);
        let memory = DeviceMemory::new(1 << 16);
        for nth in 0..20 {
            let (from, end) = (100 * nth, 100 * (nth + 1));
            // A worker that was not scheduled may sleep for some steps.
            let sends = workers.are_awake();
            assert!(sends || nth > 0);
            let errand = system.send_back(from, end).expect("it is here");
            let mut here = match sends {
                true => {
                    workers.send(errand);
                    None
                }
                false => Some(errand),
            };
            for step in 0..nth % 3 {
                crews
                    .iter_mut()
                    .zip(0..)
                    .for_each(|(crew, sm)| crew.order(&[sm]));
                let step = Step {
                    from: from + step,
                    to: from + step + 1,
                    round: None,
                    memory: &memory,
                };
                workers.run(step, &mut crews, || (), |_| ());
                assert_eq!(crews.iter_mut().flat_map(Crew::end_step).count(), 2);
            }
            if let Some(errand) = &mut here {
                while errand.go_on() {}
                errand.end();
            }
            let errand = here.unwrap_or_else(|| workers.get());
            assert_eq!(system.get_back(errand), end);
            system.begin_front();
            (from..end).for_each(|now| system.front_cycle(now));
        }
    }
}
