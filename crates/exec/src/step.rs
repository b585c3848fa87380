//! One warp instruction.

use crate::atomic::{AtomicBatch, AtomicMode};
use crate::barrier::BarrierArrival;
use crate::block::BlockState;
use crate::convert::Cvt;
use crate::decode::Decoded;
use crate::fault::{Fault, FaultAddress, FaultKind, Finding, FindingReport, Place, RawFault};
use crate::launch::LaunchContext;
use crate::log::MemPort;
use crate::machine::{Exec, Machine, lowest_lane};
use crate::memory::DeviceMemory;
use crate::span::HalfWarp;
use crate::special::Staged;
use crate::stack::Divergence;
use crate::warp::WarpState;
use crate::wide::{Wide, widely};
use warploom_base::{LaneMask, Pc, WARP_SIZE};
use warploom_ir::{
    CacheOp, Cmp, Combine, FloatBin, FloatMinMax, FloatMods, FloatTy, FloatUn, Inst, IntTy, IntUn,
    MemSpace, MemTy, Op, Scope, SetDst, TexGeom, TexLod, TexTy, Ty, Width,
};

/// Where and when an instruction runs: what special registers show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Env {
    /// `%smid`
    pub sm: u16,
    /// `%nsmid`
    pub n_sm: u16,
    /// `%warpid`: the warp's place in the SM.
    pub warp_slot: u16,
    /// `%nwarpid`: places for warps in an SM.
    pub n_warps: u16,
    /// `%clock64`: cycles of the SM.
    pub clock: u64,
    /// Clock of the SM in kHz, for `%globaltimer`; 0 counts a nanosecond a cycle.
    pub clock_khz: u64,
    /// When atomics on global memory take effect.
    pub atomics: AtomicMode,
    /// What lanes that went different ways may do for each other.
    pub divergence: Divergence,
}

impl Env {
    /// `%globaltimer`: nanoseconds.
    pub(crate) fn nanoseconds(&self) -> u64 {
        match self.clock_khz {
            0 => self.clock,
            khz => self.clock * 1_000_000 / khz,
        }
    }
}

/// What a memory instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Atomic,
    /// Reads through the texture path.
    Texture,
}

/// A memory access of a warp; addresses per lane are in [`StepOut::addrs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemEffect {
    /// Space that the address was resolved to. Should lanes differ: that of the lowest, but of an
    /// atomic global memory, if any is there.
    pub space: MemSpace,
    /// What it does.
    pub kind: MemKind,
    /// Bytes per lane: all elements of a vector.
    pub bytes: u8,
    /// Cache operator.
    pub cache_op: CacheOp,
    /// An atomic returns its old value (`atom`, not `red`).
    pub returns: bool,
    /// Lanes' addresses may lie in several spaces: in global memory those from
    /// [`GLOBAL_BASE`](warploom_ir::GLOBAL_BASE) on.
    pub mixed: bool,
}

/// What an instruction does besides changing registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Effect {
    /// Nothing.
    #[default]
    None,
    /// A memory access.
    Memory(MemEffect),
    /// Arrival at a block barrier: report it to [`BlockState::barriers`].
    Barrier(BarrierArrival),
    /// All lanes that a `bar.warp.sync` names are there.
    WarpBarrier,
    /// Every lane of the warp that has not ended waits for another one: the warp never goes on.
    Stuck,
    /// A fence.
    Membar(Scope),
    /// Some lanes ended; the whole warp if [`WarpState::is_done`].
    Exit,
}

/// What `step` reports. Reuse one: nothing is allocated.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct StepOut {
    /// The instruction executed.
    pub pc: Pc,
    /// Lanes in which it took effect.
    pub active: LaneMask,
    /// Lanes of the stack's top entry, before the guard.
    pub stack_active: LaneMask,
    /// What else it did.
    pub effect: Effect,
    /// Byte addresses of a memory effect, in its space; valid in the lanes of `active`. Local: in
    /// the thread's own local memory. Textures: in global memory, the first texel read. A prefetch
    /// has no effect, but its addresses stand here too.
    pub addrs: [u64; WARP_SIZE],
    /// How the words of the two halves of a warp lie, where a memory effect in global or shared
    /// memory is seen to be one of all lanes on aligned words.
    pub halves: Option<[HalfWarp; 2]>,
    /// A deferred atomic; valid when its mask is not empty.
    pub atomic: AtomicBatch,
    /// Something suspicious, when the launch asks for checks.
    pub finding: Option<Finding>,
    pub(crate) staged: Staged,
}

impl Default for StepOut {
    fn default() -> Self {
        Self {
            pc: Pc(0),
            active: 0,
            stack_active: 0,
            effect: Effect::None,
            addrs: [0; WARP_SIZE],
            halves: None,
            atomic: AtomicBatch::default(),
            finding: None,
            staged: Staged::default(),
        }
    }
}

