//! Fat binaries: the container in which `nvcc` and clang store device code in a program.
//!
//! A container is a header followed by entries. Each entry holds PTX or machine code for one
//! architecture, possibly compressed. The layout is not published. It was derived from the output
//! of `fatbinary` in CUDA 11.8 and 13.5, with and without compression. All numbers are
//! little-endian.
//!
//! | header | | entry | |
//! |---|---|---|---|
//! | 0 | magic | 0 | kind (u16): 1 PTX, 2 machine code |
//! | 4 | version (u16) | 4 | bytes of the entry's header (u32) |
//! | 6 | bytes of the header (u16) | 8 | bytes of the payload, padding included (u64) |
//! | 8 | bytes of all entries (u64) | 16 | bytes of the compressed payload, or 0 (u32) |
//! | | | 28 | architecture, such as 75 (u32) |
//! | | | 40 | flags (u64): 0x2000 LZ4, 0x8000 zstd |
//! | | | 56 | bytes after decompression (u64) |

use std::io::Read;

/// Number in the first bytes of a container.
pub const MAGIC: u32 = 0xba55_ed50;
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 64;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Maximum size of a decompressed entry in bytes: far more than any compiler writes.
const MOST_BYTES: u64 = 1 << 30;

/// Reason for which a container cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// The bytes do not begin with the number of a container.
    #[error("not a fat binary: it begins with {0:#010x}, not with {MAGIC:#010x}")]
    Magic(u32),
    /// The container ends inside one of its parts.
    #[error("the fat binary ends inside its {0}")]
    Truncated(&'static str),
    /// The payload of an entry cannot be decompressed.
    #[error("the PTX for sm_{arch} in the fat binary cannot be unpacked ({packing}): {reason}")]
    Packing {
        /// Architecture of the entry.
        arch: u32,
        /// Compression: "LZ4" or "zstd", or "size" for an entry that is too large.
        packing: &'static str,
        /// Message of the decompressor.
        reason: String,
    },
    /// The container holds only machine code, for the named architectures.
    #[error(
        "the program has machine code only ({0}), and Warploom runs PTX; build it with PTX, too: \
         nvcc -gencode arch=compute_75,code=compute_75 (or -arch=compute_75)"
    )]
    NoPtx(String),
    /// The container holds no code.
    #[error("the fat binary holds no code")]
    Empty,
}

/// Kind of an entry's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// PTX of one architecture.
    Ptx,
    /// Machine code of one architecture.
    Machine,
    /// Another kind, with its number.
    Other(u16),
}

/// An entry of a container, whose payload may be compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Kind of the code.
    pub code: Code,
    /// Architecture, such as 75 for `sm_75`.
    pub arch: u32,
    flags: u64,
    unpacked: u64,
    payload: &'a [u8],
}

/// Bytes at an offset of a container. `part` names the part for an error.
fn array<const N: usize>(
    bytes: &[u8],
    at: usize,
    part: &'static str,
) -> Result<[u8; N], FatbinError> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().ok_or(FatbinError::Truncated(part))
}

/// Size in bytes of the container that begins with `header`, of which at least 16 bytes are needed.
///
/// # Errors
/// Fails if the bytes do not begin a container.
pub fn container_bytes(header: &[u8]) -> Result<u64, FatbinError> {
    let magic = u32::from_le_bytes(array(header, 0, "header")?);
    if magic != MAGIC {
        return Err(FatbinError::Magic(magic));
    }
    let own = u16::from_le_bytes(array(header, 6, "header")?);
    let entries = u64::from_le_bytes(array(header, 8, "header")?);
    Ok(entries.saturating_add(own.into()))
}

