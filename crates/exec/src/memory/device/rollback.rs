//! Undoing a launch: what it overwrites is kept until the caller decides.

use super::undo::Undo;
use super::{DeviceMemory, Page, Version};

impl DeviceMemory {
    /// Keeps from now on what writes change, until [`undo`](Self::undo) or [`keep`](Self::keep) is
    /// called. In between, memory must be neither allocated nor freed.
    pub fn begin_undo(&mut self) {
        let services = self.spaces.iter();
        let services = services.map(|space| (space.printed.clone(), space.heap.clone()));
        self.undo = Some(Undo::new(services.collect()));
        self.watches_writes = true;
    }

    /// Restores the contents that memory had when [`begin_undo`](Self::begin_undo) was called.
    pub fn undo(&mut self) {
        let Some(undo) = self.undo.take() else {
            return;
        };
        for (number, page) in undo.pages {
            self.pages[number] = page;
        }
        for (space, (printed, heap)) in self.spaces.iter_mut().zip(undo.services) {
            (space.printed, space.heap) = (printed, heap);
        }
        self.watches_writes = self.track;
    }

    /// Keeps all changes since [`begin_undo`](Self::begin_undo), and returns the contents before
    /// them; nothing if it was not called.
    pub fn keep_both(&mut self) -> Option<Version> {
        self.watches_writes = self.track;
        self.undo.take().map(Version)
    }

    /// Exchanges the contents of memory with those of a version: what was before a launch with what
    /// is after it, or the other way round. In between, memory must be neither allocated nor freed.
    pub fn exchange(&mut self, version: &mut Version) {
        for (number, page) in &mut version.0.pages {
            std::mem::swap(&mut self.pages[*number], page);
        }
        for (space, (printed, heap)) in self.spaces.iter_mut().zip(&mut version.0.services) {
            std::mem::swap(&mut space.printed, printed);
            std::mem::swap(&mut space.heap, heap);
        }
    }

    /// Undoes what was changed since [`begin_undo`](Self::begin_undo), as [`undo`](Self::undo)
    /// does. Returns whether it had made the contents that `after` has, and changed nothing else.
    pub fn undo_as(&mut self, after: &Version) -> bool {
        let is_like = |number: usize, page: &Page| self.pages[number].data == page.data;
        let changed = self.undo.iter().flat_map(|undo| &undo.pages);
        let mut others = changed.filter(|(number, _)| !after.0.has(*number));
        let mut pages = after.0.pages.iter();
        let same = pages.all(|(number, page)| is_like(*number, page))
            && others.all(|(number, page)| is_like(*number, page));
        self.undo();
        same
    }

    /// True if the contents of a page are already kept and its writes are not tracked, so that a
    /// write is only a copy.
    pub(super) fn is_kept(&self, page: usize) -> bool {
        !self.track && self.undo.as_ref().is_some_and(|undo| undo.has(page))
    }

    /// Keeps all changes since [`begin_undo`](Self::begin_undo).
    pub fn keep(&mut self) {
        self.undo = None;
        self.watches_writes = self.track;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceMemory, PAGE_BYTES};
    use warploom_base::Digest;

    fn digest(memory: &DeviceMemory) -> String {
        let mut digest = Digest::new();
        memory.digest(&mut digest);
        digest.hex()
    }

    #[test]
    fn undone_writes_leave_memory_as_it_was() {
        for tracked in [false, true] {
            let mut memory = DeviceMemory::new(1 << 24);
            if tracked {
                memory.track_initialised();
            }
            let bytes = 4 * PAGE_BYTES as u64;
            let base = memory.alloc(0, bytes).expect("room");
            memory.fill(0, base, 7, bytes / 2).expect("inside");
            let before = digest(&memory);
            memory.begin_undo();
            memory.fill(0, base + 5, 9, bytes - 5).expect("inside");
            memory.print(0, Box::from(*b"text"));
            assert_ne!(digest(&memory), before);
            memory.undo();
            assert_eq!(digest(&memory), before);
            assert!(memory.take_printed(0).is_empty());
            assert_eq!(memory.is_written(0, base + bytes / 2, 1), !tracked);
            // Later writes stay.
            memory.write(0, base, &[1, 2, 3]).expect("inside");
            memory.undo();
            assert_ne!(digest(&memory), before);
        }
    }

    /// A launch is undone, done again with the same results, and with other ones.
    #[test]
    fn versions_are_exchanged_and_compared() {
        let mut memory = DeviceMemory::new(1 << 24);
        let base = memory.alloc(0, 3 * PAGE_BYTES as u64).expect("room");
        memory.write(0, base, &[7; 8]).expect("inside");
        let before = digest(&memory);
        memory.begin_undo();
        memory.write(0, base, &[1; 8]).expect("inside");
        memory
            .write(0, base + PAGE_BYTES as u64, &[2])
            .expect("inside");
        let mut version = memory.keep_both().expect("it was begun");
        let after = digest(&memory);
        memory.exchange(&mut version);
        assert_eq!(digest(&memory), before);
        for (values, is_same) in [([1, 2, 0], true), ([1, 3, 0], false), ([1, 2, 1], false)] {
            memory.begin_undo();
            memory.write(0, base, &[values[0]; 8]).expect("inside");
            for (page, value) in (1..).zip(&values[1..]) {
                let at = base + page * PAGE_BYTES as u64;
                memory.write(0, at, &[*value]).expect("inside");
            }
            assert_eq!(memory.undo_as(&version), is_same, "{values:?}");
            assert_eq!(digest(&memory), before);
        }
        memory.begin_undo();
        assert!(!memory.undo_as(&version));
        memory.exchange(&mut version);
        assert_eq!(digest(&memory), after);
        assert!(memory.keep_both().is_none());
    }

    #[test]
    fn kept_writes_stay() {
        let mut memory = DeviceMemory::new(1 << 24);
        let base = memory.alloc(0, 8).expect("room");
        memory.begin_undo();
        memory.write(0, base, &[1; 8]).expect("inside");
        memory.keep();
        memory.undo();
        let mut read = [0; 8];
        memory.read(0, base, &mut read).expect("inside");
        assert_eq!(read, [1; 8]);
    }
}
