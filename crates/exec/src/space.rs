//! State spaces and the generic windows onto them.

use crate::access::Access;
use crate::fault::FaultKind;
use crate::machine::{Exec, Machine};
use crate::move_ops::mov;
use crate::span::Span;
use crate::wide::{Run, Wide};
use warploom_base::{LaneMask, lanes_of};
use warploom_ir::{
    CONST_BASE, CONST_BYTES, GLOBAL_BASE, LOCAL_WINDOW, LOCAL_WINDOW_BYTES, MemSpace, PARAM_WINDOW,
    PARAM_WINDOW_BYTES, SHARED_WINDOW, SHARED_WINDOW_BYTES, Src, Width,
};

/// Start and size of a space's generic window; `None` where generic addresses are the space's own.
fn window(space: MemSpace) -> Option<(u64, u64)> {
    match space {
        MemSpace::Shared => Some((SHARED_WINDOW, SHARED_WINDOW_BYTES)),
        MemSpace::Local | MemSpace::FrameParam => Some((LOCAL_WINDOW, LOCAL_WINDOW_BYTES)),
        MemSpace::Param => Some((PARAM_WINDOW, PARAM_WINDOW_BYTES)),
        MemSpace::Generic | MemSpace::Global | MemSpace::Const => None,
    }
}

/// A generic address, or what it is in its space, lies in global memory: the others are lower.
#[inline]
pub(crate) const fn is_global(address: u64) -> bool {
    address >= GLOBAL_BASE
}

/// The space that a generic address lies in, and the address there.
#[inline]
pub(crate) fn resolve(address: u64) -> Option<(MemSpace, u64)> {
    if is_global(address) {
        return Some((MemSpace::Global, address));
    }
    for space in [MemSpace::Shared, MemSpace::Local, MemSpace::Param] {
        if let Some((start, bytes)) = window(space)
            && (start..start + bytes).contains(&address)
        {
            return Some((space, address - start));
        }
    }
    let constant = (CONST_BASE..CONST_BASE + CONST_BYTES).contains(&address);
    constant.then_some((MemSpace::Const, address))
}

/// What converts between a space's own addresses and generic ones, where these are the same.
pub(crate) fn cvta(space: MemSpace, width: Width, wide: Wide) -> Option<Run> {
    let own = match width {
        Width::B64 => Width::B64,
        _ => Width::B32,
    };
    window(space).is_none().then(|| mov(own, wide)).flatten()
}

impl Machine<'_, '_> {
    /// If all lanes' generic addresses lie in one space: turns them into addresses of that space.
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

    /// Resolves generic addresses lane by lane; the lowest lane's space comes first.
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
                return Err(self.memory_fault(FaultKind::NoSpace, access, lane));
            };
            self.out.addrs[lane] = own;
            let group = groups.iter_mut().find(|group| group.0 == space);
            group.expect("every space has its group").1 |= 1 << lane;
        }
        groups.sort_by_key(|group| group.1.trailing_zeros());
        Ok(groups)
    }

    /// Generic address from a space's own (`to` false) or the other way.
    pub fn cvta(&mut self, space: MemSpace, to: bool, width: Width) -> Exec {
        let start = window(space).map_or(0, |(start, _)| start);
        let shift = if to { start.wrapping_neg() } else { start };
        if width == Width::B64 {
            self.un(|a: u64| a.wrapping_add(shift))
        } else {
            self.un(|a: u32| a.wrapping_add(shift as u32))
        }
    }

    pub fn isspacep(&mut self, space: MemSpace) -> Exec {
        let wide = self.inst.wide_addr || !matches!(self.inst.src[0], Src::Reg(_));
        let inside = |address: u64| resolve(address).is_some_and(|found| found.0 == space);
        let holds = if wide {
            self.test(inside)
        } else {
            self.test(|address: u32| inside(address.into()))
        };
        self.put_pred(self.inst.dst[0], holds);
        Ok(())
    }
}
