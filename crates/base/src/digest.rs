//! Digests of inputs, configurations and results: XXH3 with 64 bits, the same on every machine.

use xxhash_rust::xxh3::Xxh3;

/// Accumulates bytes and integers into a 64-bit digest. Integers enter in little-endian order.
#[derive(Clone, Default)]
pub struct Digest(Xxh3);

impl Digest {
    /// Creates an empty digest.
    pub fn new() -> Self {
        Self(Xxh3::new())
    }

    /// Adds bytes. Callers that add data of variable length must add the length first.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// Adds one integer of 64 bits.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Adds a length-prefixed string.
    pub fn str(&mut self, text: &str) -> &mut Self {
        self.u64(text.len() as u64).bytes(text.as_bytes())
    }

    /// Returns the digest of everything added so far.
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }

    /// Returns the digest as sixteen hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:016x}", self.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn order_and_boundaries_matter() {
        let hex = |f: fn(&mut Digest)| {
            let mut d = Digest::new();
            f(&mut d);
            d.hex()
        };
        assert_ne!(
            hex(|d| {
                d.str("ab").str("c");
            }),
            hex(|d| {
                d.str("a").str("bc");
            })
        );
        assert_eq!(hex(|_| ()), "2d06800538d394c2", "XXH3-64 of nothing");
    }
}
