//! Which forms are approximations, and the bounds that the PTX ISA gives for them.

use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

/// The documented bound (PTX ISA 9.7.3 and 9.7.4), or `None` for a form that is exact.
pub fn bound(opcode: Opcode, modifiers: &[Modifier]) -> Option<&'static str> {
    let has = |modifier| modifiers.contains(&modifier);
    if !has(Modifier::Approx) && !has(Modifier::Full) {
        return None;
    }
    let ty = modifiers.iter().find_map(|modifier| modifier.scalar_type());
    let half = matches!(ty, Some(ScalarType::F16 | ScalarType::F16x2));
    let brain = matches!(ty, Some(ScalarType::Bf16 | ScalarType::Bf16x2));
    Some(match opcode {
        Opcode::Div => "2 ulp",
        Opcode::Rcp | Opcode::Rsqrt if ty == Some(ScalarType::F64) => "none: upper word only",
        Opcode::Rcp => "1 ulp",
        Opcode::Sqrt => "2^-23 relative",
        Opcode::Rsqrt => "2^-22.9 relative",
        Opcode::Sin | Opcode::Cos => "2^-20.9 absolute, from -pi to pi",
        Opcode::Lg2 => "2^-22.6 absolute near 1, relative elsewhere",
        Opcode::Ex2 if half => "2^-9.9 relative",
        Opcode::Ex2 if brain => "2^-7 relative",
        Opcode::Ex2 => "2^-22.5 relative",
        Opcode::Tanh if half => "2^-10.987 absolute",
        Opcode::Tanh if brain => "2^-8 absolute",
        Opcode::Tanh => "2^-11 relative",
        _ => "none",
    })
}
