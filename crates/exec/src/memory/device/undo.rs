//! Contents that a launch overwrites, kept so that the launch can be undone and done again.

use crate::memory::heap::Heap;
use crate::memory::printed::Printed;

/// State of device memory before a launch, as far as the launch has changed it.
#[derive(Clone, Debug)]
pub(super) struct Undo<P> {
    /// Pages as they were, with their numbers.
    pub pages: Vec<(usize, P)>,
    /// By page number, whether the page is in `pages`.
    saved: Vec<bool>,
    /// Printed text and heap of each address space.
    pub services: Vec<(Printed, Option<Heap>)>,
}

impl<P: Clone> Undo<P> {
    /// Nothing overwritten yet, with the printed text and heap of each address space.
    pub fn new(services: Vec<(Printed, Option<Heap>)>) -> Self {
        Self {
            pages: Vec::new(),
            saved: Vec::new(),
            services,
        }
    }

    /// True if a page is kept.
    pub fn has(&self, number: usize) -> bool {
        self.saved.get(number) == Some(&true)
    }

    /// Keeps a page before its first change.
    pub fn save(&mut self, number: usize, page: &P) {
        if self.saved.len() <= number {
            self.saved.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.saved[number], true) {
            self.pages.push((number, page.clone()));
        }
    }
}
