//! Sentences on runs that are the same in every cycle although their settings differ.

use std::collections::BTreeMap;

/// A run that issued instructions. Runs that were cut before their first instruction say nothing
/// about their settings.
#[derive(Clone, Copy, Debug)]
pub struct DigestOf<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// Digest of its outputs, cycles and counters.
    pub digest: &'a str,
}

/// Sentence that names all runs with the same outputs, cycles and counters, in groups: what they
/// set differently had no effect. Of runs that are `sampled` this is known of the timed launches.
pub fn equal_runs_told(runs: &[DigestOf<'_>], sampled: bool) -> Option<String> {
    let mut groups: Vec<Vec<&str>> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        let place = *places.entry(run.digest).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(names) if names.contains(&run.name) => {}
            Some(names) => names.push(run.name),
            None => groups.push(vec![run.name]),
        }
    }
    groups.retain(|names| names.len() > 1);
    let names: Vec<_> = groups.iter().map(|names| names.join("; ")).collect();
    let (which, named) = match names.as_slice() {
        [] => return None,
        [only] => ("these runs are".to_owned(), only.clone()),
        several => (
            format!("the runs of each of {} groups are", several.len()),
            format!("({})", several.join("), (")),
        ),
    };
    let (timed, there) = match sampled {
        true => (" of the timed launches", " there"),
        false => ("", ""),
    };
    Some(format!(
        "{which} the same in every cycle{timed}, so what differs in their settings changed \
         nothing{there} (docs/comparing.md, Equal runs): {named}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{DigestOf, equal_runs_told};

    fn run<'a>(name: &'a str, digest: &'a str) -> DigestOf<'a> {
        DigestOf { name, digest }
    }

    #[test]
    fn runs_that_changed_nothing_are_named_in_their_order() {
        let runs = [
            run("two-level", "b"),
            run("gto", "a"),
            run("lrr", "b"),
            run("lrr", "b"),
        ];
        let expected = "these runs are the same in every cycle, so what differs in their settings \
                        changed nothing (docs/comparing.md, Equal runs): two-level; lrr";
        assert_eq!(equal_runs_told(&runs, false).as_deref(), Some(expected));
        assert_eq!(equal_runs_told(&runs[3..], false), None);
        let told = equal_runs_told(&runs, true).unwrap();
        let part = "every cycle of the timed launches, so what differs in their settings changed \
                    nothing there";
        assert!(told.contains(part), "{told}");
    }

    #[test]
    fn all_groups_are_listed() {
        let digests = ["a", "b", "c"];
        let runs = digests.map(|digest| [run("x", digest), run("y", digest)]);
        let told = equal_runs_told(&runs.concat(), false).unwrap();
        assert!(
            told.starts_with("the runs of each of 3 groups are the same"),
            "{told}"
        );
        assert!(told.ends_with(": (x; y), (x; y), (x; y)"), "{told}");
    }
}
