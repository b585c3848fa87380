//! Atomic writing of files: whole or not at all.

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
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file = temporary(folder.unwrap_or(Path::new(".")))?;
    write(&mut file)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
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
    use super::write_whole;
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
