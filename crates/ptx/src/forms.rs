//! Instruction forms: the modifiers and operands that each opcode takes.
//!
//! The table is text in the notation that `forms.txt` explains. This module parses it into slots
//! and matches instructions with it. An instruction fits a form if each of its modifiers fills a
//! slot of its own and no required slot stays empty. Order matters only between types, because
//! NVIDIA's assembler takes the other modifiers in any order too. [`Form::combinations`] enumerates
//! every combination that a form admits, for tests that try all of them.

use crate::ast::Spanned;
use crate::tokens::{Modifier, Opcode, ScalarType};
use std::fmt;

const TABLE: &str = include_str!("forms.txt");

/// Role of an operand; the letters are those of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Letter `d`: a destination register.
    Destination,
    /// Letter `a`: a register or an immediate.
    Source,
    /// Letter `c`: a register, an immediate or a special register.
    ConvertSource,
    /// Letter `r`: a register only.
    Register,
    /// Letter `i`: an integer immediate.
    Immediate,
    /// Letter `p`: a predicate, which may be negated.
    Predicate,
    /// Letter `P`: a destination predicate.
    PredicateDestination,
    /// Letter `Q`: a destination predicate or a pair of them.
    PredicatePair,
    /// Letter `O`: a destination register, with an optional predicate.
    DestinationWithPredicate,
    /// Letter `D`: a destination register, or a vector if there is a modifier such as `.v2`.
    MemoryDestination,
    /// Letter `S`: a source register, or a vector if there is a modifier such as `.v2`.
    MemorySource,
    /// Letter `V`: a destination vector of any length.
    VectorDestination,
    /// Letter `v`: a source vector of any length, or a scalar.
    VectorSource,
    /// Letter `m`: an address in brackets.
    Address,
    /// Letter `l`: a label.
    Label,
    /// Letter `t`: the name of a branch table.
    BranchTable,
    /// Letter `g`: a register with an optional selector, or an immediate.
    Video,
    /// Letter `y`: an operand of `mov`.
    Move,
    /// Letter `z`: a register or symbol with an address.
    AddressValue,
    /// Letter `f`: an operand of `call`.
    Call,
    /// Letter `x`: an operand of which only the names are checked.
    Any,
}

/// Type that an operand must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// The n-th type of the instruction, from 0.
    Nth(usize),
    /// The given type, whatever the instruction's.
    Fixed(ScalarType),
    /// The first type with twice its width.
    Wide,
}

/// Operand of a form: role, type and options.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Role of the operand.
    pub role: Role,
    /// Type that it must have.
    pub ty: TypeRule,
    /// True if a wider register is allowed (PTX ISA 9.4.1).
    pub(crate) relaxed: bool,
    /// True if `_` is allowed.
    pub(crate) sink: bool,
    /// True if the operand may be left out.
    pub optional: bool,
    /// True if any number of operands of this kind may follow.
    pub(crate) repeated: bool,
}

/// Modifiers of which an instruction has one.
#[derive(Clone, Debug)]
struct Slot {
    choices: Vec<Modifier>,
    optional: bool,
}

impl Slot {
    fn is_type(&self) -> bool {
        self.choices
            .iter()
            .all(|modifier| modifier.scalar_type().is_some())
    }
}

/// Number of choices of a slot that messages show; further ones are hinted at.
const SHOWN_CHOICES: usize = 4;

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.choices.len() > SHOWN_CHOICES;
        let shown = if cut {
            SHOWN_CHOICES / 2
        } else {
            self.choices.len()
        };
        for (index, choice) in self.choices[..shown].iter().enumerate() {
            write!(f, "{}{choice}", if index > 0 { "|" } else { "" })?;
        }
        f.write_str(if cut { "|..." } else { "" })
    }
}

/// Form of an opcode: one line of the table.
#[derive(Clone, Debug)]
pub struct Form {
    opcode: Opcode,
    slots: Vec<Slot>,
    /// True if the form admits modifiers beyond the slots.
    open: bool,
    /// Operands in their order.
    pub shapes: Vec<Shape>,
    /// First architecture with this form, such as 70; 0 for all.
    pub since: u32,
}

/// Mismatch between an instruction's modifiers and a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The modifier at this index fills no slot.
    Surplus(usize),
    /// The required slot at this index is empty.
    Missing(usize),
}

/// Distance of an instruction's modifiers from a form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distance {
    /// First mismatch that was found.
    pub(crate) first: Misfit,
    /// Number of modifiers without a slot and of required slots that are empty.
    pub(crate) misfits: usize,
    /// Number of modifiers that have a slot.
    pub(crate) placed: usize,
    /// Number of types among these.
    pub(crate) types: usize,
}

