//! Contents of a figure: a table, summary values, charts. The claims are judged from these.

use crate::figures::{FigureInfo, judge};
use crate::runs::UsedRun;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use warploom_report::Chart;
use warploom_report::page::{Cell, Configuration, Page, RunLine, Table};
use warploom_run::config_values;
use warploom_stats::result::{ConfigValue, Outcome};
use warploom_workloads::Size;

/// Amount of simulation for a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As little as shows the effect; takes seconds.
    Test,
    /// A size between the other two.
    #[default]
    Small,
    /// Data sets of the sizes that the paper prints.
    Paper,
}

impl Scale {
    /// Size of workloads at this scale.
    pub const fn size(self) -> Size {
        match self {
            Self::Test => Size::Test,
            Self::Small => Size::Small,
            Self::Paper => Size::Paper,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.size().name())
    }
}

/// Error for a word that is not a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write test, small or paper")]
pub struct UnknownScale;

impl FromStr for Scale {
    type Err = UnknownScale;

    fn from_str(text: &str) -> Result<Self, UnknownScale> {
        match text {
            "test" => Ok(Self::Test),
            "small" => Ok(Self::Small),
            "paper" => Ok(Self::Paper),
            _ => Err(UnknownScale),
        }
    }
}

/// Parameters for making a figure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Amount of simulation for the figure.
    pub scale: Scale,
}

/// A figure that was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Data of the figure.
    pub table: Table,
    /// Summary values by name.
    pub summary: BTreeMap<String, Cell>,
    /// Charts of the picture, one below the other.
    pub charts: Vec<Chart>,
}

impl Figure {
    /// The page of a paper's figure, with the runs on which it is based.
    pub fn page(self, info: &FigureInfo, request: &Request, used: &[UsedRun]) -> Page {
        let (name, scale) = (info.full_name(), request.scale);
        let mut page = Page {
            paper: info.paper.to_owned(),
            figure: info.name.to_owned(),
            title: info.title.to_owned(),
            scale: scale.to_string(),
            command: format!("warploom reproduce {name} --scale {scale}"),
            ..self.into_page(used)
        };
        judge(std::slice::from_mut(&mut page));
        page
    }

    /// A page without names.
    pub(crate) fn into_page(self, used: &[UsedRun]) -> Page {
        Page {
            paper: String::new(),
            figure: String::new(),
            title: String::new(),
            scale: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: String::new(),
            table: self.table,
            summary: self.summary,
            explanation: Vec::new(),
            notes: Vec::new(),
            verdicts: Vec::new(),
            charts: self.charts,
            further_charts: Vec::new(),
            configurations: configurations(used),
            presets: presets(used),
            runs: used.iter().map(run_line).collect(),
            failures: Vec::new(),
        }
    }
}

/// The page of a figure that belongs to no paper, with its `kind` and `name`.
pub fn page(
    figure: Figure,
    used: &[UsedRun],
    kind: &str,
    name: &str,
    title: &str,
    command: &str,
) -> Page {
    Page {
        paper: kind.to_owned(),
        figure: name.to_owned(),
        title: title.to_owned(),
        command: command.to_owned(),
        ..figure.into_page(used)
    }
}

/// The machines, each once, in the order of their first run.
fn configurations(used: &[UsedRun]) -> Vec<Configuration> {
    let mut all: Vec<Configuration> = Vec::new();
    for (spec, _) in used {
        let machine = &spec.machine;
        let configuration = Configuration {
            name: machine.name.clone(),
            gpu: machine.gpu.clone(),
            overrides: machine.sets.clone(),
            digest: machine.spec.digest(),
        };
        if !all.contains(&configuration) {
            all.push(configuration);
        }
    }
    all
}

fn presets(used: &[UsedRun]) -> BTreeMap<String, BTreeMap<String, ConfigValue>> {
    let mut all = BTreeMap::new();
    for (spec, _) in used {
        all.entry(spec.machine.gpu.clone())
            .or_insert_with(|| config_values(&spec.machine.base));
    }
    all
}

fn run_line((spec, report): &UsedRun) -> RunLine {
    let figures = &report.totals.figures;
    let (cycles, ipc) = match &report.sampling {
        Some(sampling) => {
            let ipc = sampling.estimates.get("ipc").copied();
            let cycles = sampling.cycles().value.round() as u64;
            (cycles, ipc.unwrap_or_default().value)
        }
        None => (figures.cycles, figures.ipc),
    };
    RunLine {
        input: spec.input.name().to_owned(),
        configuration: spec.machine.name.clone(),
        command: spec.command(),
        cycles,
        ipc,
        ended: match report.outcome {
            _ if report.sampling.is_some() => "sampled".to_owned(),
            Outcome::CycleLimit { .. } => "cut".to_owned(),
            Outcome::LaunchLimit { .. } => "stopped".to_owned(),
            _ => "finished".to_owned(),
        },
        input_digest: report.input_digest.clone(),
        digest: report.digest.clone(),
        energy: None,
    }
}
