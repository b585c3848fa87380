//! HTML pages: what only this crate knows, and the page of a single run.

use std::time::SystemTime;
use warploom_analyze::{Machine, analyze};
use warploom_config::GpuSpec;
use warploom_report::{Imprint, html, run_page};
use warploom_stats::result::RunReport;

/// Time and place of a page that is made now.
pub fn imprint() -> Imprint {
    Imprint {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        program: concat!("warploom ", env!("CARGO_PKG_VERSION")).to_owned(),
        machine: machine(),
    }
}

/// The page of a run on a GPU.
pub fn of_run(gpu: &GpuSpec, result: &RunReport) -> String {
    let machine = Machine::new(gpu, warploom_noc::sustainable(gpu));
    let analysis = analyze(&machine, result);
    let page = run_page(result, analysis.as_ref());
    html(&result.command, &imprint(), &[page])
}

/// Description of this computer: processor, cores, operating system.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|rest| rest.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}
