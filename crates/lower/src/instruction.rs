//! Selection of the family that lowers a mnemonic. A mnemonic without a family is refused.

use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use crate::{
    arith, asynchronous, bits, cache, cluster, compare, control, convert, data, float, matrix,
    memory, scalar_video, surface, sync, tensor_map, texture, video, warp, warp_group,
};
use warploom_ir::{FloatBin, FloatUn, IntBin, IntUn, Logic, VideoLanes, VideoOp};
use warploom_ptx::ast::Instruction;
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

/// Lowers one instruction under the builder's guard.
pub(crate) fn lower(b: &mut Builder, inst: &Instruction) -> Res<()> {
    let form = &mut Form::new(inst);
    let ty = inst
        .modifiers
        .iter()
        .rev()
        .find_map(|m| m.node.scalar_type());
    let float = ty.is_some_and(ScalarType::is_float);
    let pred = ty == Some(ScalarType::Pred);
    match inst.opcode.node {
        Opcode::Add if float => float::binary(b, form, FloatBin::Add),
        Opcode::Sub if float => float::binary(b, form, FloatBin::Sub),
        Opcode::Mul if float => float::binary(b, form, FloatBin::Mul),
        Opcode::Div if float => float::divide(b, form),
        Opcode::Mad if float => float::fma(b, form, false),
        Opcode::Fma => float::fma(b, form, true),
        Opcode::Abs if float => float::sign(b, form, FloatUn::Abs),
        Opcode::Neg if float => float::sign(b, form, FloatUn::Neg),
        Opcode::Min if float => float::min_max(b, form, false),
        Opcode::Max if float => float::min_max(b, form, true),
        Opcode::Rcp => float::reciprocal(b, form),
        Opcode::Sqrt => float::square_root(b, form),
        Opcode::Rsqrt => float::rsqrt(b, form),
        Opcode::Sin => float::approximate(b, form, FloatUn::SinApprox),
        Opcode::Cos => float::approximate(b, form, FloatUn::CosApprox),
        Opcode::Lg2 => float::approximate(b, form, FloatUn::Lg2Approx),
        Opcode::Ex2 => float::approximate(b, form, FloatUn::Ex2Approx),
        Opcode::Tanh => float::approximate(b, form, FloatUn::TanhApprox),
        Opcode::Testp => float::testp(b, form),
        Opcode::Copysign => float::copysign(b, form),

        Opcode::Add => arith::add_sub(b, form, false, false),
        Opcode::Addc => arith::add_sub(b, form, false, true),
        Opcode::Sub => arith::add_sub(b, form, true, false),
        Opcode::Subc => arith::add_sub(b, form, true, true),
        Opcode::Mul => arith::mul(b, form),
        Opcode::Mad => arith::mad(b, form, false),
        Opcode::Madc => arith::mad(b, form, true),
        Opcode::Mul24 => arith::mul24(b, form, false),
        Opcode::Mad24 => arith::mul24(b, form, true),
        Opcode::Div => arith::binary(b, form, IntBin::Div),
        Opcode::Rem => arith::binary(b, form, IntBin::Rem),
        Opcode::Min => arith::min_max(b, form, false),
        Opcode::Max => arith::min_max(b, form, true),
        Opcode::Abs => arith::unary(b, form, IntUn::Abs),
        Opcode::Neg => arith::unary(b, form, IntUn::Neg),
        Opcode::Sad => arith::sad(b, form),
        Opcode::Dp4a => arith::dot_product(b, form, true),
        Opcode::Dp2a => arith::dot_product(b, form, false),

        Opcode::Popc => bits::count(b, form, IntUn::Popc),
        Opcode::Clz => bits::count(b, form, IntUn::Clz),
        Opcode::Bfind => bits::bfind(b, form),
        Opcode::Brev => bits::brev(b, form),
        Opcode::Bfe => bits::bfe(b, form),
        Opcode::Bfi => bits::bfi(b, form),
        Opcode::Bmsk => bits::mask(b, form, false),
        Opcode::Szext => bits::mask(b, form, true),
        Opcode::Fns => bits::fns(b, form),
        Opcode::And if pred => bits::logic_pred(b, form, Logic::And),
        Opcode::Or if pred => bits::logic_pred(b, form, Logic::Or),
        Opcode::Xor if pred => bits::logic_pred(b, form, Logic::Xor),
        Opcode::Not if pred => bits::not_pred(b, form),
        Opcode::And => bits::logic(b, form, Logic::And),
        Opcode::Or => bits::logic(b, form, Logic::Or),
        Opcode::Xor => bits::logic(b, form, Logic::Xor),
        Opcode::Not => bits::not(b, form),
        Opcode::Cnot => bits::cnot(b, form),
        Opcode::Lop3 => bits::lop3(b, form),
        Opcode::Shl => bits::shift(b, form, true),
        Opcode::Shr => bits::shift(b, form, false),
        Opcode::Shf => bits::funnel_shift(b, form),
        Opcode::Prmt => bits::permute(b, form),

        Opcode::Setp => compare::setp(b, form),
        Opcode::Set => compare::set(b, form),
        Opcode::Selp => compare::selp(b, form),
        Opcode::Slct => compare::slct(b, form),

        Opcode::Mov => data::mov(b, form),
        Opcode::Cvt => convert::cvt(b, form),
        Opcode::Cvta => convert::cvta(b, form),
        Opcode::Isspacep => convert::isspacep(b, form),

        Opcode::Ld | Opcode::Ldu => memory::load(b, form),
        Opcode::St => memory::store(b, form),
        Opcode::Atom => memory::atomic(b, form, true),
        Opcode::Red => memory::atomic(b, form, false),
        Opcode::Suq => texture::txq(b, form),
        Opcode::Suld => surface::load(b, form),
        Opcode::Sust => surface::store(b, form),
        Opcode::Sured => surface::reduce(b, form),
        Opcode::Mma => matrix::product(b, form, false),
        Opcode::Wmma => matrix::wmma(b, form),
        Opcode::Wgmma => warp_group::lower(b, form),
        Opcode::Ldmatrix => matrix::load(b, form),
        Opcode::Stmatrix => matrix::store(b, form),
        Opcode::Movmatrix => matrix::turn(b, form),
        Opcode::Cp => asynchronous::copy(b, form),
        Opcode::Mbarrier => asynchronous::mbarrier(b, form),
        Opcode::Tensormap => tensor_map::lower(b, form),
        Opcode::Prefetch | Opcode::Prefetchu => cache::prefetch(b, form),
        Opcode::Discard | Opcode::Applypriority => cache::hint(b, form),
        Opcode::Createpolicy => cache::create_policy(b, form),

        Opcode::Tex => texture::tex(b, form),
        Opcode::Tld4 => texture::tld4(b, form),
        Opcode::Txq => texture::txq(b, form),

        Opcode::Bra => control::bra(b, form),
        Opcode::Brx => control::brx(b, form),
        Opcode::Call => control::call(b, form),
        Opcode::Ret => control::ret(b, form),
        Opcode::Exit => control::exit(b, form),
        Opcode::Trap => control::trap(b, form),
        Opcode::Brkpt => control::brkpt(b, form),
        Opcode::Alloca => control::alloca(b, form),
        Opcode::Stacksave => control::stack_save(b, form),
        Opcode::Stackrestore => control::stack_restore(b, form),
        Opcode::Nanosleep => control::nanosleep(b, form),
        Opcode::Pmevent => control::no_effect(b, form, &[Modifier::Mask], 1),
        Opcode::Setmaxnreg => control::set_max_registers(b, form),
        Opcode::Griddepcontrol => {
            let modes = [Modifier::Wait, Modifier::LaunchDependents];
            control::no_effect(b, form, &modes, 0)
        }

        Opcode::Mapa => cluster::map(b, form),
        Opcode::Getctarank => cluster::rank(b, form),
        Opcode::Bar | Opcode::Barrier => sync::barrier(b, form),
        Opcode::Membar => sync::membar(b, form),
        Opcode::Fence => sync::fence(b, form),
        Opcode::Vote => warp::vote(b, form),
        Opcode::Match => warp::match_sync(b, form),
        Opcode::Shfl => warp::shfl(b, form),
        Opcode::Activemask => warp::activemask(b, form),
        Opcode::Redux => warp::redux(b, form),
        Opcode::Elect => warp::elect(b, form),

        Opcode::Vadd2 => video::video(b, form, VideoOp::Add, VideoLanes::Two),
        Opcode::Vadd4 => video::video(b, form, VideoOp::Add, VideoLanes::Four),
        Opcode::Vsub2 => video::video(b, form, VideoOp::Sub, VideoLanes::Two),
        Opcode::Vsub4 => video::video(b, form, VideoOp::Sub, VideoLanes::Four),
        Opcode::Vavrg2 => video::video(b, form, VideoOp::Average, VideoLanes::Two),
        Opcode::Vavrg4 => video::video(b, form, VideoOp::Average, VideoLanes::Four),
        Opcode::Vabsdiff2 => video::video(b, form, VideoOp::AbsDiff, VideoLanes::Two),
        Opcode::Vabsdiff4 => video::video(b, form, VideoOp::AbsDiff, VideoLanes::Four),
        Opcode::Vmin2 => video::video(b, form, VideoOp::Min, VideoLanes::Two),
        Opcode::Vmin4 => video::video(b, form, VideoOp::Min, VideoLanes::Four),
        Opcode::Vmax2 => video::video(b, form, VideoOp::Max, VideoLanes::Two),
        Opcode::Vmax4 => video::video(b, form, VideoOp::Max, VideoLanes::Four),
        Opcode::Vadd | Opcode::Vsub | Opcode::Vabsdiff | Opcode::Vmin | Opcode::Vmax => {
            scalar_video::arithmetic(b, form)
        }
        Opcode::Vshl | Opcode::Vshr => scalar_video::shift(b, form),
        Opcode::Vset => scalar_video::set(b, form),
        Opcode::Vmad => scalar_video::mad(b, form),
        Opcode::Vset2 => video::set(b, form, VideoLanes::Two),
        Opcode::Vset4 => video::set(b, form, VideoLanes::Four),

        _ => form.unsupported(),
    }
}
