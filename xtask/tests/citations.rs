//! Citations of the project's own pages: each page exists, each heading stands on it, and each link
//! leads somewhere. Files and items of the code that pages name exist, too.
//!
//! Comments and pages cite a page by its path from the root, and a section by its heading after a
//! comma: `docs/model/caches.md, Write policies`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders and files that tools write, and results of runs, which keep the words of their time.
const SKIPPED: &[&str] = &["target", ".git", "Cargo.lock", "snapshots"];
/// Kinds of files that may cite a page.
const CITING: &[&str] = &["rs", "md", "toml", "py", "txt"];
/// Folders whose pages are cited by path.
const CITED: &[&str] = &["docs/", "benches/"];
/// Names of sources that are not part of the project.
const GONE: &[&str] = &["model page", "formats page", "seed 00"];
/// Table of contents of the guide.
const CONTENTS: &str = "docs/SUMMARY.md";
/// Pages that tell of code as it was.
const HISTORY: &[&str] = &["CHANGELOG.md", "benches/log/"];
/// Name of the policy of `docs/adding-a-policy.md`, whose files in other places are not there.
const EXAMPLE: &str = "youngest_first";
/// File with the words that it refuses.
const THIS_FILE: &str = "xtask/tests/citations.rs";

/// Text file of the repository.
struct Text {
    /// Path from the root, with `/`.
    path: String,
    /// Text without marks of comments, its lines joined by blanks.
    flat: String,
    raw: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files that may cite a page, except for this one.
fn texts() -> Vec<Text> {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.sort();
    let texts = paths.into_iter().filter_map(|path| {
        let raw = fs::read_to_string(&path).ok()?;
        let path = path.strip_prefix(root()).expect("below the root");
        let path = path.to_string_lossy().replace('\\', "/");
        let flat = flatten(&raw);
        (path != THIS_FILE).then_some(Text { path, flat, raw })
    });
    let texts: Vec<_> = texts.collect();
    assert!(texts.len() > 500, "only {} files found", texts.len());
    texts
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let kind = path.extension().unwrap_or_default();
        if path.is_dir() {
            walk(&path, paths);
        } else if CITING.iter().any(|citing| kind == *citing) {
            paths.push(path);
        }
    }
}

/// Joins the lines of a text, without the marks of comments and quotes at their beginnings.
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for line in text.lines() {
        let words = line.trim_start().trim_start_matches(['/', '!', '>', '#']);
        flat.push_str(words.trim());
        flat.push(' ');
    }
    flat
}

/// Citation of a page, perhaps with the heading of a section.
#[derive(Debug, PartialEq)]
struct Citation<'a> {
    /// Path of the page from the root.
    page: &'a str,
    /// Text after the comma, if it begins like a heading.
    heading: Option<&'a str>,
}

/// Citations in a flat text.
fn citations(flat: &str) -> Vec<Citation<'_>> {
    let starts = CITED.iter().flat_map(|folder| flat.match_indices(folder));
    let found = starts.filter_map(|(start, _)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "/_.-".contains(c);
        // A link is looked at by itself, and a longer path is not a path from the root.
        if flat[..start].ends_with(|c| is_name(c) || c == '(') && !is_cited_in_brackets(flat, start)
        {
            return None;
        }
        let rest = &flat[start..];
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let page = rest[..end].trim_end_matches('.');
        let after = rest[page.len()..].trim_start_matches('`');
        let heading = after.strip_prefix(", ");
        let heading = heading.filter(|text| text.starts_with(|c: char| c.is_ascii_uppercase()));
        page.ends_with(".md").then_some(Citation { page, heading })
    });
    found.collect()
}

/// True for `(docs/...` that does not follow the text of a link.
fn is_cited_in_brackets(flat: &str, start: usize) -> bool {
    flat[..start].ends_with('(') && !flat[..start].ends_with("](")
}

/// Headings of a page, without marks of code.
fn headings(page: &str) -> Vec<String> {
    let mut in_code = false;
    let lines = page.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    });
    let heading = |line: &str| line.trim_start_matches('#').trim().replace('`', "");
    lines.map(heading).collect()
}

/// True if `text` begins with `heading`, which ends at the end of a word.
fn begins_with(text: &str, heading: &str) -> bool {
    let rest = text.strip_prefix(heading);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
}

/// Anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    let is_kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
    kept.chars().filter(is_kept).collect()
}

