//! First claims of the papers of the zoo's policies, on their own programs, beside the mean of the
//! study's programs of that class over the same baseline.

use Programs::{All, CacheSensitive, HighlyCacheSensitive, MemoryBound, UnequalWarps};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use warploom_lab::{Samples, judge_value};
use warploom_report::page::{Cell, Kind, POINTS, Page, points};

/// Programs of a class, by measurements on the study's machine or by what authors name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Programs {
    All,
    /// Classes `moderate` and `high` of `zoo/classes`.
    CacheSensitive,
    /// Class `high` of `zoo/classes`.
    HighlyCacheSensitive,
    /// Bound by a network or by DRAM (`docs/workloads.md`).
    MemoryBound,
    /// Programs of the study that CAWA's authors name for warps which take unequal times
    /// ([`UNEQUAL_WARPS`]).
    UnequalWarps,
}

/// Programs in which Lee and Wu found warps of a block that take unequal times, by the abstract of
/// CAWS (PACT 2014). A fourth one, the two point angular correlation function, is no workload here.
const UNEQUAL_WARPS: [&str; 3] = ["bfs", "btree", "kmeans"];

impl Programs {
    const fn name(self) -> &'static str {
        match self {
            All => "all",
            CacheSensitive => "cache-sensitive",
            HighlyCacheSensitive => "highly cache-sensitive",
            MemoryBound => "memory-bound",
            UnequalWarps => "with unequal warps",
        }
    }

    fn has(self, workload: &str, class: &str) -> bool {
        match self {
            All => true,
            CacheSensitive => matches!(class, "high" | "moderate"),
            HighlyCacheSensitive => class == "high",
            UnequalWarps => UNEQUAL_WARPS.contains(&workload),
            MemoryBound => warploom_workloads::characters()
                .filter(|character| character.target == workload)
                .any(|of| matches!(of.category, "l2-to-sm" | "sm-to-l2" | "dram")),
        }
    }
}

/// First claim of a paper.
struct Headline {
    /// Member of the study.
    policy: &'static str,
    paper: &'static str,
    programs: Programs,
    /// Members of the study of which the fastest is the baseline.
    over: &'static [&'static str],
    /// The paper's speedup. `None` for a gain whose size its abstract does not say.
    speedup: Option<f64>,
}

const LRR: &[&str] = &["lrr"];
const GTO: &[&str] = &["gto"];

/// Claims of abstracts, the first figure of each that the study can be compared with. The abstract
/// of CAWA does not name its programs, so that its claims are compared on two classes.
const HEADLINES: [Headline; 17] = [
    headline(
        "two-level",
        "CAWA, ISCA 2015",
        UnequalWarps,
        LRR,
        Some(0.98),
    ),
    headline("gto", "CAWA, ISCA 2015", UnequalWarps, LRR, Some(1.16)),
    headline("L1D cacp", "CAWA, ISCA 2015", UnequalWarps, LRR, Some(1.23)),
    headline(
        "two-level",
        "CAWA, ISCA 2015",
        CacheSensitive,
        LRR,
        Some(0.98),
    ),
    headline("gto", "CAWA, ISCA 2015", CacheSensitive, LRR, Some(1.16)),
    headline(
        "L1D cacp",
        "CAWA, ISCA 2015",
        CacheSensitive,
        LRR,
        Some(1.23),
    ),
    headline("ccws", "CCWS, MICRO 2012", CacheSensitive, GTO, Some(1.24)),
    headline(
        "daws",
        "DAWS, MICRO 2013",
        HighlyCacheSensitive,
        &["ccws"],
        Some(1.26),
    ),
    headline("pcal", "PCAL, HPCA 2015", CacheSensitive, GTO, None),
    headline("owl", "OWL, ASPLOS 2013", MemoryBound, LRR, Some(1.33)),
    headline("mascar", "MASCAR, HPCA 2015", MemoryBound, LRR, Some(1.34)),
    headline("mascar", "MASCAR, HPCA 2015", MemoryBound, GTO, Some(1.10)),
    headline("ipaws", "iPAWS, HPCA 2016", All, &["lrr", "gto"], Some(1.0)),
    headline(
        "victims linebacker",
        "Linebacker, ISCA 2019",
        CacheSensitive,
        &["ccws"],
        Some(1.29),
    ),
    headline(
        "context finereg",
        "FineReg, MICRO 2018",
        All,
        GTO,
        Some(1.328),
    ),
    headline("L1D srrip", "RRIP, ISCA 2010", All, GTO, Some(1.04)),
    headline("L1D dip", "DIP, ISCA 2007", CacheSensitive, GTO, None),
];

