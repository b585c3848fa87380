//! Option `--watch` of commands that may run for long.

use std::time::Duration;

/// Request for lines of progress.
#[derive(clap::Args)]
pub struct WatchArgs {
    /// Print a line of progress to standard error every SECONDS seconds (10 without a number),
    /// instead of the bar that a terminal shows, or of a line a minute without a terminal
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    watch: Option<u64>,
}

impl WatchArgs {
    /// Time between lines of progress, if these were requested.
    pub fn interval(&self) -> Option<Duration> {
        self.watch.map(Duration::from_secs)
    }
}
