//! From an address to channel, L2 bank, DRAM bank, row and column: GPGPU-Sim's
//! `-gpgpu_mem_addr_mapping` and `-gpgpu_memory_partition_indexing`
//! (docs/model/partition.md, Address decoding).
//!
//! The channel's number is a digit of the address at `channel_bit` (bits if the number of channels
//! is a power of two, else a remainder); the masks apply to the address without that digit.

use crate::hash::{Ipoly, xor};
use core::hint::cold_path;
use warploom_base::{ChannelId, Rng, SubPartitionId};
use warploom_config::{ChannelIndex, GpuSpec};
use warploom_state::Value;

/// Location of an address in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Memory channel of the address.
    pub channel: ChannelId,
    /// L2 bank, numbered over the whole GPU: channel x banks per channel + local number.
    pub sub_partition: SubPartitionId,
    /// DRAM bank within the channel, before any bank hash.
    pub bank: u32,
    /// DRAM row within the bank.
    pub row: u32,
    /// Byte column within the row.
    pub column: u32,
}

/// A run of neighbouring address bits: the right shift that moves them into place, and the mask to
/// apply after it.
type Run = (u32, u64);

/// Gathers the bits under a mask into a number, lowest first, run by run.
#[derive(Clone, Debug)]
struct Gather {
    /// First two runs; most masks have no more. A run that a mask lacks selects no bit.
    first: [Run; 2],
    others: Box<[Run]>,
}

impl Gather {
    fn new(mut mask: u64) -> Self {
        let (mut runs, mut taken) = (Vec::new(), 0);
        while mask != 0 {
            let low = mask.trailing_zeros();
            let len = (mask >> low).trailing_ones();
            let ones = (u64::MAX >> (64 - len)) << low;
            runs.push((low - taken, ones >> (low - taken)));
            taken += len;
            mask &= !ones;
        }
        let first = [0, 1].map(|at| runs.get(at).copied().unwrap_or((0, 0)));
        let others = runs.get(2..).unwrap_or_default().into();
        Self { first, others }
    }

    /// Number of the lowest bit that is gathered; 63 if none is.
    fn lowest_bit(&self) -> u32 {
        match self.first[0] {
            (_, 0) => 63,
            (shift, mask) => mask.trailing_zeros() + shift,
        }
    }

    #[inline]
    fn of(&self, addr: u64) -> u64 {
        let bits = Self::run(addr, self.first[0]) | Self::run(addr, self.first[1]);
        if self.others.is_empty() {
            return bits;
        }
        bits | self.of_others(addr)
    }

    #[inline]
    const fn run(addr: u64, (shift, mask): Run) -> u64 {
        (addr >> shift) & mask
    }

    #[inline(never)]
    fn of_others(&self, addr: u64) -> u64 {
        let others = self.others.iter();
        others.fold(0, |bits, run| bits | Self::run(addr, *run))
    }
}

/// Hash of the channel's number.
#[derive(Clone, Debug)]
enum Hash {
    None,
    Xor,
    Ipoly(Ipoly),
    Random(u64),
    Skewed,
}

/// Decodes addresses of one GPU.
#[derive(Clone, Debug)]
pub struct AddressDecoder {
    channel_bit: u32,
    /// Mask of the bits below `channel_bit`.
    below_channel: u64,
    channels: u64,
    /// Right shift that replaces the division where the number of channels is a power of two.
    channel_shift: Option<u32>,
    sub_partitions: u32,
    /// Lowest bits of the DRAM bank, which choose the L2 bank of a channel.
    l2_bank: Gather,
    bank: Gather,
    row: Gather,
    column: Gather,
    without_sub_partition: Gather,
    hash: Hash,
}

