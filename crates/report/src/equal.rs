//! Sentences on runs that are the same in every cycle although their settings differ.

use std::collections::BTreeMap;

/// Groups of equal runs that are told one by one.
const SHOWN: usize = 5;

/// A run that issued instructions. Runs that were cut before their first instruction say nothing
/// about their settings.
#[derive(Clone, Copy, Debug)]
pub struct DigestOf<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// Digest of its outputs, cycles and counters.
    pub digest: &'a str,
}

/// Sentences that name runs with the same outputs, cycles and counters: what they set differently
/// had no effect. Of runs that are `sampled` this is known of the timed launches.
pub fn equal_runs_told(runs: &[DigestOf<'_>], sampled: bool) -> Vec<String> {
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
    let (timed, there) = match sampled {
        true => (" of the timed launches", " there"),
        false => ("", ""),
    };
    let more = groups.len().saturating_sub(SHOWN);
    let told = groups.iter().take(SHOWN).map(|names| {
        format!(
            "these runs are the same in every cycle{timed}, so what differs in their settings changed \
             nothing{there} (docs/comparing.md, Equal runs): {}",
            names.join("; ")
        )
    });
    let more = (more > 0).then(|| {
        format!("there are {more} more groups of runs that are the same in every cycle{timed}")
    });
    told.chain(more).collect()
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
        assert_eq!(equal_runs_told(&runs, false), [expected]);
        assert_eq!(equal_runs_told(&runs[3..], false), [""; 0]);
        let told = equal_runs_told(&runs, true);
        let part = "every cycle of the timed launches, so what differs in their settings changed nothing there";
        assert!(told[0].contains(part), "{told:?}");
    }

    #[test]
    fn many_groups_are_counted() {
        let digests = ["a", "b", "c", "d", "e", "f", "g"];
        let runs = digests.map(|digest| [run("x", digest), run("y", digest)]);
        let told = equal_runs_told(&runs.concat(), false);
        assert_eq!(told.len(), 6);
        assert!(told[5].starts_with("there are 2 more groups"), "{told:?}");
    }
}
