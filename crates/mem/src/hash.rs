//! Hash functions that spread addresses over sets, channels and banks
//! (docs/model/caches.md, Set index).
//!
//! Irreducible polynomials: B. R. Rau, "Pseudo-randomly interleaved memory", ISCA 1991. Fermi's
//! set hash: C. Nugteren et al., "A detailed GPU cache model based on reuse distance theory",
//! HPCA 2014.

use warploom_config::{SetIndex, SmSpec};

/// Irreducible polynomials over GF(2) by degree, without the leading term.
const IRREDUCIBLE: [u64; 11] = [0, 1, 3, 3, 3, 5, 3, 3, 0x1b, 0x11, 9];

/// Remainder modulo an irreducible polynomial: bit i of the result is the parity of the bits that
/// `parity[i]` selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipoly {
    parity: [u64; IRREDUCIBLE.len() - 1],
    degree: usize,
}

impl Ipoly {
    /// A hash onto `count` numbers: a power of two up to 1024.
    pub fn new(count: u32) -> Self {
        assert!(
            count.is_power_of_two() && count <= 1024,
            "polynomial hash onto {count} numbers"
        );
        let degree = count.trailing_zeros() as usize;
        let mut parity = [0; IRREDUCIBLE.len() - 1];
        let mut power = if degree == 0 { 0 } else { IRREDUCIBLE[degree] };
        for bit in 0..Self::upper_bits(degree) {
            for (out, mask) in parity.iter_mut().enumerate().take(degree) {
                *mask |= (power >> out & 1) << bit;
            }
            power <<= 1;
            if power >> degree & 1 == 1 {
                power = power ^ (1 << degree) ^ IRREDUCIBLE[degree];
            }
        }
        Self { parity, degree }
    }

    /// Number of upper bits that take part: GPGPU-Sim's tables stop at 13, 15 and 19 bits for 16, 32
    /// and 64 numbers; for other counts all bits of an address do.
    const fn upper_bits(degree: usize) -> u32 {
        match degree {
            4 => 13,
            5 => 15,
            6 => 19,
            _ => 40,
        }
    }

    /// Hash of `index` (below `count`) and the address bits above it.
    #[inline]
    pub fn hash(&self, upper: u64, index: u32) -> u32 {
        let mut out = index;
        for (bit, mask) in self.parity.iter().enumerate().take(self.degree) {
            out ^= ((upper & mask).count_ones() & 1) << bit;
        }
        out
    }
}

/// `index` XOR the bits just above it; `count` is a power of two.
#[inline]
pub const fn xor(upper: u64, index: u32, count: u32) -> u32 {
    index ^ (upper as u32 & (count - 1))
}

/// Fermi's set of an address for 32 or 64 sets of 128-byte lines.
#[inline]
pub const fn fermi(addr: u64, line_shift: u32, sets: u32) -> u32 {
    let lower = (addr >> line_shift) as u32 & 31;
    let upper = (addr >> 13 & 7) | (addr >> 17 & 1) << 3 | (addr >> 19 & 1) << 4;
    let set = lower ^ upper as u32;
    if sets == 64 {
        set | ((addr >> 12 & 1) as u32) << 5
    } else {
        set
    }
}

/// Bank of L1D of an address: a set hash with banks in place of sets and the interleaving in place
/// of lines (`l1d_cache_config::set_bank`).
#[derive(Clone, Copy, Debug)]
pub struct BankIndex {
    kind: SetIndex,
    shift: u32,
    banks: u32,
    ipoly: Ipoly,
}

impl BankIndex {
    /// The banks of an SM's L1D.
    pub fn new(spec: &SmSpec) -> Self {
        let banks = spec.l1d_banks;
        let hashed = spec.l1d_bank_index == SetIndex::Ipoly;
        Self {
            kind: spec.l1d_bank_index,
            shift: spec.l1d_bank_bytes.trailing_zeros(),
            banks,
            ipoly: Ipoly::new(if hashed { banks } else { 1 }),
        }
    }

