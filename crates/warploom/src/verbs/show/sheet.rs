//! Text of a GPU's data sheet.

use warploom_config::{BandwidthSheet, CacheSheet, RateSheet, Sheet, TimeSheet};
use warploom_report::{figures, grouped, percent, wrapped};

/// Text of the sheet, with a line about the machine and the policies in force. Lines keep to
/// `width` characters, if it is given.
pub fn text(
    sheet: &Sheet,
    about: Option<&str>,
    policies: &[(String, String)],
    width: Option<u16>,
) -> String {
    let mut text = Text {
        text: format!("{}\n", sheet.name),
        width,
    };
    if let Some(about) = about {
        text.text += &wrapped("", about, width);
    }
    section(&mut text, "", &machine(sheet));
    section(&mut text, "SM", &sm(sheet));
    rates(&mut text, sheet);
    caches(&mut text, sheet);
    section(&mut text, "interconnect", &noc(sheet));
    section(&mut text, "DRAM", &dram(sheet));
    latencies(&mut text, sheet);
    occupancy(&mut text, sheet);
    section(&mut text, "policies", policies);
    text.text
}

/// The text so far, and the width to which its lines keep.
struct Text {
    text: String,
    width: Option<u16>,
}

type Lines = Vec<(String, String)>;

/// Writes a heading, and labelled lines below it.
fn section(text: &mut Text, heading: &str, lines: &[(String, String)]) {
    text.text.push('\n');
    let indent = if heading.is_empty() { "" } else { "  " };
    if !heading.is_empty() {
        text.text += &format!("{heading}\n");
    }
    let width = lines
        .iter()
        .map(|(label, _)| label.len())
        .max()
        .unwrap_or(0);
    for (label, content) in lines {
        let label = format!("{indent}{label:width$}  ");
        text.text += &wrapped(&label, content, text.width);
    }
}

/// Writes a heading, and a table below it.
fn table(text: &mut Text, heading: &str, header: &[&str], rows: &[Vec<String>]) {
    text.text += &format!("\n{heading}\n");
    let room = text.width.map(|width| width.saturating_sub(2));
    for line in figures(header, rows, room).lines() {
        text.text += format!("  {line}").trim_end();
        text.text.push('\n');
    }
}

fn line(label: &str, content: String) -> (String, String) {
    (label.to_owned(), content)
}

fn machine(sheet: &Sheet) -> Lines {
    let clocks = sheet.clocks;
    let clock = format!(
        "SMs {} MHz, interconnect {} MHz, L2 {} MHz, DRAM commands {} MHz",
        clocks.core_mhz, clocks.noc_mhz, clocks.l2_mhz, clocks.dram_mhz
    );
    let parts = format!(
        "{} SMs, {} L2 banks, {} DRAM channels; modelled as {}",
        sheet.sm.count, sheet.l2.banks, sheet.dram.channels, sheet.model
    );
    vec![line("clocks", clock), line("parts", parts)]
}

fn sm(sheet: &Sheet) -> Lines {
    let sm = &sheet.sm;
    let units: Vec<_> = sm
        .units
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let limits = format!(
        "{} threads ({} warps), {} blocks",
        sm.max_threads, sm.max_warps, sm.max_blocks
    );
    let parted = if sm.sub_cores {
        ", each with a part of the SM"
    } else {
        ""
    };
    let schedulers = format!(
        "{}{parted}; up to {} a warp and {} an SM and cycle",
        sm.schedulers, sm.max_issue_per_warp, sheet.rates.issue_per_sm_cycle
    );
    let registers = format!(
        "{} of 32 bits ({}) in {} banks, granted by {}, up to {} a thread; reads {}",
        grouped(sm.registers.into()),
        size(sm.registers_bytes),
        sm.register_banks,
        sm.register_granularity,
        sm.max_registers_per_thread,
        bandwidth(&sheet.bandwidths.registers, "SM"),
    );
    let shared = format!(
        "{} in {} banks, up to {} a block; {}",
        size(sm.shared_bytes),
        sm.shared_banks,
        size(sm.max_shared_bytes_per_block),
        bandwidth(&sheet.bandwidths.shared, "SM"),
    );
    vec![
        line("limits", limits),
        line("schedulers", schedulers),
        line("units", units.join(", ")),
        line("registers", registers),
        line("shared memory", shared),
    ]
}

fn rates(text: &mut Text, sheet: &Sheet) {
    let rates = &sheet.rates;
    let row = |class: &str, rate: &RateSheet, unit: &str| {
        vec![
            class.to_owned(),
            decimal(rate.per_sm_cycle),
            format!("{} {unit}", decimal(rate.giga_ops_per_second)),
        ]
    };
    let memory = vec![
        "load, store, atomic".to_owned(),
        decimal(rates.memory_per_sm_cycle.into()),
        "-".to_owned(),
    ];
    let rows = [
        row("f32 multiply-add", &rates.f32, "GFLOP/s"),
        row("f64 multiply-add", &rates.f64, "GFLOP/s"),
        row("integer add", &rates.int, "GIOP/s"),
        row("special function", &rates.sfu, "GOP/s"),
        memory,
    ];
    let header = ["instructions", "warp instructions/cycle/SM", "all SMs"];
    table(text, "peak rates", &header, &rows);
}

