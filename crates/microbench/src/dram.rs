//! Bandwidth of one DRAM channel. The lanes of one warp load from addresses that the benchmark
//! chooses by their place in DRAM, one request per core cycle. The difference between a list of
//! requests and one of twice the length is the time of the additional requests.

use crate::kernel::{Code, Kernel};
use crate::memory::{Places, bank_of};
use crate::{Answer, Benchmark, Family, Figure, Trouble, short};
use std::collections::BTreeMap;
use warploom_config::{ChannelIndex, GpuSpec};
use warploom_mem::address::Location;

/// Number of requests of the short list of row misses; the long list has twice as many.
const MISSES: usize = 128;
/// Number of lanes of the warp.
const LANES: usize = 32;

const fn row(
    name: &'static str,
    about: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
) -> Benchmark {
    Benchmark {
        name,
        family: Family::Dram,
        about,
        unit: "bytes per command cycle and channel",
        measure,
    }
}

pub(crate) const BENCHMARKS: &[Benchmark] = &[
    row(
        "dram-bank-stream",
        "reads of whole rows of one bank, row after row",
        |gpu| {
            let places = Places::new(gpu)?;
            let scattered = [ChannelIndex::Random, ChannelIndex::Skewed];
            if scattered.contains(&gpu.partition.channel_index) {
                return Ok(Answer::Absent(
                    "the addresses of a row are scattered by a hash",
                ));
            }
            let rows = rows_of_a_bank(places.all(), 4);
            // The last row of the list may be incomplete.
            let in_row = rows.values().next().map_or(0, Vec::len);
            // The requests must not fill the queue before L2. A full queue would block the input
            // until the fixed delay is empty, and would then be empty for as long.
            let requests = in_row.next_multiple_of(LANES);
            let list: Vec<_> = rows.into_values().flatten().take(2 * requests).collect();
            let per_row = row_cycles(gpu, in_row as u32);
            let cycles = per_row.0 / in_row as f64;
            let how = format!("a row of {in_row} requests: {}", per_row.1);
            figure(gpu, &list, cycles, &how)
        },
    ),
    row(
        "dram-bank-row-miss",
        "reads of one bank, each of another row",
        |gpu| {
            let rows = rows_of_a_bank(Places::new(gpu)?.chunks(), 2 * MISSES);
            if rows.len() < 2 * MISSES {
                return Ok(Answer::Absent("a bank has too few rows of the memory used"));
            }
            let list: Vec<_> = rows.into_values().map(|row| row[0]).collect();
            let (cycles, how) = row_cycles(gpu, 1);
            figure(gpu, &list, cycles, &how)
        },
    ),
];

/// Addresses by row: the first `count` rows of the bank of the first address.
fn rows_of_a_bank(
    places: impl Iterator<Item = (u64, Location)>,
    count: usize,
) -> BTreeMap<u32, Vec<u64>> {
    let mut rows: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut bank = None;
    for (address, at) in places {
        if bank_of(&at) != *bank.get_or_insert(bank_of(&at)) {
            continue;
        }
        if rows.len() == count && !rows.contains_key(&at.row) {
            break;
        }
        rows.entry(at.row).or_default().push(address);
    }
    rows
}

/// Command cycles between two activates of a bank with `requests` requests between them. The sum is
/// RCD to the first column, the further columns, the time from the last column to the precharge (a
/// cycle until the next request is scheduled, the burst, RTPL), at least RAS, and RP. The result is
/// at least RC.
fn row_cycles(gpu: &GpuSpec, requests: u32) -> (f64, String) {
    let (dram, t) = (&gpu.dram, &gpu.dram.timing);
    let columns = requests * gpu.dram_fetch_bytes().div_ceil(gpu.dram_atom_bytes());
    let apart = t.ccd.max(t.ccdl);
    let burst = dram.burst_length / dram.data_ratio;
    let close = burst.max(t.rtpl).max(1);
    let open = t.rcd + (columns - 1) * apart + close;
    let cycles = (open.max(t.ras) + t.rp).max(t.rc);
    let how = format!(
        "max(max(RCD {} + ({columns} columns - 1) x {apart} + max(burst {burst}, RTPL {}, 1), RAS \
         {}) + RP {}, RC {}) = {cycles} command cycles",
        t.rcd, t.rtpl, t.ras, t.rp, t.rc
    );
    (f64::from(cycles), how)
}

