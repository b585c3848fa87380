//! `cargo xtask docs`: writes `docs/generated` from the program's own tables.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warploom_config::{PRESETS, Preset, Sheet};
use warploom_gpu::registry::TABLES;
use warploom_stats::{DIGEST_COUNTERS, DIGEST_SET, METRICS};
use warploom_workloads::{KernelInfo, Variant, all};

/// A page below `docs/generated`.
struct Page {
    file: &'static str,
    text: String,
}

fn pages() -> [Page; 6] {
    let page = |file, text| Page { file, text };
    [
        page("gpus.md", gpus()),
        page("keys.md", warploom_config::keys_markdown()),
        page(
            "gpgpusim-options.md",
            warploom_config::gpgpusim::options_markdown(),
        ),
        page("policies.md", policies()),
        page("statistics.md", statistics()),
        page("workloads.md", workloads()),
    ]
}

/// Writes every page below the workspace at `root`.
pub fn run(root: &Path) -> Result<()> {
    let folder = root.join("docs/generated");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for page in pages().into_iter().chain([microbench()]) {
        let path = write(&folder, page)?;
        writeln!(io::stdout(), "{}", path.display())?;
    }
    Ok(())
}

fn write(folder: &Path, page: Page) -> Result<PathBuf> {
    let path = folder.join(page.file);
    fs::write(&path, page.text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Measurements of every preset. They are not among `pages`, because they take a while and the
/// crate's own test compares them.
fn microbench() -> Page {
    let gpus: Vec<_> = PRESETS
        .iter()
        .filter_map(|row| warploom_config::preset(row.name).ok())
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = warploom_microbench::measure(&gpus, threads);
    Page {
        file: "microbench.md",
        text: warploom_microbench::markdown(&rows),
    }
}

fn gpus() -> String {
    let mut text = String::from(
        "# GPUs\n\n\
         Generated from the presets. `--gpu NAME` selects a preset, and `warploom show gpu NAME`\n\
         prints its data sheet. Registers and shared memory are per SM. Bandwidths are peak\n\
         values; that of the interconnect is per direction. Latencies are those of a load on an\n\
         idle machine in core cycles.\n\n\
         | name | SMs | core MHz | warps | schedulers | registers | shared KB | L1D KB | L2 KB \
         | f32 GFLOP/s | interconnect GB/s | L2 GB/s | DRAM GB/s | L2 latency | DRAM latency |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let presets: Vec<_> = PRESETS
        .iter()
        .map(|preset| (preset, sheet(preset)))
        .collect();
    for (preset, sheet) in &presets {
        let figures = [
            f64::from(sheet.sm.count),
            sheet.clocks.core_mhz,
            f64::from(sheet.sm.max_warps),
            f64::from(sheet.sm.schedulers),
            f64::from(sheet.sm.registers),
            f64::from(sheet.sm.shared_bytes >> 10),
            f64::from(sheet.l1d.size_bytes >> 10),
            f64::from(sheet.l2.size_bytes >> 10),
            sheet.rates.f32.giga_ops_per_second,
            sheet.noc.per_direction.gb_per_second,
            sheet.l2.bandwidth.gb_per_second,
            sheet.dram.bandwidth.gb_per_second,
            f64::from(sheet.latencies.l2.cycles),
            f64::from(sheet.latencies.dram.cycles),
        ];
        let cells = figures.map(|figure| format!(" {figure:.0} |"));
        let _ = writeln!(text, "| `{}` |{}", preset.name, cells.concat());
    }
    text.push('\n');
    for (preset, _) in &presets {
        let _ = writeln!(text, "- `{}`: {}", preset.name, preset.about());
    }
    text
}

fn sheet(preset: &Preset) -> Sheet {
    let spec = warploom_config::preset(preset.name);
    Sheet::new(&spec.expect("a test resolves every preset"))
}

fn policies() -> String {
    let mut text = String::from(
        "# Policies\n\n\
         Generated from the policies' tables. Choose one with `--set KEY=NAME`; its settings are\n\
         keys `NAME.SETTING` of `keys.md`. `warploom list policies` prints the same. The column\n\
         `state` lists the state of a policy in addition to that of every SM (such as the ages of\n\
         warps). The column `bits` is for `gtx480`. Replacement policies\n\
         are listed for L1D; the key of every other cache takes the same names.\n\
         `docs/adding-a-policy.md` explains how to add a policy.\n\n\
         | key | name | what it does | source | state | bits | work of a choice |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let gtx480 = warploom_config::preset("gtx480").expect("a test resolves every preset");
    for policy in warploom_policy::all() {
        let facts = policy.facts;
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} | {} | {} | {} | {} |",
            policy.key,
            policy.name,
            facts.about,
            facts.source,
            facts.state,
            policy.storage(&gtx480),
            facts.complexity,
        );
    }
    for policy in warploom_mem::cache::cache_policies(&gtx480) {
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} | {} | {} | {} | {} |",
            policy.key,
            policy.name,
            policy.about,
            policy.source,
            policy.state,
            policy.storage,
            policy.complexity,
        );
    }
    text
}

