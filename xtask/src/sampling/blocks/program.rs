//! A program that launches a drawn kernel once. The number of rounds of its blocks is equal,
//! or depends on the block.

use super::drawn_kernels::drawn_kernel;
use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Check, Device, HostAction, HostError, HostProgram, Launch};

/// Bytes of the memory that the kernel accesses.
const BYTES: usize = 1 << 17;

/// Instructions of which a drawn kernel has none, because they need more than one buffer: calls,
/// textures and surfaces, and objects that a kernel has to set up.
const LEFT_OUT: [&str; 6] = ["vprintf", "malloc", "tex.1d", "suld", "sust", "mbarrier"];

/// A drawn kernel with its launch.
#[derive(Clone)]
pub(super) struct Drawn {
    ptx: String,
    blocks: u32,
    threads: u32,
    launched: bool,
}

impl Drawn {
    /// Draws a kernel and a grid of 12 to 24 times `blocks` blocks.
    pub fn new(rng: &mut Rng, blocks: u32) -> Self {
        let rounds = rounds(rng);
        let body = loop {
            let body = drawn_kernel(rng, "%r15");
            if !LEFT_OUT.iter().any(|part| body.contains(part)) {
                break body;
            }
        };
        let number = "mov.u32 %r2, %tid.x;\n";
        let body = body.replacen(number, &format!("{number}{rounds}"), 1);
        let ptx = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n\
             .visible .entry drawn(.param .u64 buf) {{\n\
             .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<3>;\n{body}ret;\n}}\n"
        );
        Self {
            ptx,
            blocks: blocks * (12 + rng.below(13)),
            threads: 32 << rng.below(3),
            launched: false,
        }
    }
}

/// Draws instructions that put the number of a block's rounds into `%r15`: the same for all blocks,
/// rising over the grid, at random, rising again and again, or more in a part of the blocks.
fn rounds(rng: &mut Rng) -> String {
    let (shape, least) = (rng.below(6), 1 + rng.below(6));
    let (more, period) = (1 + rng.below(12), 2 + rng.below(60));
    let hashed = "mul.lo.u32 %r15, %r1, 2654435761;\nshr.u32 %r15, %r15, 16;\n";
    match shape {
        0 | 1 => format!("mov.u32 %r15, {least};\n"),
        2 => format!(
            "mov.u32 %r14, %nctaid.x;\nmul.lo.u32 %r15, %r1, {more};\n\
             div.u32 %r15, %r15, %r14;\nadd.u32 %r15, %r15, {least};\n"
        ),
        3 => format!(
            "{hashed}rem.u32 %r15, %r15, {};\nadd.u32 %r15, %r15, {least};\n",
            more + 1
        ),
        4 => format!(
            "rem.u32 %r15, %r1, {period};\nmul.lo.u32 %r15, %r15, {more};\n\
             div.u32 %r15, %r15, {period};\nadd.u32 %r15, %r15, {least};\n"
        ),
        _ => format!(
            "{hashed}rem.u32 %r15, %r15, 8;\nsetp.eq.u32 %p1, %r15, 0;\n\
             selp.b32 %r15, {}, {least}, %p1;\n",
            least + 2 * more
        ),
    }
}

impl HostProgram for Drawn {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if std::mem::replace(&mut self.launched, true) {
            return Ok(HostAction::Done);
        }
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at * 7 % 251) as u8).collect();
        let module = device.load_ptx("drawn.ptx", &self.ptx)?;
        let args = vec![Arg::Pointer(device.alloc_slice(&bytes)?)];
        let (grid, block) = (Dim3::linear(self.blocks), Dim3::linear(self.threads));
        Ok(HostAction::Launch(Launch::new(
            module, "drawn", grid, block, args,
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        // No output is known in advance: threads access the same words in no fixed order.
        Ok(Vec::new())
    }
}
