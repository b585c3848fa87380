//! CUDA source code as targets of a sweep: compiled once, when the sweep begins, so that workers
//! need no compiler.

use super::runs::text;
use crate::cuda_source::{Compiled, is_cuda};
use crate::experiment::make_folder;
use crate::output::write_file;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use warploom_base::Digest;
use warploom_sweep::{Folder, Settings};

/// Compiled files of a sweep.
pub struct Sources {
    folder: PathBuf,
    /// True to write no file that does not exist yet.
    is_dry: bool,
    known: HashMap<String, Result<String, String>>,
}

impl Sources {
    /// Files that are written into the folder of results.
    pub fn new(folder: &Folder, is_dry: bool) -> Self {
        Self {
            folder: folder.results().join("ptx"),
            is_dry,
            known: HashMap::new(),
        }
    }

    /// Replaces CUDA files among the targets of a run by the PTX to which they are compiled.
    pub fn compile(
        &mut self,
        settings: &mut Settings,
        compiled: &mut Compiled,
    ) -> Result<(), String> {
        for (name, value) in settings {
            if name == "target" {
                let parts = value
                    .split(" + ")
                    .map(|target| self.target(target, compiled));
                *value = parts.collect::<Result<Vec<_>, _>>()?.join(" + ");
            }
        }
        Ok(())
    }

    fn target(&mut self, target: &str, compiled: &mut Compiled) -> Result<String, String> {
        if !is_cuda(target) {
            return Ok(target.to_owned());
        }
        if let Some(known) = self.known.get(target) {
            return known.clone();
        }
        let made = self.ptx(target, compiled);
        self.known.insert(target.to_owned(), made.clone());
        made
    }

    /// Path of the PTX of a file, or of the file itself where none may be written.
    fn ptx(&self, path: &str, compiled: &mut Compiled) -> Result<String, String> {
        let source = compiled.ptx(path).map_err(text)?;
        let stem = Path::new(path).file_stem().unwrap_or_default();
        let digest = Digest::new().str(source.text()).hex();
        let name = format!("{}-{digest}.ptx", stem.to_string_lossy());
        let file = self.folder.join(name);
        if !file.exists() {
            if self.is_dry {
                return Ok(path.to_owned());
            }
            make_folder(&self.folder).map_err(text)?;
            write_file(&file, source.text()).map_err(text)?;
        }
        Ok(file.to_string_lossy().into_owned())
    }
}
