//! Conversion between generic addresses and addresses of state spaces.

use crate::fault::FaultKind;
use crate::handler::Handler;
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::memory::span::Span;
use crate::memory::state_space::{is_global, resolve, window};
use crate::ops::access::Access;
use crate::ops::moves::mov;
use crate::state::cluster::split_address;
use warploom_base::{LaneMask, lanes_of};
use warploom_ir::{MemSpace, Src, Width};

/// Handler of `cvta` for spaces whose addresses equal the generic ones, so that the conversion is a
/// copy.
pub(crate) fn cvta(space: MemSpace, width: Width, isa: VectorIsa) -> Option<Handler> {
    let own = match width {
        Width::B64 => Width::B64,
        _ => Width::B32,
    };
    window(space).is_none().then(|| mov(own, isa)).flatten()
}

impl InstExec<'_, '_> {
    /// Converts generic addresses to addresses of one state space, if all lanes are in the same
    /// space.
    pub(crate) fn uniform_space(&mut self) -> Option<MemSpace> {
        if is_global(Span::around(&self.out.addrs, self.mask, 1).low) {
            return Some(MemSpace::Global);
        }
        let span = Span::exact(&self.out.addrs, self.mask, 1);
        let last = span.high - 1;
        if is_global(span.low) {
            return Some(MemSpace::Global);
        }
        let (space, low) = resolve(span.low)?;
        let (last_space, high) = resolve(last)?;
        if space != last_space || last - span.low != high - low {
            return None;
        }
        let shift = span.low - low;
        self.out
            .addrs
            .iter_mut()
            .for_each(|address| *address = address.wrapping_sub(shift));
        Some(space)
    }

    /// Converts generic addresses lane by lane. Returns the lanes of each space, that of the lowest
    /// lane first.
    pub(crate) fn split_spaces(&mut self, access: Access) -> Exec<[(MemSpace, LaneMask); 5]> {
        let spaces = [
            MemSpace::Global,
            MemSpace::Shared,
            MemSpace::Local,
            MemSpace::Param,
            MemSpace::Const,
        ];
        let mut groups = spaces.map(|space| (space, 0 as LaneMask));
        for lane in lanes_of(self.mask) {
            let address = self.out.addrs[lane];
            let Some((space, own)) = resolve(address) else {
                return Err(self.memory_fault(FaultKind::NoStateSpace, access, lane));
            };
            self.out.addrs[lane] = own;
            let group = groups.iter_mut().find(|group| group.0 == space);
            group.expect("every space has its group").1 |= 1 << lane;
        }
        groups.sort_by_key(|group| group.1.trailing_zeros());
        Ok(groups)
    }

    /// Executes `cvta`: from an address of a space to a generic one, or in the other direction if
    /// `to`.
    pub fn cvta(&mut self, space: MemSpace, to: bool, width: Width) -> Exec {
        let start = window(space).map_or(0, |(start, _)| start);
        let shift = if to { start.wrapping_neg() } else { start };
        if width == Width::B64 {
            self.unary(|a: u64| a.wrapping_add(shift))
        } else {
            self.unary(|a: u32| a.wrapping_add(shift as u32))
        }
    }

    /// Executes the instruction `isspacep`.
    pub fn isspacep(&mut self, space: MemSpace) -> Exec {
        let wide = self.inst.wide_addr || !matches!(self.inst.src[0], Src::Reg(_));
        let own = self.ctx.cluster.place(self.block.ctaid).rank;
        let inside = |address: u64| {
            resolve(address).is_some_and(|(found, at)| {
                let rank = || split_address(at).0;
                found == space && (space != MemSpace::Shared || rank().is_none_or(|r| r == own))
            })
        };
        let holds = if wide {
            self.test(inside)
        } else {
            self.test(|address: u32| inside(address.into()))
        };
        self.write_pred(self.inst.dst[0], holds);
        Ok(())
    }
}