const fn headline(
    policy: &'static str,
    paper: &'static str,
    programs: Programs,
    over: &'static [&'static str],
    speedup: Option<f64>,
) -> Headline {
    Headline {
        policy,
        paper,
        programs,
        over,
        speedup,
    }
}

/// Speeds over `lrr` by member and workload, and the class of each workload.
struct Speeds<'a> {
    over_lrr: BTreeMap<(&'a str, &'a str), f64>,
    classes: BTreeMap<&'a str, &'a str>,
    /// Workloads whose runs were cut before two waves of their blocks had ended; `None` where
    /// `zoo/cuts` is not stored.
    short: Option<BTreeSet<&'a str>>,
}

/// The text of a cell; empty for a number.
fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        _ => "",
    }
}

/// Workloads that `zoo/cuts` marks as cut before two waves of their blocks had ended.
fn short(page: &Page) -> Option<BTreeSet<&str>> {
    let columns = &page.table.columns;
    let at =
        ["workload", "short"].map(|name| columns.iter().position(|column| column.name == name));
    let [Some(workload), Some(short)] = at else {
        return None;
    };
    let marked = page.table.rows.iter();
    let marked = marked.filter(|row| text(&row[short]) == "yes");
    Some(marked.map(|row| text(&row[workload])).collect())
}

impl<'a> Speeds<'a> {
    fn new(pages: &[&'a Page]) -> Self {
        let mut speeds = Self {
            over_lrr: BTreeMap::new(),
            classes: BTreeMap::new(),
            short: pages.iter().copied().find_map(short),
        };
        for page in pages {
            let columns = &page.table.columns;
            let at = ["workload", "class", "policy", "over_lrr"]
                .map(|name| columns.iter().position(|column| column.name == name));
            let [Some(workload), Some(class), Some(policy), Some(over_lrr)] = at else {
                continue;
            };
            for row in &page.table.rows {
                let [workload, class, policy] = [workload, class, policy].map(|at| text(&row[at]));
                speeds.classes.insert(workload, class);
                if let Some(speed) = row[over_lrr].number() {
                    speeds.over_lrr.insert((policy, workload), speed);
                }
            }
        }
        speeds
    }

    fn speed(&self, policy: &str, workload: &str) -> Option<f64> {
        self.over_lrr.get(&(policy, workload)).copied()
    }

    /// Speedups of a headline's policy over its baseline, by program.
    fn of(&self, headline: &Headline) -> Samples {
        let ratio = |(workload, class): (&&str, &&str)| {
            let own = self.speed(headline.policy, workload)?;
            let others = headline
                .over
                .iter()
                .map(|policy| self.speed(policy, workload));
            let others = others.collect::<Option<Vec<f64>>>()?;
            let best = others.into_iter().fold(0.0, f64::max);
            let is_of = headline.programs.has(workload, class);
            is_of.then(|| ((*workload).to_owned(), own / best))
        };
        Samples(self.classes.iter().filter_map(ratio).collect())
    }

    /// The mean of a headline's programs that are not short with its verdict, as two cells.
    fn without_short(&self, headline: &Headline) -> [String; 2] {
        let Some(short) = &self.short else {
            return ["-", "-"].map(str::to_owned);
        };
        let mut own = self.of(headline);
        own.0.retain(|(name, _)| !short.contains(name.as_str()));
        let programs = own.0.len();
        match own.geometric() {
            None => ["- (0)".to_owned(), "-".to_owned()],
            Some(ours) => [
                format!("{:.3} ({programs})", ours.value),
                verdict(headline, ours.value).to_owned(),
            ],
        }
    }
}

/// Word for the verdict on our effect; `-` where the abstract has no figure.
fn verdict(headline: &Headline, ours: f64) -> &'static str {
    headline
        .speedup
        .map_or("-", |paper| judge_value(Kind::Speedup, paper, ours).name())
}

