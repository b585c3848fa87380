//! Check of an instruction against the table of forms (PTX ISA, chapter 9).

use super::Checker;
use super::names::Symbol;
use crate::ast::{Constant, Guard, Instruction, Operand, Spanned};
use crate::forms::{Distance, Form, Misfit};
use crate::tokens::{Modifier, NEWEST, Opcode, ScalarType};
use std::cmp::Reverse;
use warploom_diag::{Diagnostic, Span, nearest};

/// Most forms that a remedy shows.
const SHOWN_FORMS: usize = 3;

/// Most modifiers that a remedy lists.
const SHOWN_MODIFIERS: usize = 16;

impl<'m> Checker<'m> {
    pub(super) fn instruction(&mut self, instruction: &'m Instruction) {
        if let Some(guard) = &instruction.guard {
            self.guard(guard);
        }
        let forms = self.forms;
        self.against_forms(instruction, forms.of(instruction.opcode.node));
        self.ranges(instruction);
    }

    fn guard(&mut self, guard: &Guard) {
        let Some(symbol) = self.resolve(&guard.name.node, guard.name.span) else {
            return;
        };
        if !matches!(
            symbol,
            Symbol::Register {
                ty: ScalarType::Pred,
                vector: 1,
                ..
            }
        ) {
            let message = format!("`{}` is {}", guard.name.node, symbol.describe());
            self.report(
                Diagnostic::error("guard-not-a-predicate", guard.name.span, message)
                    .label("a guard must be a `.pred` register")
                    .help("compare first, e.g. `setp.ne.s32 p, value, 0;`, and guard with `p`"),
            );
        }
    }

    fn against_forms(&mut self, instruction: &'m Instruction, forms: &[Form]) {
        let fits = |form: &&Form| form.admits(&instruction.modifiers).is_ok();
        let Some(first) = forms.iter().find(fits) else {
            self.resolve_all(&instruction.operands);
            return match self.is_newer {
                true => self.report_newer(instruction),
                false => self.report_modifiers(instruction, forms),
            };
        };
        let count = instruction.operands.len();
        let takes = |form: &&Form| {
            let (least, most) = form.operand_counts();
            fits(form) && least <= count && most.is_none_or(|most| count <= most)
        };
        let Some(form) = forms.iter().find(takes) else {
            self.resolve_all(&instruction.operands);
            if self.is_newer {
                return self.report_newer(instruction);
            }
            let fitting: Vec<&Form> = forms.iter().filter(fits).collect();
            return self.report_count(instruction, first, &fitting);
        };
        self.check_target(instruction, form);
        if instruction.opcode == Opcode::Call {
            return self.call(instruction);
        }
        for (operand, shape) in instruction.operands.iter().zip(form.shapes_for(count)) {
            self.operand(instruction, operand, shape);
        }
    }

    /// True if the file's version is later than the table: the form may belong to that version.
    fn report_newer(&mut self, instruction: &Instruction) {
        let (major, minor) = NEWEST;
        let message = format!("not supported yet: `{}`", mnemonic(instruction));
        self.report(
            Diagnostic::error("not-supported", mnemonic_span(instruction), message)
                .label(format!("no such form in PTX ISA {major}.{minor}"))
                .help("compile for an earlier version of PTX, or avoid the instruction"),
        );
    }

    /// Resolves the names in operands whose roles are unknown.
    fn resolve_all(&mut self, operands: &'m [Spanned<Operand>]) {
        operands.iter().for_each(|operand| self.any(operand));
    }

    fn check_target(&mut self, instruction: &Instruction, form: &Form) {
        let Some(architecture) = self.architecture.filter(|number| *number < form.since) else {
            return;
        };
        let message = format!("`{}` needs sm_{}", mnemonic(instruction), form.since);
        self.report(
            Diagnostic::error("needs-newer-target", mnemonic_span(instruction), message)
                .label(format!("the file is for sm_{architecture}"))
                .help(format!(
                    "compile for sm_{} or later, or avoid the instruction",
                    form.since
                )),
        );
    }

