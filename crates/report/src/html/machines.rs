//! Machines of a results folder. One is listed once, with the keys of all builds that simulated it;
//! it is listed again where a key has another value.

use crate::page::Page;
use minijinja::context;
use minijinja::value::{Serde, Value};
use std::collections::BTreeMap;
use warploom_stats::result::ConfigValue;

/// Number of different keys that a machine's title names.
const NAMED: usize = 3;

type Keys = BTreeMap<String, ConfigValue>;

/// A preset from which configurations start, and the pages that use it.
pub struct Machine<'a> {
    name: &'a str,
    keys: Keys,
    used: Vec<(String, &'a Keys)>,
    anchor: String,
    title: String,
}

/// The machines of all pages, in the order of their first use.
pub fn machines(pages: &[Page]) -> Vec<Machine<'_>> {
    let mut machines: Vec<Machine<'_>> = Vec::new();
    let uses = pages
        .iter()
        .flat_map(|page| page.presets.iter().map(move |of| (page.full_name(), of)));
    for (figure, (name, keys)) in uses {
        let same = machines.iter_mut().find(|known| known.is(name, keys));
        match same {
            Some(known) => known.add(figure, keys),
            None => {
                let anchor = format!("machine-{}", machines.len());
                let title = title(name, keys, &machines);
                machines.push(Machine {
                    name,
                    keys: keys.clone(),
                    used: vec![(figure, keys)],
                    anchor,
                    title,
                });
            }
        }
    }
    machines
}

/// Name of a machine. For one that has the name of an earlier machine, it names the different keys.
fn title(name: &str, keys: &Keys, earlier: &[Machine<'_>]) -> String {
    let Some(first) = earlier.iter().find(|known| known.name == name) else {
        return name.to_owned();
    };
    let differs = |(key, value): &(&String, &ConfigValue)| {
        first.keys.get(*key).is_some_and(|first| first != *value)
    };
    let different: Vec<_> = keys.iter().filter(differs).collect();
    let named = different.iter().take(NAMED);
    let named = named.map(|(key, value)| format!("{key} = {value}"));
    let named: Vec<String> = named.collect();
    let more = match different.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{name} with {}{more}", named.join(", "))
}

impl Machine<'_> {
    /// True for a machine of this name whose keys have no other values. Keys that only one of them
    /// has do not count: another build had them.
    fn is(&self, name: &str, keys: &Keys) -> bool {
        let agrees = |(key, value)| self.keys.get(key).is_none_or(|own| own == value);
        self.name == name && keys.iter().all(agrees)
    }

    /// True if a page's configurations start from this machine.
    pub fn is_of(&self, page: &Page) -> bool {
        let keys = page.presets.get(self.name);
        keys.is_some_and(|keys| self.is(self.name, keys))
    }

    /// Keys that the builds of some figures did not have, with these figures.
    fn unknown(&self) -> BTreeMap<&str, Vec<&str>> {
        let without = |key: &String| {
            let used = self.used.iter().filter(|(_, keys)| !keys.contains_key(key));
            used.map(|(figure, _)| figure.as_str()).collect::<Vec<_>>()
        };
        let all = self.keys.keys().map(|key| (key.as_str(), without(key)));
        all.filter(|(_, figures)| !figures.is_empty()).collect()
    }

    /// The machine for the template.
    pub fn shown(&self) -> Value {
        context! {
            title => self.title.as_str(),
            keys => Serde(&self.keys),
            anchor => self.anchor.as_str(),
            unknown => Serde(self.unknown()),
        }
    }
}

impl<'a> Machine<'a> {
    fn add(&mut self, figure: String, keys: &'a Keys) {
        for (key, value) in keys {
            self.keys
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        self.used.push((figure, keys));
    }
}

#[cfg(test)]
mod tests {
    use crate::html::html;
    use crate::html::tests::{imprint, page};
    use crate::page::Page;
    use warploom_stats::result::ConfigValue;

    /// A page whose machine also has these keys.
    fn with(figure: &str, keys: &[(&str, i64)]) -> Page {
        let mut page = Page {
            figure: figure.to_owned(),
            ..page()
        };
        let own = page.presets.get_mut("gtx480").unwrap();
        own.extend(
            keys.iter()
                .map(|(key, value)| ((*key).to_owned(), ConfigValue::Integer(*value))),
        );
        page
    }

    /// Summaries of the lists of keys, and the number of links to the first.
    fn lists(pages: &[Page]) -> (Vec<String>, usize) {
        let text = html("Results", &imprint(), pages);
        let parts = text.split("<summary>Every key of ").skip(1);
        let names = parts.filter_map(|part| Some(part.split_once("</summary>")?.0.to_owned()));
        let links = text.matches("<a href=\"#machine-0\">").count();
        (names.collect(), links)
    }

    #[test]
    fn a_machine_is_listed_once_and_again_where_a_key_has_another_value() {
        let one = vec!["gtx480".to_owned()];
        assert_eq!(lists(&[page(), page()]), (one, 2));
        let keys = [("gpu.sms", 16), ("sm.a", 1), ("sm.b", 1), ("sm.c", 1)];
        let other = keys.map(|(key, _)| (key, 16));
        let (names, links) = lists(&[with("a", &keys), with("b", &[("gpu.sms", 17)])]);
        assert_eq!(
            (names, links),
            (
                vec!["gtx480".to_owned(), "gtx480 with gpu.sms = 17".to_owned()],
                1
            )
        );
        let (names, _) = lists(&[with("a", &keys), with("b", &other)]);
        assert_eq!(names[1], "gtx480 with sm.a = 16, sm.b = 16, sm.c = 16");
        let third = keys.map(|(key, _)| (key, 17));
        let (names, _) = lists(&[with("a", &keys), with("b", &third)]);
        assert_eq!(
            names[1],
            "gtx480 with gpu.sms = 17, sm.a = 17, sm.b = 17 and 1 more"
        );
    }

    /// Two builds of which one knows a key more simulate the same machine.
    #[test]
    fn keys_that_a_build_did_not_have_are_named_with_its_figures() {
        let pages = [
            page(),
            with("new", &[("sm.new", 0)]),
            with("newer", &[("sm.new", 0)]),
        ];
        assert_eq!(lists(&pages), (vec!["gtx480".to_owned()], 3));
        let text = html("Results", &imprint(), &pages);
        assert!(text.contains("<td><code>sm.new</code></td><td>0</td>"));
        let told =
            "<code>sm.new</code>: the build that made cooperative&#x2f;fig3 did not have this key.";
        assert!(text.contains(told), "{text}");
        assert!(!html("Results", &imprint(), &[page()]).contains("did not have"));
    }
}