/// Executes the instruction at the warp's pc for its active lanes and moves the warp on.
///
/// Lanes that have to wait for others of their warp execute nothing, which takes a call, too: other
/// lanes run next. A warp that is done, or waits at a barrier that has not released it, must not be
/// stepped: the call does nothing then.
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
        return Err(fault(ctx, block, warp, port, pc, &raw));
    };
    let inst = &decoded.inst;
    let mask = lanes & guard_mask(inst, warp);
    out.active = mask;
    let mut machine = Machine {
        ctx,
        block,
        warp,
        port,
        env,
        out,
        inst,
        pc,
        mask,
    };
    machine.execute(decoded).map_err(|raw| machine.fault(&raw))
}

#[inline(always)]
fn guard_mask(inst: &Inst, warp: &WarpState) -> LaneMask {
    match inst.guard {
        None => LaneMask::MAX,
        Some(guard) => {
            let value = warp.regs.pred(guard.pred.0 as usize);
            if guard.negated { !value } else { value }
        }
    }
}

impl Machine<'_, '_> {
    #[inline(always)]
    fn execute(&mut self, decoded: &Decoded) -> Exec {
        if decoded.special {
            self.stage_sources();
        }
        if decoded.control {
            return decoded.run.call(self);
        }
        if self.mask != 0 {
            decoded.run.call(self)?;
        }
        self.fall_through();
        Ok(())
    }

    /// Everything but control flow and what [`crate::decode`] has functions for, for at least one
    /// lane.
    pub fn operate(&mut self) -> Exec {
        match self.inst.op {
            Op::Nop | Op::Brkpt | Op::Nanosleep | Op::CopyCommit | Op::CopyWait(_) => Ok(()),
            Op::CopyAsync { bytes, wide, cache } => self.copy_async(bytes, wide, cache),
            Op::Mbarrier(space, op) => self.mbarrier(space, op),
            Op::Prefetch(_) => {
                self.addresses();
                Ok(())
            }
            Op::Mma(_)
            | Op::LdMatrix(..)
            | Op::StMatrix(..)
            | Op::TurnMatrix
            | Op::Barrier(_)
            | Op::BarWarp
            | Op::Vote(_)
            | Op::Match(..)
            | Op::Shfl(_)
            | Op::Redux(..)
            | Op::Elect
            | Op::Bra(_)
            | Op::BrxIdx
            | Op::Call
            | Op::CallIndirect
            | Op::Ret
            | Op::Exit
            | Op::Mov(_)
            | Op::Logic(..)
            | Op::Shl(_) => {
                unreachable!("{:?} has a function of its own", self.inst.op)
            }
            Op::Alloca(width) => self.alloca(width),
            Op::StackSave(width) => self.stack_save(width),
            Op::StackRestore(width) => self.stack_restore(width),
            Op::Trap => Err(RawFault::plain(FaultKind::Trap, self.lowest_lane())),
            Op::MovPred => self.mov_pred(false),
            Op::NotPred => self.mov_pred(true),
            Op::Pack { part, whole } => self.pack(part, whole),
            Op::Unpack { part, whole } => self.unpack(part, whole),
            Op::Int(op, ty) => self.int_bin_packed(op, ty == IntTy::S16x2),
            Op::IntUn(op, ty) => widely!(self.int_un(op: IntUn, ty: IntTy)),
            // Their packed types do not exist.
            Op::Mul(..) | Op::Mad(..) | Op::Shr(_) => Err(self.illegal()),
            Op::Mul24(hi, ty) => widely!(self.mul24(hi: bool, ty: IntTy)),
            Op::Mad24(hi, sat, ty) => widely!(self.mad24(hi: bool, sat: bool, ty: IntTy)),
            Op::Sad(ty) => self.sad(ty),
            Op::AddC { cin, cout, ty } => self.add_carry(cin, cout, ty),
            Op::SubC { cin, cout, ty } => self.sub_carry(cin, cout, ty),
            Op::MadC {
                half,
                cin,
                cout,
                ty,
            } => self.mad_carry(half, cin, cout, ty),
            Op::Dp4a(a, b) => self.dp4a(a, b),
            Op::Dp2a(hi, a, b) => self.dp2a(hi, a, b),
            Op::Bfe(ty) => widely!(self.bfe(ty: IntTy)),
            Op::Bfi(width) => widely!(self.bfi(width: Width)),
            Op::Bmsk(clamp) => self.bmsk(clamp),
            Op::Szext(clamp, ty) => self.szext(clamp, ty),
            Op::Fns => self.fns(),
            Op::Not(width) => widely!(self.not(width: Width)),
            Op::Cnot(width) => self.cnot(width),
            Op::LogicPred(op) => self.logic_pred(op),
            Op::Lop3(table, how) => widely!(self.lop3(table: u8, how: Combine)),
            Op::Shf(left, wrap) => self.shf(left, wrap),
            Op::Prmt(mode) => self.prmt(mode),
            Op::Float(op, ty, mods) => {
                widely!(self.float_bin(op: FloatBin, ty: FloatTy, mods: FloatMods))
            }
            Op::Fma(ty, mods) => widely!(self.fma(ty: FloatTy, mods: FloatMods; fused)),
            Op::FloatUn(op, ty, mods) => {
                widely!(self.float_un(op: FloatUn, ty: FloatTy, mods: FloatMods))
            }
            Op::FloatMinMax(how, ty) => widely!(self.float_min_max(how: FloatMinMax, ty: FloatTy)),
            Op::Copysign(ty) => self.copysign(ty),
            Op::Testp(kind, ty) => self.testp(kind, ty),
            Op::Setp(cmp, how, ty, ftz) => {
                widely!(self.setp(cmp: Cmp, how: Combine, ty: Ty, ftz: bool))
            }
            Op::Set(cmp, how, ty, ftz, dst) => {
                widely!(self.set(cmp: Cmp, how: Combine, ty: Ty, ftz: bool, dst: SetDst))
            }
            Op::Selp(width) => widely!(self.selp(width: Width)),
            Op::Slct { width, float, ftz } => self.slct(width, float, ftz),
            Op::Cvt {
                to,
                from,
                round,
                ftz,
                sat,
            } => {
                let cvt = Cvt {
                    to,
                    from,
                    round,
                    ftz,
                    sat,
                };
                widely!(self.cvt(cvt: Cvt))
            }
            Op::CvtPack2 { to, round, relu } => self.cvt_pack2(to, round, relu),
            Op::CvtPackInt { to, .. } => self.cvt_pack_int(to),
            Op::CvtTf32 {
                round,
                relu,
                finite,
            } => self.cvt_tf32(round, relu, finite),
            Op::CvtToFloat8 { to, from, relu } => self.cvt_to_float8(to, from, relu),
            Op::CvtFromFloat8(from, relu) => self.cvt_from_float8(from, relu),
            Op::Video(video) => self.video(video),
            Op::ScalarVideo(op) => self.scalar_video(op),
            Op::VideoMad => self.video_mad(),
            Op::Cvta(space, to, width) => self.cvta(space, to, width),
            Op::Isspacep(space) => self.isspacep(space),
            Op::Ld(space, ty, cache_op) => {
                widely!(self.load(space: MemSpace, ty: MemTy, cache_op: CacheOp))
            }
            Op::St(space, ty, cache_op) => {
                widely!(self.store(space: MemSpace, ty: MemTy, cache_op: CacheOp))
            }
            Op::Atom(space, op, ty) => self.atomic(space, op, ty),
            Op::Tex {
                geom,
                lod,
                texel,
                coord,
            } => widely!(self.texture(geom: TexGeom, lod: TexLod, texel: TexTy, coord: TexTy)),
            Op::Tld4 {
                channel,
                geom,
                texel,
            } => self.texture_gather(channel, geom, texel),
            Op::Surf { act, geom, edge } => self.surface(act, geom, edge),
            Op::Txq(query) => self.texture_query(query),
            Op::Membar(scope) => self.tell(Effect::Membar(scope)),
            Op::Activemask => self.activemask(),
            Op::System(call) => self.system(call),
        }
    }

