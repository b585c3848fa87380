//! Timing constraints of a channel, in command cycles (docs/model/dram.md, Timing constraints).

use warploom_config::DramSpec;

/// Constraints, given and derived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timing {
    /// Column to column, any bank.
    pub(super) ccd: u64,
    /// Column to column, same bank group.
    pub(super) ccdl: u64,
    /// Activate to activate.
    pub(super) rrd: u64,
    /// Activate to read.
    pub(super) rcd: u64,
    /// Activate to write.
    pub(super) rcdwr: u64,
    /// Activate to precharge.
    pub(super) ras: u64,
    /// Precharge to activate.
    pub(super) rp: u64,
    /// Activate to activate, same bank.
    pub(super) rc: u64,
    /// Read to write.
    pub(super) rtw: u64,
    /// Write to read.
    pub(super) wtr: u64,
    /// Write to precharge, same bank.
    pub(super) wtp: u64,
    /// Read to precharge, same bank.
    pub(super) rtp: u64,
    /// Read to precharge, same bank group.
    pub(super) rtpl: u64,
    /// Read to data.
    pub(super) cl: u64,
    /// Write to data.
    pub(super) wl: u64,
    /// Data-bus cycles of one column command.
    pub(super) burst: u64,
    /// Bytes of one column command.
    pub(super) atom_bytes: u32,
}

impl Timing {
    pub(super) fn new(spec: &DramSpec) -> Self {
        let t = spec.timing;
        let burst = spec.burst_length / spec.data_ratio;
        let turn = u64::from(!spec.free_turnaround);
        Self {
            ccd: t.ccd.into(),
            ccdl: t.ccdl.into(),
            rrd: t.rrd.into(),
            rcd: t.rcd.into(),
            rcdwr: t.rcd.saturating_sub(t.wl + 1).into(),
            ras: t.ras.into(),
            rp: t.rp.into(),
            rc: t.rc.into(),
            rtw: turn * u64::from((t.cl + burst + 2).saturating_sub(t.wl)),
            wtr: turn * u64::from(t.wl + burst + t.cdlr),
            wtp: (t.wl + burst + t.wr).into(),
            rtp: burst.into(),
            rtpl: t.rtpl.into(),
            cl: t.cl.into(),
            wl: t.wl.into(),
            burst: burst.into(),
            atom_bytes: spec.burst_length * spec.bus_bytes * spec.chips,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Timing;
    use crate::testing::fermi_spec;

    #[test]
    fn derived_values_of_the_gtx480() {
        let t = Timing::new(&fermi_spec().dram);
        // Worked out by hand from the formulas of docs/model/dram.md, Timing constraints.
        assert_eq!((t.burst, t.rcdwr, t.rtw), (2, 7, 12));
        assert_eq!((t.wtr, t.wtp, t.atom_bytes), (11, 18, 64));
        let mut spec = fermi_spec().dram;
        spec.free_turnaround = true;
        let free = Timing::new(&spec);
        assert_eq!((free.rtw, free.wtr, free.wtp), (0, 0, 18));
    }
}
