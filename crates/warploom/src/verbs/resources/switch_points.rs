//! Output of `warploom resources --switch-points`: the contexts of warps that are switched out.

use super::{Report, Row};
use serde::Serialize;
use std::fmt::Write as _;
use warploom_ir::{Program, SwitchPoint};
use warploom_report::listing;

/// Context of a kernel's warps while they are switched out.
#[derive(Serialize)]
pub(super) struct Context {
    /// Storage for a warp that is switched out, in registers: the largest of its points.
    allocation: u32,
    /// Storage in percent of the registers of a running warp.
    percent: f64,
    points: Vec<Point>,
}

/// An instruction at which a warp may be switched out.
#[derive(Serialize)]
struct Point {
    /// Number of the instruction at which it continues.
    pc: u32,
    /// Line of the file.
    line: u32,
    /// True if it waits for a load from global memory there.
    load: bool,
    /// True if it leaves a barrier there.
    barrier: bool,
    /// Number of registers that some lane may still read.
    registers: u32,
    /// Number of these that are equal in all lanes.
    uniform: u32,
    /// Number of the others that fit fewer bits.
    narrow: u32,
    /// Compressed size of these registers and of predicates.
    bytes: u32,
    /// Compressed size in registers of a warp, 128 bytes each.
    units: u32,
}

impl Context {
    /// The context of a kernel whose threads have `registers` each.
    pub fn new(program: &Program, registers: u32) -> Self {
        let allocation = program.context_units().min(registers);
        let point = |point: &SwitchPoint| Point {
            pc: point.pc.0,
            line: program.facts[point.pc.index()].pos.line,
            load: point.load,
            barrier: point.barrier,
            registers: point.registers,
            uniform: point.uniform,
            narrow: point.narrow,
            bytes: point.bytes,
            units: point.units(),
        };
        Self {
            allocation,
            percent: 100.0 * f64::from(allocation) / f64::from(registers.max(1)),
            points: program.switch_points.iter().map(point).collect(),
        }
    }
}

/// Text with one table per kernel.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for row in &report.kernels {
        add_kernel(&mut text, row);
    }
    if text.is_empty() {
        "no kernels\n".to_owned()
    } else {
        text
    }
}

fn add_kernel(text: &mut String, row: &Row) {
    let Some(context) = &row.context else { return };
    let gap = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(
        text,
        "{gap}{}: {} of {} registers per warp while it is switched out ({:.0}%)",
        row.kernel, context.allocation, row.registers_per_thread, context.percent
    );
    if context.points.is_empty() {
        text.push_str("it is never switched out: no load from global memory, no barrier\n");
        return;
    }
    let header = [
        "pc",
        "line",
        "waits for",
        "registers",
        "uniform",
        "narrow",
        "bytes",
        "units",
    ];
    let rows: Vec<_> = context.points.iter().map(cells).collect();
    text.push_str(&listing(&header, &rows, None));
}

fn cells(point: &Point) -> Vec<String> {
    let why = match (point.load, point.barrier) {
        (true, true) => "load, barrier",
        (true, false) => "load",
        (false, _) => "barrier",
    };
    let numbers = [
        point.registers,
        point.uniform,
        point.narrow,
        point.bytes,
        point.units,
    ];
    [point.pc.to_string(), point.line.to_string(), why.to_owned()]
        .into_iter()
        .chain(numbers.map(|n| n.to_string()))
        .collect()
}
