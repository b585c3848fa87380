//! Inspection of a program's file before it is started.

use crate::fatbin::{self, Code};
use crate::stub::NAMES;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, elf};

/// Reason for which a program cannot run under Warploom.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The file is a 32-bit program.
    #[error(
        "it is a 32-bit program, and CUDA's runtime has been for 64 bits only since CUDA 7; build it for x86-64"
    )]
    Bits,
    /// The program is built for another processor.
    #[error("it is not built for x86-64; build it for this machine")]
    Machine,
    /// The program needs a release of the runtime that Warploom does not provide.
    #[error("it needs {0}, and Warploom stands in for {list}; build it with CUDA 11, 12 or 13", list = NAMES.join(", "))]
    Release(String),
    /// The program contains only machine code.
    #[error("{0}")]
    NoPtx(fatbin::FatbinError),
}

/// Properties of a program that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Facts {
    /// Name of the runtime library that the program needs. `None` if the file itself needs none,
    /// such as a script or a program whose libraries need the runtime.
    pub runtime: Option<String>,
    /// True for a program for this processor that neither needs the runtime nor contains it.
    pub is_without_runtime: bool,
}

type Header = elf::FileHeader64<Endianness>;

/// Inspects the file of a program.
///
/// # Errors
/// Returns the reason for which the program cannot run under Warploom. A file that is not an ELF
/// file may be a script and is accepted.
pub fn inspect(file: &[u8]) -> Result<Facts, ProgramError> {
    if !file.starts_with(&elf::ELFMAG) {
        return Ok(Facts::default());
    }
    if file.get(4) != Some(&elf::ELFCLASS64) {
        return Err(ProgramError::Bits);
    }
    let Ok(header) = Header::parse(file) else {
        return Ok(Facts::default());
    };
    let Ok(endian) = header.endian() else {
        return Ok(Facts::default());
    };
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err(ProgramError::Machine);
    }
    let sections = sections(header, endian, file);
    let runtime = needed(header, endian, file).into_iter();
    let runtime = runtime
        .into_iter()
        .find(|name| name.starts_with("libcudart.so"));
    let has_code = sections.iter().any(|(name, _)| *name == ".nvFatBinSegment");
    match &runtime {
        Some(name) if !NAMES.contains(&name.as_str()) => {
            return Err(ProgramError::Release(name.clone()));
        }
        _ => {}
    }
    for (_, data) in sections.iter().filter(|(name, _)| *name == ".nv_fatbin") {
        check_code(data)?;
    }
    Ok(Facts {
        // A program with code for GPUs and without the library contains the runtime.
        is_without_runtime: runtime.is_none() && !has_code,
        runtime,
    })
}

/// PTX that a GPU of compute capability `capability` (75 for 7.5) uses from each part of a
/// program's file, with its architecture. Unreadable parts are omitted.
pub fn ptx(file: &[u8], capability: u32) -> Vec<(u32, String)> {
    let Ok(header) = Header::parse(file) else {
        return Vec::new();
    };
    let Ok(endian) = header.endian() else {
        return Vec::new();
    };
    let sections = sections(header, endian, file);
    let code = sections.iter().filter(|(name, _)| *name == ".nv_fatbin");
    let parts = code.flat_map(|(_, data)| containers(trimmed(data)));
    parts
        .filter_map(|part| fatbin::ptx(part, capability).ok())
        .collect()
}

/// Consecutive containers of a section.
fn containers(mut data: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let Ok(bytes) = fatbin::container_bytes(data)
        && let Some((one, rest)) = data.split_at_checked(bytes as usize)
        && !one.is_empty()
    {
        found.push(one);
        data = rest;
    }
    found
}

/// Rejects machine code without any PTX. Code that cannot be read is reported when it is loaded.
fn check_code(data: &[u8]) -> Result<(), ProgramError> {
    let Ok(entries) = fatbin::entries(trimmed(data)) else {
        return Ok(());
    };
    let machine = entries.iter().filter(|entry| entry.code == Code::Machine);
    let machine: Vec<String> = machine.map(|entry| format!("sm_{}", entry.arch)).collect();
    if !machine.is_empty() && entries.iter().all(|entry| entry.code != Code::Ptx) {
        Err(ProgramError::NoPtx(fatbin::FatbinError::NoPtx(
            machine.join(", "),
        )))
    } else {
        Ok(())
    }
}

