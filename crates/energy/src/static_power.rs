//! Static power of SMs that hold blocks, by the kinds of units that work and by active lanes
//! (AccelWattch, Kandiah et al., MICRO 2021).

use crate::activity::Activity;

/// Kinds of work for which static power was measured apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitMix {
    /// Integer additions, no products.
    IntAdd,
    /// Integer products, no additions.
    IntMul,
    /// Integer additions and products.
    Int,
    /// Integer and floating-point units.
    IntFp,
    /// Integer, floating-point and double-precision units.
    IntFpDp,
    /// Integer, floating-point and special function units.
    IntFpSpecial,
    /// Integer, floating-point and texture units.
    IntFpTexture,
    /// Integer, floating-point units and tensor cores.
    IntFpTensor,
    /// L1D, but no execution unit.
    L1d,
    /// Shared memory, but no execution unit and no L1D.
    Shared,
    /// L2, but no unit and no memory closer to the SMs.
    L2,
    /// No unit and no memory.
    Light,
    /// Any other mix: the geometric mean of those that were measured.
    Other,
}

impl UnitMix {
    /// All kinds of work.
    pub const ALL: [Self; 13] = [
        Self::IntAdd,
        Self::IntMul,
        Self::Int,
        Self::IntFp,
        Self::IntFpDp,
        Self::IntFpSpecial,
        Self::IntFpTexture,
        Self::IntFpTensor,
        Self::L1d,
        Self::Shared,
        Self::L2,
        Self::Light,
        Self::Other,
    ];

    /// Returns the key in energy presets.
    pub const fn key(self) -> &'static str {
        match self {
            Self::IntAdd => "int_add",
            Self::IntMul => "int_mul",
            Self::Int => "int",
            Self::IntFp => "int_fp",
            Self::IntFpDp => "int_fp_dp",
            Self::IntFpSpecial => "int_fp_special",
            Self::IntFpTexture => "int_fp_texture",
            Self::IntFpTensor => "int_fp_tensor",
            Self::L1d => "l1d",
            Self::Shared => "shared_memory",
            Self::L2 => "l2",
            Self::Light => "light",
            Self::Other => "other",
        }
    }

    /// Returns the kind of work of an interval.
    pub fn of(activity: &Activity<'_>) -> Self {
        let works = |units: &[&str]| units.iter().any(|unit| activity.active_lanes(unit) > 0.0);
        let add = works(&["int_add"]);
        let mul = works(&["int_mul24", "int_mul32", "int_mul", "int_div"]);
        let fp = works(&["fp_add", "fp_mul", "fp_div"]);
        let dp = works(&["dp_add", "dp_mul", "dp_div"]);
        let special = works(&["sqrt", "log", "sin", "exp"]);
        let (tensor, texture) = (works(&["tensor"]), works(&["texture"]));
        let others = [dp, special, texture, tensor];
        match (add || mul, fp, others) {
            (true, true, [true, false, false, false]) => Self::IntFpDp,
            (true, true, [false, true, false, false]) => Self::IntFpSpecial,
            (true, true, [false, false, true, false]) => Self::IntFpTexture,
            (true, true, [false, false, false, true]) => Self::IntFpTensor,
            (true, true, [false, false, false, false]) => Self::IntFp,
            (true, false, [false, false, false, false]) => match (add, mul) {
                (true, false) => Self::IntAdd,
                (false, true) => Self::IntMul,
                _ => Self::Int,
            },
            (false, false, [false, false, false, false]) => Self::without_units(activity),
            _ => Self::Other,
        }
    }

    fn without_units(activity: &Activity<'_>) -> Self {
        let accesses = |cache: &str| {
            let prefix = format!("{cache}.accesses.");
            activity.counts.keys().any(|name| name.starts_with(&prefix))
        };
        if accesses("l1d") {
            Self::L1d
        } else if activity.count("sm.shared_instructions") > 0.0 {
            Self::Shared
        } else if accesses("l2") {
            Self::L2
        } else {
            Self::Light
        }
    }
}

/// Static power of a GPU whose SMs all hold blocks, for one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct StaticPower {
    /// Watts with one active lane in every warp.
    pub first_lane_w: f64,
    /// Watts that every further active lane adds.
    pub added_lane_w: f64,
}

impl StaticPower {
    /// Watts with `lanes` active lanes in a warp, counted up to the next whole one.
    pub fn at(&self, lanes: f64) -> f64 {
        self.first_lane_w + (lanes.ceil() - 1.0).max(0.0) * self.added_lane_w
    }
}
