//! Execution of one instruction of a warp, and the reports of its faults and findings.

use crate::context::LaunchContext;
use crate::decode::Decoded;
use crate::fault::{
    Fault, FaultAddress, FaultKind, Finding, FindingKind, FindingReport, Place, RawFault,
    in_brackets,
};
use crate::inst::{Exec, InstExec, lowest_lane};
use crate::launch::KernelLaunch;
use crate::memory::device::{AccessCheck, DeviceMemory};
use crate::memory::write_log::MemPort;
use crate::outcome::{Effect, Env, StepOut};
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use warploom_base::{LaneMask, Pc, WARP_SIZE};
use warploom_ir::{GLOBAL_BASE, Inst, MemSpace, Program};

/// Executes the next instruction of a warp for its active lanes and advances the warp.
///
/// A call in which lanes start to wait for other lanes of their warp executes nothing in them; the
/// next call runs other lanes. The call does nothing if the warp has finished or waits at a barrier
/// that has not released it.
///
/// # Errors
/// Returns a [`Fault`] if the simulated program cannot continue.
#[inline(always)]
pub fn step(
    ctx: &LaunchContext,
    block: &mut BlockState,
    warp: &mut WarpState,
    port: &mut MemPort<'_>,
    env: &Env,
    out: &mut StepOut,
) -> Result<(), Fault> {
    out.effect = Effect::None;
    out.finding = None;
    out.atomic.mask = 0;
    out.active = 0;
    let (Some((pc, lanes)), None) = (warp.stack.top(), &warp.pending) else {
        return Ok(());
    };
    out.pc = pc;
    out.stack_active = lanes;
    let Some(decoded) = ctx.code.get(pc.index()) else {
        let raw = RawFault::plain(FaultKind::IllegalInstruction, lowest_lane(lanes));
        return Err(fault_of(ctx, block, warp, port.image, pc, &raw));
    };
    let inst = &decoded.inst;
    let mask = lanes & guard_mask(inst, warp);
    out.active = mask;
    let mut machine = InstExec {
        ctx,
        block,
        warp,
        port,
        env,
        out,
        inst,
        pc,
        polls: decoded.polls,
        mask,
    };
    machine.execute(decoded).map_err(|raw| machine.fault(&raw))
}

/// Lanes in which the guard predicate of an instruction holds.
#[inline(always)]
pub(crate) fn guard_mask(inst: &Inst, warp: &WarpState) -> LaneMask {
    match inst.guard {
        None => LaneMask::MAX,
        Some(guard) => {
            let value = warp.regs.pred(guard.pred.0 as usize);
            if guard.negated { !value } else { value }
        }
    }
}

impl InstExec<'_, '_> {
    #[inline(always)]
    fn execute(&mut self, decoded: &Decoded) -> Exec {
        if decoded.reads_special {
            self.stage_sources();
        }
        if decoded.sets_pc {
            return decoded.handler.call(self);
        }
        if self.mask != 0 {
            decoded.handler.call(self)?;
        }
        self.fall_through();
        Ok(())
    }

    /// Executes an instruction of a row in the lanes of its mask, which must not be empty.
    #[inline(always)]
    pub(crate) fn call_handler(&mut self, decoded: &Decoded) -> Result<(), Fault> {
        match decoded.handler.call(self) {
            Ok(()) => Ok(()),
            Err(raw) => Err(self.failed(&raw)),
        }
    }

    /// Puts the warp at an instruction of a row that has failed. Returns its fault.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, raw: &RawFault) -> Fault {
        self.warp.stack.advance(self.pc);
        self.fault(raw)
    }

    /// Completes a fault with its place, its address and the text of a failed assertion.
    #[cold]
    fn fault(&mut self, raw: &RawFault) -> Fault {
        let failed = raw.kind == FaultKind::Assertion;
        let assertion = failed.then(|| Box::new(self.assertion(raw.lane)));
        let image = self.port.image;
        let fault = fault_of(self.ctx, self.block, self.warp, image, self.pc, raw);
        Fault { assertion, ..fault }
    }
}

/// Completes a fault with its place and a description of its address.
#[cold]
pub(crate) fn fault_of(
    ctx: &KernelLaunch,
    block: &BlockState,
    warp: &WarpState,
    image: &DeviceMemory,
    pc: Pc,
    raw: &RawFault,
) -> Fault {
    let address = raw.access.map(|(space, address, bytes)| {
        let nearest = nearest(ctx, image, space, address);
        Box::new(FaultAddress {
            space,
            address,
            bytes,
            nearest,
        })
    });
    let place = Box::new(place(ctx, block, warp, pc, raw.lane));
    Fault {
        kind: raw.kind,
        place,
        address,
        assertion: None,
    }
}

