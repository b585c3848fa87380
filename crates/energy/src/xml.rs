//! Parameters of an XML file of GPUWattch or AccelWattch: `<param name="..." value="..."/>`.
//!
//! Only elements `param` outside of comments are read. Other elements only count for the depth.

use warploom_diag::{Diagnostic, Source, Span};

/// Depth of the components whose parameters are read: `root` and `system`. Components within them
/// describe McPAT's structures.
const DEPTH: usize = 2;

/// A parameter with its places in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Param<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub value_span: Span,
}

/// The parameters of the outer components, in the order of the file.
///
/// # Errors
/// If a comment or an element has no end, or a parameter lacks its name or its value.
pub(crate) fn params(source: &Source) -> Result<Vec<Param<'_>>, Box<Diagnostic>> {
    let text = source.text();
    let (mut params, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        if rest.starts_with("<!--") {
            at = start + end_of(rest, "-->", start, "comment")?;
            continue;
        }
        let end = start + end_of(rest, ">", start, "element")?;
        let tag = &text[start..end];
        if tag.starts_with("</component") {
            depth = depth.saturating_sub(1);
        } else if tag.starts_with("<component") && !tag.ends_with("/>") {
            depth += 1;
        } else if is_param(tag) && depth <= DEPTH {
            params.push(param(tag, start)?);
        }
        at = end;
    }
    Ok(params)
}

/// Length of a construct up to and including its end.
fn end_of(rest: &str, end: &str, start: usize, what: &str) -> Result<usize, Box<Diagnostic>> {
    rest.find(end).map(|at| at + end.len()).ok_or_else(|| {
        let place = span(start, start + 1);
        let problem = Diagnostic::error("no-end", place, format!("the {what} has no end"));
        Box::new(problem.help(format!("write `{end}` after it")))
    })
}

fn is_param(tag: &str) -> bool {
    let rest = tag.strip_prefix("<param");
    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

fn param(tag: &str, start: usize) -> Result<Param<'_>, Box<Diagnostic>> {
    let (name, value) = (attribute(tag, "name"), attribute(tag, "value"));
    let (Some(name), Some(value)) = (name, value) else {
        let message = "a parameter needs a name and a value".to_owned();
        let place = span(start, start + tag.len());
        let problem = Diagnostic::error("bad-param", place, message);
        let help = "write `<param name=\"NAME\" value=\"NUMBER\"/>`";
        return Err(Box::new(problem.help(help)));
    };
    let (from, to) = (start + value.start, start + value.end);
    Ok(Param {
        name: tag[name].trim(),
        value: tag[value].trim(),
        value_span: span(from, to),
    })
}

/// Range of an attribute's text within a tag.
fn attribute(tag: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let mut from = 0;
    while let Some(found) = tag[from..].find(key) {
        let at = from + found;
        from = at + key.len();
        let before = tag[..at].ends_with(char::is_whitespace);
        let rest = tag[from..].trim_start();
        let Some(rest) = rest.strip_prefix('=').filter(|_| before) else {
            continue;
        };
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let start = tag.len() - rest.len() + 1;
        let length = tag[start..].find(quote)?;
        return Some(start..start + length);
    }
    None
}

fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

#[cfg(test)]
mod tests {
    use super::params;
    use warploom_diag::Source;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let source = Source::new("x.xml", text);
        match params(&source) {
            Ok(params) => {
                let pair = |p: &super::Param<'_>| (p.name.to_owned(), p.value.to_owned());
                Ok(params.iter().map(pair).collect())
            }
            Err(problem) => Err(problem.message),
        }
    }

    fn pairs(of: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        let owned = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
        Ok(of.iter().map(owned).collect())
    }

    #[test]
    fn outer_parameters_are_read_and_comments_are_not() {
        let text = "<?xml version=\"1.0\" ?>\n<component id=\"root\">\n<component id='system'>\n\
             <!-- <param name=\"A\" value=\"1\"/> -->\n<param name=\"B\" value = ' 2 ' /> <!--x-->\n\
             <stat name=\"C\" value=\"3\"/>\n<component id=\"core0\"><param name=\"D\" value=\"4\"/>\
             </component>\n<param value=\"5\" name=\"E\"/>\n</component></component>";
        assert_eq!(read(text), pairs(&[("B", "2"), ("E", "5")]));
    }

    #[test]
    fn what_has_no_end_is_an_error() {
        assert_eq!(read("<!-- a"), Err("the comment has no end".to_owned()));
        assert_eq!(
            read("<param name=\"a\" "),
            Err("the element has no end".to_owned())
        );
        for text in [
            "<param name=\"a\"/>",
            "<param value=\"1\" >",
            "<param name=a value=1>",
        ] {
            let told = read(text).unwrap_err();
            assert_eq!(told, "a parameter needs a name and a value", "{text}");
        }
        assert_eq!(read(""), pairs(&[]));
    }
}
