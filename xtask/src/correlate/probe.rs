//! Kernels that measure one figure of a GPU. The same text runs on the simulator and on a real GPU.

use std::fmt::Write as _;

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

/// Unit of a probe's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core cycles of one instruction of a chain.
    Cycles,
    /// Operations of one SM in a core cycle.
    Operations,
    /// 10^9 bytes of all SMs in a second.
    GigabytesPerSecond,
}

impl Unit {
    /// Name of the unit in tables and data.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Operations => "operations/cycle/SM",
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
    job: fn(sms: u32) -> Job,
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
    /// Numbers of 64 bits that the kernel writes to `out`: a start and an end, one pair after the
    /// other.
    pub results: usize,
    /// Amount that all pairs together stand for.
    amount: f64,
}

impl Job {
    /// Figure that the results give: the amount over the time, or the time over the amount for
    /// cycles.
    pub fn figure(&self, unit: Unit, results: &[u64]) -> Option<f64> {
        let starts = results.iter().step_by(2).min()?;
        let ends = results.iter().skip(1).step_by(2).max()?;
        let time = ends.checked_sub(*starts).filter(|&time| time > 0)? as f64;
        Some(match unit {
            Unit::Cycles => time / self.amount,
            Unit::Operations | Unit::GigabytesPerSecond => self.amount / time,
        })
    }
}

impl Probe {
    /// Launch that measures a GPU with `sms` SMs.
    pub fn job(&self, sms: u32) -> Job {
        (self.job)(sms)
    }
}

/// Finds the probe with a name.
pub fn find(name: &str) -> Option<&'static Probe> {
    PROBES.iter().find(|probe| probe.name == name)
}

const fn latency(name: &'static str, about: &'static str, job: fn(u32) -> Job) -> Probe {
    let unit = Unit::Cycles;
    Probe {
        name,
        about,
        unit,
        job,
    }
}

/// All probes, in the order of the page.
pub const PROBES: &[Probe] = &[
    latency("fma-latency", "dependent fma.rn.f32", |_| {
        let link = "fma.rn.f32 %f1, %f1, %f1, %f1;\n";
        chain(
            "mov.f32 %f1, 0f3F000000;\n",
            link,
            "st.global.f32 [%rd1], %f1;\n",
        )
    }),
    latency(
        "shared-latency",
        "dependent loads from shared memory",
        |_| {
            let setup = "mov.u64 %rd3, s;\nst.shared.u64 [%rd3], %rd3;\n";
            chain(setup, "ld.shared.u64 %rd3, [%rd3];\n", USE_POINTER)
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
        chain(&zeros(8), &link, "st.global.f32 [%rd1], %f1;\n")
    }),
    Probe {
        name: "mma-rate",
        about: "independent mma.m16n8k16 of halves, sums of 32 bits",
        unit: Unit::Operations,
        job: |_| mma_rate(),
    },
    Probe {
        name: "wgmma-rate",
        about: "wgmma.m64n256k16 of halves, one after the other",
        unit: Unit::Operations,
        job: |_| wgmma_rate(),
    },
    Probe {
        name: "dram-read",
        about: "all SMs read memory that no cache has",
        unit: Unit::GigabytesPerSecond,
        job: dram_read,
    },
];

/// Statement that uses the last pointer of a chain.
const USE_POINTER: &str = "st.global.u64 [%rd1], %rd3;\n";

/// Text of a module. Registers `%rd1` and `%rd2` hold the parameters.
fn module(target: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 data) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<160>;\n\
         .shared .align 128 .b8 s[1024];\n\
         ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [data];\n{body}ret;\n}}\n"
    )
}

/// Kernel of one warp that reads the clock before and after `LINKS` times `link`. `last` uses the
/// result of the last link. Of several passes over the code, which `start` begins, the last counts.
fn timed(start: &str, link: &str, last: &str, passes: u32) -> Job {
    let links = link.repeat(LINKS as usize);
    let body = format!(
        "mov.u32 %r1, 0;\nAGAIN:\n{start}bar.sync 0;\nmov.u64 %rd10, %clock64;\n{links}{last}\
         mov.u64 %rd11, %clock64;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, {passes};\n\
         @%p1 bra AGAIN;\nst.global.u64 [%rd1], %rd10;\nst.global.u64 [%rd1+8], %rd11;\n"
    );
    Job {
        ptx: module("sm_80", &body),
        blocks: 1,
        threads: 32,
        data_bytes: 256,
        cells: Vec::new(),
        results: 2,
        amount: f64::from(LINKS),
    }
}

fn chain(start: &str, link: &str, last: &str) -> Job {
    timed(start, link, last, 2)
}

