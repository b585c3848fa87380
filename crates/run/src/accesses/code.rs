//! Code of launches that are executed without timing, which is replayed in instruction caches.

use warploom_base::Pc;
use warploom_exec::LaunchContext;
use warploom_gpu::{Gpu, Replay, ReplayKind, SEGMENT_BYTES};
use warploom_sm::CODE_BASE;

/// Number of launches whose code is kept.
const KEPT: usize = 64;

/// Segments of a kernel's code, each with the time of its last fetch.
#[derive(Clone, Default)]
pub(super) struct Fetches {
    /// Address of the first instruction, and of the first segment.
    address: u64,
    first: u64,
    inst_bytes: u64,
    /// Number of the last change of the segment that comes to each segment; 0 if there was none.
    last: Vec<u64>,
    changes: u64,
    running: usize,
}

impl Fetches {
    /// Room for the fetches of a launch whose instructions have `inst_bytes` bytes each.
    pub fn new(launch: &LaunchContext, inst_bytes: u64) -> Self {
        let address = CODE_BASE + launch.instructions_before() * inst_bytes;
        Self::at(address, launch.program().insts.len() as u64, inst_bytes)
    }

    fn at(address: u64, count: u64, inst_bytes: u64) -> Self {
        let first = address & !(SEGMENT_BYTES - 1);
        let bytes = count * inst_bytes;
        Self {
            inst_bytes,
            address,
            first,
            last: vec![0; (address + bytes - first).div_ceil(SEGMENT_BYTES) as usize],
            changes: 0,
            running: usize::MAX,
        }
    }

    /// Adds the fetches of `count` instructions that follow each other, at least one.
    #[inline]
    pub fn add_row(&mut self, first: Pc, count: u32) {
        let place = |pc: u32| self.address - self.first + u64::from(pc) * self.inst_bytes;
        let end = place(first.0 + count - 1) / SEGMENT_BYTES;
        for segment in place(first.0) / SEGMENT_BYTES..=end {
            self.add_segment(segment as usize);
        }
    }

    #[inline]
    fn add_segment(&mut self, segment: usize) {
        if segment != self.running {
            self.running = segment;
            self.changes += 1;
            if let Some(last) = self.last.get_mut(segment) {
                *last = self.changes;
            }
        }
    }

    /// Fetches of the segments, in the order of the last one of each.
    pub fn in_order(self) -> Vec<Replay> {
        let numbered = self.last.iter().zip(0..);
        let mut fetched: Vec<(u64, u64)> = numbered
            .filter(|(last, _)| **last > 0)
            .map(|(last, nth)| (*last, self.first + nth * SEGMENT_BYTES))
            .collect();
        fetched.sort_unstable();
        let fetch = |(_, segment)| Replay {
            segment,
            bytes: u128::MAX,
            kind: ReplayKind::Read,
        };
        fetched.into_iter().map(fetch).collect()
    }
}

/// Code of launches that followed each other.
#[derive(Default)]
pub(super) struct Code {
    /// Fetches of each launch, and the SMs that its blocks use.
    launches: Vec<(Vec<Replay>, Vec<u16>)>,
}

impl Code {
    /// Adds the code of a launch that came later. The same code on the same SMs counts once.
    pub fn add(&mut self, fetches: Vec<Replay>, mut sms: Vec<u16>) {
        sms.sort_unstable();
        let launch = (fetches, sms);
        self.launches.retain(|other| *other != launch);
        self.launches.push(launch);
        let surplus = self.launches.len().saturating_sub(KEPT);
        self.launches.drain(..surplus);
    }

    /// Replays the fetches of a process in the instruction caches.
    pub fn replay(&self, gpu: &mut Gpu, asid: u8) {
        let mut later = 0;
        for (fetches, sms) in &self.launches {
            for fetch in fetches {
                for sm in sms {
                    gpu.replay_fetch(asid, fetch, usize::from(*sm), later);
                }
                later += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Fetches};
    use warploom_base::{Pc, Rng};

    /// Code from 64 on: instructions 0 to 7 lie in the first segment, 8 to 23 in the second, 24 to
    /// 31 in the third.
    #[test]
    fn segments_are_in_the_order_of_their_last_fetch() {
        let fetched = |pcs: &[u32]| -> Vec<u64> {
            let mut fetches = Fetches::at(64, 32, 8);
            pcs.iter().for_each(|pc| fetches.add_row(Pc(*pc), 1));
            let order = fetches.in_order();
            order.iter().map(|fetch| fetch.segment).collect()
        };
        assert_eq!(fetched(&[0, 7, 8, 23, 24]), [0, 128, 256]);
        // A loop over the first two, which is left from the first.
        assert_eq!(fetched(&[0, 8, 9, 0, 8, 9, 0]), [128, 0]);
        assert!(fetched(&[]).is_empty());
    }

    /// Rows of instructions from 64 on, which begin and end anywhere.
    #[test]
    fn a_row_is_fetched_as_its_instructions() {
        let mut rng = Rng::new(3);
        let [mut row, mut each] = [(); 2].map(|()| Fetches::at(64, 100, 8));
        for _ in 0..200 {
            let first = rng.below(100);
            let count = 1 + rng.below(100 - first);
            row.add_row(Pc(first), count);
            (first..first + count).for_each(|pc| each.add_row(Pc(pc), 1));
            assert_eq!(row.last, each.last);
        }
    }

    #[test]
    fn the_same_code_on_the_same_sms_counts_once() {
        let mut all = Code::default();
        for (pc, sms) in [(0, [1, 0]), (16, [0, 1]), (0, [0, 1]), (0, [1, 2])] {
            let mut fetches = Fetches::at(0, 32, 8);
            fetches.add_row(Pc(pc), 1);
            all.add(fetches.in_order(), sms.to_vec());
        }
        let order: Vec<u64> = all.launches.iter().map(|(all, _)| all[0].segment).collect();
        assert_eq!(order, [128, 0, 0]);
    }
}
