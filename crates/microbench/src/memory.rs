//! Latencies of the levels of memory: one warp follows pointers, so that each load needs the result
//! of the one before it.
//!
//! A reading of the clock follows every load. It does not wait for the load, but the next load
//! does, so that two readings are one latency apart. The same code runs twice: the first pass fills
//! the caches, including those of instructions, and the second pass is measured.

use crate::kernel::{Code, Kernel, MEMORY_BYTES, PER_FETCH, memory_base};
use crate::{Answer, Benchmark, Family, Figure, Trouble, short};
use std::collections::BTreeSet;
use warploom_base::ChannelId;
use warploom_config::{Edge, GpuSpec, Row, Stage};
use warploom_mem::address::{AddressDecoder, Location};

/// Number of loads in a chain.
pub(crate) const LOADS: usize = 10;
/// Register of the `i`-th reading of the clock. Readings are written while links use their own
/// registers, which must be in other banks. A chain uses register 10, and with textures also 14, 18
/// and 22; the number of banks is a multiple of four.
const fn clock_register(i: usize) -> usize {
    16 + i / 2 * 4 + i % 2
}

const fn row(
    name: &'static str,
    about: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
) -> Benchmark {
    Benchmark {
        name,
        family: Family::Memory,
        about,
        unit: "core cycles",
        measure,
    }
}

pub(crate) const BENCHMARKS: &[Benchmark] = &[
    row(
        "constant-latency",
        "load that hits the constant cache",
        |gpu| {
            let chain = Chain::of("mov.u64 %rd10, c", "ld.const.u64 %rd10, [%rd10]");
            chain.figure(gpu, &gpu.constant_hit())
        },
    ),
    row("texture-latency", "texture read that hits", |gpu| {
        // These registers are in banks that no reading of the clock is written to.
        let registers = [10, 14, 18, 22];
        let names = registers.map(|register| format!("%r{register}")).join(", ");
        let link = format!("tex.1d.v4.s32.s32 {{{names}}}, [t, {{%r10}}]");
        let chain = Chain::of("mov.u32 %r10, 0", &link);
        chain.figure(gpu, &gpu.texture_hit(registers))
    }),
    row(
        "shared-latency",
        "load from shared memory, no conflicts",
        |gpu| {
            let chain = Chain {
                setup: vec![
                    "mov.u64 %rd10, s".to_owned(),
                    "st.shared.u64 [%rd10], %rd10".to_owned(),
                ],
                ..Chain::of("mov.u64 %rd10, s", "ld.shared.u64 %rd10, [%rd10]")
            };
            chain.figure(gpu, &gpu.shared_load(1))
        },
    ),
    row(
        "l1d-latency",
        "load from global memory that hits L1D",
        |gpu| {
            let Some(stages) = gpu.l1d_hit() else {
                return Ok(Answer::Absent("no L1D for global loads"));
            };
            pointers("ld.global.nc.u64 %rd10, [%rd10]", &[memory_base()?]).figure(gpu, &stages)
        },
    ),
    row("l2-latency", "load that bypasses L1D and hits L2", |gpu| {
        pointers("ld.global.cg.u64 %rd10, [%rd10]", &[memory_base()?]).figure(gpu, &gpu.l2_hit())
    }),
    row(
        "dram-latency-row-hit",
        "load that misses L2, to an open row",
        |gpu| dram(gpu, Row::Hit),
    ),
    row(
        "dram-latency-closed",
        "load that misses L2, to a bank without an open row",
        |gpu| dram(gpu, Row::Closed),
    ),
    row(
        "dram-latency-row-miss",
        "load that misses L2, to a bank with another row open",
        |gpu| dram(gpu, Row::Conflict),
    ),
];

/// Chain of dependent instructions.
pub(crate) struct Chain {
    /// Statements at the start of the kernel.
    pub setup: Vec<String>,
    /// Statements at the start of each of the two passes.
    pub start: Vec<String>,
    /// Instructions, each of which needs the result of the one before it.
    pub links: Vec<String>,
    /// Contents of memory: address and value.
    pub cells: Vec<(u64, u64)>,
    /// True if the instructions take effect in the second pass only.
    pub second_only: bool,
    /// Number of instructions at the start that are not measured.
    pub skip: usize,
    /// Number of threads of the launch.
    pub lanes: u32,
    /// True if the clock is read before each instruction, for instructions that stall the warp
    /// itself.
    pub clock_first: bool,
}

