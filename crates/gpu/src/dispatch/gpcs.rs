//! GPCs, and the SMs on which the blocks of clusters run.

use std::collections::BTreeMap;
use std::ops::Range;
use warploom_base::SmId;
use warploom_config::DeviceSpec;
use warploom_state::{State, Value};

/// The GPCs of a machine, and which of their SMs took a block last.
#[derive(State)]
pub(super) struct Gpcs {
    /// By GPC: its SMs.
    #[state(fixed)]
    pub(super) sms: Vec<Range<usize>>,
    /// By GPC: the SM after the one that took a block of a cluster last, counted in the GPC.
    pub(super) next_in: Vec<usize>,
    /// GPC that is asked first.
    pub(super) first: usize,
}

impl Gpcs {
    pub fn new(spec: &DeviceSpec) -> Self {
        let of = |gpc: u32| {
            let Range { start, end } = spec.gpc(gpc);
            start as usize..end as usize
        };
        Self {
            sms: (0..spec.gpcs).map(of).collect(),
            next_in: vec![0; spec.gpcs as usize],
            first: 0,
        }
    }
}

/// SMs of the blocks of a cluster, by rank, and how many of its blocks run.
#[derive(Debug, Value)]
pub(super) struct Homes {
    pub(super) sms: Vec<SmId>,
    pub(super) running: u32,
}

/// SMs of the clusters of a kernel that run, by number of the cluster.
#[derive(Debug, Default, Value)]
pub(super) struct ClusterHomes(pub(super) BTreeMap<u64, Homes>);

impl ClusterHomes {
    /// Notes that a block has ended.
    pub fn leave(&mut self, cluster: u64) {
        if let Some(homes) = self.0.get_mut(&cluster) {
            homes.running -= 1;
            if homes.running == 0 {
                self.0.remove(&cluster);
            }
        }
    }
}
