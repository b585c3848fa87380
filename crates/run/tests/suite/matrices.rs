//! Compares matrix products with plain ones on the CPU: every shape and type of `mma` with the
//! fragments of the PTX ISA, every shape, type and layout of `wmma`, and `ldmatrix` and similar
//! instructions; and boxes of tensors with loops over their elements.

mod mma;
mod moves;
mod sparse;
mod tensors;
mod warp_group;
mod wmma;

use std::ops::ControlFlow;
use warploom_base::{Dim3, Rng};
use warploom_config::{InstructionOrder, preset};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

/// A host program that runs one block of a kernel with the parameters `in`, the given words, and
/// `out`, and reads the output.
struct Warp<'a> {
    ptx: &'a str,
    threads: u32,
    input: &'a [u32],
    output: usize,
    buffer: Option<DevicePtr>,
    result: Vec<u32>,
}

impl HostProgram for Warp<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.buffer.is_some() {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("k.ptx", self.ptx)?;
        let input = device.alloc_slice(self.input)?;
        let output = device.alloc_slice(&vec![0u32; self.output])?;
        self.buffer = Some(output);
        let args = vec![Arg::Pointer(input), Arg::Pointer(output)];
        let one = Dim3::linear(1);
        let warp = Dim3::linear(self.threads);
        Ok(HostAction::Launch(Launch::new(
            module, "k", one, warp, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let output = self.buffer.expect("the launch came before");
        self.result = device.read_vec(output, self.output)?;
        Ok(Vec::new())
    }
}

/// The kernel's body, with the addresses of input and output in `%rd1` and `%rd2`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f64 %d<64>;\n\
         .shared .align 32 .b8 s[8192];\n\
         ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
         {body}\nret;\n}}\n"
    )
}

/// Output of a warp, executed, timed and timed as an assembler makes it; all must agree.
fn run(body: &str, input: &[u32], output: usize) -> Vec<u32> {
    run_block(&kernel(body), 32, input, output)
}

/// Output of a block of a kernel, executed, timed and timed as an assembler makes it; all must
/// agree.
fn run_block(ptx: &str, threads: u32, input: &[u32], output: usize) -> Vec<u32> {
    let spec = preset("qv100-volta").expect("a built-in preset");
    let mut assembled = spec.clone();
    assembled.sm.folds_instructions = true;
    assembled.sm.instruction_order = InstructionOrder::Assembler;
    let [session, other] = [spec, assembled].map(|spec| Session::new(spec, Options::default()));
    let program = || Warp {
        ptx,
        threads,
        input,
        output,
        buffer: None,
        result: Vec::new(),
    };
    let mut executed = program();
    let report = session.run_functional(&mut executed).expect(ptx);
    assert_eq!(report.outcome, Outcome::Finished, "{ptx}");
    for session in [session, other] {
        let mut timed = program();
        let report = session.run(&mut timed, &mut |_| ControlFlow::Continue(()));
        assert_eq!(report.expect(ptx).outcome, Outcome::Finished, "{ptx}");
        assert_eq!(executed.result, timed.result, "{ptx}");
    }
    executed.result
}

/// Multiplicand types with their bits, and conversions from small integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ty {
    name: &'static str,
    bits: usize,
}

const fn ty(name: &'static str, bits: usize) -> Ty {
    Ty { name, bits }
}

const F16: Ty = ty("f16", 16);
const BF16: Ty = ty("bf16", 16);
const TF32: Ty = ty("tf32", 32);
const F32: Ty = ty("f32", 32);
const F64: Ty = ty("f64", 64);
const E4M3: Ty = ty("e4m3", 8);
const E5M2: Ty = ty("e5m2", 8);
const S8: Ty = ty("s8", 8);
const U8: Ty = ty("u8", 8);
const S4: Ty = ty("s4", 4);
const U4: Ty = ty("u4", 4);
const B1: Ty = ty("b1", 1);
const S32: Ty = ty("s32", 32);