impl Chain {
    /// Creates a chain of `LOADS` equal instructions.
    pub fn of(start: &str, link: &str) -> Self {
        Self {
            setup: Vec::new(),
            start: vec![start.to_owned()],
            links: vec![link.to_owned(); LOADS],
            cells: Vec::new(),
            second_only: false,
            skip: 0,
            lanes: 32,
            clock_first: false,
        }
    }

    fn code(&self) -> Code {
        let mut code = Code::default();
        code.push("ld.param.u64 %rd0, [out]");
        code.push("mov.u32 %r0, 0");
        code.extend(&self.setup);
        code.label("AGAIN");
        code.push("setp.ne.u32 %p1, %r0, 0");
        code.extend(&self.start);
        code.align(PER_FETCH);
        let guard = if self.second_only { "@%p1 " } else { "" };
        for (i, link) in self.links.iter().enumerate() {
            let clock = format!("mov.u32 %r{}, %clock", clock_register(i));
            if self.clock_first {
                code.push(&clock);
            }
            code.push(format!("{guard}{link}"));
            if !self.clock_first {
                code.push(&clock);
            }
        }
        code.push("add.u32 %r0, %r0, 1");
        code.push("setp.lt.u32 %p2, %r0, 2");
        code.push("@%p2 bra AGAIN");
        for i in 0..self.links.len() {
            code.push(format!(
                "st.global.u32 [%rd0+{}], %r{}",
                4 * i,
                clock_register(i)
            ));
        }
        code
    }

    /// Runs the chain and compares every measured link with the cycles that the stages imply from
    /// its start.
    pub fn figure(&self, gpu: &GpuSpec, stages: &[Stage]) -> Result<Answer, Trouble> {
        let kernel = Kernel {
            threads: self.lanes,
            cells: self.cells.clone(),
            ..Kernel::warp(self.code().text, self.links.len())
        };
        let clocks = kernel.run(gpu)?.results;
        // The result of the last link is dead, so that its register may be that of the last
        // reading. If the clock is read first, the first link still waits for its start.
        let pairs = clocks[..clocks.len() - 1]
            .windows(2)
            .skip(self.skip.max(usize::from(self.clock_first)));
        let pairs = pairs.map(|pair| (pair[0], pair[1]));
        // The second instruction of a pair issues with the first one, or in the next cycle.
        let apart = i64::from(gpu.sm.max_issue_per_warp < 2);
        Ok(Answer::Figure(if self.clock_first {
            let mut all = vec![Stage {
                what: "reading of the clock before it",
                edges: vec![Edge::Core(1)],
                how: "1; if issued together, until its register is written".to_owned(),
            }];
            all.extend_from_slice(stages);
            Figure::walked(gpu, &all, pairs, 0)
        } else {
            Figure::walked(gpu, stages, pairs, -apart)
        }))
    }
}

