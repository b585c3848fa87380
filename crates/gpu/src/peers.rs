//! Clusters of several blocks (docs/model/machine.md, Clusters): between steps, what blocks did to
//! shared memory of other blocks takes effect, and messages about barriers set out and arrive.
//!
//! Kernels with such clusters run in steps. Requests are taken in the order of SMs, and of each SM
//! in the order in which it made them, so that results depend on neither threads nor idle SMs.

use crate::dispatch::Dispatcher;
use crate::host::sms::SmArray;
use crate::machine::Gpu;
use crate::peer_messages::{Message, News};
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_exec::{DeviceMemory, PeerAct};
use warploom_ir::MbarrierOp;
use warploom_sm::{PeerInst, PeerPost, PeerRequest};

/// Ranks in the grid of a cluster's blocks.
#[derive(Clone, Copy)]
struct Cluster {
    first: u64,
    blocks: u32,
}

impl Cluster {
    fn of(dispatcher: &Dispatcher, kernel: KernelSlot, block: u64) -> Self {
        let blocks = dispatcher.cluster_blocks(kernel);
        Self {
            first: block - block % u64::from(blocks),
            blocks,
        }
    }

    /// Rank in the grid of the block of a rank in the cluster.
    fn rank(self, inner: u32) -> u64 {
        self.first + u64::from(inner)
    }
}

impl Gpu {
    /// Hands over the messages that have arrived, before the step that starts now.
    #[inline]
    pub(crate) fn deliver_peer_messages(&mut self) {
        while self.peers.next_arrival() <= self.now {
            self.deliver_peer_message();
        }
    }

    #[cold]
    fn deliver_peer_message(&mut self) {
        let Some(message) = self.peers.pop() else {
            return;
        };
        let Message {
            kernel, to, news, ..
        } = message;
        // A block that has ended hears nothing.
        let Some(id) = self.dispatcher.home(kernel, to) else {
            return;
        };
        let sm = self.sms.get(id.index());
        match news {
            News::Object(address, op, operand) => {
                if let Some(block) = sm.peer_block(kernel, to) {
                    block.operate(address, op, operand);
                }
            }
            News::Signal(from, signal) => {
                if sm.hear_peer(self.now, (kernel, to), from, signal) {
                    self.sms.wake(id.index(), self.now);
                }
            }
        }
    }

    /// Takes what blocks have posted in the step that has just ended. Returns whether an access was
    /// a fault.
    #[cold]
    pub(crate) fn exchange_peers(&mut self, device: &DeviceMemory) -> bool {
        let mut fault = false;
        for index in 0..self.sms.len() {
            let posts = std::mem::take(&mut self.sms.touch(index).posts);
            for post in posts {
                fault |= self.take_post(index, post, device);
            }
        }
        fault
    }

    fn take_post(&mut self, sm: usize, post: PeerPost, device: &DeviceMemory) -> bool {
        let PeerPost {
            at, kernel, block, ..
        } = post;
        let cluster = Cluster::of(&self.dispatcher, kernel, block);
        match post.what {
            PeerRequest::Access(inst) => {
                return self.access_peers(sm, (at, kernel), cluster, *inst, device);
            }
            PeerRequest::Signal(signal) => {
                let own = (block - cluster.first) as u32;
                for inner in (0..cluster.blocks).filter(|inner| *inner != own) {
                    let news = News::Signal(own, signal);
                    self.peers.send(at, kernel, cluster.rank(inner), news);
                }
            }
            PeerRequest::Complete(completion) => {
                let rank = cluster.rank(completion.rank.unwrap_or(0));
                let (op, count) = (MbarrierOp::CompleteTx, completion.count.into());
                let news = News::Object(completion.address, op, count);
                self.peers.send(at, kernel, rank, news);
            }
        }
        false
    }

    /// Applies the accesses of an instruction. Returns whether one of them was a fault.
    fn access_peers(
        &mut self,
        sm: usize,
        (at, kernel): (Cycle, KernelSlot),
        cluster: Cluster,
        mut inst: PeerInst,
        device: &DeviceMemory,
    ) -> bool {
        for nth in 0..inst.accesses.all().len() {
            let access = inst.accesses.all()[nth];
            let rank = cluster.rank(access.rank);
            let Some(block) = peer_block(&self.dispatcher, &mut self.sms, kernel, rank) else {
                let sm = self.sms.get(sm);
                sm.miss_block((at, kernel), &inst, nth, device);
                return true;
            };
            match access.act {
                PeerAct::Barrier(op, operand) => {
                    let news = News::Object(access.address, op, operand);
                    self.peers.send(at, kernel, rank, news);
                }
                _ => inst.accesses.apply(nth, block),
            }
        }
        self.sms.get(sm).finish_access(kernel, &inst);
        false
    }
}

/// State of a block that runs.
fn peer_block<'a>(
    dispatcher: &Dispatcher,
    sms: &'a mut SmArray,
    kernel: KernelSlot,
    rank: u64,
) -> Option<&'a mut warploom_exec::BlockState> {
    let id: SmId = dispatcher.home(kernel, rank)?;
    sms.get(id.index()).peer_block(kernel, rank)
}
