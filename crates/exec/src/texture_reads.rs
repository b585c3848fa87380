//! Facts of a texture fetch by which it can be repeated after stores of other SMs have become
//! visible: the pages of its texels, and its operands, because later instructions may write the
//! registers that hold them.

use crate::memory::stored_lines::Pages;
use crate::state::registers::{Lanes32, RegFile, blend};
use warploom_base::LaneMask;
use warploom_ir::{Dst, ExtraOperands, Inst, Src};

/// Operands of a texture fetch, and pages that it read.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextureReads {
    /// Contents of the registers that are operands, slot by slot, in the order of [`slots`].
    operands: Vec<Lanes32>,
    /// Pages of the texels.
    pub pages: Pages,
}

/// Slots of the registers that are operands of a texture fetch. The handle takes two.
fn slots<'a>(inst: &Inst, extra: &'a ExtraOperands) -> impl Iterator<Item = usize> + 'a {
    let slot = |src: &Src| match src {
        Src::Reg(reg) => Some(reg.0 as usize),
        _ => None,
    };
    let handle = slot(&inst.src[0]).into_iter();
    let handle = handle.flat_map(|first| [first, first + 1]);
    handle.chain(extra.srcs.iter().filter_map(slot))
}

/// True if a texture fetch reads registers and constants only, which [`TextureReads`] can keep.
pub(crate) fn can_be_kept(inst: &Inst, extra: Option<&ExtraOperands>) -> bool {
    let plain = |src: &Src| matches!(src, Src::Reg(_) | Src::Const(_) | Src::None);
    plain(&inst.src[0]) && extra.is_some_and(|extra| extra.srcs.iter().all(plain))
}

impl TextureReads {
    /// Facts of no fetch at all.
    pub const NOTHING: Self = Self {
        operands: Vec::new(),
        pages: Pages::NONE,
    };

    /// Begins a texture fetch: keeps its operands.
    #[inline]
    pub fn begin(&mut self, inst: &Inst, extra: &ExtraOperands, regs: &RegFile) {
        self.pages = Pages::NONE;
        self.operands.clear();
        let slots = slots(inst, extra).map(|slot| Lanes32(*regs.r32(slot)));
        self.operands.extend(slots);
    }

    /// Copies the facts of another fetch, without new memory where there is room.
    pub fn copy(&mut self, other: &Self) {
        self.operands.clone_from(&other.operands);
        self.pages = other.pages;
    }

    /// Puts the operands into their registers. Returns the former contents of these.
    pub fn put(&self, inst: &Inst, extra: &ExtraOperands, regs: &mut RegFile) -> Vec<Lanes32> {
        let held = slots(inst, extra).map(|slot| Lanes32(*regs.r32(slot)));
        let held = held.collect();
        for (slot, kept) in slots(inst, extra).zip(&self.operands) {
            *regs.r32_mut(slot) = kept.0;
        }
        held
    }
}

/// Puts back the contents that registers `held` before [`TextureReads::put`], apart from results
/// that the lanes of `mask` got since.
pub(crate) fn put_back(
    (inst, extra): (&Inst, &ExtraOperands),
    held: &[Lanes32],
    mask: LaneMask,
    regs: &mut RegFile,
) {
    let is_result = |slot: usize| {
        let mut results = extra.dsts.iter();
        results.any(|dst| matches!(dst, Dst::Reg(reg) if reg.0 as usize == slot))
    };
    for (slot, held) in slots(inst, extra).zip(held) {
        let mut value = held.0;
        if is_result(slot) {
            blend(&mut value, regs.r32(slot), mask);
        }
        *regs.r32_mut(slot) = value;
    }
}
