//! Atomic writing of files: whole or not at all. Reasons of errors of files.

use std::io::{self, Write};
use std::path::Path;
use tempfile::{Builder, NamedTempFile};

/// Writes a file through a temporary file in the same folder, which replaces an older file when it
/// is complete. A link is followed. Devices and pipes cannot be replaced and are written directly.
///
/// # Errors
/// Errors of the operating system. An older file then stays as it was, also if `write` fails.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let linked = std::fs::canonicalize(path);
    let path = linked.as_deref().unwrap_or(path);
    let is_special = |meta: std::fs::Metadata| !meta.is_file() && !meta.is_dir();
    if std::fs::metadata(path).is_ok_and(is_special) {
        return write(&mut std::fs::File::options().write(true).open(path)?);
    }
    let mut file = temporary(folder_of(path))?;
    write(&mut file)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Checks that [`write_whole`] can replace `path` now, and changes nothing.
///
/// # Errors
/// `path` is a folder, or its folder is missing or refuses new files.
pub fn probe_output(path: &Path) -> io::Result<()> {
    let linked = std::fs::canonicalize(path);
    let path = linked.as_deref().unwrap_or(path);
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) if !meta.is_file() => std::fs::File::options().write(true).open(path).map(|_| ()),
        _ if !folder_of(path).is_dir() => {
            let missing = format!("there is no folder {}", folder_of(path).display());
            Err(io::Error::new(io::ErrorKind::NotFound, missing))
        }
        // The error contains the name of the temporary file, which would confuse a user.
        _ => match temporary(folder_of(path)) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.kind().into()),
        },
    }
}

/// Reason of an error of a file in words, without the number that the system gives it.
#[must_use]
pub fn io_reason(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), io::ErrorKind::NotFound) => "there is no such file".to_owned(),
        (Some(_), io::ErrorKind::IsADirectory) => "it is a folder".to_owned(),
        (Some(number), _) => {
            let text = error.to_string();
            let text = text.strip_suffix(&format!(" (os error {number})"));
            text.map_or_else(|| error.to_string(), str::to_lowercase)
        }
        (None, _) => error.to_string(),
    }
}

/// True if both paths lead to one file, through links or not.
#[must_use]
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        let folder = std::fs::canonicalize(folder_of(path)).ok()?;
        std::fs::canonicalize(path)
            .ok()
            .or_else(|| Some(folder.join(path.file_name()?)))
    };
    real(a).is_some_and(|a| real(b) == Some(a))
}

/// The folder that contains a file.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A temporary file with the permissions of a newly created file.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::{is_same_file, probe_output, write_whole};
    use std::io::Error;
    use std::path::Path;

    fn write(path: &Path, text: &str) -> std::io::Result<()> {
        write_whole(path, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        assert!(write(&path, "one").is_ok() && write(&path, "two").is_ok());
        let failed = write_whole(&path, |out| {
            out.write_all(b"th")?;
            Err(Error::other("full"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("no/out.json"), "").is_err());
        assert!(write(folder.path(), "").is_err());
    }

    #[test]
    fn a_probe_finds_what_cannot_be_written_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        assert!(probe_output(&path).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&path, "kept").unwrap();
        assert!(probe_output(&path).is_ok());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
        assert!(probe_output(folder.path()).is_err());
        assert!(probe_output(&folder.path().join("no/out.json")).is_err());
    }

    #[test]
    fn one_file_is_known_under_all_its_paths() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("in")).unwrap();
        assert!(is_same_file(&path("a"), &path("in/../a")), "missing files");
        assert!(!is_same_file(&path("a"), &path("b")));
        std::fs::write(path("a"), "").unwrap();
        assert!(is_same_file(&path("a"), &path("in/../a")));
        assert!(!is_same_file(&path("a"), &path("no/a")));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| folder.path().join(name));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "new");
        assert!(link.is_symlink());
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write(&null, "gone").unwrap();
        assert!(null.is_symlink() && !Path::new("/dev/null").is_file());
    }
}
