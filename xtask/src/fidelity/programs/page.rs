//! Text of the section of `docs/fidelity.md` on whole programs, computed from pairs of launches.

use std::fmt::Write as _;

use anyhow::Result;
use warploom_report::grouped;

use super::{Launch, Measured, Pairs, Program, Recorded, off_by};
use crate::fidelity::CONFIGURATIONS;

/// Heading of the section.
pub const TITLE: &str = "\n## Whole programs\n";

/// Difference above which a kernel is listed.
const LISTED: f64 = 0.03;

const HEAD: &str = "\
Public programs run on both simulators: the same executable with the same input, unmodified except
where a program's section says otherwise. Cycles are those of each launch, as above. *Without
latency* excludes the launch latency of the configuration (none on SM2_GTX480, 5,000 cycles per
launch on SM7_QV100), which is a large part of small kernels. *Mean* is the mean of the launches'
absolute differences. Each simulator determines the registers per thread itself: GPGPU-Sim asks
`ptxas`, and `warploom app` counts live ranges.
";

/// The section of the page on whole programs.
///
/// # Errors
/// If a program's launches were not measured, or are not those of GPGPU-Sim.
pub fn section(recorded: &Recorded, ours: &Measured) -> Result<String> {
    let mut text = format!(
        "{TITLE}\n{HEAD}\nGPGPU-Sim's figures: {}\n\nWarploom's figures: version {}, by `cargo xtask fidelity --programs FOLDER`.\n",
        recorded.source, ours.version
    );
    let mut programs = Vec::new();
    for program in &recorded.programs {
        programs.push((program, program.pairs(ours)?));
    }
    for configuration in &CONFIGURATIONS {
        summary(&mut text, configuration.name, &programs);
    }
    listed(&mut text, &programs);
    for (program, pairs) in &programs {
        launches(&mut text, program, pairs);
    }
    Ok(text)
}

type Compared<'a> = (&'a Program, Vec<Pairs<'a>>);

fn summary(text: &mut String, configuration: &str, programs: &[Compared<'_>]) {
    let _ = write!(
        text,
        "\n### Programs on {configuration}\n\n\
         | program | launches | GPGPU-Sim | Warploom | difference | without latency | mean |\n\
         |---|--:|--:|--:|--:|--:|--:|\n"
    );
    let mut totals = Vec::new();
    let mut means = Vec::new();
    for (program, pairs) in programs {
        for pairs in pairs.iter().filter(|p| p.configuration == configuration) {
            let (theirs, ours) = pairs.totals();
            let mean = mean(pairs.launches.iter().map(off));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                program.name,
                pairs.launches.len(),
                grouped(theirs),
                grouped(ours),
                signed(off_by(theirs, ours)),
                signed(pairs.without_latency()),
                percent(mean),
            );
            totals.push(off_by(theirs, ours));
            means.push(mean);
        }
    }
    let _ = writeln!(
        text,
        "\n{} programs. Mean absolute difference of the programs: {}; mean of their launches' means: {}.",
        totals.len(),
        percent(mean(totals.into_iter())),
        percent(mean(means.into_iter())),
    );
}

impl Pairs<'_> {
    /// Difference of the totals, without the launch latencies of both.
    fn without_latency(&self) -> f64 {
        let of = CONFIGURATIONS.iter().find(|c| c.name == self.configuration);
        let latency = of.map_or(0, |of| of.launch_latency) * self.launches.len() as u64;
        let (theirs, ours) = self.totals();
        off_by(theirs.saturating_sub(latency), ours.saturating_sub(latency))
    }
}

/// Lists kernels with a launch whose difference exceeds the limit.
fn listed(text: &mut String, programs: &[Compared<'_>]) {
    let _ = write!(
        text,
        "\n### Launches that differ by more than {}\n\n",
        percent(LISTED)
    );
    let start = text.len();
    for (program, pairs) in programs {
        for pairs in pairs {
            let mut kernels: Vec<&str> = Vec::new();
            for (theirs, _) in &pairs.launches {
                if !kernels.contains(&&*theirs.kernel) {
                    kernels.push(&theirs.kernel);
                }
            }
            for kernel in kernels {
                list(text, program, pairs, kernel);
            }
        }
    }
    let end = if text.len() == start {
        "None.\n"
    } else {
        "\n`docs/deviations.md` explains the causes, as far as they are known.\n"
    };
    text.push_str(end);
}

fn list(text: &mut String, program: &Program, pairs: &Pairs<'_>, kernel: &str) {
    let of_it = || pairs.launches.iter().filter(|pair| pair.0.kernel == kernel);
    let far: Vec<f64> = of_it().map(off).filter(|off| off.abs() > LISTED).collect();
    let worst = far
        .iter()
        .copied()
        .max_by(|a, b| a.abs().total_cmp(&b.abs()));
    if let Some(worst) = worst {
        let _ = writeln!(
            text,
            "- {}, {}: `{}`, {} of {} launches, at most {}",
            pairs.configuration,
            program.name,
            short(kernel),
            far.len(),
            of_it().count(),
            signed(worst),
        );
    }
}

fn launches(text: &mut String, program: &Program, pairs: &[Pairs<'_>]) {
    let arguments = match program.arguments.join(" ").as_str() {
        "" => "without arguments".to_owned(),
        arguments => format!("`{arguments}`"),
    };
    let input = match program.input.as_str() {
        "" => String::new(),
        input => format!("; {input}"),
    };
    let _ = write!(
        text,
        "\n### {}\n\n{}, {arguments}{input}.\n",
        program.name, program.suite
    );
    for pairs in pairs {
        let _ = write!(
            text,
            "\n| {} | kernel | instructions | GPGPU-Sim | Warploom | difference |\n|--:|---|--:|--:|--:|--:|\n",
            pairs.configuration
        );
        for (index, pair) in pairs.launches.iter().enumerate() {
            launch(text, index + 1, pair);
        }
    }
}

fn launch(text: &mut String, number: usize, pair: &(&Launch, &Launch)) {
    let (theirs, ours) = pair;
    let instructions = if theirs.instructions == ours.instructions {
        grouped(theirs.instructions)
    } else {
        format!(
            "{} / {}",
            grouped(theirs.instructions),
            grouped(ours.instructions)
        )
    };
    let _ = writeln!(
        text,
        "| {number} | {} | {instructions} | {} | {} | {} |",
        short(&theirs.kernel),
        grouped(theirs.cycles),
        grouped(ours.cycles),
        signed(off(pair)),
    );
}

fn off(pair: &(&Launch, &Launch)) -> f64 {
    off_by(pair.0.cycles, pair.1.cycles)
}

/// The plain name of the function in a mangled C++ name, if it has one.
fn short(kernel: &str) -> &str {
    let plain = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest.get(..digits)?.parse().ok()?;
        Some(digits..digits + length)
    };
    let name = kernel.strip_prefix("_Z").map(|rest| (rest, plain(rest)));
    match name {
        Some((rest, Some(range))) => rest.get(range).unwrap_or(kernel),
        _ => kernel,
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.map(f64::abs).sum::<f64>() / count as f64
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
