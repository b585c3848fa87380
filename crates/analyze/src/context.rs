//! Prediction of context switching for a kernel: whether GPUDuet would act, and the reason if not.

use serde::Serialize;
use warploom_config::{
    BlockNeeds, ContextChoice, ContextNeeds, ContextPlan, DuetSettings, GpuSpec, OccupancyLimit,
};
use warploom_policy::context::declined;
use warploom_policy::load_class::LoadClass;
use warploom_policy::utilisation::Utilisation;
use warploom_stats::result::KernelReport;

/// Prediction of GPUDuet for a kernel (GPUDuet, section 6.4).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DuetAnalysis {
    /// True if GPUDuet would take extra blocks.
    pub acts: bool,
    /// Most extra blocks on an SM (the bound of ME).
    pub extra_blocks: u32,
    /// Unit that would leave the SM alone: `warp` or `block`.
    pub level: &'static str,
    /// Storage that an absent warp takes, in registers.
    pub context_registers: Option<u32>,
    /// True if L1D would have to hold contexts.
    pub l1d: bool,
    /// Reason why GPUDuet would not act.
    pub reason: Option<String>,
}

impl DuetAnalysis {
    /// Prediction with the machine's settings of GPUDuet, or their defaults.
    pub(crate) fn new(
        spec: &GpuSpec,
        launch: &KernelReport,
        used: &Utilisation,
        class: LoadClass,
    ) -> Self {
        let settings = match spec.sm.context {
            ContextChoice::Duet(settings) => settings,
            _ => DuetSettings::default(),
        };
        let plan = plan(spec, launch, settings);
        let idle = f64::from(settings.l1d_percent) / 100.0;
        let reason = match plan.refusal {
            Some(why) => Some(declined(why).reason().to_owned()),
            None if settings.extra_blocks == Some(0) => Some("duet.extra_blocks is 0".to_owned()),
            // A fixed number of extra blocks does not depend on the load.
            None if settings.extra_blocks.is_some() => None,
            None if class == LoadClass::Saturated => {
                Some("a part of the machine is saturated: more warps would only wait".to_owned())
            }
            None if plan.l1d && used.l1d >= idle => Some(format!(
                "only L1D is spare, and its port is busy {:.0}% of the time",
                used.l1d * 100.0
            )),
            None => None,
        };
        Self {
            acts: reason.is_none(),
            extra_blocks: plan.bound,
            level: plan.level(),
            context_registers: launch.context_registers,
            l1d: plan.l1d,
            reason,
        }
    }

    /// Clause on whether GPUDuet would act, and how or why not.
    pub fn prediction(&self) -> String {
        if let Some(reason) = &self.reason {
            return format!("would not act: {reason}");
        }
        let blocks = match self.extra_blocks {
            1 => "1 block more".to_owned(),
            n => format!("up to {n} blocks more"),
        };
        let whole = match self.level {
            "warp" => "stalled warps leave",
            _ => "blocks leave when all their warps stall",
        };
        let store = if self.l1d { ", to L1D" } else { "" };
        format!("would act: {blocks} on an SM; {whole}{store}")
    }
}

/// The plan that GPUDuet makes for a launch.
fn plan(spec: &GpuSpec, launch: &KernelReport, settings: DuetSettings) -> ContextPlan {
    let threads = launch.block.0.iter().product();
    let (registers, shared) = (launch.registers_per_thread, launch.shared_bytes);
    let needs = BlockNeeds::new(threads, registers, shared, &spec.sm);
    let rules = ContextChoice::Duet(settings).rules();
    let rules = rules.expect("GPUDuet switches contexts");
    let kept = rules.reduce.then_some(launch.context_registers).flatten();
    let contexts = ContextNeeds::new(&needs, kept, launch.context_registers.is_some());
    let limit = OccupancyLimit::named(&launch.occupancy_limit).unwrap_or(OccupancyLimit::Cap);
    ContextPlan::new(&rules, &contexts, (launch.blocks_per_sm, limit), spec)
}
