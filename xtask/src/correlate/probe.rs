//! Kernels that measure one figure of a GPU. The same text runs on the simulator and on a real GPU.

mod units;

use std::fmt::Write as _;

use units::{Chain, Rate};

/// Number of dependent instructions in a chain.
const LINKS: u32 = 64;
/// Bytes between the cells of a chain that stays in a cache: a line.
const NEAR: u64 = 128;
/// Bytes between the cells of a chain of which each is in another row of DRAM. Not a power of two,
/// so that the cells are in different channels.
const FAR: u64 = (1 << 19) + 4480;
/// Operations of a product of 16 x 8 x 16 halves.
const MMA_OPERATIONS: f64 = 4096.0;
/// Operations of a product of 64 x 256 x 16 halves.
const WGMMA_OPERATIONS: f64 = 2.0 * 64.0 * 256.0 * 16.0;
/// Products of a warp.
const PRODUCTS: u32 = 256;
/// Products of a warp group.
const GROUP_PRODUCTS: u32 = 64;
/// Warps of the block that measures the rate of products.
const PRODUCT_WARPS: u32 = 16;
/// Loads of 16 bytes of each thread that reads DRAM.
const READS: u32 = 8;
/// Threads of a block that reads DRAM.
const READERS: u32 = 256;
/// Blocks that read DRAM, for each SM: as many as run at once on the smallest.
const READER_BLOCKS: u32 = 6;
/// Times that every block reads its part of L2.
const L2_PASSES: u32 = 8;

/// Unit of a probe's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles of one instruction of a chain.
    Cycles,
    /// Operations of one SM in a core cycle.
    Operations,
    /// Bytes of one SM in a core cycle.
    Bytes,
    /// 10^9 bytes of all SMs in a second.
    GigabytesPerSecond,
}

impl Unit {
    /// Name of the unit in tables and data.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Operations => "operations/cycle/SM",
            Self::Bytes => "bytes/cycle/SM",
            Self::GigabytesPerSecond => "GB/s",
        }
    }
}

/// Kernel with one measured figure.
pub struct Probe {
    /// Name of the probe in data and tables.
    pub name: &'static str,
    /// Description in a few words.
    pub about: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    kernel: Kernel,
}

/// Origin of a probe's kernel.
enum Kernel {
    /// A function of the number of SMs.
    Own(fn(sms: u32) -> Job),
    Chain(Chain),
    Rate(Rate),
}

/// Launch of a kernel `k` with the parameters `out` and `data`, both addresses of 64 bits.
pub struct Job {
    /// Text of the module.
    pub ptx: String,
    /// Number of blocks of the launch.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Size of `data` in bytes.
    pub data_bytes: u64,
    /// Cells of `data` that hold addresses of `data`: the offset of the cell and of its target.
    pub cells: Vec<(u64, u64)>,
    /// Numbers of 64 bits that the kernel writes to `out`: for each warp or block the start and the
    /// end of each of its stretches.
    pub results: usize,
    /// Number of stretches that are measured. Of two, the second is longer, and their difference
    /// is the time of `amount`, without the time that reading the clock takes.
    stretches: usize,
    /// Amount that the time stands for.
    amount: f64,
}

impl Job {
    /// Figure that the results give: the amount over the time, or the time over the amount for
    /// cycles.
    pub fn figure(&self, unit: Unit, results: &[u64]) -> Option<f64> {
        let times: Vec<u64> = (0..self.stretches)
            .map(|nth| self.time(nth, results))
            .collect::<Option<_>>()?;
        let time = match times[..] {
            [time] => time,
            [short, long] => long.checked_sub(short)?,
            _ => return None,
        };
        let time = Some(time).filter(|&time| time > 0)? as f64;
        Some(match unit {
            Unit::Cycles => time / self.amount,
            Unit::Operations | Unit::Bytes | Unit::GigabytesPerSecond => self.amount / time,
        })
    }

    /// Time from the first start of a stretch to its last end.
    fn time(&self, nth: usize, results: &[u64]) -> Option<u64> {
        let pairs = results.chunks_exact(2 * self.stretches);
        let starts = pairs.clone().map(|pair| pair[2 * nth]);
        let ends = pairs.map(|pair| pair[2 * nth + 1]);
        ends.max()?.checked_sub(starts.min()?)
    }
}

impl Probe {
    /// Launch that measures a GPU with `sms` SMs.
    pub fn job(&self, sms: u32) -> Job {
        match &self.kernel {
            Kernel::Own(job) => job(sms),
            Kernel::Chain(chain) => chain.job(),
            Kernel::Rate(rate) => rate.job(),
        }
    }
}

