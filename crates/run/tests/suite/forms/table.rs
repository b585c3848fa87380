//! Parser of `form`: an instruction, or a short sequence, with a row of values for each thread.

use crate::forms::job::{Buffer, Input, Job, Output};
use crate::forms::value::{Expect, Kind};
use warploom_base::Dim3;

/// Size of a thread's memory operand in bytes: the widest vector.
const CELL_BYTES: usize = 32;

/// State space of a memory operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Global,
    Shared,
    Local,
    Const,
    Param,
}

/// A memory operand `[name:type*count@space]`.
struct Cells {
    name: String,
    kind: Kind,
    count: usize,
    space: Space,
    /// True if the instruction has no state space and takes a generic address.
    generic: bool,
    /// True if the contents after the instruction are results.
    changes: bool,
}

/// A form as its header declares it.
#[derive(Default)]
struct Form {
    covers: Vec<String>,
    code: String,
    inputs: Vec<(String, Kind)>,
    outputs: Vec<(String, Kind)>,
    cells: Option<Cells>,
}

/// Parses a form: the text after `form`, then its rows with their line numbers.
pub fn read(line: usize, header: &str, rows: &[(usize, &str)]) -> Result<Job, String> {
    let mut form = Form::default();
    for instruction in header.split(';') {
        form.instruction(instruction.trim())?;
    }
    if rows.is_empty() {
        return Err(format!("{line}: `{header}` has no rows"));
    }
    let mut job = Job {
        line,
        title: header.to_owned(),
        covers: form.covers.clone(),
        grid: Dim3::new(1, 1, 1),
        block: Dim3::new(rows.len() as u32, 1, 1),
        ..Job::default()
    };
    form.columns(&mut job);
    for &(line, row) in rows {
        read_row(&mut job, line, row).map_err(|error| format!("{line}: {error}"))?;
    }
    form.place(&mut job);
    Ok(job)
}

