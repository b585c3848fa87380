//! Addresses of shared memory of a cluster, and accesses to other blocks' shared memory (PTX ISA,
//! "mapa", "getctarank", "isspacep").

use crate::fault::FaultKind;
use crate::inst::{Exec, InstExec};
use crate::memory::state_space::resolve;
use crate::ops::access::Access;
use crate::outcome::Effect;
use crate::peers::PeerAct;
use crate::state::cluster::{cluster_address, names_block, split_address};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{ClusterOp, MemSpace, SHARED_WINDOW};

impl InstExec<'_, '_> {
    /// Executes `mapa`, `getctarank` and `isspacep.shared::cluster`.
    pub fn cluster_op(&mut self, op: ClusterOp, generic: bool, wide: bool) -> Exec {
        let base = if generic { SHARED_WINDOW } else { 0 };
        let addresses = self.gather::<u64>(self.inst.src[0], wide);
        let own = self.ctx.cluster.place(self.block.ctaid);
        match op {
            ClusterOp::Map => {
                let ranks = *self.src::<u32>(1);
                let map = |lane: usize| {
                    let (_, offset) = split_address(addresses[lane].wrapping_sub(base));
                    match own.blocks {
                        1 => base + offset,
                        _ => base + cluster_address(ranks[lane], offset),
                    }
                };
                let mapped: [u64; WARP_SIZE] = std::array::from_fn(map);
                if wide {
                    self.write_result(&mapped);
                } else {
                    self.write_result(&mapped.map(|address| address as u32));
                }
            }
            ClusterOp::Rank => {
                let rank = |address: u64| split_address(address.wrapping_sub(base)).0;
                let ranks = addresses.map(|address| rank(address).unwrap_or(own.rank));
                self.write_result(&ranks);
            }
            ClusterOp::IsShared => {
                let inside = addresses.map(|address| {
                    resolve(address).is_some_and(|found| {
                        let rank = split_address(found.1).0;
                        found.0 == MemSpace::Shared && rank.is_none_or(|rank| rank < own.blocks)
                    })
                });
                let lanes = (0..WARP_SIZE).filter(|lane| inside[*lane]);
                let holds = lanes.fold(0, |mask: LaneMask, lane| mask | 1 << lane);
                self.write_pred(self.inst.dst[0], holds);
            }
        }
        Ok(())
    }

    /// True if any of some lanes names a block by its rank.
    #[inline]
    pub(crate) fn names_blocks(&self, lanes: LaneMask) -> bool {
        self.ctx.cluster.are_several()
            && lanes_of(lanes).any(|lane| names_block(self.out.addrs[lane]))
    }

    /// Takes the lanes out of `lanes` that access the shared memory of other blocks, and reports
    /// their accesses: `act` gives what a lane does, and the bytes that it writes or room for what
    /// it reads. The addresses of all lanes become places in shared memory.
    #[cold]
    pub(crate) fn part_peers<'b>(
        &mut self,
        access: Access,
        lanes: LaneMask,
        mut act: impl FnMut(usize) -> (PeerAct, &'b [u8]),
    ) -> Exec<LaneMask> {
        let mut left = lanes;
        for lane in lanes_of(lanes) {
            let Some((rank, address)) = self.peer_of(access, lane)? else {
                continue;
            };
            left &= !(1 << lane);
            let (act, bytes) = act(lane);
            self.out.peers.push(lane, (rank, address), act, bytes);
        }
        if let (Effect::Memory(effect), true) = (self.out.effect, left != lanes)
            && effect.space == MemSpace::Shared
        {
            self.set_effect(Effect::Peers(effect));
        }
        Ok(left)
    }

    /// Other block, if it is one, and place in its shared memory that an address names. Checks the
    /// place.
    pub(crate) fn place_of(
        &mut self,
        access: Access,
        address: u64,
        lane: usize,
    ) -> Exec<(Option<u32>, u64)> {
        let before = std::mem::replace(&mut self.out.addrs[lane], address);
        let peer = self.peer_of(access, lane);
        let place = std::mem::replace(&mut self.out.addrs[lane], before);
        Ok((peer?.map(|(rank, _)| rank), place))
    }

    /// Rank of another block and place in its shared memory that a lane accesses; `None` for a
    /// place in the block's own memory. The lane's address becomes the place. Checks it.
    pub(crate) fn peer_of(&mut self, access: Access, lane: usize) -> Exec<Option<(u32, u32)>> {
        let own = self.ctx.cluster.place(self.block.ctaid);
        let (rank, place) = split_address(self.out.addrs[lane]);
        if rank.is_some_and(|rank| rank >= own.blocks) {
            return Err(self.memory_fault(FaultKind::OutOfBounds, access, lane));
        }
        self.out.addrs[lane] = place;
        // Blocks of a launch have the same shared memory.
        self.check(access, lane)?;
        let other = rank.filter(|rank| *rank != own.rank);
        Ok(other.map(|rank| (rank, place as u32)))
    }
}