impl Form {
    /// Opcode that has this form.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// Returns every combination of modifiers in the table's order; if a slot is optional, first
    /// the combination without it. `None` if the form admits modifiers beyond the slots, which
    /// cannot be enumerated.
    pub fn combinations(&self) -> Option<Vec<Vec<Modifier>>> {
        let mut all = vec![Vec::new()];
        for slot in &self.slots {
            let with = |chosen: &Vec<Modifier>| {
                let longer = |&choice| chosen.iter().copied().chain([choice]).collect();
                let none = slot.optional.then(|| chosen.clone());
                none.into_iter()
                    .chain(slot.choices.iter().map(longer).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        (!self.open).then_some(all)
    }

    /// Checks whether modifiers make up this form.
    ///
    /// # Errors
    /// Returns the distance from the form if they do not.
    pub(crate) fn admits(&self, modifiers: &[Spanned<Modifier>]) -> Result<(), Distance> {
        let mut filled = 0_u32;
        let mut first_type_slot = 0;
        let mut types = 0;
        let mut surplus = None;
        let mut misfits = 0;
        for (index, modifier) in modifiers.iter().enumerate() {
            match self.free_slot(modifier.node, filled, first_type_slot) {
                Some(slot) => {
                    filled |= 1 << slot;
                    if modifier.node.scalar_type().is_some() {
                        first_type_slot = slot + 1;
                        types += 1;
                    }
                }
                None if self.open => {}
                None => {
                    surplus = surplus.or(Some(index));
                    misfits += 1;
                }
            }
        }
        let missing = |slot: &usize| !self.slots[*slot].optional && filled & (1 << slot) == 0;
        misfits += (0..self.slots.len()).filter(missing).count();
        let first = match (surplus, (0..self.slots.len()).find(missing)) {
            (None, None) => return Ok(()),
            (Some(index), _) => Misfit::Surplus(index),
            (None, Some(slot)) => Misfit::Missing(slot),
        };
        let placed = filled.count_ones() as usize;
        Err(Distance {
            first,
            misfits,
            placed,
            types,
        })
    }

    fn free_slot(&self, modifier: Modifier, filled: u32, first_type_slot: usize) -> Option<usize> {
        let from = if modifier.scalar_type().is_some() {
            first_type_slot
        } else {
            0
        };
        let slots = self.slots.iter().enumerate().skip(from);
        let mut fitting = slots
            .filter(|(index, slot)| filled & (1 << index) == 0 && slot.choices.contains(&modifier));
        fitting.next().map(|(index, _)| index)
    }

    /// True if some slot takes the modifier.
    pub(crate) fn mentions(&self, modifier: Modifier) -> bool {
        self.open
            || self
                .slots
                .iter()
                .any(|slot| slot.choices.contains(&modifier))
    }

    /// All modifiers that some slot takes.
    pub(crate) fn modifiers(&self) -> impl Iterator<Item = Modifier> {
        self.slots
            .iter()
            .flat_map(|slot| slot.choices.iter().copied())
    }

    /// Choices of a slot as text.
    pub(crate) fn slot_text(&self, slot: usize) -> String {
        let texts: Vec<String> = self.slots[slot]
            .choices
            .iter()
            .map(Modifier::to_string)
            .collect();
        texts.join(", ")
    }

    /// True if the slot is for types.
    pub(crate) fn is_type_slot(&self, slot: usize) -> bool {
        self.slots[slot].is_type()
    }

    /// Fewest and most operands; `None` if there is no upper limit.
    pub(crate) fn operand_counts(&self) -> (usize, Option<usize>) {
        let least = self
            .shapes
            .iter()
            .filter(|s| !s.optional && !s.repeated)
            .count();
        let bounded = self.shapes.iter().all(|shape| !shape.repeated);
        (least, bounded.then_some(self.shapes.len()))
    }

    /// Shapes for `count` operands: optional ones are dropped from the right until the number fits.
    pub(crate) fn shapes_for(&self, count: usize) -> Vec<Shape> {
        let mut shapes: Vec<Shape> = self.shapes.clone();
        if let Some(last) = shapes.last().copied().filter(|last| last.repeated) {
            shapes.pop();
            shapes.resize(count.max(shapes.len()), last);
        }
        while shapes.len() > count
            && let Some(index) = shapes.iter().rposition(|shape| shape.optional)
        {
            shapes.remove(index);
        }
        shapes
    }
}

/// Form in the notation of the PTX ISA: `add{.sat}.s32 d, a, b`.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.opcode)?;
        for slot in &self.slots {
            let joined = slot.to_string();
            match (slot.optional, slot.choices.len()) {
                (true, _) => write!(f, "{{{joined}}}")?,
                (false, 1) => f.write_str(&joined)?,
                (false, _) => write!(f, "({joined})")?,
            }
        }
        if self.open {
            f.write_str("...")?;
        }
        let mut letters = 'a'..='z';
        for (index, shape) in self.shapes.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            if shape.optional {
                f.write_str("{")?;
            }
            match shape.role {
                Role::Destination | Role::MemoryDestination | Role::VectorDestination => {
                    f.write_str("d")?;
                }
                Role::PredicateDestination | Role::Predicate => f.write_str("p")?,
                Role::PredicatePair => f.write_str("p|q")?,
                Role::DestinationWithPredicate => f.write_str("d|p")?,
                Role::Address => f.write_str("[address]")?,
                Role::Label => f.write_str("label")?,
                Role::BranchTable => f.write_str("table")?,
                Role::Immediate => f.write_str("constant")?,
                Role::Any | Role::Call => f.write_str("...")?,
                _ => write!(f, "{}", letters.next().unwrap_or('z'))?,
            }
            if shape.optional {
                f.write_str("}")?;
            }
        }
        Ok(())
    }
}

