//! Cases for every instruction form without side effects in the table of `warploom-ptx`.
//!
//! Because the cases come from the table, a form that Warploom starts to support is compared with
//! hardware from then on. Forms that access memory, change control flow or need other threads are
//! omitted. Exchange between lanes of a warp is in [`super::warp`], and video instructions are in
//! [`super::video`]. Matrices ([`super::matrix`]) and atomics ([`super::atomic`]) have lists of
//! their own.

use std::collections::BTreeSet;

use warploom_ptx::forms::{Form, Forms, Role, TypeRule};
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

use super::case::{Accuracy, Case, Family, Given};
use super::{accuracy, atomic, matrix, video, warp};

/// Truth tables of `lop3`: every operator that has a name, selection, majority, and some without a
/// name.
const LUTS: &[u32] = &[
    0x00, 0x01, 0x1b, 0x3c, 0x40, 0x6d, 0x80, 0x96, 0xca, 0xd8, 0xe8, 0xf1, 0xff,
];

/// Every case, in the order of the table, each name once.
pub fn cases() -> Vec<Case> {
    let forms = Forms::new();
    let mut names = BTreeSet::new();
    let all = Opcode::ALL.iter().flat_map(|&opcode| forms.of(opcode));
    let mut cases: Vec<Case> = all.flat_map(of_form).collect();
    cases.extend(matrix::cases());
    cases.extend(atomic::cases());
    cases.retain(|case| names.insert(case.name.clone()));
    cases
}

fn of_form(form: &Form) -> Vec<Case> {
    let Some(family) = family(form.opcode()) else {
        return Vec::new();
    };
    if form.shapes.iter().any(|shape| shape.role == Role::Any) {
        return Vec::new();
    }
    let combinations = form.combinations().unwrap_or_default();
    let of = |modifiers: &Vec<Modifier>| of_modifiers(form, modifiers, family);
    combinations.iter().flat_map(of).collect()
}

fn of_modifiers(form: &Form, modifiers: &[Modifier], family: Family) -> Vec<Case> {
    let builder = Builder::new(form, modifiers, family);
    match family {
        Family::Video => video::cases(&builder),
        Family::Warp => warp::cases(&builder),
        _ if form
            .shapes
            .iter()
            .any(|shape| shape.role == Role::Immediate) =>
        {
            LUTS.iter().map(|lut| builder.with_table(*lut)).collect()
        }
        _ => vec![builder.plain()],
    }
}

/// Family of an opcode without side effects.
fn family(opcode: Opcode) -> Option<Family> {
    use Opcode as O;
    Some(match opcode {
        O::Add
        | O::Addc
        | O::Sub
        | O::Subc
        | O::Mul
        | O::Mad
        | O::Madc
        | O::Mul24
        | O::Mad24
        | O::Sad
        | O::Div
        | O::Rem
        | O::Abs
        | O::Neg
        | O::Min
        | O::Max
        | O::Dp4a
        | O::Dp2a => Family::Integer,
        O::Popc
        | O::Clz
        | O::Bfind
        | O::Fns
        | O::Brev
        | O::Bfe
        | O::Bfi
        | O::Szext
        | O::Bmsk
        | O::And
        | O::Or
        | O::Xor
        | O::Not
        | O::Cnot
        | O::Lop3
        | O::Shf
        | O::Shl
        | O::Shr
        | O::Prmt => Family::Bits,
        O::Testp
        | O::Copysign
        | O::Fma
        | O::Rcp
        | O::Sqrt
        | O::Rsqrt
        | O::Sin
        | O::Cos
        | O::Lg2
        | O::Ex2
        | O::Tanh => Family::Float,
        O::Set | O::Setp | O::Selp | O::Slct => Family::Compare,
        O::Cvt => Family::Convert,
        _ if is_video(opcode) => Family::Video,
        O::Shfl | O::Vote | O::Match | O::Redux | O::Activemask | O::Elect => Family::Warp,
        _ => return None,
    })
}

/// True for the video instructions.
fn is_video(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::Vadd
            | O::Vsub
            | O::Vabsdiff
            | O::Vmin
            | O::Vmax
            | O::Vshl
            | O::Vshr
            | O::Vset
            | O::Vmad
            | O::Vadd2
            | O::Vsub2
            | O::Vavrg2
            | O::Vabsdiff2
            | O::Vmin2
            | O::Vmax2
            | O::Vset2
            | O::Vadd4
            | O::Vsub4
            | O::Vavrg4
            | O::Vabsdiff4
            | O::Vmin4
            | O::Vmax4
            | O::Vset4
    )
}

/// Builds a case operand by operand.
pub struct Builder<'a> {
    pub form: &'a Form,
    pub modifiers: &'a [Modifier],
    /// Text of opcode and modifiers.
    pub text: String,
    pub types: Vec<ScalarType>,
    family: Family,
}

impl<'a> Builder<'a> {
    fn new(form: &'a Form, modifiers: &'a [Modifier], family: Family) -> Self {
        let joined: String = modifiers.iter().map(Modifier::to_string).collect();
        Self {
            form,
            modifiers,
            text: format!("{}{joined}", form.opcode()),
            types: modifiers.iter().filter_map(|m| m.scalar_type()).collect(),
            family,
        }
    }

    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Type to which a rule resolves.
    pub fn ty(&self, rule: TypeRule) -> ScalarType {
        let nth = |n: usize| self.types.get(n).copied().unwrap_or(ScalarType::B32);
        match (rule, nth(0)) {
            (TypeRule::Nth(n), _) => nth(n),
            (TypeRule::Fixed(ty), _) => ty,
            (TypeRule::Wide, ScalarType::S16) => ScalarType::S32,
            (TypeRule::Wide, ScalarType::U16) => ScalarType::U32,
            (TypeRule::Wide, ScalarType::S32) => ScalarType::S64,
            (TypeRule::Wide, _) => ScalarType::U64,
        }
    }