impl AddressDecoder {
    /// A decoder for `spec`.
    pub fn new(spec: &GpuSpec) -> Self {
        let map = spec.partition.address_map;
        let sub_partitions = spec.gpu.sub_partitions_per_channel;
        let channels = spec.gpu.channels;
        let total = channels.next_power_of_two() * sub_partitions;
        let l2_bank_mask = lowest_bits(map.bank_mask, sub_partitions);
        Self {
            channel_bit: map.channel_bit,
            below_channel: (1 << map.channel_bit) - 1,
            channels: u64::from(channels),
            channel_shift: channels
                .is_power_of_two()
                .then(|| channels.trailing_zeros()),
            sub_partitions,
            l2_bank: Gather::new(l2_bank_mask),
            bank: Gather::new(map.bank_mask),
            row: Gather::new(map.row_mask),
            column: Gather::new(map.column_mask),
            without_sub_partition: Gather::new(!l2_bank_mask),
            hash: match spec.partition.channel_index {
                ChannelIndex::Consecutive => Hash::None,
                ChannelIndex::Xor => Hash::Xor,
                ChannelIndex::Ipoly => Hash::Ipoly(Ipoly::new(total)),
                ChannelIndex::Random => Hash::Random(spec.gpu.seed),
                ChannelIndex::Skewed => Hash::Skewed,
            },
        }
    }

    /// Quotient and remainder of the address in channel-sized units; the remainder is the channel
    /// before hashing.
    #[inline]
    fn split(&self, addr: u64) -> (u64, u64) {
        let upper = addr >> self.channel_bit;
        match self.channel_shift {
            Some(shift) => (upper >> shift, upper & (self.channels - 1)),
            None => (upper / self.channels, upper % self.channels),
        }
    }

    /// The address without its channel.
    #[inline]
    fn rest(&self, addr: u64, quotient: u64) -> u64 {
        quotient << self.channel_bit | addr & self.below_channel
    }

    /// Number of the L2 bank over the whole GPU. `split` and `rest` are the parts of the address.
    #[inline]
    fn hashed(&self, addr: u64, split: (u64, u64), rest: u64) -> u32 {
        let l2_bank = self.l2_bank.of(rest) as u32;
        let plain = split.1 as u32 * self.sub_partitions + l2_bank;
        match &self.hash {
            Hash::None => plain,
            // A call, so that the usual case need not save the registers that hashes take.
            _ => self.hash(addr, split, (l2_bank, plain)),
        }
    }

    #[inline(never)]
    fn hash(
        &self,
        addr: u64,
        (quotient, channel): (u64, u64),
        (l2_bank, plain): (u32, u32),
    ) -> u32 {
        let banks = self.sub_partitions;
        match &self.hash {
            Hash::None => plain,
            Hash::Xor => {
                let upper = quotient >> banks.trailing_zeros();
                xor(upper, channel as u32, self.channels as u32) * banks + l2_bank
            }
            Hash::Ipoly(ipoly) => match self.channel_shift {
                Some(_) => ipoly.hash(quotient >> banks.trailing_zeros(), plain),
                None => ipoly.hash(quotient, plain) % (self.channels as u32 * banks),
            },
            // Addresses of one partition address are rotated alike, so that they stay apart.
            Hash::Skewed => {
                let count = self.channels as u32 * banks;
                let rest = self.rest(addr, quotient);
                let upper = self.without_sub_partition.of(rest) >> self.channel_bit;
                (plain + rotation(upper, count)) % count
            }
            Hash::Random(seed) => {
                cold_path();
                let chunk = addr >> (self.channel_bit - banks.trailing_zeros());
                Rng::new(seed ^ chunk).below(self.channels as u32 * banks)
            }
        }
    }

    /// Complete location of an address.
    #[inline]
    pub fn decode(&self, addr: u64) -> Location {
        let split = self.split(addr);
        let rest = self.rest(addr, split.0);
        let sub_partition = self.hashed(addr, split, rest);
        Location {
            channel: ChannelId::new((sub_partition / self.sub_partitions) as usize),
            sub_partition: SubPartitionId::new(sub_partition as usize),
            bank: self.bank.of(rest) as u32,
            row: self.row.of(rest) as u32,
            column: self.column.of(rest) as u32,
        }
    }

    /// DRAM bank, before any bank hash, and row of an address: the part that a channel needs.
    #[inline]
    pub fn bank_and_row(&self, addr: u64) -> (u32, u32) {
        let (quotient, _) = self.split(addr);
        let rest = self.rest(addr, quotient);
        (self.bank.of(rest) as u32, self.row.of(rest) as u32)
    }

    /// Number of lowest address bits that neither DRAM bank nor row depends on.
    pub(crate) fn bits_below_bank_and_row(&self) -> u32 {
        let lowest = [&self.bank, &self.row].map(Gather::lowest_bit);
        self.channel_bit.min(lowest[0]).min(lowest[1])
    }

