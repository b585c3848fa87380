//! Names of special registers (PTX ISA, "Special Registers").

use warploom_ir::SpecialReg;

/// Special register with the given name, if there is one.
pub(crate) fn find(name: &str) -> Option<SpecialReg> {
    use SpecialReg as S;
    let name = name.strip_prefix('%')?;
    Some(match name {
        "tid.x" => S::TidX,
        "tid.y" => S::TidY,
        "tid.z" => S::TidZ,
        "ntid.x" => S::NtidX,
        "ntid.y" => S::NtidY,
        "ntid.z" => S::NtidZ,
        "ctaid.x" => S::CtaidX,
        "ctaid.y" => S::CtaidY,
        "ctaid.z" => S::CtaidZ,
        "nctaid.x" => S::NctaidX,
        "nctaid.y" => S::NctaidY,
        "nctaid.z" => S::NctaidZ,
        "laneid" => S::LaneId,
        "warpid" => S::WarpId,
        "nwarpid" => S::NwarpId,
        "smid" => S::SmId,
        "nsmid" => S::NsmId,
        "gridid" => S::GridId,
        "lanemask_eq" => S::LanemaskEq,
        "lanemask_le" => S::LanemaskLe,
        "lanemask_lt" => S::LanemaskLt,
        "lanemask_ge" => S::LanemaskGe,
        "lanemask_gt" => S::LanemaskGt,
        "clock" => S::Clock,
        "clock_hi" => S::ClockHi,
        "clock64" => S::Clock64,
        "globaltimer" => S::GlobalTimer,
        "globaltimer_lo" => S::GlobalTimerLo,
        "globaltimer_hi" => S::GlobalTimerHi,
        "total_smem_size" => S::TotalSmemSize,
        "aggr_smem_size" => S::AggrSmemSize,
        "dynamic_smem_size" => S::DynamicSmemSize,
        "current_graph_exec" => S::CurrentGraphExec,
        "clusterid.x" => S::ClusterIdX,
        "clusterid.y" => S::ClusterIdY,
        "clusterid.z" => S::ClusterIdZ,
        "nclusterid.x" => S::NclusterIdX,
        "nclusterid.y" => S::NclusterIdY,
        "nclusterid.z" => S::NclusterIdZ,
        "cluster_ctaid.x" => S::ClusterCtaidX,
        "cluster_ctaid.y" => S::ClusterCtaidY,
        "cluster_ctaid.z" => S::ClusterCtaidZ,
        "cluster_nctaid.x" => S::ClusterNctaidX,
        "cluster_nctaid.y" => S::ClusterNctaidY,
        "cluster_nctaid.z" => S::ClusterNctaidZ,
        "cluster_ctarank" => S::ClusterCtarank,
        "cluster_nctarank" => S::ClusterNctarank,
        "is_explicit_cluster" => S::IsExplicitCluster,
        "reserved_smem_offset_begin"
        | "reserved_smem_offset_end"
        | "reserved_smem_offset_cap"
        | "reserved_smem_offset_0"
        | "reserved_smem_offset_1" => S::ReservedSmemOffset,
        _ => return numbered(name),
    })
}

/// Numbered families: `%pm0` to `%pm7`, `%pm0_64` to `%pm7_64`, `%envreg0` to `%envreg31`.
fn numbered(name: &str) -> Option<SpecialReg> {
    if let Some(number) = name.strip_prefix("envreg") {
        return match number.parse::<u32>().ok()? {
            1 => Some(SpecialReg::EnvReg1),
            2 => Some(SpecialReg::EnvReg2),
            number => (number < 32).then_some(SpecialReg::EnvReg),
        };
    }
    let number = name.strip_prefix("pm")?;
    let number = number.strip_suffix("_64").unwrap_or(number);
    (number.parse::<u32>().ok()? < 8).then_some(SpecialReg::PerformanceCounter)
}

#[cfg(test)]
mod tests {
    use super::find;
    use warploom_ir::SpecialReg;

    #[test]
    fn names_are_found_whole() {
        assert_eq!(find("%tid.y"), Some(SpecialReg::TidY));
        assert_eq!(find("%pm7_64"), Some(SpecialReg::PerformanceCounter));
        assert_eq!(find("%envreg31"), Some(SpecialReg::EnvReg));
        for name in ["tid.x", "%tid.w", "%pm8", "%envreg32", "%pm", "%r1"] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
