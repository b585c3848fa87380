//! What a figure is: a table, figures of the whole, claims with verdicts, charts.

use crate::figures::FigureInfo;
use crate::runs::UsedRun;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use warploom_config::Setting;
use warploom_report::Chart;
use warploom_report::page::{Cell, Configuration, Page, RunLine, Table, Verdict};
use warploom_stats::result::{ConfigValue, Outcome};
use warploom_workloads::Size;

/// How much is simulated for a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As little as shows the effect: seconds.
    Test,
    /// Between the two.
    #[default]
    Small,
    /// The paper's own sizes.
    Paper,
}

impl Scale {
    /// The size of workloads at this scale.
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

/// A word that is no scale.
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

/// How a figure is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// How much is simulated.
    pub scale: Scale,
}

/// A figure that was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The data.
    pub table: Table,
    /// Figures of the whole, by name.
    pub summary: BTreeMap<String, Cell>,
    /// The paper's claims.
    pub claims: Vec<Verdict>,
    /// The picture, charts below each other.
    pub charts: Vec<Chart>,
}

impl Figure {
    /// The page of a paper's figure, with the runs that it rests on.
    pub fn page(self, info: &FigureInfo, request: &Request, used: &[UsedRun]) -> Page {
        let (name, scale) = (info.full_name(), request.scale);
        let page = self.into_page(used);
        Page {
            paper: info.paper.to_owned(),
            figure: info.name.to_owned(),
            title: info.title.to_owned(),
            scale: scale.to_string(),
            command: format!("warploom reproduce {name} --scale {scale}"),
            ..page
        }
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
            claims: self.claims,
            charts: self.charts,
            configurations: configurations(used),
            presets: presets(used),
            runs: used.iter().map(run_line).collect(),
        }
    }
}

/// The page of a figure that is of no paper: of the `kind` and `name` under which it is kept.
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

/// The machines, each once, in order of their first run.
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
    let value = |setting| match setting {
        Setting::Bool(on) => ConfigValue::Bool(on),
        Setting::Integer(number) => ConfigValue::Integer(number),
        Setting::Float(number) => ConfigValue::Float(number),
        Setting::Text(text) => ConfigValue::Text(text),
    };
    let mut all = BTreeMap::new();
    for (spec, _) in used {
        all.entry(spec.machine.gpu.clone()).or_insert_with(|| {
            let settings = spec.machine.base.settings().into_iter();
            settings
                .map(|(key, setting)| (key, value(setting)))
                .collect()
        });
    }
    all
}

fn run_line((spec, report): &UsedRun) -> RunLine {
    RunLine {
        input: spec.input.name().to_owned(),
        configuration: spec.machine.name.clone(),
        command: spec.command(),
        cycles: report.totals.figures.cycles,
        ipc: report.totals.figures.ipc,
        ended: match report.outcome {
            Outcome::CycleLimit { .. } => "cut".to_owned(),
            _ => "finished".to_owned(),
        },
        input_digest: report.input_digest.clone(),
        digest: report.digest.clone(),
    }
}
