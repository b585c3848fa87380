//! `--gpu` and `--set`.

use crate::failure::Failure;
use std::path::Path;
use warploom_config::{Base, GpuSpec, find, resolve};
use warploom_run::launch_file::read;

/// Which GPU, and what to change of it.
#[derive(clap::Args)]
pub struct GpuArgs {
    /// Preset (`warploom list gpus`) or TOML file
    #[arg(long, value_name = "PRESET-or-FILE", default_value = "gtx480")]
    pub gpu: String,
    /// Change one key, for example `sm.warp_scheduler=lrr`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl GpuArgs {
    /// The specification.
    pub fn spec(&self) -> Result<GpuSpec, Failure> {
        spec(&self.gpu, &self.sets)
    }
}

/// The specification of a preset or file with changes.
pub fn spec(gpu: &str, sets: &[String]) -> Result<GpuSpec, Failure> {
    let path = Path::new(gpu);
    let is_file = gpu.ends_with(".toml") || (find(gpu).is_none() && path.is_file());
    let base = match is_file {
        true => Base::Text(read(path)?),
        false => Base::Preset(gpu.to_owned()),
    };
    Ok(resolve(&base, sets)?)
}
