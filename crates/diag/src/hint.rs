//! Hints for mistyped names: the nearest known name.

/// Returns the candidate that a mistyped `name` most likely meant; `None` if no candidate is close.
///
/// A candidate is close if its edit distance is at most a third of the length of `name`, or 1.
/// A transposition counts as one edit; letter case does not count. Of equally close candidates the
/// first is returned.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = name.to_lowercase();
    let limit = (folded.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        // The difference of lengths is a lower bound of the distance and much cheaper.
        if candidate.len().abs_diff(folded.len()) > limit || candidate == name {
            continue;
        }
        let distance = strsim::osa_distance(&folded, &candidate.to_lowercase());
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Most names that [`nearest_by_words`] gives.
const MOST_BY_WORDS: usize = 3;

/// The candidates that have most of the words of a name that is none of them, in any order: words
/// stand between dots. They have more than half of the name's words, and as few others as any
/// candidate with as many.
pub fn nearest_by_words<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let folded = name.to_lowercase();
    let words: Vec<&str> = folded.split('.').collect();
    let mut best: Vec<&str> = Vec::new();
    let mut most = (words.len() / 2, 0);
    for candidate in candidates {
        let own: Vec<&str> = candidate.split('.').collect();
        let common = words.iter().filter(|word| own.contains(*word)).count();
        let rank = (common, usize::MAX - own.len());
        if common <= words.len() / 2 || rank < most {
            continue;
        }
        if rank > most {
            best.clear();
            most = rank;
        }
        best.push(candidate);
    }
    best.truncate(MOST_BY_WORDS);
    best
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_by_words};

    #[test]
    fn finds_names_with_the_same_words() {
        let names = [
            "sm.slots.issued",
            "sm.slots.policy",
            "l1d.fails.read.line_alloc",
            "l1d.fails.write.line_alloc",
            "l1d.fails.read.mshr",
        ];
        let near = |name| nearest_by_words(name, names);
        assert_eq!(near("sm.scheduler_cycles.policy"), ["sm.slots.policy"]);
        assert_eq!(near("l1d.fails.line_alloc.read"), [names[2]]);
        assert_eq!(near("l1d.fails.line_alloc"), [names[2], names[3]]);
        assert_eq!(near("sm.foo"), [""; 0]);
    }

    #[test]
    fn finds_the_typo() {
        let names = ["add", "addc", "and", "mad", "vadd"];
        assert_eq!(nearest("adc", names), Some("add"));
        assert_eq!(nearest("ADD", names), Some("add"));
        assert_eq!(nearest("vdad", names), Some("vadd"));
        assert_eq!(nearest("%rd11", ["%rd1", "%rd10", "%f11"]), Some("%rd1"));
    }

    #[test]
    fn stays_silent_about_strangers() {
        assert_eq!(nearest("frobnicate", ["add", "sub"]), None);
        assert_eq!(nearest("x", ["add", "sub"]), None);
        assert_eq!(nearest("", ["add", "sub"]), None);
    }
}
