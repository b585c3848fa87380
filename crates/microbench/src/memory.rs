//! Latencies of the levels of memory: one warp, each load's address being what the load before
//! brought.
//!
//! After every load stands a reading of the clock. It does not wait for the load, but the next load
//! does, so two readings are a latency apart. Loads go twice through the same code: what the
//! first time brings into caches is there the second time, the instructions among it.

use crate::kernel::{Code, Kernel, MEMORY_BYTES, PER_FETCH, memory_base};
use crate::{Answer, Benchmark, Family, Figure, Trouble, short};
use std::collections::BTreeSet;
use warploom_base::ChannelId;
use warploom_config::{Edge, GpuSpec, Row, Stage};
use warploom_mem::address::{AddressDecoder, Location};

/// Loads of a chain.
const LOADS: usize = 10;
/// Register of the `i`-th reading of the clock. Readings are written while links read and write
/// theirs, which must lie in other banks: a chain's have the number 10 and, of textures, 14, 18 and
/// 22, and the number of banks is a multiple of four.
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
        "load from the constant cache, hit",
        |gpu| {
            let chain = Chain::of("mov.u64 %rd10, c", "ld.const.u64 %rd10, [%rd10]");
            chain.figure(gpu, &gpu.constant_hit())
        },
    ),
    row("texture-latency", "texture read that hits", |gpu| {
        // Registers of one bank, and of none that a reading of the clock is written to.
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
    row("l2-latency", "load past L1D that hits L2", |gpu| {
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

/// Dependent instructions.
pub(crate) struct Chain {
    /// Before all.
    pub setup: Vec<String>,
    /// Before each of the two times.
    pub start: Vec<String>,
    /// The instructions, each needing what the one before brought.
    pub links: Vec<String>,
    /// What memory holds.
    pub cells: Vec<(u64, u64)>,
    /// They act the second time only.
    pub second_only: bool,
    /// Instructions at the start that are not measured.
    pub skip: usize,
    /// Threads.
    pub lanes: u32,
    /// The clock is read before each instead of after it: for what holds the warp back itself.
    pub clock_first: bool,
}

impl Chain {
    /// `LOADS` times the same instruction.
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

    /// Runs the chain; every link measured must take what the stages say from where it began.
    pub fn figure(&self, gpu: &GpuSpec, stages: &[Stage]) -> Result<Answer, Trouble> {
        let kernel = Kernel {
            threads: self.lanes,
            cells: self.cells.clone(),
            ..Kernel::warp(self.code().text, self.links.len())
        };
        let clocks = kernel.run(gpu)?.results;
        // What the last link brings is dead: its register may be the last reading's, too. Where the
        // clock is read first, the first link still waits for its start.
        let pairs = clocks[..clocks.len() - 1]
            .windows(2)
            .skip(self.skip.max(usize::from(self.clock_first)));
        let pairs = pairs.map(|pair| (pair[0], pair[1]));
        // The second instruction of a pair issues in the cycle after the first, or with it.
        let apart = i64::from(gpu.sm.max_issue_per_warp < 2);
        Ok(Answer::Figure(if self.clock_first {
            let mut all = vec![Stage {
                what: "the clock's reading before it",
                edges: vec![Edge::Core(1)],
                how: "1; issued with it, the wait until its register is written".to_owned(),
            }];
            all.extend_from_slice(stages);
            Figure::walked(gpu, &all, pairs, 0)
        } else {
            Figure::walked(gpu, stages, pairs, -apart)
        }))
    }
}

impl Figure {
    /// Pairs of clock readings: from `offset` cycles after the first of each, the stages must end
    /// as many cycles after the second.
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

/// The stages with the cycles that each takes, a mean over the starts.
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

/// Instructions that follow pointers through `addresses`, from the last back to the first.
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
        // The first load finds the bank closed, whatever the others find.
        skip: usize::from(row != Row::Closed),
        ..pointers("ld.global.cg.u64 %rd10, [%rd10]", &addresses)
    };
    chain.figure(gpu, &gpu.dram_load(row))
}

/// Where code and parameters lie for the caches: banks that the kernel itself opens rows of.
const OTHERS: [(u64, u64); 3] = [
    (0xF000_0000, 1 << 14),
    (0x0400_0000, 1 << 8),
    (0x1000_0000, 1 << 8),
];

/// Addresses by where they lie in DRAM.
pub(crate) struct Places {
    decoder: AddressDecoder,
    base: u64,
    step: u64,
    /// Banks in which something else has a row open.
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

    /// Addresses that L2 fetches one by one, with their places.
    pub fn all(&self) -> impl Iterator<Item = (u64, Location)> {
        self.every(self.step)
    }

    /// Addresses of which no two are in one column of what the map interleaves.
    pub fn chunks(&self) -> impl Iterator<Item = (u64, Location)> {
        self.every(256)
    }

    fn every(&self, step: u64) -> impl Iterator<Item = (u64, Location)> {
        (self.base..self.base + MEMORY_BYTES)
            .step_by(step as usize)
            .map(|address| (address, self.decoder.decode(address)))
            .filter(|(_, at)| !self.taken.contains(&bank_of(at)))
    }

    /// `count` addresses of which each finds its bank in the state `row`, but for the first.
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