/// Table of all forms, by opcode.
pub struct Forms {
    by_opcode: Vec<Vec<Form>>,
}

impl Default for Forms {
    fn default() -> Self {
        Self::new()
    }
}

impl Forms {
    /// Parses the table of forms.
    pub fn new() -> Self {
        Self::of_opcodes(|_| true)
    }

    /// Parses the forms of the opcodes for which `wanted` returns true. Others have no form.
    pub(crate) fn of_opcodes(wanted: impl Fn(Opcode) -> bool) -> Self {
        let mut forms = Self {
            by_opcode: vec![Vec::new(); Opcode::ALL.len()],
        };
        let mut sets: Vec<(&str, Vec<Modifier>)> = Vec::new();
        for line in TABLE
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
        {
            match line.strip_prefix("let ") {
                Some(definition) => {
                    let (name, choices) = definition.split_once(" = ").expect("let name = choices");
                    let choices = read_choices(choices, &sets);
                    sets.push((name, choices));
                }
                None => forms.add_line(line, &sets, &wanted),
            }
        }
        forms
    }

    fn add_line(
        &mut self,
        line: &str,
        sets: &[(&str, Vec<Modifier>)],
        wanted: impl Fn(Opcode) -> bool,
    ) {
        let (left, right) = line.split_once(" :").expect("modifiers : operands");
        let mut left = left.split_ascii_whitespace();
        let opcodes = left.next().expect("an opcode").split('|');
        let opcodes = opcodes.map(|opcode| Opcode::from_text(opcode).expect("an opcode"));
        let mut opcodes = opcodes.filter(|opcode| wanted(*opcode)).peekable();
        if opcodes.peek().is_none() {
            return;
        }
        let mut form = Form {
            opcode: Opcode::Add,
            slots: Vec::new(),
            open: false,
            shapes: Vec::new(),
            since: 0,
        };
        for word in left {
            match word
                .strip_prefix('[')
                .and_then(|word| word.strip_suffix(']'))
            {
                _ if word == "*" => form.open = true,
                Some(inner) => {
                    form.slots.push(Slot {
                        choices: read_choices(inner, sets),
                        optional: true,
                    });
                }
                None => form.slots.push(Slot {
                    choices: read_choices(word, sets),
                    optional: false,
                }),
            }
        }
        for word in right.split_ascii_whitespace() {
            match word.strip_prefix("@sm_") {
                Some(number) => form.since = number.parse().expect("an architecture"),
                None => form.shapes.push(read_shape(word)),
            }
        }
        for opcode in opcodes {
            form.opcode = opcode;
            self.by_opcode[form.opcode as usize].push(form.clone());
        }
    }

    /// Forms of one opcode in the table's order.
    pub fn of(&self, opcode: Opcode) -> &[Form] {
        &self.by_opcode[opcode as usize]
    }
}

fn read_choices(text: &str, sets: &[(&str, Vec<Modifier>)]) -> Vec<Modifier> {
    let mut choices = Vec::new();
    for word in text.split('|') {
        match word.strip_prefix('$') {
            Some(name) => {
                let set = sets
                    .iter()
                    .find(|(set, _)| *set == name)
                    .expect("a set defined above");
                choices.extend_from_slice(&set.1);
            }
            None => match Modifier::from_text(word) {
                Some(modifier) => choices.push(modifier),
                None => panic!("no such modifier in the table of forms: {word}"),
            },
        }
    }
    choices
}

