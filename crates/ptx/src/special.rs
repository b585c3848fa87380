//! Special registers: names that every module knows (PTX ISA, chapter 10).

use crate::tokens::ScalarType;

/// Type of a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// Type of the register or of each of its elements.
    pub ty: ScalarType,
    /// True if the register has elements `.x .y .z .w`.
    pub vector: bool,
}

/// Registers with the elements `.x .y .z .w`, all of type u32.
const VECTORS: &[&str] = &[
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
];

const SCALARS: &[(&str, ScalarType)] = &[
    ("%laneid", ScalarType::U32),
    ("%warpid", ScalarType::U32),
    ("%nwarpid", ScalarType::U32),
    ("%smid", ScalarType::U32),
    ("%nsmid", ScalarType::U32),
    ("%gridid", ScalarType::U64),
    ("%cluster_ctarank", ScalarType::U32),
    ("%cluster_nctarank", ScalarType::U32),
    ("%is_explicit_cluster", ScalarType::Pred),
    ("%lanemask_eq", ScalarType::U32),
    ("%lanemask_le", ScalarType::U32),
    ("%lanemask_lt", ScalarType::U32),
    ("%lanemask_ge", ScalarType::U32),
    ("%lanemask_gt", ScalarType::U32),
    ("%clock", ScalarType::U32),
    ("%clock_hi", ScalarType::U32),
    ("%clock64", ScalarType::U64),
    ("%globaltimer", ScalarType::U64),
    ("%globaltimer_lo", ScalarType::U32),
    ("%globaltimer_hi", ScalarType::U32),
    ("%reserved_smem_offset_begin", ScalarType::B32),
    ("%reserved_smem_offset_end", ScalarType::B32),
    ("%reserved_smem_offset_cap", ScalarType::B32),
    ("%reserved_smem_offset_0", ScalarType::B32),
    ("%reserved_smem_offset_1", ScalarType::B32),
    ("%total_smem_size", ScalarType::U32),
    ("%aggr_smem_size", ScalarType::U32),
    ("%dynamic_smem_size", ScalarType::U32),
    ("%current_graph_exec", ScalarType::U64),
];

/// Numbered families: prefix, suffix, number of members and type.
const FAMILIES: &[(&str, &str, u32, ScalarType)] = &[
    ("%pm", "_64", 8, ScalarType::U64),
    ("%pm", "", 8, ScalarType::U32),
    ("%envreg", "", 32, ScalarType::B32),
];

/// True if `name` has elements that `.x` and so on select.
pub fn is_vector(name: &str) -> bool {
    VECTORS.contains(&name)
}

/// Looks up a special register by name, with its element if it has one (`%tid.x`).
pub fn lookup(name: &str) -> Option<Special> {
    if let Some((vector, element)) = name.split_once('.') {
        let known = is_vector(vector) && matches!(element, "x" | "y" | "z" | "w");
        return known.then_some(Special {
            ty: ScalarType::U32,
            vector: false,
        });
    }
    if is_vector(name) {
        return Some(Special {
            ty: ScalarType::U32,
            vector: true,
        });
    }
    let scalar = SCALARS
        .iter()
        .find(|(text, _)| *text == name)
        .map(|(_, ty)| *ty);
    scalar
        .or_else(|| family(name))
        .map(|ty| Special { ty, vector: false })
}

fn family(name: &str) -> Option<ScalarType> {
    FAMILIES.iter().find_map(|(prefix, suffix, count, ty)| {
        let number = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        let index: u32 = number.parse().ok()?;
        (index < *count && index.to_string() == number).then_some(*ty)
    })
}

/// Every name, for hints; the first member stands for its family.
pub fn names() -> impl Iterator<Item = &'static str> {
    let scalars = SCALARS.iter().map(|(name, _)| *name);
    VECTORS.iter().copied().chain(scalars)
}

#[cfg(test)]
mod tests {
    use super::{Special, lookup, names};
    use crate::tokens::ScalarType;

    fn check(name: &str, ty: ScalarType, vector: bool) {
        assert_eq!(lookup(name), Some(Special { ty, vector }), "{name}");
    }

    #[test]
    fn known_names() {
        check("%tid", ScalarType::U32, true);
        check("%tid.x", ScalarType::U32, false);
        check("%gridid", ScalarType::U64, false);
        check("%pm7", ScalarType::U32, false);
        check("%pm0_64", ScalarType::U64, false);
        check("%envreg31", ScalarType::B32, false);
        assert!(names().all(|name| lookup(name).is_some()));
    }

    #[test]
    fn unknown_names() {
        for name in [
            "%tid.q",
            "%laneid.x",
            "%pm8",
            "%pm07",
            "%envreg32",
            "%envreg",
            "tid",
            "",
        ] {
            assert_eq!(lookup(name), None, "{name}");
        }
    }
}
