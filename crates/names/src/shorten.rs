//! Shortens plain names: first what distinguishes kernels least.

use crate::plain;

/// Stands for what was left out.
const GAP: char = '…';

/// Name of a kernel in at most `width` characters: its plain name if that fits. Otherwise
/// namespaces are left out, then the innermost template arguments, then outer ones, then the end of
/// the name.
pub fn shortened(name: &str, width: usize) -> String {
    let plain = plain(name);
    let last = last_part(&plain);
    let deepest = depths(&plain).map(|(_, depth)| depth).max().unwrap_or(0);
    let forms = (0..=deepest).rev();
    let mut forms = forms
        .flat_map(|most| [&plain, last.as_str()].map(|name| without_deeper(name, most)))
        .chain([function(&plain)]);
    let fits = |text: &String| text.chars().count() <= width;
    forms.find(fits).unwrap_or_else(|| {
        let function = function(&plain);
        let kept = function.chars().take(width.saturating_sub(1));
        kept.chain([GAP]).collect()
    })
}

/// Characters of a name, each with the number of template argument lists around it. The brackets of
/// a list belong to its outside.
fn depths(name: &str) -> impl Iterator<Item = (char, usize)> + '_ {
    let mut depth = 0_usize;
    name.chars().map(move |c| match c {
        '<' => {
            depth += 1;
            (c, depth - 1)
        }
        '>' => {
            depth = depth.saturating_sub(1);
            (c, depth)
        }
        _ => (c, depth),
    })
}

/// A name with a gap in place of template arguments that have more than `most` lists around them.
fn without_deeper(name: &str, most: usize) -> String {
    let mut text = String::new();
    for (c, depth) in depths(name) {
        match (depth > most, text.ends_with(GAP)) {
            (false, _) => text.push(c),
            (true, false) => text.push(GAP),
            (true, true) => {}
        }
    }
    text
}

/// A name without its namespaces.
fn last_part(name: &str) -> String {
    let characters: Vec<_> = depths(name).collect();
    let colon = characters.iter().rposition(|place| *place == (':', 0));
    let last = &characters[colon.map_or(0, |at| at + 1)..];
    last.iter().map(|(c, _)| c).collect()
}

/// A plain name without namespaces and template arguments.
pub(crate) fn function(plain: &str) -> String {
    let outside = |(c, depth): (char, usize)| (depth == 0 && !"<>".contains(c)).then_some(c);
    depths(&last_part(plain)).filter_map(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::{function, last_part, shortened, without_deeper};

    const NAME: &str = "at::native::map<4, at::Add<float>, std::array<char*, 3>>";

    #[test]
    fn namespaces_go_first_then_inner_arguments() {
        let widths = [60, 50, 40, 30, 12, 5, 2];
        let texts = widths.map(|width| shortened(NAME, width));
        assert_eq!(
            texts,
            [
                NAME,
                "map<4, at::Add<float>, std::array<char*, 3>>",
                "map<4, at::Add<…>, std::array<…>>",
                "at::native::map<…>",
                "map<…>",
                "map",
                "m…",
            ]
        );
        assert_eq!(shortened("a_long_name_without_parts", 10), "a_long_na…");
        assert_eq!(shortened("short", 10), "short");
        assert_eq!(shortened("_Z6reduceILi256EEvPf", 10), "reduce<…>");
    }

    #[test]
    fn parts_are_cut_at_lists_and_namespaces() {
        assert_eq!(without_deeper("a<b<c>>", 1), "a<b<…>>");
        assert_eq!(last_part("x::a<b::c<d>>"), "a<b::c<d>>");
        assert_eq!(function("x::a<b::c<d>>"), "a");
        assert_eq!(function("(anonymous namespace)::spin"), "spin");
        assert_eq!(function(">>"), "");
    }
}
