//! Tests with containers that are built as `fatbinary` builds them, and with damaged ones.

use super::{FatbinError, LZ4, MAGIC, ZSTD, container_bytes, entries, ptx};

const TEXT: &str = ".version 7.0\n.target sm_50\n";

/// An entry in the layout of `fatbinary`.
fn entry(kind: u16, arch: u32, flags: u64, packed: Option<&[u8]>) -> Vec<u8> {
    let payload = packed.map_or(TEXT.as_bytes().to_vec(), <[u8]>::to_vec);
    let padded = payload.len().next_multiple_of(8);
    let mut bytes = vec![0; 64];
    bytes[..2].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&64u32.to_le_bytes());
    bytes[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    if let Some(packed) = packed {
        bytes[16..20].copy_from_slice(&(packed.len() as u32).to_le_bytes());
    }
    bytes[28..32].copy_from_slice(&arch.to_le_bytes());
    bytes[40..48].copy_from_slice(&flags.to_le_bytes());
    bytes[56..64].copy_from_slice(&(TEXT.len() as u64).to_le_bytes());
    bytes.extend(payload);
    bytes.resize(64 + padded, 0);
    bytes
}

fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A zstd frame with one raw block (RFC 8878).
fn zstd() -> Vec<u8> {
    let mut frame = 0xfd2f_b528u32.to_le_bytes().to_vec();
    frame.extend([0x20, TEXT.len() as u8]);
    let block = (TEXT.len() as u32) << 3 | 1;
    frame.extend(&block.to_le_bytes()[..3]);
    frame.extend(TEXT.as_bytes());
    frame
}

/// Text that is selected for a capability.
fn text(bytes: &[u8], capability: u32) -> Result<String, FatbinError> {
    ptx(bytes, capability).map(|(_, text)| text)
}

#[test]
fn ptx_is_found_plain_and_packed() {
    let lz4 = lz4_flex::block::compress(TEXT.as_bytes());
    for one in [
        entry(1, 50, 0x11, None),
        entry(1, 50, LZ4 | 0x11, Some(&lz4)),
        entry(1, 50, ZSTD | 0x11, Some(&zstd())),
    ] {
        let bytes = container(&[entry(2, 75, 0x11, None), one]);
        assert_eq!(container_bytes(&bytes), Ok(bytes.len() as u64));
        assert_eq!(text(&bytes, 20).as_deref(), Ok(TEXT));
    }
}

#[test]
fn the_newest_architecture_that_the_gpu_knows_is_taken() {
    let marked = |arch: u32| {
        let text = format!("sm_{arch}");
        let mut one = entry(1, arch, 0, Some(text.as_bytes()));
        one[56..64].copy_from_slice(&(text.len() as u64).to_le_bytes());
        one
    };
    let bytes = container(&[marked(80), marked(52), marked(70)]);
    for (capability, taken) in [(20, 52), (52, 52), (75, 70), (90, 80)] {
        assert_eq!(ptx(&bytes, capability), Ok((taken, format!("sm_{taken}"))));
    }
    let mut two = container(&[]);
    two.extend(container(&[marked(61)]));
    assert_eq!(
        text(&two, 20).as_deref(),
        Ok("sm_61"),
        "behind an empty one"
    );
}

#[test]
fn machine_code_alone_is_told_of() {
    let only = container(&[entry(2, 75, 0, None), entry(2, 80, 0, None)]);
    let error = ptx(&only, 75).unwrap_err();
    assert_eq!(error, FatbinError::NoPtx("sm_75, sm_80".to_owned()));
    assert!(error.to_string().contains("code=compute_75"));
    assert_eq!(ptx(&container(&[]), 75), Err(FatbinError::Empty));
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let whole = container(&[
        entry(
            1,
            50,
            LZ4,
            Some(&lz4_flex::block::compress(TEXT.as_bytes())),
        ),
        entry(1, 60, ZSTD, Some(&zstd())),
    ]);
    assert_eq!(ptx(&[0; 16], 75), Err(FatbinError::Magic(0)));
    for end in 0..whole.len() {
        assert!(end == 0 || entries(&whole[..end]).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let _ = ptx(&bytes, 55);
            let _ = ptx(&bytes, 65);
        }
    }
}
