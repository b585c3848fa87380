//! Keys and options on which the results of a run depend, for its checkpoints.

use crate::process::Process;
use crate::session::{Options, Session, Timed};
use std::collections::BTreeMap;
use warploom_config::Setting;
use warploom_policy::CustomPolicies;

/// Keys of the machine, options of the run and its programs, with their values.
pub(super) fn settings(session: &Session, processes: &[Process<'_>]) -> BTreeMap<String, String> {
    let keys = session.spec().settings().into_iter();
    let keys = keys.filter(|(key, _)| key != "name");
    let keys = keys.map(|(key, value)| (key, text(value)));
    let options = session.options().that_matter().into_iter();
    let options = options.map(|(option, value)| (option.to_owned(), value));
    let programs = processes.iter().enumerate();
    let programs = programs.map(|(at, process)| (format!("program {at}"), process.described()));
    keys.chain(options).chain(programs).collect()
}

fn text(value: Setting) -> String {
    match value {
        Setting::Bool(value) => value.to_string(),
        Setting::Integer(value) => value.to_string(),
        Setting::Float(value) => value.to_string(),
        Setting::Text(value) => value,
    }
}

impl Options {
    /// The options by which results differ, with their values. A run that goes on has the same.
    fn that_matter(&self) -> Vec<(&'static str, String)> {
        let Timed {
            launches,
            kernels,
            blocks,
        } = &self.timed;
        let CustomPolicies {
            warp,
            sm_filter,
            block,
            block_limit,
            multiprogram,
        } = &self.policies;
        let own = [
            warp.is_some(),
            sm_filter.is_some(),
            block.is_some(),
            block_limit.is_some(),
            multiprogram.is_some(),
        ];
        vec![
            ("checks", format!("{:?}", self.checks)),
            ("timed launches", format!("{launches:?}")),
            ("timed kernels", format!("{kernels:?}")),
            ("timed blocks", format!("{blocks:?}")),
            ("bytes of memory", self.memory_bytes.to_string()),
            ("protection by pages", self.page_protection.to_string()),
            ("counters by part", self.parts.to_string()),
            ("window of counters", format!("{:?}", self.window_cycles)),
            ("most windows", format!("{:?}", self.most_windows)),
            ("own policies", format!("{own:?}")),
        ]
    }
}
