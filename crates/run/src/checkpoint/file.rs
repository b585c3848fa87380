//! The bytes of a checkpoint.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 8 | number of all bytes |
//! | 4 | [`FORMAT`] |
//! | 4 + n | version of the program, after its length |
//! | 4 + n | what the run is, after its length: see [`Identity`](super::Identity) |
//! | 8 | bytes of the state before compression |
//! | 8 + n each | blocks of the state: length, length when compressed, LZ4 |
//! | 8 | XXH3 of all bytes before |
//!
//! Numbers are little-endian. Nothing is read before the checksum has been found right.

use super::CheckpointError;
use lz4_flex::block::{compress, decompress_into};
use warploom_base::Digest;

const MAGIC: [u8; 8] = *b"wrplmck\n";

/// Number of the format, which every change of the format raises.
pub(super) const FORMAT: u32 = 2;

/// Bytes of a block before compression.
const BLOCK: usize = 1 << 20;

/// The bytes of a checkpoint with this identity and state.
pub(super) fn write(identity: &[u8], state: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    put(&mut bytes, env!("CARGO_PKG_VERSION").as_bytes());
    put(&mut bytes, identity);
    bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
    for block in state.chunks(BLOCK) {
        bytes.extend_from_slice(&(block.len() as u32).to_le_bytes());
        put(&mut bytes, &compress(block));
    }
    let whole = bytes.len() as u64 + 8;
    bytes[8..16].copy_from_slice(&whole.to_le_bytes());
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Appends bytes after their length.
fn put(all: &mut Vec<u8>, bytes: &[u8]) {
    all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    all.extend_from_slice(bytes);
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut digest = Digest::new();
    digest.bytes(bytes);
    digest.finish()
}

/// Identity and state of a checkpoint.
pub(super) fn read(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CheckpointError> {
    let mut rest = Rest(bytes);
    if rest.take(MAGIC.len()) != Ok(&MAGIC) {
        return Err(CheckpointError::Foreign);
    }
    let there = bytes.len() as u64;
    let whole = rest.u64().unwrap_or(there + 1);
    if there < whole {
        return Err(CheckpointError::CutOff {
            bytes: there,
            whole,
        });
    }
    let (content, sum) = bytes
        .split_last_chunk::<8>()
        .ok_or(CheckpointError::Damaged)?;
    if there > whole || checksum(content) != u64::from_le_bytes(*sum) {
        return Err(CheckpointError::Damaged);
    }
    let format = rest.u32()?;
    let written = String::from_utf8_lossy(rest.part()?).into_owned();
    if format != FORMAT || written != env!("CARGO_PKG_VERSION") {
        return Err(CheckpointError::Version { written, format });
    }
    let identity = rest.part()?.to_vec();
    let len = rest.u64()?;
    let mut state = Vec::new();
    while (state.len() as u64) < len {
        let block = rest.u32()? as usize;
        let packed = rest.part()?;
        let from = state.len();
        if block == 0 || block > BLOCK {
            return Err(CheckpointError::Damaged);
        }
        state.resize(from + block, 0);
        let unpacked = decompress_into(packed, &mut state[from..]);
        if unpacked.ok() != Some(block) {
            return Err(CheckpointError::Damaged);
        }
    }
    Ok((identity, state))
}

/// Bytes that have not been read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], CheckpointError> {
        let (taken, rest) = self
            .0
            .split_at_checked(bytes)
            .ok_or(CheckpointError::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], CheckpointError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| CheckpointError::Damaged)
    }

    fn u32(&mut self) -> Result<u32, CheckpointError> {
        Ok(u32::from_le_bytes(self.number()?))
    }

    fn u64(&mut self) -> Result<u64, CheckpointError> {
        Ok(u64::from_le_bytes(self.number()?))
    }

    fn part(&mut self) -> Result<&'a [u8], CheckpointError> {
        let len = self.u32()?;
        self.take(len as usize)
    }
}