fn read_row(job: &mut Job, line: usize, row: &str) -> Result<(), String> {
    let (values, results) = row.split_once("->").ok_or("a row needs `->`")?;
    let split = |text: &str| -> Vec<String> {
        let parts = text.split(',').map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let (values, results) = (split(values), split(results));
    if (values.len(), results.len()) != (job.inputs.len(), job.outputs.len()) {
        let (inputs, outputs) = (job.inputs.len(), job.outputs.len());
        return Err(format!("a row needs {inputs} values and {outputs} results"));
    }
    for (input, text) in job.inputs.iter_mut().zip(&values) {
        input.values.push(input.kind.literal(text)?);
    }
    for (output, text) in job.outputs.iter_mut().zip(&results) {
        output.expect.push((line, output.kind.expect(text)?));
    }
    Ok(())
}

impl Form {
    /// Adds an instruction: its declarations, and its text with names only.
    fn instruction(&mut self, text: &str) -> Result<(), String> {
        let (guard, rest) = match text.strip_prefix('@') {
            Some(_) => text
                .split_once(' ')
                .ok_or("a guard without an instruction")?,
            None => ("", text),
        };
        let (opcode, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        self.covers.push(opcode.to_owned());
        let guard = self.operand(guard, false, opcode)?;
        let mut written = Vec::new();
        for (nth, operand) in split_operands(operands).into_iter().enumerate() {
            let destination = nth == 0 && !operand.contains('[');
            written.push(self.operand(operand.trim(), destination, opcode)?);
        }
        self.code += &format!("{guard} {opcode} {};\n", written.join(", "));
        Ok(())
    }

    /// Removes the declarations from an operand.
    fn operand(&mut self, text: &str, destination: bool, opcode: &str) -> Result<String, String> {
        let mut bare = String::new();
        let mut rest = text;
        while let Some(colon) = rest.find(':') {
            let head = &rest[..colon];
            let start = head
                .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                .map_or(0, |at| at + 1);
            let tail = &rest[colon + 1..];
            let end = tail
                .find(|c: char| !c.is_alphanumeric() && c != '*' && c != '@')
                .unwrap_or(tail.len());
            self.declare(&head[start..], &tail[..end], destination, opcode, text)?;
            bare += head;
            rest = &tail[end..];
        }
        Ok(bare + rest)
    }

    fn declare(
        &mut self,
        name: &str,
        ty: &str,
        destination: bool,
        opcode: &str,
        operand: &str,
    ) -> Result<(), String> {
        let name = name.to_owned();
        if operand.contains('[') {
            self.cells = Some(Cells::read(name, ty, opcode)?);
        } else if destination {
            self.outputs.push((name, Kind::parse(ty)?));
        } else {
            self.inputs.push((name, Kind::parse(ty)?));
        }
        Ok(())
    }

    /// Adds empty columns: registers in the order of appearance, then the memory operand's
    /// elements.
    fn columns(&self, job: &mut Job) {
        let cells = self.cells.iter().flat_map(Cells::columns);
        let inputs = cells.chain(self.inputs.iter().cloned());
        job.inputs.extend(inputs.map(|(name, kind)| Input {
            name,
            kind,
            values: Vec::new(),
        }));
        let changed = self.cells.iter().filter(|cells| cells.changes);
        let outputs = self
            .outputs
            .iter()
            .cloned()
            .chain(changed.flat_map(Cells::columns));
        job.outputs.extend(outputs.map(|(name, kind)| Output {
            name,
            kind,
            expect: Vec::new(),
            sorted: false,
        }));
    }

    /// Writes the code, with the memory operand filled before it and read back after it.
    fn place(&self, job: &mut Job) {
        let Some(cells) = &self.cells else {
            job.code.clone_from(&self.code);
            return;
        };
        let rows = job.block.x as usize;
        let bytes = cells.contents(job);
        let mut code = cells.address(job, &bytes, rows);
        if !matches!(cells.space, Space::Const | Space::Param) {
            code += &cells.copy("st", cells.columns());
        }
        code += &self.code;
        if cells.changes {
            code += &cells.copy("ld", cells.columns());
        }
        job.code = code;
    }
}

impl Cells {
    fn read(name: String, ty: &str, opcode: &str) -> Result<Self, String> {
        let (ty, place) = ty.split_once('@').unwrap_or((ty, ""));
        let (ty, count) = ty.split_once('*').unwrap_or((ty, "1"));
        let named = |word: &str| opcode.split(['.', ':']).any(|part| part == word) || place == word;
        let (space, generic) = match () {
            () if named("shared") => (Space::Shared, place == "shared"),
            () if named("local") => (Space::Local, place == "local"),
            () if named("const") => (Space::Const, place == "const"),
            () if named("param") => (Space::Param, place == "param"),
            () => (Space::Global, !named("global")),
        };
        Ok(Self {
            name,
            kind: Kind::parse(ty)?,
            count: count
                .parse()
                .map_err(|_| format!("`{count}` is no count"))?,
            space,
            generic,
            changes: !opcode.starts_with("ld"),
        })
    }

    fn columns(&self) -> Vec<(String, Kind)> {
        let each = (0..self.count).map(|index| (format!("{}_{index}", self.name), self.kind));
        each.collect()
    }

    /// Initial contents of all threads' operands.
    fn contents(&self, job: &Job) -> Vec<u8> {
        let width = self.kind.bits() as usize / 8;
        let mut bytes = vec![0; CELL_BYTES * job.block.x as usize];
        for (index, input) in job.inputs[..self.count].iter().enumerate() {
            for (thread, value) in input.values.iter().enumerate() {
                let at = CELL_BYTES * thread + width * index;
                bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
        bytes
    }

    /// Declares the memory. Returns code that computes the address of the thread's operand.
    fn address(&self, job: &mut Job, bytes: &[u8], rows: usize) -> String {
        let name = &self.name;
        let size = CELL_BYTES * rows;
        let mine = format!(
            ".reg .b64 {name};\nmov.u64 {name}, cells;\nmul.wide.u32 %at, %thread, {CELL_BYTES};\nadd.u64 {name}, {name}, %at;\n"
        );
        match self.space {
            Space::Global => {
                job.buffers.push(Buffer {
                    name: "cells".to_owned(),
                    kind: Kind::Int {
                        bits: 8,
                        signed: false,
                    },
                    initial: vec![0; size],
                    after: None,
                });
                mine
            }
            Space::Shared => {
                let declared = format!(".shared .align 32 .b8 cells[{size}];\n");
                declared + &mine + &self.generic_address("shared")
            }
            Space::Local => {
                let declared = format!(".local .align 32 .b8 cells[{CELL_BYTES}];\n");
                let own = format!(".reg .b64 {name};\nmov.u64 {name}, cells;\n");
                declared + &own + &self.generic_address("local")
            }
            Space::Const => {
                let values: Vec<String> = bytes.iter().map(u8::to_string).collect();
                let values = values.join(", ");
                job.module = format!(".const .align 32 .b8 cells[{size}] = {{{values}}};\n");
                mine + &self.generic_address("const")
            }
            Space::Param => {
                job.param = bytes.to_vec();
                mine.replace("cells;", "cells_param;")
            }
        }
    }

    fn generic_address(&self, space: &str) -> String {
        let name = &self.name;
        if self.generic {
            format!("cvta.{space}.u64 {name}, {name};\n")
        } else {
            String::new()
        }
    }

    /// Code that copies between the columns' registers and the memory operand (`ld` or `st`).
    fn copy(&self, opcode: &str, columns: Vec<(String, Kind)>) -> String {
        let space = match (self.generic, self.space) {
            (false, Space::Shared) => ".shared",
            (false, Space::Local) => ".local",
            (false, _) => ".global",
            (true, _) => "",
        };
        let width = self.kind.bits();
        let (name, bytes) = (&self.name, width / 8);
        let one = |(column, at): (&(String, Kind), u32)| match opcode {
            "st" => format!("st{space}.b{width} [{name}+{at}], {};\n", column.0),
            _ => format!("ld{space}.b{width} {}, [{name}+{at}];\n", column.0),
        };
        let places = (0..).map(|index| index * bytes);
        columns.iter().zip(places).map(one).collect()
    }
}

/// Splits at the commas outside of brackets.
fn split_operands(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[test]
fn a_form_becomes_columns_and_code() {
    let rows = [(2, "1, 2 -> 3, nan"), (3, "4, 5 -> _, 1.5")];
    let job = read(1, "mad.x {d:u32, e:f32}, a:u32, !b:s16", &rows).expect("a correct form");
    assert_eq!(job.covers, ["mad.x"]);
    assert_eq!(job.code, " mad.x {d, e}, a, !b;\n");
    let inputs: Vec<_> = job
        .inputs
        .iter()
        .map(|i| (i.name.as_str(), i.values.clone()))
        .collect();
    assert_eq!(inputs, [("a", vec![1, 4]), ("b", vec![2, 5])]);
    assert_eq!(
        job.outputs[0].expect,
        [(2, Expect::Bits(3)), (3, Expect::Any)]
    );
    assert_eq!(
        job.outputs[1].expect,
        [(2, Expect::Nan), (3, Expect::Bits(0x3fc0_0000))]
    );
}
