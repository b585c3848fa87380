//! The verb `warploom reproduce`.

mod against;
mod beside;

use crate::energy_args::{EnergyArgs, EnergyChoice};
use crate::experiment::{
    Keeping, RunnerArgs, experiment, has_store, open_store, tell_failures, write_page,
};
use crate::failure::Failure;
use crate::names::{Names, figures};
use crate::output::{note, print, print_json, width};
use crate::verbs::list::cost_cells;
use crate::verbs::sweep::{EngineArgs, make_figures};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_diag::nearest;
use warploom_lab::{
    Cost, FigureInfo, FigureJob, FigureOutcome, Request, Results, RunSpec, Scale, Store,
    UnknownFigure, add_energy, all, by_name_only, claims, claims_on, cost, find, make_by, studies,
};
use warploom_report::page::Page;
use warploom_report::{grouped, listing, page_report, wrapped};

const EXAMPLES: &str = "\
Examples:
  warploom reproduce                          list the figures
  warploom reproduce duet/fig3b               a figure: results/duet/fig3b.json, .csv and .svg
  warploom reproduce duet -o out              all figures of a paper
  warploom reproduce crat --scale paper --dry-run   what that costs, and its first runs
  warploom reproduce duet/fig3b --scale paper --json
  warploom reproduce duet/fig1 --scale paper --against docs/results   is it still the stored figure?
  warploom reproduce duet --scale paper --engine slurm --cluster cluster.toml
  warploom reproduce zoo                      every policy on every workload
  warploom reproduce slicer/fig6 --energy     with energy and mean power of each run
Stopped at any moment (Ctrl-C, kill), the same command goes on where it was.";