/// Finds the probe with a name.
pub fn find(name: &str) -> Option<&'static Probe> {
    all().find(|probe| probe.name == name)
}

/// All probes, in the order of the page.
pub fn all() -> impl Iterator<Item = &'static Probe> {
    PROBES.iter().chain(units::PROBES)
}

const fn latency(name: &'static str, about: &'static str, job: fn(u32) -> Job) -> Probe {
    let unit = Unit::Cycles;
    let kernel = Kernel::Own(job);
    Probe {
        name,
        about,
        unit,
        kernel,
    }
}

/// Probes of memory and of products of matrices.
const PROBES: &[Probe] = &[
    latency("fma-latency", "dependent fma.rn.f32", |_| {
        let link = "fma.rn.f32 %f1, %f1, %f1, %f1;\n";
        chain("mov.f32 %f1, 0f3F000000;\n", [TIE_FLOAT, link, USE_FLOAT])
    }),
    latency(
        "shared-latency",
        "dependent loads from shared memory",
        |_| {
            let setup = "mov.u64 %rd3, s;\nst.shared.u64 [%rd3], %rd3;\n";
            chain(
                setup,
                [TIE_POINTER, "ld.shared.u64 %rd3, [%rd3];\n", USE_POINTER],
            )
        },
    ),
    latency("l1d-latency", "dependent loads that hit L1D", |_| {
        pointers("ca", NEAR, true)
    }),
    latency("l2-latency", "dependent loads past L1D that hit L2", |_| {
        pointers("cg", NEAR, true)
    }),
    latency("dram-latency", "dependent loads that miss L2", |_| {
        pointers("cg", FAR, false)
    }),
    latency("mma-latency", "dependent mma.m16n8k16 of halves", |_| {
        let link = mma(["%f1", "%f2", "%f3", "%f4"]);
        chain("", [&zeros(8), &link, USE_FLOAT])
    }),
    Probe {
        name: "mma-rate",
        about: "independent mma.m16n8k16 of halves, sums of 32 bits",
        unit: Unit::Operations,
        kernel: Kernel::Own(|_| mma_rate()),
    },
    Probe {
        name: "wgmma-rate",
        about: "wgmma.m64n256k16 of halves, one after the other",
        unit: Unit::Operations,
        kernel: Kernel::Own(|_| wgmma_rate()),
    },
    Probe {
        name: "dram-read",
        about: "all SMs read memory that no cache has",
        unit: Unit::GigabytesPerSecond,
        kernel: Kernel::Own(dram_read),
    },
    Probe {
        name: "l2-read",
        about: "all SMs read memory that L2 has",
        unit: Unit::GigabytesPerSecond,
        kernel: Kernel::Own(l2_read),
    },
    Probe {
        name: "dram-write",
        about: "all SMs write memory",
        unit: Unit::GigabytesPerSecond,
        kernel: Kernel::Own(dram_write),
    },
];

/// Bytes of the data of kernels that need little.
const DATA_BYTES: u64 = 64 << 10;
/// Statements that make the first pointer, float or integer of a chain depend on the start.
const TIE_POINTER: &str = "add.u64 %rd3, %rd3, %rd12;\n";
const TIE_FLOAT: &str = "add.f32 %f1, %f1, %f150;\n";
const TIE_INTEGER: &str = "add.u32 %r10, %r10, %r30;\n";
/// Statements that use the last one.
const USE_FLOAT: &str = "st.global.f32 [%rd2+32], %f1;\n";
const USE_INTEGER: &str = "st.global.u32 [%rd2+32], %r10;\n";
const USE_POINTER: &str = "st.global.u64 [%rd1], %rd3;\n";

/// Text of a module. Registers `%rd1` and `%rd2` hold the parameters.
fn module(target: &str, threads: u32, body: &str) -> String {
    format!(
        ".version 8.6\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 data) .maxntid {threads} {{\n\
         .reg .pred %p<4>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<160>;\n\
         .reg .f64 %d<8>; .shared .align 128 .b8 s[32768];\n\
         ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [data];\n{body}ret;\n}}\n"
    )
}

