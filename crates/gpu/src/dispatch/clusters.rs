//! Clusters of several blocks are given out whole: all blocks of one in the same cycle, on the SMs
//! of one GPC, which takes one cluster a cycle.
//!
//! Clusters start in the order of the grid. The filter of SMs and the policy for the order of
//! blocks are not asked; quotas, limits and the order of kernels hold as for single blocks.

use super::gpcs::Homes;
use super::{Dispatcher, InFlight};
use crate::host::sms::SmArray;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_policy::NO_LIMIT;

impl Dispatcher {
    /// Number of blocks of a cluster of a kernel.
    pub fn cluster_blocks(&self, kernel: KernelSlot) -> u32 {
        let kernel = self.kernels[kernel.index()].as_ref();
        kernel.map_or(1, |kernel| kernel.cluster)
    }

    /// SM of a block whose cluster runs.
    pub fn home(&self, kernel: KernelSlot, rank: u64) -> Option<SmId> {
        let kernel = self.kernels[kernel.index()].as_ref()?;
        let blocks = u64::from(kernel.cluster);
        let homes = kernel.homes.0.get(&(rank / blocks))?;
        homes.sms.get((rank % blocks) as usize).copied()
    }

    /// Offers a cluster to each GPC, in one cycle. Returns whether any took one.
    #[cold]
    pub(super) fn dispatch_clusters(&mut self, now: Cycle, sms: &mut SmArray) -> bool {
        let count = self.gpcs.sms.len();
        let first = self.gpcs.first;
        let mut any = false;
        for nth in 0..count {
            let gpc = (first + nth) % count;
            if self.offer_gpc(now, gpc, sms) {
                self.gpcs.first = (gpc + 1) % count;
                any = true;
            }
        }
        any
    }

    /// Offers a cluster to a GPC: one of the first kernel that has one. Returns whether it took it.
    fn offer_gpc(&mut self, now: Cycle, gpc: usize, sms: &mut SmArray) -> bool {
        let own = self.gpcs.sms[gpc].clone();
        let open = self.open.at_or_after(own.start);
        if open.is_none_or(|sm| sm >= own.end) {
            return false;
        }
        for nth in 0..self.slots.len() {
            let slot = self.slots[nth];
            if self.is_cluster_ready(slot, now)
                && let Some(places) = self.places(slot, gpc, sms)
            {
                self.start_cluster(slot, now, &places, sms);
                return true;
            }
            let kernel = self.kernels[slot].as_ref();
            if kernel.is_some_and(|kernel| self.holds_up(kernel, now)) {
                break;
            }
        }
        // Nothing changes before a block ends there.
        if self.slots.len() == 1 && self.in_flight().all(|kernel| kernel.ready_at <= now) {
            own.for_each(|sm| self.open.remove(sm));
        }
        false
    }

    /// True if a cluster of several blocks of a kernel waits and may start.
    fn is_cluster_ready(&mut self, slot: usize, now: Cycle) -> bool {
        let Some(kernel) = self.kernels[slot].as_mut().filter(|k| k.cluster > 1) else {
            return false;
        };
        let blocks = kernel.cluster as usize;
        kernel.fill_window(blocks);
        kernel.ready_at <= now && kernel.window.len() >= blocks
    }

    /// SMs of a GPC for the blocks of a cluster, in turn; `None` if they do not all fit.
    fn places(&mut self, slot: usize, gpc: usize, sms: &mut SmArray) -> Option<Vec<SmId>> {
        let own = self.gpcs.sms[gpc].clone();
        let mut room: Vec<u32> = own.clone().map(|sm| self.room(slot, sm, sms)).collect();
        let blocks = self.kernels[slot].as_ref()?.cluster as usize;
        if room.iter().map(|room| *room as usize).sum::<usize>() < blocks {
            return None;
        }
        let mut places = Vec::with_capacity(blocks);
        let mut at = self.gpcs.next_in[gpc];
        while places.len() < blocks {
            if room[at] > 0 {
                room[at] -= 1;
                places.push(SmId::new(own.start + at));
            }
            at = (at + 1) % room.len();
        }
        self.gpcs.next_in[gpc] = at;
        Some(places)
    }

    /// Number of blocks of a cluster for which an SM has room.
    fn room(&self, slot: usize, sm: usize, sms: &mut SmArray) -> u32 {
        let (id, kernel) = (SmId::new(sm), KernelSlot::new(slot));
        let Some(own) = self.kernels[slot].as_ref() else {
            return 0;
        };
        let quota = self.quota(id, kernel).min(own.most);
        let here = own.running[sm].len() as u32;
        let cap = self.cap.unwrap_or(NO_LIMIT).min(self.limit(id));
        let left = cap.saturating_sub(self.blocks_on(id));
        let most = quota.saturating_sub(here).min(left).min(own.cluster);
        let alone = self.is_alone(id, kernel);
        sms.get(sm).room(kernel, &own.needs, most, alone)
    }

    /// Starts the next cluster of a kernel.
    fn start_cluster(&mut self, slot: usize, now: Cycle, places: &[SmId], sms: &mut SmArray) {
        let Some(kernel) = self.kernels[slot].as_mut() else {
            return;
        };
        let Some(first) = kernel.window.front() else {
            return;
        };
        let cluster = first / u64::from(kernel.cluster);
        let homes = Homes {
            sms: places.to_vec(),
            running: kernel.cluster,
        };
        kernel.homes.0.insert(cluster, homes);
        for id in places {
            let alone = self.is_alone(*id, KernelSlot::new(slot));
            self.start(slot, 0, now, *id, alone, sms.get(id.index()));
            sms.wake(id.index(), now);
        }
        self.let_others_go_on(slot);
    }

    /// Notes whether a kernel with clusters of several blocks is in flight.
    pub(super) fn find_clusters(&mut self) {
        let several = self.in_flight().any(|kernel: &InFlight| kernel.cluster > 1);
        self.has_clusters = several;
    }
}
