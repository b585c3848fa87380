//! SHA-1 (FIPS 180-1) and MD5 (RFC 1321) of messages of one block, reduced to their first words.

use std::array;

/// Largest length of a message with space for its end mark and its length.
const LONGEST: usize = 64 - 9;

/// A block of 64 bytes: the message, a 1 bit, zeros, and its length in bits.
fn padded(message: &[u8], length: [u8; 8]) -> [u8; 64] {
    assert!(message.len() <= LONGEST);
    let mut block = [0; 64];
    block[..message.len()].copy_from_slice(message);
    block[message.len()] = 0x80;
    block[56..].copy_from_slice(&length);
    block
}

fn words(block: [u8; 64], read: fn([u8; 4]) -> u32) -> [u32; 16] {
    array::from_fn(|i| read(array::from_fn(|byte| block[4 * i + byte])))
}

/// First word of the SHA-1 hash.
pub(super) fn sha1_word(message: &[u8]) -> u32 {
    let bits = 8 * message.len() as u64;
    let mut schedule = words(padded(message, bits.to_be_bytes()), u32::from_be_bytes).to_vec();
    for t in 16..80 {
        let mixed = schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16];
        schedule.push(mixed.rotate_left(1));
    }
    let start = [
        0x6745_2301_u32,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let [mut a, mut b, mut c, mut d, mut e] = start;
    for (t, word) in schedule.into_iter().enumerate() {
        let (mix, constant) = match t {
            0..20 => ((b & c) | (!b & d), 0x5a82_7999_u32),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let terms = [mix, e, constant, word];
        let next = terms.into_iter().fold(a.rotate_left(5), u32::wrapping_add);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    start[0].wrapping_add(a)
}

/// First word of the MD5 hash.
pub(super) fn md5_word(message: &[u8]) -> u32 {
    const SHIFTS: [[u32; 4]; 4] = [
        [7, 12, 17, 22],
        [5, 9, 14, 20],
        [4, 11, 16, 23],
        [6, 10, 15, 21],
    ];
    let bits = 8 * message.len() as u64;
    let words = words(padded(message, bits.to_le_bytes()), u32::from_le_bytes);
    let start = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let [mut a, mut b, mut c, mut d] = start;
    for t in 0..64 {
        let (mix, at) = match t {
            0..16 => ((b & c) | (!b & d), t),
            16..32 => ((d & b) | (!d & c), (5 * t + 1) % 16),
            32..48 => (b ^ c ^ d, (3 * t + 5) % 16),
            _ => (c ^ (b | !d), 7 * t % 16),
        };
        let sine = (libm::sin((t + 1) as f64).abs() * 4_294_967_296.0) as u32;
        let terms = [mix, words[at], sine];
        let sum = terms.into_iter().fold(a, u32::wrapping_add);
        let next = b.wrapping_add(sum.rotate_left(SHIFTS[t / 16][t % 4]));
        (a, b, c, d) = (d, next, b, c);
    }
    start[0].wrapping_add(a)
}

#[cfg(test)]
mod tests {
    use super::{md5_word, sha1_word};

    #[test]
    fn hashes_are_the_standards() {
        // FIPS 180-1, appendix A. The values for the empty message and for RFC 1321's messages are
        // in the tables of the standards.
        assert_eq!(sha1_word(b"abc"), 0xa999_3e36);
        assert_eq!(sha1_word(b""), 0xda39_a3ee);
        // RFC 1321, A.5: d41d8cd9..., 90015098..., f96b697d... (bytes, lowest first).
        assert_eq!(md5_word(b""), u32::from_le_bytes([0xd4, 0x1d, 0x8c, 0xd9]));
        assert_eq!(
            md5_word(b"abc"),
            u32::from_le_bytes([0x90, 0x01, 0x50, 0x98])
        );
        assert_eq!(
            md5_word(b"message digest"),
            u32::from_le_bytes([0xf9, 0x6b, 0x69, 0x7d])
        );
    }
}
