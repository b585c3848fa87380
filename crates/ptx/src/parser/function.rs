//! Functions: header, directives, body (PTX ISA 11.2, 11.4).

use super::{Parsed, Parser};
use crate::ast::{Function, FunctionDirective, FunctionKind, Linkage};
use crate::lexer::Kind;
use warploom_diag::Diagnostic;

/// Directives between a function's header and its body, for hints.
const KNOWN: &[&str] = &[
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".noreturn",
    ".unique",
    ".pragma",
    ".reqnctapercluster",
    ".explicitcluster",
    ".maxclusterrank",
    ".blocksareclusters",
    ".abi_preserve",
    ".abi_preserve_control",
];

impl Parser<'_> {
    /// Parses a function from its linkage to its body, or to the semicolon of a declaration.
    pub(super) fn function(&mut self) -> Parsed<Function> {
        let linkage = self.linkage();
        let kind = match self.word() {
            ".entry" => FunctionKind::Entry,
            _ => FunctionKind::Device,
        };
        self.bump();
        let mut directives = Vec::new();
        if self.at_directive(".attribute") {
            directives.push(FunctionDirective::Kept(self.attribute()?));
        }
        let returns = if self.peek() == Kind::OpenParen {
            self.parameters()?
        } else {
            Vec::new()
        };
        let name = self.name("a function name")?;
        let params = if self.peek() == Kind::OpenParen {
            self.parameters()?
        } else {
            Vec::new()
        };
        let mut function = Function {
            linkage,
            kind,
            name,
            returns,
            params,
            directives,
            no_return: false,
            body: None,
        };
        while self.peek() == Kind::Dotted && !self.at_next_item() {
            self.function_directive(&mut function)?;
        }
        function.body = match self.peek() {
            Kind::OpenBrace => Some(self.body()?),
            Kind::Semicolon => {
                self.bump();
                None
            }
            // Compilers up to CUDA 4 write prototypes without a semicolon.
            Kind::Dotted | Kind::End if kind == FunctionKind::Device => None,
            _ => return self.unexpected("`{`, `;` or a directive such as `.maxntid`"),
        };
        Ok(function)
    }

    /// True if the next token starts another item of the file and is no directive of a function.
    fn at_next_item(&self) -> bool {
        let text = self.word();
        self.at_function() || (super::module::KNOWN.contains(&text) && !KNOWN.contains(&text))
    }

    pub(super) fn linkage(&mut self) -> Linkage {
        let linkage = super::variable::linkage(self.word());
        if linkage != Linkage::Internal {
            self.bump();
        }
        linkage
    }

    fn function_directive(&mut self, function: &mut Function) -> Parsed<()> {
        let first = self.next;
        let text = self.word();
        let directive = match text {
            ".maxntid" => FunctionDirective::MaxThreads(self.extents()?),
            ".reqntid" => FunctionDirective::RequiredThreads(self.extents()?),
            ".minnctapersm" => FunctionDirective::MinBlocksPerSm(self.argument()?),
            ".maxnctapersm" => FunctionDirective::MaxBlocksPerSm(self.argument()?),
            ".maxnreg" => FunctionDirective::MaxRegisters(self.argument()?),
            ".noreturn" => {
                self.bump();
                function.no_return = true;
                return Ok(());
            }
            ".reqnctapercluster" => FunctionDirective::RequiredCluster(self.extents()?),
            ".maxclusterrank" => FunctionDirective::MaxClusterRank(self.argument()?),
            ".explicitcluster" => self.flag(FunctionDirective::ExplicitCluster),
            ".blocksareclusters" => self.flag(FunctionDirective::BlocksAreClusters),
            ".unique" => {
                self.bump();
                FunctionDirective::Kept(self.kept_since(first))
            }
            ".abi_preserve" | ".abi_preserve_control" => {
                self.argument()?;
                FunctionDirective::Kept(self.kept_since(first))
            }
            _ => match self.kept_directive()? {
                Some(kept) => FunctionDirective::Kept(kept),
                None => return Err(self.unknown_directive(KNOWN, "a directive of functions")),
            },
        };
        function.directives.push(directive);
        Ok(())
    }

    /// Parses a directive without arguments.
    fn flag(&mut self, directive: FunctionDirective) -> FunctionDirective {
        self.bump();
        directive
    }

    /// Parses the number of a directive.
    fn argument(&mut self) -> Parsed<u32> {
        self.bump();
        self.small("a number")
    }

    /// Parses the one to three extents of a directive; missing ones are 1.
    fn extents(&mut self) -> Parsed<[u32; 3]> {
        self.bump();
        let mut extents = [self.small("a number")?, 1, 1];
        for extent in &mut extents[1..] {
            if !self.eat(Kind::Comma) {
                return Ok(extents);
            }
            *extent = self.small("a number")?;
        }
        if self.peek() == Kind::Comma {
            let span = self.span();
            let diagnostic = Diagnostic::error("too-many-extents", span, "more than three extents")
                .label("a block has three dimensions")
                .help("write at most x, y, z");
            return Err(self.error(diagnostic));
        }
        Ok(extents)
    }
}