fn caches(text: &mut Text, sheet: &Sheet) {
    let header = [
        "cache", "size", "sets", "ways", "line", "MSHRs", "merge", "port", "write", "index",
    ];
    let row = |name: &str, cache: &CacheSheet| {
        let mut row = vec![name.to_owned()];
        if !cache.enabled {
            row.push("none".to_owned());
            row.resize(header.len(), "-".to_owned());
            return row;
        }
        let sectors = if cache.sectored { " in sectors" } else { "" };
        row.extend([
            size(cache.size_bytes),
            cache.sets.to_string(),
            cache.ways.to_string(),
            format!("{} B{sectors}", cache.line_bytes),
            cache.mshr_entries.to_string(),
            cache.mshr_merge.to_string(),
            format!("{} B", cache.port_bytes),
            cache.write.clone(),
            cache.index.clone(),
        ]);
        row
    };
    let rows = [
        row("L1D", &sheet.l1d),
        row("L1I", &sheet.l1i),
        row("L1C", &sheet.l1c),
        row("L1T", &sheet.l1t),
        row("L2 bank", &sheet.l2.bank),
    ];
    table(text, "caches", &header, &rows);
    let l1d = bandwidth(&sheet.bandwidths.l1d, "SM");
    let l2 = format!(
        "{} in all; {}",
        size(sheet.l2.size_bytes),
        bandwidth(&sheet.l2.bandwidth, "bank")
    );
    section(text, "hits", &[line("L1D", l1d), line("L2", l2)]);
}

fn noc(sheet: &Sheet) -> Lines {
    let noc = &sheet.noc;
    let kind = format!(
        "{}, {} ports to SMs, {} to L2 banks, flits of {} B",
        noc.kind, noc.sm_ports, noc.l2_ports, noc.flit_bytes
    );
    let peak = bandwidth(&noc.per_direction, "port");
    let mut lines = vec![line("kind", kind), line("peak per direction", peak)];
    if let (Some(fraction), Some(rate)) = (noc.sustainable_fraction, noc.sustainable_gb_per_second)
    {
        let sustainable = format!(
            "{} GB/s ({} of the peak)",
            decimal(rate),
            percent(Some(fraction))
        );
        lines.push(line("sustainable", sustainable));
    }
    lines
}

fn dram(sheet: &Sheet) -> Lines {
    let dram = &sheet.dram;
    let queue = match dram.queue {
        0 => "no limit on requests".to_owned(),
        queue => format!("{queue} requests"),
    };
    let channel = format!(
        "{}, each {} chips, {} banks in {} groups, bursts of {} B, {queue}",
        dram.channels, dram.chips_per_channel, dram.banks, dram.bank_groups, dram.burst_bytes
    );
    let times: Vec<_> = dram
        .timing
        .iter()
        .map(|t| format!("{} {} ({:.1} ns)", t.name, t.cycles, t.ns))
        .collect();
    let mut lines = vec![
        line("channels", channel),
        line("peak", bandwidth(&dram.bandwidth, "channel")),
    ];
    let halves = times.chunks(6).zip(["timing", ""]);
    lines.extend(halves.map(|(half, label)| line(label, half.join(", "))));
    lines
}

fn latencies(text: &mut Text, sheet: &Sheet) {
    let times = &sheet.latencies;
    let row = |level: &str, time: &TimeSheet| {
        vec![
            level.to_owned(),
            time.cycles.to_string(),
            format!("{:.1}", time.ns),
        ]
    };
    let mut rows = vec![
        row("constant cache", &times.constant),
        row("shared memory", &times.shared),
    ];
    rows.extend(times.l1d.map(|time| row("L1D", &time)));
    rows.push(row("L2, past L1D", &times.l2));
    rows.push(row("DRAM, closed row", &times.dram));
    let heading = "from a load's issue to its first use, on an idle machine";
    table(text, heading, &["hit in", "core cycles", "ns"], &rows);
}

fn occupancy(text: &mut Text, sheet: &Sheet) {
    let occupancy = &sheet.occupancy;
    let sizes: Vec<_> = occupancy.block_threads.iter().map(u32::to_string).collect();
    let mut header = vec!["registers a thread"];
    header.extend(sizes.iter().map(String::as_str));
    let cell = |blocks: &u32, threads: &u32| {
        let warps = f64::from(blocks * threads / 32) / f64::from(sheet.sm.max_warps);
        format!("{blocks} ({:.0}%)", warps * 100.0)
    };
    let rows: Vec<_> = occupancy
        .by_registers
        .iter()
        .map(|row| {
            let cells = row.blocks.iter().zip(&occupancy.block_threads);
            let mut line = vec![row.registers_per_thread.to_string()];
            line.extend(cells.map(|(blocks, threads)| cell(blocks, threads)));
            line
        })
        .collect();
    let heading = "blocks per SM (warps of all) by registers and threads of a block";
    table(text, heading, &header, &rows);
    let shared: Vec<_> = occupancy
        .by_shared
        .iter()
        .map(|row| {
            format!(
                "{} B for {}",
                grouped(row.max_shared_bytes.into()),
                row.blocks
            )
        })
        .collect();
    let lines = [line("shared memory of a block, at most", shared.join(", "))];
    section(text, "", &lines);
}

/// A size in the largest binary unit that divides it.
fn size(bytes: u32) -> String {
    match bytes {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MB", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{} KB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

fn bandwidth(of: &BandwidthSheet, part: &str) -> String {
    format!(
        "{} B/cycle/{part} x {}, {} GB/s",
        of.bytes_per_cycle,
        of.parts,
        decimal(of.gb_per_second)
    )
}

/// A number with three decimals, or with one from a hundred on, without trailing zeros.
fn decimal(value: f64) -> String {
    let digits = if value < 100.0 { 3 } else { 1 };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