/// Section without the zeros that pad it.
fn trimmed(data: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(rest) = data.get(end..)
        && let Ok(bytes) = fatbin::container_bytes(rest)
        && bytes > 0
    {
        end = end.saturating_add(bytes as usize);
    }
    &data[..end.min(data.len())]
}

/// Names and contents of the sections of a file.
fn sections<'d>(header: &Header, endian: Endianness, file: &'d [u8]) -> Vec<(&'d str, &'d [u8])> {
    let Ok(table) = header.sections(endian, file) else {
        return Vec::new();
    };
    let section = |section: &elf::SectionHeader64<Endianness>| {
        let name = table.section_name(endian, section).ok()?;
        let data = section.data(endian, file).ok()?;
        Some((std::str::from_utf8(name).ok()?, data))
    };
    table.iter().filter_map(section).collect()
}

/// Names of the libraries that a program needs.
fn needed(header: &Header, endian: Endianness, file: &[u8]) -> Vec<String> {
    let Ok(segments) = header.program_headers(endian, file) else {
        return Vec::new();
    };
    let dynamic = segments
        .iter()
        .find_map(|s| s.dynamic(endian, file).ok().flatten());
    let entries = dynamic.unwrap_or_default();
    let value = |tag| {
        let entry = entries.iter().find(|d| d.d_tag(endian) == tag);
        entry.map(|d| d.d_val(endian))
    };
    let strings = value(elf::DT_STRTAB).unwrap_or(0);
    let text = |offset: u64| {
        let address = strings.checked_add(offset)?;
        let data = segments.iter().find_map(|segment| {
            let start = segment.p_vaddr(endian);
            let data = segment.data(endian, file).ok()?;
            let at = address.checked_sub(start)?;
            (segment.p_type(endian) == elf::PT_LOAD).then(|| data.get(at as usize..))?
        })?;
        let end = data.iter().position(|byte| *byte == 0)?;
        String::from_utf8(data[..end].to_vec()).ok()
    };
    let names = entries.iter().filter(|d| d.d_tag(endian) == elf::DT_NEEDED);
    names.filter_map(|d| text(d.d_val(endian))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Facts, ProgramError, inspect};
    use crate::stub::library;

    #[test]
    fn scripts_and_other_files_are_not_judged() {
        assert_eq!(inspect(b"#!/bin/sh\n"), Ok(Facts::default()));
        assert_eq!(inspect(b""), Ok(Facts::default()));
        assert_eq!(inspect(b"\x7fELF\x02\x01"), Ok(Facts::default()));
    }

    #[test]
    fn other_machines_are_told_of() {
        let mut file = library("libcudart.so.12");
        let facts = inspect(&file).unwrap();
        assert!(facts.is_without_runtime && facts.runtime.is_none());
        file[18] = 183;
        assert_eq!(inspect(&file), Err(ProgramError::Machine));
        file[4] = 1;
        assert_eq!(inspect(&file), Err(ProgramError::Bits));
    }

    #[test]
    fn code_without_the_library_needs_the_runtime_inside() {
        let mut file = include_bytes!("../../cudart/tests/programs/12/device").to_vec();
        let (name, other) = (b"libcudart.so.12", b"libsomething.so");
        let facts = inspect(&file).unwrap();
        assert_eq!(facts.runtime.as_deref(), Some("libcudart.so.12"));
        let mut places = file.windows(name.len());
        let at = places.position(|part| part == name).expect("a name");
        file[at..at + name.len()].copy_from_slice(other);
        assert_eq!(inspect(&file), Ok(Facts::default()));
    }

    #[test]
    fn damaged_files_do_not_panic() {
        let whole = library("libcudart.so.12");
        for end in 0..whole.len() {
            let _ = inspect(&whole[..end]);
        }
        for at in 0..whole.len() {
            let mut file = whole.clone();
            file[at] ^= 0xff;
            let _ = inspect(&file);
        }
    }
}
