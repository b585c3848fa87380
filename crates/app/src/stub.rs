//! Stub libraries with the names that the loader requests: `libcudart.so.11.0`, `.12` and `.13`.
//!
//! A program that is linked to NVIDIA's runtime needs a library of that name, which defines the
//! symbol version of the same name. The functions of Warploom are in a single library and have no
//! version. The loader accepts such functions for any requested version, but requires the name and
//! the definition of the version from a library with the right name (glibc, `elf/dl-version.c` and
//! `do_lookup_x`). Each name is therefore a small ELF file without code. It contains its name, its
//! version and a reference to Warploom's library. The names that a process has loaded also show
//! which release's structures it uses.

use std::path::Path;

/// File name of the library that contains the functions.
pub const LIBRARY: &str = "libwarploom_cudart.so";
/// Library names that programs request.
pub const NAMES: [&str; 3] = ["libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"];
/// Names under which programs load CUDA's driver and the library for queries of machines. Their
/// functions have no versions, so links to the library suffice.
pub const DRIVERS: [&str; 4] = [
    "libcuda.so.1",
    "libcuda.so",
    "libnvidia-ml.so.1",
    "libnvidia-ml.so",
];

const HEADERS: usize = 64 + 3 * 56;
const ALIGN: u64 = 0x1000;

/// A string table under construction.
struct Strings {
    bytes: Vec<u8>,
}

impl Strings {
    /// Appends a string and returns its offset.
    fn add(&mut self, text: &str) -> u64 {
        let at = self.bytes.len() as u64;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        at
    }
}

