//! Values of `--arg` and of extents such as `--grid`: from texts to words of a launch file.

use std::fmt::Write;
use warploom_run::launch_file::Element;

/// An argument as it was typed, and its meaning.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The text that was typed.
    pub text: String,
    /// Meaning of the text.
    pub argument: Argument,
}

/// Parses a value of `--arg`.
pub fn typed(text: &str) -> Result<Typed, String> {
    Ok(Typed {
        text: text.to_owned(),
        argument: argument(text)?,
    })
}

/// An argument in the syntax of a launch file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Text for `args`, without changes.
    Scalar(String),
    /// Keys of a `[[buffer]]`, without its name.
    Buffer(String),
    /// Members of a structure.
    Struct(Vec<Argument>),
}

/// Parses extents such as `16`, `8,8,1` or, as tables print them, `8x8`. The result has commas.
pub fn extents(text: &str) -> Result<String, String> {
    let with_commas = text.replace(['x', 'X'], ",");
    let parts: Vec<&str> = with_commas.split(',').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_zero = |part: &&str| part.bytes().all(|b| b == b'0');
    if parts.len() > 3 || !parts.iter().all(digits) || parts.iter().any(is_zero) {
        return Err("write one to three whole numbers from 1, for example 16 or 8,8,1".to_owned());
    }
    match parts.iter().find(|part| part.parse::<u32>().is_err()) {
        Some(part) => Err(format!(
            "{part} is too large; write numbers up to {}",
            u32::MAX
        )),
        None => Ok(with_commas),
    }
}

fn argument(text: &str) -> Result<Argument, String> {
    if let Some(members) = text.strip_prefix("struct:") {
        let members = members_of(members).into_iter().map(member);
        return members.collect::<Result<_, _>>().map(Argument::Struct);
    }
    if let Some(bytes) = text.strip_prefix("bytes:").filter(|bytes| are_bytes(bytes)) {
        return Ok(Argument::Scalar(format!("{{ bytes = [{bytes}] }}")));
    }
    member(text)
}

fn are_bytes(list: &str) -> bool {
    list.split(',').all(|byte| byte.parse::<u8>().is_ok())
}

/// Parts of a list between commas, apart from those between brackets.
fn members_of(list: &str) -> Vec<&str> {
    let mut depth = 0;
    list.split(|c: char| {
        depth += i32::from("[(".contains(c)) - i32::from("])".contains(c));
        c == ',' && depth == 0
    })
    .collect()
}

/// A number or a buffer, as an argument or as a member of a structure.
fn member(text: &str) -> Result<Argument, String> {
    if is_number(text) {
        return Ok(Argument::Scalar(text.to_owned()));
    }
    let known = |name: &str| Element::find(name).is_some();
    if let Some((ty, number)) = text
        .split_once(':')
        .filter(|(ty, n)| known(ty) && is_number(n))
    {
        return Ok(Argument::Scalar(format!("{{ {ty} = {number} }}")));
    }
    match text.split_once('[') {
        Some((ty, rest)) => buffer(ty, rest).map(Argument::Buffer),
        None if text.ends_with(".npy") => Err(format!(
            "a file needs the type and the number of its elements before it: 'f32[1024]={text}'"
        )),
        None => Err(
            "write a number (7), a typed number (f32:1), a buffer (f32[1024]=iota) or a structure \
             (struct:7,0.5)"
                .to_owned(),
        ),
    }
}

/// True if the text is a number in TOML.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b))
}

/// Keys of a `[[buffer]]` of type `ty`; `rest` is the text from the shape on.
fn buffer(ty: &str, rest: &str) -> Result<String, String> {
    let Some(element) = Element::find(ty) else {
        return Err(format!(
            "there is no element type `{ty}`; {}",
            Element::hint(ty)
        ));
    };
    let Some((shape, init)) = rest.split_once(']') else {
        return Err(format!("no `]` after the shape; write {ty}[1024]=iota"));
    };
    let whole = |part: &str| part.parse::<u64>().is_ok_and(|extent| extent > 0);
    if !shape.split(',').all(whole) {
        return Err(format!(
            "`{shape}` is not a shape; write whole numbers from 1 between commas, such as {ty}[64,64]"
        ));
    }
    let init = match init.strip_prefix('=') {
        None if init.is_empty() => "init = \"zeros\"".to_owned(),
        None => return Err(format!("no `=` after the shape; write {ty}[{shape}]=iota")),
        Some(init) => contents(init, element).map_err(|why| format!("{ty}[{shape}]: {why}"))?,
    };
    Ok(format!("type = \"{ty}\"\nshape = [{shape}]\n{init}"))
}

/// Keys for the contents of a buffer.
fn contents(init: &str, element: Element) -> Result<String, String> {
    if is_number(init) {
        return Ok(format!("init = \"constant\"\nvalue = {init}"));
    }
    if let Some((word, bounds)) = init.split_once('(') {
        return drawn(word, bounds);
    }
    if init == "uniform" && !element.is_float() {
        return Err(
            "random whole numbers need bounds; `uniform(0,100)` draws from 0 to 99".to_owned(),
        );
    }
    match init.contains(['"', '\\', '\n']) {
        true => Err("contents are a word, a number or the name of a .npy file".to_owned()),
        false => Ok(format!("init = \"{init}\"")),
    }
}

