//! Cases of exchange between lanes: in whole warps, and in parts of a diverged warp.

use warploom_ptx::forms::Role;
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

use super::case::{Case, Given};
use super::table::{Builder, input, output};

/// Division of a warp while the form is executed.
struct Parts {
    /// Suffix of the case's name.
    variant: &'static str,
    /// Lane masks of the parts.
    masks: &'static [u32],
}

const PARTS: &[Parts] = &[
    Parts {
        variant: "",
        masks: &[0xffff_ffff],
    },
    Parts {
        variant: " by halves",
        masks: &[0x0000_ffff, 0xffff_0000],
    },
    Parts {
        variant: " by turns",
        masks: &[0x5555_5555, 0xaaaa_aaaa],
    },
];

/// The cases of one form.
pub fn cases(builder: &Builder<'_>) -> Vec<Case> {
    let shuffles = builder.form.opcode() == Opcode::Shfl;
    // A shuffle must not read lanes of another part, so that only a division into halves is
    // possible.
    let fits = |parts: &&Parts| !shuffles || parts.variant != " by turns";
    let parts = PARTS.iter().filter(fits);
    parts.map(|parts| case(builder, parts)).collect()
}

fn case(builder: &Builder<'_>, parts: &Parts) -> Case {
    let mut case = builder.empty(parts.variant);
    let operands = operands(builder, &mut case, parts.masks.len() > 1);
    let line = |mask: u32| {
        let mask = builder.has(Modifier::Sync).then(|| format!("{mask:#x}"));
        let all: Vec<String> = operands.iter().cloned().chain(mask).collect();
        format!("{} {};", builder.text, all.join(", "))
    };
    case.code = match parts.masks {
        [first, second] => diverged(*first, line(*first), line(*second)),
        masks => masks.iter().map(|&mask| line(mask)).collect(),
    };
    case
}

/// Code that executes one line for the lanes of a mask, and another for the other lanes.
fn diverged(mask: u32, inside: String, outside: String) -> Vec<String> {
    vec![
        format!("shr.u32 scratch, {mask:#x}, lane;"),
        "and.b32 scratch, scratch, 1;".to_owned(),
        "setp.ne.u32 group, scratch, 0;".to_owned(),
        "@group bra INSIDE;".to_owned(),
        outside,
        "bra END;".to_owned(),
        "INSIDE:".to_owned(),
        inside,
        "END:".to_owned(),
    ]
}

/// All operands except for the member mask.
fn operands(builder: &Builder<'_>, case: &mut Case, in_parts: bool) -> Vec<String> {
    let shapes = &builder.form.shapes;
    let members = usize::from(builder.has(Modifier::Sync));
    let shapes = shapes[..shapes.len() - members].iter().enumerate();
    let operand = |(index, shape): (usize, &warploom_ptx::forms::Shape)| {
        let ty = builder.ty(shape.ty);
        match shape.role {
            Role::Destination => output(case, ty),
            Role::PredicateDestination => output(case, ScalarType::Pred),
            Role::DestinationWithPredicate => {
                let first = output(case, ty);
                format!("{first}|{}", output(case, ScalarType::Pred))
            }
            Role::Predicate => input(case, Given::Vote),
            _ => input(case, given(builder.form.opcode(), index, ty, in_parts)),
        }
    };
    shapes.map(operand).collect()
}

fn given(opcode: Opcode, index: usize, ty: ScalarType, in_parts: bool) -> Given {
    match (opcode, index, in_parts) {
        (Opcode::Shfl, 2, false) => Given::Lane,
        (Opcode::Shfl, 2, true) => Given::HalfLane,
        (Opcode::Shfl, 3, false) => Given::Clamp,
        (Opcode::Shfl, 3, true) => Given::HalfClamp,
        (Opcode::Match, ..) => Given::Few(ty),
        _ => Given::Value(ty),
    }
}
