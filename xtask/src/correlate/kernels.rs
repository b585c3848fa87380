//! Kernels of the workloads on a real GPU, with the counters of Nsight Compute.
//!
//! `--record` starts this program under `ncu`, which reads the counters of the launches that
//! [`replay`] makes. Every launch begins with empty caches, and clocks are those of the GPU.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use warploom_config::GpuSpec;

use super::data::rows;
use super::replay::{Launched, replay};
use super::subject::Subject;
use crate::hardware::driver::{Gpu, GpuMachine};

/// Launches of a kernel whose counters are read: the first of a run.
const LAUNCHES: usize = 3;
/// Counters of a launch, in the order of the columns of the data.
const COUNTERS: [&str; 11] = [
    "launch__registers_per_thread",
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "gpu__time_duration.sum",
    "smsp__inst_executed.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
];
/// First line of the data.
const COLUMNS: &str = "# gpu\tworkload\tsize\tlaunch\tentry\tregisters\tcycles\tactive cycles\tns\t\
    warp instructions\tL1D load sectors\thits\tL2 sectors\thits\tDRAM bytes read\twritten\n";

/// A launch of a workload on a real GPU.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Preset that stands for the GPU.
    pub gpu: String,
    pub workload: String,
    /// Name of its size.
    pub size: String,
    /// Number of the launch in its program.
    pub launch: u64,
    /// Name of the kernel's entry.
    pub entry: String,
    /// Registers of a thread, by the GPU's assembler.
    pub registers: u32,
    /// Core cycles from the start of the launch to its end.
    pub cycles: u64,
    pub warp_instructions: u64,
}

/// Reads the lines of all GPUs.
pub fn measured(text: &str) -> Result<Vec<Measured>> {
    rows(text, |cells: [&str; 16]| {
        let [gpu, workload, size, launch, entry, counters @ ..] = cells;
        let number = |text: &str| {
            let number = text.parse::<u64>();
            number.with_context(|| format!("`{text}` is not a number"))
        };
        for counter in counters {
            number(counter)?;
        }
        let [registers, cycles, _, _, warp_instructions, ..] = counters;
        Ok(Measured {
            gpu: gpu.to_owned(),
            workload: workload.to_owned(),
            size: size.to_owned(),
            launch: number(launch)?,
            entry: entry.to_owned(),
            registers: u32::try_from(number(registers)?)?,
            cycles: number(cycles)?,
            warp_instructions: number(warp_instructions)?,
        })
    })
}

/// Launches the kernels of programs on the GPU and adds a line to the file `list` for each launch
/// that a profiler observes. No program starts after the time limit.
pub fn launch_all(
    subjects: &[Subject],
    list: &Path,
    limit: Duration,
    spec: impl FnOnce(&Gpu) -> Result<GpuSpec>,
) -> Result<()> {
    let gpu = Gpu::open()?;
    let spec = spec(&gpu)?;
    let mut machine = gpu.machine()?;
    let mut list = File::create(list).context("cannot write the list of launches")?;
    let start = Instant::now();
    for subject in subjects {
        let Subject { name, size, .. } = subject;
        if start.elapsed() > limit {
            writeln!(io::stderr(), "{name} {size}: no time is left")?;
            continue;
        }
        let said = match launch(subject, &spec, &mut machine, &mut list) {
            Ok(said) => said,
            Err(error) => format!("{error:#}"),
        };
        writeln!(io::stderr(), "{name} {size}: {said}")?;
    }
    Ok(())
}

/// Runs a program and describes its outputs.
fn launch(
    subject: &Subject,
    spec: &GpuSpec,
    machine: &mut GpuMachine<'_>,
    list: &mut File,
) -> Result<String> {
    let mut program = subject.program(spec)?;
    let mut note = |launched: &Launched| {
        let Launched { number, entry } = launched;
        writeln!(
            list,
            "{}\t{}\t{number}\t{entry}",
            subject.name, subject.size
        )
    };
    let checks = replay(
        program.as_mut(),
        subject.ptx(),
        machine,
        LAUNCHES,
        &mut note,
    )?;
    Ok(match checks.iter().find(|check| !check.passed) {
        Some(check) => format!("differs: {}: {}", check.name, check.detail),
        None => format!("{} outputs are right", checks.len()),
    })
}

