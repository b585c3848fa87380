//! HTML pages: what only this crate knows, and the page of a single run.

use std::time::SystemTime;
use warploom_analyze::{Machine, analyze};
use warploom_config::{GpuSpec, preset};
use warploom_report::page::Page;
use warploom_report::{Imprint, html, run_page};
use warploom_run::config_values;
use warploom_stats::result::{Gpu, RunReport};

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
    let mut page = run_page(result, analysis.as_ref());
    tell_changes(&mut page, &result.gpu);
    html(&result.command, &imprint(), &[page])
}

/// Tells the keys of a page's only machine that its preset has with other values or not at all,
/// beside all keys of the preset. A machine that has no preset's name stays as it is.
fn tell_changes(page: &mut Page, gpu: &Gpu) {
    let Ok(preset) = preset(&gpu.name) else {
        return;
    };
    let keys = config_values(&preset);
    let changed = gpu.config.iter();
    let changed = changed.filter(|(key, value)| keys.get(*key) != Some(*value));
    let changed: Vec<String> = changed
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    for configuration in &mut page.configurations {
        configuration.overrides.clone_from(&changed);
    }
    page.presets.insert(gpu.name.clone(), keys);
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
