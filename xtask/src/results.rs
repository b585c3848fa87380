//! `cargo xtask results`: judges the stored figures of all papers anew and writes what follows from
//! them: their JSON, CSV and SVG files, `docs/results/README.md`, each paper's `claims.md` and
//! picture of effects, and the tables and pictures in `README.md`, on the papers' pages and on
//! those of the studies. Nothing is simulated.

mod headlines;
mod pages;
mod studies;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warploom_lab::{Claim, claims, judge};
use warploom_report::page::{Page, Verdict};
use warploom_report::{Chart, Scorecard, effect_chart, svg};

const FOLDER: &str = "docs/results";
/// Lines before and after the generated part of a page.
const MARKS: [&str; 2] = [
    "<!-- results: cargo xtask results -->",
    "<!-- end of results -->",
];

/// Short names and titles of the papers.
const PAPERS: [(&str, &str); 5] = [
    ("duet", "GPUDuet (Lin, Mantor, Zhou, TACO 2018)"),
    (
        "cooperative",
        "Cooperative warp and block scheduling (Do et al., KIPS 2017)",
    ),
    ("crat", "CRAT (Xie et al., MICRO 2015)"),
    ("slicer", "Warped-Slicer (Xu et al., ISCA 2016)"),
    ("locality", "Locality-aware scheduling (Chen, NTU 2016)"),
];

/// Short names and titles of the studies, which have no claims.
const STUDIES: [(&str, &str); 2] = [
    ("zoo", "Every policy on every workload"),
    ("together", "The five systems together"),
];

/// Judges the stored figures and writes all pages that follow from them.
pub fn run(root: &Path) -> Result<()> {
    for (path, text) in files(root)? {
        let path = root.join(path);
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            write(&path, &text)?;
            writeln!(io::stdout(), "{}", path.display())?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// All generated files with their texts, by path from the repository's root.
fn files(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let stored = stored(&root.join(FOLDER))?;
    let mut files = figure_files(&stored)?;
    let judged = Judged::new(&stored);
    let mut put = |path: String, text| files.insert(PathBuf::from(path), text);
    put(format!("{FOLDER}/README.md"), pages::summary(&judged));
    put(format!("{FOLDER}/claims.svg"), pages::all_effects(&judged));
    for (paper, title) in PAPERS {
        let verdicts = judged.verdicts(paper);
        let chart = Chart::Effects(effect_chart(
            &format!("{title}: its effects and ours"),
            &[(paper, verdicts)],
        ));
        put(format!("{FOLDER}/{paper}/claims.svg"), svg(&[chart]));
        put(
            format!("{FOLDER}/{paper}/claims.md"),
            pages::statements(&judged, paper, title),
        );
        let page = format!("{FOLDER}/{paper}.md");
        let text = with_part(root, &page, &pages::head(&judged, paper))?;
        put(page, text);
    }
    for (study, _) in STUDIES {
        let page = format!("{FOLDER}/{study}.md");
        let text = with_part(root, &page, &studies::head(&stored, study))?;
        put(page, text);
    }
    let text = with_part(root, "README.md", &pages::readme(&judged))?;
    put("README.md".to_owned(), text);
    Ok(files)
}

/// The stored figures, judged anew, by paper.
pub(crate) fn stored(folder: &Path) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    for (paper, _) in PAPERS.into_iter().chain(STUDIES) {
        let Ok(entries) = fs::read_dir(folder.join(paper)) else {
            continue;
        };
        let files = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files
            .filter(|file| file.extension().is_some_and(|e| e == "json"))
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file)?;
            let page: serde_json::Result<Page> = serde_json::from_str(&text);
            pages.push(page.with_context(|| file.display().to_string())?);
        }
    }
    judge(&mut pages);
    Ok(pages)
}

/// The files of the figures, as `warploom reproduce` writes them.
fn figure_files(pages: &[Page]) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for page in pages {
        let name = format!("{FOLDER}/{}/{}", page.paper, page.figure);
        let mut put = |kind: &str, text| files.insert(format!("{name}.{kind}").into(), text);
        put("json", serde_json::to_string_pretty(page)? + "\n");
        put("csv", page.table.csv());
        if !page.charts.is_empty() {
            put("svg", svg(&page.charts));
        }
    }
    Ok(files)
}

/// All claims with their verdicts.
struct Judged<'a> {
    claims: Vec<Claim>,
    /// Verdicts with the figures that contain them, by claim.
    verdicts: BTreeMap<String, (&'a Page, &'a Verdict)>,
}

impl<'a> Judged<'a> {
    fn new(pages: &'a [Page]) -> Self {
        let each = pages.iter().flat_map(|page| {
            let verdicts = page.verdicts.iter();
            verdicts.map(move |verdict| (verdict.id.clone(), (page, verdict)))
        });
        Self {
            claims: claims(),
            verdicts: each.collect(),
        }
    }

    /// Claims of a paper, with their verdicts and figures if they have some.
    fn of_paper(
        &self,
        paper: &str,
    ) -> impl Iterator<Item = (&Claim, Option<(&'a Page, &'a Verdict)>)> {
        let own = self.claims.iter().filter(move |claim| claim.paper == paper);
        own.map(|claim| (claim, self.verdicts.get(&claim.id).copied()))
    }

    fn verdicts(&self, paper: &str) -> Vec<&'a Verdict> {
        let own = self.of_paper(paper);
        own.filter_map(|(_, judged)| Some(judged?.1)).collect()
    }

    fn card(&self, paper: &str) -> Scorecard {
        let without = self.of_paper(paper).filter(|(_, judged)| judged.is_none());
        Scorecard::new(self.verdicts(paper), without.count())
    }
}

/// The text of a page with a new generated part between its marks.
fn with_part(root: &Path, path: &str, part: &str) -> Result<String> {
    let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
    let between = between(&text, part);
    between.with_context(|| format!("{path} has no lines {} and {}", MARKS[0], MARKS[1]))
}

fn between(text: &str, part: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    let mut text = before.to_owned();
    let _ = write!(text, "{}\n{part}{}{after}", MARKS[0], MARKS[1]);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_has_a_row_measured_or_not() {
        let judged = Judged::new(&[]);
        let text = pages::summary(&judged);
        assert_eq!(text.matches("| not measured | - |").count(), claims().len());
        assert!(
            claims()
                .iter()
                .all(|claim| text.contains(&format!("| `{}`: ", claim.id)))
        );
        for (paper, _) in PAPERS {
            assert!(judged.of_paper(paper).count() > 0, "{paper}");
        }
    }

    #[test]
    fn the_generated_part_goes_between_its_marks() {
        let text = format!("a\n{}\nold\n{}\nb", MARKS[0], MARKS[1]);
        let new = between(&text, "| new |\n").unwrap();
        assert_eq!(new, format!("a\n{}\n| new |\n{}\nb", MARKS[0], MARKS[1]));
        assert!(between("no marks", "").is_none());
    }

    /// Checks that all committed files agree with the stored figures and the rules.
    #[test]
    fn the_pages_are_up_to_date() {
        let root = crate::root();
        for (path, text) in files(&root).unwrap() {
            let stored = fs::read_to_string(root.join(&path)).unwrap_or_default();
            let is_same = stored == text;
            assert!(is_same, "{}: run `cargo xtask results`", path.display());
        }
    }
}