    /// Number of lowest address bits that do not change the L2 bank.
    pub fn bits_below_sub_partition(&self) -> u32 {
        let chunk = match self.hash {
            Hash::Random(_) => self.channel_bit - self.sub_partitions.trailing_zeros(),
            _ => self.channel_bit,
        };
        chunk.min(self.bank.lowest_bit())
    }

    /// L2 bank of an address: the part that the network needs.
    #[inline]
    pub fn sub_partition(&self, addr: u64) -> SubPartitionId {
        let split = self.split(addr);
        let rest = self.rest(addr, split.0);
        SubPartitionId::new(self.hashed(addr, split, rest) as usize)
    }

    /// Partition address: the address without the bits that choose channel and L2 bank. It gives
    /// the set of L2.
    #[inline]
    pub fn partition_addr(&self, addr: u64) -> u64 {
        let (quotient, _) = self.split(addr);
        self.without_sub_partition.of(self.rest(addr, quotient))
    }
}

/// Remembered result of decoding the last address. It holds for all addresses that differ from that
/// one in their lowest bits only.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Nearby<T> {
    /// Mask of the lowest bits.
    low: u64,
    /// Last address without its lowest bits.
    last: u64,
    decoded: T,
}

impl<T: Copy> Nearby<T> {
    /// A memory for decoders that ignore the `low_bits` lowest bits. `any` is a placeholder until
    /// the first address.
    pub(crate) fn new(low_bits: u32, any: T) -> Self {
        Self {
            low: (1 << low_bits) - 1,
            last: u64::MAX,
            decoded: any,
        }
    }

    /// Result of `decode` for an address without its lowest bits.
    #[inline]
    pub(crate) fn of(&mut self, addr: u64, decode: impl FnOnce(u64) -> T) -> T {
        let high = addr & !self.low;
        if high != self.last {
            (self.last, self.decoded) = (high, decode(high));
        }
        self.decoded
    }
}

/// Number below `count` that depends on all bits of `upper`: the high half of a product with an odd
/// number (Fibonacci hashing: Knuth, The Art of Computer Programming 3, section 6.4).
#[inline]
fn rotation(upper: u64, count: u32) -> u32 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = upper.wrapping_mul(GOLDEN) >> 32;
    ((mixed * u64::from(count)) >> 32) as u32
}

/// The lowest log2(`count`) bits set in `mask`.
fn lowest_bits(mask: u64, count: u32) -> u64 {
    let mut left = mask;
    for _ in 0..count.trailing_zeros() {
        left &= left.wrapping_sub(1);
    }
    mask & !left
}

#[cfg(test)]
mod tests {
    use super::{AddressDecoder, Gather, Location, Nearby};
    use crate::testing::{fermi_spec, volta_spec};
    use proptest::prelude::*;
    use warploom_base::{ChannelId, SubPartitionId};
    use warploom_config::ChannelIndex;

    /// Reference for `Gather`: bit by bit.
    fn gather(addr: u64, mask: u64) -> u64 {
        (0..64)
            .filter(|bit| mask >> bit & 1 == 1)
            .enumerate()
            .map(|(to, from)| (addr >> from & 1) << to)
            .sum()
    }

    proptest! {
        #[test]
        fn neighbours_are_decoded_as_others_are(
            addrs in prop::collection::vec((0_u64..3, 0_u64..1 << 40, 0_u64..512), 1..100),
            channel_bit in 7_u32..12,
        ) {
            for mut spec in [fermi_spec(), volta_spec()] {
                spec.partition.address_map.channel_bit = channel_bit;
                let decoder = AddressDecoder::new(&spec);
                let mut kept = Nearby::new(decoder.bits_below_bank_and_row(), (0, 0));
                let mut near = 0;
                for (goes, far, step) in &addrs {
                    near = if *goes == 0 { *far } else { near };
                    let addr = near + step;
                    let found = kept.of(addr, |addr| decoder.bank_and_row(addr));
                    prop_assert_eq!(found, decoder.bank_and_row(addr));
                }
            }
        }

        #[test]
        fn bits_below_the_l2_bank_do_not_change_it(
            addr: u64,
            other: u64,
            channel_bit in 7_u32..12,
        ) {
            let kinds = [
                ChannelIndex::Consecutive,
                ChannelIndex::Xor,
                ChannelIndex::Ipoly,
                ChannelIndex::Random,
                ChannelIndex::Skewed,
            ];
            let specs = [fermi_spec(), volta_spec()];
            for (spec, kind) in specs.iter().flat_map(|spec| kinds.map(|kind| (spec, kind))) {
                let mut spec = spec.clone();
                spec.partition.address_map.channel_bit = channel_bit;
                spec.partition.channel_index = kind;
                let decoder = AddressDecoder::new(&spec);
                let below = (1 << decoder.bits_below_sub_partition()) - 1;
                prop_assert!(below >= 31, "a sector is in one bank");
                let neighbour = addr & !below | other & below;
                prop_assert_eq!(decoder.sub_partition(addr), decoder.sub_partition(neighbour));
            }
        }

        #[test]
        fn gathering_runs_is_gathering_bits(addr: u64, mask: u64) {
            prop_assert_eq!(Gather::new(mask).of(addr), gather(addr, mask));
        }
    }

