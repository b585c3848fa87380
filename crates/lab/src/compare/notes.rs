//! Sentences without which a comparison would be misread.

use super::{Comparison, by_kernel, compared, is_cut, is_stopped};
use crate::runs::UsedRun;
use warploom_config::UnreadKeys;
use warploom_report::{
    CutRun, DigestOf, LargestLaunch, LaunchTime, causes_left_out, cut_runs_told, equal_runs_told,
    grouped, idle_sms_told, launch_share, long_launches_told, unbegun_told,
};
use warploom_stats::result::{Begun, RunReport};

impl Comparison {
    /// Sentences on keys that no run reads, on runs that were cut, and how far they came, on grids
    /// without a block for each SM, on launches that take much of a run, on programs that never
    /// issued an instruction, and on runs that are equal although their settings differ.
    pub(super) fn notes(&self, used: &[UsedRun]) -> Vec<String> {
        let runs: Vec<&UsedRun> = compared(used).collect();
        let reports: Vec<&RunReport> = runs.iter().map(|(_, report)| &**report).collect();
        let mut notes = unread(&runs);
        notes.extend(self.sampled(&runs));
        notes.extend(self.cut(&reports));
        notes.extend(self.stopped(&reports));
        if self.programs.is_none() {
            notes.extend(unbegun(&runs));
            notes.extend(cut_runs(&runs));
            notes.extend(self.idle(&runs));
            notes.extend(long_launches(&runs));
            if self.sample_error.is_none() {
                notes.extend(by_kernel::told(&runs));
            }
        }
        notes.extend(silent(&reports));
        notes.extend(equal(&runs, self.sample_error.is_some()));
        notes.extend(causes_left_out(runs.len()));
        notes
    }

    /// How many of the runs were cut, if any were.
    fn cut(&self, runs: &[&RunReport]) -> Option<String> {
        let cycles = self.max_cycles?;
        let cut = runs.iter().filter(|run| is_cut(run)).count();
        (cut > 0).then(|| {
            format!(
                "{cut} of {} runs were cut at --max-cycles {}: their speedups are ratios of IPC in \
                 that time, and whole runs may differ (docs/comparing.md, Cut runs)",
                runs.len(),
                grouped(cycles)
            )
        })
    }

    /// How many of the runs were stopped after some launches, if any were.
    fn stopped(&self, runs: &[&RunReport]) -> Option<String> {
        let launches = self.max_launches?;
        let stopped = runs.iter().filter(|run| is_stopped(run)).count();
        let all = self.input.launches();
        let all = match all.is_exact {
            true => format!(" of {}", grouped(all.least)),
            false => String::new(),
        };
        (stopped > 0).then(|| {
            format!(
                "{stopped} of {} runs were stopped after --max-launches {}{all}: cycles and speedups \
                 are for these launches, and outputs were not checked",
                runs.len(),
                grouped(launches)
            )
        })
    }

    /// The grid that leaves most SMs without a block: the largest of its run.
    fn idle(&self, runs: &[&UsedRun]) -> Option<String> {
        let largest = |(spec, report): &&UsedRun| {
            let most = report
                .kernels
                .iter()
                .map(|kernel| kernel.grid.count())
                .max()?;
            let sms = u64::from(spec.machine.spec.gpu.sms);
            Some((sms.saturating_sub(most), most, sms))
        };
        let (_, most, sms) = runs.iter().copied().filter_map(|run| largest(&run)).max()?;
        idle_sms_told(&[LargestLaunch {
            program: self.input.name(),
            machine: "",
            blocks: most,
            sms,
        }])
    }
}

/// Keys that were set or varied and that none of the runs reads.
fn unread(runs: &[&UsedRun]) -> Vec<String> {
    let mut keys = UnreadKeys::new();
    for (spec, _) in runs {
        let names = spec.machine.sets.iter();
        let names = names.filter_map(|set| Some(set.split_once('=')?.0.trim()));
        keys.add(names, &spec.machine.spec);
    }
    keys.told().into_iter().map(|(told, _)| told).collect()
}

/// Runs that were cut before their first instruction.
fn unbegun(runs: &[&UsedRun]) -> Vec<String> {
    let unbegun = runs.iter().filter(|(_, run)| run.is_cut_at_start());
    let cycles = unbegun
        .clone()
        .map(|(spec, _)| spec.machine.spec.gpu.kernel_launch_cycles);
    let cycles = cycles.max().unwrap_or(0).into();
    let named: Vec<_> = unbegun
        .map(|(spec, run)| (spec.machine.name.as_str(), run.begun()))
        .collect();
    unbegun_told(&named, cycles, "--max-cycles")
}

/// Runs that issued instructions, and whose launches take a large part of their time.
fn long_launches(runs: &[&UsedRun]) -> Option<String> {
    let begun = runs
        .iter()
        .filter(|(_, run)| run.begun() == Begun::Instructions);
    let times = begun.map(|(spec, run)| {
        let cycles = spec.machine.spec.gpu.kernel_launch_cycles.into();
        LaunchTime {
            name: &spec.machine.name,
            cycles,
            share: launch_share(run, cycles),
        }
    });
    let times: Vec<_> = times.collect();
    long_launches_told(&times, "`--set gpu.kernel_launch_cycles=0`")
}

/// Runs that are the same in every cycle, as far as they are timed.
fn equal(runs: &[&UsedRun], sampled: bool) -> Option<String> {
    let begun = runs
        .iter()
        .filter(|(_, run)| run.begun() == Begun::Instructions);
    let digests = begun.map(|(spec, run)| DigestOf {
        name: &spec.machine.name,
        digest: &run.digest,
    });
    equal_runs_told(&digests.collect::<Vec<_>>(), sampled)
}

/// How far cut runs came, and which launches they lack.
fn cut_runs(runs: &[&UsedRun]) -> Vec<String> {
    let cut = runs.iter().filter(|(_, run)| is_cut(run));
    let begun = cut.filter(|(_, run)| run.begun() == Begun::Instructions);
    let cut: Vec<_> = begun
        .filter_map(|(spec, run)| {
            Some(CutRun {
                program: spec.input.name(),
                name: &spec.machine.name,
                reached: run.reached()?,
                launches: spec.launches(),
            })
        })
        .collect();
    cut_runs_told(&cut)
}

/// The programs of cut runs that never issued an instruction.
fn silent(runs: &[&RunReport]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs.iter().filter(|run| is_cut(run)) {
        for process in &run.processes {
            if process.thread_instructions == 0 && !names.contains(&process.name.as_str()) {
                names.push(&process.name);
            }
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "no block of {} had started in at least one row when its run was cut: other programs held \
             the SMs (gpu.multiprogram)",
            names.join(", ")
        )
    })
}