/// Place in the program at which a lane executes the instruction at `pc`.
fn place(ctx: &KernelLaunch, block: &BlockState, warp: &WarpState, pc: Pc, lane: usize) -> Place {
    let program = &ctx.program;
    let function = program
        .functions
        .iter()
        .rev()
        .find(|(first, _)| *first <= pc);
    Place {
        asid: ctx.asid,
        kernel: program.name.clone(),
        function: function.map_or_else(|| program.name.clone(), |(_, name)| name.clone()),
        pc,
        pos: program
            .facts
            .get(pc.index())
            .map(|facts| facts.pos)
            .unwrap_or_default(),
        written: program.written_at(pc),
        block: block.ctaid,
        thread: warp.thread(lane.min(WARP_SIZE - 1)),
    }
}

/// Description of the allocation nearest to an address, or of the size of its state space.
fn nearest(ctx: &KernelLaunch, image: &DeviceMemory, space: MemSpace, address: u64) -> String {
    match space {
        MemSpace::Shared => shared_size(ctx),
        MemSpace::Local | MemSpace::FrameParam => {
            format!(
                "the thread has {} bytes of local memory",
                ctx.program.local_end()
            )
        }
        MemSpace::Param => format!("the kernel has {} bytes of parameters", ctx.params.len()),
        _ => no_address(ctx, image, address).unwrap_or_else(|| image.nearest(ctx.asid, address)),
    }
}

/// Largest offset from a null pointer that is taken for one. Overruns before the first buffer are
/// farther from zero.
const NULL_EXTENT: u64 = 1 << 30;

/// Description of an access below all buffers by the arguments that are no addresses: those that
/// are 0, or else the number below the address, if it is the only one. `None` for other accesses.
fn no_address(ctx: &KernelLaunch, image: &DeviceMemory, address: u64) -> Option<String> {
    if address >= GLOBAL_BASE || image.check(ctx.asid, address, 1) != AccessCheck::Outside {
        return None;
    }
    let value = |at: usize| {
        let param = &ctx.program.params[at];
        let start = param.offset as usize;
        let bytes = ctx.params.get(start..start + param.bytes as usize)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let arguments = (0..ctx.program.params.len()).filter_map(|at| Some((at + 1, value(at)?)));
    let is_base = |value: u64| address.checked_sub(value).is_some_and(|n| n < NULL_EXTENT);
    let bases: Vec<_> = arguments.filter(|(_, value)| is_base(*value)).collect();
    let null = bases.iter().filter(|(_, value)| *value == 0);
    let null: Vec<_> = null.map(|(number, _)| number.to_string()).collect();
    match (null.as_slice(), bases.as_slice()) {
        ([], [(number, value)]) => Some(format!(
            "argument {number} of the kernel is {value}, which is no address of data"
        )),
        ([], _) => None,
        ([number], _) => Some(format!(
            "argument {number} of the kernel is 0, a null pointer if it is an address"
        )),
        (numbers, _) => Some(format!(
            "arguments {} of the kernel are 0, null pointers if they are addresses",
            numbers.join(" and ")
        )),
    }
}

/// Description of the size of a block's shared memory. The part of `extern __shared__` arrays is
/// named, because a launch that forgets it gives them none.
fn shared_size(ctx: &KernelLaunch) -> String {
    let all = ctx.shared_bytes;
    let text = format!("the block has {all} bytes of shared memory");
    match ctx.program.dynamic_shared_align {
        None => text,
        Some(align) => format!(
            "{text}, {} of them for `extern __shared__` arrays, whose size the launch states \
             (`--shared`, `dynamic_shared_bytes`, or the third number in `<<<>>>`)",
            all.saturating_sub(ctx.program.shared_bytes.next_multiple_of(align.max(1)))
        ),
    }
}

/// Place of an instruction in the PTX and, if it is known, in the source.
fn line(program: &Program, pc: Pc) -> String {
    let ptx = program.facts.get(pc.index()).map(|facts| facts.pos.line);
    let written = program.written_at(pc);
    format!(
        "PTX line {}{}",
        ptx.unwrap_or_default(),
        in_brackets(written.as_deref())
    )
}

/// Complete report of the finding of a warp's last [`step`]. Returns `None` if that step found
/// nothing.
pub fn report_finding(
    ctx: &LaunchContext,
    block: &BlockState,
    warp: &WarpState,
    image: &DeviceMemory,
    out: &StepOut,
) -> Option<FindingReport> {
    let Finding {
        kind,
        lane,
        space,
        address,
    } = out.finding?;
    let bytes = match out.effect {
        Effect::Memory(effect) => u32::from(effect.bytes),
        _ => 0,
    };
    let address = (bytes > 0).then(|| {
        let nearest = nearest(ctx, image, space, address);
        FaultAddress {
            space,
            address,
            bytes,
            nearest,
        }
    });
    Some(FindingReport {
        kind,
        place: place(ctx, block, warp, out.pc, lane.into()),
        address,
        other: match kind {
            FindingKind::SharedRace { other_pc, .. } => Some(line(&ctx.program, other_pc)),
            _ => None,
        },
    })
}
