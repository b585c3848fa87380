//! What a worker does when it is not called, and the stepping thread while it waits for workers:
//! the back of the memory system.
//!
//! Invariant: the lock is held by whoever runs it, and nobody waits for it.

use super::rest;
use crate::memory::Errand;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Where the back of the memory system lies while it is away.
#[derive(Default)]
pub(super) struct Desk {
    /// There is something to do.
    pub open: AtomicBool,
    /// Somebody waits for it. All that it could wait for is so.
    pub wanted: AtomicBool,
    errand: Mutex<Option<Errand>>,
}

impl Desk {
    /// Goes on with what there is until it is done, cannot be done, or `called`. Returns the turns
    /// that it has waited, of which the first `spins` are short.
    pub fn work(&self, spins: u32, called: impl Fn() -> bool) -> u32 {
        let mut turns = 0;
        let mut wait = || {
            turns += 1;
            rest(turns < spins, std::thread::yield_now);
        };
        let is_there = self.go_on(called, || {
            wait();
            true
        });
        if !is_there {
            // The stepping thread is.
            wait();
        }
        turns
    }

    /// Goes on with what there is until it is done, cannot be done yet, or `needed` elsewhere.
    pub fn help(&self, needed: impl Fn() -> bool) {
        if !needed() {
            self.go_on(needed, || false);
        }
    }

    /// The same; where it cannot be done yet, as long as it `waits`. Returns whether there was
    /// something that nobody else was at.
    fn go_on(&self, needed: impl Fn() -> bool, mut waits: impl FnMut() -> bool) -> bool {
        let Some(mut errand) = self.try_open() else {
            return false;
        };
        let Some(errand) = &mut *errand else {
            unreachable!("an open desk has an errand");
        };
        while !errand.is_done() {
            // Asked before the try: SMs have taken all that they will.
            let wanted = self.wanted.load(Ordering::Acquire);
            if !errand.go_on() {
                if wanted {
                    break;
                }
                if !waits() {
                    return true;
                }
            }
            if needed() {
                return true;
            }
        }
        errand.end();
        self.open.store(false, Ordering::Release);
        true
    }

    /// What there is to do, unless somebody else is at it. Who was may have done all of it.
    fn try_open(&self) -> Option<MutexGuard<'_, Option<Errand>>> {
        let errand = match self.errand.try_lock() {
            Ok(errand) => errand,
            Err(TryLockError::Poisoned(errand)) => errand.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.open.load(Ordering::Relaxed).then_some(errand)
    }

    pub fn put(&self, errand: Errand) {
        let mut place = self.errand.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(errand);
        self.wanted.store(false, Ordering::Relaxed);
        self.open.store(true, Ordering::Release);
    }

    pub fn take(&self) -> Option<Errand> {
        let mut place = self.errand.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemorySystem;
    use warploom_config::preset;

    /// Who comes when an errand has been done does not do it again.
    #[test]
    fn an_errand_ends_once() {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut system = MemorySystem::new(&spec);
        let desk = Desk::default();
        assert!(desk.try_open().is_none(), "nothing is there");
        desk.put(system.send_back(0, 20).expect("it is here"));
        assert!(desk.try_open().is_some());
        desk.help(|| true);
        assert!(desk.try_open().is_some(), "it was needed elsewhere");
        desk.help(|| false);
        assert!(desk.try_open().is_none(), "it is done");
        assert_eq!(desk.work(0, || false), 1);
        let errand = desk.take().expect("it was put there");
        assert_eq!(system.get_back(errand), 20);
    }
}
