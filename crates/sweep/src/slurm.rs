//! Array jobs of Slurm whose elements are workers: the script, the sizes of the arrays, and what
//! Slurm's commands print. The state of runs comes from the sweep's folder, so that it is known
//! without Slurm's accounting.

use crate::folder::Folder;
use crate::plan::Sweep;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Number of workers that are asked for unless the sweep names one.
const WORKERS: u32 = 64;

/// Largest array of Slurm's default configuration.
const MAX_ARRAY_SIZE: u32 = 1001;

/// Exit status of a worker that asks to be started again.
pub const START_AGAIN: u8 = 75;

/// Number of workers for a number of open runs.
pub fn workers(sweep: &Sweep, asked: Option<u32>, open: usize) -> u32 {
    let cores = cores(sweep) as usize;
    let useful = u32::try_from(open.div_ceil(cores)).unwrap_or(u32::MAX);
    asked.or(sweep.slurm.workers).unwrap_or(WORKERS).min(useful)
}

/// Number of simultaneous runs of a worker.
fn cores(sweep: &Sweep) -> u32 {
    sweep.slurm.cores.unwrap_or(1)
}

/// Sizes of the arrays that together have a number of elements. Indices count from 0 and must be
/// smaller than `max_array_size`.
pub fn arrays(workers: u32, max_array_size: u32) -> Vec<u32> {
    let most = max_array_size.max(2) - 1;
    let whole = (0..workers / most).map(|_| most);
    let rest = Some(workers % most).filter(|rest| *rest > 0);
    whole.chain(rest).collect()
}

/// `MaxArraySize` in what `scontrol show config` prints; Slurm's default if it is not there.
pub fn max_array_size(config: &str) -> u32 {
    let line = config
        .lines()
        .find_map(|line| line.strip_prefix("MaxArraySize"));
    let value = line.and_then(|line| line.split('=').nth(1)?.trim().parse().ok());
    value.unwrap_or(MAX_ARRAY_SIZE)
}

/// Script of the jobs. The user's options, shell lines and words before the command come from the
/// sweep's file.
pub fn script(folder: &Folder, sweep: &Sweep, program: &Path) -> String {
    let logs = folder.state().join("logs/%A_%a.txt");
    let cores = cores(sweep);
    let mut text = format!(
        "#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n\
         #SBATCH --requeue\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task={cores}\n",
        folder.name(),
        logs.display()
    );
    for option in &sweep.slurm.options {
        let _ = writeln!(text, "#SBATCH {option}");
    }
    for line in &sweep.slurm.before {
        let _ = writeln!(text, "{line}");
    }
    let words = [
        quoted(&program.to_string_lossy()),
        quoted(&folder.state().to_string_lossy()),
    ];
    let [program, state] = words;
    let wrap = match sweep.slurm.wrap.trim() {
        "" => String::new(),
        words => format!("{words} "),
    };
    let _ = write!(
        text,
        "left=$(squeue -h -j \"$SLURM_JOB_ID\" -o %L)\n\
         {wrap}{program} sweep worker {state} --threads {cores} --time-left \"$left\"\nstatus=$?\n\
         # The time of the job was over, and runs remain.\n\
         if [ $status -eq {START_AGAIN} ]; then\n    \
         scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"\nfi\nexit $status\n"
    );
    text
}

/// Time that a job has left, as `squeue -o %L` prints it: `1-02:03:04`, `2:03:04`, `3:04` or `4`.
/// `None` without a limit, or if Slurm did not answer.
pub fn time_left(printed: &str) -> Option<Duration> {
    let (days, clock) = printed
        .trim()
        .split_once('-')
        .unwrap_or(("0", printed.trim()));
    let mut seconds: u64 = 0;
    for part in clock.split(':') {
        seconds = seconds * 60 + part.parse::<u64>().ok()?;
    }
    Some(Duration::from_secs(
        seconds + days.parse::<u64>().ok()? * 86_400,
    ))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Numbers of array elements by their state, from what `squeue -h -r -o %T` prints: one state a
/// line.
pub fn states(printed: &str) -> BTreeMap<String, usize> {
    let mut states = BTreeMap::new();
    for state in printed
        .lines()
        .map(str::trim)
        .filter(|state| !state.is_empty())
    {
        *states.entry(state.to_lowercase()).or_default() += 1;
    }
    states
}

/// Number of a job in what `sbatch --parsable` prints: `17` or `17;cluster`.
pub fn job(printed: &str) -> Option<&str> {
    let job = printed.trim().split(';').next()?;
    (!job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit())).then_some(job)
}

#[cfg(test)]
mod tests {
    use super::{arrays, job, max_array_size, quoted, script, states, time_left};
    use crate::expand::expand;
    use crate::folder::Folder;
    use crate::plan::Sweep;
    use std::path::Path;
    use warploom_diag::Source;

    #[test]
    fn arrays_stay_below_the_largest_size() {
        assert_eq!(arrays(3, 1001), [3]);
        assert_eq!(arrays(1000, 1001), [1000]);
        assert_eq!(arrays(2500, 1001), [1000, 1000, 500]);
        assert_eq!(
            max_array_size("Licenses = (null)\nMaxArraySize            = 42\nMaxB = 1"),
            42
        );
        assert_eq!(max_array_size(""), 1001);
    }

    #[test]
    fn what_slurm_prints_is_read() {
        assert_eq!(job("17;cluster\n"), Some("17"));
        assert_eq!(
            (job("17\n"), job("sbatch: error"), job("")),
            (Some("17"), None, None)
        );
        let seconds = |printed| time_left(printed).map(|left| left.as_secs());
        assert_eq!(seconds("59\n"), Some(59));
        assert_eq!(seconds("0:59"), Some(59));
        assert_eq!(seconds("3:59:59"), Some(4 * 3600 - 1));
        assert_eq!(seconds("1-00:00:01"), Some(86_401));
        assert_eq!(
            (seconds("UNLIMITED"), seconds("NOT_SET"), seconds("")),
            (None, None, None)
        );
        let found = states("PENDING\nRUNNING\n PENDING\n\n");
        assert_eq!((found["pending"], found["running"], found.len()), (2, 1, 2));
    }

    #[test]
    fn the_script_has_what_the_user_adds() {
        let text = "[axes]\ntarget = \"a\"\n[slurm]\ncores = 2\n\
                    options = [\"--account=lab\", \"--time=4:00:00\"]\n\
                    before = \"module load gcc\"\nwrap = \"apptainer exec image.sif\"";
        let spec = crate::read(&Source::new("s.toml", text), crate::read::SOME).unwrap();
        let sweep = Sweep::new(&spec, &expand(&spec).unwrap(), "b", "0", "c");
        let folder = Folder::new(Path::new("/shared/it's"), "s");
        let script = script(&folder, &sweep, Path::new("/p/warploom"));
        for line in [
            "#SBATCH --cpus-per-task=2",
            "#SBATCH --account=lab",
            "#SBATCH --time=4:00:00",
            "module load gcc",
            "apptainer exec image.sif '/p/warploom' sweep worker '/shared/it'\\''s/sweep/s' --threads 2 --time-left \"$left\"",
        ] {
            assert!(
                script.lines().any(|other| other == line),
                "{line}: {script}"
            );
        }
        assert_eq!(quoted("a b"), "'a b'");
    }
}