/// Entries of a container in their order. Empty containers before others, as CUDA 13 writes them,
/// are skipped.
///
/// # Errors
/// Fails if the bytes do not begin a container or end early.
pub fn entries(mut bytes: &[u8]) -> Result<Vec<Entry<'_>>, FatbinError> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let all = usize::try_from(container_bytes(bytes)?).unwrap_or(usize::MAX);
        let container = bytes.get(..all).ok_or(FatbinError::Truncated("entries"))?;
        let own: u16 = u16::from_le_bytes(array(bytes, 6, "header")?);
        let own = usize::from(own).max(HEADER_BYTES);
        let mut rest = container.get(own..).unwrap_or_default();
        while !rest.is_empty() {
            let (entry, size) = entry(rest)?;
            found.push(entry);
            rest = &rest[size..];
        }
        bytes = &bytes[all.max(HEADER_BYTES).min(bytes.len())..];
    }
    Ok(found)
}

/// First entry of the bytes, and its size.
fn entry(bytes: &[u8]) -> Result<(Entry<'_>, usize), FatbinError> {
    let part = "entry";
    let header = u32::from_le_bytes(array(bytes, 4, part)?) as usize;
    let padded = u64::from_le_bytes(array(bytes, 8, part)?);
    let packed = u32::from_le_bytes(array(bytes, 16, part)?);
    let padded = usize::try_from(padded).map_err(|_| FatbinError::Truncated(part))?;
    let end = header.checked_add(padded).filter(|_| header >= ENTRY_BYTES);
    let payload = end.and_then(|end| bytes.get(header..end));
    let payload = payload.ok_or(FatbinError::Truncated(part))?;
    let entry = Entry {
        code: match u16::from_le_bytes(array(bytes, 0, part)?) {
            1 => Code::Ptx,
            2 => Code::Machine,
            other => Code::Other(other),
        },
        arch: u32::from_le_bytes(array(bytes, 28, part)?),
        flags: u64::from_le_bytes(array(bytes, 40, part)?),
        unpacked: u64::from_le_bytes(array(bytes, 56, part)?),
        payload: match packed {
            0 => payload,
            packed => payload.get(..packed as usize).unwrap_or(payload),
        },
    };
    Ok((entry, header + padded))
}

impl Entry<'_> {
    /// Text of a PTX entry.
    ///
    /// # Errors
    /// Fails if the payload cannot be decompressed.
    pub fn text(&self) -> Result<String, FatbinError> {
        let wrong = |packing, reason: String| FatbinError::Packing {
            arch: self.arch,
            packing,
            reason,
        };
        if self.unpacked > MOST_BYTES {
            return Err(wrong(
                "size",
                format!("{} bytes are too many", self.unpacked),
            ));
        }
        let bytes = if self.flags & ZSTD != 0 {
            unzstd(self.payload, self.unpacked).map_err(|reason| wrong("zstd", reason))?
        } else if self.flags & LZ4 != 0 {
            let unpacked = lz4_flex::block::decompress(self.payload, self.unpacked as usize);
            unpacked.map_err(|reason| wrong("LZ4", reason.to_string()))?
        } else {
            self.payload.to_vec()
        };
        // The text ends with a zero byte, and further zeros pad it.
        let end = bytes.iter().position(|byte| *byte == 0);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

/// Decompresses a payload in zstd format.
fn unzstd(payload: &[u8], unpacked: u64) -> Result<Vec<u8>, String> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(payload);
    let decoder = decoder.map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = decoder.take(unpacked).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// PTX that a GPU of compute capability `capability` (75 for 7.5) uses from a container, with its
/// architecture. This is the PTX of the newest architecture up to the capability. If there is none,
/// it is that of the oldest one, which Warploom also runs.
///
/// # Errors
/// Fails if the container cannot be read or has no PTX.
pub fn ptx(bytes: &[u8], capability: u32) -> Result<(u32, String), FatbinError> {
    let all = entries(bytes)?;
    let mut ptx: Vec<&Entry<'_>> = all.iter().filter(|entry| entry.code == Code::Ptx).collect();
    ptx.sort_by_key(|entry| entry.arch);
    let known = ptx.iter().rfind(|entry| entry.arch <= capability);
    match known.or(ptx.first()) {
        Some(entry) => Ok((entry.arch, entry.text()?)),
        None if all.is_empty() => Err(FatbinError::Empty),
        None => {
            let names = all.iter().map(|entry| format!("sm_{}", entry.arch));
            Err(FatbinError::NoPtx(names.collect::<Vec<_>>().join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
