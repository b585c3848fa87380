//! Cases of video instructions, whose operands select parts of registers (PTX ISA 9.7.19).

use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

use super::case::{Case, Given};
use super::table::{Builder, input, output};

/// Selectors of the destination and of the first two sources.
type Selectors = [&'static str; 3];

/// Selectors of scalar instructions. Instructions with a part of the destination merge a third
/// source.
const SCALAR: &[Selectors] = &[["", "", ""], ["", ".b1", ".h1"], ["", ".h0", ".b3"]];
const MERGING: &[Selectors] = &[[".b2", "", ".b0"], [".h1", ".b3", ".h0"]];
/// Selectors for two halves and for four bytes: a mask of lanes, and which parts are combined.
const HALVES: &[Selectors] = &[["", "", ""], [".h1", ".h32", ".h10"], ["", ".h13", ".h20"]];
const BYTES: &[Selectors] = &[["", "", ""], [".b20", ".b7531", ".b0123"]];

/// The cases of one form.
pub fn cases(builder: &Builder<'_>) -> Vec<Case> {
    let shapes = &builder.form.shapes;
    let of = |selectors: &Selectors, third| case(builder, selectors, third);
    let [scalar, merging] = [SCALAR, MERGING].map(|list| list.iter());
    match builder.form.opcode() {
        Opcode::Vmad => scalar.map(|s| of(s, true)).collect(),
        opcode if is_packed(opcode) => {
            let list = if opcode.text().ends_with('2') {
                HALVES
            } else {
                BYTES
            };
            let masked = |s: &&Selectors| !builder.has(Modifier::Add) || s[0].is_empty();
            list.iter().filter(masked).map(|s| of(s, true)).collect()
        }
        _ if shapes.iter().any(|shape| shape.optional) => {
            let two = scalar.map(|s| of(s, false));
            two.chain(merging.map(|s| of(s, true))).collect()
        }
        _ => scalar.map(|s| of(s, true)).collect(),
    }
}

fn is_packed(opcode: Opcode) -> bool {
    opcode.text().ends_with(['2', '4'])
}

fn case(builder: &Builder<'_>, selectors: &Selectors, third: bool) -> Case {
    let chosen: String = if selectors.iter().all(|selector| selector.is_empty()) {
        String::new()
    } else {
        let shown = selectors.map(|s| if s.is_empty() { "-" } else { s });
        format!(" {}", shown.join(","))
    };
    let mut case = builder.empty(&chosen);
    let d = output(&mut case, ScalarType::B32) + selectors[0];
    let a = input(&mut case, Given::Value(ScalarType::B32)) + selectors[1];
    let shifts = matches!(builder.form.opcode(), Opcode::Vshl | Opcode::Vshr);
    let second = if shifts {
        Given::Count
    } else {
        Given::Value(ScalarType::B32)
    };
    let b = input(&mut case, second) + selectors[2];
    let mut operands = vec![d, a, b];
    if third {
        operands.push(input(&mut case, Given::Value(ScalarType::B32)));
    }
    case.code = vec![format!("{} {};", builder.text, operands.join(", "))];
    case
}
