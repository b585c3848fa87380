//! A warp scheduler of one's own, compared with the built-in `gto` on the kernel of `../saxpy`.
//!
//!     cargo run

mod fewest_issues;

use fewest_issues::FewestIssues;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_policy::{CustomPolicies, Make, WarpScheduler};
use warploom_run::launch_file::{LaunchFile, Limits};
use warploom_run::{Options, Session};
use warploom_stats::result::RunReport;

/// The machine: a preset with a change, as `--gpu gtx480 --set sm.warp_scheduler=gto`.
fn machine() -> Result<GpuSpec, Box<dyn Error>> {
    let base = Base::Preset("gtx480".to_owned());
    Ok(resolve(&base, &["sm.warp_scheduler=gto".to_owned()])?)
}

/// Runs a launch file with these policies in place of those of the machine.
fn run(file: &Path, policies: CustomPolicies) -> Result<RunReport, Box<dyn Error>> {
    let machine = machine()?;
    let mut program = LaunchFile::load(file)?.program(Limits::of(&machine))?;
    let options = Options {
        policies,
        ..Options::default()
    };
    let mut progress = |_: &_| ControlFlow::Continue(());
    Ok(Session::new(machine, options).run(&mut program, &mut progress)?)
}

/// Cycles of a launch file with `gto` and with the policy of this crate.
pub fn compare(file: &Path) -> Result<[RunReport; 2], Box<dyn Error>> {
    let own = CustomPolicies {
        warp: Some(Make::<dyn WarpScheduler>::new(|_| {
            Box::new(FewestIssues::default())
        })),
        ..CustomPolicies::default()
    };
    Ok([run(file, CustomPolicies::default())?, run(file, own)?])
}

#[allow(dead_code, reason = "the tests of Warploom call `compare` instead")]
fn main() -> Result<(), Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../saxpy/saxpy.toml");
    let [gto, own] = compare(&file)?;
    let cycles = |run: &RunReport| run.totals.figures.cycles;
    println!("gto            {:>7} cycles", cycles(&gto));
    println!("fewest issues  {:>7} cycles", cycles(&own));
    println!("outputs are right: {}", gto.succeeded() && own.succeeded());
    Ok(())
}
