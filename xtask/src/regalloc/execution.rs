//! Executes a program, so that its results can be compared.

use anyhow::{Result, ensure};
use warploom_run::{HostProgram, Options, Session, Substituted};
use warploom_stats::result::Outcome;

/// Result of a program.
#[derive(PartialEq, Eq, Debug)]
pub struct Left {
    /// Digest of device memory.
    pub memory: String,
}

/// Runs a program without timing, with the PTX `from` replaced by `to`. All its checks must pass.
pub fn execute(name: &str, program: Box<dyn HostProgram>, from: &str, to: &str) -> Result<Left> {
    let gpu = warploom_config::preset("gtx480")?;
    let session = Session::new(gpu, Options::default());
    let texts = vec![(from.to_owned(), to.to_owned())];
    let mut program = Substituted::new(program, texts);
    let run = session.run_functional(&mut program)?;
    ensure!(
        matches!(run.outcome, Outcome::Finished),
        "{name}: {:?}",
        run.outcome
    );
    for check in &run.checks {
        ensure!(check.passed, "{name}: {}: {}", check.name, check.detail);
    }
    Ok(Left { memory: run.memory })
}
