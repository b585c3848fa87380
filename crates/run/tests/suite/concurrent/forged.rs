//! Tests of checkpoints whose state was changed and whose checksum was computed anew: no byte makes
//! the program panic. `WARPLOOM_FORGED=FIRST..END` tries other changes than those that are always
//! tried.

use crate::concurrent::checkpoints::{gpu, run, saved, streams};
use lz4_flex::block::{compress, decompress};
use std::ops::Range;
use warploom_base::{Digest, Rng};
use warploom_run::{Checkpoint, CheckpointError, Options, RunError};

/// Changes that are tried if the environment names no others.
const CASES: Range<u64> = 0..40;
/// Bytes of a checkpoint before its version: mark, length and format.
const HEAD: usize = 20;
/// Cycles at which a run ends that goes on for long.
const MOST_CYCLES: u64 = 200_000;

fn cases() -> Range<u64> {
    let asked = std::env::var("WARPLOOM_FORGED").ok();
    let asked = asked.as_deref().and_then(|text| text.split_once(".."));
    let numbers = asked.map(|(first, end)| (first.parse().ok(), end.parse().ok()));
    match numbers {
        Some((Some(first), Some(end))) => first..end,
        _ => CASES,
    }
}

/// Takes a part off, which follows its length.
fn part<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let (len, rest) = bytes.split_first_chunk::<4>().expect("a length");
    let (part, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
    *bytes = rest;
    part
}

/// Bytes before the identity, the identity, and the state.
fn opened(bytes: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut rest = &bytes[HEAD..bytes.len() - 8];
    let version = part(&mut rest);
    let head = [
        &bytes[..HEAD],
        &(version.len() as u32).to_le_bytes(),
        version,
    ]
    .concat();
    let identity = part(&mut rest).to_vec();
    let (_, mut blocks) = rest.split_first_chunk::<8>().expect("a length");
    let mut state = Vec::new();
    while !blocks.is_empty() {
        let (len, packed) = blocks.split_first_chunk::<4>().expect("a length");
        blocks = packed;
        let len = u32::from_le_bytes(*len) as usize;
        state.extend(decompress(part(&mut blocks), len).expect("it is whole"));
    }
    (head, identity, state)
}

/// A checkpoint of these parts, with the length and the checksum that belong to it.
fn closed(head: &[u8], identity: &[u8], state: &[u8]) -> Vec<u8> {
    let mut bytes = head.to_vec();
    let mut put = |part: &[u8]| {
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part);
    };
    put(identity);
    bytes.extend((state.len() as u64).to_le_bytes());
    for block in state.chunks(1 << 20) {
        let packed = compress(block);
        bytes.extend((block.len() as u32).to_le_bytes());
        bytes.extend((packed.len() as u32).to_le_bytes());
        bytes.extend(packed);
    }
    let whole = bytes.len() as u64 + 8;
    bytes[8..16].copy_from_slice(&whole.to_le_bytes());
    let mut digest = Digest::new();
    digest.bytes(&bytes);
    bytes.extend(digest.finish().to_le_bytes());
    bytes
}

/// Changes bytes somewhere, mostly where there are other ones than zero, or the length.
fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let mut at = rng.below(bytes.len() as u32) as usize;
    if rng.below(4) > 0 {
        at = (at..bytes.len()).find(|at| bytes[*at] != 0).unwrap_or(at);
    }
    match rng.below(6) {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => bytes[at] = bytes[at].wrapping_add(1),
        2 => bytes[at] = 0xff,
        3 => {
            let end = bytes.len().min(at + 8);
            bytes[at..end].fill(0xff);
        }
        4 => bytes.truncate(at),
        _ => bytes.insert(at, rng.next_u32() as u8),
    }
}

#[test]
fn no_byte_of_a_checkpoint_makes_the_program_panic() {
    let spec = gpu(&["l2.sets=16"]);
    let (straight, checkpoints) = saved(&spec, streams, Options::default(), 8000);
    let (head, identity, state) = opened(&checkpoints[0]);
    let from = |bytes: &[u8], threads| -> Result<_, RunError> {
        let options = Options {
            threads,
            resume: Some(Checkpoint::read(bytes)?),
            max_cycles: Some(MOST_CYCLES),
            ..Options::default()
        };
        run(&spec, streams, options)
    };
    let same = closed(&head, &identity, &state);
    assert_eq!(same, checkpoints[0]);
    assert_eq!(from(&same, 1).ok(), Some(straight));
    let (mut refused, mut contradicts) = (0, 0);
    for case in cases() {
        let mut rng = Rng::new(case);
        let (mut identity, mut state) = (identity.clone(), state.clone());
        match rng.below(8) {
            0 => change(&mut rng, &mut identity),
            _ => change(&mut rng, &mut state),
        }
        match from(&closed(&head, &identity, &state), 1 + case as usize % 2) {
            Err(RunError::Checkpoint(error)) => {
                refused += 1;
                contradicts += u32::from(matches!(error, CheckpointError::Contradicts(_)));
            }
            Err(other) => panic!("{case}: {other}"),
            // The changed byte did not matter, or changed the course of the run.
            Ok(_) => {}
        }
    }
    assert!(refused > 0, "{contradicts} of {refused}");
}