    #[test]
    fn fermi_addresses_by_hand() {
        let decoder = AddressDecoder::new(&fermi_spec());
        // dramid@8, six channels: (0x12345 = 74565) / 256 = 291 = 48 x 6 + 3.
        // Rest: 48 x 256 + 0x45 = 0x3045, that is bits 0, 2, 6, 12, 13. Under BBBCCCCB.CCSSSSSS
        // bit 13 is the bank's second lowest, bit 12 the column's eleventh.
        assert_eq!(
            decoder.decode(0x12345),
            Location {
                channel: ChannelId(3),
                sub_partition: SubPartitionId(6),
                bank: 2,
                row: 0,
                column: 0x845,
            }
        );
    }

    #[test]
    fn every_index_covers_all_partitions_and_agrees() {
        for index in [
            ChannelIndex::Consecutive,
            ChannelIndex::Xor,
            ChannelIndex::Ipoly,
            ChannelIndex::Random,
            ChannelIndex::Skewed,
        ] {
            let mut spec = volta_spec();
            spec.partition.channel_index = index;
            let decoder = AddressDecoder::new(&spec);
            let mut seen = [0_u32; 64];
            for line in 0..65_536_u64 {
                let at = decoder.decode(line * 128);
                assert_eq!(decoder.sub_partition(line * 128), at.sub_partition);
                assert_eq!(decoder.bank_and_row(line * 128), (at.bank, at.row));
                assert_eq!(at.channel.index(), at.sub_partition.index() / 2);
                seen[at.sub_partition.index()] += 1;
            }
            assert!(
                seen.iter().all(|n| (900..1150).contains(n)),
                "{index:?}: {seen:?}"
            );
        }
    }

    /// 80 channels with two banks each: every run of as many lines uses every bank once, and so do
    /// lines that are far apart by a power of two, on which consecutive numbers meet in 10 of 160.
    #[test]
    fn a_skewed_index_is_even_for_any_number_of_channels_and_stride() {
        let mut spec = volta_spec();
        spec.gpu.channels = 80;
        let banks = |index, stride: u64| {
            let mut spec = spec.clone();
            spec.partition.channel_index = index;
            let decoder = AddressDecoder::new(&spec);
            let mut seen = [0_u32; 160];
            for line in 0..160 * 64 {
                seen[decoder.sub_partition(line * stride).index()] += 1;
            }
            (*seen.iter().min().unwrap(), *seen.iter().max().unwrap())
        };
        assert_eq!(banks(ChannelIndex::Skewed, 128), (64, 64));
        assert_eq!(banks(ChannelIndex::Consecutive, 8192).0, 0);
        let (least, most) = banks(ChannelIndex::Skewed, 8192);
        assert!(least >= 32 && most <= 128, "{least} {most}");
    }

    #[test]
    fn lines_of_a_partition_have_distinct_partition_addresses() {
        let indices = [ChannelIndex::Consecutive, ChannelIndex::Skewed];
        let specs = [fermi_spec(), volta_spec()];
        for (spec, index) in specs
            .iter()
            .flat_map(|spec| indices.map(|index| (spec, index)))
        {
            let mut spec = spec.clone();
            spec.partition.channel_index = index;
            let decoder = AddressDecoder::new(&spec);
            let mut seen = std::collections::BTreeSet::new();
            for line in 0..40_000_u64 {
                let part = decoder.partition_addr(line * 128);
                let id = decoder.sub_partition(line * 128);
                assert!(seen.insert((id, part)), "line {line}");
            }
        }
    }
}
