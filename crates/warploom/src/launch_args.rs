//! Options for a PTX file: `--kernel`, `--grid`, `--block` and `--arg`. They are converted to a
//! launch file with one launch, so that both have the same rules and the same messages.

use crate::failure::Failure;
use crate::output::quoted;
use std::fmt::Write;
use std::path::Path;
use warploom_diag::Source;
use warploom_run::launch_file::{Element, LaunchFile, parse, read};

/// Options for the launch of a PTX file.
#[derive(clap::Args)]
pub struct LaunchArgs {
    /// Name of the kernel in the PTX file
    #[arg(long, value_name = "NAME", help_heading = "Launch of a PTX file")]
    pub kernel: Option<String>,
    /// Number of blocks: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub grid: Option<String>,
    /// Number of threads in a block: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub block: Option<String>,
    /// Next argument of the kernel: a number (`7`, `2.5`), a typed number (`f32:1`), or a buffer:
    /// `TYPE[SHAPE]=INIT` with INIT one of zeros, iota, uniform, normal, a number or a .npy file
    #[arg(
        long = "arg",
        value_name = "ARG",
        help_heading = "Launch of a PTX file",
        value_parser = typed,
        allow_hyphen_values = true
    )]
    pub args: Vec<Typed>,
    /// Dynamic shared memory of a block in bytes
    #[arg(long, value_name = "BYTES", help_heading = "Launch of a PTX file")]
    pub shared: Option<u32>,
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
}

fn extents(text: &str) -> Result<String, String> {
    let whole = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if text.split(',').all(whole) && text.split(',').count() <= 3 {
        Ok(text.to_owned())
    } else {
        Err("write one to three whole numbers, for example 16 or 8,8,1".to_owned())
    }
}

fn argument(text: &str) -> Result<Argument, String> {
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
        "write a number (7), a typed number (f32:1) or a buffer (f32[1024]=iota)".to_owned()
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
            shared: None,
        })
    }

    /// The launch file that corresponds to the options.
    pub fn launch_file(&self, path: &str) -> Result<LaunchFile, Failure> {
        let module = read(Path::new(path))?;
        let missing = |option: &str, example: &str| {
            Failure::Input(format!(
                "{path} needs `--{option}`; for example `warploom run {path} --kernel NAME \
                 --grid 16 --block 256 --arg f32[4096]=iota`, or a launch file{example}"
            ))
        };
        let names = kernels(&module);
        let kernel = match (&self.kernel, names.as_slice()) {
            (Some(kernel), _) => kernel,
            (None, [only]) => only,
            (None, names) => return Err(missing("kernel", &kernel_list(names))),
        };
        let grid = self.grid.as_deref().ok_or_else(|| missing("grid", ""))?;
        let block = self.block.as_deref().ok_or_else(|| missing("block", ""))?;
        let text = self.toml(path, kernel, grid, block);
        let source = Source::new("the command line, as a launch file", text);
        let plan = parse(&source)?;
        Ok(LaunchFile::new(source, plan, "".into(), module)?)
    }

    fn toml(&self, path: &str, kernel: &str, grid: &str, block: &str) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!("module = {}\n", quoted(path));
        let mut args = Vec::new();
        for (i, arg) in self.args.iter().enumerate() {
            match &arg.argument {
                Argument::Scalar(number) => args.push(number.clone()),
                Argument::Buffer(keys) => {
                    let name = format!("\"arg{}\"", i + 1);
                    let _ = write!(text, "\n[[buffer]]\nname = {name}\n{keys}\n");
                    args.push(name);
                }
            }
        }
        let _ = write!(
            text,
            "\n[[launch]]\nkernel = {}\ngrid = [{grid}]\nblock = [{block}]\nargs = [{}]\n",
            quoted(kernel),
            args.join(", ")
        );
        if let Some(shared) = self.shared {
            let _ = writeln!(text, "dynamic_shared_bytes = {shared}");
        }
        text
    }

    /// The target with these options, as a user would type them.
    pub fn command(&self, target: &str) -> String {
        let mut words = vec![target.to_owned()];
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), quoted(value)]);
        for (name, value) in [
            ("--kernel", &self.kernel),
            ("--grid", &self.grid),
            ("--block", &self.block),
        ] {
            if let Some(value) = value {
                option(name, value);
            }
        }
        self.args.iter().for_each(|arg| option("--arg", &arg.text));
        if let Some(shared) = self.shared {
            option("--shared", &shared.to_string());
        }
        words.join(" ")
    }

    /// True if any option was given.
    pub fn given(&self) -> bool {
        self.kernel.is_some()
            || self.grid.is_some()
            || self.block.is_some()
            || self.shared.is_some()
            || !self.args.is_empty()
    }
}

/// Names of a module's kernels that can run. Empty if the module does not compile.
fn kernels(module: &Source) -> Vec<String> {
    let compiled = warploom_run::compile(module);
    let kernels = compiled.map(|ir| ir.kernels).unwrap_or_default();
    kernels.iter().map(|kernel| kernel.name.clone()).collect()
}

/// List of kernels for a hint.
fn kernel_list(kernels: &[String]) -> String {
    match kernels {
        [] => "; it has no kernel that can run".to_owned(),
        names => format!("; it has {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Argument, argument, extents};

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
        ] {
            assert!(argument(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn extents_are_one_to_three_numbers() {
        assert!(extents("1").is_ok() && extents("1,2,3").is_ok());
        for text in ["", "1,2,3,4", "1,", "-1", "x"] {
            assert!(extents(text).is_err(), "{text:?}");
        }
    }
}
