//! Problems of a launch that options describe. Options are converted to a launch file
//! ([`LaunchArgs`](crate::launch_args::LaunchArgs)); problems in its text name the option instead.

use std::fmt::Write;
use warploom_diag::{Diagnostic, Source, Style};
use warploom_run::launch_file::InputErrors;

/// Name of the text into which options are converted.
pub const COMMAND_LINE: &str = "the command line";

/// Text of all problems. Those of a launch that options describe name the options.
pub fn render(errors: &InputErrors, style: Style) -> String {
    match errors {
        InputErrors::Located(source, problems) if source.name() == COMMAND_LINE => {
            let texts = problems.iter().map(|problem| told(source, problem));
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.render(style),
    }
}

fn told(source: &Source, problem: &Diagnostic) -> String {
    let at = problem.primary.span.start as usize;
    let mut text = format!("error[{}]: {}\n", problem.code, problem.message);
    let _ = writeln!(text, " --> {COMMAND_LINE}: {}", option(source.text(), at));
    for help in &problem.help {
        // There is no launch file.
        let help = help.replace("the launch file's folder", "the current folder");
        let _ = writeln!(text, "  = help: {help}");
    }
    text
}

/// The option from which the text at an offset was made.
fn option(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let key = line.split(" = ").next().unwrap_or_default();
    match key {
        "kernel" => "--kernel".to_owned(),
        "grid" => "--grid".to_owned(),
        "block" => "--block".to_owned(),
        "cluster" => "--cluster".to_owned(),
        "dynamic_shared_bytes" => "--shared".to_owned(),
        "args" => match argument(&before[start..]) {
            0 => "--arg".to_owned(),
            nth => format!("--arg number {nth}"),
        },
        _ => match buffer(before) {
            Some(nth) => format!("--arg number {nth}"),
            None => "the options of the launch".to_owned(),
        },
    }
}

/// Position, from 1, of the argument that follows the beginning of `args = [..]`; 0 for the list
/// itself.
fn argument(before: &str) -> usize {
    let Some((_, before)) = before.split_once(" = [") else {
        return 0;
    };
    let mut depth = 0;
    let commas = before.chars().filter(|c| {
        depth += i32::from("[{".contains(*c)) - i32::from("]}".contains(*c));
        *c == ',' && depth == 0
    });
    1 + commas.count()
}

/// Number of the argument whose buffer is the last one in the text.
fn buffer(text: &str) -> Option<String> {
    let (_, last) = text.rsplit_once("[[buffer]]")?;
    let name = last.split_once("\"arg")?.1;
    Some(name.split(['"', '.']).next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::option;

    #[test]
    fn places_in_the_text_are_options() {
        let text = "module = \"k.ptx\"\n\n[[buffer]]\nname = \"arg2.1\"\ntype = \"u8\"\n\
                    value = 256\n\n[[launch]]\nkernel = \"k\"\ngrid = [4]\nblock = [2048]\n\
                    args = [1, { struct = [\"arg2.1\", 7] }, 3]\ndynamic_shared_bytes = 4\n";
        let at = |part: &str| option(text, text.find(part).expect("a part"));
        assert_eq!(at("256"), "--arg number 2");
        assert_eq!(at("[2048]"), "--block");
        assert_eq!(at("[4]"), "--grid");
        assert_eq!(at("[1, {"), "--arg");
        assert_eq!(at("1, {"), "--arg number 1");
        assert_eq!(at("{ struct"), "--arg number 2");
        assert_eq!(at("3]"), "--arg number 3");
        assert_eq!(at("4\n"), "--shared");
        assert_eq!(at("module"), "the options of the launch");
    }
}
