//! Cases of atomics. Each thread accesses an address of its own, so that results do not depend on
//! any order.

use warploom_ptx::tokens::ScalarType;

use super::case::{Accuracy, COLUMN, Case, Family, Given, register_type};

/// Operations and their types.
const OPERATIONS: &[(&str, &[ScalarType])] = {
    use ScalarType as T;
    &[
        ("and", &[T::B32, T::B64]),
        ("or", &[T::B32, T::B64]),
        ("xor", &[T::B32, T::B64]),
        ("exch", &[T::B32, T::B64]),
        ("cas", &[T::B16, T::B32, T::B64]),
        ("add", &[T::U32, T::S32, T::U64, T::F32, T::F64]),
        ("add.noftz", &[T::F16, T::F16x2, T::Bf16, T::Bf16x2]),
        ("inc", &[T::U32]),
        ("dec", &[T::U32]),
        ("min", &[T::U32, T::S32, T::U64, T::S64]),
        ("max", &[T::U32, T::S32, T::U64, T::S64]),
    ]
};

/// Cases of `atom` and, where it exists, `red`, in global and shared memory.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (operation, types) in OPERATIONS {
        for &ty in *types {
            for space in ["global", "shared"] {
                cases.push(case("atom", space, operation, ty));
                if !matches!(*operation, "exch" | "cas") {
                    cases.push(case("red", space, operation, ty));
                }
            }
        }
    }
    cases
}

fn case(opcode: &str, space: &str, operation: &str, ty: ScalarType) -> Case {
    let text = format!("{opcode}.{space}.{operation}.{ty}");
    let returns = opcode == "atom";
    let values = if operation == "cas" { 3 } else { 2 };
    let outputs = vec![ty; if returns { 2 } else { 1 }];
    let (last, bits) = (outputs.len() - 1, register_type(ty));
    let place = match space {
        "shared" => "[cell]".to_owned(),
        // The place of the result in memory.
        _ => format!("[to+{}]", last * COLUMN),
    };
    let result = if returns { "d0, " } else { "" };
    let operands: Vec<String> = (1..values).map(|k| format!("a{k}")).collect();
    let mut code = Vec::new();
    if space == "shared" {
        code.extend(
            [
                ".shared .align 8 .b8 cells[2048];",
                ".reg .b32 cell;",
                "mov.u32 cell, cells;",
                "mov.u32 scratch, %tid.x;",
                "mad.lo.u32 cell, scratch, 8, cell;",
            ]
            .map(str::to_owned),
        );
    }
    code.push(format!("st.{space}.{bits} {place}, a0;"));
    code.push(format!("{text} {result}{place}, {};", operands.join(", ")));
    code.push(format!("ld.{space}.{bits} d{last}, {place};"));
    Case {
        name: text,
        family: Family::Atomic,
        accuracy: Accuracy::Exact,
        since: 80,
        inputs: vec![Given::Value(ty); values],
        outputs,
        code,
    }
}