/// System V hash of the name of a symbol version (ELF, "Hash Table").
fn hash(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

/// Definition of a symbol version with its name (Linux Standard Base, "Symbol Versioning").
fn definition(index: u16, base: bool, name: &str, name_at: u64, last: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for half in [1, u16::from(base), index, 1] {
        bytes.extend(half.to_le_bytes());
    }
    let next = if last { 0 } else { 28 };
    for word in [hash(name), 20, next, name_at as u32, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

/// Contents of the stub library with the given name, for x86-64.
pub fn library(name: &str) -> Vec<u8> {
    let mut strings = Strings { bytes: vec![0] };
    let (soname, needed) = (strings.add(name), strings.add(LIBRARY));
    let path = strings.add("$ORIGIN:$ORIGIN/..");
    // One segment holds the headers, an empty symbol, a hash table without symbols (whose last
    // zeros also serve as the symbol's version), the versions, the strings and the dynamic section.
    let symbols = HEADERS as u64;
    let hashes = symbols + 24;
    let versions = hashes + 16;
    let texts = versions + 56;
    let dynamic = (texts + strings.bytes.len() as u64).next_multiple_of(8);
    let entries: [(u64, u64); 12] = [
        (1, needed),
        (14, soname),
        (29, path),
        (4, hashes),
        (5, texts),
        (6, symbols),
        (10, strings.bytes.len() as u64),
        (11, 24),
        (0x6fff_fffc, versions),
        (0x6fff_fffd, 2),
        (0x6fff_fff0, hashes + 8),
        (0, 0),
    ];
    let size = dynamic + 16 * entries.len() as u64;
    let mut file = headers(size, (dynamic, 16 * entries.len() as u64));
    file.extend([0; 24]);
    for word in [1u32, 1, 0, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(definition(1, true, name, soname, false));
    file.extend(definition(2, false, name, soname, true));
    file.extend(&strings.bytes);
    file.resize(dynamic as usize, 0);
    for (tag, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file
}

/// ELF header and program headers: the segment, its dynamic section and a stack that is not
/// executable.
fn headers(size: u64, dynamic: (u64, u64)) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    for half in [3u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for address in [0u64, 64, 0] {
        file.extend(address.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 3, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    let read_write = 6u32;
    for (kind, at, bytes, align) in [
        (1u32, 0, size, ALIGN),
        (2, dynamic.0, dynamic.1, 8),
        (0x6474_e551, 0, 0, 16),
    ] {
        file.extend(kind.to_le_bytes());
        file.extend(read_write.to_le_bytes());
        for value in [at, at, at, bytes, bytes, align] {
            file.extend(value.to_le_bytes());
        }
    }
    file
}

/// Temporary file that is renamed when it is complete. It is readable by everybody who can read the
/// folder.
fn whole_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o644));
    }
    builder.tempfile_in(folder)
}

/// Links a name of the driver to the library in a folder. An older link is replaced.
#[cfg(unix)]
fn link_driver(name: &str, folder: &Path, library: &Path) -> std::io::Result<()> {
    let path = folder.join(name);
    if std::fs::read_link(&path).is_ok_and(|old| old == library) {
        return Ok(());
    }
    let place = tempfile::tempdir_in(folder)?;
    let made = place.path().join(name);
    std::os::unix::fs::symlink(library, &made)?;
    std::fs::rename(made, path)
}

#[cfg(not(unix))]
fn link_driver(_: &str, _: &Path, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Writes the stub libraries of all names to a folder, each completely or not at all, and links the
/// names of the driver to `library`.
///
/// # Errors
/// Fails if the folder cannot be written.
pub fn write_all(folder: &Path, library: &Path) -> std::io::Result<()> {
    for name in NAMES {
        let bytes = self::library(name);
        let path = folder.join(name);
        if std::fs::read(&path).is_ok_and(|old| old == bytes) {
            continue;
        }
        let file = whole_file(folder)?;
        std::fs::write(file.path(), bytes)?;
        file.persist(path).map_err(|error| error.error)?;
    }
    DRIVERS
        .iter()
        .try_for_each(|name| link_driver(name, folder, library))
}

#[cfg(test)]
mod tests {
    use super::{DRIVERS, NAMES, hash, library, write_all};
    use object::read::elf::{Dyn, FileHeader};
    use object::{Endianness, elf};
    use std::path::Path;

    #[test]
    fn names_hash_as_the_loader_hashes_them() {
        // The example in the ABI's description gives these hashes for names of the C library.
        assert_eq!(hash("GLIBC_2.2.5"), 0x0969_1a75);
        assert_eq!(hash("GLIBC_2.14"), 0x0696_9194);
    }

    #[test]
    fn a_library_tells_its_name_and_what_it_needs() {
        for name in NAMES {
            let file = library(name);
            let header = elf::FileHeader64::<Endianness>::parse(&*file).unwrap();
            let endian = header.endian().unwrap();
            let segments = header.program_headers(endian, &*file).unwrap();
            assert_eq!(segments.len(), 3);
            let dynamic = |tag: i64| {
                let find = |s: &elf::ProgramHeader64<Endianness>| {
                    use object::read::elf::ProgramHeader;
                    s.dynamic(endian, &*file).unwrap()
                };
                let entries = segments.iter().find_map(find).unwrap();
                let entry = entries.iter().find(|d| d.d_tag(endian) == tag);
                entry.unwrap().d_val(endian) as usize
            };
            let strings = dynamic(elf::DT_STRTAB);
            let string = |tag| {
                let text = &file[strings + dynamic(tag)..];
                let end = text.iter().position(|byte| *byte == 0).unwrap();
                String::from_utf8_lossy(&text[..end]).into_owned()
            };
            assert_eq!(string(elf::DT_SONAME), name);
            assert_eq!(string(elf::DT_NEEDED), super::LIBRARY);
            assert_eq!(string(elf::DT_RUNPATH), "$ORIGIN:$ORIGIN/..");
        }
    }

    #[test]
    fn libraries_are_written_once() {
        let folder = tempfile::tempdir().unwrap();
        for library in ["before.so", "own.so", "own.so"] {
            write_all(folder.path(), Path::new(library)).unwrap();
        }
        let files = std::fs::read_dir(folder.path()).unwrap();
        let links = if cfg!(unix) { DRIVERS.len() } else { 0 };
        assert_eq!(files.count(), NAMES.len() + links);
        #[cfg(unix)]
        for name in DRIVERS {
            let linked = std::fs::read_link(folder.path().join(name)).unwrap();
            assert_eq!(linked, Path::new("own.so"));
        }
        #[cfg(unix)]
        for name in NAMES {
            use std::os::unix::fs::PermissionsExt;
            let known = std::fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!(
                known.permissions().mode() & 0o444,
                0o444,
                "all may read {name}"
            );
        }
    }
}
