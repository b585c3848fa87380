//! Keys of a memory partition and of its L2 bank.

use crate::address_map::{self, Masks};
use crate::section::{Info, Reader, Section, Writer, section};
use crate::spec::{AddressMap, ChannelIndex};
use crate::value::{Rule, int, names, pow2};

names! {
    ChannelIndex: CHANNEL_INDEX {
        Consecutive = "consecutive": "the address's own bits",
        Xor = "xor": "XORed with higher bits",
        Ipoly = "ipoly": "irreducible polynomial",
        Random = "random": "seeded random table",
        Skewed = "skewed":
            "rotated by a hash of the higher bits: as even as consecutive numbers, for any number \
             of channels",
    }
}

section! {
    PartitionSpec {
        ideal_l2: "ideal_l2", Rule::Switch, "", "L2 always hits.", "GPGPU-Sim -l2_ideal";
        exact_sectors: "exact_sectors", Rule::Switch, "",
            "A request split for a sectored L2 keeps its sectors' addresses; off, the upper 64 \
             bytes of a line are written to the next line's tag and both halves of a 64-byte \
             constant line share one miss, as in GPGPU-Sim 4.2.",
            "this program; GPGPU-Sim 4.2, source: off";
        noc_to_l2: "noc_to_l2", int(1, 65_536), "requests",
            "Queue from the network to L2.", "GPGPU-Sim -gpgpu_dram_partition_queues, 1st";
        l2_to_dram: "l2_to_dram", int(1, 65_536), "requests",
            "Queue from L2 to DRAM.", "GPGPU-Sim -gpgpu_dram_partition_queues, 2nd";
        dram_to_l2: "dram_to_l2", int(1, 65_536), "requests",
            "Queue from DRAM to L2.", "GPGPU-Sim -gpgpu_dram_partition_queues, 3rd";
        l2_to_noc: "l2_to_noc", int(1, 65_536), "requests",
            "Queue from L2 to the network.", "GPGPU-Sim -gpgpu_dram_partition_queues, 4th";
        rop_cycles: "rop_cycles", int(0, 10_000), "core cycles",
            "Fixed delay before L2, not for textures.", "GPGPU-Sim -gpgpu_l2_rop_latency";
        dram_latency_cycles: "dram_latency_cycles", int(0, 10_000), "core cycles",
            "Fixed delay from L2 to the DRAM scheduler.", "GPGPU-Sim -dram_latency";
        channel_index: "channel_index", CHANNEL_INDEX, "",
            "How the channel's number is hashed.", "GPGPU-Sim -gpgpu_memory_partition_indexing";
    } defaulted {
        far_cycles: "far_cycles", int(0, 10_000), "core cycles",
            "Additional delay before L2 of requests from one half of the GPCs to the other half of \
             the L2 banks; 0: L2 is one.",
            "public configuration of FlashGPU-Sim for the H100, -gpgpu_l2_partition_extra_latency",
            0, "0";
        fetch_bytes: "fetch_bytes", pow2(32, 128), "bytes",
            "Bytes that a sectored L2 reads from DRAM for a sector that misses: the sectors of an \
             aligned block that are missing, as far as there is room for them.",
            "this program; CUDA's cudaLimitMaxL2FetchGranularity; GPGPU-Sim: 32", 32, "32";
        write_cycles: "write_cycles", int(1, 1000), "L2 cycles",
            "Cycles from a write of a whole sector to the next access of an L2 bank.",
            "this program; GPGPU-Sim: 1", 1, "1";
        partial_write_cycles: "partial_write_cycles", int(1, 1000), "L2 cycles",
            "Cycles from a write of a part of a sector to the next access of an L2 bank; 1 for the sector of the write before.",
            "this program; GPGPU-Sim: 1", 1, "1";
    }
    within {
        address_map: "address_map";
        l2: "/l2";
    }
}

const CHANNEL_BIT: Info = Info {
    name: "/partition.channel_bit",
    rule: int(5, 40),
    unit: "bit",
    about: "Address bit at which the channel's number is inserted.",
    source: "GPGPU-Sim -gpgpu_mem_addr_mapping, dramid@",
};

const BITS: Info = Info {
    name: "/partition.address_map",
    rule: Rule::AddressBits,
    unit: "",
    about: "What each address bit selects, after the channel's number is taken out.",
    source: "GPGPU-Sim -gpgpu_mem_addr_mapping",
};

impl Section for AddressMap {
    fn read(reader: &mut Reader<'_>) -> Self {
        let channel_bit = reader.take(CHANNEL_BIT);
        let text: String = reader.take(BITS);
        let masks = address_map::parse(&text).expect("the rule accepted it");
        Self {
            channel_bit,
            bank_mask: masks.bank,
            row_mask: masks.row,
            column_mask: masks.column,
            burst_mask: masks.burst,
        }
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(CHANNEL_BIT, &self.channel_bit);
        let masks = Masks {
            bank: self.bank_mask,
            row: self.row_mask,
            column: self.column_mask,
            burst: self.burst_mask,
        };
        writer.put(BITS, &address_map::print(masks));
    }
}
