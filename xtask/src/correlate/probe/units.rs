//! Probes of execution units, of shared memory and of L1D in one SM.

use super::{
    Job, Kernel, Probe, TIE_FLOAT, TIE_INTEGER, USE_FLOAT, USE_INTEGER, Unit, by_warps, timed,
};

/// Warps of the block that measures a rate.
const WARPS: u32 = 16;
/// Instructions of a warp that measures a rate.
const COUNT: u32 = 256;
/// Instructions before their results are used.
const GROUP: u32 = 16;
/// Registers of an instruction's own, and the first of them.
const SLOTS: u32 = 4;
const FIRST: u32 = 8;
/// Lanes of a warp.
const LANES: f64 = 32.0;

/// Chain of dependent instructions, of which the latency is measured.
pub(super) struct Chain {
    /// Statements before the chain.
    start: &'static str,
    /// Statement that makes the first link depend on the start of the clock.
    tie: &'static str,
    /// Statements of a link, of which each depends on the one before.
    link: &'static str,
    /// Statement that uses the last result.
    last: &'static str,
}

/// Independent instructions of several warps, of which the rate is measured.
pub(super) struct Rate {
    /// Statements before the instructions.
    start: &'static str,
    /// Statements of each instruction in turn. `AT` stands for a multiple of `step`, `#0` to `#3`
    /// for the numbers of registers of this instruction's own.
    links: &'static [&'static str],
    /// Statements that use the result of an instruction.
    uses: &'static str,
    /// Bytes between two instructions' addresses.
    step: u32,
    /// Statements that use the results.
    last: &'static str,
    /// Operations or bytes of an instruction.
    amount: f64,
}

impl Chain {
    pub(super) fn job(&self) -> Job {
        let instructions = self.link.matches(';').count();
        let job = timed(self.start, [self.tie, self.link, self.last], 2);
        Job {
            amount: job.amount * instructions as f64,
            ..job
        }
    }
}

impl Rate {
    pub(super) fn job(&self) -> Job {
        let amount = f64::from(WARPS * COUNT) * self.amount;
        let work = [COUNT, 2 * COUNT].map(|count| self.work(count));
        by_warps("sm_80", WARPS, &work, amount)
    }

    /// Instructions in groups, each followed by the statements that use its results.
    fn work(&self, count: u32) -> String {
        let mut work = format!("{}\n", self.start);
        let numbered = |text: &str, nth: u32| {
            let register = |slot: u32| (FIRST + nth % GROUP * SLOTS + slot).to_string();
            let text = text.replace("AT", &(nth * self.step).to_string());
            ["#0", "#1", "#2", "#3"]
                .iter()
                .zip(0..)
                .fold(text, |text, (mark, slot)| {
                    text.replace(mark, &register(slot))
                })
                + "\n"
        };
        for first in (0..count).step_by(GROUP as usize) {
            let group = first..first + GROUP;
            let link = |nth: u32| self.links[nth as usize % self.links.len()];
            work.extend(group.clone().map(|nth| numbered(link(nth), nth)));
            work.extend(group.map(|nth| numbered(self.uses, nth)));
        }
        work + self.last + "\n"
    }
}

const fn chain(
    name: &'static str,
    about: &'static str,
    start: &'static str,
    [tie, link, last]: [&'static str; 3],
) -> Probe {
    let kernel = Kernel::Chain(Chain {
        start,
        tie,
        link,
        last,
    });
    Probe {
        name,
        about,
        unit: Unit::Cycles,
        kernel,
    }
}

const fn operations(
    name: &'static str,
    about: &'static str,
    start: &'static str,
    links: &'static [&'static str],
    last: &'static str,
) -> Probe {
    let (step, amount) = (0, LANES);
    Probe {
        name,
        about,
        unit: Unit::Operations,
        kernel: Kernel::Rate(Rate {
            start,
            links,
            uses: "",
            step,
            last,
            amount,
        }),
    }
}

const fn bytes(
    name: &'static str,
    about: &'static str,
    start: &'static str,
    links: &'static [&'static str],
    uses: &'static str,
    step: u32,
    lane_bytes: u32,
) -> Probe {
    Probe {
        name,
        about,
        unit: Unit::Bytes,
        kernel: Kernel::Rate(Rate {
            start,
            links,
            uses,
            step,
            last: USE_FLOATS,
            amount: LANES * lane_bytes as f64,
        }),
    }
}