/// Chain of loads that follow the addresses in memory, `step` bytes apart. A `warm` one is measured
/// in a second pass.
fn pointers(cache: &str, step: u64, warm: bool) -> Job {
    let link = format!("ld.global.{cache}.u64 %rd3, [%rd3];\n");
    let count = u64::from(LINKS);
    Job {
        data_bytes: step * (count + 1),
        cells: (0..count)
            .map(|cell| (cell * step, (cell + 1) % count * step))
            .collect(),
        ..timed(
            "mov.u64 %rd3, %rd2;\n",
            &link,
            USE_POINTER,
            1 + u32::from(warm),
        )
    }
}

/// Statements that set `count` registers of floats and the multiplicands to zero.
fn zeros(count: u32) -> String {
    let floats = (1..=count).map(|nth| format!("mov.f32 %f{nth}, 0f00000000;\n"));
    let words = (20..26).map(|nth| format!("mov.u32 %r{nth}, 0;\n"));
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

/// Kernel of several warps, each of which runs `work` between two readings of the clock and writes
/// both.
fn by_warps(target: &str, warps: u32, work: &str, amount: f64) -> Job {
    let mut body = String::from(
        "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nmul.wide.u32 %rd4, %r2, 16;\n\
         add.u64 %rd5, %rd1, %rd4;\nmov.u32 %r3, 0;\nAGAIN:\n",
    );
    let _ = write!(
        body,
        "bar.sync 0;\nmov.u64 %rd10, %clock64;\n{work}mov.u64 %rd11, %clock64;\nbar.sync 0;\n\
         add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 2;\n@%p1 bra AGAIN;\n\
         st.global.u64 [%rd5], %rd10;\nst.global.u64 [%rd5+8], %rd11;\n"
    );
    Job {
        ptx: module(target, &body),
        blocks: 1,
        threads: 32 * warps,
        data_bytes: 256,
        cells: Vec::new(),
        results: 2 * warps as usize,
        amount,
    }
}

fn mma_rate() -> Job {
    const SETS: u32 = 8;
    let mut work = zeros(4 * SETS);
    for nth in 0..PRODUCTS {
        let names = [1, 2, 3, 4].map(|one| format!("%f{}", nth % SETS * 4 + one));
        work += &mma([0, 1, 2, 3].map(|one| names[one].as_str()));
    }
    for set in 0..SETS {
        let _ = writeln!(work, "st.global.f32 [%rd2], %f{};", set * 4 + 1);
    }
    let products = f64::from(PRODUCT_WARPS * PRODUCTS);
    by_warps("sm_80", PRODUCT_WARPS, &work, products * MMA_OPERATIONS)
}

fn wgmma_rate() -> Job {
    let sums: Vec<String> = (1..=128).map(|nth| format!("%f{nth}")).collect();
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{{}}}, %rd6, %rd6, 1, 1, 1, 0, 0;\n",
        sums.join(", ")
    );
    let work = format!(
        "mov.u64 %rd6, 0;\n{}wgmma.fence.sync.aligned;\n{}wgmma.commit_group.sync.aligned;\n\
         wgmma.wait_group.sync.aligned 0;\nst.global.f32 [%rd2], %f1;\n",
        zeros(128),
        product.repeat(GROUP_PRODUCTS as usize)
    );
    let operations = f64::from(GROUP_PRODUCTS) * WGMMA_OPERATIONS;
    by_warps("sm_90a", 4, &work, operations)
}

/// Kernel in which every thread of all SMs reads `READS` times 16 bytes that nobody read before.
fn dram_read(sms: u32) -> Job {
    let blocks = sms * READER_BLOCKS;
    let each = 16 * u64::from(READERS);
    let mut body = format!(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd4, %r2, 16;\n\
         add.u64 %rd5, %rd1, %rd4;\nmul.wide.u32 %rd6, %r2, {};\nmul.wide.u32 %rd7, %r1, 16;\n\
         add.u64 %rd6, %rd6, %rd7;\nadd.u64 %rd6, %rd6, %rd2;\nmov.u64 %rd10, %globaltimer;\n",
        each * u64::from(READS)
    );
    for read in 0..READS {
        let at = u64::from(read) * each;
        let first = 8 + 4 * read;
        let _ = writeln!(
            body,
            "ld.global.cg.v4.u32 {{%r{first}, %r{}, %r{}, %r{}}}, [%rd6+{at}];",
            first + 1,
            first + 2,
            first + 3
        );
    }
    for read in 0..READS {
        let _ = writeln!(body, "add.u32 %r1, %r1, %r{};", 8 + 4 * read);
    }
    body += "setp.eq.u32 %p1, %r1, 0xFFFFFFFF;\n@%p1 st.global.u32 [%rd2], %r1;\nbar.sync 0;\n\
             mov.u64 %rd11, %globaltimer;\nst.global.u64 [%rd5], %rd10;\n\
             st.global.u64 [%rd5+8], %rd11;\n";
    let data_bytes = u64::from(blocks * READS) * each;
    Job {
        ptx: module("sm_80", &body),
        blocks,
        threads: READERS,
        data_bytes,
        cells: Vec::new(),
        results: 2 * blocks as usize,
        amount: data_bytes as f64,
    }
}
