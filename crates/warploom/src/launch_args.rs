//! Options for a PTX file: `--kernel`, `--grid`, `--block` and `--arg`. They are converted to a
//! launch file with one launch, so that both have the same rules and the same messages. What they
//! leave open is guessed.

use crate::cuda_source::{compile, is_cuda};
use crate::failure::Failure;
use crate::guessed::complete;
use crate::output::quoted;
use crate::places::COMMAND_LINE;
use std::fmt::Write;
use std::path::Path;
use warploom_diag::Source;
use warploom_guess::{Candidate, Fixed};
use warploom_run::RunError;
use warploom_run::launch_file::{Element, LaunchFile, parse, read};

/// Options for the launch of a PTX file.
#[derive(Clone, Default, clap::Args)]
pub struct LaunchArgs {
    /// Name of the kernel in the PTX file, or its name in C++, such as `reduce` or 'reduce<256>'
    #[arg(long, value_name = "NAME", help_heading = "Launch of a PTX file")]
    pub kernel: Option<String>,
    /// Number of blocks: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub grid: Option<String>,
    /// Number of threads in a block: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub block: Option<String>,
    /// Next argument of the kernel: a number (`7`, `2.5`), a typed number (`f32:1`), a buffer:
    /// `TYPE[SHAPE]=INIT` with INIT one of zeros, iota, uniform, normal, a number or a .npy file
    /// that numpy's `save` wrote, whose type and number of elements are those of the buffer, or a
    /// structure: `struct:` with these as members, separated by commas
    #[arg(
        long = "arg",
        value_name = "ARG",
        help_heading = "Launch of a PTX file",
        value_parser = typed,
        allow_hyphen_values = true
    )]
    pub args: Vec<Typed>,
    /// Number of blocks in a cluster: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub cluster: Option<String>,
    /// Dynamic shared memory of a block in bytes
    #[arg(long, value_name = "BYTES", help_heading = "Launch of a PTX file")]
    pub shared: Option<u32>,
}

/// A launch with all of its options.
pub struct Described {
    /// The launch file that corresponds to the options.
    pub file: LaunchFile,
    /// The target with all options, as a user would type them.
    pub command: String,
    /// The options that were guessed.
    pub guessed: LaunchArgs,
}

/// An argument as it was typed, and its meaning.
#[derive(Clone, Debug)]
pub struct Typed {
    text: String,
    argument: Argument,
}

fn typed(text: &str) -> Result<Typed, String> {
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

fn extents(text: &str) -> Result<String, String> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let whole = |part: &str| digits(part) && part.bytes().any(|b| b != b'0');
    if text.split(',').all(whole) && text.split(',').count() <= 3 {
        Ok(text.to_owned())
    } else {
        Err("write one to three whole numbers from 1, for example 16 or 8,8,1".to_owned())
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
        depth += i32::from(c == '[') - i32::from(c == ']');
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
    buffer(text).ok_or_else(|| {
        "write a number (7), a typed number (f32:1), a buffer (f32[1024]=iota) or a structure \
         (struct:7,0.5)"
            .to_owned()
    })
}

/// True if the text is a number in TOML.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b))
}

fn buffer(text: &str) -> Option<Argument> {
    let (ty, rest) = text.split_once('[')?;
    let (shape, init) = rest.split_once(']')?;
    Element::find(ty)?;
    extents_of_shape(shape)?;
    let init = match init.strip_prefix('=') {
        None if init.is_empty() => "init = \"zeros\"".to_owned(),
        None => return None,
        Some(number) if is_number(number) => format!("init = \"constant\"\nvalue = {number}"),
        Some(word) if !word.contains(['"', '\\', '\n']) => format!("init = \"{word}\""),
        Some(_) => return None,
    };
    Some(Argument::Buffer(format!(
        "type = \"{ty}\"\nshape = [{shape}]\n{init}"
    )))
}

fn extents_of_shape(shape: &str) -> Option<()> {
    let whole = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    shape.split(',').all(whole).then_some(())
}

