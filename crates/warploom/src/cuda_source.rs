//! CUDA source code as a target: compiled to PTX by the `nvcc` of this machine, if it has one.

use crate::failure::Failure;
use crate::output::note;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use warploom_diag::{Source, nearest};
use warploom_run::launch_file::read;

/// Architecture for which kernels are compiled. CUDA 10 to 13 know it.
const ARCHITECTURE: &str = "compute_75";

/// True if the path names CUDA source code.
pub fn is_cuda(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("cu"))
}

/// The PTX of a file: its text, or what the compiler makes of CUDA source.
pub fn ptx_of(path: &Path) -> Result<Source, Failure> {
    let text = path.to_string_lossy();
    match is_cuda(&text) {
        true => compile(&text),
        false => Ok(read(path)?),
    }
}

/// CUDA source code that a command has compiled, by path, and the notes on files that it has given.
/// Each file is compiled once and each note given once, however many launches of a file there are.
#[derive(Default)]
pub struct Compiled {
    files: HashMap<String, Source>,
    notes: HashSet<String>,
}

impl Compiled {
    /// The PTX of a file.
    pub fn ptx(&mut self, path: &str) -> Result<Source, Failure> {
        if let Some(known) = self.files.get(path) {
            return Ok(known.clone());
        }
        let module = compile(path)?;
        self.files.insert(path.to_owned(), module.clone());
        Ok(module)
    }

    /// Gives notes on a file on standard error, unless the command has given them.
    pub fn note(&mut self, notes: String) {
        if !self.notes.contains(&notes) {
            note(&notes);
            self.notes.insert(notes);
        }
    }
}

/// Compiles a file of CUDA source code to PTX, and says so on standard error. The compiler writes
/// into a temporary folder of this process: some versions delete the file that `-o` names, which
/// must then be no file of the system.
pub fn compile(path: &str) -> Result<Source, Failure> {
    if !Path::new(path).is_file() {
        return Err(Failure::Input(no_such_file(Path::new(path))));
    }
    let nvcc = nvcc().ok_or_else(|| Failure::Input(without_compiler(path)))?;
    let folder = tempfile::tempdir().map_err(|error| Failure::Input(no_folder(path, &error)))?;
    let output = folder.path().join("kernel.ptx");
    let mut command = Command::new(&nvcc);
    let arch = format!("-arch={ARCHITECTURE}");
    command.args(["-ptx", &arch, "-lineinfo", "-o"]);
    command.arg(&output).arg(path);
    let ran = command
        .output()
        .map_err(|error| Failure::Input(cannot_start(&nvcc, &error)))?;
    if !ran.status.success() {
        let told = String::from_utf8_lossy(&ran.stderr);
        return Err(Failure::Input(format!(
            "{} cannot compile {path}\n{}",
            nvcc.display(),
            told.trim_end()
        )));
    }
    let text = std::fs::read(&output).unwrap_or_default();
    if text.is_empty() {
        return Err(Failure::Input(wrote_nothing(&nvcc, path, &ran)));
    }
    note(&format!(
        "note: compiled {path} by `nvcc -ptx {arch} -lineinfo`\n"
    ));
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Source::new(format!("{path} as PTX"), text))
}

/// Message about a compiler that ended with success and without PTX.
fn wrote_nothing(nvcc: &Path, path: &str, ran: &Output) -> String {
    let remedy = match ran.stdout.is_empty() {
        true => format!(
            "check that NVCC or PATH names the CUDA compiler, and that the folder for temporary \
             files ({}) has room",
            std::env::temp_dir().display()
        ),
        false => {
            "it wrote to standard output; write to the file that its option `-o` names".to_owned()
        }
    };
    let told = String::from_utf8_lossy(&ran.stderr);
    let text = format!(
        "{} compiled {path} without an error, but wrote no PTX\n  = help: {remedy}\n{told}",
        nvcc.display()
    );
    text.trim_end().to_owned()
}

/// Message about a temporary folder that cannot be made.
fn no_folder(path: &str, error: &std::io::Error) -> String {
    format!(
        "cannot compile {path}: no temporary folder can be made in {} ({})\n  = help: make this \
         folder, or name another one by the environment variable TMPDIR",
        std::env::temp_dir().display(),
        match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            std::io::ErrorKind::PermissionDenied => "it may not be written".to_owned(),
            _ => error.to_string(),
        }
    )
}

/// Message about a compiler that does not start.
fn cannot_start(nvcc: &Path, error: &std::io::Error) -> String {
    let named = std::env::var_os("NVCC").is_some_and(|name| Path::new(&name) == nvcc);
    let remedy = match named {
        true => {
            "the environment variable NVCC names this compiler; change it, or unset it to take \
                 the first `nvcc` in PATH"
        }
        false => {
            "it is the first `nvcc` in PATH, CUDA_HOME and the virtual environment; NVCC names another one"
        }
    };
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it may not be executed".to_owned(),
        _ => error.to_string(),
    };
    format!(
        "cannot start {}: {reason}\n  = help: {remedy}",
        nvcc.display()
    )
}

/// Message about a file that does not exist, with the file of the folder that has a similar name.
pub fn no_such_file(path: &Path) -> String {
    let told = format!(
        "cannot read {}: there is no such file; check the path",
        path.display()
    );
    match similar_file(path) {
        Some(near) => format!("{told}\n  = help: did you mean `{}`?", near.display()),
        None => told,
    }
}

/// The file in the folder of `path` with a similar name.
pub fn similar_file(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    let files = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let files = files.filter(|file| file.path().is_file());
    let mut names: Vec<String> = files
        .filter_map(|file| file.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(parent.join(near))
}

/// Message for a machine without `nvcc`.
fn without_compiler(path: &str) -> String {
    let stem = Path::new(path).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    format!(
        "{path} is source code, and there is no `nvcc` here to compile it to PTX\n  \
         = help: `pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime \
         nvidia-cuda-cccl` in an active virtual environment installs one without a GPU; another \
         one is named by the environment variable NVCC\n  \
         = help: or compile it elsewhere: `nvcc -ptx -lineinfo -arch={ARCHITECTURE} {path} -o \
         {stem}.ptx`, then `warploom run {stem}.ptx`\n  \
         = help: a whole program: `nvcc -cudart shared {path} -o {stem}`, then `warploom app \
         ./{stem}`"
    )
}

/// Folders of compilers that Python packages put into the active virtual environment, newest CUDA
/// first.
fn of_packages() -> Vec<PathBuf> {
    let Some(environment) = std::env::var_os("VIRTUAL_ENV") else {
        return Vec::new();
    };
    let inside = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let pythons = inside(&Path::new(&environment).join("lib"));
    let packages = pythons
        .iter()
        .flat_map(|python| inside(&python.join("site-packages/nvidia")));
    let mut folders: Vec<_> = packages.map(|package| package.join("bin")).collect();
    folders.sort_unstable();
    folders.reverse();
    folders
}

/// The compiler that `NVCC` names, or the first one in `PATH`, in `CUDA_HOME` and among the
/// packages of the active virtual environment.
fn nvcc() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("NVCC").filter(|name| !name.is_empty()) {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let folders = std::env::split_paths(&path)
        .chain(home)
        .chain(of_packages());
    folders
        .map(|folder| folder.join("nvcc"))
        .find(|nvcc| nvcc.is_file())
}
