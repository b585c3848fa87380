//! Places in the files from which a compiler made the PTX: `.file` and `.loc` (PTX ISA 11.5).
//! `nvcc -lineinfo` writes them.

use warploom_diag::{Source, Span};
use warploom_ir::{Program, Written};
use warploom_ptx::ast::{Body, Item, Kept, Module, Statement};

/// Line and column of the PTX.
type Place = (u32, u32);

/// Lines that the `.loc` directives of a file state, in the order of the text.
pub(crate) struct Locations {
    /// Number of each file, and its name without folders.
    files: Vec<(u32, String)>,
    /// Places from which on a line of a file is known (its number and the line), or none is.
    known: Vec<(Place, Option<(u32, u32)>)>,
}

impl Locations {
    /// The directives of a module, whose text is `source`.
    pub fn of(module: &Module, source: &Source) -> Self {
        let mut found = Self {
            files: Vec::new(),
            known: Vec::new(),
        };
        for item in &module.items {
            match item {
                Item::Kept(kept) => found.directive(kept, source),
                Item::Function(function) => {
                    // A location is one of its function.
                    found.known.push((place(function.name.span, source), None));
                    if let Some(body) = &function.body {
                        found.body(body, source);
                    }
                }
                Item::Variable(_) | Item::Alias(..) => {}
            }
        }
        found
    }

    fn body(&mut self, body: &Body, source: &Source) {
        for statement in &body.statements {
            match statement {
                Statement::Kept(kept) => self.directive(kept, source),
                Statement::Block(inner) => self.body(inner, source),
                _ => {}
            }
        }
    }

    fn directive(&mut self, Kept(text): &Kept, source: &Source) {
        let mut words = text.node.split_whitespace();
        let directive = words.next();
        let mut number = || words.next()?.parse().ok();
        match (directive, number()) {
            (Some(".file"), Some(file)) => {
                let name = text.node.split('"').nth(1).unwrap_or_default();
                let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
                self.files.push((file, name.to_owned()));
            }
            (Some(".loc"), Some(file)) => {
                // The line 0 is that of code without a line.
                let line = number().filter(|line| *line > 0);
                let known = line.map(|line| (file, line));
                self.known.push((place(text.span, source), known));
            }
            _ => {}
        }
    }

    /// Adds the files to a program, and to each instruction its line.
    pub fn add_to(&self, program: &mut Program) {
        if self.files.is_empty() {
            return;
        }
        let at = program.facts.iter().map(|facts| facts.pos);
        program.written = Written {
            files: self.files.iter().map(|(_, name)| name.clone()).collect(),
            lines: at.map(|pos| self.at((pos.line, pos.column))).collect(),
        };
    }

    fn at(&self, place: Place) -> Option<(u16, u32)> {
        let before = self.known.partition_point(|(from, _)| *from <= place);
        let (number, line) = self.known[..before].last()?.1?;
        let file = self.files.iter().position(|(known, _)| *known == number)?;
        Some((u16::try_from(file).ok()?, line))
    }
}

fn place(span: Span, source: &Source) -> Place {
    let position = source.position(span.start);
    (position.line, position.column)
}

#[cfg(test)]
mod tests {
    use warploom_base::Pc;
    use warploom_diag::Source;

    /// Text as `nvcc -lineinfo` writes it: files after the functions, code of an inlined function.
    const PTX: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry first(.param .u64 p) {
    .reg .b64 %d;
    .loc 1 3 5
    ld.param.u64 %d, [p];
    .loc 2 40 9, function_name $L__info_string0, inlined_at 1 4 3
    cvta.to.global.u64 %d, %d;
    .loc 1 0 0
    cvta.to.global.u64 %d, %d;
    .loc 1 5 1
    ret;
}
.visible .entry second() {
    ret;
}
    .file 1 \"../kernels/saxpy.cu\"
    .file 2 \"helpers.cuh\", 1700000000, 123
";

    #[test]
    fn instructions_know_the_line_that_they_were_made_of() {
        let (ir, _) = crate::compile(&Source::new("t.ptx", PTX)).unwrap();
        let written = |kernel: usize| {
            let program = &ir.kernels[kernel];
            let all = (0..program.insts.len()).map(|pc| program.written_at(Pc::new(pc)));
            all.collect::<Vec<_>>()
        };
        let expected = [
            Some("saxpy.cu:3"),
            Some("helpers.cuh:40"),
            None,
            Some("saxpy.cu:5"),
        ];
        assert_eq!(written(0), expected.map(|place| place.map(str::to_owned)));
        assert_eq!(written(1), [None]);
        let plain: String = PTX
            .lines()
            .filter(|line| !line.contains(".file"))
            .collect::<Vec<_>>()
            .join("\n");
        let (ir, _) = crate::compile(&Source::new("t.ptx", plain)).unwrap();
        assert_eq!(ir.kernels[0].written_at(Pc::new(0)), None);
    }
}
