//! Programs that are compared with real GPUs: workloads, and launch files with kernels of today.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use warploom_config::GpuSpec;
use warploom_run::HostProgram;
use warploom_run::launch_file::{LaunchFile, Limits};
use warploom_workloads::{Size, Target, all as workloads};

/// Sizes of the workloads, in the order of their measurement.
const SIZES: [Size; 2] = [Size::Small, Size::Paper];
/// Word for the size of a launch file, which has only one.
const ONLY: &str = "file";
/// Folder of the launch files.
const FOLDER: &str = "xtask/data/kernels";

/// A program that is compared.
pub struct Subject {
    /// Name of the workload, or of the launch file.
    pub name: String,
    /// Name of the size.
    pub size: String,
    source: Source,
}

enum Source {
    Workload(Size, &'static str),
    File(Box<LaunchFile>),
}

impl Subject {
    /// All programs that `only` names, as NAME or NAME:SIZE, or all if it is empty, below the
    /// workspace at `root`.
    pub fn all(root: &Path, only: &[String]) -> Result<Vec<Self>> {
        let files = files(&root.join(FOLDER))?;
        let mut subjects = Vec::new();
        for size in SIZES {
            subjects.extend(workloads().iter().map(|workload| Self {
                name: workload.name.to_owned(),
                size: size.name().to_owned(),
                source: Source::Workload(size, workload.ptx),
            }));
        }
        for path in files {
            let file = LaunchFile::load(&path);
            let file = file.map_err(|errors| anyhow::anyhow!("{errors}"))?;
            let stem = path.file_stem().unwrap_or_default();
            subjects.push(Self {
                name: stem.to_string_lossy().into_owned(),
                size: ONLY.to_owned(),
                source: Source::File(Box::new(file)),
            });
        }
        let named = |subject: &Self, name: &String| {
            *name == subject.name || *name == format!("{}:{}", subject.name, subject.size)
        };
        for name in only {
            ensure!(
                subjects.iter().any(|subject| named(subject, name)),
                "there is neither a workload nor a launch file `{name}`: names are like spmv, \
                 spmv:paper or decode:file"
            );
        }
        subjects.retain(|subject| only.is_empty() || only.iter().any(|name| named(subject, name)));
        Ok(subjects)
    }

    /// Text of the only module.
    pub fn ptx(&self) -> &str {
        match &self.source {
            Source::Workload(_, ptx) => ptx,
            Source::File(file) => file.module().text(),
        }
    }

    /// A host program for a GPU.
    pub fn program(&self, gpu: &GpuSpec) -> Result<Box<dyn HostProgram>> {
        Ok(match &self.source {
            Source::Workload(size, _) => Target::resolve(&self.name)?.program(*size, 1),
            Source::File(file) => {
                let program = (**file).clone().program(Limits::of(gpu));
                Box::new(program.map_err(|errors| anyhow::anyhow!("{errors}"))?)
            }
        })
    }
}

/// Launch files of a folder, in order. There are none if there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = crate::entries(folder).context("kernels of today")?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::Subject;
    use crate::root;

    #[test]
    fn a_name_selects_both_sizes_or_one() {
        let sizes = |name: &str| {
            let subjects = Subject::all(&root(), &[name.to_owned()]);
            subjects.map(|all| all.into_iter().map(|one| one.size).collect::<Vec<_>>())
        };
        assert_eq!(sizes("spmv").expect("a workload"), ["small", "paper"]);
        assert_eq!(sizes("spmv:paper").expect("a workload"), ["paper"]);
        assert_eq!(sizes("decode").expect("a launch file"), ["file"]);
        assert!(sizes("spvm").is_err());
        assert!(sizes("decode:paper").is_err());
    }
}