impl LaunchArgs {
    /// Options as texts, for commands that read them from a file. Arguments are separated by
    /// spaces.
    pub fn of_texts(
        kernel: Option<&str>,
        grid: Option<&str>,
        block: Option<&str>,
        args: Option<&str>,
    ) -> Result<Self, String> {
        let size = |text: Option<&str>| text.map(extents).transpose();
        Ok(Self {
            kernel: kernel.map(str::to_owned),
            grid: size(grid)?,
            block: size(block)?,
            args: args
                .unwrap_or_default()
                .split_whitespace()
                .map(typed)
                .collect::<Result<_, _>>()?,
            cluster: None,
            shared: None,
        })
    }

    /// The launch file that corresponds to the options. Parts of the launch that the options leave
    /// open are guessed.
    pub fn launch_file(&self, path: &str) -> Result<Described, Failure> {
        let module = match is_cuda(path) {
            true => compile(path)?,
            false => read(Path::new(path))?,
        };
        let (kernel, parameters) = self.choose(path, &module)?;
        let is_whole = self.grid.is_some() && self.block.is_some() && self.args.len() >= parameters;
        let options = match is_whole {
            true => Self {
                kernel: Some(kernel),
                ..self.clone()
            },
            false => complete(self, path, &module, &kernel)?,
        };
        Ok(Described {
            file: options.described(path, &module)?,
            command: options.command(path),
            guessed: self.left_open(&options),
        })
    }

    /// The options of a whole launch that these leave open.
    fn left_open(&self, whole: &Self) -> Self {
        let open = |given: &Option<String>, whole: &Option<String>| match given {
            Some(_) => None,
            None => whole.clone(),
        };
        Self {
            kernel: None,
            grid: open(&self.grid, &whole.grid),
            block: open(&self.block, &whole.block),
            args: whole
                .args
                .get(self.args.len()..)
                .unwrap_or_default()
                .to_vec(),
            cluster: None,
            shared: whole.shared.filter(|_| self.shared.is_none()),
        }
    }

    /// Note about arguments that were guessed although others were given, for a command that
    /// `given` describes.
    pub fn too_few(&self, given: &Self) -> Option<String> {
        let (few, open) = (given.args.len(), self.args.len());
        (few > 0 && open > 0).then(|| {
            let was = if few == 1 { "was" } else { "were" };
            format!(
                "note: {few} of the kernel's {} arguments {was} given, and others were guessed:{}\n",
                few + open,
                self.words()
            )
        })
    }

    /// Name of the kernel to launch, and its number of parameters.
    fn choose(&self, path: &str, module: &Source) -> Result<(String, usize), Failure> {
        let compiled = warploom_run::compile(module).map_err(RunError::from)?;
        let kernels = || compiled.kernels.iter();
        let names: Vec<_> = kernels().map(|kernel| kernel.name.as_str()).collect();
        let name = match (&self.kernel, names.as_slice()) {
            (Some(name), names) => warploom_names::find(name, names).unwrap_or(name),
            (None, [only]) => only,
            (None, []) => {
                return Err(Failure::Input(format!(
                    "{path} has no kernel that can run; `warploom check {path}` says why"
                )));
            }
            (None, names) => {
                return Err(Failure::Input(format!(
                    "{path} has {} kernels; choose one with --kernel: {}",
                    names.len(),
                    choices(names)
                )));
            }
        };
        let parameters = kernels().find(|kernel| kernel.name == name);
        let parameters = parameters.map_or(0, |kernel| kernel.params.len());
        Ok((name.to_owned(), parameters))
    }

    /// The launch file of options that leave nothing open.
    pub fn described(&self, path: &str, module: &Source) -> Result<LaunchFile, Failure> {
        let text = |option: &Option<String>| option.clone().unwrap_or_else(|| "1".to_owned());
        let kernel = self.kernel.clone().unwrap_or_default();
        let text = self.toml(path, &kernel, &text(&self.grid), &text(&self.block));
        let source = Source::new(COMMAND_LINE, text);
        let plan = parse(&source)?;
        Ok(LaunchFile::new(source, plan, "".into(), module.clone())?)
    }

    /// Parts of the launch that the options fix.
    pub fn fixed(&self) -> Fixed {
        let extents = |text: &Option<String>| {
            let mut parts = text.as_deref()?.split(',').map(str::parse);
            Some([(); 3].map(|()| parts.next().and_then(Result::ok).unwrap_or(1)))
        };
        Fixed {
            grid: extents(&self.grid),
            block: extents(&self.block),
            shared_bytes: self.shared,
            args: self.args.iter().map(|arg| arg.text.clone()).collect(),
        }
    }