    fn report_count(&mut self, instruction: &Instruction, form: &Form, forms: &[&Form]) {
        let count = instruction.operands.len();
        let wanted = match form.operand_counts() {
            (1, Some(1)) => "1 operand".to_owned(),
            (least, Some(most)) if least == most => format!("{least} operands"),
            (least, Some(most)) => format!("{least} to {most} operands"),
            (least, None) => format!("at least {least} operands"),
        };
        let message = format!("`{}` takes {wanted}, not {count}", mnemonic(instruction));
        let span = match (instruction.operands.first(), instruction.operands.last()) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => mnemonic_span(instruction).after(),
        };
        let diagnostic = Diagnostic::error("operand-count", span, message).label(format!(
            "{count} operand{} here",
            if count == 1 { "" } else { "s" }
        ));
        self.report(diagnostic.help(format!("the form is `{}`", show(forms))));
    }

    /// Reports modifiers that no form has: the wrong one, or the missing one.
    fn report_modifiers(&mut self, instruction: &Instruction, forms: &[Form]) {
        let stranger = instruction
            .modifiers
            .iter()
            .find(|modifier| !forms.iter().any(|form| form.mentions(modifier.node)));
        if let Some(stranger) = stranger {
            return self.report_stranger(instruction, stranger, forms);
        }
        let Some((form, distance)) = closest(instruction, forms) else {
            return;
        };
        match distance.first {
            Misfit::Missing(slot) => self.report_missing(instruction, form, slot),
            Misfit::Surplus(index) => self.report_combination(instruction, form, index, forms),
        }
    }

    fn report_stranger(
        &mut self,
        instruction: &Instruction,
        stranger: &Spanned<Modifier>,
        forms: &[Form],
    ) {
        let opcode = instruction.opcode.node;
        let is_type = stranger.node.scalar_type().is_some();
        let mut known: Vec<String> = Vec::new();
        for modifier in forms.iter().flat_map(Form::modifiers) {
            let text = modifier.to_string();
            if modifier.scalar_type().is_some() == is_type && !known.contains(&text) {
                known.push(text);
            }
        }
        let kind = if is_type { "types" } else { "modifiers" };
        let text = stranger.node.to_string();
        let help = match nearest(&text, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("remove it: `{opcode}` takes no {kind}"),
            None if known.len() > SHOWN_MODIFIERS => {
                let more = known.len() - SHOWN_MODIFIERS;
                format!(
                    "`{opcode}` takes {} and {more} more",
                    known[..SHOWN_MODIFIERS].join(" ")
                )
            }
            None => format!("`{opcode}` takes {}", known.join(" ")),
        };
        self.report(
            Diagnostic::error(
                "modifier-not-allowed",
                stranger.span,
                format!("`{opcode}` takes no `{text}`"),
            )
            .label("not a modifier of this instruction")
            .help(help),
        );
    }

    fn report_missing(&mut self, instruction: &Instruction, form: &Form, slot: usize) {
        let what = if form.is_type_slot(slot) {
            "a type"
        } else {
            "a modifier"
        };
        let choices = form.slot_text(slot);
        let span = mnemonic_span(instruction).after();
        let message = format!("`{}` lacks {what}", mnemonic(instruction));
        let mut diagnostic = Diagnostic::error("modifier-missing", span, message);
        diagnostic = diagnostic.label(format!("needs {choices}"));
        self.report(diagnostic.help(format!("the form is `{form}`")));
    }

    fn report_combination(
        &mut self,
        instruction: &Instruction,
        form: &Form,
        index: usize,
        forms: &[Form],
    ) {
        let modifier = &instruction.modifiers[index];
        let with: Vec<&Form> = forms
            .iter()
            .filter(|form| form.mentions(modifier.node))
            .collect();
        let message = format!(
            "`{}` does not go with the rest of `{}`",
            modifier.node,
            mnemonic(instruction)
        );
        let diagnostic = Diagnostic::error("modifier-combination", modifier.span, message)
            .label("no form has this here")
            .help(format!("closest form: `{form}`"));
        self.report(diagnostic.help(format!("forms with `{}`: `{}`", modifier.node, show(&with))));
    }

    /// Checks immediates that have a range of their own.
    fn ranges(&mut self, instruction: &Instruction) {
        match instruction.opcode.node {
            Opcode::Bar | Opcode::Barrier => self.barrier_ranges(instruction),
            Opcode::Lop3 => self.range(instruction, 4, 0xFF, "a truth table has 8 bits"),
            Opcode::Bfe | Opcode::Bfi => {
                for index in 2..instruction.operands.len() {
                    let is_bfi_source = instruction.opcode == Opcode::Bfi && index == 2;
                    if !is_bfi_source {
                        self.range(
                            instruction,
                            index,
                            0xFF,
                            "positions and lengths have 8 bits",
                        );
                    }
                }
            }
            Opcode::Pmevent if !has(instruction, Modifier::Mask) => {
                self.range(instruction, 0, 15, "events are numbered 0 to 15");
            }
            _ => {}
        }
    }

    fn barrier_ranges(&mut self, instruction: &Instruction) {
        if has(instruction, Modifier::Warp) || has(instruction, Modifier::Cluster) {
            return;
        }
        let number = usize::from(has(instruction, Modifier::Red));
        self.range(instruction, number, 15, "barriers are numbered 0 to 15");
        let Some(operand) = instruction.operands.get(number + 1) else {
            return;
        };
        let Operand::Immediate(Constant::Int(threads, _)) = operand.node else {
            return;
        };
        if threads % u64::from(warploom_base::WARP_SIZE as u32) != 0 {
            self.report(
                Diagnostic::error(
                    "immediate-range",
                    operand.span,
                    format!("{threads} threads at a barrier"),
                )
                .label("not whole warps")
                .help("the count must be a multiple of 32"),
            );
        }
    }

    fn range(&mut self, instruction: &Instruction, index: usize, most: u64, why: &str) {
        let Some(operand) = instruction.operands.get(index) else {
            return;
        };
        let Operand::Immediate(Constant::Int(value, unsigned)) = operand.node else {
            return;
        };
        if value <= most {
            return;
        }
        let shown = Constant::Int(value, unsigned);
        self.report(
            Diagnostic::error(
                "immediate-range",
                operand.span,
                format!("{shown} is out of range"),
            )
            .label(why.to_owned())
            .help(format!("write a value from 0 to {most}")),
        );
    }
}