/// Regenerate a paper's figure or table, and compare the paper's claims with the measurements, or
/// make a study
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Figure, or paper or study for all of its figures except those that must be named [default:
    /// list them]
    #[arg(
        value_name = "PAPER[/FIGURE]",
        value_parser = Names(figures),
        hide_possible_values = true
    )]
    figure: Option<String>,
    /// Size of the simulations: test, small or paper
    #[arg(long, value_name = "test|small|paper", default_value_t = Scale::Small)]
    scale: Scale,
    /// Folder for the files and for the stored runs (runs.redb), which later calls reuse; created
    /// if necessary
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Compare each figure with DIR/PAPER/FIGURE.json, such as those in docs/results: table, cycles
    /// and digests of the runs. The exit status is 1 if they differ
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    against: Option<PathBuf>,
    /// Print the figure as JSON; several as a list
    #[arg(long)]
    json: bool,
    /// List the runs that would be made now, and what the figures cost at scale paper; nothing runs
    #[arg(long, conflicts_with_all = ["json", "against"])]
    dry_run: bool,
    #[command(flatten)]
    runner: RunnerArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    energy: EnergyArgs,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Some(name) = &args.figure else {
        print(&what_there_is())?;
        return Ok(ExitCode::SUCCESS);
    };
    let infos = find(name).map_err(|unknown| Failure::Input(refusal(&unknown)))?;
    let request = Request { scale: args.scale };
    let energy = args.energy.choice()?;
    let wanted = infos
        .iter()
        .map(|info| job(info, &request, energy.as_ref()));
    let wanted: Vec<_> = wanted.collect();
    if args.dry_run {
        print(&dry_run(args, &infos, &wanted)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &args.against {
        against::check(folder, &infos, args.scale)?;
    }
    note(&replaced(&args.output, &infos, args.scale));
    let (mut pages, mut failed) = (Vec::new(), false);
    for made in make(args, name, &wanted)? {
        match made {
            FigureOutcome::Failed { name, runs } => {
                tell_failures(&name, &runs);
                failed = true;
            }
            FigureOutcome::Page(page) => pages.push(*page),
        }
    }
    let pages = beside::judged(&args.output, pages);
    for page in &pages {
        let files = write_page(&args.output, page)?;
        if !args.json {
            let shown = files
                .iter()
                .map(|file| format!("wrote {}\n", file.display()));
            let mut files: String = shown.collect();
            if page.charts.is_empty() {
                files += "no picture: the figure is a table\n";
            }
            let judged = judged_elsewhere(page, width());
            print(&format!(
                "{}{judged}\n{files}\n",
                page_report(page, width())
            ))?;
        }
        if let Some(folder) = &args.against {
            let (told, is_equal) = against::against(folder, page, width())?;
            print(&told)?;
            failed |= !is_equal;
        }
    }
    if args.json {
        match pages.as_slice() {
            [page] => print_json(page)?,
            pages => print_json(&pages)?,
        }
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// Lines on a figure of a paper that judges no claim: the figures that do so, and a warning of a
/// scale other than the paper's.
fn judged_elsewhere(page: &Page, width: Option<u16>) -> String {
    let is_paper = claims().iter().any(|claim| claim.paper == page.paper);
    if !page.verdicts.is_empty() || !is_paper {
        return String::new();
    }
    let mut text = "\nNo claim of the paper is judged by this figure.\n".to_owned();
    for (claim, others) in claims_on(&page.paper, &page.figure) {
        for other in others {
            let place = &claim.place;
            let (id, paper) = (&claim.id, &page.paper);
            let told = format!("`{id}` ({place}) is judged by {paper}/{other}.");
            text += &wrapped("", &told, width);
        }
    }
    if page.scale != "paper" {
        let told = format!(
            "At scale {} the data sets are smaller than the paper's, and the values differ from those \
             of `--scale paper`.",
            page.scale
        );
        text += &wrapped("", &told, width);
    }
    text
}

/// Makes the figures of a name by threads of this process, or by workers.
fn make(args: &Args, name: &str, wanted: &[FigureJob<'_>]) -> Result<Vec<FigureOutcome>, Failure> {
    if !args.engine.given() {
        return experiment(wanted, &args.runner, Keeping::Folder(&args.output));
    }
    let name = format!("{}-{}", name.replace('/', "-"), args.scale);
    make_figures(wanted, &name, &args.engine, &args.runner, &args.output)
}

/// Part of the name of a run that another machine makes.
const EQUAL_RUN: &str = "(equal to ";
/// Why such a run is the same.
const EQUAL_RUNS: &str = "A run `equal to` one of another machine is that run: its blocks fit both \
                          machines, which differ only in how much fits (a test compares such runs, \
                          counter by counter).\n";

/// Runs that figures request and that the folder's store does not have, and the figures' costs.
fn dry_run(
    args: &Args,
    infos: &[&FigureInfo],
    wanted: &[FigureJob<'_>],
) -> Result<String, Failure> {
    let store = has_store(&args.output).then(|| open_store(&args.output));
    let (missing, stored) = first_missing(wanted, store.transpose()?.as_ref())?;
    let rows: Vec<_> = missing
        .iter()
        .map(|run| vec![run.label(), run.command()])
        .collect();
    let mut text = match rows.len() {
        0 => String::new(),
        _ => listing(&["run", "command"], &rows, width()) + "\n",
    };
    if rows.iter().any(|row| row[0].contains(EQUAL_RUN)) {
        text += &wrapped("", EQUAL_RUNS, width());
    }
    let count = |runs: usize| match runs {
        1 => "1 run".to_owned(),
        runs => format!("{} runs", grouped(runs as u64)),
    };
    text += &match missing.len() {
        0 if stored == 0 => "nothing is simulated: no runs are needed\n".to_owned(),
        0 => format!("all {} are stored\n", count(stored)),
        open => format!(
            "{} to make now, {stored} stored; others may follow from their results\n",
            count(open)
        ),
    };
    Ok(text + &costs(args.scale, infos, stored))
}

/// Explanation of the costs of figures.
const COSTS: &str = "All runs of the figures at scale paper, also those that are stored (minutes of \
                     processor time on an idle computer; computed: by the speed of all runs of the \
                     paper, of which a figure of few programs may take a multiple; scaled: by the \
                     speed of a measured figure of the same programs):";

/// Costs of whole figures at scale `paper`, and what is left of a single one of which some runs are
/// stored. They say nothing on other scales.
fn costs(scale: Scale, infos: &[&FigureInfo], stored: usize) -> String {
    let known = infos
        .iter()
        .filter_map(|info| Some((info.full_name(), cost(&info.full_name())?)));
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return String::new();
    }
    if scale != Scale::Paper {
        return "what figures cost is known at scale paper only\n".to_owned();
    }
    let row = |(name, cost): &(String, Cost)| {
        let [runs, minutes] = cost_cells(cost);
        vec![name.clone(), runs, minutes, cost.basis.name().to_owned()]
    };
    let rows: Vec<_> = known.iter().map(row).collect();
    let mut text = format!("\n{}\n", wrapped("", COSTS, width()));
    text += &listing(&["figure", "runs", "minutes", "basis"], &rows, width());
    if let ([(_, cost)], true) = (known.as_slice(), stored > 0) {
        let left = cost
            .runs
            .saturating_sub(u32::try_from(stored).unwrap_or(u32::MAX));
        let minutes = cost.minutes * f64::from(left) / f64::from(cost.runs.max(1));
        text += &format!("of these {left} runs are left, about {minutes:.1} minutes\n");
    }
    text
}

/// The first runs that figures request and that are not stored, and the number of stored ones.
fn first_missing(
    wanted: &[FigureJob<'_>],
    store: Option<&Store>,
) -> Result<(Vec<RunSpec>, usize), Failure> {
    let (mut missing, mut stored) = (Vec::new(), 0);
    let mut looked_up = BTreeSet::new();
    let mut look_up = |runs: &[RunSpec], results: &mut Results| -> Result<(), Option<Failure>> {
        for run in runs {
            let key = run.key();
            if !looked_up.insert(key.clone()) || results.has(&key) {
                continue;
            }
            let found = store.map(|store| store.get(&key)).transpose();
            match found.map_err(|error| Some(error.into()))?.flatten() {
                Some(report) => {
                    stored += 1;
                    results.add(key, report);
                }
                None => missing.push(run.clone()),
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(None)
        }
    };
    match make_by(wanted, &mut look_up) {
        Err(Some(failure)) => Err(failure),
        Err(None) | Ok(_) => Ok((missing, stored)),
    }
}

/// The job of a figure, whose runs get energy if it was asked for.
fn job<'a>(
    info: &'a FigureInfo,
    request: &'a Request,
    energy: Option<&'a EnergyChoice>,
) -> FigureJob<'a> {
    let FigureJob { name, make, page } = FigureJob::figure(info, request);
    let page: Box<dyn Fn(_, &[_]) -> _ + 'a> = match energy {
        None => page,
        Some(choice) => Box::new(move |figure, used| {
            let mut page = page(figure, used);
            add_energy(&mut page, used, &|gpu| choice.of(gpu).ok());
            page
        }),
    };
    FigureJob { name, make, page }
}

fn what_there_is() -> String {
    let row = |info: &FigureInfo| vec![info.full_name(), info.title.to_owned()];
    let table = |of: &[FigureInfo]| {
        let rows: Vec<_> = of.iter().map(row).collect();
        listing(&["figure", "what it shows"], &rows, width())
    };
    format!(
        "{}\nStudies of policies together, which no paper has:\n\n{}\nMade by their names only, for \
         hours at scale paper or because no paper has them:\n\n{}\nwarploom reproduce FIGURE makes \
         one; warploom reproduce --help shows examples.\n",
        table(all()),
        table(studies()),
        table(by_name_only()),
    )
}

/// A figure's name as this program writes it: `fig3` for `Fig. 3`, or for `3` behind a paper.
fn plainly(name: &str) -> String {
    let name = name
        .to_lowercase()
        .replace([' ', '.'], "")
        .replace("figure", "fig");
    match name.rsplit_once('/') {
        Some((paper, number)) if number.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{paper}/fig{number}")
        }
        _ => name,
    }
}

/// The figure that a name with a shortened paper most likely means, such as `coop/fig3`.
fn of_shortened_paper<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let (start, figure) = name.split_once('/')?;
    let of_paper = known.iter().filter_map(|full| full.split_once('/'));
    let of_paper = of_paper.filter(|(paper, _)| !start.is_empty() && paper.starts_with(start));
    let figures: Vec<&str> = of_paper.map(|(_, figure)| figure).collect();
    let same = figures.iter().find(|of| **of == figure).copied();
    let figure = same.or_else(|| nearest(figure, figures))?;
    let mut full = known.iter().filter(|full| {
        let parts = full.split_once('/');
        parts.is_some_and(|(paper, of)| paper.starts_with(start) && of == figure)
    });
    full.next().map(String::as_str)
}

/// Names of the figures of a paper, for a name that differs from all of them by more than a slip:
/// `crat/fig4` where there is no such figure.
fn figures_of_paper(name: &str, known: &[String]) -> Option<String> {
    let (paper, figure) = name.split_once('/')?;
    let of_paper = known.iter().filter_map(|full| full.split_once('/'));
    let figures = of_paper.filter(|(of, _)| *of == paper);
    let figures: Vec<&str> = figures.map(|(_, figure)| figure).collect();
    let word = |name: &str| {
        name.trim_end_matches(|c: char| !c.is_alphabetic())
            .to_owned()
    };
    let is_number = figures.iter().any(|of| word(of) == word(figure));
    is_number.then(|| format!("{paper} has the figures {}", figures.join(", ")))
}

fn refusal(unknown: &UnknownFigure) -> String {
    let (name, known) = (&plainly(&unknown.name), &unknown.known);
    // Suggestions for a figure without its paper, or for a misspelt name.
    let end = format!("/{name}");
    let of_papers = known.iter().filter(|full| full.ends_with(&end));
    let of_papers: Vec<_> = of_papers.map(|full| format!("`{full}`")).collect();
    let near = nearest(name, known.iter().map(String::as_str));
    let papers: Vec<&str> = known
        .iter()
        .filter_map(|full| Some(full.split_once('/')?.0))
        .collect();
    let paper = papers.iter().find(|paper| *paper == name).copied();
    let near = of_shortened_paper(name, known)
        .or(paper)
        .or_else(|| nearest(name, papers))
        .or(near);
    let meant = known.iter().find(|full| *full == name);
    if let Some(figures) = figures_of_paper(name, known).filter(|_| meant.is_none()) {
        return format!("{unknown}\n  = help: {figures}");
    }
    let help = match (of_papers.as_slice(), meant.map(String::as_str).or(near)) {
        ([], Some(near)) => format!("did you mean `{near}`?"),
        ([], None) => {
            let papers = known
                .iter()
                .filter_map(|full| Some(full.split_once('/')?.0));
            let papers: BTreeSet<&str> = papers.collect();
            let papers = papers.into_iter().collect::<Vec<_>>().join(", ");
            format!("`warploom list figures` lists all of them; papers and studies are {papers}")
        }
        ([one], _) => format!("did you mean {one}?"),
        (several, _) => format!("name the paper, too: {}", several.join(", ")),
    };
    format!("{unknown}\n  = help: {help}")
}

/// Lines on figures in the folder that were made at another scale and will be replaced.
fn replaced(folder: &Path, infos: &[&FigureInfo], scale: Scale) -> String {
    let scale = scale.to_string();
    let older = |info: &&FigureInfo| {
        let path = folder.join(format!("{}.json", info.full_name()));
        let text = std::fs::read_to_string(&path).ok()?;
        let page: Page = serde_json::from_str(&text).ok()?;
        let differs = !page.scale.is_empty() && page.scale != scale;
        differs.then(|| {
            format!(
                "note: {} has scale {}, and will be replaced by scale {scale}\n",
                path.display(),
                page.scale
            )
        })
    };
    let mut text: String = infos.iter().filter_map(older).collect();
    if !text.is_empty() {
        text += "  = help: -o DIR keeps the other scale in a folder of its own; stored runs remain, \
                 and make it again\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{costs, judged_elsewhere, of_shortened_paper, refusal, replaced};
    use warploom_lab::Scale;
    use warploom_report::page::Page;

    #[test]
    fn a_figure_without_claims_names_the_one_that_judges_it() {
        let page = |scale: &str| -> Page {
            let stored = include_str!("../../../../docs/results/duet/fig1.json");
            let mut page: Page = serde_json::from_str(stored).expect("a page");
            page.scale = scale.to_owned();
            page
        };
        let judged = "\nNo claim of the paper is judged by this figure.\n\
                      `duet.spmv.warps` (Fig. 1, Fig. 5 (16 B wires)) is judged by duet/fig5.\n";
        assert_eq!(judged_elsewhere(&page("paper"), None), judged);
        let small = judged_elsewhere(&page("test"), None);
        assert!(
            small.starts_with(&format!("{judged}At scale test ")),
            "{small}"
        );
    }

    #[test]
    fn a_misspelt_paper_is_suggested() {
        for (name, meant) in [("deut", "duet"), ("duet/fgi1", "duet/fig1")] {
            let refused = refusal(&warploom_lab::find(name).expect_err("unknown"));
            let help = format!("{meant}`?");
            assert!(
                refused.contains("did you mean `") && refused.contains(&help),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_figure_that_is_written_as_in_the_paper_is_suggested() {
        for (name, part) in [
            ("cooperative/3", "did you mean `cooperative/fig3`?"),
            ("duet/fig2", "duet has the figures fig1, fig3b, fig4, "),
            ("Duet/Fig. 3b", "did you mean `duet/fig3b`?"),
            ("DUET", "did you mean `duet`?"),
            ("Fig. 1", "name the paper, too: "),
            (
                "thuan/fig99",
                "papers and studies are cooperative, crat, duet, ",
            ),
        ] {
            let refused = refusal(&warploom_lab::find(name).expect_err("unknown"));
            let first = format!("no figure is called `{name}`");
            assert!(
                refused.starts_with(&first) && refused.contains(part),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_figure_of_several_papers_names_all_of_them() {
        let refused = refusal(&warploom_lab::find("fig1").expect_err("no paper"));
        for full in ["`duet/fig1`", "`crat/fig1`"] {
            assert!(refused.contains(full), "{refused}");
        }
    }

    #[test]
    fn a_figure_of_another_scale_is_not_replaced_silently() {
        let folder = tempfile::tempdir().unwrap();
        let infos = warploom_lab::find("duet/fig1").expect("a figure");
        let told = |scale| replaced(folder.path(), &infos, scale);
        assert_eq!(told(Scale::Small), "");
        let stored = include_str!("../../../../docs/results/duet/fig1.json");
        std::fs::create_dir(folder.path().join("duet")).unwrap();
        std::fs::write(folder.path().join("duet/fig1.json"), stored).unwrap();
        assert_eq!(told(Scale::Paper), "");
        let told = told(Scale::Small);
        assert!(told.contains("duet/fig1.json has scale paper"), "{told}");
        assert!(told.contains("= help: -o DIR"), "{told}");
    }

    #[test]
    fn costs_are_those_of_scale_paper_and_of_what_is_left() {
        let one = warploom_lab::find("crat/fig3").expect("a figure");
        let small = costs(Scale::Small, &one, 0);
        assert_eq!(small, "what figures cost is known at scale paper only\n");
        let whole = costs(Scale::Paper, &one, 0);
        assert!(
            whole.contains("measured") && !whole.contains("left"),
            "{whole}"
        );
        // Two of ten runs, and so 80 % of the time.
        let rest = costs(Scale::Paper, &one, 2);
        let minutes = warploom_lab::cost("crat/fig3").expect("a cost").minutes * 0.8;
        let told = format!("of these 8 runs are left, about {minutes:.1} minutes\n");
        assert!(rest.ends_with(&told), "{rest}");
        let two = [
            one[0],
            warploom_lab::find("crat/fig2").expect("a figure")[0],
        ];
        assert!(!costs(Scale::Paper, &two, 2).contains("left"));
    }

    #[test]
    fn a_shortened_paper_is_found() {
        let known = ["crat/fig3", "cooperative/fig3", "cooperative/fig4"].map(str::to_owned);
        let found = |name| of_shortened_paper(name, &known);
        assert_eq!(found("coop/fig3"), Some("cooperative/fig3"));
        assert_eq!(found("coop/fgi4"), Some("cooperative/fig4"));
        assert_eq!(found("coop/table1"), None);
        assert_eq!(found("/fig3"), None);
        assert_eq!(found("zoo/fig3"), None);
    }
}
