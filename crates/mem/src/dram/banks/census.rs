//! How many banks there are of each kind, kept as they change: what is counted in every cycle.

use crate::dram::detail::{MAX_BANKS, WHOLE_SHARE};

/// Banks with work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Census {
    /// All of them.
    pub(super) busy: u64,
    /// Those that find their row open.
    pub(super) open: u64,
    /// Of these, those that write.
    pub(super) writes: u64,
    /// Groups of those that find their row open.
    pub(super) groups: u64,
    /// The share of `writes` in `open`, in parts of `WHOLE_SHARE`, rounded.
    pub(super) write_share: u64,
    /// Banks that find their row open, by group.
    by_group: [u8; MAX_BANKS],
}

impl Census {
    pub(super) fn new(groups: usize) -> Self {
        assert!(groups <= MAX_BANKS, "more groups than banks");
        const { assert!(MAX_BANKS as u64 * WHOLE_SHARE < u32::MAX as u64 / 2) };
        Self {
            busy: 0,
            open: 0,
            writes: 0,
            groups: 0,
            write_share: 0,
            by_group: [0; MAX_BANKS],
        }
    }

    /// A bank gets work.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.busy += 1;
    }

    /// A bank with work finds its row open.
    #[inline]
    pub(super) fn open(&mut self, is_write: bool, group: u8) {
        self.open += 1;
        self.writes += u64::from(is_write);
        let of_group = &mut self.by_group[usize::from(group)];
        self.groups += u64::from(*of_group == 0);
        *of_group += 1;
        self.share();
    }

    /// A bank that found its row open has done its work.
    #[inline]
    pub(super) fn end(&mut self, is_write: bool, group: u8) {
        self.busy -= 1;
        self.open -= 1;
        self.writes -= u64::from(is_write);
        let of_group = &mut self.by_group[usize::from(group)];
        *of_group -= 1;
        self.groups -= u64::from(*of_group == 0);
        self.share();
    }

    #[inline]
    fn share(&mut self) {
        // Divided in half of the bits, which takes hosts half of the time.
        self.write_share = match (self.writes as u32, self.open as u32) {
            (0, _) => 0,
            (writes, open) => ((writes * WHOLE_SHARE as u32 + open / 2) / open).into(),
        };
    }
}