/// Chooses the form for messages: fewest misfits; then most types in place, as the order of several
/// types matters; then most modifiers in place; then a form that rejects the type rather than the
/// operation. The first form wins a tie, because the table has the common forms first.
fn closest<'f>(instruction: &Instruction, forms: &'f [Form]) -> Option<(&'f Form, Distance)> {
    let is_type = |index: usize| instruction.modifiers[index].node.scalar_type().is_some();
    let typed_twice = (0..instruction.modifiers.len())
        .filter(|i| is_type(*i))
        .count()
        > 1;
    let rank = |distance: &Distance| {
        let types = if typed_twice { distance.types } else { 0 };
        let objects_to_type = matches!(distance.first, Misfit::Surplus(index) if is_type(index));
        (
            Reverse(distance.misfits),
            types,
            distance.placed,
            objects_to_type,
        )
    };
    let misfits = forms
        .iter()
        .filter_map(|form| Some((form, form.admits(&instruction.modifiers).err()?)));
    misfits.reduce(|best, next| {
        if rank(&next.1) > rank(&best.1) {
            next
        } else {
            best
        }
    })
}

fn has(instruction: &Instruction, modifier: Modifier) -> bool {
    instruction.modifiers.iter().any(|m| m.node == modifier)
}

/// Text of the instruction without its operands.
fn mnemonic(instruction: &Instruction) -> String {
    let modifiers: String = instruction
        .modifiers
        .iter()
        .map(ToString::to_string)
        .collect();
    format!("{}{modifiers}", instruction.opcode)
}

fn mnemonic_span(instruction: &Instruction) -> Span {
    let last = instruction
        .modifiers
        .last()
        .map_or(instruction.opcode.span, |m| m.span);
    instruction.opcode.span.to(last)
}

fn show(forms: &[&Form]) -> String {
    let shown: Vec<String> = forms
        .iter()
        .take(SHOWN_FORMS)
        .map(ToString::to_string)
        .collect();
    shown.join("`, `")
}
