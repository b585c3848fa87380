//! `sm.warp_scheduler` and the settings of the warp schedulers that have some.

use crate::section::{Info, Reader, Section, Writer};
use crate::spec::WarpScheduler;
use crate::value::{Rule, int};

const NAMES: Rule = Rule::Names(&[
    ("lrr", "loose round robin"),
    ("gto", "greedy, then oldest"),
    ("grr", "greedy, then round robin"),
    ("oldest", "oldest first"),
    ("rrr", "strict round robin"),
    ("two-level", "round robin over a small active group"),
    (
        "static-limit",
        "greedy, then oldest, over the oldest warps only",
    ),
]);

const CHOICE: Info = Info {
    name: "/sm.warp_scheduler",
    rule: NAMES,
    unit: "",
    about: "Which warp goes first.",
    source: "GPGPU-Sim -gpgpu_scheduler",
};

const ACTIVE_WARPS: Info = Info {
    name: "/two-level.active_warps",
    rule: int(1, 64),
    unit: "warps per scheduler",
    about: "Warps in the active group.",
    source: "Narasiman et al., MICRO 2011: fetch groups of 8; GPGPU-Sim two_level_active:N",
};

const LIMITED_WARPS: Info = Info {
    name: "/static-limit.warps",
    rule: int(1, 64),
    unit: "warps per scheduler",
    about: "Warps that may issue.",
    source: "GPGPU-Sim warp_limiting:2:N; Rogers et al., MICRO 2012 (SWL)",
};

impl Section for WarpScheduler {
    fn read(reader: &mut Reader<'_>) -> Self {
        let name: String = reader.take(CHOICE);
        let active_warps = reader.take_or(ACTIVE_WARPS, 8, "8");
        let warps = reader.take_or(LIMITED_WARPS, 16, "16");
        match name.as_str() {
            "lrr" => Self::Lrr,
            "gto" => Self::Gto,
            "grr" => Self::Grr,
            "oldest" => Self::Oldest,
            "rrr" => Self::Rrr,
            "two-level" => Self::TwoLevel { active_warps },
            "static-limit" => Self::StaticLimit { warps },
            other => panic!("`{other}` passed the rule but names no scheduler"),
        }
    }

    fn write(&self, writer: &mut Writer) {
        let name = match self {
            Self::Lrr => "lrr",
            Self::Gto => "gto",
            Self::Grr => "grr",
            Self::Oldest => "oldest",
            Self::Rrr => "rrr",
            Self::TwoLevel { .. } => "two-level",
            Self::StaticLimit { .. } => "static-limit",
        };
        writer.put(CHOICE, &name.to_owned());
        match self {
            Self::TwoLevel { active_warps } => writer.put(ACTIVE_WARPS, active_warps),
            Self::StaticLimit { warps } => writer.put(LIMITED_WARPS, warps),
            _ => {}
        }
    }
}