/// Sentences on the workloads whose runs are short, and on the columns without them.
fn short_told(speeds: &Speeds<'_>) -> String {
    let Some(short) = &speeds.short else {
        return String::new();
    };
    let names: Vec<String> = short.iter().map(|name| format!("- `{name}`")).collect();
    format!(
        "{} of the {} workloads are *short*: under `lrr` or `gto` they are cut before two waves of\n\
         their blocks have ended ([how far all come](zoo/cuts.csv)), so that their rows are those\n\
         of first blocks, and whole runs may have another order. The last two columns are the\n\
         mean of the programs that are not short, with their number, and its verdict.\n\
         Short are:\n\n\
         {}\n\n",
        short.len(),
        speeds.classes.len(),
        names.join("\n")
    )
}

/// Word for the direction of our effect. One below a point has none. Where the paper claims no
/// difference, ours is right within the points of a level.
fn direction(paper: Option<f64>, ours: f64) -> &'static str {
    let sign = |ratio: f64| match points(ratio) {
        points if points >= 1.0 => 1,
        points if points <= -1.0 => -1,
        _ => 0,
    };
    match (paper.map_or(1, sign), sign(ours)) {
        (0, _) if points(ours).abs() <= POINTS => "right",
        (0, _) => "wrong",
        (_, 0) => "none",
        (paper, ours) if paper == ours => "right",
        _ => "wrong",
    }
}

