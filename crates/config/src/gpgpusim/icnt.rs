//! Parser of the file of the network (docs/model/formats.md, Network files).

use crate::gpgpusim::Place;
use crate::read::Layers;
use warploom_diag::{Diagnostic, Source, Span};

/// Statement of the form `name = value;`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub name: String,
    pub value: String,
    pub key: Place,
    pub place: Place,
}

/// Reads the statements of a file, which becomes one of the texts of the layers.
pub(super) fn read(layers: &mut Layers, source: Source) -> Vec<Statement> {
    let index = layers.sources.len();
    let text = without_comments(source.text());
    layers.sources.push(source);
    let mut all = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(';') {
        let body = part.strip_suffix(';');
        match statement(index, start, body.unwrap_or(part)) {
            Ok(Some(statement)) if body.is_some() => all.push(statement),
            Ok(None) => {}
            Ok(Some(statement)) => {
                let end = Span::new(statement.place.span.end, statement.place.span.end);
                let problem = Diagnostic::error("bad-network", end, "no `;` after a setting");
                layers
                    .problems
                    .push((index, problem.help("end it with `;`")));
            }
            Err(problem) => layers.problems.push((index, *problem)),
        }
        start += part.len();
    }
    all
}

/// Replaces comments by blanks, so that places stay the same.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let code = line.find("//").unwrap_or(line.len());
        plain.push_str(&line[..code]);
        let comment = line[code..].bytes();
        plain.extend(comment.map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    }
    plain
}

/// Parses the statement in `body`, which begins at `start`; `None` if it is blank.
fn statement(
    source: usize,
    start: usize,
    body: &str,
) -> Result<Option<Statement>, Box<Diagnostic>> {
    let place = |part: &str| {
        let inside = part.trim_start();
        let offset = part.as_ptr() as usize - body.as_ptr() as usize + part.len() - inside.len();
        Place::new(source, start + offset, part.trim().len())
    };
    if body.trim().is_empty() {
        return Ok(None);
    }
    let Some((name, value)) = body.split_once('=') else {
        let problem = Diagnostic::error("bad-network", place(body).span, "no setting");
        return Err(Box::new(problem.help("write `name = value;`")));
    };
    let (key, at) = (place(name), place(value));
    let plain_name = |name: &str| {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.is_empty() && name.bytes().all(word)
    };
    if !plain_name(name.trim()) || value.trim().is_empty() || value.contains('=') {
        let problem = Diagnostic::error("bad-network", key.span.to(at.span), "no setting");
        return Err(Box::new(problem.help("write `name = value;`")));
    }
    Ok(Some(Statement {
        name: name.trim().to_owned(),
        value: value.split_whitespace().collect::<Vec<_>>().join(" "),
        key,
        place: at,
    }))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::read::Layers;
    use warploom_diag::Source;

    #[test]
    fn statements_know_their_places() {
        let text = "// k = 1;\nuse_map = 0; k\n= 27 ; // x\nsize ={{1,2},\n{3}};\n";
        let mut layers = Layers::default();
        let all = read(&mut layers, Source::new("n.icnt", text));
        assert!(layers.problems.is_empty());
        let pairs: Vec<_> = all
            .iter()
            .map(|s| (s.name.as_str(), s.value.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [("use_map", "0"), ("k", "27"), ("size", "{{1,2}, {3}}")]
        );
        let source = &layers.sources[0];
        assert_eq!(source.slice(all[1].place.span), "27");
        assert_eq!(source.slice(all[1].key.span), "k");
    }

    #[test]
    fn what_is_no_statement_is_refused() {
        for text in ["k", "k = ;", "= 3;", "k = 3", "a b = 3;", "k = 3\nn = 1;"] {
            let mut layers = Layers::default();
            read(&mut layers, Source::new("n.icnt", text));
            assert_eq!(layers.problems.len(), 1, "{text}");
        }
    }
}