    /// A case of this form without operands and code.
    pub fn empty(&self, variant: &str) -> Case {
        let approximate = accuracy::bound(self.form.opcode(), self.modifiers);
        Case {
            name: format!("{}{variant}", self.text),
            family: match approximate {
                Some(_) => Family::Approximate,
                None => self.family(),
            },
            accuracy: approximate.map_or(Accuracy::Exact, Accuracy::Within),
            since: self.form.since,
            inputs: Vec::new(),
            outputs: Vec::new(),
            code: Vec::new(),
        }
    }

    /// Opcodes for both integers and floats belong to the floats if their type is one.
    fn family(&self) -> Family {
        let is = |types: &[ScalarType]| self.types.first().is_some_and(|ty| types.contains(ty));
        let arithmetic = matches!(self.family, Family::Integer | Family::Float);
        use ScalarType as T;
        match arithmetic {
            true if is(&[T::F16, T::F16x2, T::Bf16, T::Bf16x2]) => Family::Half,
            true if is(&[T::F32, T::F64, T::F32x2]) => Family::Float,
            _ => self.family,
        }
    }

    /// Case with a register for every operand.
    fn plain(&self) -> Case {
        self.fill(self.empty(""), 0)
    }

    fn with_table(&self, table: u32) -> Case {
        self.fill(self.empty(&format!(" {table:#04x}")), table)
    }

    fn fill(&self, mut case: Case, immediate: u32) -> Case {
        let mut operands = Vec::new();
        for (index, shape) in self.form.shapes.iter().enumerate() {
            let ty = self.ty(shape.ty);
            operands.push(match shape.role {
                Role::Destination => output(&mut case, ty),
                Role::PredicateDestination => output(&mut case, ScalarType::Pred),
                Role::PredicatePair => {
                    let first = output(&mut case, ScalarType::Pred);
                    format!("{first}|{}", output(&mut case, ScalarType::Pred))
                }
                Role::DestinationWithPredicate => {
                    let first = output(&mut case, ty);
                    format!("{first}|{}", output(&mut case, ScalarType::Pred))
                }
                Role::Predicate => input(&mut case, Given::Predicate),
                Role::Immediate => format!("{immediate:#x}"),
                _ => input(&mut case, self.given(index, ty)),
            });
        }
        if let Some(code) = self.through_byte() {
            case.code = code;
            return case;
        }
        let code = format!("{} {};", self.text, operands.join(", "));
        case.code = self.with_carry(&mut case.inputs, &mut case.outputs, code);
        case
    }

    /// Code that passes an 8-bit register. For conversions between bf16 and eight bits, NVIDIA's
    /// assembler accepts only such a register, which no load or store supports.
    fn through_byte(&self) -> Option<Vec<String>> {
        let &[to, from] = self.types.as_slice() else {
            return None;
        };
        let code = match (to, from) {
            (ScalarType::Bf16, _) if from.bits() == 8 => [
                "cvt.u8.u32 byte, a0;".to_owned(),
                format!("{} d0, byte;", self.text),
            ],
            (_, ScalarType::Bf16) if to.bits() == 8 => {
                let sign = if to.is_signed() { 's' } else { 'u' };
                let widen = format!("cvt.{sign}32.{to} d0, byte;");
                [format!("{} byte, a0;", self.text), widen]
            }
            _ => return None,
        };
        Some(code.to_vec())
    }

    /// Kind of values for the operand at an index.
    fn given(&self, index: usize, ty: ScalarType) -> Given {
        use Opcode as O;
        match (self.form.opcode(), index) {
            (O::Shl | O::Shr | O::Szext, 2)
            | (O::Shf | O::Bfi, 3)
            | (O::Bfe, 2 | 3)
            | (O::Bfi, 4)
            | (O::Bmsk, 1 | 2) => Given::Count,
            (O::Fns, 2) => Given::Lane,
            (O::Fns, 3) => Given::Offset,
            _ => Given::Value(ty),
        }
    }

    /// Code that sets the carry before the form and reads it afterwards.
    fn with_carry(
        &self,
        inputs: &mut Vec<Given>,
        outputs: &mut Vec<ScalarType>,
        code: String,
    ) -> Vec<String> {
        let opcode = self.form.opcode();
        let subtracts = matches!(opcode, Opcode::Sub | Opcode::Subc);
        let mut lines = Vec::new();
        if matches!(opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc) {
            let bit = inputs.len();
            inputs.push(Given::Bit);
            lines.push(if subtracts {
                format!("sub.cc.u32 scratch, 0, a{bit};")
            } else {
                format!("add.cc.u32 scratch, a{bit}, 0xffffffff;")
            });
        }
        lines.push(code);
        if self.has(Modifier::Cc) {
            let flag = outputs.len();
            outputs.push(ScalarType::U32);
            let read = if subtracts { "subc" } else { "addc" };
            lines.push(format!("{read}.u32 d{flag}, 0, 0;"));
        }
        lines
    }
}

/// Adds an operand and returns the name of its register.
pub fn input(case: &mut Case, given: Given) -> String {
    case.inputs.push(given);
    format!("a{}", case.inputs.len() - 1)
}

/// Adds a result and returns the name of its register.
pub fn output(case: &mut Case, ty: ScalarType) -> String {
    case.outputs.push(ty);
    format!("d{}", case.outputs.len() - 1)
}