/// The table of headlines, from the figures of the study.
pub(super) fn table(pages: &[Page]) -> String {
    let of_study = |page: &&Page| page.paper == "zoo";
    let speeds = Speeds::new(&pages.iter().filter(of_study).collect::<Vec<_>>());
    let mut text = short_told(&speeds);
    text += "| policy | paper | programs | over | paper | here | direction | verdict | without short \
             | verdict |\n|---|---|---|---|--:|---|---|---|---|---|\n";
    for headline in &HEADLINES {
        let Some(ours) = speeds.of(headline).geometric() else {
            continue;
        };
        let paper = headline.speedup;
        let shown = |ratio: f64| format!("{ratio:.3}");
        let range = ours.range.map_or(String::new(), |range| {
            let [least, most] = [range.least, range.most].map(shown);
            let (without, without_most) = (range.least_without, range.most_without);
            format!(" ({least} without {without} to {most} without {without_most})")
        });
        let [rest, rest_verdict] = speeds.without_short(headline);
        let _ = writeln!(
            text,
            "| {} | {} | {}, {} | {} | {} | {}{range} | {} | {} | {rest} | {rest_verdict} |",
            headline.policy,
            headline.paper,
            speeds.of(headline).0.len(),
            headline.programs.name(),
            headline.over.join(" or "),
            paper.map_or("more".to_owned(), shown),
            shown(ours.value),
            direction(paper, ours.value),
            verdict(headline, ours.value),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{HEADLINES, Programs, Speeds, UNEQUAL_WARPS, direction, table};
    use warploom_report::page::Page;

    fn row(workload: &str, class: &str, policy: &str, speed: f64) -> String {
        format!(
            r#"{{"workload":"{workload}","class":"{class}","policy":"{policy}","over_lrr":{speed}}}"#
        )
    }

    fn page(rows: &str) -> Page {
        let text = format!(
            r#"{{"paper":"zoo","figure":"warps","title":"T","scale":"test","version":"","command":"",
            "columns":[{{"name":"workload","about":""}},{{"name":"class","about":""}},
            {{"name":"policy","about":""}},{{"name":"over_lrr","about":""}}],
            "rows":[{rows}],"charts":[],"summary":{{}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// Two of four workloads are highly cache-sensitive; DAWS has 2 and 0.5 of the speed of CCWS
    /// there, 1 in the mean. The better of two baselines counts for each workload.
    #[test]
    fn effects_are_means_of_the_papers_class_over_its_baseline() {
        let mut rows = Vec::new();
        for (workload, class, ccws, daws) in [
            ("a", "high", 1.0, 2.0),
            ("b", "high", 4.0, 2.0),
            ("c", "moderate", 1.0, 1.0),
            ("d", "insensitive", 1.0, 7.0),
        ] {
            for (policy, speed) in [("ccws", ccws), ("daws", daws), ("lrr", 1.0), ("gto", 0.5)] {
                rows.push(row(workload, class, policy, speed));
            }
            rows.push(row(workload, class, "ipaws", 0.5));
        }
        let page = page(&rows.join(","));
        let speeds = Speeds::new(&[&page]);
        let of = |policy: &str| {
            let headline = HEADLINES.iter().find(|of| of.policy == policy).unwrap();
            speeds.of(headline)
        };
        assert_eq!(of("daws").values(), [2.0, 0.5]);
        assert_eq!(of("ccws").values(), [2.0, 8.0, 2.0]);
        assert_eq!(of("ipaws").values(), [0.5; 4]);
        let table = table(&[page]);
        let expected = "| daws | DAWS, MICRO 2013 | 2, highly cache-sensitive | ccws | 1.260 | \
                        1.000 (0.500 without a to 2.000 without b) | none | differs | - | - |";
        assert!(table.lines().any(|line| line == expected), "{table}");
        assert!(!table.contains("mascar"), "not measured");
    }

    /// Without the short one of two programs DAWS has 0.5 of the speed of CCWS, and no program of
    /// the class is left for it where both are short.
    #[test]
    fn means_are_given_without_short_programs_too() {
        let speeds = [
            ("a", "daws", 2.0),
            ("a", "ccws", 1.0),
            ("b", "daws", 2.0),
            ("b", "ccws", 4.0),
        ];
        let rows = speeds.map(|(workload, policy, speed)| row(workload, "high", policy, speed));
        let cuts = |rows: &str| {
            let text = format!(
                r#"{{"paper":"zoo","figure":"cuts","title":"T","scale":"test","version":"",
                "command":"","columns":[{{"name":"workload","about":""}},
                {{"name":"short","about":""}}],"rows":[{rows}],"charts":[],"summary":{{}}}}"#
            );
            serde_json::from_str::<Page>(&text).unwrap()
        };
        let of = |cut: &str| {
            let text = table(&[page(&rows.join(",")), cuts(cut)]);
            let line = text.lines().find(|line| line.starts_with("| daws"));
            (line.unwrap().to_owned(), text)
        };
        let a = r#"{"workload":"a","short":"yes"}"#;
        let b = r#"{"workload":"b","short":"no"}"#;
        let (line, text) = of(&format!("{a},{b}"));
        assert!(
            line.ends_with("| none | differs | 0.500 (1) | differs |"),
            "{line}"
        );
        assert!(
            text.starts_with("1 of the 2 workloads are *short*"),
            "{text}"
        );
        let (line, _) = of(&format!("{a},{}", b.replace("no", "yes")));
        assert!(line.ends_with("| none | differs | - (0) | - |"), "{line}");
    }

    /// Programs are named as the study names them.
    #[test]
    fn programs_with_unequal_warps_are_workloads() {
        let named = warploom_workloads::all()
            .iter()
            .filter(|workload| Programs::UnequalWarps.has(workload.name, "insensitive"));
        assert_eq!(named.count(), UNEQUAL_WARPS.len());
    }

    #[test]
    fn directions_have_the_papers_sign() {
        for (paper, ours, word) in [
            (Some(1.2), 1.02, "right"),
            (Some(1.2), 1.005, "none"),
            (Some(1.2), 0.98, "wrong"),
            (Some(0.9), 0.98, "right"),
            (Some(1.0), 0.96, "right"),
            (Some(1.0), 0.94, "wrong"),
            (None, 1.3, "right"),
        ] {
            assert_eq!(direction(paper, ours), word, "{ours}");
        }
    }
}