/// Four floats, four integers or four doubles that differ, from the zeros of a stretch and from the
/// number of the thread.
const FLOATS: &str = "cvt.rn.f32.u32 %f1, %r1;\nadd.f32 %f1, %f1, %f150;\n\
                      add.f32 %f2, %f1, 0f3F800000;\nadd.f32 %f3, %f2, 0f3F800000;\n\
                      add.f32 %f4, %f3, 0f3F800000;\nadd.f32 %f5, %f4, 0f3F800000;";
const INTEGERS: &str = "add.u32 %r10, %r1, %r30;\nadd.u32 %r11, %r10, 1;\n\
                        add.u32 %r12, %r10, 2;\nadd.u32 %r13, %r10, 3;\nadd.u32 %r4, %r10, 4;";
const DOUBLES: &str = "add.u32 %r10, %r1, %r30;\ncvt.rn.f64.u32 %d1, %r10;\n\
                       add.f64 %d2, %d1, %d1;\nadd.f64 %d3, %d2, %d1;\nadd.f64 %d4, %d3, %d1;";
const USE_FLOATS: &str = "add.f32 %f1, %f1, %f2;\nadd.f32 %f3, %f3, %f4;\nadd.f32 %f1, %f1, %f3;\n\
                          st.global.f32 [%rd2], %f1;";
const USE_INTEGERS: &str = "xor.b32 %r10, %r10, %r11;\nxor.b32 %r12, %r12, %r13;\n\
                            xor.b32 %r10, %r10, %r12;\nst.global.u32 [%rd2], %r10;";
const USE_DOUBLES: &str = "add.f64 %d1, %d1, %d2;\nadd.f64 %d3, %d3, %d4;\n\
                           add.f64 %d1, %d1, %d3;\nst.global.f64 [%rd2], %d1;";
/// Addresses in shared and in global memory: `%rd8` one word after the other, `%rd9` one line after
/// the other, `%rd16` one vector of four words after the other.
const SHARED: &str = "mov.f32 %f1, %f150;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\n\
                      mov.f32 %f4, %f1;\nmov.u64 %rd3, s;\nadd.u64 %rd3, %rd3, %rd12;\n\
                      mov.u32 %r4, %laneid;\nmul.wide.u32 %rd8, %r4, 4;\n\
                      add.u64 %rd8, %rd3, %rd8;";
const GLOBAL: &str = "mov.f32 %f1, %f150;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\n\
                      mov.f32 %f4, %f1;\nadd.u64 %rd3, %rd2, %rd12;\n\
                      mov.u32 %r4, %laneid;\nmul.wide.u32 %rd8, %r4, 4;\n\
                      add.u64 %rd8, %rd3, %rd8;\nmul.wide.u32 %rd9, %r4, 128;\n\
                      add.u64 %rd9, %rd3, %rd9;\nmul.wide.u32 %rd16, %r4, 16;\n\
                      add.u64 %rd16, %rd3, %rd16;";

