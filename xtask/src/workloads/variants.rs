//! All variants of all workloads, and their rows on a page.

use warploom_workloads::{WorkloadInfo, all};

/// A variant of a workload.
pub struct Variant {
    /// The workload of this variant.
    pub workload: &'static WorkloadInfo,
    /// Name that [`Target`](warploom_workloads::Target) resolves.
    pub name: String,
}

impl Variant {
    /// True if `only` is empty or names this variant or its workload.
    pub fn is_in(&self, only: &[String]) -> bool {
        let meant = |name: &String| name == self.workload.name || *name == self.name;
        only.is_empty() || only.iter().any(meant)
    }

    /// Rows of this variant and of its kernels on a page.
    pub fn rows_of<'a>(&'a self, page: &'a str) -> impl Iterator<Item = &'a str> {
        page.lines().filter(|line| self.has(line))
    }

    fn has(&self, line: &str) -> bool {
        let rest = line.strip_prefix("| `");
        let target = rest.and_then(|rest| rest.split(['`', ':']).next());
        target == Some(&self.name)
    }
}

/// All variants, in the order of the workloads.
pub fn variants() -> Vec<Variant> {
    let of = |workload: &'static WorkloadInfo| {
        workload.variants.iter().map(move |variant| Variant {
            workload,
            name: format!("{}@{}", workload.name, variant.name),
        })
    };
    all().iter().flat_map(of).collect()
}
