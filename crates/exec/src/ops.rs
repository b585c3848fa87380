//! Implementation of the instructions: a file for each group of operations, which adds methods to
//! [`InstExec`].

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod async_copy;
mod atomic;
pub(crate) mod bits;
mod bulk;
mod bulk_tensor;
mod call;
mod cluster;
pub(crate) mod compare;
mod control;
mod convert;
mod elements;
pub(crate) mod float;
mod float8;
mod ftz;
pub(crate) mod integer;
pub(crate) mod load;
mod matrix;
mod mipmap;
pub(crate) mod moves;
mod printf;
mod scalar_video;
pub(crate) mod special_register;
pub(crate) mod store;
mod surface;
mod swizzle;
mod system;
mod texture;
mod tile;
mod video;
mod warp;
mod warp_group;
mod warp_sync;

use crate::fault::{FaultKind, RawFault};
use crate::handler::vectorized;
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::ops::convert::Cvt;
use crate::outcome::Effect;
use warploom_ir::{
    CacheOp, Combine, FloatBin, FloatMinMax, FloatMods, FloatTy, FloatUn, IntTy, IntUn, MemSpace,
    MemTy, Op, TexGeom, TexLod, TexTy, Width,
};

impl InstExec<'_, '_> {
    /// Executes an operation that neither changes control flow nor has a handler of its own (see
    /// [`crate::decode`]). At least one lane is active.
    pub fn operate(&mut self) -> Exec {
        match self.inst.op {
            Op::Nop
            | Op::Brkpt
            | Op::Nanosleep
            | Op::CopyCommit
            | Op::CopyWait(_)
            | Op::AsyncCommit(_)
            | Op::AsyncWait(..) => Ok(()),
            Op::CopyAsync { bytes, wide, cache } => self.copy_async(bytes, wide, cache),
            Op::Bulk { act, wide } => self.bulk_copy(act, wide),
            Op::BulkTensor {
                act,
                space,
                im2col,
                wide,
            } => self.bulk_tensor(act, space, im2col, wide),
            Op::TensorMapCopy(wide) => self.copy_tensor_map(wide),
            Op::Mbarrier(space, op) => self.mbarrier(space, op),
            Op::Prefetch(_) => {
                self.addresses();
                Ok(())
            }
            Op::Mma(_)
            | Op::WarpGroupMma(_)
            | Op::LdMatrix(..)
            | Op::StMatrix(..)
            | Op::TurnMatrix
            | Op::Barrier(_)
            | Op::BarWarp
            | Op::Vote(_)
            | Op::Match(..)
            | Op::Shfl(_)
            | Op::Redux(..)
            | Op::ReduxFloat(_)
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
            Op::IntUn(op, ty) => vectorized!(self.int_un(op: IntUn, ty: IntTy)),
            // Packed types of these operations do not exist.
            Op::Mul(..) | Op::Mad(..) | Op::Shr(_) => Err(self.illegal()),
            Op::Mul24(hi, ty) => vectorized!(self.mul24(hi: bool, ty: IntTy)),
            Op::Mad24(hi, sat, ty) => vectorized!(self.mad24(hi: bool, sat: bool, ty: IntTy)),
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
            Op::Bfe(ty) => vectorized!(self.bfe(ty: IntTy)),
            Op::Bfi(width) => vectorized!(self.bfi(width: Width)),
            Op::Bmsk(clamp) => self.bmsk(clamp),
            Op::Szext(clamp, ty) => self.szext(clamp, ty),
            Op::Fns => self.fns(),
            Op::Not(width) => vectorized!(self.not(width: Width)),
            Op::Cnot(width) => self.cnot(width),
            Op::LogicPred(op) => self.logic_pred(op),
            Op::Lop3(table, how) => vectorized!(self.lop3(table: u8, how: Combine)),
            Op::Shf(left, wrap) => self.shf(left, wrap),
            Op::Prmt(mode) => self.prmt(mode),
            Op::Float(op, ty, mods) => {
                vectorized!(self.float_bin(op: FloatBin, ty: FloatTy, mods: FloatMods))
            }
            Op::FloatPair(op, mods) => self.float_pair(op, mods),
            Op::Fma(ty, mods) => vectorized!(self.fma(ty: FloatTy, mods: FloatMods; fused)),
            Op::FloatUn(op, ty, mods) => {
                vectorized!(self.float_un(op: FloatUn, ty: FloatTy, mods: FloatMods))
            }
            Op::FloatMinMax(how, ty) => {
                vectorized!(self.float_min_max(how: FloatMinMax, ty: FloatTy))
            }
            Op::Copysign(ty) => self.copysign(ty),
            Op::Testp(kind, ty) => self.testp(kind, ty),
            Op::Setp(cmp, how, ty, ftz) => self.setp(cmp, how, ty, ftz),
            Op::Set(cmp, how, ty, ftz, dst) => self.set(cmp, how, ty, ftz, dst),
            Op::Selp(width) => vectorized!(self.selp(width: Width)),
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
                vectorized!(self.cvt(cvt: Cvt))
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
            Op::Cluster { op, generic, wide } => self.cluster_op(op, generic, wide),
            Op::Ld(space, ty, cache_op) => {
                vectorized!(self.load(space: MemSpace, ty: MemTy, cache_op: CacheOp))
            }
            Op::St(space, ty, cache_op) => {
                vectorized!(self.store(space: MemSpace, ty: MemTy, cache_op: CacheOp))
            }
            Op::Atom(space, op, ty) => self.atomic(space, op, ty),
            Op::Tex {
                geom,
                lod,
                texel,
                coord,
            } => vectorized!(self.texture(geom: TexGeom, lod: TexLod, texel: TexTy, coord: TexTy)),
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

    /// Reports an effect as the whole result of an operation.
    fn tell(&mut self, effect: Effect) -> Exec {
        self.set_effect(effect);
        Ok(())
    }
}
