//! Executable form of PTX. A [`Program`] is one kernel with every function that it calls, flattened
//! into one array of [`Inst`]: names are resolved, modifiers are typed operations, registers have
//! slots in a warp's register file. The crate `lower` makes programs from the syntax tree; the
//! analyses that it needs are here.
//!
//! Invariants: the crate knows neither syntax nor time. A program is immutable. The registers of
//! every function have static slots, and so has its frame; exceptions are functions that may be
//! called again before they return or that allocate on the stack ([`Frame`]). Facts (reconvergence
//! points, liveness, operand lists) are stored next to the code, indexed by
//! [`Pc`](warploom_base::Pc).

mod asynchronous;
pub mod cfg;
pub mod contexts;
mod convert;
mod dataflow;
mod ends;
pub mod facts;
mod inst;
mod listing;
pub mod liveness;
mod machine_code;
pub mod matrix;
mod op;
mod operands;
mod pending;
pub mod pressure;
mod program;
mod scalar_video;
pub mod slots;
mod surface;
pub mod tensor_map;
mod unit;
mod video;
pub mod warp_group;

pub use asynchronous::{AsyncKind, BulkAct, CopyWait, MbarrierOp};
pub use contexts::UNIT_BYTES;
pub use convert::{CvtRound, Float8, IntTyNarrow};
pub use facts::class;
pub use inst::{Dst, Extra, Guard, Inst, Pred, Reg, SpecialReg, Src};
pub use machine_code::{contains_branch, machine_instructions};
pub use op::*;
pub use operands::{Code, Var, var_of_dst, var_of_src};
pub use program::*;
pub use scalar_video::{Addend, Part, ScalarVideo, ScalarVideoOp, Second, VideoMad};
pub use surface::{SurfAct, SurfEdge};
pub use unit::{Unit, other_operands, unit};
pub use video::{Video, VideoLanes, VideoOp, VideoParts};
