//! Reports: tables and charts, as text, SVG and HTML, computed from data.
//!
//! Invariants: nothing here starts a simulation or reads a clock or a terminal. Equal data gives
//! equal text. The width is a parameter.

mod analysis;
mod chart;
mod context;
mod csv;
mod cut;
mod effects;
mod energy;
mod equal;
mod figure;
mod format;
mod gpgpusim;
mod held;
mod html;
mod outcome;
pub mod page;
mod page_text;
mod parquet;
mod perfetto;
mod run;
mod run_columns;
mod run_page;
mod sampling;
mod scorecard;
mod stacked;
mod svg;
mod table;
mod unchecked;
mod wrap;

pub use analysis::{analysis_chart, analysis_report, explanation_report, mix_report};
pub use chart::{bar, bar_with_marks, sparkline};
pub use csv::{Rows, series_csv, statistics_csv};
pub use cut::{CutRun, cut_runs_told, ended_early_told};
pub use effects::effect_chart;
pub use energy::energy_chart;
pub use equal::{DigestOf, equal_runs_told};
pub use figure::{
    Axis, BarChart, BarSeries, Chart, EffectChart, EffectDot, HeatMap, LineChart, LineSeries, Mark,
};
pub use format::{grouped, percent, rate, seconds};
pub use gpgpusim::gpgpusim_report;
pub use held::holds_at_no_cost;
pub use html::{Imprint, html};
pub use outcome::{
    LargestLaunch, LaunchTime, idle_sms_told, launch_share, long_launches_told, outcome_told,
    unbegun_told,
};
pub use page_text::{bar_lines, map_table, page_report};
pub use parquet::{ColumnType, ParquetEncoder};
pub use perfetto::perfetto;
pub use run::run_report;
pub use run_columns::{OF_RUN, REACHED, reached_cells};
pub use run_page::run_page;
pub use scorecard::Scorecard;
pub use stacked::{CAUSES, CausesOf, causes_charts, causes_left_out};
pub use svg::{TouchMap, svg, touch_maps};
pub use table::{figures, list, listing};
pub use unchecked::unchecked;
pub use wrap::wrapped;
