//! Every variant of every workload, and the rows of pages that have one for each.

use warploom_workloads::{WorkloadInfo, all};

/// One of a workload's variants.
pub struct Variant {
    /// Its workload.
    pub workload: &'static WorkloadInfo,
    /// What [`Target`](warploom_workloads::Target) calls it.
    pub name: String,
}

impl Variant {
    /// It is one of these workloads or variants, or none is named.
    pub fn is_in(&self, only: &[String]) -> bool {
        let meant = |name: &String| name == self.workload.name || *name == self.name;
        only.is_empty() || only.iter().any(meant)
    }

    /// Its rows, or those of its kernels, on a page.
    pub fn rows_of<'a>(&'a self, page: &'a str) -> impl Iterator<Item = &'a str> {
        page.lines().filter(|line| self.has(line))
    }

    fn has(&self, line: &str) -> bool {
        let rest = line.strip_prefix("| `");
        let target = rest.and_then(|rest| rest.split(['`', ':']).next());
        target == Some(&self.name)
    }
}

/// All, in the order of the workloads.
pub fn variants() -> Vec<Variant> {
    let of = |workload: &'static WorkloadInfo| {
        workload.variants.iter().map(move |variant| Variant {
            workload,
            name: format!("{}@{}", workload.name, variant.name),
        })
    };
    all().iter().flat_map(of).collect()
}
