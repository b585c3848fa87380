//! The events that cost energy, and how a run's counters give their numbers.

use crate::activity::Activity;
use crate::component::Component as C;

/// Event with a fixed energy.
pub struct Event {
    /// Key in energy presets.
    pub key: &'static str,
    /// The component that uses the energy.
    pub component: C,
    /// Description of the event in one sentence.
    pub sentence: &'static str,
    /// Function that gives the number of events.
    pub(crate) count: fn(&Activity<'_>) -> f64,
}

macro_rules! event {
    ($key:literal, $component:ident, $sentence:literal, $count:expr) => {
        Event {
            key: $key,
            component: C::$component,
            sentence: $sentence,
            count: $count,
        }
    };
}

impl Event {
    /// All events, by component.
    pub const ALL: &'static [Self] = &[
        event!("decode", Decode, "Warp instructions decoded.", |a| a
            .count("sm.decoded")),
        event!("schedule", Scheduler, "Warp instructions decoded.", |a| a
            .count("sm.decoded")),
        event!("l1i_hit", L1i, "Fetches that hit.", |a| a
            .hits("l1i", &FETCH)),
        event!("l1i_miss", L1i, "Fetches that miss.", |a| a
            .misses("l1i", &FETCH)),
        event!("l1d_read_hit", L1d, "Reads that hit.", |a| a
            .hits("l1d", &READ)),
        event!("l1d_read_miss", L1d, "Reads that miss.", |a| a
            .misses("l1d", &READ)),
        event!("l1d_write_hit", L1d, "Writes and atomics that hit.", |a| a
            .hits("l1d", &WRITE)),
        event!(
            "l1d_write_miss",
            L1d,
            "Writes and atomics that miss.",
            |a| a.misses("l1d", &WRITE)
        ),
        event!("l1c_hit", L1c, "Accesses that hit.", |a| a
            .hits("l1c", &CONST)),
        event!("l1c_miss", L1c, "Accesses that miss.", |a| a
            .misses("l1c", &CONST)),
        event!("l1t_hit", L1t, "Accesses that hit.", |a| a
            .hits("l1t", &TEXTURE)),
        event!("l1t_miss", L1t, "Accesses that miss.", |a| a
            .misses("l1t", &TEXTURE)),
        event!(
            "shared_access",
            Shared,
            "Cycles of warp accesses, bank conflicts included.",
            |a| { a.count("sm.shared_instructions") + a.count("sm.shared_conflict_cycles") }
        ),
        event!(
            "register_read",
            RegisterFile,
            "Registers read, 32 lanes each.",
            |a| { 32.0 * a.count("sm.register_reads") }
        ),
        event!(
            "register_write",
            RegisterFile,
            "Registers written, 32 lanes each, those of loads by reply.",
            |a| { 32.0 * a.count("sm.register_writes") }
        ),
        event!(
            "other_operand",
            Collectors,
            "Source operands that are no registers, 32 lanes each.",
            |a| 32.0 * a.count("sm.other_operands")
        ),
        event!("int_add", IntUnits, "Lanes.", |a| a.lanes("int_add")),
        event!(
            "int_mul24",
            IntMultiply,
            "Lanes of 24-bit multiplications.",
            |a| a.lanes("int_mul24")
        ),
        event!(
            "int_mul32",
            IntMultiply,
            "Lanes of 32-bit multiplications.",
            |a| a.lanes("int_mul32")
        ),
        event!(
            "int_mul",
            IntMultiply,
            "Lanes of other multiplications.",
            |a| a.lanes("int_mul")
        ),
        event!(
            "int_div",
            IntMultiply,
            "Lanes of divisions and remainders.",
            |a| a.lanes("int_div")
        ),
        event!(
            "fp_add",
            FpUnits,
            "Lanes of additions, comparisons, conversions.",
            |a| a.lanes("fp_add")
        ),
        event!(
            "fp_mul",
            FpMultiply,
            "Lanes of products, fused ones included.",
            |a| a.lanes("fp_mul")
        ),
        event!(
            "fp_div",
            FpMultiply,
            "Lanes of divisions and reciprocals.",
            |a| a.lanes("fp_div")
        ),
        event!(
            "sqrt",
            Special,
            "Lanes of square roots, inverse ones included.",
            |a| a.lanes("sqrt")
        ),
        event!("log", Special, "Lanes of logarithms.", |a| a.lanes("log")),
        event!("sin", Special, "Lanes of sines and cosines.", |a| a
            .lanes("sin")),
        event!("exp", Special, "Lanes of exponentials.", |a| a.lanes("exp")),
        event!(
            "dp_add",
            DpUnits,
            "Lanes of additions, comparisons, conversions.",
            |a| a.lanes("dp_add")
        ),
        event!(
            "dp_mul",
            DpUnits,
            "Lanes of products, fused ones included.",
            |a| a.lanes("dp_mul")
        ),
        event!(
            "dp_div",
            DpUnits,
            "Lanes of divisions and reciprocals.",
            |a| a.lanes("dp_div")
        ),
        event!("tensor", Tensor, "Lanes of matrix products.", |a| a
            .lanes("tensor")),
        event!("texture", Texture, "Lanes of texture reads.", |a| a
            .lanes("texture")),
        event!(
            "pipeline",
            Pipeline,
            "Lanes of instructions that leave the pipeline.",
            |a| { a.pipeline_lanes() }
        ),
        event!(
            "l2_read_hit",
            L2,
            "Reads that hit, or find their line under way.",
            |a| { a.l2_hits(&L2_READ) }
        ),
        event!("l2_read_miss", L2, "Reads that miss.", |a| a
            .l2_misses(&L2_READ)),
        event!(
            "l2_write_hit",
            L2,
            "Writes that hit, or find their line under way.",
            |a| { a.l2_hits(&L2_WRITE) }
        ),
        event!("l2_write_miss", L2, "Writes that miss.", |a| a
            .l2_misses(&L2_WRITE)),
        event!("flit", Network, "Flits that SMs send and receive.", |a| {
            a.count("sm.flits_sent") + a.count("sm.flits_received")
        }),
        event!(
            "controller_read",
            MemoryControllers,
            "Column reads of DRAM.",
            |a| a.dram_reads()
        ),
        event!(
            "controller_write",
            MemoryControllers,
            "Column writes of DRAM.",
            |a| a.dram_writes()
        ),
        event!(
            "coalescer_read_hit",
            MemoryControllers,
            "Reads that hit L1D.",
            |a| { a.hits("l1d", &READ) }
        ),
        event!(
            "coalescer_read_miss",
            MemoryControllers,
            "Reads that miss L1D.",
            |a| { a.misses("l1d", &READ) }
        ),
        event!(
            "coalescer_write_hit",
            MemoryControllers,
            "Writes that hit L1D.",
            |a| { a.hits("l1d", &WRITE) }
        ),
        event!(
            "coalescer_write_miss",
            MemoryControllers,
            "Writes that miss L1D.",
            |a| { a.misses("l1d", &WRITE) }
        ),
        event!("dram_read", Dram, "Column reads.", |a| a.dram_reads()),
        event!("dram_write", Dram, "Column writes.", |a| a.dram_writes()),
        event!(
            "dram_precharge",
            Dram,
            "Rows closed, with their activations.",
            |a| { a.count("dram.precharges") }
        ),
    ];
}

const FETCH: [&str; 1] = ["inst_read"];
const READ: [&str; 2] = ["global_read", "local_read"];
const WRITE: [&str; 3] = ["global_write", "local_write", "global_atomic"];
const CONST: [&str; 1] = ["const_read"];
const TEXTURE: [&str; 1] = ["texture_read"];
const L2_READ: [&str; 5] = [
    "global_read",
    "local_read",
    "const_read",
    "texture_read",
    "inst_read",
];
const L2_WRITE: [&str; 4] = [
    "global_write",
    "local_write",
    "global_atomic",
    "l1_write_back",
];
