//! Tracks which bytes of global memory the launches of a program stored. These are the results of a
//! run that is cut.

use std::collections::BTreeMap;

use warploom_base::lanes_of;
use warploom_exec::{Effect, LaunchContext, MemKind, Observer, StepOut};
use warploom_ir::MemSpace;

/// Number of bytes whose marks are in one page.
const PAGE_BYTES: u64 = 1 << 16;
/// Number of bytes whose marks are in one word.
const WORD_BYTES: u64 = u64::BITS as u64;

/// A set of bytes, in pages with one bit for each byte.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    pages: Vec<Box<[u64]>>,
    /// Indices into `pages`, by the number of the page.
    index: BTreeMap<u64, usize>,
    /// Number and index of the page that was marked last. Most marks are in the same page as the
    /// previous one.
    last: Option<(u64, usize)>,
}

impl Bytes {
    /// True if all of these bytes are in the set.
    pub fn have(&self, address: u64, bytes: u64) -> bool {
        (address..address + bytes).all(|at| {
            let page = self.index.get(&(at / PAGE_BYTES));
            page.is_some_and(|page| {
                let word = self.pages[*page][(at % PAGE_BYTES / WORD_BYTES) as usize];
                word >> (at % WORD_BYTES) & 1 == 1
            })
        })
    }

    /// Adds an aligned access, which is within one word.
    fn add(&mut self, address: u64, bytes: u8) {
        let page = self.page(address / PAGE_BYTES);
        let bits = (1_u64 << bytes) - 1;
        page[(address % PAGE_BYTES / WORD_BYTES) as usize] |= bits << (address % WORD_BYTES);
    }

    fn page(&mut self, number: u64) -> &mut [u64] {
        let place = match self.last {
            Some((last, place)) if last == number => place,
            _ => {
                let pages = &mut self.pages;
                *self.index.entry(number).or_insert_with(|| {
                    pages.push(vec![0; (PAGE_BYTES / WORD_BYTES) as usize].into());
                    pages.len() - 1
                })
            }
        };
        self.last = Some((number, place));
        &mut self.pages[place]
    }

    fn add_all(&mut self, other: &Self) {
        for (number, place) in &other.index {
            let pairs = self.page(*number).iter_mut().zip(&other.pages[*place]);
            pairs.for_each(|(mine, others)| *mine |= others);
        }
    }
}

/// Bytes that launches stored. Atomics are omitted, because their results depend on all blocks.
#[derive(Debug, Default)]
pub(crate) struct Written {
    by_last: Bytes,
    by_any: Bytes,
}

impl Written {
    /// Bytes that the last launch stored.
    pub fn by_last(&self) -> &Bytes {
        &self.by_last
    }

    /// Bytes that any launch stored.
    pub fn by_any(&self) -> &Bytes {
        &self.by_any
    }
}

impl Observer for Written {
    fn begin(&mut self, _: &LaunchContext) {
        self.by_last = Bytes::default();
    }

    fn follows_all(&self) -> bool {
        false
    }

    fn stepped(&mut self, _: u64, _: u32, out: &StepOut) {
        let Effect::Memory(effect) = out.effect else {
            return;
        };
        if effect.space == MemSpace::Global && effect.kind == MemKind::Store {
            for lane in lanes_of(out.active) {
                self.by_last.add(out.addrs[lane], effect.bytes);
            }
        }
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {
        self.by_any.add_all(&self.by_last);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, PAGE_BYTES};

    #[test]
    fn bytes_are_found_where_they_were_added() {
        let mut bytes = Bytes::default();
        bytes.add(PAGE_BYTES - 16, 16);
        bytes.add(PAGE_BYTES, 4);
        bytes.add(3 * PAGE_BYTES + 8, 1);
        assert!(bytes.have(PAGE_BYTES - 16, 20));
        assert!(!bytes.have(PAGE_BYTES - 17, 2) && !bytes.have(PAGE_BYTES, 5));
        assert!(bytes.have(3 * PAGE_BYTES + 8, 1) && !bytes.have(3 * PAGE_BYTES, 9));
        let mut all = Bytes::default();
        all.add(PAGE_BYTES + 4, 4);
        all.add_all(&bytes);
        assert!(all.have(PAGE_BYTES, 8) && all.have(3 * PAGE_BYTES + 8, 1));
    }
}
