//! Places in the files from which a compiler made the PTX: `.file` and `.loc` (PTX ISA 11.5).
//! `nvcc -lineinfo` writes them. Code that was inlined from a header of CUDA has the line of the
//! call (`inlined_at`), so that a message names the user's source.

use std::collections::BTreeMap;
use warploom_diag::{Source, Span};
use warploom_ir::{Program, Written};
use warploom_ptx::ast::{Body, Item, Kept, Module, Statement};

/// Line and column of the PTX.
type Place = (u32, u32);

/// Place in a file of the source: the file's number, line and column.
type Spot = (u32, u32, u32);

/// Most calls that are followed outwards from inlined code.
const DEPTH: usize = 32;

/// Place that a `.loc` states, and the call where the code there was inlined, if it was.
#[derive(Clone, Copy)]
struct Located {
    spot: Spot,
    call: Option<Spot>,
}

/// A file that `.file` declares.
struct File {
    number: u32,
    /// Name of the file without its folders.
    name: String,
    /// True if the path is that of a header of CUDA.
    is_of_cuda: bool,
}

/// Lines that the `.loc` directives of a file state, in the order of the text.
pub(crate) struct Locations {
    files: Vec<File>,
    /// Places from which on a line of a file is known, or none is.
    known: Vec<(Place, Option<Located>)>,
    /// Calls where code was inlined, by the place of the code.
    calls: BTreeMap<Spot, Spot>,
}

impl Locations {
    /// The directives of a module, whose text is `source`.
    pub fn of(module: &Module, source: &Source) -> Self {
        let mut found = Self {
            files: Vec::new(),
            known: Vec::new(),
            calls: BTreeMap::new(),
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
        let mut number = || words.next()?.trim_end_matches(',').parse().ok();
        match (directive, number()) {
            (Some(".file"), Some(file)) => {
                let path = text.node.split('"').nth(1).unwrap_or_default();
                let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
                self.files.push(File {
                    number: file,
                    name: name.to_owned(),
                    is_of_cuda: is_of_cuda(path),
                });
            }
            (Some(".loc"), Some(file)) => {
                // The line 0 is that of code without a line.
                let line = number().filter(|line| *line > 0);
                let spot = line.map(|line| (file, line, number().unwrap_or(0)));
                let located = spot.map(|spot| Located {
                    spot,
                    call: call(&text.node),
                });
                if let Some(Located {
                    spot,
                    call: Some(call),
                }) = located
                {
                    self.calls.insert(spot, call);
                }
                self.known.push((place(text.span, source), located));
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
            files: self.files.iter().map(|file| file.name.clone()).collect(),
            lines: at.map(|pos| self.at((pos.line, pos.column))).collect(),
        };
    }

    fn at(&self, place: Place) -> Option<(u16, u32)> {
        let before = self.known.partition_point(|(from, _)| *from <= place);
        let (number, line, _) = self.own(self.known[..before].last()?.1?);
        let file = self.files.iter().position(|file| file.number == number)?;
        Some((u16::try_from(file).ok()?, line))
    }

    /// Place of code in the user's source: where code of a header of CUDA was inlined, the call.
    fn own(&self, located: Located) -> Spot {
        let is_of_cuda = |(number, ..): &Spot| {
            let file = self.files.iter().find(|file| file.number == *number);
            file.is_some_and(|file| file.is_of_cuda)
        };
        let (mut spot, mut call) = (located.spot, located.call);
        for _ in 0..DEPTH {
            match call {
                Some(caller) if is_of_cuda(&spot) => {
                    (spot, call) = (caller, self.calls.get(&caller).copied());
                }
                _ => break,
            }
        }
        spot
    }
}

/// True for a header of a CUDA toolkit, whose lines tell nothing about the user's source.
fn is_of_cuda(path: &str) -> bool {
    let folded = path.to_lowercase();
    let mut folders = folded.split(['/', '\\']);
    let is_header = folders.clone().any(|folder| folder == "include");
    let is_installed = |folder: &str| match folder.strip_prefix("cuda") {
        Some(rest) => {
            rest.trim_start_matches(['-', '_'])
                .starts_with(|c: char| c.is_ascii_digit())
                || rest.is_empty()
        }
        None => folder == "nvidia",
    };
    is_header && folders.any(is_installed)
}

/// The call that `inlined_at` states in the text of a `.loc`.
fn call(text: &str) -> Option<Spot> {
    let (_, place) = text.split_once("inlined_at")?;
    let mut numbers = place.split_whitespace().map(str::parse);
    let mut number = || numbers.next()?.ok();
    Some((number()?, number()?, number()?))
}

fn place(span: Span, source: &Source) -> Place {
    let position = source.position(span.start);
    (position.line, position.column)
}

#[cfg(test)]
mod tests {
    #[test]
    fn headers_of_cuda_are_known_by_their_folders() {
        for (path, is_of_cuda) in [
            ("/usr/local/cuda/include/sm_30_intrinsics.hpp", true),
            (
                "/x/site-packages/nvidia/cu13/bin/../include/cccl/cub/warp.cuh",
                true,
            ),
            ("C:\\Programs\\CUDA\\v12\\include\\crt\\math.hpp", true),
            ("/src/cuda-project/include/reduce.cuh", false),
            ("../include/helpers.cuh", false),
        ] {
            assert_eq!(super::is_of_cuda(path), is_of_cuda, "{path}");
        }
    }
}
