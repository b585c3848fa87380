//! Options for a PTX file: `--kernel`, `--grid`, `--block` and `--arg`. They are converted to a
//! launch file with one launch, so that both have the same rules and the same messages. What they
//! leave open is guessed.

use crate::argument::{Argument, Typed, extents, typed, word};
use crate::cuda_source::{Compiled, is_cuda};
use crate::failure::Failure;
use crate::guessed::{complete, other_sizes};
use crate::output::{error_columns, error_style, note, quoted};
use crate::places::COMMAND_LINE;
use std::fmt::Write;
use std::path::Path;
use warploom_diag::{Source, nearest};
use warploom_guess::{Candidate, Fixed};
use warploom_ir::ModuleIr;
use warploom_report::wrapped;
use warploom_run::RunError;
use warploom_run::launch_file::{LaunchFile, parse, read};

/// Options for the launch of a PTX file.
#[derive(Clone, Default, clap::Args)]
pub struct LaunchArgs {
    /// Name of the kernel in the PTX file, or its name in C++, such as `reduce` or 'reduce<256>'
    #[arg(long, value_name = "NAME", help_heading = "Launch of a PTX file")]
    pub kernel: Option<String>,
    /// Number of blocks: X, X,Y or X,Y,Z (8x8 is 8,8)
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub grid: Option<String>,
    /// Number of threads in a block: X, X,Y or X,Y,Z
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch of a PTX file", value_parser = extents)]
    pub block: Option<String>,
    /// Next argument of the kernel: a number (`7`, `2.5`), a typed number (`f32:1`), a buffer:
    /// `TYPE[SHAPE]=INIT` with INIT one of zeros, iota, uniform, `uniform(LOW,HIGH)` (without HIGH:
    /// `u8[64]=uniform(0,256)` draws any byte), normal, `normal(MEAN,DEVIATION)`, a number or a
    /// .npy file that numpy's `save` wrote, whose type and number of elements are those of the
    /// buffer, or a structure: `struct:` with these as members, separated by commas
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
    pub fn launch_file(&self, path: &str, compiled: &mut Compiled) -> Result<Described, Failure> {
        let module = match is_cuda(path) {
            true => compiled.ptx(path)?,
            false => read(Path::new(path))?,
        };
        let (kernel, parameters) = self.choose(path, &module)?;
        note(&other_sizes(&self.args, &module, &kernel));
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
            let told = format!(
                "{few} of the kernel's {} arguments {was} given, and others were guessed:{}",
                few + open,
                self.words()
            );
            wrapped("note: ", &told, error_columns())
        })
    }

    /// Name of the kernel to launch, and its number of parameters.
    fn choose(&self, path: &str, module: &Source) -> Result<(String, usize), Failure> {
        let compiled = warploom_run::compile(module).map_err(RunError::from)?;
        let kernels = || compiled.kernels.iter();
        let names: Vec<_> = kernels().map(|kernel| kernel.name.as_str()).collect();
        let refused: Vec<_> = compiled
            .refused
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let name = match (&self.kernel, names.as_slice()) {
            (Some(name), names) => match warploom_names::find(name, names) {
                Some(found) => found,
                None if warploom_names::find(name, &refused).is_some() => {
                    return Err(errors_of(&compiled, module));
                }
                None => return Err(Failure::Input(unknown_kernel(path, name, names))),
            },
            (None, [only]) => only,
            (None, []) if refused.is_empty() => {
                return Err(Failure::Input(without_kernels(path)));
            }
            (None, []) => return Err(errors_of(&compiled, module)),
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

/// Errors for which the kernels of a file cannot run.
fn errors_of(compiled: &ModuleIr, module: &Source) -> Failure {
    let refused = compiled.refused.iter();
    let texts = refused.map(|(_, why)| why.render(module, error_style()));
    Failure::Ptx(texts.collect::<Vec<_>>().join("\n"))
}

/// Message about a file in which no kernel is defined.
fn without_kernels(path: &str) -> String {
    let (what, remedy) = match is_cuda(path) {
        true => (
            "no kernel",
            "declare it `__global__`; a template needs an explicit instantiation, such as \
             `template __global__ void copy<4>(float*);`",
        ),
        false => (
            "no `.entry`",
            "a kernel begins with `.visible .entry NAME(`",
        ),
    };
    format!("{path} has {what}\n  = help: {remedy}")
}

/// Message about a name that is none of the kernels', with those that it may mean.
fn unknown_kernel(path: &str, name: &str, kernels: &[&str]) -> String {
    let of_name = |kernel: &&&str| warploom_names::function(kernel) == name;
    let meant: Vec<&str> = kernels.iter().filter(of_name).copied().collect();
    if meant.len() > 1 {
        return format!(
            "{path} has {} kernels `{name}`; choose one with --kernel: {}",
            meant.len(),
            choices(&meant)
        );
    }
    let functions: Vec<String> = kernels
        .iter()
        .map(|kernel| warploom_names::function(kernel))
        .collect();
    let base = name.split('<').next().unwrap_or_default();
    let names = || functions.iter().map(String::as_str);
    let near = names()
        .find(|of| *of == base)
        .or_else(|| nearest(base, names()));
    let near = |kernel: &&&str| near.is_some_and(|near| warploom_names::function(kernel) == near);
    let near: Vec<&str> = kernels.iter().filter(near).copied().collect();
    let help = match near.is_empty() {
        true => format!("it has {}", choices(kernels)),
        false => format!("did you mean {}?", choices(&near).replace(", ", " or ")),
    };
    format!("{path} has no kernel `{name}`\n  = help: {help}")
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
    use super::unknown_kernel;

    #[test]
    fn a_misspelt_kernel_is_suggested_by_its_name_in_the_source() {
        let kernels = [
            "_Z8convolveILi1EEvPKf",
            "_Z8convolveILi3EEvPKf",
            "_Z4fillPf",
        ];
        for (name, told) in [
            (
                "convolve",
                "k.cu has 2 kernels `convolve`; choose one with --kernel: 'convolve<1>', \
              'convolve<3>'",
            ),
            (
                "convolv",
                "k.cu has no kernel `convolv`\n  = help: did you mean 'convolve<1>' or \
              'convolve<3>'?",
            ),
            (
                "convolve<2>",
                "k.cu has no kernel `convolve<2>`\n  = help: did you mean \
              'convolve<1>' or 'convolve<3>'?",
            ),
            (
                "fills",
                "k.cu has no kernel `fills`\n  = help: did you mean fill?",
            ),
            (
                "scan",
                "k.cu has no kernel `scan`\n  = help: it has 'convolve<1>', 'convolve<3>', fill",
            ),
        ] {
            assert_eq!(unknown_kernel("k.cu", name, &kernels), told);
        }
    }
}