fn read_shape(word: &str) -> Shape {
    let (role, rest) = word.split_at(1);
    let mut shape = Shape {
        role: read_role(role),
        ty: TypeRule::Nth(0),
        relaxed: rest.contains('~'),
        sink: rest.contains('_'),
        optional: rest.contains('?'),
        repeated: rest.contains('*'),
    };
    let rule = rest.trim_end_matches(['~', '_', '?', '*']);
    shape.ty = match (rule.strip_prefix('.'), rule) {
        (Some(ty), _) => TypeRule::Fixed(ScalarType::from_text(ty).expect("a type")),
        (None, "") => TypeRule::Nth(0),
        (None, "w") => TypeRule::Wide,
        (None, digit) => TypeRule::Nth(digit.parse::<usize>().expect("a digit") - 1),
    };
    shape
}

fn read_role(letter: &str) -> Role {
    match letter {
        "d" => Role::Destination,
        "a" => Role::Source,
        "c" => Role::ConvertSource,
        "r" => Role::Register,
        "i" => Role::Immediate,
        "p" => Role::Predicate,
        "P" => Role::PredicateDestination,
        "Q" => Role::PredicatePair,
        "O" => Role::DestinationWithPredicate,
        "D" => Role::MemoryDestination,
        "S" => Role::MemorySource,
        "V" => Role::VectorDestination,
        "v" => Role::VectorSource,
        "m" => Role::Address,
        "l" => Role::Label,
        "t" => Role::BranchTable,
        "g" => Role::Video,
        "y" => Role::Move,
        "z" => Role::AddressValue,
        "f" => Role::Call,
        "x" => Role::Any,
        _ => panic!("no such role in the table of forms: {letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Forms;
    use crate::ast::Spanned;
    use crate::tokens::{Modifier, Opcode};
    use warploom_diag::Span;

    #[test]
    fn the_table_reads_and_covers_every_opcode() {
        let forms = Forms::new();
        for &opcode in Opcode::ALL {
            assert!(!forms.of(opcode).is_empty(), "no form of {opcode}");
            for form in forms.of(opcode) {
                assert!(
                    form.slots.len() <= 32,
                    "{form}: slots are counted in 32 bits"
                );
            }
        }
    }

    #[test]
    fn forms_of_some_opcodes_are_those_of_the_whole_table() {
        let (all, some) = (
            Forms::new(),
            Forms::of_opcodes(|opcode| opcode == Opcode::Shl),
        );
        let shown = |forms: &Forms, opcode| format!("{:?}", forms.of(opcode));
        assert_eq!(shown(&some, Opcode::Shl), shown(&all, Opcode::Shl));
        assert!(some.of(Opcode::Shr).is_empty(), "`shr` is not wanted");
        assert!(!all.of(Opcode::Shr).is_empty(), "`shr` has forms");
    }

    #[test]
    fn forms_show_as_in_the_manual() {
        let forms = Forms::new();
        let shown: Vec<String> = forms
            .of(Opcode::Shf)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(shown, ["shf(.l|.r)(.clamp|.wrap).b32 d, a, b, c"]);
    }

    #[test]
    fn combinations_fill_every_slot_in_every_way() {
        let forms = Forms::new();
        let texts = |form: &super::Form| {
            let joined = |modifiers: &Vec<_>| modifiers.iter().map(Modifier::to_string).collect();
            let all = form.combinations().expect("nothing beyond the slots");
            all.iter().map(joined).collect::<Vec<String>>()
        };
        let shf = texts(&forms.of(Opcode::Shf)[0]);
        let expected = [".l.clamp.b32", ".l.wrap.b32", ".r.clamp.b32", ".r.wrap.b32"];
        assert_eq!(shf, expected);
        let bfind = texts(&forms.of(Opcode::Bfind)[0]);
        assert_eq!(bfind.len(), 2 * 4);
        assert_eq!(
            bfind[..2],
            [".u32", ".u64"],
            "without the optional one first"
        );
        assert_eq!(forms.of(Opcode::Mma)[0].combinations(), None);
    }

    #[test]
    fn what_is_combined_is_admitted() {
        let forms = Forms::new();
        for form in Opcode::ALL.iter().flat_map(|&opcode| forms.of(opcode)) {
            for modifiers in form.combinations().into_iter().flatten().take(1000) {
                let at = |node| Spanned {
                    node,
                    span: Span::default(),
                };
                let spanned: Vec<_> = modifiers.into_iter().map(at).collect();
                assert!(form.admits(&spanned).is_ok(), "{form}: {spanned:?}");
            }
        }
    }
}