/// Targets of the links of a Markdown text that lead into the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.contains(' '))
}

/// Path of a link's target, `.` and `..` resolved, from the root.
fn resolve(from: &str, target: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_cited_page_and_heading_exists() {
    let texts = texts();
    let of_page = |text: &Text| (text.path.clone(), headings(&text.raw));
    let pages: BTreeMap<_, _> = texts.iter().map(of_page).collect();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for text in &texts {
        for Citation { page, heading } in citations(&text.flat) {
            let Some(known) = pages.get(page) else {
                wrong.push(format!("{}: there is no {page}", text.path));
                continue;
            };
            let Some(heading) = heading else { continue };
            checked += 1;
            if !known.iter().any(|known| begins_with(heading, known)) {
                let words: Vec<_> = heading.split(' ').take(5).collect();
                wrong.push(format!("{}: {page} has no {words:?}", text.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 20, "only {checked} headings cited");
}

/// True if `section` is the anchor of a heading of the page, or one that the page sets itself.
fn has_section(page: &str, section: &str) -> bool {
    let is_heading = headings(page).iter().any(|h| anchor(h) == section);
    section.is_empty() || is_heading || page.contains(&format!("<a id=\"{section}\">"))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for text in texts().iter().filter(|text| text.path.ends_with(".md")) {
        for link in links(&text.raw) {
            let (target, section) = link.split_once('#').unwrap_or((link, ""));
            let path = match target {
                "" => text.path.clone(),
                _ => resolve(&text.path, target),
            };
            let page = fs::read_to_string(root().join(&path)).unwrap_or_default();
            let is_there = root().join(&path).exists();
            if !is_there || !has_section(&page, section) {
                wrong.push(format!("{}: {link}", text.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Places in the code that a page names: a file, and perhaps the name of an item in it.
fn places(page: &str) -> Vec<(String, Option<String>)> {
    let mut in_code = false;
    let lines = page.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && !line.starts_with("```")
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    // Every second part is in marks of code.
    let mut file = None;
    let parts: Vec<&str> = text.split('`').collect();
    for pair in parts.chunks_exact(2) {
        let (between, code) = (pair[0], pair[1]);
        let belongs = matches!((&file, between), (Some(_), ": " | ", "));
        if is_file_name(code) {
            file = Some(code.to_owned());
            found.push((code.to_owned(), None));
        } else if belongs && is_item(code) {
            let item = code.rsplit("::").next().map(str::to_owned);
            found.extend(file.clone().map(|file| (file, item)));
        } else {
            file = None;
        }
    }
    found
}

/// True for the path of a Rust file that is written out, without parts in capitals to be replaced.
fn is_file_name(code: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_/.-".contains(c);
    code.ends_with(".rs") && code.chars().all(is_plain)
}

/// True for the path of an item, not for a word of the language.
fn is_item(code: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    !["mod", "use"].contains(&code) && code.chars().all(is_name)
}

/// True if a text of code defines an item.
fn defines(code: &str, item: &str) -> bool {
    ["fn", "struct", "enum", "trait", "const"]
        .iter()
        .any(|kind| {
            let start = format!("{kind} {item}");
            let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            code.split(&start).skip(1).any(is_end)
        })
}

#[test]
fn places_in_the_code_that_pages_name_exist() {
    let texts = texts();
    let code: Vec<_> = texts.iter().filter(|t| t.path.ends_with(".rs")).collect();
    let is_history = |path: &str| HISTORY.iter().any(|history| path.starts_with(history));
    let pages = texts.iter().filter(|text| text.path.ends_with(".md"));
    let pages = pages.filter(|page| !is_history(&page.path));
    let (mut wrong, mut items) = (Vec::new(), 0);
    for page in pages {
        for (file, item) in places(&page.raw) {
            let path = format!("/{file}");
            let mut named = code
                .iter()
                .filter(|t| format!("/{}", t.path).ends_with(&path));
            let has = |text: &&&Text| item.as_ref().is_none_or(|item| defines(&text.raw, item));
            items += usize::from(item.is_some());
            if !file.contains(EXAMPLE) && named.find(has).is_none() {
                let item = item.map_or_else(String::new, |item| format!(" with `{item}`"));
                wrong.push(format!("{}: there is no `{file}`{item}", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(items > 30, "only {items} items found");
}

#[test]
fn places_are_read_from_pages() {
    let page = "| x | `sm/issue.rs`: `issue_one`, `Link::send`; `a/NAME.rs` |\n`b.rs`, then `c`.";
    let place = |file: &str, item: Option<&str>| (file.to_owned(), item.map(str::to_owned));
    let expected = [
        place("sm/issue.rs", None),
        place("sm/issue.rs", Some("issue_one")),
        place("sm/issue.rs", Some("send")),
        place("b.rs", None),
    ];
    assert_eq!(places(page), expected);
    assert!(defines("pub fn send(&self)", "send") && !defines("fn send_all()", "send"));
}

#[test]
fn the_guide_contains_every_page_once() {
    let texts = texts();
    let pages = texts.iter().map(|text| text.path.as_str());
    let mut pages: Vec<_> = pages.filter(|path| is_in_guide(path)).collect();
    pages.sort_unstable();
    let contents = fs::read_to_string(root().join(CONTENTS)).unwrap();
    let mut listed: Vec<_> = links(&contents)
        .map(|link| resolve(CONTENTS, link))
        .collect();
    listed.sort();
    assert_eq!(listed, pages);
}

/// A site that is made of the guide contains the pages of the guide and no others.
#[test]
fn pages_of_the_guide_link_to_the_guide() {
    let mut outside = Vec::new();
    for text in texts().iter().filter(|text| is_in_guide(&text.path)) {
        let targets = links(&text.raw).map(|link| link.split('#').next().unwrap_or(""));
        let leads_out =
            |target: &&str| !target.is_empty() && !resolve(&text.path, target).starts_with("docs/");
        let out = targets.filter(leads_out);
        outside.extend(out.map(|target| format!("{}: {target}", text.path)));
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}

/// True for a page that the table of contents has to list.
fn is_in_guide(path: &str) -> bool {
    path.starts_with("docs/") && path.ends_with(".md") && path != CONTENTS
}

/// Texts of the elements of a class in a drawing.
fn drawn<'a>(drawing: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<text class=\"{class}");
    let elements = drawing.split(start.as_str()).skip(1);
    let texts = elements.filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
    texts.map(|(text, _)| text).collect()
}

#[test]
fn drawings_name_keys_and_causes_that_exist() {
    let page = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (keys, causes) = (
        page("docs/generated/keys.md"),
        page("docs/reading-a-result.md"),
    );
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for entry in fs::read_dir(root().join("docs/figures")).unwrap() {
        let path = entry.unwrap().path();
        let drawing = fs::read_to_string(&path).unwrap();
        for (class, known) in [("key", &keys), ("cause", &causes)] {
            for name in drawn(&drawing, class)
                .iter()
                .flat_map(|text| text.split(", "))
            {
                checked += 1;
                if !known.contains(&format!("`{name}`")) {
                    wrong.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 15, "only {checked} names");
}

#[test]
fn nothing_cites_what_is_not_here() {
    let mut found = Vec::new();
    for text in texts() {
        let lower = text.flat.to_lowercase();
        let words = GONE.iter().filter(|gone| lower.contains(**gone));
        found.extend(words.map(|gone| format!("{}: \"{gone}\"", text.path)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn citations_are_found_across_lines() {
    let flat =
        flatten("/// Tags (docs/model/caches.md,\n    /// Set index), see `docs/a-b.md`, Ports.");
    let expected = [
        ("docs/model/caches.md", Some("Set index")),
        ("docs/a-b.md", Some("Ports")),
    ];
    let found = citations(&flat);
    assert_eq!(found.len(), expected.len());
    for (found, (page, heading)) in found.iter().zip(expected) {
        assert_eq!(found.page, page);
        assert!(begins_with(
            found.heading.unwrap_or(""),
            heading.unwrap_or("")
        ));
    }
    assert_eq!(citations("docs/x.md, which says so")[0].heading, None);
    assert_eq!(citations("[x](docs/x.md) or /some/docs/y.md"), []);
    assert!(!begins_with("Portside", "Port") && begins_with("Ports.", "Ports"));
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(anchor("L1D and shared memory"), "l1d-and-shared-memory");
    assert_eq!(anchor("Stores, and `.cg`"), "stores-and-cg");
    assert_eq!(
        resolve("docs/model/sm.md", "../divergence.md"),
        "docs/divergence.md"
    );
    let page = "# A `b`\n```\n# no\n```\n## C\n";
    assert_eq!(headings(page), ["A b", "C"]);
}