    /// The bank of an address.
    #[inline]
    pub fn bank(&self, addr: u64) -> usize {
        if self.banks == 1 {
            return 0;
        }
        let low = (addr >> self.shift) as u32 & (self.banks - 1);
        let upper = addr >> self.shift >> self.banks.trailing_zeros();
        let bank = match self.kind {
            SetIndex::Linear => low,
            SetIndex::Xor => xor(upper, low, self.banks),
            SetIndex::Ipoly => self.ipoly.hash(upper, low),
            SetIndex::FermiHash => fermi(addr, self.shift, self.banks),
        };
        bank as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{BankIndex, Ipoly, fermi, xor};
    use warploom_config::{SetIndex, preset};

    #[test]
    fn l1d_banks_interleave_and_hash() {
        let mut sm = preset("qv100-volta").expect("a preset").sm;
        let banks = |sm: &_, addrs: &[u64]| {
            let of = BankIndex::new(sm);
            addrs.iter().map(|a| of.bank(*a)).collect::<Vec<_>>()
        };
        // Volta: four banks, a sector each.
        assert_eq!(banks(&sm, &[0, 31, 32, 96, 128, 160]), [0, 0, 1, 3, 0, 1]);
        sm.l1d_bank_bytes = 128;
        assert_eq!(banks(&sm, &[0, 96, 128, 511, 512]), [0, 0, 1, 3, 0]);
        sm.l1d_bank_bytes = 32;
        sm.l1d_bank_index = SetIndex::Xor;
        // Sector 4 is bank 0 with 1 above it, sector 9 bank 1 with 2 above it.
        assert_eq!(banks(&sm, &[0, 4 * 32, 9 * 32]), [0, 1, 3]);
        (sm.l1d_banks, sm.l1d_bank_index) = (16, SetIndex::Ipoly);
        let sector = Ipoly::new(16).hash(5, 3) as usize;
        assert_eq!(banks(&sm, &[(5 * 16 + 3) * 32]), [sector]);
        (sm.l1d_banks, sm.l1d_bank_index) = (32, SetIndex::FermiHash);
        let addr = 0xa_e2c0;
        assert_eq!(banks(&sm, &[addr]), [fermi(addr, 5, 32) as usize]);
    }

    /// Remainder of `upper * x^degree + index` by long division.
    fn remainder(upper: u64, index: u32, degree: u32, polynomial: u128) -> u32 {
        let mut rest = u128::from(upper) << degree | u128::from(index);
        for shift in (degree..128).rev() {
            if rest >> shift & 1 == 1 {
                rest ^= polynomial << (shift - degree);
            }
        }
        rest as u32
    }

    #[test]
    fn polynomial_hash_is_a_remainder() {
        for (count, polynomial, bits) in [
            (4, 0b111, 20),
            (8, 0b1011, 20),
            (16, 0b1_0011, 13),
            (32, 0b10_0101, 15),
            (64, 0b100_0011, 19),
            (256, 0x11b, 30),
        ] {
            let hash = Ipoly::new(count);
            for i in 0..2000_u64 {
                let upper = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & ((1 << bits) - 1);
                let index = i as u32 % count;
                let want = remainder(upper, index, count.trailing_zeros(), polynomial);
                assert_eq!(hash.hash(upper, index), want, "{count} {upper:x} {index}");
            }
        }
    }

    #[test]
    fn polynomial_hash_spreads_power_of_two_strides() {
        let hash = Ipoly::new(32);
        for stride in 0..10 {
            let mut seen = [0; 32];
            for i in 0..32_u64 {
                let line = i << stride;
                seen[hash.hash(line >> 5, line as u32 & 31) as usize] += 1;
            }
            assert_eq!(seen, [1; 32], "stride 2^{stride}");
        }
    }

    #[test]
    fn one_number_needs_no_hash() {
        assert_eq!(Ipoly::new(1).hash(u64::MAX, 0), 0);
    }

    #[test]
    fn fermi_hash_takes_the_documented_bits() {
        for (addr, sets, set) in [
            (0, 32, 0),
            (31 << 7, 32, 31),
            (1 << 12, 32, 0),
            (1 << 12, 64, 32),
            (1 << 13, 32, 1),
            (1 << 15, 32, 4),
            (1 << 16, 32, 0),
            (1 << 17, 32, 8),
            (1 << 19, 32, 16),
            ((1 << 19) | (31 << 7), 32, 15),
        ] {
            assert_eq!(fermi(addr, 7, sets), set, "{addr:x}");
        }
    }

    #[test]
    fn xor_takes_the_bits_above() {
        assert_eq!(xor(0b1101, 0b011, 8), 0b110);
    }
}