/// Probes of one SM.
pub(super) const PROBES: &[Probe] = &[
    chain(
        "add-latency",
        "dependent add.s32",
        "mov.u32 %r10, %laneid;\nmov.u32 %r11, %clock;\n",
        [
            TIE_INTEGER,
            "add.s32 %r10, %r10, %r11;\nadd.s32 %r11, %r11, %r10;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "mad-latency",
        "dependent mad.lo.s32",
        "mov.u32 %r10, %laneid;\nmov.u32 %r11, %clock;\n",
        [
            TIE_INTEGER,
            "mad.lo.s32 %r10, %r10, %r11, %r10;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "shift-latency",
        "dependent shf.l.wrap.b32",
        "mov.u32 %r10, %laneid;\nmov.u32 %r11, %clock;\n",
        [
            TIE_INTEGER,
            "shf.l.wrap.b32 %r10, %r10, %r11, %r10;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "f64-latency",
        "dependent fma.rn.f64",
        "mov.u32 %r10, %clock;\ncvt.rn.f64.u32 %d1, %r10;\n",
        [
            "cvt.f64.f32 %d5, %f150;\nadd.f64 %d1, %d1, %d5;\n",
            "fma.rn.f64 %d1, %d1, %d1, %d1;\n",
            "st.global.f64 [%rd2+32], %d1;\n",
        ],
    ),
    chain(
        "ex2-latency",
        "dependent ex2.approx.ftz.f32",
        "mov.f32 %f1, 0f3F000000;\n",
        [TIE_FLOAT, "ex2.approx.ftz.f32 %f1, %f1;\n", USE_FLOAT],
    ),
    chain(
        "div-latency",
        "dependent div.rn.f32",
        "mov.u32 %r10, %laneid;\ncvt.rn.f32.u32 %f2, %r10;\n\
         fma.rn.f32 %f2, %f2, 0f38000000, 0f3F800000;\n\
         mov.f32 %f1, %f2;\n",
        [TIE_FLOAT, "div.rn.f32 %f1, %f1, %f2;\n", USE_FLOAT],
    ),
    chain(
        "sqrt-latency",
        "dependent sqrt.rn.f32",
        "mov.f32 %f1, 0f42280000;\n",
        [TIE_FLOAT, "sqrt.rn.f32 %f1, %f1;\n", USE_FLOAT],
    ),
    chain(
        "int-div-latency",
        "dependent div.s32",
        "mov.u32 %r10, 0x7FFFFFFF;\nmov.u32 %r4, %clock;\nand.b32 %r4, %r4, 1;\n\
         add.u32 %r4, %r4, 1;\n",
        [TIE_INTEGER, "div.s32 %r10, %r10, %r4;\n", USE_INTEGER],
    ),
    chain(
        "shfl-latency",
        "dependent shfl.sync.idx.b32",
        "mov.u32 %r10, %laneid;\n",
        [
            TIE_INTEGER,
            "shfl.sync.idx.b32 %r10, %r10, %r10, 31, -1;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "shared-atomic-latency",
        "dependent atom.shared.add.u32 of a lane's own word",
        "mov.u32 %r4, %laneid;\nmov.u32 %r10, 0;\nmul.lo.u32 %r5, %r4, 4;\nmov.u32 %r6, s;\n\
         add.u32 %r6, %r6, %r5;\nst.shared.u32 [%r6], %r10;\n",
        [
            TIE_INTEGER,
            "atom.shared.add.u32 %r10, [%r6], %r10;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "shared-atomic-turns",
        "dependent atom.shared.add.u32 of all lanes to one word",
        "mov.u32 %r10, 0;\nmov.u32 %r6, s;\nst.shared.u32 [%r6], %r10;\n",
        [
            TIE_INTEGER,
            "atom.shared.add.u32 %r10, [%r6], %r10;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "global-atomic-latency",
        "dependent atom.global.add.u32 of a lane's own word",
        "mov.u32 %r4, %laneid;\nmov.u32 %r10, 0;\nmul.wide.u32 %rd8, %r4, 4;\n\
         add.u64 %rd8, %rd2, %rd8;\n",
        [
            TIE_INTEGER,
            "atom.global.add.u32 %r10, [%rd8], %r10;\n",
            USE_INTEGER,
        ],
    ),
    chain(
        "global-atomic-turns",
        "dependent atom.global.add.u32 of all lanes to one word",
        "mov.u32 %r10, 0;\n",
        [
            TIE_INTEGER,
            "atom.global.add.u32 %r10, [%rd2], %r10;\n",
            USE_INTEGER,
        ],
    ),
    operations(
        "fma-rate",
        "independent fma.rn.f32",
        FLOATS,
        &[
            "fma.rn.f32 %f1, %f1, %f5, %f1;",
            "fma.rn.f32 %f2, %f2, %f5, %f2;",
            "fma.rn.f32 %f3, %f3, %f5, %f3;",
            "fma.rn.f32 %f4, %f4, %f5, %f4;",
        ],
        USE_FLOATS,
    ),
    operations(
        "add-rate",
        "independent add.s32",
        INTEGERS,
        &[
            "add.s32 %r10, %r10, %r11;",
            "add.s32 %r11, %r11, %r12;",
            "add.s32 %r12, %r12, %r13;",
            "add.s32 %r13, %r13, %r10;",
        ],
        USE_INTEGERS,
    ),
    operations(
        "mad-rate",
        "independent mad.lo.s32",
        INTEGERS,
        &[
            "mad.lo.s32 %r10, %r10, %r4, %r10;",
            "mad.lo.s32 %r11, %r11, %r4, %r11;",
            "mad.lo.s32 %r12, %r12, %r4, %r12;",
            "mad.lo.s32 %r13, %r13, %r4, %r13;",
        ],
        USE_INTEGERS,
    ),
    operations(
        "f64-rate",
        "independent fma.rn.f64",
        DOUBLES,
        &[
            "fma.rn.f64 %d1, %d1, %d1, %d1;",
            "fma.rn.f64 %d2, %d2, %d2, %d2;",
            "fma.rn.f64 %d3, %d3, %d3, %d3;",
            "fma.rn.f64 %d4, %d4, %d4, %d4;",
        ],
        USE_DOUBLES,
    ),
    operations(
        "ex2-rate",
        "independent ex2.approx.ftz.f32",
        FLOATS,
        &[
            "ex2.approx.ftz.f32 %f1, %f1;",
            "ex2.approx.ftz.f32 %f2, %f2;",
            "ex2.approx.ftz.f32 %f3, %f3;",
            "ex2.approx.ftz.f32 %f4, %f4;",
        ],
        USE_FLOATS,
    ),
    operations(
        "div-rate",
        "independent div.rn.f32",
        FLOATS,
        &[
            "div.rn.f32 %f1, %f1, %f5;",
            "div.rn.f32 %f2, %f2, %f5;",
            "div.rn.f32 %f3, %f3, %f5;",
            "div.rn.f32 %f4, %f4, %f5;",
        ],
        USE_FLOATS,
    ),
    operations(
        "sqrt-rate",
        "independent sqrt.rn.f32",
        FLOATS,
        &[
            "sqrt.rn.f32 %f1, %f1;",
            "sqrt.rn.f32 %f2, %f2;",
            "sqrt.rn.f32 %f3, %f3;",
            "sqrt.rn.f32 %f4, %f4;",
        ],
        USE_FLOATS,
    ),
    operations(
        "int-div-rate",
        "independent div.s32",
        INTEGERS,
        &[
            "div.s32 %r10, %r10, %r4;",
            "div.s32 %r11, %r11, %r4;",
            "div.s32 %r12, %r12, %r4;",
            "div.s32 %r13, %r13, %r4;",
        ],
        USE_INTEGERS,
    ),
    operations(
        "min-rate",
        "independent min.s32",
        INTEGERS,
        &[
            "min.s32 %r10, %r10, %r11;",
            "min.s32 %r11, %r11, %r12;",
            "min.s32 %r12, %r12, %r13;",
            "min.s32 %r13, %r13, %r10;",
        ],
        USE_INTEGERS,
    ),
    operations(
        "shift-rate",
        "independent shf.l.wrap.b32",
        INTEGERS,
        &[
            "shf.l.wrap.b32 %r10, %r10, %r11, %r4;",
            "shf.l.wrap.b32 %r11, %r11, %r12, %r4;",
            "shf.l.wrap.b32 %r12, %r12, %r13, %r4;",
            "shf.l.wrap.b32 %r13, %r13, %r10, %r4;",
        ],
        USE_INTEGERS,
    ),
    operations(
        "logic-rate",
        "independent lop3.b32",
        INTEGERS,
        &[
            "lop3.b32 %r10, %r10, %r11, %r4, 0x96;",
            "lop3.b32 %r11, %r11, %r12, %r4, 0x96;",
            "lop3.b32 %r12, %r12, %r13, %r4, 0x96;",
            "lop3.b32 %r13, %r13, %r10, %r4, 0x96;",
        ],
        USE_INTEGERS,
    ),
    operations(
        "shfl-rate",
        "independent shfl.sync.idx.b32",
        INTEGERS,
        &[
            "shfl.sync.idx.b32 %r10, %r10, %r11, 31, -1;",
            "shfl.sync.idx.b32 %r11, %r11, %r12, 31, -1;",
            "shfl.sync.idx.b32 %r12, %r12, %r13, 31, -1;",
            "shfl.sync.idx.b32 %r13, %r13, %r10, 31, -1;",
        ],
        USE_INTEGERS,
    ),
    bytes(
        "shared-read",
        "ld.shared.f32, one bank a lane",
        SHARED,
        &["ld.shared.f32 %f#0, [%rd8+AT];"],
        "add.f32 %f1, %f1, %f#0;",
        60,
        4,
    ),
    bytes(
        "l1d-read",
        "ld.global.ca.f32 that hits L1D, one line a warp",
        GLOBAL,
        &["ld.global.ca.f32 %f#0, [%rd8+AT];"],
        "add.f32 %f1, %f1, %f#0;",
        128,
        4,
    ),
    bytes(
        "l1d-read-wide",
        "ld.global.ca.v4.f32 that hits L1D, four lines a warp",
        GLOBAL,
        &["ld.global.ca.v4.f32 {%f#0, %f#1, %f#2, %f#3}, [%rd16+AT];"],
        "add.f32 %f1, %f1, %f#0;\nadd.f32 %f2, %f2, %f#1;\nadd.f32 %f3, %f3, %f#2;\n\
         add.f32 %f4, %f4, %f#3;",
        112,
        16,
    ),
    bytes(
        "l1d-read-apart",
        "ld.global.ca.f32 that hits L1D, one line a lane",
        GLOBAL,
        &["ld.global.ca.f32 %f#0, [%rd9+AT];"],
        "add.f32 %f1, %f1, %f#0;",
        4,
        4,
    ),
];
