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

#[cfg(test)]
mod tests {
    use super::nearest;

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
