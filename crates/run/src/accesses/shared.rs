//! Accesses of one execution as several machines see them. Machines whose caches have had the same
//! contents so far share a record.

use super::{Accesses, Performed, gather};
use crate::accesses::segments::Segments;
use std::sync::Arc;
use warploom_base::Pc;
use warploom_config::GpuSpec;
use warploom_exec::{LaunchContext, Observer, StepOut};

/// Caches that machines have in common, and the accesses of the launch that is executed.
#[derive(Clone)]
struct Shared {
    accesses: Accesses,
    /// True if copies between host and device leave their lines in L2.
    copies_warm_l2: bool,
    /// Numbers of the machines.
    machines: Vec<usize>,
}

/// Caches of all machines of a pass.
pub(crate) struct Caches {
    all: Vec<Shared>,
    /// Accesses of the instruction that was executed last.
    segments: Segments,
}

/// Accesses of a launch as a machine sees them.
#[derive(Clone)]
pub(crate) struct Watched {
    /// Number of accesses of sectors by warps, and of those that L2 or texture caches lack.
    pub accesses: (u64, u64),
    pub performed: Arc<Performed>,
}

impl Caches {
    /// Empty caches of machines.
    pub fn new<'a>(machines: impl Iterator<Item = &'a GpuSpec>) -> Self {
        let mut all: Vec<Shared> = Vec::new();
        for (machine, spec) in machines.enumerate() {
            let (accesses, copies_warm_l2) = (Accesses::new(spec), spec.gpu.copies_warm_l2);
            let same = |other: &&mut Shared| {
                other.copies_warm_l2 == copies_warm_l2 && other.accesses.is_like(&accesses)
            };
            match all.iter_mut().find(same) {
                Some(shared) => shared.machines.push(machine),
                None => all.push(Shared {
                    accesses,
                    copies_warm_l2,
                    machines: vec![machine],
                }),
            }
        }
        Self {
            all,
            segments: Segments::default(),
        }
    }

    /// Begins a launch. `sms` has the SMs whose turn it is on each machine. Caches of SMs are no
    /// longer shared by machines on which blocks go to other SMs.
    pub fn begin(&mut self, sms: &[Vec<u16>], reads_textures: bool) {
        let mut all = Vec::new();
        for mut shared in self.all.drain(..) {
            let by_sm = reads_textures || shared.accesses.keeps_l1;
            let mut parts: Vec<Vec<usize>> = Vec::new();
            for machine in std::mem::take(&mut shared.machines) {
                let same = |part: &&mut Vec<usize>| !by_sm || sms[part[0]] == sms[machine];
                match parts.iter_mut().find(same) {
                    Some(part) => part.push(machine),
                    None => parts.push(vec![machine]),
                }
            }
            shared.accesses.begin_launch();
            let mut owned = Some(shared);
            while let Some(machines) = parts.pop() {
                let part = match parts.is_empty() {
                    true => owned.take(),
                    false => owned.clone(),
                };
                let mut part = part.expect("the last part takes it");
                part.accesses.sms.clone_from(&sms[machines[0]]);
                all.push(Shared { machines, ..part });
            }
        }
        self.all = all;
    }

    /// The accesses of the launch that has been executed, by machine.
    pub fn take(&mut self, machines: usize) -> Vec<Option<Watched>> {
        let mut watched = vec![None; machines];
        for shared in &mut self.all {
            let one = Watched {
                accesses: (shared.accesses.count, shared.accesses.lacking),
                performed: Arc::new(shared.accesses.take_performed()),
            };
            for machine in &shared.machines {
                watched[*machine] = Some(one.clone());
            }
        }
        watched
    }

    /// Accesses the end of a copy between host and device, as much as L2 holds.
    pub fn copied(&mut self, address: u64, bytes: u64) {
        for shared in self.all.iter_mut().filter(|shared| shared.copies_warm_l2) {
            shared.accesses.footprint.copied(address, bytes);
        }
    }

    /// Leaves out a machine from now on.
    pub fn leave_out(&mut self, machine: usize) {
        for shared in &mut self.all {
            shared.machines.retain(|other| *other != machine);
        }
        self.all.retain(|shared| !shared.machines.is_empty());
    }
}

impl Observer for Caches {
    fn begin(&mut self, launch: &LaunchContext) {
        let all = self.all.iter_mut();
        all.for_each(|shared| shared.accesses.begin(launch));
    }

    fn stepped(&mut self, block: u64, _: u32, out: &StepOut) {
        if let Some((kind, through_l1)) = gather(&mut self.segments, out) {
            for shared in &mut self.all {
                for place in self.segments.all() {
                    shared.accesses.add(block, kind, through_l1, *place);
                }
            }
        }
    }

    fn follows_all(&self) -> bool {
        false
    }

    fn passed(&mut self, first: Pc, count: u32) {
        for shared in &mut self.all {
            shared.accesses.fetches.add_row(first, count);
        }
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, launch: &LaunchContext) {
        let all = self.all.iter_mut();
        all.for_each(|shared| shared.accesses.end(launch));
    }
}

#[cfg(test)]
mod tests {
    use super::Caches;
    use warploom_config::{GpuSpec, preset};

    /// Numbers of the machines that share caches.
    fn shared(caches: &Caches) -> Vec<&[usize]> {
        let all = caches.all.iter();
        all.map(|shared| shared.machines.as_slice()).collect()
    }

    fn machines() -> [GpuSpec; 3] {
        let plain = preset("rtx2060-turing").expect("a preset");
        let mut small = plain.clone();
        small.partition.l2.sets /= 2;
        [plain.clone(), small, plain]
    }

    #[test]
    fn machines_with_the_same_caches_share_a_record() {
        let machines = machines();
        let mut caches = Caches::new(machines.iter());
        assert_eq!(shared(&caches), [&[0, 2][..], &[1]]);
        caches.leave_out(1);
        assert_eq!(shared(&caches), [&[0, 2]]);
    }

    /// Which SM reads a texture matters to its texture cache. Once these differ, they stay apart.
    #[test]
    fn machines_part_where_blocks_go_to_other_sms() {
        let machines = machines();
        let mut caches = Caches::new(machines.iter());
        let keeps_l1 = caches.all[0].accesses.keeps_l1;
        let [one, other] = [
            vec![vec![0], vec![0], vec![0]],
            vec![vec![0], vec![0], vec![1]],
        ];
        caches.begin(&one, true);
        assert_eq!(shared(&caches), [&[0, 2][..], &[1]]);
        caches.begin(&other, false);
        assert_eq!(shared(&caches).len(), if keeps_l1 { 3 } else { 2 });
        caches.begin(&other, true);
        assert_eq!(shared(&caches), [&[2][..], &[0], &[1]]);
        caches.begin(&one, true);
        assert_eq!(shared(&caches).len(), 3);
    }
}