fn statistics() -> String {
    let mut text = String::from(
        "# Statistics\n\n\
         Generated from the declarations. `{a,b}` in a name stands for one statistic per word.\n\
         Figures computed from counters come first. The last column is GPGPU-Sim's name.\n\n\
         | name | unit | meaning | GPGPU-Sim |\n|---|---|---|---|\n",
    );
    let tables: Vec<_> = std::iter::once(METRICS)
        .chain(TABLES.iter().copied())
        .collect();
    for row in warploom_stats::rows(&tables) {
        let theirs = row
            .gpgpusim
            .map_or(String::new(), |name| format!("`{name}`"));
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {theirs} |",
            row.name, row.unit, row.sentence
        );
    }
    let names: Vec<String> = DIGEST_COUNTERS.iter().map(|n| format!("- `{n}`")).collect();
    let _ = write!(
        text,
        "\n## Counters in the digest\n\n\
         The digest of a run, version {DIGEST_SET}, covers the final contents of memory, the kind of\n\
         outcome, the cycles of every launch and of the run, and these counters, by launch and in all.\n\
         The name of an array, or of a row of one, stands for the sum of its elements.\n\n{}\n",
        names.join("\n")
    );
    text
}

fn workloads() -> String {
    let mut text = String::from(
        "# Workloads\n\n\
         Generated from the workloads' own descriptions. `warploom run NAME`, `NAME@VARIANT`,\n\
         `NAME:KERNEL` or `NAME@VARIANT:KERNEL`, each with `--size test`, `small` or `paper`.\n\n\
         | name | what it computes | variants, the default first | kernels | source |\n\
         |---|---|---|---|---|\n",
    );
    for workload in all() {
        let variant = |v: &Variant| format!("`{}`: {}", v.name, v.sentence);
        let variants: Vec<_> = workload.variants.iter().map(variant).collect();
        let kernel = |k: &KernelInfo| format!("`{}`: {}", k.name, k.sentence);
        let kernels: Vec<_> = workload.kernels.iter().map(kernel).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {}: {} |",
            workload.name,
            workload.sentence,
            variants.join("<br>"),
            kernels.join("<br>"),
            workload.suite,
            workload.source,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::pages;
    use std::fs;
    use std::path::Path;

    /// `cargo xtask docs` or `WARPLOOM_BLESS=1` renews the pages. The latter renews only those that
    /// need no measurement.
    #[test]
    fn generated_pages_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/generated");
        if std::env::var_os("WARPLOOM_BLESS").is_some() {
            for page in pages() {
                super::write(&folder, page).unwrap();
            }
        }
        for page in pages() {
            let path = folder.join(page.file);
            let current = fs::read_to_string(path).unwrap_or_default();
            assert!(
                current == page.text,
                "{} is old: run `cargo xtask docs`",
                page.file
            );
        }
    }

    #[test]
    fn pages_are_tables_of_more_than_a_few_rows() {
        for page in pages() {
            let rows: Vec<_> = page
                .text
                .lines()
                .filter(|line| line.starts_with("| `"))
                .collect();
            assert!(rows.len() >= 8, "{}", page.file);
            let cells = |line: &str| line.matches(" | ").count();
            let is_row = |line: &str| line.starts_with("| ");
            let lines: Vec<_> = page.text.lines().collect();
            let broken = lines.windows(2).find(|pair| {
                pair.iter().all(|line| is_row(line)) && cells(pair[0]) != cells(pair[1])
            });
            assert_eq!(broken, None, "{}: a row breaks its table", page.file);
        }
    }
}