/// Statements that measure two stretches of work, one after the other, in several passes over the
/// code, of which the last counts. Registers `%rd10` and `%rd11` receive the first one's start and
/// end, `%rd13` and `%rd14` the second one's.
///
/// An assembler moves arithmetic past readings of the clock. Work therefore begins with `%rd12`,
/// `%r30` and `%f150`, which are zeros computed from the clock, and ends with a store: a barrier
/// between it and the next reading waits for it.
fn stretches(start: &str, [short, long]: &[String; 2], passes: u32) -> String {
    let stretch = |work: &str, [from, to]: [&str; 2]| {
        format!(
            "bar.sync 0;\nmov.u64 {from}, %clock64;\nshr.u64 %rd12, {from}, 63;\n\
             cvt.u32.u64 %r30, %rd12;\ncvt.rn.f32.u32 %f150, %r30;\n{work}bar.sync 0;\n\
             mov.u64 {to}, %clock64;\n"
        )
    };
    let short = stretch(short, ["%rd10", "%rd11"]);
    let long = stretch(long, ["%rd13", "%rd14"]);
    format!(
        "mov.u32 %r31, 0;\nAGAIN:\n{start}{short}{long}add.u32 %r31, %r31, 1;\n\
         setp.lt.u32 %p1, %r31, {passes};\n@%p1 bra AGAIN;\n\
         st.global.u64 [%rd1], %rd10;\nst.global.u64 [%rd1+8], %rd11;\n\
         st.global.u64 [%rd1+16], %rd13;\nst.global.u64 [%rd1+24], %rd14;\n"
    )
}

/// Kernel of one warp with two chains of `link`, the second of twice the length. `tie` makes the
/// first link depend on the start, and `last` uses the result of the last link.
fn timed(start: &str, [tie, link, last]: [&str; 3], passes: u32) -> Job {
    let chain = |links: u32| format!("{tie}{}{last}", link.repeat(links as usize));
    let body = stretches(start, &[LINKS, 2 * LINKS].map(chain), passes);
    Job {
        ptx: module("sm_80", 32, &body),
        blocks: 1,
        threads: 32,
        data_bytes: DATA_BYTES,
        cells: Vec::new(),
        results: 4,
        stretches: 2,
        amount: f64::from(LINKS),
    }
}

fn chain(start: &str, parts: [&str; 3]) -> Job {
    timed(start, parts, 2)
}

/// Chain of loads that follow the addresses in memory, `step` bytes apart. A `warm` one is measured
/// in a second pass.
fn pointers(cache: &str, step: u64, warm: bool) -> Job {
    let link = format!("ld.global.{cache}.u64 %rd3, [%rd3];\n");
    let count = 3 * u64::from(LINKS);
    let parts = [TIE_POINTER, &link, USE_POINTER];
    Job {
        data_bytes: step * (count + 1),
        cells: (0..count)
            .map(|cell| (cell * step, (cell + 1) % count * step))
            .collect(),
        ..timed("mov.u64 %rd3, %rd2;\n", parts, 1 + u32::from(warm))
    }
}

/// Statements that set `count` registers of floats and the multiplicands to the zeros of a stretch.
fn zeros(count: u32) -> String {
    let floats = (1..=count).map(|nth| format!("mov.f32 %f{nth}, %f150;\n"));
    let words = (20..26).map(|nth| format!("mov.u32 %r{nth}, %r30;\n"));
    floats.chain(words).collect()
}

/// Product of 16 x 8 x 16 halves that adds to four sums.
fn mma(sums: [&str; 4]) -> String {
    let sums = sums.join(", ");
    format!(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{sums}}}, {{%r20, %r21, %r22, %r23}}, \
         {{%r24, %r25}}, {{{sums}}};\n"
    )
}

/// Kernel of several warps, each of which does a short and a long stretch of work.
fn by_warps(target: &str, warps: u32, work: &[String; 2], amount: f64) -> Job {
    let body = format!(
        "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nmul.wide.u32 %rd4, %r2, 32;\n\
         add.u64 %rd1, %rd1, %rd4;\n{}",
        stretches("", work, 2)
    );
    Job {
        ptx: module(target, 32 * warps, &body),
        blocks: 1,
        threads: 32 * warps,
        data_bytes: DATA_BYTES,
        cells: Vec::new(),
        results: 4 * warps as usize,
        stretches: 2,
        amount,
    }
}