/// Measures programs under `ncu` and returns the lines of the data for a GPU. The programs are
/// given by name; none stands for all.
pub fn record(gpu: &str, folder: &Path, limit: Duration, only: &[String]) -> Result<String> {
    let (list, log) = (folder.join("launches.tsv"), folder.join("counters.csv"));
    let mut command = Command::new("ncu");
    command.args(["--csv", "--page", "raw", "--print-units", "base"]);
    command.args(["--clock-control", "none", "--cache-control", "all"]);
    command.args(["--profile-from-start", "off"]);
    command.args(["--metrics", &COUNTERS.join(",")]);
    command.arg("--log-file").arg(&log);
    command.arg(std::env::current_exe()?);
    command.args(["correlate", "--launch-only"]).arg(&list);
    command.arg("--time-limit").arg(limit.as_secs().to_string());
    command.args(only.iter().flat_map(|name| ["--workload", name]));
    let status = command.status().context(
        "cannot start `ncu`, which reads the counters: install Nsight Compute, a part of CUDA",
    )?;
    ensure!(status.success(), "ncu failed: see {}", log.display());
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    joined(gpu, &read(&list)?, &read(&log)?)
}

/// The data with new lines for some programs in place of the old ones.
pub fn merged(old: &str, new: &str) -> String {
    let program = |line: &str| -> String {
        let cells: Vec<&str> = line.split('\t').take(3).collect();
        cells.join("\t")
    };
    let renewed: BTreeSet<String> = new.lines().map(program).collect();
    let kept = old
        .lines()
        .filter(|line| !line.starts_with('#') && !renewed.contains(&program(line)));
    let lines = kept.chain(new.lines().filter(|line| !line.starts_with('#')));
    lines.fold(COLUMNS.to_owned(), |text, line| text + line + "\n")
}

/// Lines of the data from the list of launches and the table of `ncu`, which are in the same order.
fn joined(gpu: &str, list: &str, table: &str) -> Result<String> {
    let mut lines = table.lines().filter(|line| line.starts_with('"'));
    let head = fields(lines.next().context("ncu wrote no table")?);
    let column = |name: &str| {
        let found = head.iter().position(|column| column == name);
        found.with_context(|| format!("ncu wrote no column `{name}`"))
    };
    let columns = COUNTERS
        .map(column)
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let name = column("Kernel Name")?;
    // The second line has the units.
    let launches: Vec<Vec<String>> = lines.skip(1).map(fields).collect();
    let names: Vec<&str> = list.lines().collect();
    ensure!(
        launches.len() == names.len(),
        "ncu has {} launches instead of {}",
        launches.len(),
        names.len()
    );
    let mut text = String::new();
    for (launch, names) in launches.iter().zip(names) {
        let cell = |column: usize| launch.get(column).map_or("", String::as_str);
        let entry = names.rsplit('\t').next().unwrap_or_default();
        ensure!(
            cell(name).split('(').next() == Some(entry),
            "ncu has `{}` instead of `{entry}`",
            cell(name)
        );
        let _ = write!(text, "{gpu}\t{names}");
        for &column in &columns {
            let digits = cell(column).split('.').next().unwrap_or_default();
            let _ = write!(text, "\t{}", digits.replace(',', ""));
        }
        text.push('\n');
    }
    Ok(text)
}

/// Cells of a line of CSV in which every cell is quoted.
fn fields(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('"').trim_end_matches('"');
    inner.split("\",\"").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{COUNTERS, joined, measured, merged};

    fn table(rows: &[(&str, &str)]) -> String {
        let quoted = |cells: Vec<&str>| format!("\"{}\"\n", cells.join("\",\""));
        let mut text = String::from("==PROF== a message\n");
        text += &quoted([&["ID", "Kernel Name"], &COUNTERS[..]].concat());
        text += &quoted(vec![""; COUNTERS.len() + 2]);
        for (name, value) in rows {
            text += &quoted([&["0", *name], &[*value; COUNTERS.len()][..]].concat());
        }
        text
    }

    #[test]
    fn the_list_names_the_launches_of_the_table() {
        let list = "atax\tsmall\t0\tatax1\natax\tsmall\t1\tatax2\n";
        let table = table(&[("atax1", "1,234"), ("atax2(float *)", "7.00")]);
        let text = joined("h200-hopper", list, &table).expect("a table");
        let rows = measured(&text).expect("data");
        assert_eq!([rows[0].cycles, rows[1].cycles], [1234, 7]);
        assert_eq!([rows[0].launch, rows[1].launch], [0, 1]);
        assert_eq!(rows[1].entry, "atax2");
    }

    #[test]
    fn new_lines_take_the_place_of_the_same_programs() {
        let old = "# head\ng\ta\tsmall\t0\told\ng\ta\tpaper\t0\tkept\n";
        let new = "g\ta\tsmall\t0\tnew\n";
        let text = merged(old, new);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines, ["g\ta\tpaper\t0\tkept", "g\ta\tsmall\t0\tnew"]);
    }

    #[test]
    fn a_table_of_other_launches_is_refused() {
        let list = "atax\tsmall\t0\tatax1\n";
        assert!(joined("h200-hopper", list, &table(&[("other", "1")])).is_err());
        assert!(joined("h200-hopper", list, &table(&[])).is_err());
        assert!(joined("h200-hopper", list, "").is_err());
    }
}