impl Figure {
    /// Compares pairs of readings of the clock with the stages, which begin `offset` cycles after
    /// the first reading and must end `offset` cycles after the second.
    pub(crate) fn walked(
        gpu: &GpuSpec,
        stages: &[Stage],
        pairs: impl Iterator<Item = (u32, u32)>,
        offset: i64,
    ) -> Self {
        let (mut starts, mut measured, mut implied) = (Vec::new(), Vec::new(), Vec::new());
        for (first, second) in pairs {
            let start = u64::from(first).saturating_add_signed(offset);
            starts.push(start);
            measured.push(f64::from(second.wrapping_sub(first)));
            implied.push((gpu.walk(stages, start) - start) as f64);
        }
        let apart = measured.iter().zip(&implied).map(|(m, i)| (m - i).abs());
        let difference = apart.fold(0.0, f64::max);
        let mut arithmetic = arithmetic(gpu, stages, &starts);
        if difference > 0.0 {
            arithmetic += &format!("; one by one measured {measured:?}, implied {implied:?}");
        }
        Self {
            difference,
            ..Self::new(mean(&measured), mean(&implied), 0.0, arithmetic)
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Formats the stages with the cycles that each takes, as a mean over the starts.
fn arithmetic(gpu: &GpuSpec, stages: &[Stage], starts: &[u64]) -> String {
    let mut sums = vec![0; stages.len()];
    for &start in starts {
        let cycles = gpu.stage_cycles(stages, start);
        sums.iter_mut().zip(cycles).for_each(|(sum, n)| *sum += n);
    }
    let part = |(stage, sum): (&Stage, &u64)| {
        let cycles = *sum as f64 / starts.len() as f64;
        format!("{} {} ({})", stage.what, short(cycles), stage.how)
    };
    let parts: Vec<_> = stages.iter().zip(&sums).map(part).collect();
    parts.join(" + ")
}

/// Creates a chain that follows pointers through `addresses`, and from the last back to the first.
pub(crate) fn pointers(link: &str, addresses: &[u64]) -> Chain {
    let next = addresses.iter().cycle().skip(1);
    let mut cells: Vec<_> = addresses.iter().copied().zip(next.copied()).collect();
    cells.dedup();
    let start = format!("mov.u64 %rd10, {}", addresses[0]);
    Chain {
        cells,
        ..Chain::of(&start, link)
    }
}

fn dram(gpu: &GpuSpec, row: Row) -> Result<Answer, Trouble> {
    let addresses = Places::new(gpu)?.addresses(row, LOADS);
    if addresses.len() < LOADS {
        return Ok(Answer::Absent("too few banks without other rows"));
    }
    let chain = Chain {
        second_only: true,
        // The first load finds the bank closed in any case.
        skip: usize::from(row != Row::Closed),
        ..pointers("ld.global.cg.u64 %rd10, [%rd10]", &addresses)
    };
    chain.figure(gpu, &gpu.dram_load(row))
}

/// Addresses of code and parameters: the kernel itself opens rows of their banks.
const OTHERS: [(u64, u64); 3] = [
    (0xF000_0000, 1 << 14),
    (0x0400_0000, 1 << 8),
    (0x1000_0000, 1 << 8),
];

/// Addresses by their place in DRAM.
pub(crate) struct Places {
    decoder: AddressDecoder,
    base: u64,
    step: u64,
    /// Banks in which code or parameters have a row open.
    taken: BTreeSet<(ChannelId, u32)>,
}

impl Places {
    pub fn new(gpu: &GpuSpec) -> Result<Self, Trouble> {
        let decoder = AddressDecoder::new(gpu);
        let others = OTHERS
            .iter()
            .flat_map(|&(base, bytes)| (base..base + bytes).step_by(32));
        let taken = others.map(|at| bank_of(&decoder.decode(at))).collect();
        Ok(Self {
            decoder,
            base: memory_base()?,
            step: gpu.dram_fetch_bytes().into(),
            taken,
        })
    }

    /// Addresses in steps of what L2 fetches at once, with their places.
    pub fn all(&self) -> impl Iterator<Item = (u64, Location)> {
        self.every(self.step)
    }

    /// Addresses in steps of the bytes that the address map keeps together.
    pub fn chunks(&self) -> impl Iterator<Item = (u64, Location)> {
        self.every(256)
    }

    fn every(&self, step: u64) -> impl Iterator<Item = (u64, Location)> {
        (self.base..self.base + MEMORY_BYTES)
            .step_by(step as usize)
            .map(|address| (address, self.decoder.decode(address)))
            .filter(|(_, at)| !self.taken.contains(&bank_of(at)))
    }

    /// Returns `count` addresses, each of which finds its bank in state `row`, except for the
    /// first.
    fn addresses(&self, row: Row, count: usize) -> Vec<u64> {
        let mut found: Vec<(u64, Location)> = Vec::new();
        let step = if row == Row::Hit { self.step } else { 256 };
        for (address, at) in self.every(step) {
            let fits = match row {
                Row::Hit => found.iter().all(|(_, f)| same_row(f, &at)),
                Row::Closed => found.iter().all(|(_, f)| bank_of(f) != bank_of(&at)),
                Row::Conflict => found
                    .iter()
                    .all(|(_, f)| bank_of(f) == bank_of(&at) && f.row != at.row),
            };
            if fits {
                found.push((address, at));
            }
            if found.len() == count {
                break;
            }
        }
        found.into_iter().map(|(address, _)| address).collect()
    }
}

pub(crate) fn bank_of(at: &Location) -> (ChannelId, u32) {
    (at.channel, at.bank)
}

pub(crate) fn same_row(a: &Location, b: &Location) -> bool {
    bank_of(a) == bank_of(b) && a.row == b.row
}