/// Measures the rate of the second half of `list`, in which a request takes `cycles`.
fn figure(gpu: &GpuSpec, list: &[u64], cycles: f64, how: &str) -> Result<Answer, Trouble> {
    let half = list.len() / 2 / LANES * LANES;
    let more = span(gpu, &list[..2 * half])? - span(gpu, &list[..half])?;
    let ratio = f64::from(gpu.clocks.dram_khz) / f64::from(gpu.clocks.core_khz);
    let bytes = f64::from(gpu.dram_fetch_bytes());
    let measured = bytes * half as f64 / (more * ratio);
    let implied = bytes / cycles;
    // Each of the four readings of the clock lies anywhere between two edges of the DRAM clock, and
    // one of the lists may find a row open at its start.
    let slack = 2.0 * ratio.max(1.0) + f64::from(gpu.dram.timing.rp);
    let arithmetic = format!(
        "{bytes} bytes / {} cycles; {how}; {half} requests in {} cycles, of which start and end may \
         shift {}",
        short(cycles),
        short(cycles * half as f64),
        short(slack)
    );
    let tolerance = implied * slack / (cycles * half as f64 - slack);
    Ok(Answer::Figure(Figure {
        peak: Some(gpu.peaks().dram.bytes_per_cycle.into()),
        ..Figure::new(measured, implied, tolerance, arithmetic)
    }))
}

/// Measures the core cycles from the first request to the last reply.
fn span(gpu: &GpuSpec, list: &[u64]) -> Result<f64, Trouble> {
    let loads = list.len() / LANES;
    let mut code = Code::default();
    code.push("ld.param.u64 %rd0, [out]");
    code.push("ld.param.u64 %rd1, [table]");
    code.push("mov.u32 %r0, 0");
    code.push("mov.u32 %r1, %tid.x");
    code.push("mul.wide.u32 %rd2, %r1, 8");
    code.push("add.u64 %rd1, %rd1, %rd2");
    for i in 0..loads {
        let offset = 8 * LANES * i;
        code.push(format!("ld.global.u64 %rd{}, [%rd1+{offset}]", 16 + i));
    }
    code.label("AGAIN");
    code.push("setp.ne.u32 %p1, %r0, 0");
    code.push("mov.u32 %r3, %clock");
    for i in 0..loads {
        code.push(format!(
            "@%p1 ld.global.cg.u32 %r{}, [%rd{}]",
            16 + i,
            16 + i
        ));
    }
    // Waits for each load by itself.
    for i in 0..loads {
        code.push(format!("add.u32 %r{}, %r{}, 1", 16 + i, 16 + i));
    }
    code.push("mov.u32 %r4, %clock");
    for i in 0..loads {
        code.push(format!("add.u32 %r5, %r5, %r{}", 16 + i));
    }
    code.push("add.u32 %r0, %r0, 1");
    code.push("setp.lt.u32 %p2, %r0, 2");
    code.push("@%p2 bra AGAIN");
    code.push("st.global.u32 [%rd0], %r3");
    code.push("st.global.u32 [%rd0+4], %r4");
    code.push("st.global.u32 [%rd0+8], %r5");
    let kernel = Kernel {
        table: list.to_vec(),
        ..Kernel::warp(code.text, 3)
    };
    let clocks = kernel.run(gpu)?.results;
    Ok(f64::from(clocks[1] - clocks[0]))
}
