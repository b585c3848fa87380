//! Bytes that a program has read from the device, in order. Programs read the same pages again and
//! again, such as those of managed memory after each wait, so equal pieces are kept once.

use std::collections::HashMap;
use warploom_base::Digest;
use warploom_state::{Io, State, StateError, Value};

/// Largest piece in bytes.
const PIECE: usize = 4096;

/// Place of a piece in the kept bytes.
#[derive(Clone, Copy, Debug, Value)]
struct Piece {
    start: u64,
    bytes: u32,
}

/// All answers, cut into pieces.
#[derive(Default)]
pub(super) struct Answers {
    /// Different pieces one after the other.
    bytes: Vec<u8>,
    /// Pieces in the order in which they were read.
    pieces: Vec<Piece>,
    /// Number of pieces that have been taken.
    taken: usize,
    /// The last new piece with a digest.
    by_digest: HashMap<u64, Piece>,
}

impl Answers {
    /// Adds an answer at the end.
    pub fn add(&mut self, answer: &[u8]) {
        for bytes in answer.chunks(PIECE) {
            let mut digest = Digest::new();
            let digest = digest.bytes(bytes).finish();
            let known = self.by_digest.get(&digest).copied();
            let known = known.filter(|piece| self.get(*piece) == Some(bytes));
            let piece = known.unwrap_or_else(|| {
                let new = Piece {
                    start: self.bytes.len() as u64,
                    bytes: bytes.len() as u32,
                };
                self.bytes.extend_from_slice(bytes);
                self.by_digest.insert(digest, new);
                new
            });
            self.pieces.push(piece);
        }
    }

    /// Takes the next answer. Where it has another length, the rest of `out` stays as it is.
    pub fn take(&mut self, out: &mut [u8]) {
        for bytes in out.chunks_mut(PIECE) {
            let piece = self.pieces.get(self.taken).copied();
            let kept = piece.and_then(|piece| self.get(piece));
            if let Some(kept) = kept.filter(|kept| kept.len() == bytes.len()) {
                bytes.copy_from_slice(kept);
            }
            self.taken += 1;
        }
    }

    fn get(&self, piece: Piece) -> Option<&[u8]> {
        let start = usize::try_from(piece.start).ok()?;
        let end = start.checked_add(piece.bytes as usize)?;
        self.bytes.get(start..end)
    }
}

/// The bytes and the order of the pieces. A run that goes on keeps further pieces without comparing
/// them with earlier ones.
impl State for Answers {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        self.bytes.state(io)?;
        self.pieces.state(io)
    }
}

#[cfg(test)]
mod tests {
    use super::{Answers, PIECE};

    #[test]
    fn equal_pieces_are_kept_once() {
        let mut answers = Answers::default();
        let one = vec![1; 2 * PIECE + 5];
        let other = vec![2; 5];
        for _ in 0..3 {
            answers.add(&one);
            answers.add(&other);
        }
        assert_eq!(answers.bytes.len(), PIECE + 5 + 5);
        for _ in 0..3 {
            let mut out = vec![0; one.len()];
            answers.take(&mut out);
            assert_eq!(out, one);
            answers.take(&mut out[..5]);
            assert_eq!(out[..5], other);
        }
    }
}