/// Keys for random contents whose two parameters are in `rest`, up to a `)`.
fn drawn(word: &str, rest: &str) -> Result<String, String> {
    let [first, second] = match word {
        "uniform" => ["low", "high"],
        "normal" => ["mean", "deviation"],
        _ => return Err("write `uniform(LOW,HIGH)` or `normal(MEAN,DEVIATION)`".to_owned()),
    };
    let numbers = rest.strip_suffix(')').and_then(|both| both.split_once(','));
    let numbers = numbers.map(|(one, other)| (one.trim(), other.trim()));
    match numbers.filter(|(one, other)| is_number(one) && is_number(other)) {
        Some((one, other)) => Ok(format!(
            "init = \"{word}\"\n{first} = {one}\n{second} = {other}"
        )),
        None => Err(format!("write two numbers: `{word}(0,100)`")),
    }
}

/// Text of an argument for `args`. Its buffers, which take their names from `name`, are added to
/// the file.
pub fn word(argument: &Argument, name: &str, file: &mut String) -> String {
    match argument {
        Argument::Scalar(number) => number.clone(),
        Argument::Buffer(keys) => {
            let _ = write!(file, "\n[[buffer]]\nname = \"{name}\"\n{keys}\n");
            format!("\"{name}\"")
        }
        Argument::Struct(members) => {
            let members = members.iter().enumerate();
            let members = members.map(|(m, of)| word(of, &format!("{name}.{}", m + 1), file));
            let members: Vec<_> = members.collect();
            format!("{{ struct = [{}] }}", members.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Argument, argument, extents, word};

    #[test]
    fn arguments_become_words_of_a_launch_file() {
        let scalar = |text: &str| Ok(Argument::Scalar(text.to_owned()));
        let buffer = |text: &str| Ok(Argument::Buffer(text.to_owned()));
        assert_eq!(argument("-7"), scalar("-7"));
        assert_eq!(argument("2.5e-3"), scalar("2.5e-3"));
        assert_eq!(argument("f32:1"), scalar("{ f32 = 1 }"));
        assert_eq!(
            argument("f32[4,2]=uniform"),
            buffer("type = \"f32\"\nshape = [4,2]\ninit = \"uniform\"")
        );
        assert_eq!(
            argument("s32[8]=-1"),
            buffer("type = \"s32\"\nshape = [8]\ninit = \"constant\"\nvalue = -1")
        );
        assert_eq!(
            argument("u8[1]"),
            buffer("type = \"u8\"\nshape = [1]\ninit = \"zeros\"")
        );
    }

    #[test]
    fn a_file_alone_is_told_the_whole_form() {
        let told = argument("in.npy").unwrap_err();
        assert!(told.ends_with("before it: 'f32[1024]=in.npy'"), "{told}");
    }

    #[test]
    fn structures_have_members_between_commas() {
        let scalar = |text: &str| Argument::Scalar(text.to_owned());
        let buffer = "type = \"f32\"\nshape = [4,2]\ninit = \"iota\"".to_owned();
        let members = vec![
            scalar("256"),
            scalar("{ f64 = 0.5 }"),
            Argument::Buffer(buffer),
        ];
        assert_eq!(
            argument("struct:256,f64:0.5,f32[4,2]=iota"),
            Ok(Argument::Struct(members))
        );
        assert_eq!(argument("bytes:0,255"), Ok(scalar("{ bytes = [0,255] }")));
    }

    #[test]
    fn a_structure_names_its_buffers() {
        let mut file = String::new();
        let made = argument("struct:3,u8[2],-1").map(|made| word(&made, "arg2", &mut file));
        assert_eq!(made.as_deref(), Ok("{ struct = [3, \"arg2.2\", -1] }"));
        assert!(
            file.starts_with("\n[[buffer]]\nname = \"arg2.2\"\ntype = \"u8\""),
            "{file}"
        );
    }

    #[test]
    fn other_arguments_are_refused() {
        for text in [
            "",
            "x",
            "f33:1",
            "f32[4",
            "f32[]",
            "f32[4]iota",
            "f32[a]",
            "f32[4]=\"",
            "1\n2",
            "struct:",
            "struct:1,,2",
            "struct:struct:1",
            "bytes:256",
        ] {
            assert!(argument(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_buffer_that_cannot_be_says_which_part_is_wrong() {
        for (text, part) in [
            ("float[4]=iota", "did you mean `f32`?"),
            ("f32[4x4]=iota", "`4x4` is not a shape"),
            ("f32[]=iota", "`` is not a shape"),
            ("f32[0]=iota", "`0` is not a shape"),
            ("f32[4=iota", "no `]`"),
            ("f32[4]iota", "no `=`"),
            ("u8[4]=uniform", "`uniform(0,100)` draws from 0 to 99"),
            ("u8[4]=uniform(100)", "write two numbers"),
            ("u8[4]=uniformly(0,9)", "`uniform(LOW,HIGH)`"),
        ] {
            let told = argument(text).expect_err(text);
            assert!(told.contains(part), "{text}: {told}");
        }
    }

    #[test]
    fn random_contents_have_bounds() {
        let buffer = |text: &str| Ok(Argument::Buffer(text.to_owned()));
        let head = "type = \"u8\"\nshape = [4]\n";
        assert_eq!(
            argument("u8[4]=uniform(0,64)"),
            buffer(&format!("{head}init = \"uniform\"\nlow = 0\nhigh = 64"))
        );
        assert_eq!(
            argument("u8[4]=normal(8, 1.5)"),
            buffer(&format!(
                "{head}init = \"normal\"\nmean = 8\ndeviation = 1.5"
            ))
        );
    }

    #[test]
    fn extents_are_one_to_three_numbers() {
        assert_eq!(extents("16x8").as_deref(), Ok("16,8"));
        let large = extents("99999999999").expect_err("too large");
        assert!(large.contains("up to 4294967295"), "{large}");
        assert!(extents("1").is_ok() && extents("1,2,3").is_ok());
        for text in ["", "1,2,3,4", "1,", "-1", "x", "0", "8,0"] {
            assert!(extents(text).is_err(), "{text:?}");
        }
    }
}