fn mma_rate() -> Job {
    const SETS: u32 = 8;
    let work = |products: u32| {
        let mut work = zeros(4 * SETS);
        for nth in 0..products {
            let names = [1, 2, 3, 4].map(|one| format!("%f{}", nth % SETS * 4 + one));
            work += &mma([0, 1, 2, 3].map(|one| names[one].as_str()));
        }
        for set in 0..SETS {
            let _ = writeln!(work, "st.global.f32 [%rd2], %f{};", set * 4 + 1);
        }
        work
    };
    let operations = f64::from(PRODUCT_WARPS * PRODUCTS) * MMA_OPERATIONS;
    let work = [PRODUCTS, 2 * PRODUCTS].map(work);
    by_warps("sm_80", PRODUCT_WARPS, &work, operations)
}

fn wgmma_rate() -> Job {
    let sums: Vec<String> = (1..=128).map(|nth| format!("%f{nth}")).collect();
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{{}}}, %rd6, %rd6, 1, 1, 1, 0, 0;\n",
        sums.join(", ")
    );
    let work = |products: u32| {
        format!(
            "mov.u64 %rd6, 0;\n{}wgmma.fence.sync.aligned;\n{}\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             st.global.f32 [%rd2], %f1;\n",
            zeros(128),
            product.repeat(products as usize)
        )
    };
    let operations = f64::from(GROUP_PRODUCTS) * WGMMA_OPERATIONS;
    let work = [GROUP_PRODUCTS, 2 * GROUP_PRODUCTS].map(work);
    by_warps("sm_90a", 4, &work, operations)
}

/// Kernel in which every thread of all SMs reads `READS` times 16 bytes that nobody read before.
fn dram_read(sms: u32) -> Job {
    by_blocks(sms, 1, &reads())
}

fn l2_read(sms: u32) -> Job {
    by_blocks(sms, L2_PASSES, &reads())
}

fn dram_write(sms: u32) -> Job {
    let write = |nth: u32| {
        let at = u64::from(nth) * SLICE;
        format!("st.global.v4.u32 [%rd6+{at}], {{%r1, %r1, %r2, %r2}};\n")
    };
    by_blocks(sms, 1, &(0..READS).map(write).collect::<String>())
}

/// Bytes that the threads of a block read in one instruction.
const SLICE: u64 = 16 * READERS as u64;

/// Loads of a thread, and statements that use what they loaded.
fn reads() -> String {
    let mut work = String::new();
    for read in 0..READS {
        let (at, first) = (u64::from(read) * SLICE, 8 + 4 * read);
        let _ = writeln!(
            work,
            "ld.global.cg.v4.u32 {{%r{first}, %r{}, %r{}, %r{}}}, [%rd6+{at}];",
            first + 1,
            first + 2,
            first + 3
        );
    }
    for read in 0..READS {
        let _ = writeln!(work, "add.u32 %r1, %r1, %r{};", 8 + 4 * read);
    }
    work
}

/// Kernel in which the blocks of all SMs do `work` with their parts of the data. Of several passes
/// all count but the first.
fn by_blocks(sms: u32, passes: u32, work: &str) -> Job {
    let blocks = sms * READER_BLOCKS;
    let part = SLICE * u64::from(READS);
    let body = format!(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd4, %r2, 16;\n\
         add.u64 %rd5, %rd1, %rd4;\nmul.wide.u32 %rd6, %r2, {part};\nmul.wide.u32 %rd7, %r1, 16;\n\
         add.u64 %rd6, %rd6, %rd7;\nadd.u64 %rd6, %rd6, %rd2;\nmov.u32 %r3, 0;\n\
         mov.u64 %rd10, %globaltimer;\nAGAIN:\n{work}bar.sync 0;\nadd.u32 %r3, %r3, 1;\n\
         setp.eq.u32 %p2, %r3, 1;\nsetp.lt.u32 %p3, %r3, {passes};\nand.pred %p2, %p2, %p3;\n\
         @%p2 mov.u64 %rd10, %globaltimer;\n@%p3 bra AGAIN;\n\
         setp.eq.u32 %p1, %r1, 0xFFFFFFFF;\n@%p1 st.global.u32 [%rd2], %r1;\nbar.sync 0;\n\
         mov.u64 %rd11, %globaltimer;\nst.global.u64 [%rd5], %rd10;\n\
         st.global.u64 [%rd5+8], %rd11;\n"
    );
    let data_bytes = u64::from(blocks) * part;
    Job {
        ptx: module("sm_80", READERS, &body),
        blocks,
        threads: READERS,
        data_bytes,
        cells: Vec::new(),
        results: 2 * blocks as usize,
        stretches: 1,
        amount: data_bytes as f64 * f64::from(passes.saturating_sub(1).max(1)),
    }
}
