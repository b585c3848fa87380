//! Accesses of launches without timing that one machine has yet to replay in its caches.

use super::code::Code;
use super::{Entry, lines_of_sm, most_kept, replay_data};
use std::collections::VecDeque;
use std::sync::Arc;
use warploom_config::GpuSpec;
use warploom_gpu::{Gpu, Replay};

/// Accesses of a launch that was executed without timing. Machines share them.
pub(crate) struct Performed {
    /// The last accesses, oldest first.
    pub(super) entries: Box<[Entry]>,
    pub(super) fetches: Vec<Replay>,
}

/// Launches without timing since the last timed one of a machine, oldest first.
pub(crate) struct Pending {
    /// Accesses that are replayed at most, and as many in each cache of an SM.
    most: usize,
    most_of_sm: [usize; 2],
    launches: VecDeque<Arc<Performed>>,
    /// Number of accesses of these launches.
    entries: usize,
    code: Code,
}

impl Pending {
    /// No launches yet, on a machine.
    pub fn new(spec: &GpuSpec) -> Self {
        Self {
            most: most_kept(spec),
            most_of_sm: lines_of_sm(spec).map(|lines| 2 * lines),
            launches: VecDeque::new(),
            entries: 0,
            code: Code::default(),
        }
    }

    /// Adds a launch, whose blocks would have gone to these SMs.
    pub fn add(&mut self, launch: &Arc<Performed>, sms: Vec<u16>) {
        self.code.add(launch.fetches.clone(), sms);
        self.entries += launch.entries.len();
        self.launches.push_back(Arc::clone(launch));
        while let Some(oldest) = self.launches.front()
            && self.entries - oldest.entries.len() >= self.most
        {
            self.entries -= oldest.entries.len();
            self.launches.pop_front();
        }
    }

    /// Replays the launches of a process in the caches of an idle machine, and forgets them.
    pub fn replay(&mut self, gpu: &mut Gpu, asid: u8) {
        if self.launches.is_empty() {
            return;
        }
        replay_data(gpu, asid, self.in_order(), self.most_of_sm, 1);
        self.code.replay(gpu, asid);
        gpu.end_replay();
        self.forget();
    }

    /// Forgets all launches so far.
    pub fn forget(&mut self) {
        self.launches.clear();
        self.entries = 0;
        self.code = Code::default();
    }

    /// The last accesses of all launches, oldest first.
    fn in_order(&self) -> impl Iterator<Item = &Entry> + Clone {
        let all = self.launches.iter().flat_map(|launch| &launch.entries);
        all.skip(self.entries.saturating_sub(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Accesses, tests::of};
    use super::{Entry, Pending};
    use std::sync::Arc;
    use warploom_gpu::SEGMENT_BYTES;

    /// Segments that are replayed after launches with these accesses, on a machine that keeps
    /// eight.
    fn replayed(launches: Vec<Accesses>) -> Vec<u64> {
        let spec = warploom_config::preset("gtx480").expect("a preset");
        let mut pending = Pending {
            most: 8,
            ..Pending::new(&spec)
        };
        for mut launch in launches {
            pending.add(&Arc::new(launch.take_performed()), vec![0]);
        }
        let segment = |entry: &Entry| entry.segment / SEGMENT_BYTES;
        pending.in_order().map(segment).collect()
    }

    #[test]
    fn later_launches_add_to_earlier_ones() {
        assert_eq!(replayed(vec![of(2, [1, 2, 3])]), [1, 2, 3]);
        let two = replayed(vec![of(2, [1, 2, 3]), of(2, [4, 5])]);
        assert_eq!(two, [1, 2, 3, 4, 5]);
        // A launch that wrapped around leaves nothing of the ones before.
        let wrapped = replayed(vec![of(2, [1, 2, 3]), of(2, 10..20)]);
        assert_eq!(wrapped, (12..20).collect::<Vec<u64>>());
        let more = replayed(vec![of(2, 10..20), of(2, [1])]);
        assert_eq!((more.len(), &more[..2], more[7]), (8, &[13, 14][..], 1));
    }

    #[test]
    fn launches_that_leave_nothing_are_not_kept() {
        let spec = warploom_config::preset("gtx480").expect("a preset");
        let mut pending = Pending {
            most: 8,
            ..Pending::new(&spec)
        };
        for _ in 0..10 {
            pending.add(&Arc::new(of(2, [1, 2, 3]).take_performed()), vec![0]);
        }
        assert_eq!((pending.launches.len(), pending.entries), (3, 9));
        pending.forget();
        assert_eq!(pending.in_order().count(), 0);
    }
}