    fn tell(&mut self, effect: Effect) -> Exec {
        self.effect(effect);
        Ok(())
    }

    #[cold]
    fn fault(&mut self, raw: &RawFault) -> Fault {
        let failed = raw.kind == FaultKind::Assertion;
        let assertion = failed.then(|| Box::new(self.assertion(raw.lane)));
        let fault = fault(self.ctx, self.block, self.warp, self.port, self.pc, raw);
        Fault { assertion, ..fault }
    }
}

/// Fills in where a fault happened and what its address is near to.
#[cold]
fn fault(
    ctx: &LaunchContext,
    block: &BlockState,
    warp: &WarpState,
    port: &MemPort<'_>,
    pc: Pc,
    raw: &RawFault,
) -> Fault {
    let address = raw.access.map(|(space, address, bytes)| {
        let nearest = nearest(ctx, port.image, space, address);
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

fn place(ctx: &LaunchContext, block: &BlockState, warp: &WarpState, pc: Pc, lane: usize) -> Place {
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
        block: block.ctaid,
        thread: warp.thread(lane.min(WARP_SIZE - 1)),
    }
}

fn nearest(ctx: &LaunchContext, image: &DeviceMemory, space: MemSpace, address: u64) -> String {
    match space {
        MemSpace::Shared => format!("the block has {} bytes of shared memory", ctx.shared_bytes),
        MemSpace::Local | MemSpace::FrameParam => {
            format!(
                "the thread has {} bytes of local memory",
                ctx.program.local_end()
            )
        }
        MemSpace::Param => format!("the kernel has {} bytes of parameters", ctx.params.len()),
        _ => image.nearest(ctx.asid, address),
    }
}

/// The full report of a finding that [`step`] noted for this warp's last instruction.
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
    })
}
