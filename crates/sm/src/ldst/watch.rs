//! Events of the data cache for the policies of the warp schedulers that ask for them.

use super::records::{MEM_RECORDS, MemInst, mem_of};
use crate::flight::Pool;
use warploom_base::WarpSlot;
use warploom_mem::cache::{Access, AccessOutcome, Cache, Placed};
use warploom_mem::{AccessKind, Request};
use warploom_policy::{L1dEvent, L1dOutcome};
use warploom_state::{Io, State, StateError};

/// Interest of the policies of an SM's warp schedulers in the data cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct L1dInterest {
    /// A policy is told of events.
    pub(crate) watches: bool,
    /// A policy decides which reads take lines.
    pub(crate) decides: bool,
    /// Most loads that may be parked.
    pub(crate) parks: u32,
}

/// Records of memory instructions, by which reads name their warp.
type Insts = Pool<MemInst, MEM_RECORDS>;

/// The warps that own the lines of a data cache, and the events that no policy has been told of.
#[derive(Debug, State)]
pub(super) struct L1dWatch {
    /// By place of a line: the warp for which it came in.
    owners: Box<[WarpSlot]>,
    events: Vec<L1dEvent>,
}

/// Saves or restores the watch of a cache, if policies watch it. A policy that did not watch it
/// when the state was saved begins with a watch that knows no owner.
pub(super) fn state(watch: &mut Option<Box<L1dWatch>>, io: &mut Io<'_>) -> Result<(), StateError> {
    let name = if watch.is_some() { "watches L1D" } else { "" };
    io.part(name, |io| match watch {
        Some(watch) => watch.state(io),
        None => Ok(()),
    })?;
    Ok(())
}

impl L1dWatch {
    /// The watch of an empty cache.
    pub(super) fn new(l1d: &Cache) -> Self {
        Self {
            owners: vec![WarpSlot(0); l1d.places()].into(),
            events: Vec::with_capacity(4),
        }
    }

    /// True if there are events that no policy has been told of.
    #[inline]
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the events that no policy has been told of, in their order.
    pub(super) fn take_events(&mut self) -> impl Iterator<Item = L1dEvent> + '_ {
        self.events.drain(..)
    }

    /// Notes an access that has been made.
    pub(super) fn accessed(
        &mut self,
        l1d: &Cache,
        insts: &Insts,
        request: &Request,
        access: Access,
        placed: Option<Placed>,
    ) {
        let outcome = match access.outcome {
            AccessOutcome::ReservationFail(_) => return,
            AccessOutcome::Hit => L1dOutcome::Hit,
            AccessOutcome::HitReserved => L1dOutcome::Merged,
            AccessOutcome::SectorMiss => L1dOutcome::SectorMiss,
            AccessOutcome::Miss => L1dOutcome::Miss,
        };
        self.placed(placed, warp_of(insts, request));
        let line = l1d.line_address(request.addr);
        let warp = warp_of(insts, request);
        if request.kind == AccessKind::GlobalWrite {
            self.events.push(L1dEvent::Write { warp, line });
        } else if !request.kind.is_write() {
            let pc = insts[mem_of(request.token).0].pc;
            self.events.push(L1dEvent::Read {
                warp,
                pc,
                line,
                outcome,
            });
        }
    }

    /// Notes a fill on behalf of `first`, and the line that it brought in.
    pub(super) fn filled(&mut self, insts: &Insts, first: &Request, placed: Option<Placed>) {
        self.placed(placed, warp_of(insts, first));
    }

    /// Notes the line that has come in, if one has.
    fn placed(&mut self, placed: Option<Placed>, owner: WarpSlot) {
        let Some(placed) = placed else {
            return;
        };
        let before = std::mem::replace(&mut self.owners[placed.at as usize], owner);
        if let Some(line) = placed.replaced {
            self.events.push(L1dEvent::Evict {
                owner: before,
                line,
            });
        }
    }
}

/// The instruction of a request to the data cache, which reads name; writes name their warp alone.
pub(super) fn inst_of<'a>(insts: &'a Insts, request: &Request) -> Option<&'a MemInst> {
    let writes = request.kind.is_write() || request.kind == AccessKind::L1WriteAllocate;
    (!writes).then(|| &insts[mem_of(request.token).0])
}

/// The warp of a request to the data cache.
pub(super) fn warp_of(insts: &Insts, request: &Request) -> WarpSlot {
    let named = WarpSlot(request.token as u16);
    inst_of(insts, request).map_or(named, |inst| inst.warp)
}
