//! Checks of the operands of branches: labels and tables of labels (PTX ISA 6.4.4, 9.7.12).

use super::Checker;
use super::names::Symbol;
use crate::ast::{Operand, Spanned};
use warploom_diag::{Diagnostic, Span};

impl<'m> Checker<'m> {
    pub(super) fn label_operand(&mut self, operand: &'m Spanned<Operand>) {
        match &operand.node {
            Operand::Name(name) => self.label(name, operand.span),
            _ => {
                self.any(operand);
                self.operand_kind(
                    operand.span,
                    "a branch goes to a label",
                    "not a label",
                    "name a label",
                );
            }
        }
    }

    /// Checks a name that must be a label's.
    pub(super) fn label(&mut self, name: &str, span: Span) {
        match self.scopes.find(name) {
            Some(Symbol::Label) => {}
            Some(symbol) => {
                let message = format!("`{name}` is {}", symbol.describe());
                let help = "branch to a label; use `brx.idx` with a table for computed targets";
                self.operand_kind(span, &message, "expected a label", help);
            }
            None => self.unknown_label(name, span),
        }
    }

    fn unknown_label(&mut self, name: &str, span: Span) {
        let near = if self.is_full() {
            None
        } else {
            self.scopes.nearest_label(name)
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "write `{name}:` before the statement to go to; labels in inner blocks are not seen"
            ),
        };
        self.report(
            Diagnostic::error(
                "undefined-name",
                span,
                format!("there is no label `{name}` here"),
            )
            .label("unknown label")
            .help(help),
        );
    }

    pub(super) fn branch_table(&mut self, operand: &'m Spanned<Operand>) {
        let Operand::Name(name) = &operand.node else {
            return self.any(operand);
        };
        let Some(symbol) = self.resolve(name, operand.span) else {
            return;
        };
        if !matches!(symbol, Symbol::BranchTable) {
            let message = format!("`{name}` is {}", symbol.describe());
            let help = "declare `name: .branchtargets label0, label1;` and name it here";
            self.operand_kind(
                operand.span,
                &message,
                "expected a list of branch targets",
                help,
            );
        }
    }
}