    /// Arguments that are numbers: the place of each among all, from 0, and its text.
    pub fn numbers(&self) -> Vec<(usize, &str)> {
        let is_number = |(_, arg): &(usize, &Typed)| matches!(arg.argument, Argument::Scalar(_));
        let numbers = self.args.iter().enumerate().filter(is_number);
        numbers.map(|(at, arg)| (at, arg.text.as_str())).collect()
    }

    /// The options with a candidate's values where they leave something open.
    pub fn with(&self, kernel: &str, candidate: &Candidate) -> Result<Self, Failure> {
        let text = |extents: [u32; 3]| {
            let used = extents.iter().rposition(|n| *n > 1).unwrap_or(0);
            let words = extents[..=used].iter().map(u32::to_string);
            words.collect::<Vec<_>>().join(",")
        };
        let args = candidate.args.iter().map(|arg| typed(arg));
        let shared = Some(candidate.shared_bytes).filter(|bytes| *bytes > 0);
        Ok(Self {
            kernel: Some(kernel.to_owned()),
            grid: self.grid.clone().or_else(|| Some(text(candidate.grid))),
            block: self.block.clone().or_else(|| Some(text(candidate.block))),
            args: args.collect::<Result<_, _>>().map_err(Failure::Input)?,
            cluster: self.cluster.clone(),
            shared: self.shared.or(shared),
        })
    }

    fn toml(&self, path: &str, kernel: &str, grid: &str, block: &str) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!("module = {}\n", quoted(path));
        let args = self.args.iter().enumerate();
        let args = args.map(|(i, arg)| word(&arg.argument, &format!("arg{}", i + 1), &mut text));
        let args: Vec<_> = args.collect();
        let _ = write!(
            text,
            "\n[[launch]]\nkernel = {}\ngrid = [{grid}]\nblock = [{block}]\nargs = [{}]\n",
            quoted(kernel),
            args.join(", ")
        );
        if let Some(cluster) = &self.cluster {
            let _ = writeln!(text, "cluster = [{cluster}]");
        }
        if let Some(shared) = self.shared {
            let _ = writeln!(text, "dynamic_shared_bytes = {shared}");
        }
        text
    }

    /// The target with these options, as a user would type them.
    pub fn command(&self, target: &str) -> String {
        target.to_owned() + &self.words()
    }

    /// The options, each after a space.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), quoted(value)]);
        for (name, value) in [
            ("--kernel", &self.kernel),
            ("--grid", &self.grid),
            ("--block", &self.block),
            ("--cluster", &self.cluster),
        ] {
            if let Some(value) = value {
                option(name, value);
            }
        }
        self.args.iter().for_each(|arg| option("--arg", &arg.text));
        if let Some(shared) = self.shared {
            option("--shared", &shared.to_string());
        }
        words.iter().map(|word| format!(" {word}")).collect()
    }

    /// True if any option was given.
    pub fn given(&self) -> bool {
        self.kernel.is_some()
            || self.grid.is_some()
            || self.block.is_some()
            || self.cluster.is_some()
            || self.shared.is_some()
            || !self.args.is_empty()
    }
}

/// Text of an argument for `args`. Its buffers, which take their names from `name`, are added to
/// the file.
fn word(argument: &Argument, name: &str, file: &mut String) -> String {
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

/// Names by which kernels can be chosen: the plain ones, with parameters where they are needed.
fn choices(kernels: &[&str]) -> String {
    let choice = |kernel: &&str| {
        let plain = warploom_names::plain(kernel);
        let alone = warploom_names::find(&plain, kernels) == Some(*kernel);
        quoted(&match alone {
            true => plain,
            false => warploom_names::signature(kernel),
        })
    };
    kernels.iter().map(choice).collect::<Vec<_>>().join(", ")
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
    fn extents_are_one_to_three_numbers() {
        assert!(extents("1").is_ok() && extents("1,2,3").is_ok());
        for text in ["", "1,2,3,4", "1,", "-1", "x", "0", "8,0"] {
            assert!(extents(text).is_err(), "{text:?}");
        }
    }
}
