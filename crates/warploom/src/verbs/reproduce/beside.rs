//! Figures that earlier calls left in the folder. Claims about the new ones may need their data.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use warploom_lab::judge;
use warploom_report::page::Page;

/// The pages, judged beside the other figures of their papers in a folder of results.
pub fn judged(folder: &Path, mut pages: Vec<Page>) -> Vec<Page> {
    let made = pages.len();
    let names: BTreeSet<String> = pages.iter().map(Page::full_name).collect();
    let papers: BTreeSet<String> = pages.iter().map(|page| page.paper.clone()).collect();
    let stored = papers.iter().flat_map(|paper| stored(&folder.join(paper)));
    pages.extend(stored.filter(|page| !names.contains(&page.full_name())));
    judge(&mut pages);
    pages.truncate(made);
    pages
}

/// The pages in a folder. Other files are left out.
fn stored(folder: &Path) -> Vec<Page> {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    let read = |path: &Path| serde_json::from_str(&read_to_string(path).ok()?).ok();
    let paths = entries.map(|entry| entry.path());
    let json = paths.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    json.filter_map(|path| read(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::judged;
    use std::fs::{create_dir, write};
    use warploom_report::page::{Cell, Page};

    fn page(figure: &str, column: &str, value: f64) -> Page {
        let text = format!(
            r#"{{"paper":"slicer","figure":"{figure}","title":"","scale":"test","version":"",
                "command":"","columns":[{{"name":"pair","about":""}},
                {{"name":"left-over.ipc","about":""}},{{"name":"{column}","about":""}}],
                "rows":[{{"pair":"A","left-over.ipc":50,"{column}":{value}}}],"summary":{{}},
                "charts":[]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn ours(pages: &[Page]) -> &Cell {
        &pages[0].verdicts[0].statements[0].ours
    }

    #[test]
    fn a_claim_finds_the_data_of_an_earlier_figure() {
        let folder = tempfile::tempdir().unwrap();
        let own = || vec![page("fig6-oracle", "oracle.ipc", 100.0)];
        let without = judged(folder.path(), own());
        assert_eq!((ours(&without), without.len()), (&Cell::None, 1));
        create_dir(folder.path().join("slicer")).unwrap();
        let path = |name: &str| folder.path().join("slicer").join(name);
        let fig6 = serde_json::to_string(&page("fig6", "warped-slicer", 2.0)).unwrap();
        write(path("fig6.json"), fig6).unwrap();
        write(path("notes.json"), "not a page").unwrap();
        let beside = judged(folder.path(), own());
        assert_eq!((ours(&beside), beside.len()), (&Cell::from("1 of 1"), 1));
    }
}