impl Ty {
    /// A random small integer that the type represents exactly.
    fn draw(self, rng: &mut Rng) -> i32 {
        let (low, count) = match self.name {
            "b1" => (0, 2),
            "u4" => (0, 16),
            "s4" => (-8, 16),
            "u8" => (0, 256),
            "s8" => (-128, 256),
            "s32" => (-1000, 2001),
            "e4m3" | "e5m2" => (-4, 9),
            _ => (-8, 17),
        };
        low + rng.below(count) as i32
    }

    /// Bits of an integer of [`Self::draw`].
    fn bits_of(self, value: i32) -> u64 {
        match self.name {
            "f16" => half(value).into(),
            "bf16" => u64::from((value as f32).to_bits() >> 16),
            "tf32" | "f32" => (value as f32).to_bits().into(),
            "f64" => f64::from(value).to_bits(),
            "e4m3" => float8(value, 3),
            "e5m2" => float8(value, 2),
            _ => value as u32 as u64 & (u64::MAX >> (64 - self.bits)),
        }
    }
}

/// A small integer as a float of 8 bits with `mantissa` bits of fraction (PTX ISA, "Alternate Floating
/// Point Data Formats").
fn float8(value: i32, mantissa: u32) -> u64 {
    if value == 0 {
        return 0;
    }
    let magnitude = value.unsigned_abs();
    let exponent = magnitude.ilog2();
    let bias = (1 << (6 - mantissa)) - 1;
    let fraction = (magnitude << mantissa >> exponent) & ((1 << mantissa) - 1);
    let sign = if value < 0 { 0x80 } else { 0 };
    u64::from(sign | (exponent + bias) << mantissa | fraction)
}

/// An integer below 2048 as f16.
fn half(value: i32) -> u16 {
    if value == 0 {
        return 0;
    }
    let sign = if value < 0 { 0x8000 } else { 0 };
    let magnitude = value.unsigned_abs();
    let exponent = magnitude.ilog2();
    assert!(exponent <= 10, "{value} is not exact");
    let mantissa = (magnitude << (10 - exponent)) & 0x3ff;
    sign | ((exponent + 15) << 10 | mantissa) as u16
}

/// Writes an element of `bits` at a position counted in elements.
fn put(words: &mut [u32], bits: usize, at: usize, value: u64) {
    let first = at * bits;
    for bit in 0..bits {
        let place = first + bit;
        words[place / 32] |= ((value >> bit & 1) as u32) << (place % 32);
    }
}

fn get(words: &[u32], bits: usize, at: usize) -> u64 {
    let bit = |k: usize| u64::from(words[(at * bits + k) / 32] >> ((at * bits + k) % 32) & 1);
    (0..bits).fold(0, |all, k| all | bit(k) << k)
}

/// A matrix of small integers, row by row.
#[derive(Clone, Debug)]
struct Matrix {
    rows: usize,
    cols: usize,
    values: Vec<i32>,
}

impl Matrix {
    fn draw(rows: usize, cols: usize, ty: Ty, rng: &mut Rng) -> Self {
        let values = (0..rows * cols).map(|_| ty.draw(rng)).collect();
        Self { rows, cols, values }
    }

    fn at(&self, (row, col): (usize, usize)) -> i32 {
        self.values[row * self.cols + col]
    }
}

/// Computes a * b + c, element by element with `product`.
fn expected(a: &Matrix, b: &Matrix, c: &Matrix, product: fn(i32, i32) -> i32) -> Matrix {
    let mut d = c.clone();
    for row in 0..a.rows {
        for col in 0..b.cols {
            for k in 0..a.cols {
                let term = product(a.at((row, k)), b.at((k, col)));
                d.values[row * b.cols + col] += term;
            }
        }
    }
    d
}

/// Text of a register list `{first0, first1, ...}`.
fn list(name: &str, first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count)
        .map(|nth| format!("{name}{nth}"))
        .collect();
    format!("{{{}}}", names.join(", "))
}
